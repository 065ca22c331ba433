// SPDX-License-Identifier: Apache-2.0
#include "ebpf/events/known.hpp"

namespace egpu::ebpf {

bool is_known_at(const ContextField& field, const InjectionPoint& point) {
    if (field.name == "sectors")
        return point.granularity != Granularity::thread;  // of a warp's whole access
    switch (field.when) {
        case ContextField::When::return_events:
            return waits_for_value(point.event);
        case ContextField::When::grid_exit:
            return point.event == Event::kernel_exit && point.granularity == Granularity::grid;
        case ContextField::When::always:
            break;
    }
    return true;
}

Variability variability_at(const ContextField& field, const InjectionPoint& point) {
    if (point.event == Event::async_copy && field.name == "bytes_per_lane")
        return Variability::lane;
    // Of a program that each thread runs, these are the thread's own.
    const bool own = field.name == "latency" || (point.event == Event::async_copy && field.name == "bytes");
    return own && point.granularity == Granularity::thread ? Variability::lane : field.variability;
}

}  // namespace egpu::ebpf
