// SPDX-License-Identifier: Apache-2.0
// What `egpu inject` says of whole files: identity, all sites, sites, figures.
#pragma once

#include <string>
#include <vector>

#include "base/sampling.hpp"
#include "ebpf/events/events.hpp"

namespace egpu::cli {

/// kYes where every module is the same after parse, print and assembly; kNo where one isn't; kEnvironment where a file
/// can't be read or there is no ptxas.
int report_identity(const std::vector<std::string>& files, const std::string& architecture);

/// kYes where the assembler takes every copy; `kind` "" for all kinds.
int report_all_sites(const std::vector<std::string>& files, const std::string& kind, const std::string& architecture,
                     const Sampling& sampling);

/// A table of the sites of these points; kNo where there is none.
int report_sites(const std::vector<std::string>& files, const std::vector<ebpf::InjectionPoint>& points);

/// Sizes, and the time of parsing, planning and writing a program that counts at these points.
int report_figures(const std::vector<std::string>& files, const std::vector<ebpf::InjectionPoint>& points);

}  // namespace egpu::cli
