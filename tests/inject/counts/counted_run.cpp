// SPDX-License-Identifier: Apache-2.0
#include "counted_run.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/names.hpp"
#include "inject/codegen/grids.hpp"

namespace egpu::inject::testing {
namespace {

constexpr std::uint64_t kStepBudget = 200'000'000;

simulated::Dimensions dimensions(const launches::Extent& extent) {
    return {extent.x, extent.y, extent.z};
}

}  // namespace

/// As tests/launches/objects.cpp makes them with a driver: four f32 a texel, read by whole numbers, clamped at the
/// edges.
Result<std::vector<std::byte>> SimulatedMemory::object(const launches::Argument& argument) {
    using Kind = launches::Argument::Kind;
    if (argument.kind != Kind::texture && argument.kind != Kind::surface)
        return launches::Memory::object(argument);
    constexpr simulated::TexelFormat format{simulated::ChannelKind::floating, 4, 4};
    const std::uint32_t width = argument.extent[0], height = argument.extent[1];
    Area area{0, launches::patterned("f32", std::size_t{width} * height * format.channels)};
    const auto address = memory_.allocate(area.initial.size());
    if (!address)
        return address.error();
    area.address = *address;
    simulated::ImageObject object;
    object.is_surface = argument.kind == Kind::surface;
    object.image = {area.address, format, simulated::ImageKind::two, width, height, 1, width * format.bytes()};
    areas_.push_back(std::move(area));
    if (auto filled = refill_objects(); !filled)
        return filled.error();
    const std::uint64_t handle = memory_.images().add(object);
    std::vector<std::byte> bytes(sizeof handle);
    std::memcpy(bytes.data(), &handle, sizeof handle);
    return bytes;
}

Status SimulatedMemory::refill_objects() {
    for (const auto& area : areas_)
        if (auto copied = memory_.copy_in(area.address, area.initial.data(), area.initial.size()); !copied)
            return copied;
    return ok();
}

Result<std::vector<std::vector<std::byte>>> SimulatedMemory::contents_of_objects() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& area : areas_) {
        auto& contents = all.emplace_back(area.initial.size());
        if (auto copied = memory_.copy_out(contents.data(), area.address, contents.size()); !copied)
            return copied.error();
    }
    return all;
}

void CountedRun::open(const std::string& folder, const LaunchLine& line) {
    line_ = line;
    auto text = read_text(folder + "/" + line.file + ".ptx");
    ASSERT_TRUE(text) << folder << "/" << line.file << ".ptx";
    text_ = std::move(*text);
    auto module = ptx::parse(text_, line.file);
    ASSERT_TRUE(module) << to_text(module.error());
    module_ = std::move(*module);
    for (const auto& function : module_.functions)
        if (function.is_entry && function.body != nullptr && kernel_.empty() &&
            glob_matches(line.kernel, function.name))
            kernel_ = function.name;
    ASSERT_FALSE(kernel_.empty()) << line.file << " has no kernel " << line.kernel;
}

std::unique_ptr<simulated::Module> CountedRun::load(const std::string& text) {
    auto module = simulated::Module::load(text, line_.file, memory_);
    EXPECT_TRUE(module) << (module ? "" : to_text(module.error()));
    return module ? std::move(*module) : nullptr;
}

void CountedRun::launch(simulated::Module& module, std::unique_ptr<simulated::Profile>& profile) {
    const auto kernel = module.kernel(kernel_);
    ASSERT_TRUE(kernel) << to_text(kernel.error());
    if (parameters_.empty()) {
        std::vector<launches::ParameterPlace> places;
        for (const auto& parameter : (*kernel)->parameters)
            places.push_back({parameter.offset, parameter.bytes});
        auto parameters = buffers_.place(line_.arguments, places);
        ASSERT_TRUE(parameters) << to_text(parameters.error());
        parameters_ = std::move(*parameters);
    }
    const auto refilled = buffers_.refill();
    ASSERT_TRUE(refilled) << to_text(refilled.error());
    const auto objects = buffer_memory_.refill_objects();
    ASSERT_TRUE(objects) << to_text(objects.error());
    profile = std::make_unique<simulated::Profile>(*kernel);
    printed_.clear();
    simulated::LaunchEnvironment environment;
    environment.memory = &memory_;
    environment.sm_count = Session::kSmCount;
    environment.step_budget = kStepBudget;
    environment.print = [this](std::string_view text) { printed_ += text; };
    environment.profile = profile.get();
    const auto result = simulated::launch(**kernel, dimensions(line_.grid), dimensions(line_.block), line_.shared,
                                          parameters_, environment);
    ASSERT_TRUE(result) << result.fault->text;
}

std::vector<std::vector<std::byte>> CountedRun::variables() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& variable : original_->variables()) {
        all.emplace_back(variable.bytes);
        EXPECT_TRUE(memory_.copy_out(all.back().data(), variable.address, variable.bytes));
    }
    return all;
}

void CountedRun::restore_variables() {
    for (std::size_t at = 0; at < initial_variables_.size(); ++at)
        EXPECT_TRUE(memory_.copy_in(original_->variables()[at].address, initial_variables_[at].data(),
                                    initial_variables_[at].size()));
}

Left CountedRun::take_left() const {
    auto contents = buffers_.contents();
    auto objects = buffer_memory_.contents_of_objects();
    EXPECT_TRUE(contents);
    EXPECT_TRUE(objects);
    if (!contents || !objects)
        return {};
    std::move(objects->begin(), objects->end(), std::back_inserter(*contents));
    return {std::move(*contents), variables(), printed_};
}

void CountedRun::run_original() {
    original_ = load(text_);
    ASSERT_TRUE(original_);
    initial_variables_ = variables();
    launch(*original_, profile_);
    if (::testing::Test::HasFatalFailure())
        return;
    left_ = take_left();
    executed_ = executed_instructions(module_, *profile_);
}

Left CountedRun::run_copy(Session& session) {
    auto copy = build_copy(session.request(module_, kernel_));
    EXPECT_TRUE(copy) << to_text(copy.error());
    if (!copy)
        return {};
    copy_ = std::move(*copy);
    restore_variables();
    instrumented_ = load(copy_.ptx);
    EXPECT_TRUE(instrumented_) << copy_.ptx;
    const auto grids = memory_.allocate(kGridBytes);
    EXPECT_TRUE(grids);
    if (!instrumented_ || !grids)
        return {};
    maps_ = std::make_unique<CopyMaps>(session, memory_);
    maps_->allocate();
    maps_->fill_table(copy_, *instrumented_, *original_, *grids);
    launch(*instrumented_, copy_profile_);
    return take_left();
}

std::vector<ExecutedInstruction> CountedRun::executed_in_copy() const {
    auto module = ptx::parse(copy_.ptx, line_.file);
    EXPECT_TRUE(module);
    if (!module)
        return {};
    const auto in_copy = executed_instructions(*module, *copy_profile_);
    std::vector<ExecutedInstruction> all;
    auto next = in_copy.begin();
    for (const auto& one : executed_) {
        const auto text = module_.slice(one.instruction->range);
        next = std::find_if(next, in_copy.end(), [&](const ExecutedInstruction& candidate) {
            return candidate.function->name == one.function->name &&
                   module->slice(candidate.instruction->range) == text;
        });
        EXPECT_NE(next, in_copy.end()) << "the copy has no '" << text << "'";
        if (next == in_copy.end())
            return {};
        all.push_back(one);
        all.back().executed = next->executed;
        ++next;
    }
    return all;
}

}  // namespace egpu::inject::testing
