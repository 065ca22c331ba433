// SPDX-License-Identifier: Apache-2.0
#include "host/export/overhead_json.hpp"

namespace egpu::host {

using nlohmann::ordered_json;

ordered_json overhead_json(const std::vector<Overhead>& overheads, std::uint32_t kernel_id) {
    for (const Overhead& overhead : overheads) {
        if (overhead.kernel_id != kernel_id)
            continue;
        const auto figure = [&](double MeasuredOverhead::*field) {
            return overhead.measured ? ordered_json((*overhead.measured).*field) : ordered_json(nullptr);
        };
        return {{"ratio", figure(&MeasuredOverhead::ratio)},
                {"ratio_low", figure(&MeasuredOverhead::low)},
                {"ratio_high", figure(&MeasuredOverhead::high)},
                {"original_ns", figure(&MeasuredOverhead::original_ns)},
                {"instrumented_ns", figure(&MeasuredOverhead::instrumented_ns)},
                {"pairs", overhead.pairs},
                {"probes", overhead.probes},
                {"reason", overhead.reason.empty() ? ordered_json(nullptr) : ordered_json(overhead.reason)}};
    }
    return nullptr;
}

}  // namespace egpu::host
