// SPDX-License-Identifier: Apache-2.0
// A chart under mouse, wheel and keys, while data goes on arriving.
#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>
#include <QWheelEvent>
#include <cmath>

#include "scripted_feed.hpp"
#include "ui/panes/session_bar.hpp"

namespace egpu::ui {
namespace {

void turn_wheel(QWidget& widget, const QPoint& at, int notches, Qt::KeyboardModifiers modifiers = {}) {
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, 120 * notches}, Qt::NoButton, modifiers, Qt::NoScrollPhase,
                      false);
    QApplication::sendEvent(&widget, &event);
}

/// Pixels of a line's colour in the plot, by column: true where the column has any.
std::vector<bool> columns_with(ChartWidget& chart, const QColor& colour) {
    const QImage image = chart.grab().toImage();
    const QRect area = chart.plot_area();
    std::vector<bool> columns;
    for (int x = area.left() + 2; x < area.right() - 2; ++x) {
        bool found = false;
        for (int y = area.top(); y < area.bottom(); ++y) {
            const QColor pixel = image.pixelColor(x, y);
            found =
                found || (std::abs(pixel.red() - colour.red()) < 70 && std::abs(pixel.green() - colour.green()) < 70 &&
                          std::abs(pixel.blue() - colour.blue()) < 70);
        }
        columns.push_back(found);
    }
    return columns;
}

TEST(Chart, ZoomWhileStreamingKeepsThePointUnderTheCursor) {
    TestWindow test;
    const QPoint at(test.middle().x() + 100, test.middle().y());
    const Time under = test.chart().time_scale().to_time(at.x());
    turn_wheel(test.chart(), at, 2);
    test.give(points(60, 62, 20));
    EXPECT_NEAR(test.chart().time_scale().to_pixel(under), at.x(), 0.5);
    EXPECT_FALSE(test.window.link().viewport().following());
    EXPECT_NEAR(static_cast<double>(test.window.link().viewport().range().span()), 30e9 * 0.64, 1e6);
    EXPECT_TRUE(test.window.bar().state_text().contains("paused")) << test.window.bar().state_text().toStdString();
    test.window.show_now();
    EXPECT_EQ(test.window.link().viewport().range().end, test.window.model().charts().extent()->end);
}

TEST(Chart, DragPansAndShiftDragZooms) {
    TestWindow test;
    auto& chart = test.chart();
    const TimeRange before = test.window.link().viewport().range();
    QTest::mousePress(&chart, Qt::LeftButton, {}, test.middle());
    QTest::mouseMove(&chart, test.middle() + QPoint(100, 0));
    QTest::mouseRelease(&chart, Qt::LeftButton, {}, test.middle() + QPoint(100, 0));
    const TimeRange after = test.window.link().viewport().range();
    EXPECT_EQ(after.span(), before.span());
    const double moved = 100.0 / chart.plot_area().width() * static_cast<double>(before.span());
    EXPECT_NEAR(static_cast<double>(before.begin - after.begin), moved, moved * 0.02);

    const Time left = chart.time_scale().to_time(test.middle().x() - 50);
    const Time right = chart.time_scale().to_time(test.middle().x() + 50);
    QTest::mousePress(&chart, Qt::LeftButton, Qt::ShiftModifier, test.middle() - QPoint(50, 0));
    QTest::mouseMove(&chart, test.middle() + QPoint(50, 0));
    QTest::mouseRelease(&chart, Qt::LeftButton, Qt::ShiftModifier, test.middle() + QPoint(50, 0));
    EXPECT_EQ(test.window.link().viewport().range(), (TimeRange{left, right}));
}

TEST(Chart, ADoubleClickFitsAllData) {
    TestWindow test;
    QTest::mouseDClick(&test.chart(), Qt::LeftButton, {}, test.middle());
    EXPECT_EQ(test.window.link().viewport().range(), *test.window.model().charts().extent());
}

TEST(Chart, KeysPanAndZoom) {
    TestWindow test;
    const TimeRange before = test.window.link().viewport().range();
    QTest::keyClick(&test.chart(), Qt::Key_Left);
    EXPECT_LT(test.window.link().viewport().range().begin, before.begin);
    QTest::keyClick(&test.chart(), Qt::Key_W);
    EXPECT_LT(test.window.link().viewport().range().span(), before.span());
    QTest::keyClick(&test.chart(), Qt::Key_L);
    EXPECT_TRUE(test.chart().chart().logarithmic);
}

