// SPDX-License-Identifier: Apache-2.0
// Opening by name with shm_open. The file's length is read once: whoever shrinks it later breaks his own session (the
// object has mode 0600, so nobody else can).
#include "segment/access/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace egpu::segment {

bool is_segment_name(std::string_view name) {
    constexpr std::string_view kPrefix = "egpu-";
    if (name.size() <= kPrefix.size() || name.size() > kLongestName || name.substr(0, kPrefix.size()) != kPrefix)
        return false;
    for (const char c : name)
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    return true;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    if (this == &other)
        return *this;
    close();
    view_ = other.view_;
    base_ = other.base_;
    bytes_ = other.bytes_;
    device_ = other.device_;
    inode_ = other.inode_;
    name_length_ = other.name_length_;
    std::memcpy(name_, other.name_, sizeof(name_));
    other.base_ = nullptr;
    other.view_ = View();
    return *this;
}

AccessError Mapping::open(std::string_view name, Writable writable, std::uint64_t build_id) {
    close();
    if (!is_segment_name(name))
        return AccessError::not_found;
    std::memcpy(name_ + 1, name.data(), name.size());
    name_[1 + name.size()] = '\0';
    name_length_ = name.size();
    const int flags = (writable == Writable::yes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW;
    const int file = ::shm_open(name_, flags, 0);
    if (file < 0)
        return errno == EACCES || errno == EPERM ? AccessError::no_permission : AccessError::not_found;
    const AccessError error = map(file, writable, build_id);
    ::close(file);
    if (error != AccessError::none)
        close();
    return error;
}

AccessError Mapping::map(int file, Writable writable, std::uint64_t build_id) {
    struct stat status {};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return AccessError::map_failed;
    if (status.st_uid != ::geteuid() && ::geteuid() != 0)
        return AccessError::no_permission;
    if (status.st_size < static_cast<off_t>(sizeof(egpu_segment_header)))
        return AccessError::too_short;
    bytes_ = static_cast<std::size_t>(status.st_size);
    const int protection = PROT_READ | (writable == Writable::yes ? PROT_WRITE : 0);
    void* base = ::mmap(nullptr, bytes_, protection, MAP_SHARED, file, 0);
    if (base == MAP_FAILED)
        return AccessError::map_failed;
    base_ = base;
    device_ = status.st_dev;
    inode_ = status.st_ino;
    return View::open(base_, bytes_, build_id, &view_);
}

void Mapping::close() {
    if (base_ != nullptr)
        ::munmap(base_, bytes_);
    base_ = nullptr;
    view_ = View();
}

bool Mapping::unlink() const {
    if (base_ == nullptr)
        return false;
    const int file = ::shm_open(name_, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
    if (file < 0)
        return false;
    struct stat status {};
    const bool same = ::fstat(file, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
    ::close(file);
    return same && ::shm_unlink(name_) == 0;
}

}  // namespace egpu::segment
