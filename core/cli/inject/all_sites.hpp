// SPDX-License-Identifier: Apache-2.0
// Does every kernel take programs everywhere? The assembler is the judge: each kind of site alone, with a program that
// does nothing and one that counts, and all of them at once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/sampling.hpp"
#include "cli/inject/kinds.hpp"
#include "cli/inject/modules.hpp"
#include "host/pipeline/assembler.hpp"

namespace egpu::cli {

/// What came out for one module.
struct AllSites {
    std::size_t kernels = 0;
    std::size_t copies = 0;                    ///< built
    std::size_t texts = 0;                     ///< different ones, assembled
    std::map<std::string, std::size_t> sites;  ///< by kind, of the programs that count
    /// Sites at which nothing may be inserted: (kind, reason) -> how many.
    std::map<std::pair<std::string, std::string>, std::size_t> skipped;
    /// What else is no site of a kind that might be thought to have it -> at how many kinds.
    std::map<std::string, std::set<std::string>> not_counted;
    std::vector<std::pair<std::string, Diagnostic>> refused;  ///< kernel, why egpu makes no copy of it at all
    std::vector<std::pair<std::string, Diagnostic>> failed;   ///< "kernel, kind, program": what must not happen
};

class AllSitesCheck {
public:
    /// EGPU-V0xx, B0xx where the programs themselves are wrong.
    static Result<AllSitesCheck> make(std::vector<Kind> kinds, const Sampling& sampling = {});
    /// `architecture` "": the module's own target.
    AllSites run(const NamedModule& module, host::Assembler& assembler, const inject::Compiler& compiler,
                 const std::string& architecture) const;

private:
    std::vector<Kind> kinds_;
    KindPrograms nothing_, count_;
    Sampling sampling_;  ///< of all programs but those that run once a grid
    friend class KernelTrials;
};

}  // namespace egpu::cli
