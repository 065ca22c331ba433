// SPDX-License-Identifier: Apache-2.0
// egpu top [SESSION]: a session as a live table in a terminal (TARGETS E6.10).
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/screen.hpp"
#include "cli/session_info.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"
#include "cli/top_model.hpp"
#include "cli/top_screen.hpp"
#include "host/series/live_source.hpp"
#include "host/session/control.hpp"
#include "host/session/control_socket.hpp"

namespace egpu::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSampleEvery = std::chrono::milliseconds(50);
constexpr auto kDrawEvery = std::chrono::milliseconds(200);
/// Building the copies of all kernels, and the agent's answer.
constexpr std::uint32_t kAnswerTimeoutMs = 120'000;
/// Where there is no terminal: how long the one table's rates are taken over.
constexpr auto kOneTable = std::chrono::milliseconds(1200);

/// A change of a probe, asked for on a thread of its own: the session may build copies for seconds. The thread holds
/// what it needs, so that nobody has to wait for it when top ends.
class ProbeRequests {
public:
    explicit ProbeRequests(std::string control_path) : path_(std::move(control_path)) {}

    bool pending() const { return state_->pending; }
    /// The outcome of the last request, once.
    std::string take_outcome() {
        const std::lock_guard lock(state_->mutex);
        return std::exchange(state_->outcome, {});
    }
    void ask(const std::string& probe, bool attach) {
        state_->pending = true;
        std::thread([state = state_, path = path_, probe, attach] {
            const host::ProbeRequest request{
                .action = attach ? host::ProbeAction::restore : host::ProbeAction::remove, .name = probe, .what = {}};
            std::string outcome = carry_out(path, request);
            const std::lock_guard lock(state->mutex);
            state->outcome = std::move(outcome);
            state->pending = false;
        }).detach();
    }

private:
    struct State {
        std::atomic<bool> pending{false};
        std::mutex mutex;
        std::string outcome;
    };
    static std::string carry_out(const std::string& path, const host::ProbeRequest& request) {
        const auto text = host::ask_session(path, host::to_json(request), kAnswerTimeoutMs);
        const auto answer = text ? host::answer_from_json(*text) : text.errors();
        if (!answer)
            return answer.error().message;
        if (!answer->done)
            return answer->problems.empty() ? "the session refused" : first_line(answer->problems.front());
        std::size_t originals = 0, waiting = 0;
        for (const auto& outcome : answer->outcomes) {
            originals += outcome.state == "original" ? 1 : 0;
            waiting += outcome.state == "waiting" ? 1 : 0;
        }
        std::string done = request.action == host::ProbeAction::remove
                               ? fmt::format("probe {} taken off", request.name)
                               : fmt::format("probe {} is back: {} in {}", request.name, counted(answer->sites, "site"),
                                             counted(answer->kernels, "kernel"));
        if (originals != 0)
            done += "; original code runs in " + counted(originals, "kernel");
        if (waiting != 0)
            done += fmt::format("; {} wait for a quiet moment", waiting);
        return done;
    }
    static std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

    std::string path_;
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

class Top {
public:
    Top(host::Source& source, Screen& screen)
        : model_(source), screen_(screen), requests_(source.control_path()), style_(style_of_environment()) {}

    void run() {
        auto next_sample = Clock::now(), next_draw = next_sample;
        while (!done_) {
            if (Clock::now() >= next_sample) {
                model_.sample();
                next_sample = Clock::now() + kSampleEvery;
            }
            if (auto outcome = requests_.take_outcome(); !outcome.empty()) {
                controls_.message = std::move(outcome);
                next_draw = Clock::now();
            }
            if (Clock::now() >= next_draw) {
                draw();
                next_draw = Clock::now() + kDrawEvery;
            }
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next_sample - Clock::now()).count();
            const auto key = screen_.read_key(static_cast<int>(std::max<std::int64_t>(left, 0)));
            if (key) {
                press(*key);
                next_draw = Clock::now();
            }
        }
    }

private:
    void draw() {
        if (!controls_.paused || view_.session == 0)
            view_ = model_.view();
        screen_.draw(draw_top(view_, controls_, screen_.size(), style_));
    }

