// SPDX-License-Identifier: Apache-2.0
// Conversions one by one, by the host's snprintf.
#include "gpu/simulated/executor/format.hpp"

#include <bit>
#include <cstdio>
#include <vector>

namespace egpu::simulated {
namespace {

constexpr std::size_t kLongestSpecification = 40;
constexpr int kLargestWidth = 4096;

/// "%-08.3lld": the flags, width and precision as written, the size letters, the conversion.
struct Specification {
    std::string prefix;  ///< from '%' to before the size letters
    std::string_view size;
    char conversion = 0;
    std::size_t length = 0;
};

Specification parse(std::string_view text) {
    Specification found;
    std::size_t at = 1;
    while (at < text.size() && std::string_view("-+ #0123456789.").find(text[at]) != std::string_view::npos) {
        ++at;
    }
    found.prefix = text.substr(0, at);
    const std::size_t size = at;
    while (at < text.size() && std::string_view("hlLjzt").find(text[at]) != std::string_view::npos) {
        ++at;
    }
    found.size = text.substr(size, at - size);
    if (at < text.size() && at <= kLongestSpecification) {
        found.conversion = text[at];
        found.length = at + 1;
    }
    return found;
}

/// A width or precision that a hostile format could use to fill memory.
bool is_sane(const std::string& prefix) {
    int number = 0;
    for (const char c : prefix) {
        number = c >= '0' && c <= '9' ? number * 10 + (c - '0') : 0;
        if (number > kLargestWidth) {
            return false;
        }
    }
    return true;
}

template <typename T>
void append(std::string& out, const std::string& format, T value) {
    char small[128];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    const int length = std::snprintf(small, sizeof small, format.c_str(), value);
    if (length < 0) {
        return;
    }
    if (static_cast<std::size_t>(length) < sizeof small) {
        out.append(small, static_cast<std::size_t>(length));
        return;
    }
    std::vector<char> large(static_cast<std::size_t>(length) + 1);
    std::snprintf(large.data(), large.size(), format.c_str(), value);
#pragma GCC diagnostic pop
    out.append(large.data(), static_cast<std::size_t>(length));
}

}  // namespace

FormattedText format_device_text(std::string_view format,
                                 const std::function<std::uint64_t(std::uint64_t, unsigned)>& value,
                                 const std::function<std::string(std::uint64_t)>& text) {
    FormattedText out;
    std::uint64_t offset = 0;
    const auto next = [&](unsigned bytes) {
        offset = (offset + bytes - 1) / bytes * bytes;
        const std::uint64_t result = value(offset, bytes);
        offset += bytes;
        ++out.arguments;
        return result;
    };
    for (std::size_t at = 0; at < format.size();) {
        if (format[at] != '%') {
            out.text += format[at++];
            continue;
        }
        if (format.substr(at).starts_with("%%")) {
            out.text += '%';
            at += 2;
            continue;
        }
        const Specification found = parse(format.substr(at));
        const bool wide =
            found.size == "l" || found.size == "ll" || found.size == "j" || found.size == "z" || found.size == "t";
        const auto conversion = std::string_view("diouxXcpsaAeEfFgG").find(found.conversion);
        if (found.length == 0 || conversion == std::string_view::npos || !is_sane(found.prefix)) {
            out.text += format[at++];
            continue;
        }
        const std::string end(1, found.conversion);
        switch (found.conversion) {
            case 'd':
            case 'i':
                if (wide) {
                    append(out.text, found.prefix + "lld", static_cast<long long>(next(8)));
                } else {
                    append(out.text, found.prefix + "d", static_cast<int>(next(4)));
                }
                break;
            case 'c':
                append(out.text, found.prefix + "c", static_cast<int>(next(4)));
                break;
            case 'p':
                append(out.text, found.prefix + "p", reinterpret_cast<const void*>(next(8)));
                break;
            case 's':
                append(out.text, found.prefix + "s", text(next(8)).c_str());
                break;
            case 'o':
            case 'u':
            case 'x':
            case 'X':
                if (wide) {
                    append(out.text, found.prefix + "ll" + end, static_cast<unsigned long long>(next(8)));
                } else {
                    append(out.text, found.prefix + end, static_cast<unsigned>(next(4)));
                }
                break;
            default:
                append(out.text, found.prefix + end, std::bit_cast<double>(next(8)));
                break;
        }
        at += found.length;
    }
    return out;
}

}  // namespace egpu::simulated
