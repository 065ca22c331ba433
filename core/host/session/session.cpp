// SPDX-License-Identifier: Apache-2.0
#include "host/session/session.hpp"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "host/records/print_lines.hpp"
#include "host/records/pump.hpp"
#include "host/session/control.hpp"
#include "host/session/control_socket.hpp"
#include "host/session/map_description.hpp"
#include "host/session/plugin_calls.hpp"
#include "host/session/program_file.hpp"
#include "host/session/server.hpp"
#include "host/view/live_view.hpp"
#include "segment/create/create.hpp"
#include "segment/create/sessions.hpp"

namespace egpu::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kKernelCapacity = 8192;
constexpr std::uint32_t kCopyCapacity = 16384;
/// Names of some ten thousand kernels and sites; with the bundled programs a segment stays under 32 MiB.
constexpr std::uint64_t kCatalogueBytes = std::uint64_t{3} << 20;

segment::SegmentRequest request_for(const Pipeline& pipeline, const SessionOptions& options) {
    segment::SegmentRequest request;
    request.kernel_capacity = kKernelCapacity;
    request.catalogue_bytes = kCatalogueBytes;
    request.wait_ms = options.wait_ms;
    request.gpu_memory_limit = options.gpu_memory_bytes;
    request.sample_launches = options.sample_launches;
    request.launch_skip = options.launch_skip;
    request.launch_count = options.launch_count;
    request.time_launches = !options.simulated;
    request.measure_overhead = options.measure_overhead && !options.simulated;
    request.reserve_bytes = options.reserve_bytes;
    request.copy_capacity = kCopyCapacity;
    const auto& maps = pipeline.catalogue().maps;
    for (std::size_t i = 0; i < maps.size(); ++i)
        request.maps.push_back(describe(maps[i], pipeline.layouts()[i]));
    return request;
}

Result<LaunchPlan> plan_for(const SessionOptions& options, const std::string& segment_name) {
    namespace fs = std::filesystem;
    const fs::path library = install_folders().library;
    LaunchPlan plan;
    plan.command = options.command;
    plan.inheritance = options.inheritance;
    plan.preload.push_back((library / "libegpu-agent.so").string());
    if (options.simulated) {
        plan.preload.push_back((library / "simulated" / "libcuda.so.1").string());
        plan.preload.push_back((library / "simulated" / "libcudart.so.13").string());
    }
    for (const auto& file : plan.preload) {
        std::error_code failed;
        if (!fs::exists(file, failed))
            return error("EGPU-X032", fmt::format("{} is missing: this installation of egpu is incomplete", file));
        if (file.find_first_of(" :") != std::string::npos)
            return error(
                "EGPU-X033",
                fmt::format("{}: the loader takes no preloaded library whose path has a blank or a colon", file),
                "install egpu to another folder");
    }
    plan.environment.emplace_back(segment::kNameVariable, segment_name);
    return plan;
}

/// While it lives, signals are read, not taken: none is lost between the start and the first wait, and none ends egpu
/// while a segment lies there that nobody else removes.
class WatchedSignals {
public:
    WatchedSignals() {
        sigset_t set;
        ::sigemptyset(&set);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGCHLD})
            ::sigaddset(&set, signal);
        ::sigprocmask(SIG_BLOCK, &set, &before_);
        descriptor_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    /// What nobody has read is over with the session: a signal passed on late would end egpu after its work, with
    /// another exit code than the application's.
    ~WatchedSignals() {
        signalfd_siginfo info{};
        while (::read(descriptor_, &info, sizeof info) == sizeof info) {
        }
        if (descriptor_ >= 0)
            ::close(descriptor_);
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    }
    WatchedSignals(const WatchedSignals&) = delete;
    WatchedSignals& operator=(const WatchedSignals&) = delete;
    int descriptor() const { return descriptor_; }

private:
    sigset_t before_{};
    int descriptor_ = -1;
};

}  // namespace

struct Session::State {
    std::unique_ptr<WatchedSignals> signals;  // before the segment, and longer
    Pipeline pipeline;
    segment::OwnedSegment segment;
    std::unique_ptr<Server> server;
    std::unique_ptr<PluginCalls> plugins;  // after the server, which it tells what they find
    std::unique_ptr<PrintLines> lines;
    std::unique_ptr<RecordPump> records;  // after the server and the lines, which it uses
    ControlSocket control;                // after the server, which its thread uses
    pid_t child = 0;
    Clock::time_point started = Clock::now();
    std::optional<Clock::time_point> ended;
    std::uint32_t insights_wait_ms = 0;
    std::function<void(const Ending&)> on_ended;

    State(std::unique_ptr<WatchedSignals> watched, Pipeline pipe, segment::OwnedSegment owned)
        : signals(std::move(watched)), pipeline(std::move(pipe)), segment(std::move(owned)) {}
};

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}

Session::~Session() {
    if (!state_)
        return;
    state_->control.stop();
    std::atomic_ref<std::uint32_t>(state_->segment.view().header().enabled).store(0);
    state_->plugins.reset();
    state_->records.reset();
    state_->server.reset();
}

