// SPDX-License-Identifier: Apache-2.0
// What a frame of the window costs: 20 lines in one chart, a point more of each a frame, everything drawn again
// (ground, axes, lines). Usage: bench_ui_frame [POINTS [FRAMES]]. Prints milliseconds, as JSON.
#include <QApplication>
#include <QElapsedTimer>
#include <QStyleFactory>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "ui/chart/chart_widget.hpp"

namespace {

using egpu::ui::Time;

constexpr int kLines = 20;
constexpr Time kStep = 50'000'000;  // 20 points a second

double value_of(int line, int point) {
    return 1e12 * (line + 2) + 3e11 * std::sin(point * 0.01 * (line + 1)) + 1e9 * (point * 7919 % 101);
}

void append_point(egpu::ui::Charts& charts, egpu::ui::Chart& chart, int point) {
    for (int line = 0; line < kLines; ++line)
        charts.append(chart, std::to_string(line), std::to_string(line), point * kStep, value_of(line, point));
}

/// Of this thread, ms: what a frame costs where other programs leave it less of the processor.
double thread_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double share_of(std::vector<double> times, double share) {
    std::sort(times.begin(), times.end());
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
}

void print_shares(const char* name, const std::vector<double>& times, const char* behind) {
    std::printf(" \"%s\": {\"p50\": %.2f, \"p95\": %.2f, \"max\": %.2f}%s\n", name, share_of(times, 0.5),
                share_of(times, 0.95), share_of(times, 1), behind);
}

}  // namespace

int main(int argc, char** argv) {
    const int points = argc > 1 ? std::atoi(argv[1]) : 100'000;
    const int frames = argc > 2 ? std::atoi(argv[2]) : 300;
    if (points < 1 || frames < 1)
        return std::fprintf(stderr, "usage: bench_ui_frame [POINTS [FRAMES]]\n"), 2;
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    egpu::ui::Charts charts(static_cast<std::size_t>(points));
    egpu::ui::Chart made;
    made.unit = egpu::ui::Unit::bytes_per_second;
    egpu::ui::Chart& chart = charts.add(std::move(made));
    int next = 0;
    for (; next < points; ++next)
        append_point(charts, chart, next);
    for (const auto& trace : chart.traces)
        trace->visible = true;
    egpu::ui::ChartLink link;
    egpu::ui::ChartWidget widget(chart, link);
    widget.resize(1600, 900);
    widget.show();
    std::vector<double> times, cpu;
    for (int frame = 0; frame < frames; ++frame) {
        QElapsedTimer timer;
        timer.start();
        const double before = thread_ms();
        append_point(charts, chart, next++);
        const auto extent = *charts.extent();
        link.viewport().set_data(extent.begin, extent.end);
        link.viewport().fit();  // all points are in the picture
        link.view_moved();
        widget.data_changed();
        widget.set_theme(egpu::ui::theme(egpu::ui::ThemeName::dark));  // the ground too is drawn anew
        widget.repaint();
        times.push_back(static_cast<double>(timer.nsecsElapsed()) / 1e6);
        cpu.push_back(thread_ms() - before);
        QApplication::processEvents();
    }
    std::printf("{\"lines\": %d, \"points\": %d, \"frames\": %d, \"pixels\": \"1600x900\",\n", kLines, points, frames);
    print_shares("wall_ms", times, ",");
    print_shares("cpu_ms", cpu, "}");
    return 0;
}
