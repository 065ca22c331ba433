// SPDX-License-Identifier: Apache-2.0
// Where samples come from: a session that runs, or a recording (host/record). Readers don't care which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/series/series.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

enum class SourceState {
    live,     ///< more samples come
    ended,    ///< no more will come: what there is stays
    damaged,  ///< what came so far stays; the rest can't be read
};

/// What was said to the user during a session, and when.
struct SourceMessage {
    std::int64_t unix_ns = 0;
    std::string text;
};

/// One thread at a time.
class Source {
public:
    virtual ~Source() = default;

    /// What is new since the last call, oldest first. Of a live session: how it stands now, one sample. Of a file: its
    /// next samples, at most some thousands a call; none: there is no further one (of a file that is still being
    /// written: so far).
    virtual std::vector<Sample> take_samples() = 0;

    /// All series that samples taken so far name.
    virtual const SeriesTable& series() const = 0;
    /// The session as of the last call of take_samples (of a file: as of its end). What points into it is good until
    /// the next call.
    virtual const SessionView& view() const = 0;
    virtual const std::vector<SourceMessage>& messages() const = 0;

    virtual SourceState state() const = 0;
    /// Why it ended or what is damaged, for people: "ended", "the egpu process was killed". Of one that is live: "", or
    /// why nothing comes at present ("its application is suspended: ...").
    virtual const std::string& state_text() const = 0;
    /// Of a session that takes requests (host/session/control_socket.hpp); "" of a file.
    virtual std::string control_path() const = 0;
};

}  // namespace egpu::host
