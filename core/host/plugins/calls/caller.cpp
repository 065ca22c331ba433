// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/calls/caller.hpp"

#include <exception>

#include <fmt/format.h>

#include "host/plugins/calls/services.hpp"

namespace egpu::host {
namespace {

/// A call and what it came to, owned by both threads: the one that waits may go first.
template <typename T>
struct Call {
    Result<T> result = Diagnostic{};
};

/// Nothing that a C plugin does throws; but it may have been written in C++ without the SDK's guards.
template <typename T, typename Body>
void guarded(Call<T>& call, Body&& body) {
    try {
        call.result = body();
    } catch (const std::exception& failure) {
        call.result = error("EGPU-X091", fmt::format("an exception left it: {}", failure.what()));
    } catch (...) {
        call.result = error("EGPU-X091", "an exception left it that is no std::exception");
    }
}

}  // namespace

PluginCaller::PluginCaller(std::string id, std::string path, std::shared_ptr<const ebpf::Object> object,
                           std::chrono::milliseconds limit)
    : id_(std::move(id)), path_(std::move(path)), object_(std::move(object)), limit_(limit) {}

Diagnostic PluginCaller::failed(Diagnostic problem) {
    on_ = false;
    problem.severity = Severity::warning;
    problem.message = fmt::format("plugin {}: {}", id_, problem.message);
    problem.hints.emplace_back("its code is not called again in this session; its programs go on counting");
    return problem;
}

Diagnostic PluginCaller::too_long(const char* what) {
    return failed(error("EGPU-X088", fmt::format("{} did not come back within {} s", what,
                                                 static_cast<double>(limit_.count()) / 1000)));
}

Status PluginCaller::start() {
    auto call = std::make_shared<Call<std::shared_ptr<PluginCode>>>();
    const bool back = thread_.run(
        [call, path = path_] {
            guarded(*call, [&]() -> Result<std::shared_ptr<PluginCode>> {
                const auto code = PluginCode::load(path);
                if (!code)
                    return code.errors();
                if (const auto started = (*code)->start(); !started)
                    return started.errors();
                return code;
            });
        },
        limit_);
    if (!back)
        return too_long("its start");
    if (!call->result)
        return failed(call->result.error());
    code_ = *call->result;
    return ok();
}

Result<std::vector<ReportedFinding>> PluginCaller::on_snapshot(std::shared_ptr<const SessionView> view) {
    using Findings = std::vector<ReportedFinding>;
    auto call = std::make_shared<Call<Findings>>();
    auto services = std::make_shared<PluginServices>(std::move(view), object_, id_);
    const bool back = thread_.run(
        [call, services, code = code_] {
            guarded(*call, [&]() -> Result<Findings> {
                if (const auto done = code->on_snapshot(services->table()); !done)
                    return done.errors();
                return services->take_findings();
            });
        },
        limit_);
    if (!back)
        return too_long("its on_snapshot");
    if (!call->result)
        return failed(call->result.error());
    return std::move(*call->result);
}

Status PluginCaller::stop() {
    auto call = std::make_shared<Call<Done>>();
    const bool back = !on_ || code_ == nullptr ||
                      thread_.run(
                          [call, code = code_] {
                              guarded(*call, [&]() -> Status {
                                  code->stop();
                                  return ok();
                              });
                          },
                          limit_);
    if (!back)
        return too_long("its end");
    on_ = false;
    return ok();
}

}  // namespace egpu::host
