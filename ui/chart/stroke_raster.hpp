// SPDX-License-Identifier: Apache-2.0
// StrokeRaster: lines that go from left to right, drawn straight into an image with antialiasing. QPainter strokes any
// shape at any angle; of a chart's lines it took most of a frame. Here a line is an interval of heights in each quarter
// of a pixel's width, so that it costs as much as it is wide.
#pragma once

#include <QImage>
#include <QPointF>
#include <QRect>
#include <limits>
#include <span>
#include <vector>

namespace egpu::ui {

class StrokeRaster {
public:
    /// All coordinates are pixels of the image, which has 32 bits a pixel and no transparency, and nothing outside
    /// `clip` is drawn. The image outlives the raster, and nobody else paints it meanwhile.
    StrokeRaster(QImage& image, const QRect& clip);

    /// A line through these points, none of which lies left of the one before.
    void stroke(std::span<const QPointF> points, double width, QRgb colour);
    /// The same in dashes; `phase`: how far into a dash and its hole the line begins.
    struct Dash {
        double on = 0, off = 0, phase = 0;
    };
    void dashes(std::span<const QPointF> points, double width, const Dash& dash, QRgb colour);
    void dot(const QPointF& at, double radius, QRgb colour);
    /// What a line of many points is in one column of pixels: all heights from `top` to `bottom`.
    void column(int x, double top, double bottom, QRgb colour);

    /// The area between a line and `bottom`, `alpha` of 255 of the colour.
    void tint_under(std::span<const QPointF> points, double bottom, QRgb colour, unsigned alpha);
    /// The same where the height of each column from `left` on is known; NaN: none.
    void tint_columns(int left, std::span<const double> tops, double bottom, QRgb colour, unsigned alpha);

private:
    static constexpr int kParts = 4;  ///< of a pixel's width
    struct Interval {
        double low = std::numeric_limits<double>::infinity();
        double high = -std::numeric_limits<double>::infinity();
        bool empty() const { return !(low < high); }
    };
    /// Parts whose middles lie in [left, right): first and one past the last.
    std::pair<int, int> parts_in(double left, double right) const;
    double middle_of(int part) const { return clip_.left() + (part + 0.5) / kParts; }
    void add(int part, double low, double high);
    /// What is between was or will be added to.
    void touch(int first, int end);
    void add_segment(const QPointF& from, const QPointF& to, double half);
    void add_disc(const QPointF& at, double radius);
    /// Paints what was added, and forgets it.
    void flush(QRgb colour);
    void paint_column(int x, const Interval* parts, QRgb colour);
    QRgb* pixel(int x, int y) { return pixels_ + static_cast<std::ptrdiff_t>(y) * stride_ + x; }

    QRect clip_;
    QRgb* pixels_;
    std::ptrdiff_t stride_;
    std::vector<Interval> parts_;  ///< of the clip's width
    int first_ = 0, last_ = -1;    ///< parts that were added to lie between
    std::vector<QPointF> piece_;
    std::vector<double> tops_;
    std::vector<int> first_rows_;
};

}  // namespace egpu::ui
