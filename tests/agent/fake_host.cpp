// SPDX-License-Identifier: Apache-2.0
#include "fake_host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "segment/access/shared.hpp"

namespace egpu::test {

bool real_driver = false;

namespace {

// A test for a machine that this one was not built on finds its files beside itself.
std::string moved(const char* built, const char* name) {
    const char* folder = std::getenv("EGPU_TEST_FOLDER");
    return folder != nullptr ? std::string(folder) + "/" + name : built;
}
std::string agent_file() {
    return moved(EGPU_AGENT, "libegpu-agent.so");
}
std::string program_file(const char* program) {
    return moved(program, std::strrchr(program, '/') + 1);
}

using segment::ChannelState;
using segment::Patience;

// For a real driver: thread 0 adds 1 to the words that egpu_table[0] and, where it is filled, egpu_table[1] point to.
constexpr const char* kCopyBody = R"(
.visible .entry work() {
    .reg .pred %p<3>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    mov.u64 %rd3, 1;
    ld.const.u64 %rd1, [egpu_table];
    red.global.add.u64 [%rd1], %rd3;
    ld.const.u64 %rd2, [egpu_table+8];
    setp.eq.u64 %p2, %rd2, 0;
    @%p2 ret;
    red.global.add.u64 [%rd2], %rd3;
    ret;
}
)";

std::string image_text(const std::string& lines) {
    return ".version 7.0\n.target sm_70\n.address_size 64\n" + lines +
           ".visible .const .align 8 .b64 egpu_table[2];\n//" + std::string(9000, '-') + "\n" + kCopyBody;
}

constexpr Patience kPatient{2000, nullptr, nullptr};

void append(std::vector<std::byte>& body, const void* data, std::size_t bytes) {
    const auto* from = static_cast<const std::byte*>(data);
    body.insert(body.end(), from, from + bytes);
    body.resize((body.size() + 7) & ~std::size_t{7});
}

segment::SegmentRequest request_for(const HostOptions& options) {
    segment::SegmentRequest request;
    request.maps = {{"test/map", 4, 8, 16, 2, false, options.adds_up, 0}};
    if (options.is_ring)
        request.maps = {
            {.name = "test/ring", .value_bytes = 1024, .capacity = 5, .is_array = true, .ring_bytes = 4096}};
    request.kernel_capacity = 16;
    request.ring_bytes = 4096;  // smaller than what is sent through it
    request.wait_ms = options.wait_ms;
    request.gpu_memory_limit = options.gpu_memory_limit;
    request.measure_overhead = options.measure_overhead;
    request.time_launches = options.time_launches;
    return request;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (std::string& word : words)
        all.push_back(word.data());
    all.push_back(nullptr);
    return all;
}

/// This process's, with the agent and the mock driver loaded first; `more`, "NAME=value", has the last word.
std::vector<std::string> environment_of(const std::string& segment, const std::vector<std::string>& more) {
    std::map<std::string, std::string> variables;
    const auto set = [&variables](const std::string& variable) {
        const std::size_t name_end = variable.find('=');
        variables[variable.substr(0, name_end)] = variable.substr(name_end + 1);
    };
    for (char** variable = environ; *variable != nullptr; ++variable)
        set(*variable);
    variables["LD_PRELOAD"] = real_driver ? agent_file() : EGPU_AGENT ":" EGPU_MOCK_DRIVER;
    variables.erase("EGPU_SEGMENT");
    if (!segment.empty())
        variables["EGPU_SEGMENT"] = segment;
    for (const std::string& variable : more)
        set(variable);
    std::vector<std::string> all;
    for (const auto& [name, value] : variables)
        all.push_back(name + "=" + value);
    return all;
}

/// An application that says nothing for so long hangs: the slowest one waits for answers for 10 s.
constexpr int kSilenceMs = 60'000;

// A line a thread: its name, the kernel function it sleeps in, and its system call's number and arguments.
std::string threads_of(pid_t process) {
    std::string lines;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
        for (const char* what : {"comm", "wchan", "syscall"}) {
            std::string word;
            std::getline(std::ifstream(task.path() / what), word);
            lines += word + " ";
        }
        lines += "\n";
    }
    return lines;
}

}  // namespace

