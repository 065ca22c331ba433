// SPDX-License-Identifier: Apache-2.0
#include "host/records/print_lines.hpp"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/units.hpp"
#include "ebpf/helpers/print_record.hpp"

namespace egpu::host {
namespace {

std::optional<ebpf::PrintRecord> head_of(std::span<const std::byte> record) {
    ebpf::PrintRecord head;
    if (record.size() < sizeof head || (record.size() - sizeof head) % 8 != 0)
        return std::nullopt;
    std::memcpy(&head, record.data(), sizeof head);
    return head;
}

/// "3", "3,1", "3,1,2": as many numbers as are needed.
std::string place(const std::uint32_t (&at)[3]) {
    if (at[2] != 0)
        return fmt::format("{},{},{}", at[0], at[1], at[2]);
    return at[1] != 0 ? fmt::format("{},{}", at[0], at[1]) : std::to_string(at[0]);
}

}  // namespace

std::string printed_line(const ebpf::MapDefinition& map, std::span<const std::byte> record,
                         const Catalogue& catalogue) {
    const auto head = head_of(record);
    const auto text = head ? map.formats.find(head->text) : map.formats.end();
    if (text == map.formats.end())
        return {};
    std::vector<std::uint64_t> numbers((record.size() - sizeof *head) / 8);
    std::memcpy(numbers.data(), record.data() + sizeof *head, numbers.size() * 8);
    const Kernel* kernel = catalogue.kernel(head->kernel);
    return fmt::format("{}, block {}, thread {}: {}",
                       kernel != nullptr ? kernel->name : fmt::format("kernel {}", head->kernel), place(head->block),
                       place(head->thread), ebpf::printed_text(ebpf::read_format(text->second), numbers));
}

bool prints_unknown_kernel(std::span<const std::byte> record, const Catalogue& catalogue) {
    const auto head = head_of(record);
    return head && catalogue.kernel(head->kernel) == nullptr;
}

bool PrintLines::wants(std::uint32_t map) {
    if (map >= catalogue_.maps.size())
        catalogue_ = catalogue_of_session_();
    return map < catalogue_.maps.size() && !catalogue_.maps[map].definition.formats.empty();
}

void PrintLines::take(std::uint32_t map, std::span<const std::byte> record, Clock::time_point now) {
    if (!wants(map))
        return;
    if (prints_unknown_kernel(record, catalogue_))
        catalogue_ = catalogue_of_session_();
    if (!second_ || now - *second_ >= std::chrono::seconds(1)) {
        finish();
        second_ = now;
        printed_ = 0;
    }
    if (printed_ == kMostASecond) {
        ++left_out_;
        return;
    }
    const std::string line = printed_line(catalogue_.maps[map].definition, record, catalogue_);
    if (line.empty())
        return;
    ++printed_;
    print_(line);
}

void PrintLines::finish() {
    if (left_out_ == 0)
        return;
    print_(fmt::format("({} more lines of bpf_printk: at most {} a second are printed)", format_count(left_out_),
                       kMostASecond));
    left_out_ = 0;
}

}  // namespace egpu::host
