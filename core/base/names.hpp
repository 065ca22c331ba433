// SPDX-License-Identifier: Apache-2.0
// Names of kernels and what people type for them: demangling, globs, "did you mean".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egpu {

/// The Itanium C++ ABI demangling of a name ("_Z10vector_addPKf" -> "vector_add(float const*)"); the name itself
/// where it is not mangled.
std::string demangle(std::string_view mangled);

/// A demangled signature without return type and parameters: "vector_add", "reduce_block<float>".
std::string short_name(std::string_view signature);

/// True where the whole text matches a glob: `*` any run of characters (dots included), `?` one character.
bool glob_matches(std::string_view pattern, std::string_view text);

/// True where a glob matches the mangled name, the signature, the short name with or without template arguments.
bool kernel_name_matches(std::string_view pattern, std::string_view mangled);

/// The candidate nearest to what was typed, or "" where none is near enough to be meant
/// (Damerau-Levenshtein distance over a third of the length).
std::string nearest(std::string_view typed, std::span<const std::string> candidates);

}  // namespace egpu