TEST(Chart, CursorShowsAllVisibleLinesInWordsAndExactly) {
    TestWindow test;
    EXPECT_TRUE(test.chart().cursor_texts().isEmpty());
    QTest::mouseMove(&test.chart(), test.middle());
    const auto cursor = test.window.link().cursor();
    ASSERT_TRUE(cursor);
    const QStringList texts = test.chart().cursor_texts();
    ASSERT_EQ(texts.size(), 2);
    const auto point = test.chart().chart().traces[0]->points.nearest(*cursor);
    EXPECT_EQ(texts[0].toStdString(), "read\t" + human_text(point->value, Unit::bytes_per_second) + "\t" +
                                          exact_text(point->value, Unit::bytes_per_second));
    EXPECT_EQ(texts[1].toStdString(), "written\t1.00 TB/s\t1 000 000 000 000 B/s");
    test.chart().chart().traces[0]->visible = false;
    EXPECT_EQ(test.chart().cursor_texts().size(), 1);
}

TEST(Chart, GapsAreGapsAndUnknownIsNotAvailable) {
    TestWindow test;
    Update gap;
    gap.gap = true;
    gap.time = 60 * kSecond;
    test.give({gap});
    test.give(points(75, 85, 20));
    const QColor colour = theme(ThemeName::dark).line(test.chart().chart().traces[1]->style);
    const auto columns = columns_with(test.chart(), colour);
    // The view is 55 s to 85 s: data to 60 s, nothing to 75 s, data again.
    const auto share = [&](double from, double to) {
        const auto size = static_cast<double>(columns.size());
        std::size_t found = 0, all = 0;
        for (auto i = static_cast<std::size_t>(size * from); i < static_cast<std::size_t>(size * to); ++i, ++all)
            found += columns[i] ? 1 : 0;
        return static_cast<double>(found) / static_cast<double>(all);
    };
    EXPECT_GT(share(0.01, 0.15), 0.95);
    EXPECT_EQ(share(0.20, 0.64), 0);
    EXPECT_GT(share(0.68, 0.98), 0.95);
    test.window.link().set_cursor(60 * kSecond + 1);
    EXPECT_TRUE(test.chart().cursor_texts()[0].contains("n/a")) << test.chart().cursor_texts()[0].toStdString();
}

TEST(Chart, SaysThatAPixelStandsForManyPoints) {
    TestWindow few(10, 20);
    EXPECT_TRUE(few.chart().aggregation_text().isEmpty());
    TestWindow many(30, 500);
    EXPECT_TRUE(many.chart().aggregation_text().contains("min and max"))
        << many.chart().aggregation_text().toStdString();
}

TEST(Chart, APeakOfOnePointIsInTheRangeOfMany) {
    TestWindow test(20, 500);
    Update peak;
    peak.time = 20 * kSecond + 1;
    peak.values = {{0, 9e12}};
    test.give({peak});
    test.window.fit();
    EXPECT_GE(test.chart().value_range().high, 9e12);
}

/// Lines of every look, one of them with gaps, `per_second` points of each.
std::vector<Update> many_looks(double from, double to, double per_second) {
    std::vector<Update> updates = points(from, to, per_second);
    for (auto& update : updates) {
        const double seconds = static_cast<double>(update.time) / 1e9;
        update.values = {{0, 2e12 + 1e11 * std::sin(seconds * 3)},
                         {1, 1.5e12 + 3e11 * std::sin(seconds * 40)},
                         {2, 1e12},
                         {3, std::fmod(seconds, 7) < 2 ? std::nan("") : 5e11 + 2e11 * std::cos(seconds * 9)},
                         {4, 2e12 + 1e11 * std::sin(seconds * 3)}};
    }
    return updates;
}

Update many_lines() {
    Update update;
    for (int i = 0; i < 5; ++i) {
        LineDefinition line;
        line.chart = "bandwidth";
        line.chart_title = "Requested bandwidth";
        line.unit = Unit::bytes_per_second;
        line.id = line.name = line.colour_of = std::to_string(i);
        line.stroke = i == 1 || i == 2 ? Stroke::dashed : i == 4 ? Stroke::dotted : Stroke::solid;
        line.filled = line.wide = i == 0;
        line.wide = line.wide || i == 2;
        update.lines.push_back(line);
    }
    return update;
}

