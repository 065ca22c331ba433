// SPDX-License-Identifier: Apache-2.0
// Which thread of a launch is the first to enter and which the last to leave: for programs that run once a grid.
#pragma once

#include <cstdint>
#include <string>

#include "inject/codegen/codegen.hpp"

namespace egpu::inject {

/// What a copy that follows its launches needs of its context's memory, zeroes at first and shared by all copies there.
/// A launch has the line `%gridid` mod kGridLines. Ids count up, so two launches that run at one time have two lines,
/// unless kGridLines others came while the first of them ran; a graph's node keeps its id, and runs once at a time. The
/// blocks of a launch of more than kGridStripes count in lines of its set of stripes, so that they don't queue at one:
/// a vector addition of 65,536 blocks took 10.1 of its times with 64 stripes of 32 bytes, 2.6 with these (H200).
///
///   byte 0      launches that were not followed; one that is given up before its first block enters may count twice
///   byte 128    launch lines: owner · threads that left, or stripes that are done · when the first thread entered
///   then        stripe lines, set by set: owner · threads that left
///
/// An owner is `%gridid` + 1, or 0. Two launches at one line at one time are both given up: the line is then
/// kGridDirty with the later one's owner. The next launch that comes there makes the counts zero again and is given up
/// too (kGridClean); any other after that can have the line. A graph's node whose launch was given up is not followed
/// in its later replays, which have the same id: each is counted.
inline constexpr std::uint32_t kGridLines = 65536;
inline constexpr std::uint32_t kGridLineBytes = 32;
inline constexpr std::uint32_t kGridSets = 512;
inline constexpr std::uint32_t kGridStripes = 128;
inline constexpr std::uint32_t kGridStripeBytes = 128;  ///< a cache line each
inline constexpr std::uint32_t kGridHeadBytes = 128;
inline constexpr std::uint32_t kGridSetsAt = kGridHeadBytes + kGridLines * kGridLineBytes;
inline constexpr std::uint32_t kGridBytes = kGridSetsAt + kGridSets * kGridStripes * kGridStripeBytes;
inline constexpr std::uint64_t kGridClean = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kGridDirty = std::uint64_t{2} << 62;
inline constexpr std::uint64_t kGridCleaning = std::uint64_t{3} << 62;  ///< also the mask of the three

/// The thread that a program once a grid is for, as a predicate, in the scope that the texts are put in.
inline constexpr const char* kGridThread = "%egpu_grid";
/// When the launch's first thread entered, ns of %globaltimer: known to the last to leave.
inline constexpr const char* kGridStart = "%egpu_grid_start";

/// ".reg" statements of both, for the scope.
std::string grid_declarations();
/// For the start of an entry function: the predicate holds for the first thread of the launch to enter.
EmittedProbe emit_grid_arrival(FunctionContext& function);
/// Behind the programs of the first thread: what they stored is seen by those of the last.
EmittedProbe emit_grid_arrived(FunctionContext& function);
/// For lanes that leave the kernel: the predicate holds for the last thread of the launch to leave.
EmittedProbe emit_grid_departure(FunctionContext& function);

}  // namespace egpu::inject
