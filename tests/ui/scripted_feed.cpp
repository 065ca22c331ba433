// SPDX-License-Identifier: Apache-2.0
#include "scripted_feed.hpp"

#include <gtest/gtest.h>

#include <QImage>
#include <cmath>
#include <set>

namespace egpu::ui {

void Script::give(Update update) {
    const std::lock_guard lock(mutex_);
    updates_.push_back(std::move(update));
}

Update Script::take() {
    const std::lock_guard lock(mutex_);
    if (updates_.empty())
        return {};
    Update first = std::move(updates_.front());
    updates_.pop_front();
    return first;
}

bool Script::empty() {
    const std::lock_guard lock(mutex_);
    return updates_.empty();
}

Update lines_update() {
    Update update;
    for (const char* name : {"read", "written"}) {
        LineDefinition line;
        line.chart = "bandwidth";
        line.chart_title = "Requested bandwidth";
        line.unit = Unit::bytes_per_second;
        line.id = line.name = name;
        update.lines.push_back(line);
    }
    return update;
}

std::vector<Update> points(double from, double to, double per_second) {
    std::vector<Update> updates;
    for (auto i = std::llround(from * per_second); i < std::llround(to * per_second); ++i) {
        const double seconds = static_cast<double>(i) / per_second;
        Update update;
        update.time = std::llround(seconds * 1e9);
        update.values = {{0, 2e12 + 1e11 * std::sin(seconds)}, {1, 1e12}};
        updates.push_back(std::move(update));
    }
    return updates;
}

FactsPointer facts_with_kernels(std::size_t count) {
    auto facts = std::make_shared<Facts>();
    facts->program = "test";
    facts->pid = 4711;
    facts->device = "Test device";
    for (std::size_t i = 0; i < count; ++i) {
        KernelRow row;
        row.id = static_cast<std::uint32_t>(i + 1);
        row.name = "kernel_" + std::to_string(i);
        row.signature = row.name + "(float*)";
        row.module = i % 2 == 0 ? "even.so" : "odd.so";
        row.state = i % 3 == 0 ? host::KernelState::refused : host::KernelState::instrumented;
        row.reason = i % 3 == 0 ? "it uses surfaces" : "";
        row.launches = i * 7 % 1000;
        if (i % 5 != 0)
            row.read_rate = static_cast<double>(i);
        facts->kernels.push_back(std::move(row));
    }
    return facts;
}

TestWindow::TestWindow(double seconds, double per_second) {
    window.resize(1000, 700);
    window.show();
    window.open_feed(std::make_unique<ScriptedFeed>(script));
    give(lines_update());
    give(points(0, seconds, per_second));
}

TestWindow::~TestWindow() {
    window.show_start_page();
}

void TestWindow::give(std::vector<Update> updates) {
    if (updates.empty())
        return;
    const Time last = updates.back().time;
    for (auto& update : updates)
        script->give(std::move(update));
    const bool there = QTest::qWaitFor(
        [&] {
            const auto extent = window.model().charts().extent();
            return extent && extent->end >= last;
        },
        60'000);
    EXPECT_TRUE(there) << "the window did not take the points";
    QTest::qWait(40);  // a frame more, so that it is painted
}

void TestWindow::give(Update update) {
    script->give(std::move(update));
    QTest::qWait(60);
}

int colours_in(const QImage& image) {
    std::set<QRgb> colours;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            colours.insert(image.pixel(x, y));
    return static_cast<int>(colours.size());
}

}  // namespace egpu::ui
