// SPDX-License-Identifier: Apache-2.0
// A session in small: programs read from objects, their maps numbered, slots given out, copies built.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/files.hpp"
#include "ebpf/object/object.hpp"
#include "inject/clone/clone.hpp"
#include "maps/keys/keys.hpp"
#include "maps/layout/layout.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::inject::testing {

class Session {
public:
    static constexpr std::uint32_t kSmCount = 4;

    /// An object built with the tests ("bandwidth", "entry_exit"); `program` limits it to one of its programs.
    void attach(const std::string& name, const std::string& program = {}) {
        auto object = read(name);
        if (object)
            add(std::move(*object), name, program);
    }
    /// One program of an object at an injection point of the same context as its own. The object's maps are named
    /// `label`/MAP.
    void attach_at(const std::string& name, const std::string& program, const ebpf::InjectionPoint& point,
                   const std::string& label) {
        auto object = read(name);
        ASSERT_TRUE(object);
        for (auto& one : object->programs)
            if (one.name == program) {
                ASSERT_EQ(ebpf::context_of(one.point.event), ebpf::context_of(point.event));
                one.point = point;
            }
        add(std::move(*object), label, program);
    }
    /// What is attached from here on runs in these blocks or warps only.
    void sample(const Sampling& sampling) { sampling_ = sampling; }

    CopyRequest request(const ptx::Module& module, const std::string& kernel) {
        CopyRequest request;
        request.module = &module;
        request.entry = kernel;
        request.kernel_id = 7;
        request.programs = programs_;
        request.sampling = sampling_;
        request.layouts = &layouts_;
        request.slot_of_key = [this](std::uint32_t map, std::span<const std::byte> key) {
            return keys_.at(map).slot_of(key);
        };
        request.new_site_id = [this](const SiteRecord& record) {
            sites_.push_back(record);
            sites_.back().site_id = static_cast<std::uint32_t>(sites_.size());
            return sites_.back().site_id;
        };
        return request;
    }

    std::uint32_t map(const std::string& name) const { return map_index_.at(name); }
    const std::vector<maps::Layout>& layouts() const { return layouts_; }
    maps::KeyTable& keys(std::uint32_t map) { return keys_.at(map); }
    const std::vector<SiteRecord>& sites() const { return sites_; }

private:
    static std::optional<ebpf::Object> read(const std::string& name) {
        std::string path = std::string(EGPU_BINARY_DIR) + "/plugins/" + name + "/" + name + ".bpf.o";
        if (!read_file(path))
            path = std::string(EGPU_BINARY_DIR) + "/tests/inject/" + name + ".bpf.o";
        const auto bytes = read_file(path);
        EXPECT_TRUE(bytes) << to_text(bytes.error());
        auto object = bytes ? ebpf::read_object(*bytes, path) : Result<ebpf::Object>(bytes.error());
        EXPECT_TRUE(object) << to_text(object.error());
        return object ? std::optional(std::move(*object)) : std::nullopt;
    }
    void add(ebpf::Object&& object, const std::string& name, const std::string& program) {
        objects_.push_back(std::make_unique<ebpf::Object>(std::move(object)));
        const ebpf::Object& added = *objects_.back();
        const auto base = static_cast<std::uint32_t>(layouts_.size());
        for (const auto& map : added.maps) {
            layouts_.push_back(maps::make_layout(map.value_bytes, map.max_entries, map.per_sm(), kSmCount));
            keys_.emplace_back(map.is_array(), map.key_bytes, map.max_entries);
            map_index_[name + "/" + map.name] = static_cast<std::uint32_t>(layouts_.size()) - 1;
        }
        for (const auto& one : added.programs)
            if (program.empty() || one.name == program)
                programs_.push_back(
                    {&added, &one, base, static_cast<std::uint32_t>(programs_.size()), !sampling_.is_all()});
    }

    std::vector<std::unique_ptr<ebpf::Object>> objects_;
    std::vector<maps::Layout> layouts_;
    std::vector<maps::KeyTable> keys_;
    std::map<std::string, std::uint32_t> map_index_;
    std::vector<ProbeProgram> programs_;
    Sampling sampling_;
    std::vector<SiteRecord> sites_;
};

inline ptx::Module read_module(const std::string& path) {
    auto text = read_text(path);
    EXPECT_TRUE(text) << path;
    if (!text)
        return {};
    auto module = ptx::parse(std::move(*text), path);
    EXPECT_TRUE(module) << (module ? "" : to_text(module.error()));
    return module ? std::move(*module) : ptx::Module{};
}

}  // namespace egpu::inject::testing
