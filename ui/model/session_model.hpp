// SPDX-License-Identifier: Apache-2.0
// SessionModel: everything that the window shows of one session, kept up to date from a feed.
#pragma once

#include <QObject>
#include <memory>

#include "ui/model/charts.hpp"
#include "ui/model/feed.hpp"
#include "ui/model/grid_table.hpp"
#include "ui/model/kernel_table.hpp"
#include "ui/model/message_log.hpp"

namespace egpu::ui {

class SessionModel : public QObject {
    Q_OBJECT
public:
    explicit SessionModel(QObject* parent = nullptr);

    /// Ends the feed before and starts anew with this one; messages stay.
    void start(std::unique_ptr<Feed> feed);
    void stop();
    bool running() const { return feed_ != nullptr; }

    /// What changed in a call of pull().
    struct Changes {
        bool lines = false, facts = false, life = false;
        bool values = false;  ///< of `lines`: a line went elsewhere than on, level or as a gap
        bool any() const { return lines || facts || life; }
    };
    /// Takes what the feed has read since the last call.
    Changes pull();
    /// The same for updates at hand; for tests.
    Changes apply(std::vector<Update> updates);

    Charts& charts() { return *charts_; }
    KernelTable& kernels() { return kernels_; }
    GridTable& probes() { return probes_; }
    GridTable& findings() { return findings_; }
    MessageLog& messages() { return messages_; }
    const FactsPointer& facts() const { return facts_; }
    Life life() const { return life_; }
    /// Nothing more comes from the feed.
    bool finished() const { return finished_; }
    const std::string& life_text() const { return life_text_; }
    const std::string& name() const { return name_; }
    /// Points a second that arrived over the last seconds.
    double point_rate() const { return point_rate_; }

Q_SIGNALS:
    /// charts() is another object from now on; the one before is still there until this returns.
    void restarted();

private:
    void add_lines(const std::vector<LineDefinition>& lines);
    void add_facts(FactsPointer facts);
    void count_points(std::size_t points);
    /// What charts without any value say: most often that the session was too short for a rate.
    void explain_empty_charts();

    std::unique_ptr<FeedThread> feed_;
    std::unique_ptr<Charts> charts_ = std::make_unique<Charts>();
    std::vector<Trace*> lines_;  ///< by number, as updates name them
    KernelTable kernels_;
    GridTable probes_, findings_;
    MessageLog messages_;
    FactsPointer facts_;
    Life life_ = Life::starting;
    bool finished_ = false;
    std::string life_text_, name_;
    double point_rate_ = 0;
    std::size_t points_ = 0, samples_ = 0;
    Time first_sample_ = 0, last_sample_ = 0;
    std::chrono::steady_clock::time_point counted_since_ = std::chrono::steady_clock::now();
};

}  // namespace egpu::ui
