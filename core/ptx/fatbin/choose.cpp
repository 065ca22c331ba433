// SPDX-License-Identifier: Apache-2.0
// Which member of an image a device runs. CUDA C++ Programming Guide, "Binary compatibility", "PTX compatibility",
// "Architecture-specific features" and "Family-specific features".
#include "ptx/fatbin/image.hpp"

namespace egpu::ptx {
namespace {

std::uint32_t major_of(std::uint32_t architecture) {
    return architecture / 10;
}

bool suffix_allows(char suffix, std::uint32_t made_for, std::uint32_t device) {
    if (suffix == 'a')
        return made_for == device;
    return suffix != 'f' || major_of(made_for) == major_of(device);
}

bool cubin_runs(const CubinMember& cubin, std::uint32_t device) {
    return major_of(cubin.architecture) == major_of(device) && cubin.architecture <= device &&
           suffix_allows(cubin.suffix, cubin.architecture, device);
}

bool ptx_runs(const PtxMember& ptx, std::uint32_t device) {
    return ptx.architecture <= device && suffix_allows(ptx.suffix, ptx.architecture, device);
}

/// Between two of one architecture the more specific one.
int specificity(char suffix) {
    return suffix == 'a' ? 2 : suffix == 'f' ? 1 : 0;
}

template <typename T>
bool better(const T& candidate, const T* best) {
    if (best == nullptr || candidate.architecture != best->architecture)
        return best == nullptr || candidate.architecture > best->architecture;
    return specificity(candidate.suffix) > specificity(best->suffix);
}

/// How well a PTX fits the cubin that runs: 2 it is its source, 1 another target of the same architecture.
int fit(const PtxMember& ptx, const CubinMember* cubin) {
    if (cubin == nullptr || ptx.architecture != cubin->virtual_architecture)
        return 0;
    return ptx.suffix == cubin->suffix ? 2 : 1;
}

bool better_source(const PtxMember& candidate, const Choice& choice) {
    const int gain = choice.ptx == nullptr ? 1 : fit(candidate, choice.cubin) - fit(*choice.ptx, choice.cubin);
    return gain > 0 || (gain == 0 && better(candidate, choice.ptx));
}

}  // namespace

Choice choose(const Image& image, std::uint32_t architecture) {
    Choice choice;
    for (const CubinMember& cubin : image.cubins)
        if (cubin_runs(cubin, architecture) && better(cubin, choice.cubin))
            choice.cubin = &cubin;
    for (const PtxMember& ptx : image.ptx)
        if (ptx_runs(ptx, architecture) && better_source(ptx, choice))
            choice.ptx = &ptx;
    return choice;
}

}  // namespace egpu::ptx
