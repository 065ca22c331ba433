// SPDX-License-Identifier: Apache-2.0
// Plugins in C++20, over egpu/plugin.h. Header-only: it is compiled into the plugin, and no C++ type, exception or
// memory crosses to egpu.
//
//   class Hello : public egpu::Plugin {
//       void on_snapshot(egpu::Host& host) override { ... }
//   };
//   EGPU_PLUGIN(Hello, {.id = "hello", .version = "0.1.0", ..., .object = hello_bpf, .object_end = hello_bpf_end});
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "egpu/plugin.h"

namespace egpu {

/// A number that names a kernel or a place: as egpu_kernel_id_t and egpu_site_id_t in maps. 0: none.
template <typename Tag>
struct Id {
    std::uint32_t number = 0;
    friend constexpr bool operator==(Id left, Id right) { return left.number == right.number; }
    friend constexpr bool operator<(Id left, Id right) { return left.number < right.number; }
    explicit constexpr operator bool() const { return number != 0; }
};
using KernelId = Id<struct KernelTag>;
using SiteId = Id<struct SiteTag>;

/// Values of enum egpu_space and enum egpu_access, as they stand in keys.
enum class Space : std::uint32_t { global, shared, local, constant, generic };
enum class Access : std::uint32_t { load, store, atomic };

/// A histogram: slot i counts values from 2^i to 2^(i+1) - 1 (egpu_log2_cycles, _ns, _bytes).
struct Log2 {
    std::uint64_t slot[64];
};

enum class Severity : std::uint32_t { hint, warning, error };

struct Finding {
    std::string id = {};  ///< "small-grid": [a-z0-9-]+
    Severity severity = Severity::hint;
    KernelId kernel = {};
    SiteId site = {};
    std::string text = {};  ///< one paragraph: what, the evidence, what to do
};

struct Device {
    std::string name = {};  ///< "" until the application used CUDA
    std::uint32_t sm_count = 0, compute_capability = 0;
    bool simulated = false;
};

struct Kernel {
    KernelId id = {};
    std::string name = {}, mangled = {}, module = {}, state = {};
    std::uint64_t launches = 0, launches_instrumented = 0;
};

struct Site {
    SiteId id = {};
    KernelId kernel = {};
    std::string file = {};
    std::uint32_t line = 0;
    std::string opcode = {};
};

/// Thrown by Host where the plugin asked for what is not there; its text begins with the plugin's own file and line.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The entries of a map: pairs of key and value, as in `for (auto [key, value] : host.map<K, V>("name"))`.
template <typename K, typename V>
class Map {
public:
    using Entry = std::pair<K, V>;
    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Entry;
        using difference_type = std::ptrdiff_t;
        using pointer = const Entry*;
        using reference = Entry;
        Iterator(const Map* map, std::uint32_t at) : map_(map), at_(at) {}
        Entry operator*() const { return map_->entry(at_); }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        friend bool operator==(const Iterator& left, const Iterator& right) { return left.at_ == right.at_; }
        friend bool operator!=(const Iterator& left, const Iterator& right) { return left.at_ != right.at_; }

    private:
        const Map* map_;
        std::uint32_t at_;
    };

    explicit Map(const egpu_plugin_rows& rows) : rows_(rows) {}
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, rows_.count}; }
    std::size_t size() const { return rows_.count; }
    bool empty() const { return rows_.count == 0; }

private:
    Entry entry(std::uint32_t at) const {
        Entry entry{};
        std::memcpy(static_cast<void*>(&entry.first), static_cast<const char*>(rows_.keys) + at * sizeof(K), sizeof(K));
        std::memcpy(static_cast<void*>(&entry.second), static_cast<const char*>(rows_.values) + at * sizeof(V),
                    sizeof(V));
        return entry;
    }
    egpu_plugin_rows rows_;
};

/// What egpu does for a plugin; valid during one call. Functions that name something take the place in the plugin's
/// source that they are called from, for their message.
class Host {
public:
    explicit Host(const egpu_plugin_host& host) : host_(host) {}
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// A map of the plugin's object, as it was last copied from the GPU, summed over the SMs' copies. Throws where the
    /// object has no such map or its key or value has another size.
    template <typename K, typename V>
    Map<K, V> map(const char* name, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
        static_assert(std::is_trivially_copyable_v<K> && std::is_trivially_copyable_v<V>,
                      "a map's keys and values are plain data");
        egpu_plugin_rows rows{};
        rows.struct_size = sizeof rows;
        check(host_.map(host_.session, name, &rows), file, line);
        if (rows.key_bytes != sizeof(K) || rows.value_bytes != sizeof(V))
            throw Error(place(file, line) + "map '" + name + "' has keys of " + std::to_string(rows.key_bytes) +
                        " and values of " + std::to_string(rows.value_bytes) + " bytes, not " +
                        std::to_string(sizeof(K)) + " and " + std::to_string(sizeof(V)));
        return Map<K, V>(rows);
    }

    /// The value in force of an EGPU_OPTION of the plugin's object.
    template <typename T>
    T option(const char* name, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
        static_assert(std::is_arithmetic_v<T>, "an option is a number or a bool");
        T value{};
        check(host_.option(host_.session, name, &value, sizeof value), file, line);
        return value;
    }

    Device device() const {
        egpu_plugin_device raw{};
        raw.struct_size = sizeof raw;
        check(host_.device(host_.session, &raw), "", 0);
        return {raw.name, raw.sm_count, raw.compute_capability, raw.simulated != 0};
    }
    /// 0 until the application used CUDA.
    std::uint32_t sm_count() const { return device().sm_count; }

