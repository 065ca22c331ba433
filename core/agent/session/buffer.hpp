// SPDX-License-Identifier: Apache-2.0
// Bytes on the heap without exceptions: an allocation that fails is an empty buffer, not the application's end.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>

namespace egpu::agent {

class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes)
        : data_(bytes == 0 ? nullptr : static_cast<std::byte*>(std::malloc(bytes))),
          size_(data_ == nullptr ? 0 : bytes) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) { other.forget(); }
    Buffer& operator=(Buffer&& other) noexcept {
        if (this != &other) {
            std::free(data_);
            data_ = other.data_;
            size_ = other.size_;
            other.forget();
        }
        return *this;
    }
    ~Buffer() { std::free(data_); }

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::span<std::byte> bytes() const { return {data_, size_}; }

private:
    void forget() {
        data_ = nullptr;
        size_ = 0;
    }
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace egpu::agent