Result<std::unique_ptr<Session>> Session::start(SessionOptions options, int* failure_code) {
    *failure_code = kCannot;
    const std::string path = program_path(options.command[0]);
    if (!path.empty()) {
        if (const auto fits = check_program(path, options.simulated); !fits)
            return fits.errors();
    }
    segment::remove_stale_segments();
    remove_stale_sockets();
    const std::vector<LoadedProbe> probes = options.probes;
    Pipeline pipeline(std::move(options.probes), options.kernels, kAssumedSmCount);
    auto signals = std::make_unique<WatchedSignals>();
    auto owned = segment::OwnedSegment::create(request_for(pipeline, options));
    if (!owned)
        return owned.errors();
    const auto plan = plan_for(options, owned->name());
    if (!plan)
        return plan.errors();
    auto state = std::make_unique<State>(std::move(signals), std::move(pipeline), std::move(*owned));
    state->insights_wait_ms = options.insights_wait_ms;
    state->on_ended = std::move(options.on_ended);
    auto& catalogue = state->pipeline.catalogue();
    catalogue.session = static_cast<std::uint32_t>(::getpid());
    catalogue.command = options.command;
    catalogue.probe_sets = options.probe_sets;
    catalogue.sample_launches = options.sample_launches;
    catalogue.sampling = options.sampling;
    catalogue.launch_skip = options.launch_skip;
    catalogue.launch_count = options.launch_count;
    catalogue.measure_overhead = options.measure_overhead;
    catalogue.started_unix_ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    std::atomic_ref<std::uint32_t>(state->segment.view().header().enabled).store(1);
    state->server = std::make_unique<Server>(state->segment, state->pipeline);
    Server& server = *state->server;
    state->lines = std::make_unique<PrintLines>([&server] { return server.catalogue(); },
                                                options.on_printed ? options.on_printed : [](const std::string&) {});
    PrintLines& lines = *state->lines;
    state->records = std::make_unique<RecordPump>(
        state->segment.view(),
        RecordSink{[&lines](std::uint32_t map) { return lines.wants(map); },
                   [&lines](std::uint32_t map, std::span<const std::byte> record) { lines.take(map, record); }});
    state->plugins = std::make_unique<PluginCalls>(state->segment, server);
    for (const auto& probe : probes)
        state->plugins->add(probe);
    PluginCalls& plugins = *state->plugins;
    server.watch_probes({[&plugins](const LoadedProbe& probe) { plugins.add(probe); },
                         [&plugins](const std::string& probe) { plugins.remove(probe); },
                         [&plugins](const std::string& probe) { plugins.restore(probe); }});
    const Status listening = state->control.start(control_path(state->segment.name()),
                                                  [&server](std::string_view line, const std::atomic<bool>& stopping) {
                                                      return answer_request(server, line, stopping);
                                                  });
    if (!listening)
        state->server->note(to_text(listening.error()));
    auto child = start_program(*plan, failure_code);
    if (!child)
        return child.errors();
    state->child = *child;
    if (options.on_started)
        options.on_started(*child);
    state->started = Clock::now();
    return std::unique_ptr<Session>(new Session(std::move(state)));
}

std::uint32_t Session::id() const {
    return static_cast<std::uint32_t>(::getpid());
}

const std::string& Session::segment_name() const {
    return state_->segment.name();
}

pid_t Session::application() const {
    return state_->child;
}

std::optional<Ending> Session::wait(const std::function<bool(const ReceivedSignal&)>& on_signal) {
    while (true) {
        int status = 0;
        const pid_t ended = ::waitpid(state_->child, &status, WNOHANG);
        if (ended == state_->child || (ended < 0 && errno == ECHILD)) {
            state_->ended = Clock::now();
            if (state_->on_ended)
                state_->on_ended(ending_of(status));
            state_->control.stop();
            state_->server->stop();
            state_->records->stop();
            state_->lines->finish();
            state_->plugins->finish();
            state_->pipeline.finish_insights(std::chrono::milliseconds(state_->insights_wait_ms));
            return ending_of(status);
        }
        pollfd watched{state_->signals->descriptor(), POLLIN, 0};
        ::poll(&watched, 1, 1000);
        signalfd_siginfo info{};
        while (::read(state_->signals->descriptor(), &info, sizeof info) == sizeof info) {
            if (info.ssi_signo == SIGCHLD)
                continue;
            if (!on_signal(
                    {static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL, static_cast<pid_t>(info.ssi_pid)}))
                return std::nullopt;
        }
    }
}

Result<SessionView> Session::view() {
    return view_session(state_->segment.view(), state_->server->catalogue());
}

bool Session::drain(std::uint32_t timeout_ms) {
    auto& header = state_->segment.view().header();
    std::atomic_ref<std::uint64_t> drains(header.drains);
    const std::uint64_t before = drains.load();
    std::atomic_ref<std::uint32_t>(header.drain_request).fetch_add(1);
    ::syscall(SYS_futex, &header.drain_request, 1 /* FUTEX_WAKE */, 1, nullptr, nullptr, 0);
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
    while (drains.load() == before && Clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return drains.load() != before;
}

std::string Session::compile_report() const {
    return state_->pipeline.compile_report();
}

double Session::elapsed_seconds() const {
    return std::chrono::duration<double>(state_->ended.value_or(Clock::now()) - state_->started).count();
}

bool driver_present() {
    // The device file tells that the kernel's driver is loaded; the library that a program could use it (WSL:
    // /dev/dxg).
    if (::access("/dev/nvidiactl", F_OK) != 0 && ::access("/dev/dxg", F_OK) != 0)
        return false;
    void* library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr)
        return false;
    ::dlclose(library);
    return true;
}

}  // namespace egpu::host
