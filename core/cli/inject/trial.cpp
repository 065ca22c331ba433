// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/trial.hpp"

#include <algorithm>
#include <cstring>

#include "host/pipeline/pipeline.hpp"
#include "maps/storage/storage.hpp"

namespace egpu::cli {

void Trial::add(const ebpf::Object& object, std::size_t program) {
    const auto found = std::find(objects_.begin(), objects_.end(), &object);
    const auto at = static_cast<std::size_t>(found - objects_.begin());
    if (found == objects_.end()) {
        objects_.push_back(&object);
        bases_.push_back(static_cast<std::uint32_t>(layouts_.size()));
        for (const auto& map : object.maps)
            layouts_.push_back(maps::layout_of(map, host::kAssumedSmCount));
    }
    programs_.push_back({&object, &object.programs[program], bases_[at], static_cast<std::uint32_t>(programs_.size())});
}

Result<inject::InstrumentedCopy> Trial::copy_of(const ptx::Module& module, const std::string& kernel,
                                                bool spare_wgmma) const {
    inject::CopyRequest request;
    request.module = &module;
    request.entry = kernel;
    request.programs = programs_;
    request.sampling = sampling_;
    for (auto& program : request.programs)
        program.sampled = !sampling_.is_all() && program.program->point.granularity != ebpf::Granularity::grid;
    request.layouts = &layouts_;
    request.spare_wgmma = spare_wgmma;
    // Every map of these objects is an array: its keys are its slots.
    request.slot_of_key = [](std::uint32_t, std::span<const std::byte> key) {
        std::uint32_t slot = 0;
        std::memcpy(&slot, key.data(), std::min(sizeof slot, key.size()));
        return std::optional(slot);
    };
    std::uint32_t sites = 0;
    request.new_site_id = [&sites](const inject::SiteRecord&) { return ++sites; };
    return inject::build_copy(request);
}

}  // namespace egpu::cli