FakeHost::FakeHost(const HostOptions& options) : options_(options) {
    auto created = segment::OwnedSegment::create(request_for(options));
    if (!created)
        throw std::runtime_error(created.error().message);
    segment_ = std::make_unique<segment::OwnedSegment>(std::move(*created));
    if (const std::uint32_t key = 1; !options.is_ring)
        segment_->publish_key(0, std::as_bytes(std::span(&key, 1)));
    receiver_ = segment::MessageReceiver(view().to_host());
    sender_ = segment::MessageSender(view().to_agent());
    thread_ = std::thread([this] { serve(); });
}

FakeHost::~FakeHost() {
    stop();
}

void FakeHost::stop() {
    stop_ = true;
    if (thread_.joinable())
        thread_.join();
}

std::uint64_t FakeHost::counted() const {
    maps::Snapshot snapshot;
    std::uint64_t value = 0;
    if (segment::copy_snapshot(view(), 0, &snapshot) != maps::CopyResult::copied ||
        !maps::merge_slot(snapshot.bytes, segment::layout_of(view(), 0), 0, {},
                          std::as_writable_bytes(std::span(&value, 1))))
        return ~std::uint64_t{0};
    return value;
}

void FakeHost::serve() {
    for (;;) {
        segment_->beat();
        egpu_message message{};
        const ChannelState state = receiver_.receive(&message, {stop_ ? 0u : 20u, nullptr, nullptr});
        if (state == ChannelState::broken || (state == ChannelState::timed_out && stop_))
            return;
        if (state == ChannelState::timed_out)
            continue;
        if (message.type == EGPU_MESSAGE_IMAGE)
            answer_image(message);
        else if (message.type == EGPU_MESSAGE_COPY_RESULT)
            receiver_.read(segment::writable_bytes_of(results.emplace_back()), kPatient);
        else if (message.type == EGPU_MESSAGE_DEVICE)
            receiver_.read(segment::writable_bytes_of(devices.emplace_back()), kPatient);
    }
}

void FakeHost::answer_image(const egpu_message& message) {
    device_came_first = device_came_first && !devices.empty();
    egpu_message_image image{};
    receiver_.read(segment::writable_bytes_of(image), kPatient);
    std::vector<std::byte> bytes(receiver_.body_left());
    receiver_.read(bytes, kPatient);
    tensor_maps_known = image.tensor_maps_known != 0;
    ++(bytes.size() == image.image_bytes ? images_with_bytes : images_without);
    if (options_.answer == HostOptions::Answer::nothing)
        return;
    if (options_.answer == HostOptions::Answer::nonsense) {
        const std::vector<std::byte> body(4000, std::byte{0xee});
        const std::span<const std::byte> parts[] = {body};
        sender_.send(99, 0xffffffff, parts, kPatient);
        return;
    }
    if (options_.names_at_once)
        send_kernels(message.request);
    usleep(options_.late_ms * 1000);
    send_kernels(message.request);
    if (options_.answer != HostOptions::Answer::kernels_only)
        send_copy(message.request);
    sender_.send(EGPU_MESSAGE_END_OF_COPIES, message.request, {}, kPatient);
}

void FakeHost::send_kernels(std::uint32_t request) {
    std::vector<std::byte> body;
    const egpu_message_kernels head{2, 1};
    append(body, &head, sizeof(head));
    for (const auto& [id, name] : {std::pair{kWorkId, std::string("work")}, {kOtherId, std::string("other")}}) {
        const egpu_kernel_answer kernel{id, static_cast<std::uint32_t>(name.size())};
        append(body, &kernel, sizeof(kernel));
        append(body, name.data(), name.size());
    }
    const std::span<const std::byte> parts[] = {body};
    sender_.send(EGPU_MESSAGE_KERNELS, request, parts, kPatient);
}

