// SPDX-License-Identifier: Apache-2.0
// Fixture files and the tools of a CUDA Toolkit, for the tests of ptx.
#pragma once

#include <string>
#include <vector>

namespace egpu::test {

/// The files of a folder under tests/data with this extension, sorted; a test that finds none fails.
std::vector<std::string> fixtures(const std::string& folder, const std::string& extension);
std::string read(const std::string& path);
/// "calls" of ".../syntax/calls.ptx": the name of a parameterised test.
std::string stem(const std::string& path);

/// A folder of this process, removed at its end.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }
    std::string write(const std::string& name, const std::string& content) const;

private:
    std::string path_;
};

/// ptxas as found at configure time, "" where there is none.
std::string ptxas();
struct Ran {
    int exit_code = 0;
    std::string output;
};
/// Runs a shell command line; stderr is part of the output.
Ran run(const std::string& command);

}  // namespace egpu::test
