// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/plugin_file.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/version.hpp"
#include "egpu/plugin.h"
#include "host/plugins/elf_image.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

static_assert(kPluginAbiMajor == EGPU_PLUGIN_ABI_MAJOR && kPluginAbiMinor == EGPU_PLUGIN_ABI_MINOR);

constexpr std::size_t kMostFileBytes = std::size_t{256} << 20;
constexpr const char* kSymbol = "egpu_plugin_descriptor";

struct Words {
    PluginState state;
    const char* words;
    const char* code;
};
constexpr Words kWords[] = {
    {PluginState::ok, "ok", "EGPU-X080"},
    {PluginState::not_a_plugin, "not a plugin", "EGPU-X081"},
    {PluginState::cannot_open, "cannot open", "EGPU-X082"},
    {PluginState::wrong_abi, "wrong ABI", "EGPU-X083"},
    {PluginState::wrong_architecture, "wrong architecture", "EGPU-X084"},
    {PluginState::duplicate, "duplicate", "EGPU-X085"},
    {PluginState::refused_program, "refused program", "EGPU-X086"},
    {PluginState::init_failed, "init failed", "EGPU-X087"},
    {PluginState::call_failed, "call failed", "EGPU-X091"},
    {PluginState::blocked, "blocked", "EGPU-X088"},
    {PluginState::crashed, "crashed", "EGPU-X089"},
    {PluginState::untrusted, "untrusted", "EGPU-X090"},
};

const Words& words_of(PluginState state) {
    return *std::find_if(std::begin(kWords), std::end(kWords), [&](const Words& each) { return each.state == state; });
}

void fail(PluginFile& file, PluginState state, std::string reason, std::string hint = {}) {
    file.state = state;
    file.reason = std::move(reason);
    file.hint = std::move(hint);
}

template <typename T>
T field(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

/// What the file's own bytes make impossible; true where there is a descriptor to read.
bool has_descriptor(const ElfImage& image, PluginFile& file) {
    switch (image.problem()) {
        case ElfImage::Problem::not_elf:
            fail(file, PluginState::not_a_plugin, "it is no shared library",
                 "a plugin is what egpu_add_plugin() builds: egpu plugin new NAME makes one to start from");
            return false;
        case ElfImage::Problem::cut_off:
            fail(file, PluginState::cannot_open, "the file is cut off", "build or copy it again");
            return false;
        case ElfImage::Problem::other_machine:
            fail(file, PluginState::wrong_architecture,
                 fmt::format("made for {}, this egpu runs on {}", image.machine(), ElfImage::own_machine()),
                 "build it on this machine");
            return false;
        case ElfImage::Problem::not_shared:
            fail(file, PluginState::not_a_plugin, "it is no shared library but another kind of ELF file",
                 "an eBPF object ends in .bpf.o; a plugin is linked with -shared");
            return false;
        case ElfImage::Problem::none:
            break;
    }
    if (!image.exported(kSymbol)) {
        fail(file, PluginState::not_a_plugin, fmt::format("exports no {}", kSymbol),
             "a plugin says EGPU_PLUGIN(...) once, and egpu_add_plugin() exports it");
        return false;
    }
    return true;
}

/// Magic, size and ABI: what decides whether the rest may be read. True where it may.
bool understood(const ElfImage& image, std::span<const std::byte> head, std::uint64_t at, PluginFile& file) {
    constexpr const char* kRebuild = "rebuild it with this egpu's SDK";
    if (field<std::uint32_t>(head, offsetof(egpu_plugin, magic)) != EGPU_PLUGIN_MAGIC) {
        fail(file, PluginState::not_a_plugin, fmt::format("its {} is none: another magic number", kSymbol), kRebuild);
        return false;
    }
    const unsigned major = field<std::uint16_t>(head, offsetof(egpu_plugin, abi_major));
    const unsigned minor = field<std::uint16_t>(head, offsetof(egpu_plugin, abi_minor));
    const unsigned wanted = field<std::uint16_t>(head, offsetof(egpu_plugin, min_host_minor));
    const auto size = field<std::uint32_t>(head, offsetof(egpu_plugin, struct_size));
    if (size < offsetof(egpu_plugin, id) + sizeof(void*)) {
        fail(file, PluginState::wrong_abi, fmt::format("its descriptor says it has {} bytes: too few for any", size),
             kRebuild);
        return false;
    }
    file.about.emplace();
    file.about->abi_major = major;
    file.about->abi_minor = minor;
    // Who made it is the same in every ABI so far: worth saying of one that can't be used, too.
    const auto text = [&](std::size_t offset) {
        const auto pointer = offset + sizeof(void*) <= size ? image.pointer_at(at + offset) : std::nullopt;
        return pointer && *pointer != 0 ? image.text_at(*pointer).value_or("") : std::string();
    };
    file.about->id = text(offsetof(egpu_plugin, id));
    file.about->version = text(offsetof(egpu_plugin, version));
    file.about->license = text(offsetof(egpu_plugin, license));
    file.about->summary = text(offsetof(egpu_plugin, summary));
    if (major != kPluginAbiMajor || minor != kPluginAbiMinor) {
        fail(file, PluginState::wrong_abi,
             fmt::format("made for plugin ABI {}.{}, this egpu has {}.{}", major, minor, kPluginAbiMajor,
                         kPluginAbiMinor),
             kRebuild);
        return false;
    }
    if (wanted > kPluginAbiMinor) {
        fail(file, PluginState::wrong_abi,
             fmt::format("needs an egpu with plugin ABI {}.{}, this one has {}.{}", major, wanted, kPluginAbiMajor,
                         kPluginAbiMinor),
             "install a newer egpu");
        return false;
    }
    // A field that this egpu does not know may only say nothing.
    const auto more = size > sizeof(egpu_plugin) ? image.at(at + sizeof(egpu_plugin), size - sizeof(egpu_plugin))
                                                 : std::span<const std::byte>{};
    if (size > sizeof(egpu_plugin) &&
        (more.empty() || std::any_of(more.begin(), more.end(), [](std::byte b) { return b != std::byte{0}; }))) {
        fail(file, PluginState::wrong_abi,
             fmt::format("its descriptor has {} bytes, ABI {}.{} has {}: this egpu does not know what the rest says",
                         size, major, minor, sizeof(egpu_plugin)),
             kRebuild);
        return false;
    }
    if (size < sizeof(egpu_plugin)) {
        fail(file, PluginState::wrong_abi,
             fmt::format("its descriptor has {} bytes, ABI {}.{} has {}", size, major, minor, sizeof(egpu_plugin)),
             kRebuild);
        return false;
    }
    return true;
}

void read_object_of(const ElfImage& image, std::uint64_t at, PluginFile& file) {
    const auto begin = image.pointer_at(at + offsetof(egpu_plugin, object));
    const auto end = image.pointer_at(at + offsetof(egpu_plugin, object_end));
    const auto ops = image.pointer_at(at + offsetof(egpu_plugin, ops));
    if (!begin || !end || !ops) {
        fail(file, PluginState::cannot_open, "its descriptor points outside of the file",
             "object, object_end and ops are of the plugin itself, and constants");
        return;
    }
    file.about->has_code = *ops != 0;
    const auto object = *end > *begin ? image.at(*begin, *end - *begin) : std::span<const std::byte>{};
    if (object.empty()) {
        fail(file, PluginState::refused_program, "it holds no eBPF object",
             "name the symbols of its header: .object = NAME_bpf, .object_end = NAME_bpf_end");
        return;
    }
    file.about->object.assign(object.begin(), object.end());
}

/// The state says "cannot open", and what shows the reason names the file.
std::string without_path(const std::string& message, const std::string& path) {
    if (const auto opening = fmt::format("cannot open {}: ", path); message.starts_with(opening))
        return message.substr(opening.size());
    return message.starts_with(path + " ") ? "it" + message.substr(path.size()) : message;
}

}  // namespace

