// SPDX-License-Identifier: Apache-2.0
// Diagnostic: the one form of everything egpu has to tell a user: what, where, what to do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace egpu {

enum class Severity { hint, warning, error };
const char* to_name(Severity severity);  ///< "warning"

/// A place in a file of the user. Lines and columns count from 1; 0 means unknown.
struct Location {
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t length = 0;  ///< characters to underline; 0: one
};

/// One line of source quoted below a diagnostic, as in "   24 |   text".
struct QuotedLine {
    std::uint32_t line = 0;
    std::string text;
    std::uint32_t underline_column = 0;  ///< from 1; 0: no underline
    std::uint32_t underline_length = 0;
};

struct Diagnostic {
    Severity severity = Severity::error;
    std::string code;     ///< stable name, "EGPU-V007"; letters: A attach, B object, M map, P PTX, R recording, S probe
                          ///< set, V verifier, X environment
    Location where;       ///< empty file: no place in a file
    std::string message;  ///< one sentence without a full stop
    std::vector<QuotedLine> quoted;
    std::string why;                 ///< printed as "why:  ..."
    std::string fix;                 ///< printed as "fix:  ..."
    std::vector<std::string> hints;  ///< each printed as "hint: ..."
    std::string detail;              ///< technical line at the end ("at insn 14: ...")
};

/// An error with a code and a message, no place.
Diagnostic error(std::string_view code, std::string message, std::string hint = {});

/// The text form of TARGETS E5 and E6.6: "file:line:column: error: message  [CODE]", quoted lines, why, fix, hints.
std::string to_text(const Diagnostic& diagnostic);

}  // namespace egpu
