// SPDX-License-Identifier: Apache-2.0
// A recording as a source of samples: one that is whole, one that egpu was killed over, one that is being written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/series/source.hpp"

namespace egpu::host {

/// What a recording says of itself.
struct RecordingFacts {
    std::uint32_t schema = 0;
    std::string egpu_version;
    std::uint32_t session = 0;
    std::int64_t started_unix_ns = 0;
    std::int64_t last_unix_ns = 0;  ///< of its last sample; 0: it has none
    std::uint64_t samples = 0;
    std::uint64_t interval_ms = 0;
    bool finished = false;  ///< written to the end; else egpu was killed, or still writes
    std::string summary;    ///< JSON as of --summary; "" where there is none
};

class Recording final : public Source {
public:
    /// EGPU-R010: can't be read, EGPU-R011: not a recording, EGPU-R012: of a newer egpu, EGPU-R013: damaged.
    static Result<std::unique_ptr<Recording>> open(const std::string& file);
    ~Recording() override;

    std::vector<Sample> take_samples() override;
    const SeriesTable& series() const override;
    const SessionView& view() const override;
    const std::vector<SourceMessage>& messages() const override;
    SourceState state() const override;
    const std::string& state_text() const override;
    std::string control_path() const override { return {}; }

    const RecordingFacts& facts() const;
    /// Hands the view over, for whoever wants the session's last state and no samples.
    SessionView take_view() &&;

private:
    struct State;
    explicit Recording(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace egpu::host
