// SPDX-License-Identifier: Apache-2.0
#include "ebpf/object/clang_messages.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::size_t kMostMessages = 8;  // more than are mended at once
constexpr std::size_t kMessageLimit = 300;

/// "file:line:column: error: text  [-Wflag]" with the source line and the one that underlines it.
struct Message {
    std::string_view kind, text, flag;
    Location where;
    std::vector<std::string_view> below;
    bool is_error() const { return kind == "error" || kind == "fatal error"; }
};

std::string_view take_line(std::string_view& rest) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    return line;
}

/// "file:line:column".
Location place_in(std::string_view text) {
    std::array<std::uint32_t, 2> numbers{};  // column, line
    for (auto& number : numbers) {
        const auto colon = text.rfind(':');
        if (colon == std::string_view::npos)
            return {};
        number = static_cast<std::uint32_t>(std::strtoul(std::string(text.substr(colon + 1)).c_str(), nullptr, 10));
        text = text.substr(0, colon);
    }
    return {std::string(text), numbers[1], numbers[0], 0};
}

std::optional<Message> message_in(std::string_view line) {
    for (const std::string_view kind : {"fatal error", "error", "warning", "note"}) {
        const std::string mark = fmt::format("{}: ", kind);
        const auto at = line.starts_with(mark) ? 0 : line.find(": " + mark);
        if (at == std::string_view::npos)
            continue;
        Message message;
        message.kind = kind;
        message.where = place_in(line.substr(0, at));
        message.text = line.substr(at + (at == 0 ? 0 : 2) + mark.size());
        if (const auto flag = message.text.rfind(" [-W"); flag != std::string_view::npos && line.ends_with(']')) {
            message.flag = message.text.substr(flag + 2, message.text.size() - flag - 3);
            message.text = message.text.substr(0, flag);
        }
        return message;
    }
    return std::nullopt;
}

std::vector<Message> messages_in(std::string_view output) {
    std::vector<Message> messages;
    while (!output.empty()) {
        const auto line = take_line(output);
        if (line.starts_with("PLEASE submit") || line.starts_with("Stack dump:"))
            break;  // what clang was doing when it gave up
        if (auto message = message_in(line))
            messages.push_back(*std::move(message));
        else if (!messages.empty())
            messages.back().below.push_back(line);
    }
    return messages;
}

/// From 16 on clang writes "    8 | " before the line, and as many blanks before the marks below it.
std::size_t margin_of(std::string_view line) {
    const auto digit = std::min(line.find_first_not_of(' '), line.size());
    const auto bar = line.find_first_not_of("0123456789", digit);
    return bar != digit && bar != std::string_view::npos && line.substr(bar).starts_with(" | ") ? bar + 3 : 0;
}

/// Clang's own copy of the line, in which tabs are spaces.
void quote(const Message& message, Diagnostic& diagnostic) {
    if (message.below.size() < 2 || message.where.line == 0)
        return;
    const auto margin = margin_of(message.below[0]);
    const auto mark = message.below[1].substr(std::min(margin, message.below[1].size()));
    const auto caret = mark.find('^');
    if (caret == std::string_view::npos)
        return;
    const auto end = std::min(mark.find_first_not_of('~', caret + 1), mark.size());
    diagnostic.quoted = {{message.where.line, std::string(message.below[0].substr(margin)),
                          static_cast<std::uint32_t>(caret + 1), static_cast<std::uint32_t>(end - caret)}};
}

