// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/eligibility.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace egpu::host {
namespace {

std::string architecture_name(std::uint32_t architecture, char suffix) {
    return suffix == 0 ? fmt::format("{}", architecture) : fmt::format("{}{}", architecture, suffix);
}

constexpr std::uint32_t kMostThreads = 1024;

/// Launch bounds as a cubin has them.
struct Block {
    std::array<std::uint32_t, 3> size{};  ///< 0: none
    bool required = false;
};

/// The numbers of ".maxntid 128, 2"; dimensions that aren't written are 1.
Block block_of(const ptx::Function& function) {
    Block block;
    for (const auto& directive : function.directives) {
        if (directive.name != "maxntid" && directive.name != "reqntid")
            continue;
        block.required = directive.name == "reqntid";
        block.size = {1, 1, 1};
        std::size_t dimension = 0;
        for (const char* at = directive.text.data(); at < directive.text.data() + directive.text.size();) {
            std::uint32_t number = 0;
            const auto [end, status] = std::from_chars(at, directive.text.data() + directive.text.size(), number);
            if (status == std::errc{} && dimension < block.size.size())
                block.size[dimension++] = number;
            at = status == std::errc{} ? end : at + 1;
        }
    }
    return block;
}

std::string block_text(const Block& block) {
    if (block.size[0] == 0)
        return "blocks of any size";
    return fmt::format("blocks of {}{} x {} x {} threads", block.required ? "" : "at most ", block.size[0],
                       block.size[1], block.size[2]);
}

/// Bytes of one element, from "u64"; 0 where it is no such type.
std::uint32_t type_bytes(std::string_view type) {
    std::uint32_t bits = 0;
    const std::size_t digits = std::min(type.find_first_of("0123456789"), type.size());
    std::from_chars(type.data() + digits, type.data() + type.size(), bits);
    return bits / 8;
}

/// Bytes from `begin`, where the parameters begin, to the end of the last one, each at its alignment; nullopt where one
/// has a type without a size (a texture).
std::optional<std::uint64_t> parameter_bytes(const ptx::Function& function, std::uint64_t begin) {
    std::uint64_t end = begin;
    for (const auto& parameter : function.parameters) {
        const std::uint64_t alignment = std::max(parameter.alignment, type_bytes(parameter.type) * parameter.vector);
        const std::uint64_t bytes = parameter.bytes();
        if (bytes == 0 || alignment == 0)
            return std::nullopt;
        end = (end + alignment - 1) / alignment * alignment + bytes;
    }
    return end - begin;
}

/// Parameters begin behind the driver's own words of the constant bank, at a multiple of 16 that depends on the
/// architecture (0x210 on sm_90), and an alignment above 16 counts from the bank's start: a tensor map (128 bytes,
/// aligned to 128) as the first parameter takes 240 bytes there.
bool may_take(const ptx::Function& function, std::uint64_t running_bytes) {
    for (std::uint64_t begin = 0; begin < 256; begin += 16)
        if (const auto bytes = parameter_bytes(function, begin); !bytes || *bytes == running_bytes)
            return true;
    return false;
}

}  // namespace

ptx::Choice choose_for(const ptx::Image& image, std::uint32_t architecture, bool simulated) {
    ptx::Choice choice = ptx::choose(image, architecture);
    if (simulated)
        choice.cubin = nullptr;
    return choice;
}

std::optional<Diagnostic> source_mismatch(const ptx::Image& image, const ptx::Choice& choice) {
    if (image.relocatable) {
        auto refused =
            error("EGPU-A010",
                  "built with -rdc: egpu does not link the parts of a program; without -rdc=true it takes the kernel");
        refused.fix = "build it without -rdc=true";
        return refused;
    }
    if (choice.cubin == nullptr || choice.ptx == nullptr)
        return std::nullopt;
    const auto& cubin = *choice.cubin;
    const auto& ptx = *choice.ptx;
    if (cubin.virtual_architecture == 0) {
        auto refused = error("EGPU-A011", fmt::format("the running code for sm_{} does not say which PTX it comes from",
                                                      architecture_name(cubin.architecture, cubin.suffix)));
        refused.fix = "build it with a CUDA Toolkit of version 12 or later";
        return refused;
    }
    if (cubin.virtual_architecture != ptx.architecture || cubin.suffix != ptx.suffix) {
        auto refused =
            error("EGPU-A012", fmt::format("the PTX is for compute_{}, the running code comes from compute_{}",
                                           architecture_name(ptx.architecture, ptx.suffix),
                                           architecture_name(cubin.virtual_architecture, cubin.suffix)));
        refused.fix = fmt::format("add -gencode arch=compute_{0},code=compute_{0} to its build",
                                  architecture_name(cubin.virtual_architecture, cubin.suffix));
        return refused;
    }
    return std::nullopt;
}