void FakeHost::send_copy(std::uint32_t request) {
    std::string symbols("work");
    symbols.push_back('\0');
    std::vector<egpu_table_entry> entries{{1, options_.table_map, options_.table_offset}};
    for (const std::string& symbol : options_.symbols) {
        entries.push_back({2, 0, symbols.size()});
        symbols += symbol;
        symbols.push_back('\0');
    }
    // Larger than the ring.
    const std::string image = image_text(options_.copy_lines);
    const bool has_bank = !options_.bank_lines.empty();
    std::string bank_image = image_text(options_.bank_lines + ".visible .const .align 8 .b8 app_table[16];\n");
    const egpu_bank_constant constant{symbols.size(), options_.bank_bytes};
    symbols += options_.bank_constant;
    symbols.push_back('\0');
    egpu_message_copy head{};
    head.kernel_id = kWorkId;
    head.copy_id = 1;
    head.entries = static_cast<std::uint32_t>(entries.size());
    head.symbol_bytes = static_cast<std::uint32_t>(symbols.size());
    head.name_bytes = 4;
    head.image_bytes = image.size();
    if (has_bank) {
        head.bank_entries = head.entries;
        head.bank_constants = 1;
        head.bank_image_bytes = bank_image.size();
    }
    if (options_.answer == HostOptions::Answer::wrong_sizes)
        head.image_bytes = std::uint64_t{1} << 62;
    std::vector<std::byte> body;
    append(body, &head, sizeof(head));
    append(body, entries.data(), entries.size() * sizeof(entries[0]));
    if (has_bank) {
        append(body, entries.data(), entries.size() * sizeof(entries[0]));
        append(body, &constant, sizeof(constant));
    }
    append(body, symbols.data(), symbols.size());
    if (has_bank)
        append(body, bank_image.c_str(), bank_image.size() + 1);
    append(body, image.data(), image.size());
    const std::span<const std::byte> parts[] = {body};
    sender_.send(EGPU_MESSAGE_COPY, request, parts, kPatient);
}

Application::Application(const std::string& segment, const std::string& way, int launches,
                         const std::vector<std::string>& environment, const char* program) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        throw std::runtime_error("pipe");
    std::vector<std::string> words = {"application", way, std::to_string(launches)};
    std::vector<std::string> variables = environment_of(segment, environment);
    // Not fork: the fake host's thread may hold a lock of the allocator, which the child would wait for.
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int failed = posix_spawn(&pid_, program_file(program).c_str(), &actions, nullptr, pointers(words).data(),
                                   pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
    if (failed != 0) {
        close(input_);
        close(output_);
        throw std::runtime_error("cannot start " + program_file(program) + ": " + std::strerror(failed));
    }
}

Application::~Application() {
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    close(input_);
    close(output_);
}

void Application::send(const std::string& text) {
    if (write(input_, text.data(), text.size()) < 0)
        throw std::runtime_error("write");
}

bool Application::read_more() {
    pollfd output{output_, POLLIN, 0};
    if (poll(&output, 1, kSilenceMs) == 0) {
        text_ += "\nhangs:\n" + threads_of(pid_);
        kill(pid_, SIGKILL);
    }
    char buffer[512];
    const ssize_t got = read(output_, buffer, sizeof(buffer));
    if (got > 0)
        text_.append(buffer, static_cast<std::size_t>(got));
    return got > 0;
}

void Application::wait_for(const std::string& text) {
    while (text_.find(text) == std::string::npos) {
        if (!read_more())
            throw std::runtime_error("the application ended: " + text_);
    }
}

Outcome Application::wait() {
    while (read_more()) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    Outcome outcome;
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.output = text_;
    return outcome;
}

Outcome run_application(const std::string& segment, const std::string& way, int launches,
                        const std::vector<std::string>& environment) {
    return Application(segment, way, launches, environment).wait();
}

}  // namespace egpu::test