    std::vector<KernelId> kernels() const {
        std::vector<KernelId> ids;
        for (std::uint32_t id = 1; id <= host_.kernel_count(host_.session); ++id)
            ids.push_back({id});
        return ids;
    }
    Kernel kernel(KernelId id, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
        egpu_plugin_kernel raw{};
        raw.struct_size = sizeof raw;
        check(host_.kernel(host_.session, id.number, &raw), file, line);
        return {id, raw.name, raw.mangled, raw.module, raw.state, raw.launches, raw.launches_instrumented};
    }
    /// How many launches of a kernel ran with probes: what its entries in maps are of.
    std::uint64_t launches(KernelId id, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
        return kernel(id, file, line).launches_instrumented;
    }
    Site site(SiteId id, const char* file = __builtin_FILE(), int line = __builtin_LINE()) const {
        egpu_plugin_site raw{};
        raw.struct_size = sizeof raw;
        check(host_.site(host_.session, id.number, &raw), file, line);
        return {id, {raw.kernel}, raw.file, raw.line, raw.opcode};
    }

    /// What is reported in a call takes the place of what was reported in the call before.
    void report(const Finding& finding, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        egpu_plugin_finding raw{};
        raw.struct_size = sizeof raw;
        raw.severity = static_cast<std::uint32_t>(finding.severity);
        raw.kernel = finding.kernel.number;
        raw.site = finding.site.number;
        raw.id = finding.id.c_str();
        raw.text = finding.text.c_str();
        check(host_.report(host_.session, &raw), file, line);
    }

private:
    static std::string place(const char* file, int line) {
        std::string_view name = file;
        name.remove_prefix(name.rfind('/') + 1);
        return name.empty() ? std::string() : std::string(name) + ":" + std::to_string(line) + ": ";
    }
    void check(std::int32_t status, const char* file, int line) const {
        if (status != EGPU_PLUGIN_OK)
            throw Error(place(file, line) + host_.last_error(host_.session));
    }
    const egpu_plugin_host& host_;
};

/// A plugin's own code: derive, override, name the class in EGPU_PLUGIN. An exception that leaves a function is
/// reported with its text, and the plugin's code is not called again; the session goes on.
class Plugin {
public:
    Plugin() = default;
    virtual ~Plugin() = default;
    Plugin(const Plugin&) = delete;
    Plugin& operator=(const Plugin&) = delete;
    /// After each copy of the maps from the GPU, never while one is under way; once more at the end.
    virtual void on_snapshot(Host& host) = 0;
};

/// What EGPU_PLUGIN is told.
struct About {
    const char* id = "";
    const char* version = "";
    const char* license = "";
    const char* summary = "";
    const void* object = nullptr;
    const void* object_end = nullptr;
};

namespace detail {

inline void write(egpu_plugin_message* message, const char* text) noexcept {
    if (message == nullptr || message->capacity == 0)
        return;
    std::strncpy(message->text, text, message->capacity - 1);
    message->text[message->capacity - 1] = '\0';
}

/// Runs something of the plugin; what it throws becomes a status and a message.
template <typename Call>
std::int32_t guarded(egpu_plugin_message* message, Call&& call) noexcept {
    try {
        std::forward<Call>(call)();
        return EGPU_PLUGIN_OK;
    } catch (const std::exception& failure) {
        write(message, failure.what());
    } catch (...) {
        write(message, "it threw something that is no std::exception");
    }
    return EGPU_PLUGIN_FAILED;
}

template <typename P>
struct Thunks {
    static std::int32_t start(void** self, egpu_plugin_message* message) noexcept {
        return guarded(message, [&] { *self = static_cast<Plugin*>(new P()); });
    }
    static std::int32_t on_snapshot(void* self, const egpu_plugin_host* host, egpu_plugin_message* message) noexcept {
        return guarded(message, [&] {
            Host wrapped(*host);
            static_cast<Plugin*>(self)->on_snapshot(wrapped);
        });
    }
    static void stop(void* self) noexcept {
        guarded(nullptr, [&] { delete static_cast<Plugin*>(self); });
    }
    static constexpr egpu_plugin_ops ops{sizeof(egpu_plugin_ops), 0, start, on_snapshot, stop};
};

template <typename P>
constexpr egpu_plugin describe(About about) {
    static_assert(std::is_base_of_v<Plugin, P>, "the class in EGPU_PLUGIN derives from egpu::Plugin");
    return {EGPU_PLUGIN_MAGIC,
            sizeof(egpu_plugin),
            EGPU_PLUGIN_ABI_MAJOR,
            EGPU_PLUGIN_ABI_MINOR,
            EGPU_PLUGIN_ABI_MINOR,
            0,
            about.id,
            about.version,
            about.license,
            about.summary,
            about.object,
            about.object_end,
            &Thunks<P>::ops};
}

}  // namespace detail
}  // namespace egpu

/// The plugin's one exported symbol, made at compile time: egpu reads it from the file. Once a plugin.
#define EGPU_PLUGIN(Class, ...)                                                                                      \
    extern "C" {                                                                                                     \
    constinit const egpu_plugin egpu_plugin_descriptor = ::egpu::detail::describe<Class>(::egpu::About __VA_ARGS__); \
    }                                                                                                                \
    static_assert(true, "a semicolon may follow")
