// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/constants.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/units.hpp"

namespace egpu::host {
namespace {

/// A kernel's form with a bank, on its way.
struct Beside {
    CopyBuild* by_address = nullptr;
    CopyBuild bank;
};

/// Whether the form with a bank may be better: decided before it is compiled.
bool may_gain(const CopyBuild& build, ConstantForm form) {
    if (form != ConstantForm::by_figures)
        return form == ConstantForm::bank;
    if (!build.chosen.compiled)
        return false;
    const auto& knobs = build.chosen.knobs;
    const std::uint32_t without = build.original && build.original->registers != 0 ? build.original->registers
                                  : build.reassembled                              ? build.reassembled->registers
                                                                                   : 0;
    return knobs.capped || !knobs.accumulators || build.chosen.compiled->spill_bytes != 0 ||
           build.first_registers >= without + kRegistersWorthARefresh;
}

bool is_better(const CopyBuild& by_address, const CopyBuild& bank) {
    return bank.first_registers + kRegistersWorthARefresh <= by_address.first_registers ||
           bank.chosen.compiled->spill_bytes < by_address.chosen.compiled->spill_bytes;
}

std::uint64_t bytes_of(const std::vector<inject::BankedConstant>& bank) {
    std::uint64_t bytes = 0;
    for (const auto& constant : bank)
        bytes += constant.bytes;
    return bytes;
}

/// Of the two forms' notes: those of the bank's, and what the other is like.
std::vector<std::string> notes_of(const CopyBuild& by_address, const CopyBuild& bank) {
    std::vector<std::string> notes(by_address.notes.begin(),
                                   by_address.notes.begin() + static_cast<std::ptrdiff_t>(by_address.common_notes));
    notes.insert(notes.end(), bank.notes.begin(), bank.notes.end());
    notes.push_back(fmt::format("constants in the constant bank ({} bytes, refreshed before each launch)",
                                format_count(bytes_of(bank.chosen.copy.bank))));
    std::string other = "constants by address in graphs and where the bank can't be refreshed";
    if (by_address.chosen.compiled)
        other += fmt::format(": {} registers", by_address.chosen.compiled->registers);
    for (std::size_t at = by_address.common_notes; at < by_address.notes.size(); ++at)
        other += ", " + by_address.notes[at];
    notes.push_back(std::move(other));
    return notes;
}

std::optional<Beside> begin_bank(CopyBuild& build) {
    Beside beside;
    beside.by_address = &build;
    CopyBuild& bank = beside.bank;
    bank.kernel_id = build.kernel_id;
    bank.entry = build.entry;
    bank.bounds = build.bounds;
    bank.original = build.original;
    bank.reassembled = build.reassembled;
    bank.rebuild = [rebuild = build.rebuild](Knobs knobs) {
        knobs.constants_in_bank = true;
        return rebuild(knobs);
    };
    auto copy = bank.rebuild({});
    if (!copy || copy->bank.empty())
        return std::nullopt;
    bank.chosen.copy = std::move(*copy);
    return beside;
}

std::string_view asked_form() {
    const char* asked = std::getenv("EGPU_CONSTANTS");
    return asked != nullptr ? asked : "";
}

}  // namespace

std::string misnamed_constant_form() {
    const auto name = asked_form();
    return name == "bank" || name == "address" ? std::string() : std::string(name);
}

ConstantForm constant_form() {
    const auto name = asked_form();
    return name == "bank"      ? ConstantForm::bank
           : name == "address" ? ConstantForm::by_address
                               : ConstantForm::by_figures;
}

void add_banks(Assembler& assembler, const inject::Compiler* compiler, const ImageBuild& image, ConstantForm form,
               std::vector<CopyBuild>& builds) {
    std::vector<Beside> besides;
    for (auto& build : builds)
        if (!build.refusal && may_gain(build, form))
            if (auto beside = begin_bank(build))
                besides.push_back(std::move(*beside));
    if (compiler != nullptr) {
        std::vector<CopyBuild> banks;
        for (auto& beside : besides)
            banks.push_back(std::move(beside.bank));
        build_copies(assembler, *compiler, image, banks);
        for (std::size_t at = 0; at < banks.size(); ++at)
            besides[at].bank = std::move(banks[at]);
    }
    for (auto& [by_address, bank] : besides) {
        // Where this form is refused, the other was not: it stays.
        if (bank.refusal || (form == ConstantForm::by_figures && !is_better(*by_address, bank)))
            continue;
        by_address->notes = notes_of(*by_address, bank);
        by_address->banked = std::move(bank.chosen);
    }
}

}  // namespace egpu::host
