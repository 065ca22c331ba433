// SPDX-License-Identifier: Apache-2.0
#include "ui/model/source_feed.hpp"

#include <fmt/format.h>

#include "host/findings/findings.hpp"
#include "host/record/recording.hpp"
#include "host/series/live_source.hpp"

namespace egpu::ui {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFactsEvery{500};
constexpr Time kThereAtOnce = Time{30} * 1'000'000'000;

class SessionFeed final : public Feed {
public:
    SessionFeed(std::unique_ptr<host::Source> source, std::string name)
        : reader_(std::move(source)), name_(std::move(name)) {}

    Update next() override {
        Update update;
        reader_.next(update);
        const auto& source = reader_.source();
        update.last = source.state() != host::SourceState::live;
        update.life = source.state() == host::SourceState::live    ? Life::live
                      : source.state() == host::SourceState::ended ? Life::ended
                                                                   : Life::damaged;
        update.life_text = source.state_text();
        update.gap = update.last;
        reader_.add_facts(update, update.last);
        reader_.add_messages(update);
        return update;
    }
    milliseconds pause() const override { return milliseconds(50); }  // what the agent copies 20 times a second
    std::string name() const override { return name_; }

private:
    SourceReader reader_;
    std::string name_;
};

class RecordingFeed final : public Feed {
public:
    RecordingFeed(std::unique_ptr<host::Source> source, std::string name)
        : reader_(std::move(source)), name_(std::move(name)) {}

    Update next() override {
        Update update;
        update.last = !reader_.next(update);
        const bool damaged = reader_.source().state() == host::SourceState::damaged;
        update.life = !update.last ? Life::starting : damaged ? Life::damaged : Life::recorded;
        update.life_text = update.last ? reader_.source().state_text() : std::string("reading");
        if (update.last) {
            update.time = reader_.time();
            reader_.add_facts(update, true);
            reader_.add_messages(update);
        }
        return update;
    }
    milliseconds pause() const override { return milliseconds(0); }
    std::string name() const override { return name_; }

private:
    SourceReader reader_;
    std::string name_;
};

class ReplayFeed final : public Feed {
public:
    ReplayFeed(std::unique_ptr<host::Source> source, std::string file)
        : reader_(std::move(source)), file_(std::move(file)) {}

    Update next() override {
        Update update;
        update.life = Life::replaying;
        const auto due = reader_.peek();
        if (!due)
            return next_round();
        if (!started_ || *due - first_ <= kThereAtOnce) {
            first_ = started_ ? first_ : *due;
            played_from_ = steady_clock::now() - std::chrono::nanoseconds(*due);
            started_ = true;
        }
        const auto wait = played_from_ + std::chrono::nanoseconds(*due) - steady_clock::now();
        pause_ = std::chrono::ceil<milliseconds>(wait);
        if (pause_.count() > 0) {  // not yet
            update.time = reader_.time();
            return update;
        }
        reader_.next(update);
        reader_.add_facts(update, false);
        reader_.add_messages(update);
        return update;
    }
    milliseconds pause() const override { return std::max(pause_, milliseconds(0)); }
    std::string name() const override { return "demo data"; }

private:
    Update next_round() {
        Update update;
        update.life = Life::replaying;
        update.time = reader_.time();
        auto again = host::Recording::open(file_);
        if (!again || !samples_seen()) {
            update.last = true;
            update.life = Life::damaged;
            update.life_text = again ? "the demo data holds no sample" : again.error().message;
            return update;
        }
        update.gap = true;
        reader_.restart(std::move(*again), reader_.time() + 50'000'000);
        return update;
    }
    bool samples_seen() const { return started_; }

    SourceReader reader_;
    std::string file_;
    bool started_ = false;
    Time first_ = 0;
    steady_clock::time_point played_from_{};
    milliseconds pause_{0};
};

std::string file_name(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

void SourceReader::restart(std::unique_ptr<host::Source> source, Time at) {
    source_ = std::move(source);
    lines_.restart();
    samples_.clear();
    base_ns_.reset();
    offset_ = at;
    messages_ = 0;
}

bool SourceReader::fill() {
    if (samples_.empty())
        for (auto& sample : source_->take_samples())
            samples_.push_back(std::move(sample));
    return !samples_.empty();
}

Time SourceReader::time_of(const host::Sample& sample) {
    if (!base_ns_) {
        // Time 0 is the session's start; a later round goes on where the one before ended.
        const std::int64_t started = source_->view().catalogue.started_unix_ms * 1'000'000;
        const std::int64_t since = started > 0 && sample.unix_ns > started ? sample.unix_ns - started : 0;
        base_ns_ = sample.monotonic_ns - (offset_ != 0 ? 0 : static_cast<std::uint64_t>(since));
    }
    return static_cast<Time>(sample.monotonic_ns - *base_ns_) + offset_;
}

std::optional<Time> SourceReader::peek() {
    return fill() ? std::optional(time_of(samples_.front())) : std::nullopt;
}

bool SourceReader::next(Update& update) {
    if (!fill())
        return false;
    time_ = time_of(samples_.front());
    lines_.add(samples_.front(), source_->series(), source_->view(), time_, update);
    samples_.pop_front();
    return true;
}

void SourceReader::add_facts(Update& update, bool now) {
    if (!now && steady_clock::now() - facts_at_ < kFactsEvery)
        return;
    const auto& view = source_->view();
    auto facts = std::make_shared<Facts>(facts_of(view, host::find_all(view)));
    facts->time = time_;
    for (auto& row : facts->kernels) {
        const auto rates = lines_.window().kernel(row.id, source_->series());
        row.launch_rate = rates.launches;
        row.read_rate = rates.read;
        row.written_rate = rates.written;
    }
    update.facts = std::move(facts);
    facts_at_ = steady_clock::now();
}

void SourceReader::add_messages(Update& update) {
    const auto& all = source_->messages();
    for (; messages_ < all.size(); ++messages_) {
        const bool is_error = all[messages_].text.find("error: ") != std::string::npos;
        const bool is_warning = all[messages_].text.find("warning: ") != std::string::npos;
        update.messages.emplace_back(is_error     ? Severity::error
                                     : is_warning ? Severity::warning
                                                  : Severity::hint,
                                     all[messages_].text);
    }
}

Result<std::unique_ptr<Feed>> open_session_feed(const std::string& session) {
    auto source = host::LiveSource::open(session);
    if (!source)
        return source.errors();
    const std::string number = std::to_string((*source)->view().catalogue.session);
    return std::unique_ptr<Feed>(std::make_unique<SessionFeed>(std::move(*source), "session " + number));
}

Result<std::unique_ptr<Feed>> open_recording_feed(const std::string& file) {
    auto source = host::Recording::open(file);
    if (!source)
        return source.errors();
    return std::unique_ptr<Feed>(std::make_unique<RecordingFeed>(std::move(*source), file_name(file)));
}

Result<std::unique_ptr<Feed>> open_replay_feed(const std::string& file) {
    auto source = host::Recording::open(file);
    if (!source)
        return source.errors();
    return std::unique_ptr<Feed>(std::make_unique<ReplayFeed>(std::move(*source), file));
}

}  // namespace egpu::ui
