// SPDX-License-Identifier: Apache-2.0
#include "base/child_output.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace egpu {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLong{60'000};

/// A shell whose output comes through a pipe.
class Child {
public:
    explicit Child(const char* script) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        process_ = ::fork();
        if (process_ == 0) {
            ::dup2(ends[1], STDOUT_FILENO);
            ::close(ends[0]);
            ::close(ends[1]);
            ::execl("/bin/sh", "sh", "-c", script, nullptr);
            ::_exit(127);
        }
        ::close(ends[1]);
        from = ends[0];
    }
    ~Child() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        ::close(from);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    int from = -1;

private:
    pid_t process_ = -1;
};

TEST(ChildOutput, IsWholeWhereTheChildEnds) {
    const Child child("echo one; sleep 0.1; echo two");
    const auto output = read_child(child.from, kLong, 100);
    EXPECT_EQ(output.text, "one\ntwo\n");
    EXPECT_FALSE(output.timed_out);
}

TEST(ChildOutput, IsCutWhereItIsTooLongAndTheChildStillEnds) {
    const Child child("head -c 200000 /dev/zero | tr '\\0' x");  // more than a pipe holds
    const auto output = read_child(child.from, kLong, 10);
    EXPECT_EQ(output.text, "xxxxxxxxxx");
    EXPECT_FALSE(output.timed_out);
}

TEST(ChildOutput, OfAChildThatGoesOnEndsWithItsTime) {
    const Child child("echo begun; exec sleep 60");
    const auto output = read_child(child.from, milliseconds(500), 100);
    EXPECT_TRUE(output.timed_out);
    EXPECT_EQ(output.text, "begun\n");
}

TEST(ChildOutput, EndsWhereEnoughWasSaid) {
    const Child child("echo step; sleep 0.1; echo done; exec sleep 60");
    const auto output =
        read_child(child.from, kLong, 100, [](std::string_view text) { return text.ends_with("done\n"); });
    EXPECT_EQ(output.text, "step\ndone\n");
    EXPECT_FALSE(output.timed_out);
}

}  // namespace
}  // namespace egpu
