// SPDX-License-Identifier: Apache-2.0
// The window over a session that goes on, is killed, is damaged.
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QTemporaryDir>

#include "scripted_feed.hpp"
#include "ui/app/exports.hpp"
#include "ui/panes/message_pane.hpp"
#include "ui/panes/session_bar.hpp"

namespace egpu::ui {
namespace {

TEST(Window, PauseHoldsTheViewWhileDataIsKept) {
    TestWindow test;
    QTest::keyClick(&test.window, Qt::Key_Space);
    const TimeRange held = test.window.link().viewport().range();
    test.give(points(60, 65, 20));
    EXPECT_EQ(test.window.link().viewport().range(), held);
    EXPECT_EQ(test.chart().chart().traces[0]->points.end(), 1300u);
    QTest::keyClick(&test.window, Qt::Key_Space);
    EXPECT_EQ(test.window.link().viewport().range().end, test.window.model().charts().extent()->end);
}

TEST(Window, AnApplicationThatIsKilledLeavesItsDataAndSaysSo) {
    TestWindow test;
    test.give(points(60, 61, 20));
    Update end;
    end.time = 61 * kSecond;
    end.gap = true;
    end.life = Life::ended;
    end.life_text = "the application was killed: totals are of 61 s";
    end.last = true;
    test.give({end});
    EXPECT_TRUE(test.window.bar().state_text().contains("killed")) << test.window.bar().state_text().toStdString();
    EXPECT_GT(test.chart().chart().traces[0]->points.end(), 1200u);
    test.window.fit();  // what there is can still be looked at
    EXPECT_EQ(test.window.link().viewport().range().begin, 0);
}

TEST(Window, ADamagedSessionLeavesItsDataAndSaysSo) {
    TestWindow test;
    Update damaged;
    damaged.time = 60 * kSecond;
    damaged.life = Life::damaged;
    damaged.life_text = "the session's catalogue and its maps disagree";
    damaged.messages = {{Severity::error, "EGPU-M012"}};
    damaged.last = true;
    test.give(damaged);
    EXPECT_TRUE(test.window.bar().state_text().startsWith(QStringLiteral("▲")));
    EXPECT_EQ(test.window.model().messages().rowCount(), 1);
    EXPECT_EQ(test.chart().chart().traces[0]->points.end(), 1200u);
}

TEST(Window, AFeedThatThrowsEndsTheFeedOnly) {
    class Throws final : public Feed {
        Update next() override { throw std::runtime_error("disk on fire"); }
        std::chrono::milliseconds pause() const override { return std::chrono::milliseconds(1); }
        std::string name() const override { return "throws"; }
    };
    MainWindow window(ThemeName::light);
    window.open_feed(std::make_unique<Throws>());
    ASSERT_TRUE(QTest::qWaitFor([&] { return window.model().messages().rowCount() == 1; }));
    EXPECT_TRUE(window.model().messages().message(0).text.contains("disk on fire"));
    EXPECT_EQ(window.model().life(), Life::damaged);
}

TEST(Window, WhatCanNotBeOpenedIsSaidAndTheWindowStays) {
    MainWindow window(ThemeName::dark);
    window.open(QStringLiteral("4294967295"));
    window.open(QStringLiteral("/nowhere/at/all.egpu"));
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("noise.egpu")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(5000, 'x'));
    file.close();
    window.open(file.fileName());
    ASSERT_EQ(window.model().messages().rowCount(), 3);
    EXPECT_TRUE(window.model().messages().message(0).text.contains("EGPU-X060"));
    EXPECT_TRUE(window.model().messages().message(1).text.contains("EGPU-R010"));
    EXPECT_TRUE(window.model().messages().message(2).text.contains("EGPU-R011"));
    EXPECT_FALSE(window.model().running());
}

TEST(Window, PicturesAreNotBlankAndThemesDiffer) {
    TestWindow test;
    const QImage dark = test.window.grab().toImage();
    EXPECT_GT(colours_in(dark), 50);
    test.window.set_theme(ThemeName::light);
    const QImage light = test.window.grab().toImage();
    EXPECT_GT(colours_in(light), 50);
    EXPECT_LT(dark.pixelColor(5, 5).lightness(), 60);
    EXPECT_GT(light.pixelColor(5, 5).lightness(), 200);
    const QRect area = test.chart().plot_area();
    const QImage plot = test.chart().grab(area).toImage();
    EXPECT_GT(plot.pixelColor(area.width() - 3, 3).lightness(), 200);
}

TEST(Window, ExportsAPictureAndTheVisibleRange) {
    TestWindow test;
    QTemporaryDir folder;
    const QString picture = folder.filePath(QStringLiteral("a.png"));
    ASSERT_TRUE(save_image(test.chart(), picture));
    EXPECT_EQ(QImage(picture).size(), test.chart().size());
    const QString table = folder.filePath(QStringLiteral("a.csv"));
    ASSERT_TRUE(save_csv(test.chart().chart(), {10 * kSecond, 11 * kSecond}, table));
    QFile file(table);
    ASSERT_TRUE(file.open(QIODevice::ReadOnly));
    EXPECT_EQ(file.readAll().count('\n'), 1 + 21);
    const auto failed = save_image(test.chart(), QStringLiteral("/nowhere/a.png"));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, "EGPU-X081");
    // What is no file is left as it is; a link goes on to lead to the picture.
    for (const QString& name : {folder.path(), QStringLiteral("/dev/null")}) {
        const auto refused = save_image(test.chart(), name);
        ASSERT_FALSE(refused) << name.toStdString();
        EXPECT_EQ(refused.error().code, "EGPU-X081");
    }
    EXPECT_FALSE(QFileInfo(QStringLiteral("/dev/null")).isFile());
    const QString link = folder.filePath(QStringLiteral("link.png"));
    ASSERT_TRUE(QFile::remove(picture));
    ASSERT_TRUE(QFile::link(picture, link));
    ASSERT_TRUE(save_image(test.chart(), link));
    EXPECT_TRUE(QFileInfo(link).isSymLink());
    EXPECT_EQ(QImage(picture).size(), test.chart().size());
    EXPECT_EQ(QDir(folder.path()).entryList(QDir::Files).size(), 3) << "nothing else is left";
}

