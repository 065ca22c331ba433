// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ui/model/message_log.hpp"
#include "ui/model/text_filter.hpp"

namespace egpu::ui {
namespace {

bool passes(std::string_view filter, std::string_view text) {
    std::vector<std::string> wanted, unwanted;
    split_filter(filter, &wanted, &unwanted);
    return passes_filter({text, "second"}, wanted, unwanted);
}

TEST(TextFilter, WordsAndWordsLeftOut) {
    EXPECT_TRUE(passes("", "anything"));
    EXPECT_TRUE(passes("gemm", "Batched_GEMM"));
    EXPECT_TRUE(passes("gemm second", "gemm"));  // each word in any of the texts
    EXPECT_FALSE(passes("gemm other", "gemm"));
    EXPECT_FALSE(passes("gemm -batched", "batched_gemm"));
    EXPECT_TRUE(passes("-", "gemm"));
}

TEST(MessageLog, FiltersBySeverityAndWords) {
    MessageLog log;
    log.add(Severity::hint, "started");
    log.add(Severity::warning, "kernel slow");
    log.add(Severity::error, "kernel gone");
    EXPECT_EQ(log.rowCount(), 3);
    log.set_filter(Severity::warning, "kernel -gone");
    ASSERT_EQ(log.rowCount(), 1);
    EXPECT_EQ(log.message(0).text, "kernel slow");
    EXPECT_EQ(log.hidden(), 2u);
    log.add(Severity::warning, "another kernel");
    EXPECT_EQ(log.rowCount(), 2);
    log.set_filter(Severity::hint, "");
    EXPECT_EQ(log.rowCount(), 4);
}

TEST(MessageLog, TheOldestMakeWay) {
    MessageLog log;
    for (std::size_t i = 0; i < MessageLog::kMost + 10; ++i)
        log.add(i % 2 == 0 ? Severity::hint : Severity::error, QString::number(i));
    EXPECT_EQ(log.rowCount(), static_cast<int>(MessageLog::kMost));
    EXPECT_EQ(log.message(0).text, "10");
    log.set_filter(Severity::error, {});
    EXPECT_EQ(log.message(0).text, "11");
}

TEST(MessageLog, SeverityOfALine) {
    EXPECT_EQ(severity_of("error: no such file"), Severity::error);
    EXPECT_EQ(severity_of("a.yaml:3:1: warning: odd"), Severity::warning);
    EXPECT_EQ(severity_of("2 kernels"), Severity::hint);
}

}  // namespace
}  // namespace egpu::ui
