// SPDX-License-Identifier: Apache-2.0
// A plugin as a file: what its descriptor says, read without running anything of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace egpu::host {

/// Every file that might be a plugin ends in one of these, with a reason and a hint unless ok.
enum class PluginState {
    ok,
    not_a_plugin,        ///< no ELF file, or one that exports no descriptor
    cannot_open,         ///< can't be read, is cut off, or the loader refuses it (an undefined symbol)
    wrong_abi,           ///< made for another plugin ABI
    wrong_architecture,  ///< made for another machine
    duplicate,           ///< another file with this id came first
    refused_program,     ///< its object can't be read, or the verifier accepts none of its programs
    init_failed,         ///< its code loads, but its start failed
    call_failed,         ///< its on_snapshot failed
    blocked,             ///< its code did not come back in time
    crashed,             ///< its code ended the process that tried it
    untrusted,           ///< egpu has more rights than whoever can write the file
};
const char* to_words(PluginState state);  ///< "wrong ABI"

/// What the descriptor says.
struct PluginAbout {
    std::string id, version, license, summary;
    unsigned abi_major = 0, abi_minor = 0;
    bool has_code = false;          ///< more than its eBPF object
    std::vector<std::byte> object;  ///< the eBPF object
};

struct PluginFile {
    std::string path;  ///< canonical; as given where there is no such file
    PluginState state = PluginState::ok;
    std::string reason;  ///< "" for ok
    std::string hint;    ///< what to do; may be ""
    /// Where a descriptor was found and could be understood, whatever the state.
    std::optional<PluginAbout> about;
    bool ok() const { return state == PluginState::ok; }
};

/// [a-z0-9-]+: what a plugin's id is, and that of a finding.
bool is_plugin_id(std::string_view id);

/// Reads a file and its descriptor; nothing of it runs. States up to wrong_architecture.
PluginFile read_plugin_file(const std::string& path);

/// "roofline.so is not a plugin: it exports no egpu_plugin_descriptor", with the hint. EGPU-X08x by state.
Diagnostic to_diagnostic(const PluginFile& file);

/// Symbols that a shared library exports, by name, sorted; empty where it can't be read.
std::vector<std::string> exported_symbols(const std::string& path);

}  // namespace egpu::host