TEST(Window, TheStartPageHasMessagesWhereThereAreAny) {
    MainWindow window(ThemeName::dark);
    window.show();
    EXPECT_FALSE(window.message_pane().isVisible());
    window.open_file(QStringLiteral("/nowhere/a.egpu"));
    EXPECT_TRUE(window.message_pane().isVisible());
    EXPECT_GT(window.model().messages().rowCount(), 0);
}

TEST(Window, FramesStopWithoutASessionAndSlowDownUnseen) {
    TestWindow test;
    EXPECT_TRUE(test.window.clock().running());
    for (int i = 0; i < 200; ++i)
        test.window.clock().add_frame(1);  // whatever frames took on this machine
    test.window.clock().set_seen(FrameClock::Seen::focused);
    EXPECT_EQ(test.window.clock().interval_ms(), 16);
    test.window.clock().set_seen(FrameClock::Seen::unfocused);
    EXPECT_EQ(test.window.clock().interval_ms(), 50);
    test.window.hide();
    EXPECT_EQ(test.window.clock().interval_ms(), 1000);
    test.window.show_start_page();
    EXPECT_FALSE(test.window.clock().running());
}

TEST(Window, FiguresOfDrawingAreSaidOnlyWhereAskedForOrSlow) {
    TestWindow test;
    for (int i = 0; i < 200; ++i)
        test.window.clock().add_frame(5);
    EXPECT_EQ(test.window.frame_text(), "");
    test.window.set_verbose(true);
    EXPECT_TRUE(test.window.frame_text().contains("points/s"));
    test.window.set_verbose(false);
    for (int i = 0; i < 200; ++i)
        test.window.clock().add_frame(300);
    EXPECT_EQ(test.window.frame_text(), "drawing is slow: 300 ms a picture");
}