bool is_plugin_id(std::string_view id) {
    return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
}

const char* to_words(PluginState state) {
    return words_of(state).words;
}

PluginFile read_plugin_file(const std::string& path) {
    PluginFile file;
    std::error_code failed;
    const auto canonical = fs::canonical(path, failed);
    file.path = failed ? path : canonical.string();
    const auto bytes = read_file(file.path, kMostFileBytes);
    if (!bytes) {
        fail(file, PluginState::cannot_open, without_path(bytes.error().message, file.path));
        return file;
    }
    const ElfImage image(*bytes);
    if (!has_descriptor(image, file))
        return file;
    const std::uint64_t at = image.exported(kSymbol)->address;
    // A plugin of an older ABI may have a shorter descriptor: the head is in all of them.
    auto head = image.at(at, offsetof(egpu_plugin, id) + sizeof(void*));
    if (head.empty()) {
        fail(file, PluginState::not_a_plugin, fmt::format("its {} is no data of the file", kSymbol));
        return file;
    }
    if (!understood(image, head, at, file))
        return file;
    if (image.at(at, sizeof(egpu_plugin)).empty())
        fail(file, PluginState::wrong_abi, "its descriptor ends before it should", "rebuild it with this egpu's SDK");
    else if (!is_plugin_id(file.about->id))
        fail(file, PluginState::not_a_plugin, fmt::format("its id '{}' is none: [a-z0-9-]+", file.about->id),
             "change .id in EGPU_PLUGIN");
    else
        read_object_of(image, at, file);
    return file;
}

Diagnostic to_diagnostic(const PluginFile& file) {
    return error(words_of(file.state).code, fmt::format("{}: {}: {}", file.path, to_words(file.state), file.reason),
                 file.hint);
}

std::vector<std::string> exported_symbols(const std::string& path) {
    std::vector<std::string> names;
    const auto bytes = read_file(path, kMostFileBytes);
    if (!bytes)
        return names;
    const ElfImage image(*bytes);
    for (const auto& [name, symbol] : image.exports())
        names.push_back(name);
    return names;
}

}  // namespace egpu::host
