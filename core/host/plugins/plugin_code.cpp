// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/plugin_code.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <fmt/format.h>

namespace egpu::host {
namespace {

constexpr std::size_t kMessageBytes = 4096;

std::atomic<bool> any_loaded{false};

/// What a plugin writes when it fails.
class Message {
public:
    egpu_plugin_message* room() { return &message_; }
    std::string text() const {
        const std::string text(text_.data(), ::strnlen(text_.data(), text_.size()));
        return text.empty() ? "it gave no reason" : text;
    }

private:
    std::array<char, kMessageBytes> text_{};
    egpu_plugin_message message_{sizeof(egpu_plugin_message), kMessageBytes, text_.data()};
};

/// The loader's own reason: Boost puts words and an error number that means nothing around it.
std::string loaders_reason(std::string text, const std::string& path) {
    constexpr std::string_view kBefore = "dlerror system message: ";
    if (const auto at = text.find(kBefore); at != std::string::npos)
        text = text.substr(at + kBefore.size(), text.rfind(')') - at - kBefore.size());
    return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
}

/// Never let go: its threads, and what egpu holds of it, may outlive any moment that would be right for it.
void keep(const std::shared_ptr<PluginCode>& code) {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<PluginCode>>;
    const std::lock_guard lock(mutex);
    kept->push_back(code);
}

}  // namespace

bool plugin_code_loaded() {
    return any_loaded;
}

Result<std::shared_ptr<PluginCode>> PluginCode::load(const std::string& path) {
    const std::shared_ptr<PluginCode> code(new PluginCode);
    keep(code);
    try {
        any_loaded = true;
        const auto library = std::make_shared<boost::dll::shared_library>(
            std::filesystem::canonical(path), boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
        code->library_ = library;
        const auto& descriptor = library->get<const egpu_plugin>("egpu_plugin_descriptor");
        if (descriptor.ops == nullptr)
            return error("EGPU-X083", fmt::format("{}: its descriptor names no code", path));
        std::memcpy(&code->ops_, descriptor.ops, std::min<std::size_t>(descriptor.ops->struct_size, sizeof code->ops_));
    } catch (const boost::dll::fs::system_error& failure) {
        return error("EGPU-X082", loaders_reason(failure.what(), path));
    } catch (const std::exception& failure) {
        return error("EGPU-X087", fmt::format("while it was loaded: {}", failure.what()));
    } catch (...) {
        return error("EGPU-X087", "while it was loaded it threw something that is no std::exception");
    }
    if (code->ops_.start == nullptr)
        return error("EGPU-X083", "its table of functions has no start", "rebuild it with this egpu's SDK");
    return code;
}

Status PluginCode::start() {
    Message message;
    if (ops_.start(&self_, message.room()) != EGPU_PLUGIN_OK)
        return error("EGPU-X087", message.text());
    started_ = true;
    return ok();
}

Status PluginCode::on_snapshot(const egpu_plugin_host& host) {
    if (ops_.on_snapshot == nullptr)
        return ok();
    Message message;
    if (ops_.on_snapshot(self_, &host, message.room()) != EGPU_PLUGIN_OK)
        return error("EGPU-X091", message.text());
    return ok();
}

void PluginCode::stop() {
    if (started_ && ops_.stop != nullptr)
        ops_.stop(self_);
    started_ = false;
}

}  // namespace egpu::host
