// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/calls/services.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/names.hpp"
#include "host/plugins/plugin_file.hpp"

namespace egpu::host {
namespace {

/// More findings than anyone reads: a plugin that reports one per entry should sum up.
constexpr std::size_t kMostFindings = 100;
constexpr std::size_t kMostText = 2000;

/// As much of a struct as both sides know; its first field stays what the plugin said.
template <typename T>
void give(const T& from, T* to) {
    const std::uint32_t size = to->struct_size;
    std::memcpy(to, &from, std::min<std::size_t>(size, sizeof from));
    to->struct_size = size;
}

std::string with_guess(std::string message, const std::string& typed, const std::vector<std::string>& names) {
    if (const auto near = nearest(typed, names); !near.empty())
        return message + fmt::format("; did you mean '{}'?", near);
    return names.empty() ? message : message + fmt::format("; it has {}", fmt::join(names, ", "));
}

std::string text_of(const char* text) {
    return text == nullptr ? std::string() : std::string(text, ::strnlen(text, kMostText));
}

}  // namespace

PluginServices::PluginServices(std::shared_ptr<const SessionView> view, std::shared_ptr<const ebpf::Object> object,
                               std::string plugin)
    : view_(std::move(view)), object_(std::move(object)), plugin_(std::move(plugin)) {
    table_.struct_size = sizeof table_;
    table_.abi_major = EGPU_PLUGIN_ABI_MAJOR;
    table_.abi_minor = EGPU_PLUGIN_ABI_MINOR;
    table_.session = this;
    table_.device = [](void* session, egpu_plugin_device* out) { return of(session).device(out); };
    table_.kernel_count = [](void* session) {
        return static_cast<std::uint32_t>(of(session).view_->catalogue.kernels.size());
    };
    table_.kernel = [](void* session, std::uint32_t id, egpu_plugin_kernel* out) {
        return of(session).kernel(id, out);
    };
    table_.site = [](void* session, std::uint32_t id, egpu_plugin_site* out) { return of(session).site(id, out); };
    table_.map = [](void* session, const char* name, egpu_plugin_rows* out) { return of(session).map(name, out); };
    table_.option = [](void* session, const char* name, void* value, std::uint32_t bytes) {
        return of(session).option(name, value, bytes);
    };
    table_.report = [](void* session, const egpu_plugin_finding* finding) { return of(session).report(finding); };
    table_.last_error = [](void* session) { return of(session).error_.c_str(); };
}

std::int32_t PluginServices::fail(std::int32_t status, std::string message) {
    error_ = std::move(message);
    return status;
}

std::int32_t PluginServices::device(egpu_plugin_device* out) {
    give({sizeof *out, view_->sm_count, view_->compute_capability, view_->simulated ? 1U : 0U,
          view_->device_name.c_str()},
         out);
    return EGPU_PLUGIN_OK;
}

std::int32_t PluginServices::kernel(std::uint32_t id, egpu_plugin_kernel* out) {
    const Kernel* kernel = view_->catalogue.kernel(id);
    if (kernel == nullptr)
        return fail(EGPU_PLUGIN_NOT_FOUND,
                    fmt::format("there is no kernel {}: the session has {}", id, view_->catalogue.kernels.size()));
    const KernelCounts counts = id <= view_->counts.size() ? view_->counts[id - 1] : KernelCounts{};
    give({sizeof *out, id, kernel->name.c_str(), kernel->mangled.c_str(), kernel->module.c_str(),
          to_name(kernel->state), counts.launches, counts.instrumented},
         out);
    return EGPU_PLUGIN_OK;
}

std::int32_t PluginServices::site(std::uint32_t id, egpu_plugin_site* out) {
    const Site* site = view_->catalogue.site(id);
    if (site == nullptr)
        return fail(EGPU_PLUGIN_NOT_FOUND,
                    fmt::format("there is no site {}: the session has {}", id, view_->catalogue.sites.size()));
    give({sizeof *out, id, site->kernel_id, site->line, site->file.c_str(), site->opcode.c_str()}, out);
    return EGPU_PLUGIN_OK;
}

std::int32_t PluginServices::map(const char* name, egpu_plugin_rows* out) {
    const std::string wanted = text_of(name);
    // The last of that name: a probe that was replaced has left one.
    const auto found = std::find_if(view_->maps.rbegin(), view_->maps.rend(),
                                    [&](const MapData& each) { return each.map->name == plugin_ + "/" + wanted; });
    const MapData* data = found == view_->maps.rend() ? nullptr : &*found;
    if (data == nullptr) {
        std::vector<std::string> names;
        for (const auto& map : object_->maps)
            names.push_back(map.name);
        return fail(EGPU_PLUGIN_NOT_FOUND,
                    with_guess(fmt::format("the object has no map '{}'", wanted), wanted, names));
    }
    auto [at, is_new] = entries_.try_emplace(wanted);
    if (is_new)
        at->second = merged_entries(*data);
    const MergedEntries& entries = at->second;
    give({sizeof *out, data->map->definition.key_bytes, data->map->definition.value_bytes, entries.count,
          entries.keys.data(), entries.values.data(), data->age_ns.value_or(std::numeric_limits<std::uint64_t>::max())},
         out);
    return EGPU_PLUGIN_OK;
}

std::int32_t PluginServices::option(const char* name, void* value, std::uint32_t bytes) {
    const std::string wanted = text_of(name);
    const auto& options = object_->options;
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const ebpf::Option& each) { return each.name == wanted; });
    if (found == options.end()) {
        std::vector<std::string> names;
        for (const auto& each : options)
            names.push_back(each.name);
        return fail(EGPU_PLUGIN_NOT_FOUND,
                    with_guess(fmt::format("the object has no option '{}'", wanted), wanted, names));
    }
    if (found->bytes != bytes || found->offset + std::size_t{bytes} > object_->constants.size())
        return fail(EGPU_PLUGIN_WRONG_SIZE, fmt::format("option '{}' is a {} of {} bytes, not of {}", wanted,
                                                        found->type, found->bytes, bytes));
    std::memcpy(value, object_->constants.data() + found->offset, bytes);
    return EGPU_PLUGIN_OK;
}

