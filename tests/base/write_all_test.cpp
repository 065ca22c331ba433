// SPDX-License-Identifier: Apache-2.0
#include "base/write_all.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

namespace egpu {
namespace {

class Pipe {
public:
    explicit Pipe(int flags) { EXPECT_EQ(::pipe2(ends_, flags), 0); }
    ~Pipe() {
        for (const int end : ends_)
            if (end >= 0)
                ::close(end);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    int in() const { return ends_[1]; }
    int out() const { return ends_[0]; }
    void close_out() {
        ::close(ends_[0]);
        ends_[0] = -1;
    }

private:
    int ends_[2] = {-1, -1};
};

TEST(WriteAll, WaitsForTheReaderOfADescriptorThatDoesNotBlock) {
    const Pipe pipe(O_NONBLOCK);
    const std::string text(300'000, 'x');  // more than a pipe holds
    std::string got;
    std::thread reader([&] {
        char piece[1000];
        while (got.size() < text.size()) {
            const ssize_t bytes = ::read(pipe.out(), piece, sizeof piece);
            if (bytes > 0)
                got.append(piece, static_cast<std::size_t>(bytes));
            else
                ::usleep(100);
        }
    });
    EXPECT_TRUE(write_all(pipe.in(), text));
    reader.join();
    EXPECT_EQ(got, text);
}

TEST(WriteAll, GivesUpOnAReaderThatTakesNothing) {
    const Pipe pipe(O_NONBLOCK);
    EXPECT_FALSE(write_all(pipe.in(), std::string(300'000, 'x'), 50));
    EXPECT_EQ(errno, ETIMEDOUT);
}

TEST(WriteAll, SaysWhatFails) {
    ::signal(SIGPIPE, SIG_IGN);
    Pipe pipe(0);
    pipe.close_out();
    EXPECT_FALSE(write_all(pipe.in(), "text"));
    EXPECT_EQ(errno, EPIPE);
    const int full = ::open("/dev/full", O_WRONLY);
    ASSERT_GE(full, 0);
    EXPECT_FALSE(write_all(full, "text"));
    EXPECT_EQ(errno, ENOSPC);
    EXPECT_TRUE(write_all(full, ""));
    ::close(full);
}

}  // namespace
}  // namespace egpu