TEST(Window, TheFindingsTabHasACount) {
    TestWindow test(1);
    EXPECT_EQ(test.window.findings_title(), "Findings");
    auto facts = std::make_shared<Facts>();
    facts->findings.push_back({"uncoalesced-access", "k", "a.cu:3", "text", "egpu"});
    Update update;
    update.time = kSecond;
    update.facts = facts;
    test.give(update);
    EXPECT_EQ(test.window.findings_title(), "Findings (1)");
}

TEST(Window, AShortSessionSaysThatItIsTooShort) {
    TestWindow test(0.1);
    Update nothing;
    nothing.time = kSecond / 10;
    nothing.values = {{0, std::nan("")}, {1, std::nan("")}};
    auto& chart = test.chart().chart();
    EXPECT_EQ(chart.empty_text(), "");
    SessionModel model;
    model.apply({lines_update(), nothing});
    EXPECT_EQ(model.charts().find("bandwidth")->empty_text().substr(0, 42),
              "too short for a rate over 1 s: 1 sample. T");
}

TEST(FrameClock, LooksLessOftenWhileNothingHappens) {
    FrameClock clock;
    clock.add_look(false);
    EXPECT_EQ(clock.interval_ms(), 16) << "a session that has just begun";
    QTest::qWait(FrameClock::kStillAfterMs + 20);
    clock.add_look(false);
    EXPECT_EQ(clock.interval_ms(), FrameClock::kStillMs);
    clock.set_seen(FrameClock::Seen::hidden);
    EXPECT_EQ(clock.interval_ms(), 1000);
    clock.set_seen(FrameClock::Seen::focused);
    clock.add_look(true);
    EXPECT_EQ(clock.interval_ms(), 16) << "from the first thing that happens on";
}

TEST(FrameClock, LongFramesComeLessOften) {
    FrameClock clock;
    for (int i = 0; i < 200; ++i)
        clock.add_frame(20);
    EXPECT_EQ(clock.interval_ms(), 33);
    EXPECT_EQ(clock.frame_ms_p95(), 20);
    for (int i = 0; i < 200; ++i)
        clock.add_frame(3);
    EXPECT_EQ(clock.interval_ms(), 16);
}

TEST(Window, LinesThatGoOnLevelMoveTheViewLessOften) {
    TestWindow test(1);
    const auto moves_of = [&](double rise) {
        int moves = 0;
        const auto counted = QObject::connect(&test.window.link(), &ChartLink::view_changed, [&] { ++moves; });
        for (int i = 0; i < 20; ++i) {  // a second, as a session gives them
            const Time next = test.window.model().charts().extent()->end + kSecond / 20;
            Update update;
            update.time = next;
            update.values = {{0, 5 + rise * static_cast<double>(next)}, {1, 7}};
            test.script->give(update);
            QTest::qWait(50);
        }
        QObject::disconnect(counted);
        return moves;
    };
    moves_of(0);
    const int level = moves_of(0), rising = moves_of(1);
    EXPECT_GE(level, 2);
    EXPECT_LE(level, 7);
    EXPECT_GT(rising, level + 5);
    QTest::qWait(300);
    EXPECT_EQ(test.window.link().viewport().range().end, test.window.model().charts().extent()->end);
}

TEST(Window, NothingIsPaintedWhereNothingMoved) {
    TestWindow test;
    QTest::qWait(100);
    test.window.stack().take_paint_ms();
    QTest::qWait(200);
    EXPECT_EQ(test.window.stack().take_paint_ms(), 0);
}

}  // namespace
}  // namespace egpu::ui