bool has(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// What stands in the first quotes.
std::string_view quoted_name(std::string_view text) {
    const auto begin = text.find('\'');
    const auto end = begin == std::string_view::npos ? begin : text.find('\'', begin + 1);
    return end == std::string_view::npos ? std::string_view{} : text.substr(begin + 1, end - begin - 1);
}

bool is_of_cuda(std::string_view name) {
    return name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim";
}

/// What to write instead; "" where clang's own words say it.
std::string hint_for(std::string_view text) {
    const auto name = quoted_name(text);
    if (has(text, "built-in function") && name.starts_with("__"))
        // libgcc's names: sf and df are float and double, ti has 128 bits.
        return has(name, "sf") || has(name, "df") ? "eBPF has no floating point: count in integers"
               : has(name, "ti")                  ? "eBPF has no numbers of 128 bits"
                                                  : "";
    if (has(text, "BPF stack limit"))
        return "the stack has 512 bytes: a smaller variable, or an array map";
    if (has(text, "nsupported atomic operation") || (has(text, "Cannot select") && has(text, "Atomic")))
        return "atomic operations work on __u32 and __u64";
    if (has(text, "'vmlinux.h' file not found"))
        return "leave it out: egpu.bpf.h has all that a program for a GPU needs";
    if (has(text, "'bpf/bpf_helpers.h' file not found"))
        return "bpf/bpf_helpers.h comes with libbpf: apt install libbpf-dev";
    if (has(text, "undeclared identifier") && is_of_cuda(name))
        return "a program has ctx->thread.x, ctx->block.x, ctx->block_dim.x, ctx->grid_dim.x, and .y and .z of each";
    if (has(text, "unable to create target"))
        return "this clang can't make eBPF: set EGPU_CLANG to one that can";
    return has(text, "undeclared function") || has(text, "implicit declaration of function") ? meant_helper(name) : "";
}

/// Where SEC, __uint and egpu's types are unknown, whatever clang makes of them.
bool lacks_header(std::string_view output) {
    return std::ranges::any_of(std::array{"unknown type name 'egpu_", "'SEC' is invalid", "function 'SEC'",
                                          "unknown type name '__uint'", "incomplete definition of type 'struct egpu_",
                                          "type specifier missing", "type name requires a specifier"},
                               [&](std::string_view words) { return has(output, words); });
}

Diagnostic to_diagnostic(const Message& message, std::string_view code) {
    auto diagnostic = error(code, std::string(message.text.substr(0, kMessageLimit)), hint_for(message.text));
    diagnostic.where = message.where;
    return diagnostic;
}

}  // namespace

std::string meant_helper(std::string_view name) {
    std::vector<std::string> names;
    for (const auto& helper : helpers())
        names.emplace_back(helper.name);
    const auto meant = nearest(name, names);
    return meant.empty() || meant == name ? "" : fmt::format("did you mean '{}'?", meant);
}

std::vector<Diagnostic> clang_errors(const std::string& path, std::string_view output) {
    const auto messages = messages_in(output);
    const bool gave_up = std::ranges::any_of(
        messages, [](const Message& each) { return each.is_error() && each.text.starts_with("error in backend"); });
    std::vector<Diagnostic> errors;
    for (const auto& message : messages) {
        if (!message.is_error() || errors.size() == kMostMessages || (gave_up && !errors.empty()))
            continue;
        auto next = to_diagnostic(message, "EGPU-B061");
        if (next.where.file.empty())
            next.where.file = path;
        // One mistake is met at many places, and in many words of clang's.
        const bool known = std::ranges::any_of(errors, [&](const Diagnostic& each) {
            return each.message == next.message || (!next.hints.empty() && each.hints == next.hints);
        });
        if (known)
            continue;
        if (errors.empty())
            quote(message, next);
        errors.push_back(std::move(next));
    }
    if (errors.empty()) {
        errors.push_back(error("EGPU-B061", fmt::format("clang can't compile {}", path)));
        errors.back().where.file = path;
        errors.back().detail = output.substr(0, output.find_last_not_of('\n') + 1);
    }
    if (lacks_header(output))
        errors.front().hints.emplace_back("a program begins with #include <egpu/bpf/egpu.bpf.h>");
    return errors;
}

std::vector<Diagnostic> clang_warnings(std::string_view output) {
    std::vector<Diagnostic> warnings;
    for (const auto& message : messages_in(output)) {
        if (message.kind != "warning" || message.flag.starts_with("-Wunused") || warnings.size() == kMostMessages)
            continue;
        auto next = to_diagnostic(message, "EGPU-B063");
        next.severity = Severity::warning;
        quote(message, next);
        warnings.push_back(std::move(next));
    }
    return warnings;
}

}  // namespace egpu::ebpf
