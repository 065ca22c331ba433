// SPDX-License-Identifier: Apache-2.0
// A running session as a source of samples. Reads its segment, and nothing else: the application is not disturbed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/series/sampler.hpp"
#include "host/series/source.hpp"
#include "segment/access/mapping.hpp"

namespace egpu::host {

/// Which of the catalogues that a session published one after the other.
struct CatalogueMark {
    std::uint32_t version = 0, index = 0;
    bool operator==(const CatalogueMark&) const = default;
};

class LiveSource final : public Source {
public:
    /// A session of this user by its number ("4711"); "": the only one that runs. EGPU-X060, EGPU-X061 as
    /// host::open_session; EGPU-M01x where its catalogue can't be read.
    static Result<std::unique_ptr<Source>> open(const std::string& session);
    /// The session of a segment, by its name.
    static Result<std::unique_ptr<Source>> open_segment(const std::string& name);

    std::vector<Sample> take_samples() override;
    const SeriesTable& series() const override { return sampler_.series(); }
    const SessionView& view() const override { return view_; }
    const std::vector<SourceMessage>& messages() const override { return messages_; }
    SourceState state() const override { return state_; }
    const std::string& state_text() const override { return state_text_; }
    std::string control_path() const override;

private:
    explicit LiveSource(segment::Mapping mapping) : mapping_(std::move(mapping)) {}
    Status read();
    void look_for_end();
    void finish(SourceState state, std::string text);

    segment::Mapping mapping_;
    SessionView view_;
    Sampler sampler_;
    std::vector<SourceMessage> messages_;
    std::optional<CatalogueMark> catalogue_;  // that view_ has
    std::uint32_t failures_ = 0;              // one behind the other
    SourceState state_ = SourceState::live;
    std::string state_text_;
};

}  // namespace egpu::host
