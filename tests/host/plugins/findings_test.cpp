// SPDX-License-Identifier: Apache-2.0
// What plugins found out: in the catalogue that every reader starts from, and among egpu's own findings.
#include <gtest/gtest.h>

#include "host/catalogue/catalogue.hpp"
#include "host/findings/findings.hpp"

namespace egpu::host {
namespace {

SessionView with_findings() {
    SessionView view;
    Kernel kernel;
    kernel.id = 1;
    kernel.name = "vector_add";
    view.catalogue.kernels.push_back(kernel);
    view.catalogue.sites.push_back({1, 1, "src/add.cu", 12, "ld.global.f32", "vector_add"});
    view.catalogue.findings = {
        {"hello", "small-grid", Severity::hint, 1, 0, "fewer warps than SMs"},
        {"peaks", "over-peak", Severity::error, 0, 1, "more than the device can do"},
        {"peaks", "idle", Severity::hint, 0, 0, "no kernel ran"},
    };
    return view;
}

TEST(PluginFindings, TheCatalogueKeepsThem) {
    const auto view = with_findings();
    const auto read = catalogue_from_json(to_json(view.catalogue));
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->findings, view.catalogue.findings);
}

TEST(PluginFindings, ACatalogueWithAnUnknownSeverityIsNone) {
    std::string text = to_json(with_findings().catalogue);
    const auto at = text.find("\"over-peak\",2");
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, 13, "\"over-peak\",7");
    const auto read = catalogue_from_json(text);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, "EGPU-M010");
}

TEST(PluginFindings, TheMostSevereComesFirstAndEachSaysWhoseItIs) {
    const auto findings = find_all(with_findings());
    ASSERT_EQ(findings.size(), 3u);
    EXPECT_EQ(findings[0].id, "over-peak");
    EXPECT_EQ(findings[0].text, "vector_add (add.cu:12): more than the device can do (peaks)");
    EXPECT_EQ(findings[0].kernel_id, 1u);  // of the place's kernel
    EXPECT_EQ(findings[1].text, "vector_add: fewer warps than SMs (hello)");
    EXPECT_EQ(findings[1].plugin, "hello");
    EXPECT_EQ(findings[2].text, "the application: no kernel ran (peaks)");
}

TEST(PluginFindings, OfAPartSaySo) {
    auto view = with_findings();
    Probe program;
    program.probe = "hello";
    program.sampling = {Sampling::Unit::warps, 64};
    view.catalogue.probes.push_back(program);
    const auto read = catalogue_from_json(to_json(view.catalogue));
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_EQ(read->probes[0].sampling, program.sampling);
    EXPECT_EQ(find_all(view)[1].text, "vector_add: fewer warps than SMs (hello), counted in 1 in 64 warps");
    EXPECT_EQ(find_all(view)[0].text, "vector_add (add.cu:12): more than the device can do (peaks)");
}

}  // namespace
}  // namespace egpu::host
