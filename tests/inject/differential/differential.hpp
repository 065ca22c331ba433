// SPDX-License-Identifier: Apache-2.0
// Random programs that the verifier accepts, through all engines: what they leave in their maps is the same from the
// reference interpreter and as PTX on the simulated GPU, whatever the specialiser knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace egpu::inject::testing {

/// What came of the programs so far, so that a run that compares nothing can't pass for one that finds nothing.
struct DifferentialStatistics {
    std::uint64_t programs = 0, accepted = 0;
    std::uint64_t compared = 0;       ///< runs on the simulated GPU
    std::uint64_t effects = 0;        ///< of these, runs after which a map holds something else than zeroes
    std::uint64_t of_many_lanes = 0;  ///< of these, runs of more than one thread
    std::uint64_t unspecialized = 0;  ///< of these, runs that knew nothing of the site
    std::uint64_t hidden = 0;         ///< of these, runs with the constants hidden
    std::uint64_t accumulators = 0;   ///< of these, runs with sums in registers
    std::uint64_t sent = 0;           ///< of these, runs that send records
    std::uint64_t searched = 0;       ///< of these, runs in which the GPU makes entries of a hash
    std::map<std::string, std::uint64_t> refused;  ///< forms that specialiser or generator refuse, by form and code

    std::string text() const;
};

/// Makes a program of `bytes`, and runs it if the verifier takes it. What differs, with the program and its PTX;
/// nothing where all agree.
std::optional<std::string> disagreement(std::span<const std::uint8_t> bytes, DifferentialStatistics& statistics);

}  // namespace egpu::inject::testing
