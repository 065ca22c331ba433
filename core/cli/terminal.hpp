// SPDX-License-Identifier: Apache-2.0
// How egpu speaks: lines that begin "egpu: " on stderr while an application runs, plain text on stdout elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace egpu::cli {

/// Exit codes of every command but `run` (TARGETS E6.0).
enum ExitCode { kYes = 0, kNo = 1, kUsage = 2, kEnvironment = 3, kBug = 70 };

/// Text without control characters but line ends and tabs: names come from other people's binaries.
std::string printable(std::string_view text);

/// Writes each line of `text` to stderr behind "egpu: "; one write(2) a call, so that lines of the application
/// aren't cut.
void say(std::string_view text);
/// A diagnostic on stderr: behind "egpu: " in `run`, bare elsewhere.
void say(const Diagnostic& diagnostic);
/// The first hundred; of the others their number.
void print_errors(const std::vector<Diagnostic>& diagnostics);

/// The exit code of a command that printed its answer on stdout: `code`, or after saying so that of an answer that did
/// not arrive (a full disk, a closed stdout).
int after_output(int code);

/// "1 kernel", "2 310 kernels".
std::string counted(std::uint64_t count, std::string_view word);

enum class Align { left, right };

/// A text table: two blanks between columns, headers at the left, no trailing blanks.
class TextTable {
public:
    void column(std::string header, Align align = Align::right);
    void row(std::vector<std::string> cells);
    std::size_t rows() const { return rows_.size(); }
    /// Lines, without newlines.
    std::vector<std::string> lines() const;
    std::string text() const;

private:
    std::vector<std::string> headers_;
    std::vector<Align> aligns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Characters of UTF-8 text, for column widths.
std::size_t display_width(std::string_view text);

}  // namespace egpu::cli
