// SPDX-License-Identifier: Apache-2.0
// Fixtures of single instructions (tests/data/simulated, written by generate.py there) and the kernels that run them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace egpu::simulated::test {

struct FixtureCase {
    std::vector<std::uint64_t> operands, results;
};

struct Fixture {
    std::string code;                            ///< "add.s32 %d, %0, %1;"
    std::vector<std::string> results, operands;  ///< types
    bool relative = false;                       ///< results are f64, and may be missed by `bound`
    double bound = 0;                            ///< 0: exact
    std::vector<FixtureCase> cases;
};

/// All fixtures of a file; throws nothing, returns none where the file can't be read.
std::vector<Fixture> read_fixtures(const std::string& path);

/// A module with a kernel f0, f1, ... for each fixture: (operands, results, scratch, count), one thread a case.
/// Operands and results take 8 bytes each; scratch is 64 bytes a thread.
std::string module_of(const std::vector<Fixture>& fixtures);

/// Empty if the bits of one result are what the fixture wants.
std::string compare(const Fixture& fixture, std::size_t result, std::uint64_t wanted, std::uint64_t got);

/// The names of the fixture files.
std::vector<std::string> fixture_files();

}  // namespace egpu::simulated::test
