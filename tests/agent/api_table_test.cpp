// SPDX-License-Identifier: Apache-2.0
// The agent's table of driver functions (functions.inc and passed.inc) against itself and, where a toolkit is found,
// against its headers and its stub of libcuda: a function that takes or gives a function handle and that the table
// lacks is a way by which a copy could reach the application, or a launch pass uncounted.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "api_header.hpp"

namespace egpu::test {
namespace {

enum Treatment { swap_in, swap_back, mirror, watch };

struct Table {
    std::map<std::string, Treatment> wrapped;
    std::map<std::string, std::string> passed;
    int lines_wrapped = 0, lines_passed = 0;

    Table() {
#define EGPU_WRAPPED(name, treatment)   \
    wrapped.insert({#name, treatment}); \
    ++lines_wrapped;
#define EGPU_USED(name)
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
#define EGPU_PASSED(name, reason)   \
    passed.insert({#name, reason}); \
    ++lines_passed;
#include "agent/driver/passed.inc"
#undef EGPU_PASSED
    }
    /// Stream forms aside.
    std::size_t versions_of(const std::string& family) const {
        std::size_t count = family == "cuGraphInstantiate" ? 1 : 0;  // the third version's export is ...WithFlags
        const auto take = [&](const std::string& name) {
            if (family_of(name) == family && !name.ends_with("_ptsz") && !name.ends_with("_ptds"))
                ++count;
        };
        for (const auto& [name, treatment] : wrapped)
            take(name);
        for (const auto& [name, reason] : passed)
            take(name);
        return count;
    }
    bool has(const std::string& name) const {
        return wrapped.contains(name) || passed.contains(name);
    }
};

const Table& table() {
    static const Table all;
    return all;
}

// Of the functions in `header` those that the table lacks.
std::set<std::string> missing_from(const std::string& header) {
    std::set<std::string> missing;
    for (const auto& [name, parameters] : functions_about_functions(header))
        if (!table().has(name))
            missing.insert(name);
    return missing;
}

TEST(ApiTable, EachFunctionStandsInItOnceWithATreatment) {
    EXPECT_EQ(table().wrapped.size(), static_cast<std::size_t>(table().lines_wrapped));
    EXPECT_EQ(table().passed.size(), static_cast<std::size_t>(table().lines_passed));
    for (const auto& [name, reason] : table().passed) {
        EXPECT_FALSE(table().wrapped.contains(name)) << name;
        EXPECT_GT(reason.size(), 10u) << name << " passes without a reason";
    }
    std::map<Treatment, int> counts;
    for (const auto& [name, treatment] : table().wrapped)
        ++counts[treatment];
    std::printf("swap in %d, swap back %d, mirror %d, watch %d, pass %zu\n", counts[swap_in], counts[swap_back],
                counts[mirror], counts[watch], table().passed.size());
}

// The test below it is worth what it finds: headers made up for it.
TEST(ApiTable, AHeadersNewFunctionIsFound) {
    using Names = std::set<std::string>;
    EXPECT_EQ(missing_from("CUresult CUDAAPI cuLaunchKernel(CUfunction f, int x);"), Names{});
    EXPECT_EQ(missing_from("CUresult CUDAAPI cuKernelDance(CUkernel kernel);"), Names{"cuKernelDance"});
    EXPECT_EQ(missing_from("CUresult CUDAAPI cuStreamDance(CUstream stream, int kernels);"), Names{});
    EXPECT_EQ(missing_from("CUresult CUDAAPI cuGraphDance(\n    CUDA_KERNEL_NODE_PARAMS_v9 *p);"),
              Names{"cuGraphDance"});
    EXPECT_EQ(missing_from("/* CUresult CUDAAPI cuKernelDance(CUkernel kernel); */ // CUDAAPI cuB(CUkernel k);\n"),
              Names{});
    const std::string renamed =
        "#define cuLaunchKernel __CUDA_API_PTSZ(cuLaunchKernel_v7)\n"
        "CUresult CUDAAPI cuLaunchKernel(CUfunction f);\n";
    EXPECT_EQ(missing_from(renamed), (Names{"cuLaunchKernel_v7", "cuLaunchKernel_v7_ptsz"}));
    EXPECT_EQ(missing_from("#define cuLaunch cuLaunch_v2\n#undef cuLaunch\nCUresult CUDAAPI cuLaunch(CUfunction f);"),
              Names{});
    const auto versions = versions_in_typedefs(
        "typedef CUresult (CUDAAPI *PFN_cuDance_v3020)(int);\n"
        "typedef CUresult (CUDAAPI *PFN_cuDance_v7000_ptsz)(int);\n"
        "typedef CUresult (CUDAAPI *PFN_cuDance_v7000)(int);\n");
    EXPECT_EQ(versions.at("cuDance"), (std::set<int>{3020, 7000}));
}

#ifdef EGPU_CUDA_INCLUDE
std::string header(const char* name) {
    std::ifstream file(std::string(EGPU_CUDA_INCLUDE) + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(ApiTable, CoversTheToolkitsHeader) {
    const std::string text = header("cuda.h");
    const auto declared = functions_about_functions(text);
    EXPECT_GT(declared.size(), 150u) << "the header was not read";
    for (const std::string& name : missing_from(text))
        ADD_FAILURE() << name << "(" << declared.at(name)
                      << ") is in cuda.h and in neither functions.inc nor passed.inc of core/agent/driver";
}

// As many names in the table as cuGetProcAddress has versions to give out.
TEST(ApiTable, CoversEveryVersionThatCanBeAskedFor) {
    const auto versions = versions_in_typedefs(header("cudaTypedefs.h"));
    EXPECT_GT(versions.size(), 300u);
    std::set<std::string> families;
    for (const auto& [name, parameters] : functions_about_functions(header("cuda.h")))
        families.insert(family_of(name));
    for (const std::string& family : families) {
        const auto known = versions.find(family);
        if (known == versions.end())
            continue;
        EXPECT_GE(table().versions_of(family), known->second.size()) << family;
    }
}

TEST(ApiTable, CoversWhatTheStubExports) {
    std::set<std::string> families;
    for (const auto& [name, parameters] : functions_about_functions(header("cuda.h")))
        families.insert(family_of(name));
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
        popen("nm -D --defined-only --format=posix " EGPU_CUDA_INCLUDE "/../lib64/stubs/libcuda.so 2>/dev/null", "r"),
        pclose);
    std::set<std::string> exported;
    char line[512];
    while (fgets(line, sizeof(line), pipe.get()) != nullptr)
        exported.insert(std::string(line).substr(0, std::string(line).find(' ')));
    if (exported.empty())
        GTEST_SKIP() << "the toolkit's stub of libcuda.so can't be read";
    for (const std::string& name : exported)
        EXPECT_TRUE(!families.contains(family_of(name)) || table().has(name)) << name;
    for (const auto& [name, reason] : table().passed)
        EXPECT_TRUE(exported.contains(name)) << name << ": no such function";
}
#else
TEST(ApiTable, CoversTheToolkitsHeader) {
    GTEST_SKIP() << "no CUDA Toolkit was found when egpu was configured";
}
#endif

}  // namespace
}  // namespace egpu::test
