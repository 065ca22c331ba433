// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the diagnostics that say why there is none.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"

namespace egpu {

/// A value of type T, or at least one error. Errors are never empty when there is no value.
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}
    Result(Diagnostic error) { errors_.push_back(std::move(error)); }
    Result(std::vector<Diagnostic> errors) : errors_(std::move(errors)) {}

    explicit operator bool() const { return value_.has_value(); }
    bool has_value() const { return value_.has_value(); }
    T& operator*() & { return *value_; }
    const T& operator*() const& { return *value_; }
    T&& operator*() && { return std::move(*value_); }
    T* operator->() { return &*value_; }
    const T* operator->() const { return &*value_; }

    /// The first error; only where there is no value.
    const Diagnostic& error() const { return errors_.front(); }
    const std::vector<Diagnostic>& errors() const { return errors_; }

private:
    std::optional<T> value_;
    std::vector<Diagnostic> errors_;
};

/// Success, or errors: the Result of something done for its effect.
struct Done {};
using Status = Result<Done>;
inline Status ok() {
    return Done{};
}

}  // namespace egpu
