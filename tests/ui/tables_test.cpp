// SPDX-License-Identifier: Apache-2.0
// Tables: filter, order, 100,000 kernels, the log's filters as a person uses them.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLineEdit>
#include <QTableView>

#include "scripted_feed.hpp"
#include "ui/panes/kernel_pane.hpp"
#include "ui/panes/map_pane.hpp"
#include "ui/panes/message_pane.hpp"

namespace egpu::ui {
namespace {

QString cell(KernelTable& table, int row, KernelTable::Column column) {
    return table.index(row, column).data().toString();
}

TEST(KernelTable, FilterTypedAboveTheTable) {
    TestWindow test(1);
    Update update;
    update.time = kSecond;
    update.facts = facts_with_kernels(30);
    test.give(update);
    auto& table = test.window.model().kernels();
    EXPECT_EQ(table.rowCount(), 30);
    QTest::keyClicks(&test.window.kernel_pane().filter(), "odd.so -refused");
    EXPECT_EQ(table.rowCount(), 10);
    for (int row = 0; row < table.rowCount(); ++row)
        EXPECT_EQ(table.kernel(row).state, host::KernelState::instrumented);
    EXPECT_EQ(table.count_text(), "10 of 30 kernels");
    test.window.kernel_pane().filter().clear();
    QTest::keyClicks(&test.window.kernel_pane().filter(), "surfaces");
    EXPECT_EQ(table.rowCount(), 10);
    EXPECT_EQ(cell(table, 0, KernelTable::reason), "it uses surfaces");
}

TEST(KernelTable, OrderWithUnknownLast) {
    KernelTable table;
    table.set_facts(facts_with_kernels(30));
    table.sort(KernelTable::read_rate, Qt::DescendingOrder);
    EXPECT_EQ(cell(table, 0, KernelTable::name), "kernel_29");
    EXPECT_EQ(cell(table, 29, KernelTable::read_rate), "n/a");
    table.sort(KernelTable::name, Qt::AscendingOrder);
    EXPECT_EQ(cell(table, 1, KernelTable::name), "kernel_1");
    EXPECT_EQ(cell(table, 2, KernelTable::name), "kernel_10");
}

TEST(KernelTable, TotalsSayAtLeastAndUnknown) {
    auto facts = std::make_shared<Facts>(*facts_with_kernels(3));
    facts->kernels[0].read_bytes = 768;
    facts->kernels[1].read_bytes = 2'000'000;
    facts->kernels[1].bytes_at_least = true;
    KernelTable table;
    table.set_facts(facts);
    table.sort(KernelTable::read_bytes, Qt::DescendingOrder);
    EXPECT_EQ(cell(table, 0, KernelTable::read_bytes), "≥ 2.00 MB");
    EXPECT_EQ(table.index(0, KernelTable::read_bytes).data(Qt::ToolTipRole).toString(), "at least 2 000 000 B");
    EXPECT_EQ(cell(table, 1, KernelTable::read_bytes), "768 B");
    EXPECT_EQ(cell(table, 2, KernelTable::read_bytes), "n/a");
    EXPECT_EQ(cell(table, 1, KernelTable::written_bytes), "n/a");
}

TEST(KernelPane, FiguresFitTheirColumns) {
    TestWindow test(1);
    auto facts = std::make_shared<Facts>(*facts_with_kernels(1));
    auto& row = facts->kernels[0];
    row.launch_rate = 888.8e3;
    row.read_rate = row.written_rate = 888.8e6;
    row.launches = row.instrumented = 888'888'888;
    row.read_bytes = row.written_bytes = 888'800'000'000;
    row.bytes_at_least = true;
    row.sectors_per_load = 32;
    row.sector_use = 1;
    row.registers = row.registers_instrumented = 255;
    Update update;
    update.time = kSecond;
    update.facts = facts;
    test.give(update);
    auto& view = test.window.kernel_pane().view();
    ASSERT_EQ(test.window.model().kernels().rowCount(), 1);
    EXPECT_EQ(cell(test.window.model().kernels(), 0, KernelTable::read_rate), "888.8 MB/s");
    for (int column = KernelTable::launch_rate; column <= KernelTable::registers; ++column)
        EXPECT_GE(view.columnWidth(column), static_cast<const QAbstractItemView&>(view).sizeHintForColumn(column))
            << column;
}

TEST(MapPane, TheChosenMapStaysChosenWhileItsRowsChange) {
    auto facts = std::make_shared<Facts>();
    facts->maps = {{"a/first", {"kernel", "bytes"}, 1, {{"k", "5"}}, "1 row"},
                   {"b/second", {"key", "x", "y"}, 1, {{"p", "1", "2"}, {"q", "3", "4"}}, "2 rows"}};
    MapPane pane;
    pane.set_facts(facts);
    EXPECT_EQ(pane.table().rowCount(), 1);
    pane.choice().setCurrentIndex(1);
    EXPECT_EQ(pane.table().columnCount(), 3);
    auto more = std::make_shared<Facts>(*facts);
    more->maps[1].rows[1][2] = "9";
    more->maps.push_back({"c/third", {"key"}, 1, {}, "0 rows"});
    pane.set_facts(more);
    EXPECT_EQ(pane.choice().currentText(), "b/second");
    EXPECT_EQ(pane.table().index(1, 2).data().toString(), "9");
    EXPECT_TRUE(pane.table().index(1, 2).data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight);
    EXPECT_EQ(pane.note(), "2 rows");
    pane.set_facts(nullptr);
    EXPECT_EQ(pane.table().rowCount(), 0);
}

TEST(KernelTable, ASelectedKernelStaysSelectedWhileOthersPassIt) {
    KernelTable table;
    table.set_facts(facts_with_kernels(30));
    table.sort(KernelTable::launches, Qt::DescendingOrder);
    const QPersistentModelIndex chosen = table.index(3, 0);
    const auto id = table.kernel(3).id;
    auto changed = std::make_shared<Facts>(*facts_with_kernels(40));
    changed->kernels[id - 1].launches = 1'000'000;
    table.set_facts(changed);
    EXPECT_EQ(chosen.row(), 0);
    EXPECT_EQ(table.kernel(chosen.row()).id, id);
}

TEST(KernelTable, AHundredThousandKernels) {
    TestWindow test(1);
    const auto facts = facts_with_kernels(100'000);
    for (int i = 0; i < 5; ++i) {
        Update update;
        update.time = kSecond;
        update.facts = facts;
        test.give(update);
    }
    auto& table = test.window.model().kernels();
    ASSERT_TRUE(QTest::qWaitFor([&] { return table.rowCount() == 100'000; }));
    auto& view = test.window.kernel_pane().view();
    view.sortByColumn(KernelTable::name, Qt::AscendingOrder);
    EXPECT_EQ(cell(table, 0, KernelTable::name), "kernel_0");
    view.scrollToBottom();
    QTest::qWait(20);
    EXPECT_EQ(view.indexAt({5, view.viewport()->height() - 10}).row(), 99'999);
    QTest::keyClicks(&test.window.kernel_pane().filter(), "kernel_99999");
    EXPECT_EQ(table.rowCount(), 1);
    EXPECT_EQ(table.count_text(), "1 of 100 000 kernels");
}

TEST(MessagePane, SeverityAndWords) {
    MessageLog log;
    MessagePane pane(log);
    log.add(Severity::hint, "running");
    log.add(Severity::error, "kernel refused");
    pane.severity().setCurrentIndex(2);
    EXPECT_EQ(log.rowCount(), 1);
    pane.severity().setCurrentIndex(0);
    QTest::keyClicks(&pane.filter(), "running");
    EXPECT_EQ(log.rowCount(), 1);
    EXPECT_EQ(log.message(0).text, "running");
}

}  // namespace
}  // namespace egpu::ui