TEST(Chart, APictureThatMovedOnIsTheOneThatIsDrawnAnew) {
    for (const double per_second : {20.0, 200.0}) {  // each point, and columns of many
        MainWindow window(ThemeName::dark);
        window.resize(1000, 700);
        auto script = std::make_shared<Script>();
        window.open_feed(std::make_unique<ScriptedFeed>(script));
        window.show();
        SessionModel& model = window.model();
        window.clock().set_running(false);
        const auto show = [&](std::vector<Update> updates) {
            model.apply(std::move(updates));
            const auto extent = model.charts().extent();
            if (extent)
                window.link().viewport().set_data(extent->begin, extent->end);
            window.link().view_moved();
            window.stack().data_changed();
            QTest::qWait(1);
        };
        show({many_lines()});
        show(many_looks(0, 40, per_second));
        ChartWidget& chart = *window.stack().charts().front();
        chart.grab();
        const auto whole = chart.whole_pictures();
        for (int i = 0; i < 60; ++i) {
            show(many_looks(40 + i * 0.1, 40.1 + i * 0.1, per_second));
            chart.grab();
        }
        EXPECT_LE(chart.whole_pictures(), whole + 2) << "it was drawn anew, not moved";
        const QImage moved = chart.grab().toImage();
        chart.set_theme(theme(ThemeName::dark));
        const QImage anew = chart.grab().toImage();
        EXPECT_GT(chart.whole_pictures(), whole);
        int other = 0;
        for (int y = 0; y < moved.height(); ++y)
            for (int x = 0; x < moved.width(); ++x) {
                const QColor a = moved.pixelColor(x, y), b = anew.pixelColor(x, y);
                other +=
                    std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue()) > 24
                        ? 1
                        : 0;
            }
        EXPECT_LE(other, per_second < 100 ? 20 : 200) << per_second << " points a second";
        window.show_start_page();
    }
}

TEST(Chart, ChartsAreLinked) {
    TestWindow test;
    Update more;
    LineDefinition line;
    line.chart = "other";
    line.chart_title = "Other";
    line.id = line.name = "x";
    more.lines = {line};
    test.give(more);
    ASSERT_EQ(test.window.stack().charts().size(), 2u);
    auto* other = test.window.stack().charts()[1];
    turn_wheel(*other, other->plot_area().center(), 3);
    EXPECT_EQ(test.chart().time_scale().range, other->time_scale().range);
    EXPECT_EQ(test.chart().plot_area().left(), other->plot_area().left());
}

TEST(Legend, ATickHidesALineAndItsValueIsThatAtTheCursor) {
    TestWindow test;
    auto* legend = test.window.stack().legends().front();
    auto& traces = test.chart().chart().traces;
    QTest::mouseClick(legend, Qt::LeftButton, {}, legend->row_rectangle(0).center());
    EXPECT_FALSE(traces[0]->visible);
    EXPECT_EQ(test.chart().chart().hidden(), 1u);
    legend->setFocus();
    QTest::keyClick(legend, Qt::Key_Space);
    EXPECT_TRUE(traces[0]->visible);
    EXPECT_TRUE(test.window.link().viewport().following()) << "Space in a legend pauses nothing";
    test.window.link().set_cursor(45 * kSecond);
    EXPECT_EQ(legend->value_text(*traces[0]).toStdString(),
              human_text(traces[0]->points.nearest(45 * kSecond)->value, Unit::bytes_per_second));
}

TEST(Legend, NewestIsTheMomentOfTheTables) {
    TestWindow test;
    auto* legend = test.window.stack().legends().front();
    auto& traces = test.chart().chart().traces;
    auto facts = std::make_shared<Facts>(*facts_with_kernels(2));
    facts->time = 20 * kSecond;
    Update update;
    update.time = 60 * kSecond;
    update.facts = facts;
    test.give(update);
    EXPECT_EQ(legend->value_text(*traces[0]).toStdString(),
              human_text(traces[0]->points.nearest(20 * kSecond)->value, Unit::bytes_per_second));
}

}  // namespace
}  // namespace egpu::ui
