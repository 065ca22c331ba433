// SPDX-License-Identifier: Apache-2.0
#include "fixtures.hpp"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace egpu::test {

std::vector<std::string> fixtures(const std::string& folder, const std::string& extension) {
    std::vector<std::string> files;
    const auto whole = std::filesystem::path(EGPU_TEST_DATA) / folder;
    if (std::filesystem::is_directory(whole))
        for (const auto& entry : std::filesystem::directory_iterator(whole))
            if (entry.path().extension() == extension)
                files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string stem(const std::string& path) {
    return std::filesystem::path(path).stem().string();
}

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "egpu-ptx-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        std::abort();
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& content) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
}

std::string ptxas() {
    return std::filesystem::exists(EGPU_PTXAS) ? EGPU_PTXAS : "";
}

Ran run(const std::string& command) {
    Ran ran;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr)
        return {-1, "no shell"};
    char buffer[4096];
    while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe))
        ran.output.append(buffer, size);
    const int status = pclose(pipe);
    ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
}

}  // namespace egpu::test