    void press(const Key& key) {
        if (key.kind == KeyKind::interrupt) {
            done_ = true;
        } else if (key.kind == KeyKind::suspend) {
            screen_.suspend();
        } else if (controls_.typing_filter) {
            type_filter(key);
        } else if (controls_.mode == TopMode::help) {
            controls_.mode = TopMode::kernels;
        } else if (key.kind == KeyKind::up || key.kind == KeyKind::down) {
            move(key.kind == KeyKind::down, 1);
        } else if (key.kind == KeyKind::page_up || key.kind == KeyKind::page_down) {
            move(key.kind == KeyKind::page_down, std::max<std::size_t>(screen_.size().rows, 6) - 5);
        } else if (key.kind == KeyKind::escape) {
            controls_.mode = TopMode::kernels;
            controls_.filter.clear();
        } else if (key.kind == KeyKind::character) {
            press_character(key.text);
        }
    }

    void press_character(const std::string& key) {
        controls_.message.clear();
        if (key == "q")
            done_ = true;
        else if (key == "?" || key == "h")
            controls_.mode = TopMode::help;
        else if (key == "p")
            controls_.mode = controls_.mode == TopMode::probes ? TopMode::kernels : TopMode::probes;
        else if (key == "s")
            controls_.sort = static_cast<TopSort>((static_cast<int>(controls_.sort) + 1) % kTopSorts);
        else if (key == "/")
            controls_.typing_filter = true;
        else if (key == "j" || key == "k")
            move(key == "j", 1);
        else if (key == " " && controls_.mode == TopMode::probes)
            toggle_probe();
        else if (key == " ")
            controls_.paused = !controls_.paused;
    }

    void type_filter(const Key& key) {
        auto& filter = controls_.filter;
        controls_.scroll = 0;
        if (key.kind == KeyKind::character) {
            filter += key.text;
        } else if (key.kind == KeyKind::backspace) {
            while (!filter.empty() && (static_cast<unsigned char>(filter.back()) & 0xc0) == 0x80)
                filter.pop_back();
            if (!filter.empty())
                filter.pop_back();
        } else if (key.kind == KeyKind::enter || key.kind == KeyKind::escape) {
            controls_.typing_filter = false;
            if (key.kind == KeyKind::escape)
                filter.clear();
        }
    }

    void move(bool down, std::size_t by) {
        const bool probes = controls_.mode == TopMode::probes;
        std::size_t& at = probes ? controls_.selected_probe : controls_.scroll;
        const std::size_t count =
            probes ? view_.probes.size() : arrange(view_.rows, controls_.sort, controls_.filter).size();
        at = down ? std::min(at + by, count == 0 ? 0 : count - 1) : at - std::min(at, by);
    }

    void toggle_probe() {
        if (controls_.selected_probe >= view_.probes.size())
            return;
        const TopProbe& probe = view_.probes[controls_.selected_probe];
        if (requests_.pending()) {
            controls_.message = "the change before is not done yet";
        } else if (!view_.live) {
            controls_.message = "the session has ended: its probes can't be changed";
        } else {
            controls_.message =
                fmt::format("{} probe {} ...", probe.attached ? "taking off" : "putting back", probe.name);
            requests_.ask(probe.name, !probe.attached);
        }
    }

    TopModel model_;
    Screen& screen_;
    ProbeRequests requests_;
    Style style_;
    TopControls controls_;
    TopView view_;
    bool done_ = false;
};

/// Where there is no terminal: rates of the next second, once.
int print_one_table(host::Source& source) {
    TopModel model(source);
    for (const auto end = Clock::now() + kOneTable; Clock::now() < end && source.state() == host::SourceState::live;
         std::this_thread::sleep_for(kSampleEvery))
        model.sample();
    fmt::print("{}", print_top(model.view()));
    return kYes;
}

int show_top(const std::string& session) {
    if (names_file(session)) {
        print_errors(
            {error("EGPU-X099", fmt::format("'{}' is no session's number: egpu top shows sessions that run", session),
                   "egpu session info FILE and egpu ui FILE open recordings")});
        return kUsage;
    }
    auto source = host::LiveSource::open(session);
    if (!source) {
        print_errors(source.errors());
        return kEnvironment;
    }
    auto screen = Screen::open();
    if (!screen)
        return print_one_table(**source);
    Top(**source, **screen).run();
    return kYes;
}

}  // namespace

void add_top(CLI::App& app, int* exit_code) {
    auto* command =
        app.add_subcommand("top", "A session as a live table: bandwidth, launches and states of its kernels");
    const auto session = std::make_shared<std::string>();
    command->add_option("SESSION", *session, "The session's number; left out: the only one that runs");
    add_session_option(*command, *session, "SESSION");
    command->footer(
        "Keys: q quit, s sort, / filter, p probes (space takes one off or puts it back), space pause, ? help.\n"
        "Without a terminal it prints one table and ends.");
    command->callback([session, exit_code] { *exit_code = show_top(*session); });
}

}  // namespace egpu::cli