std::vector<std::pair<std::string, const ptx::CubinMember*>> cubin_kernels(const ptx::Image& image,
                                                                           const ptx::Choice& choice) {
    std::vector<std::pair<std::string, const ptx::CubinMember*>> kernels;
    std::set<std::string> seen;
    for (const auto& cubin : image.cubins) {
        if (choice.cubin != nullptr && &cubin != choice.cubin)
            continue;
        for (const auto& kernel : cubin.kernels)
            if (seen.insert(kernel.name).second)
                kernels.emplace_back(kernel.name, &cubin);
    }
    return kernels;
}

NoPtx no_ptx(const ptx::Image& image, const ptx::CubinMember& cubin) {
    const std::string with_ptx = "nvcc -gencode arch=compute_XX,code=compute_XX beside the machine code";
    const std::string architecture = architecture_name(cubin.architecture, cubin.suffix);
    // Each part's PTX lies in the program, but is not the source of what the linker made of all of them.
    if (cubin.linked)
        return {fmt::format("built with -rdc: code for sm_{}, linked from parts that egpu does not link; without "
                            "-rdc=true it takes the kernel",
                            architecture),
                "build it without -rdc=true, and with PTX: " + with_ptx};
    if (!image.ptx.empty())
        return {fmt::format("cubin for sm_{}; its PTX does not fit this device", architecture),
                "build it with PTX: " + with_ptx};
    std::string others;
    for (const auto& member : image.cubins)
        if (&member != &cubin)
            others += fmt::format(", sm_{}", architecture_name(member.architecture, member.suffix));
    return {fmt::format("cubin for sm_{}{} only", architecture, others), "build it with PTX: " + with_ptx};
}

const ptx::CubinKernel* kernel_of(const ptx::CubinMember* cubin, const std::string& name) {
    if (cubin == nullptr)
        return nullptr;
    for (const auto& kernel : cubin->kernels)
        if (kernel.name == name)
            return &kernel;
    return nullptr;
}

BlockBounds bounds_of(const ptx::Function& function) {
    const Block block = block_of(function);
    const std::uint64_t threads = std::uint64_t{block.size[0]} * block.size[1] * block.size[2];
    return threads == 0 || threads > kMostThreads ? BlockBounds{}
                                                  : BlockBounds{static_cast<std::uint32_t>(threads), block.required};
}

std::optional<Diagnostic> kernel_mismatch(const ptx::Function& function, const ptx::CubinKernel& code,
                                          const std::vector<std::string>& options) {
    const auto refused = [](std::string_view id, std::string message) {
        auto diagnostic = error(id, std::move(message));
        diagnostic.fix = "build the program so that its PTX is the source of its machine code (one -gencode for both)";
        return diagnostic;
    };
    if (code.parameter_bytes != 0 && !may_take(function, code.parameter_bytes))
        return refused("EGPU-A013", fmt::format("its PTX takes {} bytes of parameters, the running code {}",
                                                parameter_bytes(function, 0).value_or(0), code.parameter_bytes));
    const bool by_options = std::any_of(options.begin(), options.end(),
                                        [](const std::string& option) { return option.starts_with("--maxntid"); });
    const Block block = block_of(function);
    if (by_options)
        return std::nullopt;
    if (block.size != code.block || (block.size[0] != 0 && block.required != code.block_is_required))
        return refused("EGPU-A014", fmt::format("its PTX is for {}, the running code for {}", block_text(block),
                                                block_text({code.block, code.block_is_required})));
    return std::nullopt;
}

inject::OriginalOptions original_options(const ptx::Choice& choice, std::uint32_t max_registers,
                                         std::uint32_t optimisation_level) {
    inject::OriginalOptions original;
    original.runs_cubin = choice.cubin != nullptr;
    if (choice.cubin != nullptr)
        original.cubin_note = choice.cubin->tool_options;
    if (choice.ptx != nullptr)
        original.ptx_record = choice.ptx->options;
    original.max_registers = max_registers;
    original.optimisation_level = optimisation_level;
    return original;
}

std::optional<std::uint32_t> known_bytes(std::uint32_t stack_bytes) {
    return stack_bytes == std::numeric_limits<std::uint32_t>::max() ? std::nullopt : std::optional(stack_bytes);
}

std::string architecture_suffix(const ptx::Module& module) {
    if (module.target.ends_with('a'))
        return "a";
    return module.target.ends_with('f') ? "f" : "";
}

std::string first_line(const Diagnostic& diagnostic) {
    return diagnostic.message.substr(0, diagnostic.message.find('\n'));
}

}  // namespace egpu::host
