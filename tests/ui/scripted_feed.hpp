// SPDX-License-Identifier: Apache-2.0
// A feed whose updates the test gives, and a window that shows it.
#pragma once

#include <QTest>
#include <deque>
#include <memory>
#include <mutex>

#include "ui/app/main_window.hpp"
#include "ui/model/feed.hpp"

namespace egpu::ui {

constexpr Time kSecond = 1'000'000'000;

/// Where a test puts updates for a ScriptedFeed.
class Script {
public:
    void give(Update update);
    Update take();
    bool empty();

private:
    std::mutex mutex_;
    std::deque<Update> updates_;
};

class ScriptedFeed final : public Feed {
public:
    explicit ScriptedFeed(std::shared_ptr<Script> script) : script_(std::move(script)) {}
    Update next() override { return script_->take(); }
    std::chrono::milliseconds pause() const override { return std::chrono::milliseconds(script_->empty() ? 1 : 0); }
    std::string name() const override { return "script"; }

private:
    std::shared_ptr<Script> script_;
};

/// Two lines in a chart of bandwidth, told by the first update; `points` a second from `from` to `to` (seconds).
Update lines_update();
std::vector<Update> points(double from, double to, double per_second);
/// A session of so many kernels, "kernel_0" on: each third is refused, with a reason.
FactsPointer facts_with_kernels(std::size_t count);

/// An 1000 x 700 window over a script, with its first `seconds` of data in it.
struct TestWindow {
    explicit TestWindow(double seconds = 60, double per_second = 20);
    ~TestWindow();
    /// Gives updates and waits until the window has them.
    void give(std::vector<Update> updates);
    void give(Update update);
    ChartWidget& chart() { return *window.stack().charts().front(); }
    QPoint middle() { return chart().plot_area().center(); }

    std::shared_ptr<Script> script = std::make_shared<Script>();
    MainWindow window{ThemeName::dark};
};

/// How many different colours a picture has.
int colours_in(const QImage& image);

}  // namespace egpu::ui
