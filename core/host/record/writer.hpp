// SPDX-License-Identifier: Apache-2.0
// Samples and states into the tables of a recording. Each write is one transaction: a file is whole after it, or as
// it was before.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host/record/database.hpp"
#include "host/record/state.hpp"
#include "host/series/source.hpp"

namespace egpu::host {

class RecordingWriter {
public:
    /// Replaces a recording of that name (EGPU-R001, EGPU-R002).
    static Result<std::unique_ptr<RecordingWriter>> create(const std::string& file, std::uint64_t interval_ms);

    /// EGPU-R003 where the file takes no more; EGPU-R004: another process holds it now, try again with more.
    Status write(std::span<const Sample> samples, const Source& source);
    /// The last: with the session's totals, its findings and summary.
    Status finish(std::span<const Sample> samples, const Source& source, const SessionView& last,
                  const std::string& summary);

private:
    RecordingWriter(std::string file, std::uint64_t interval_ms);
    Status carry_out(std::span<const Sample> samples, const Source& source, const SessionView& view,
                     const std::string* summary);
    void put_meta(const SessionView& view, const std::string* summary);
    void put_samples(std::span<const Sample> samples, const Source& source);
    void put_state(const SessionView& view);
    void put_maps(const SessionView& view);
    void put_counts(const SessionView& view);
    void put_findings(const SessionView& view);

    /// What the file holds: changed where a transaction has gone through.
    struct Written {
        bool begun = false;
        std::int64_t sample = 0;
        std::uint32_t series = 0;
        std::size_t messages = 0;
        std::uint32_t catalogue_version = 0;
        std::vector<std::uint64_t> clocks;
        std::vector<std::uint64_t> copied_ns;  // by map
        std::vector<std::vector<std::uint64_t>> kernels, copies;
    };

    std::string file_;
    Database database_;
    Written written_, writing_;
};

}  // namespace egpu::host