std::int32_t PluginServices::report(const egpu_plugin_finding* given) {
    egpu_plugin_finding finding{};
    std::memcpy(&finding, given, std::min<std::size_t>(given->struct_size, sizeof finding));
    ReportedFinding reported{plugin_,        text_of(finding.id), Severity::hint,
                             finding.kernel, finding.site,        text_of(finding.text)};
    if (reported.id.empty() || reported.text.empty())
        return fail(EGPU_PLUGIN_FAILED, "a finding needs an id and a text");
    if (!is_plugin_id(reported.id))
        return fail(EGPU_PLUGIN_FAILED, fmt::format("a finding's id '{}' is none: [a-z0-9-]+", reported.id));
    if (finding.severity > EGPU_PLUGIN_ERROR)
        return fail(EGPU_PLUGIN_FAILED, fmt::format("a finding has no severity {}", finding.severity));
    if (finding.kernel != 0 && view_->catalogue.kernel(finding.kernel) == nullptr)
        return fail(EGPU_PLUGIN_NOT_FOUND, fmt::format("a finding about kernel {}, which is none", finding.kernel));
    if (finding.site != 0 && view_->catalogue.site(finding.site) == nullptr)
        return fail(EGPU_PLUGIN_NOT_FOUND, fmt::format("a finding about site {}, which is none", finding.site));
    if (findings_.size() == kMostFindings)
        return fail(EGPU_PLUGIN_FAILED, fmt::format("more than {} findings in one call", kMostFindings));
    reported.severity = static_cast<Severity>(finding.severity);
    findings_.push_back(std::move(reported));
    return EGPU_PLUGIN_OK;
}

std::shared_ptr<const SessionView> empty_view(const ebpf::Object& object, const std::string& plugin) {
    auto view = std::make_shared<SessionView>();
    for (const auto& definition : object.maps)
        view->catalogue.maps.push_back({plugin + "/" + definition.name, definition});
    for (const auto& map : view->catalogue.maps) {
        MapData data;
        data.map = &map;
        data.layout =
            maps::make_layout(map.definition.value_bytes, map.definition.max_entries, map.definition.per_sm(), 1);
        view->maps.push_back(std::move(data));
    }
    return view;
}

}  // namespace egpu::host
