// SPDX-License-Identifier: Apache-2.0
// What the start page makes of a program, and what a run of it says.
#include <gtest/gtest.h>

#include <QDir>

#include "ui/panes/run_form.hpp"

namespace egpu::ui {
namespace {

TEST(RunRequest, ACommandLineThatAShellTakes) {
    RunRequest request;
    request.program = "/opt/my app/train";
    request.arguments = "--lr 0.1 \"two words\"";
    request.probes = "bandwidth my.bpf.c";
    request.folder = "/tmp";
    request.simulated = true;
    EXPECT_EQ(request.command(), (QStringList{"run", "--simulated", "-p", "bandwidth", "-p", "my.bpf.c", "--",
                                              "/opt/my app/train", "--lr", "0.1", "two words"}));
    EXPECT_EQ(request.command_line(),
              "cd /tmp && egpu run --simulated -p bandwidth -p my.bpf.c -- '/opt/my app/train' --lr 0.1 'two words'");
}

TEST(RunRequest, SaysWhatIsWrong) {
    RunRequest request;
    EXPECT_FALSE(request.problem().isEmpty());
    request.program = "/bin/true";
    EXPECT_EQ(request.problem(), "");
    request.folder = "/no/such/folder";
    EXPECT_TRUE(request.problem().contains("/no/such/folder"));
    request.folder.clear();
    request.program = "/etc/passwd";
    EXPECT_TRUE(request.problem().contains("/etc/passwd"));
    request.program = "no-such-program-anywhere";
    EXPECT_FALSE(request.problem().isEmpty());
    request.program = "true";  // by PATH, as a shell finds it
    EXPECT_EQ(request.problem(), "");
}

}  // namespace
}  // namespace egpu::ui
