// SPDX-License-Identifier: Apache-2.0
#include "host/session/plugin_calls.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/signals.hpp"
#include "host/view/live_view.hpp"
#include "segment/access/shared.hpp"

namespace egpu::host {
namespace {

/// How often it looks whether maps were copied: twice as often as they are.
constexpr std::chrono::milliseconds kPause{25};

/// A session's note is a warning by itself.
std::string as_note(const Diagnostic& problem) {
    std::string text = to_text(problem);
    for (const std::string_view word : {"warning: ", "error: "})
        if (text.starts_with(word))
            text.erase(0, word.size());
    return text;
}

}  // namespace

void PluginCalls::add(const LoadedProbe& probe) {
    if (!probe.has_code) {
        const std::lock_guard lock(mutex_);
        known_.erase(probe.name);
        return;
    }
    auto caller = std::make_shared<PluginCaller>(probe.name, probe.path, probe.object);
    if (const auto started = caller->start(); !started)
        return server_.note(as_note(started.error()));
    const std::lock_guard lock(mutex_);
    known_.insert_or_assign(probe.name, probe);
    callers_.push_back(std::move(caller));
    if (thread_.joinable())
        return;
    const AllSignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
}

void PluginCalls::remove(const std::string& probe) {
    const std::lock_guard lock(mutex_);
    for (auto at = callers_.begin(); at != callers_.end(); ++at)
        if ((*at)->id() == probe) {
            const auto caller = *at;
            callers_.erase(at);
            server_.set_findings(probe, {});
            if (const auto stopped = caller->stop(); !stopped)
                server_.note(as_note(stopped.error()));
            return;
        }
}

void PluginCalls::restore(const std::string& probe) {
    std::unique_lock lock(mutex_);
    const auto found = known_.find(probe);
    if (found == known_.end())
        return;
    const LoadedProbe again = found->second;
    lock.unlock();
    add(again);
}

bool PluginCalls::any() const {
    return std::any_of(callers_.begin(), callers_.end(), [](const auto& caller) { return caller->is_on(); });
}

void PluginCalls::run() {
    auto& drains = segment_.view().header().drains;
    for (std::uint64_t seen = segment::load_acquire(drains); !stopping_; std::this_thread::sleep_for(kPause)) {
        // Copies that came while a call went on are one: the plugin sees the newest.
        const std::uint64_t now = segment::load_acquire(drains);
        if (now == seen)
            continue;
        seen = now;
        call_all();
    }
}

void PluginCalls::call_all() {
    const std::lock_guard lock(mutex_);
    if (!any())
        return;
    auto view = view_session(segment_.view(), server_.catalogue());
    if (!view)
        return server_.note(as_note(view.error()));
    const auto shared = std::make_shared<const SessionView>(std::move(*view));
    for (const auto& caller : callers_) {
        if (!caller->is_on())
            continue;
        auto findings = caller->on_snapshot(shared);
        if (findings)
            server_.set_findings(caller->id(), std::move(*findings));
        else
            server_.note(as_note(findings.error()));
    }
}

void PluginCalls::stop_thread() {
    stopping_ = true;
    if (thread_.joinable())
        thread_.join();
}

void PluginCalls::finish() {
    stop_thread();
    call_all();
    const std::lock_guard lock(mutex_);
    for (const auto& caller : callers_)
        if (const auto stopped = caller->stop(); !stopped)
            server_.note(as_note(stopped.error()));
    callers_.clear();
}

}  // namespace egpu::host
