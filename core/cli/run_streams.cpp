// SPDX-License-Identifier: Apache-2.0
#include "cli/run_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace egpu::cli {
namespace {

constexpr int kAboveUsual = 10;  ///< where shells keep descriptors aside, too

void ignore(int signal, struct sigaction* before) {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    ::sigaction(signal, &ignored, before);
}

/// What is closed of the three would be given to the next file that is opened, the session's shared memory say, and get
/// what is printed. The program that is started finds it closed, as this one did.
void keep_places_of_closed() {
    int file = 0;
    while (file >= 0 && file <= STDERR_FILENO)
        file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (file > STDERR_FILENO)
        ::close(file);
}

}  // namespace

RunStreams::RunStreams() {
    ignore(SIGPIPE, &pipe_);
    ignore(SIGXFSZ, &file_size_);
    std::fflush(stdout);
    standard_output_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kAboveUsual);
    keep_places_of_closed();
    if (standard_output_ >= 0)
        ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

RunStreams::~RunStreams() {
    std::fflush(stdout);
    if (standard_output_ >= 0) {
        ::dup2(standard_output_, STDOUT_FILENO);
        ::close(standard_output_);
    }
    ::sigaction(SIGPIPE, &pipe_, nullptr);
    ::sigaction(SIGXFSZ, &file_size_, nullptr);
}

host::Inheritance RunStreams::inheritance() const {
    return {.standard_output = standard_output_,
            .ignores_pipe = pipe_.sa_handler == SIG_IGN,
            .ignores_file_size = file_size_.sa_handler == SIG_IGN};
}

}  // namespace egpu::cli
