// SPDX-License-Identifier: Apache-2.0
// Lines drawn by our own raster look as QPainter's do.
#include "ui/chart/stroke_raster.hpp"

#include <gtest/gtest.h>

#include <QPainter>
#include <QPolygonF>
#include <cmath>
#include <random>

namespace egpu::ui {
namespace {

constexpr int kWidth = 300, kHeight = 120;
constexpr QRgb kGround = 0xff000000, kInk = 0xffffffff;

QImage empty_image() {
    QImage image(kWidth, kHeight, QImage::Format_RGB32);
    image.fill(kGround);
    return image;
}

int grey(const QImage& image, int x, int y) {
    return qGreen(image.pixel(x, y));
}

/// Of all pixels, in whole pixels.
double ink(const QImage& image) {
    double sum = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            sum += grey(image, x, y) / 255.0;
    return sum;
}

double difference(const QImage& a, const QImage& b) {
    double sum = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x)
            sum += std::abs(grey(a, x, y) - grey(b, x, y)) / 255.0;
    return sum;
}

QImage by_painter(const QPolygonF& points, double width) {
    QImage image = empty_image();
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(QColor::fromRgb(kInk), width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    painter.drawPolyline(points);
    return image;
}

QImage by_raster(const QPolygonF& points, double width) {
    QImage image = empty_image();
    StrokeRaster(image, image.rect()).stroke(points, width, kInk);
    return image;
}

/// From left to right, by `step` pixels and up to `rise` of them up and down.
QPolygonF walk(unsigned seed, double step, double rise) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> by(-rise, rise), along(0.2 * step, 1.8 * step);
    QPolygonF points;
    double y = kHeight / 2.0;
    for (double x = 5; x < kWidth - 5; x += along(random)) {
        y = std::clamp(y + by(random), 8.0, kHeight - 8.0);
        points << QPointF(x, y);
    }
    return points;
}

TEST(StrokeRaster, LinesLookAsQPainterDrawsThem) {
    for (const double width : {1.6, 2.4, 4.0})
        for (const auto& [step, rise] : {std::pair(40.0, 60.0), std::pair(12.0, 5.0), std::pair(6.0, 40.0)}) {
            const QPolygonF points = walk(7, step, rise);
            const QImage wanted = by_painter(points, width), got = by_raster(points, width);
            SCOPED_TRACE(testing::Message() << width << " wide, steps of " << step << " by " << rise);
            EXPECT_NEAR(ink(got), ink(wanted), ink(wanted) * 0.04);
            EXPECT_LT(difference(got, wanted), ink(wanted) * 0.12);
        }
}

TEST(StrokeRaster, UprightAndLevelLinesAreAsWideAsTheyAre) {
    EXPECT_NEAR(ink(by_raster({{50, 20.3}, {150, 20.3}}, 1.6)), 160, 2);
    EXPECT_NEAR(ink(by_raster({{50.25, 10}, {50.25, 110}}, 2)), 200, 2);
    EXPECT_EQ(ink(by_raster({{50, 20}, {50, 20}}, 2)), 0) << "no length";
}

TEST(StrokeRaster, NothingLiesOutsideTheClip) {
    QImage image = empty_image();
    StrokeRaster raster(image, QRect(100, 40, 50, 30));
    raster.stroke(QPolygonF{{-1e5, -500}, {90, 60}, {120, -1e5}, {130, 1e5}, {1e5, 55}}, 4, kInk);
    raster.tint_under(QPolygonF{{0, 0}, {300, 10}}, 119, kInk, 80);
    raster.column(99, 0, 119, kInk);
    raster.column(120, -1e9, 1e9, kInk);
    raster.dot({150, 70}, 9, kInk);
    EXPECT_GT(ink(image), 100);
    for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x)
            if (!QRect(100, 40, 50, 30).contains(x, y)) {
                ASSERT_EQ(image.pixel(x, y), kGround) << x << ", " << y;
            }
}

TEST(StrokeRaster, DashesTakeTheirShareAndStandWhereTheirPhaseSays) {
    const QPolygonF whole{{10, 60}, {290, 60}};
    const StrokeRaster::Dash dash{12, 6, 0};
    QImage all = empty_image();
    StrokeRaster(all, all.rect()).dashes(whole, 2, dash, kInk);
    EXPECT_NEAR(ink(all), 280 * 2 * 2 / 3.0, 16);
    EXPECT_EQ(grey(all, 15, 60), 255);
    EXPECT_EQ(grey(all, 25, 60), 0);
    // The same line without its first 100 pixels.
    QImage rest = empty_image();
    StrokeRaster(rest, rest.rect()).dashes(QPolygonF{{110, 60}, {150, 60}, {290, 60}}, 2, {12, 6, 100}, kInk);
    EXPECT_LT(difference(rest.copy(112, 0, 188, kHeight), all.copy(112, 0, 188, kHeight)), 1);
    // Holes of a steep line are holes, though they lie above each other.
    QImage steep = empty_image();
    StrokeRaster(steep, steep.rect()).dashes(QPolygonF{{100, 5}, {100.5, 115}}, 2, dash, kInk);
    EXPECT_NEAR(ink(steep), 110 * 2 * 2 / 3.0, 16);
}

TEST(StrokeRaster, ATintLiesUnderItsLineOnly) {
    QImage image = empty_image();
    StrokeRaster(image, image.rect()).tint_under(QPolygonF{{50, 40}, {150, 80.5}}, 100, kInk, 51);
    EXPECT_EQ(grey(image, 49, 90), 0);
    EXPECT_EQ(grey(image, 150, 90), 0);
    EXPECT_EQ(grey(image, 60, 42), 0);
    EXPECT_EQ(grey(image, 60, 46), 51);
    EXPECT_EQ(grey(image, 149, 99), 51);
    EXPECT_EQ(grey(image, 100, 100), 0);
    QImage columns = empty_image();
    const double tops[] = {30, std::nan(""), 60.5};
    StrokeRaster(columns, columns.rect()).tint_columns(10, tops, 100, kInk, 200);
    EXPECT_NEAR(ink(columns), (70 + 39.5) * 200 / 255, 1);
    EXPECT_EQ(grey(columns, 11, 80), 0);
}

TEST(StrokeRaster, AColumnIsSolidWithSoftEnds) {
    QImage image = empty_image();
    StrokeRaster raster(image, image.rect());
    raster.column(7, 20.25, 30.5, kInk);
    EXPECT_NEAR(grey(image, 7, 20), 191, 1);
    EXPECT_EQ(grey(image, 7, 21), 255);
    EXPECT_EQ(grey(image, 7, 29), 255);
    EXPECT_NEAR(grey(image, 7, 30), 128, 1);
    raster.column(9, 50.25, 50.75, kInk);
    EXPECT_NEAR(grey(image, 9, 50), 128, 1);
    EXPECT_NEAR(ink(image), 10.25 + 0.5, 0.05);
}

}  // namespace
}  // namespace egpu::ui
