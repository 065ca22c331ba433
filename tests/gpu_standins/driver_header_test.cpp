// SPDX-License-Identifier: Apache-2.0
// core/gpu/device/driver.h against itself (nothing unlisted in driver_facts.inc) and, where a toolkit is found,
// against cuda.h and the symbols of the toolkit's stub of libcuda.so.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "driver_facts.hpp"

namespace {

std::string text_of(const std::string& name) {
    std::ifstream file(std::string(EGPU_SOURCE_DIR) + "/core/gpu/device/" + name);
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

bool is_word(char character) {
    return character == '_' || std::isalnum(static_cast<unsigned char>(character)) != 0;
}

/// Words of `text` that begin with `prefix` and are followed by `suffix`.
std::set<std::string> words(const std::string& text, const std::string& prefix, const std::string& suffix) {
    std::set<std::string> found;
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
        if (at > 0 && is_word(text[at - 1])) {
            continue;
        }
        std::size_t end = at;
        while (end < text.size() && is_word(text[end])) {
            ++end;
        }
        if (text.compare(end, suffix.size(), suffix) == 0) {
            found.insert(text.substr(at, end - at));
        }
    }
    return found;
}

/// Every exported name the header declares, stream forms included.
std::set<std::string> declared_functions() {
    const std::string text = text_of("driver_functions.h") + text_of("driver_graphs.h") + text_of("driver_arrays.h");
    std::set<std::string> names;
    for (const std::string& line : words(text, "cu", "(")) {
        names.insert(line);
    }
    for (const char* form : {"ptsz", "ptds"}) {
        const std::string macro = form == std::string("ptsz") ? "EGPU_DRIVER_PTSZ(" : "EGPU_DRIVER_PTDS(";
        for (std::size_t at = text.find(macro + "cu"); at != std::string::npos; at = text.find(macro + "cu", at + 1)) {
            const std::size_t begin = at + macro.size();
            names.insert(text.substr(begin, text.find(')', begin) - begin) + "_" + form);
        }
    }
    return names;
}

TEST(DriverHeader, EveryValueAndFunctionIsListed) {
    const DriverFacts facts = facts_of_own_header();
    const std::set<std::string> values = words(text_of("driver_values.h") + text_of("driver_arrays.h"), "CU", " = ");
    EXPECT_GT(values.size(), 200U);
    for (const std::string& name : values) {
        EXPECT_EQ(facts.count(name), 1U) << name << " is not in driver_facts.inc";
    }
    const std::set<std::string> functions = declared_functions();
    EXPECT_GT(functions.size(), 200U);
    for (const std::string& name : functions) {
        if (!name.ends_with("_ptsz") && !name.ends_with("_ptds")) {
            EXPECT_EQ(facts.count(name + "()"), 1U) << name << " is not in driver_facts.inc";
        }
    }
}

#ifdef EGPU_TOOLKIT_STUB
TEST(DriverHeader, AgreesWithTheToolkit) {
    const DriverFacts own = facts_of_own_header();
    const DriverFacts toolkit = facts_of_toolkit_header();
    ASSERT_EQ(own.size(), toolkit.size());
    for (const auto& [name, fact] : own) {
        EXPECT_EQ(fact, toolkit.at(name)) << name;
    }
}

TEST(RuntimeTypes, AgreeWithTheToolkit) {
    const DriverFacts own = facts_of_own_runtime();
    const DriverFacts toolkit = facts_of_toolkit_runtime();
    ASSERT_EQ(own.size(), toolkit.size());
    for (const auto& [name, fact] : own) {
        EXPECT_EQ(fact, toolkit.at(name)) << name;
    }
}

TEST(DriverHeader, NamesAreThoseTheDriverExports) {
    void* stub = dlopen(EGPU_TOOLKIT_STUB, RTLD_LAZY | RTLD_LOCAL);
    if (stub == nullptr) {
        GTEST_SKIP() << "the toolkit's stub of libcuda.so can't be opened: " << dlerror();
    }
    for (const std::string& name : declared_functions()) {
        EXPECT_NE(dlsym(stub, name.c_str()), nullptr) << name;
    }
    dlclose(stub);
}
#else
TEST(DriverHeader, AgreesWithTheToolkit) {
    GTEST_SKIP() << "no CUDA Toolkit was found when egpu was configured";
}
#endif

}  // namespace
