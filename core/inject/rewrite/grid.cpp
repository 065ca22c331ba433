// SPDX-License-Identifier: Apache-2.0
// Programs that run once a grid. A kernel that has one at its entry or its exits finds both threads, since the last to
// leave is known only in a launch whose threads were seen to enter.
//
//   start:   <addresses> <accumulators = 0> <other programs>      exit:   <other programs>
//            {                                                            {
//            .reg .pred %egpu_grid; ...                                   .reg .pred %egpu_grid; ...
//            <am I the first of the launch?>                              <am I the last of the launch?>
//            @%egpu_grid <programs>                                       @%egpu_grid <programs>
//            @%egpu_grid fence.acq_rel.gpu;                               }
//            }                                                            <flush> ret;
#include "inject/codegen/grids.hpp"
#include "inject/rewrite/writer.hpp"

namespace egpu::inject {

Result<std::string> grid_text(FunctionWriter& writer, const Firings& firings, bool entry) {
    if (!writer.follows_grids())
        return std::string();
    const auto add = [&writer](std::string& text, const EmittedProbe& probe) {
        text += probe.text;
        writer.count(probe.instructions);
    };
    std::string text = "\t{\n" + grid_declarations();
    add(text, entry ? emit_grid_arrival(writer.context()) : emit_grid_departure(writer.context()));
    for (const Firing* firing : firings) {
        if (!writer.is_once_a_grid(*firing))
            continue;
        SiteBinding binding;
        binding.guard = kGridThread;
        auto probe = writer.emit(*firing, std::move(binding));
        if (!probe)
            return probe;
        text += *probe;
    }
    if (entry)
        add(text, emit_grid_arrived(writer.context()));
    return text + "\t}\n";
}

}  // namespace egpu::inject
