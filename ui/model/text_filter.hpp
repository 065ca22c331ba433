// SPDX-License-Identifier: Apache-2.0
// What people type above a table: "gemm -refused" keeps what has the first word and not the second.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace egpu::ui {

/// Words of a filter, in lower case already.
void split_filter(std::string_view text, std::vector<std::string>* wanted, std::vector<std::string>* unwanted);
/// True where each wanted word is in one of the texts, and no unwanted one is. Upper and lower case are the same.
bool passes_filter(std::initializer_list<std::string_view> texts, const std::vector<std::string>& wanted,
                   const std::vector<std::string>& unwanted);

}  // namespace egpu::ui
