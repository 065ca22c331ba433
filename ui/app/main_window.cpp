// SPDX-License-Identifier: Apache-2.0
#include "ui/app/main_window.hpp"

#include <QApplication>
#include <QDockWidget>
#include <QElapsedTimer>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTableView>
#include <QVBoxLayout>

#include "base/units.hpp"
#include "ui/app/demo_file.hpp"
#include "ui/model/source_feed.hpp"
#include "ui/panes/kernel_pane.hpp"
#include "ui/panes/map_pane.hpp"
#include "ui/panes/message_pane.hpp"
#include "ui/panes/probe_pane.hpp"
#include "ui/panes/session_bar.hpp"
#include "ui/panes/start_page.hpp"
#include "ui/panes/table_view.hpp"

namespace egpu::ui {
namespace {

constexpr int kStartPage = 0, kSessionPage = 1;
constexpr std::uint32_t kFramesPerStatus = 15;
constexpr int kLevelMs = 500;
constexpr double kSlowMs = 100;  ///< a frame that takes longer is felt

void set_widths(QTableView& view, std::initializer_list<int> characters) {
    int column = 0;
    for (const int width : characters)
        view.setColumnWidth(column++, width * view.fontMetrics().averageCharWidth());
}

}  // namespace

MainWindow::MainWindow(ThemeName theme)
    : theme_(theme),
      pages_(new QStackedWidget),
      start_(new StartPage),
      bar_(new SessionBar(model_, link_)),
      stack_(new ChartStack(link_)),
      kernels_(new KernelPane(model_.kernels())),
      probes_(new ProbePane(model_.probes())),
      maps_(new MapPane),
      findings_(make_table(model_.findings(), nullptr)),
      messages_(new MessagePane(model_.messages())),
      status_(new QLabel),
      frame_time_(new QLabel) {
    setWindowTitle(tr("egpu"));
    auto* session = new QWidget;
    auto* layout = new QVBoxLayout(session);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(bar_);
    layout->addWidget(stack_, 1);
    pages_->addWidget(start_);
    pages_->addWidget(session);
    setCentralWidget(pages_);
    set_widths(*findings_, {12, 26, 22, 12, 40});
    make_docks();
    make_menus();
    statusBar()->addWidget(status_, 1);
    statusBar()->addPermanentWidget(frame_time_);
    stack_->set_charts(&model_.charts());
    connect_parts();
    set_theme(theme);
    show_start_page();
}

MainWindow::~MainWindow() {
    model_.stop();
    stack_->set_charts(nullptr);
}

void MainWindow::connect_parts() {
    connect(&clock_, &FrameClock::tick, this, &MainWindow::frame);
    connect(&model_, &SessionModel::restarted, this, [this] {
        link_.viewport() = Viewport();
        link_.set_newest(std::nullopt);
        facts_changed();
        stack_->set_charts(&model_.charts());
    });
    connect(start_, &StartPage::run_asked, this, &MainWindow::run);
    connect(start_, &StartPage::session_asked, this, &MainWindow::open_session);
    connect(start_, &StartPage::demo_asked, this, &MainWindow::open_demo);
    connect(bar_, &SessionBar::pause_toggled, this, &MainWindow::toggle_pause);
    connect(bar_, &SessionBar::now_asked, this, &MainWindow::show_now);
    connect(bar_, &SessionBar::fit_asked, this, &MainWindow::fit);
    connect(probes_, &ProbePane::change_asked, this, &MainWindow::change_probes);
    connect(&process_, &RunProcess::session_ready, this, &MainWindow::open_session);
    connect(&process_, &RunProcess::said, this, [this](const QString& line, bool by_egpu) {
        say(by_egpu ? severity_of(line.toStdString()) : Severity::hint, line);
    });
    connect(&process_, &RunProcess::ended, this, [this](const QString& text, bool failed) {
        say(failed ? Severity::error : Severity::hint, text);
        if (failed)
            start_->form().show_problem(tr("%1: see the messages").arg(text));
    });
}

void MainWindow::say(Severity severity, const QString& text) {
    model_.messages().add(severity, text);
    if (pages_->currentIndex() == kStartPage)
        docks_.back()->show();
}

QDockWidget* MainWindow::add_dock(const QString& title, const char* name, QWidget* content) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(QString::fromLatin1(name));
    dock->setWidget(content);
    // Its tab says its name already; tabs can be dragged out and back.
    auto* no_title = new QWidget(dock);
    no_title->setFixedHeight(0);
    dock->setTitleBarWidget(no_title);
    addDockWidget(Qt::BottomDockWidgetArea, dock);
    docks_ << dock;
    return dock;
}

void MainWindow::make_docks() {
    setDockOptions(QMainWindow::AllowTabbedDocks | QMainWindow::AllowNestedDocks | QMainWindow::GroupedDragging);
    setDocumentMode(true);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    add_dock(tr("Kernels"), "kernels", kernels_);
    add_dock(tr("Probes"), "probes", probes_);
    add_dock(tr("Maps"), "maps", maps_);
    findings_dock_ = add_dock(findings_title(), "findings", findings_);
    add_dock(tr("Messages"), "messages", messages_);
    restore_layout();
}

void MainWindow::restore_layout() {
    for (auto* dock : docks_) {
        dock->setFloating(false);
        addDockWidget(Qt::BottomDockWidgetArea, dock);
        if (dock != docks_.front())
            tabifyDockWidget(docks_.front(), dock);
        dock->show();
    }
    docks_.front()->raise();
    resizeDocks({docks_.front()}, {height() / 3}, Qt::Vertical);
}

void MainWindow::show_docks(bool session) {
    for (auto* dock : docks_)
        dock->setVisible(session || (dock == docks_.back() && model_.messages().rowCount() != 0));
    (session ? docks_.front() : docks_.back())->raise();
}

void MainWindow::set_theme(ThemeName name) {
    theme_ = name;
    const Theme& chosen = theme(name);
    QApplication::setPalette(chosen.palette());
    setStyleSheet(chosen.style_sheet());
    stack_->set_theme(chosen);
    bar_->set_theme(chosen);
}

void MainWindow::open_feed(std::unique_ptr<Feed> feed) {
    model_.start(std::move(feed));
    pages_->setCurrentIndex(kSessionPage);
    show_docks(true);
    setWindowTitle(tr("%1 - egpu").arg(QString::fromStdString(model_.name())));
    clock_.set_running(true);
    probes_->set_live(false);
    bar_->refresh();
    frame();
}

void MainWindow::take_feed(Result<std::unique_ptr<Feed>> feed) {
    if (feed)
        return open_feed(std::move(*feed));
    for (const auto& problem : feed.errors())
        say(Severity::error, QString::fromStdString(to_text(problem)));
    docks_.back()->raise();
}

void MainWindow::open_demo() {
    take_feed(open_replay_feed(demo_file().toStdString()));
}

void MainWindow::open_session(const QString& number) {
    take_feed(open_session_feed(number.toStdString()));
}

void MainWindow::open_file(const QString& file) {
    take_feed(open_recording_feed(file.toStdString()));
}

void MainWindow::open(const QString& what) {
    bool is_number = false;
    what.toUInt(&is_number);
    if (is_number && !QFileInfo::exists(what))
        open_session(what);
    else
        open_file(what);
}

void MainWindow::show_start_page() {
    clock_.set_running(false);
    model_.stop();
    pages_->setCurrentIndex(kStartPage);
    show_docks(false);
    setWindowTitle(tr("egpu"));
    refresh_status();
}

void MainWindow::run(const RunRequest& request) {
    process_.stop();
    say(Severity::hint, tr("running: %1").arg(request.command_line()));
    docks_.back()->raise();
    process_.start(request);
}

void MainWindow::change_probes(const QStringList& words) {
    const auto& facts = model_.facts();
    if (!facts || facts->session == 0)
        return;
    auto* change = new QProcess(this);
    const QStringList line = QStringList{QStringLiteral("probe")} + words +
                             QStringList{QStringLiteral("-s"), QString::number(facts->session)};
    say(Severity::hint, tr("running: egpu %1").arg(line.join(QLatin1Char(' '))));
    connect(change, &QProcess::finished, this, [this, change](int code, QProcess::ExitStatus) {
        for (const auto& text : QString::fromUtf8(change->readAll()).split(QLatin1Char('\n'), Qt::SkipEmptyParts))
            say(code == 0 ? Severity::hint : Severity::error, text);
        change->deleteLater();
    });
    connect(change, &QProcess::errorOccurred, this, [this, change](QProcess::ProcessError) {
        say(Severity::error, tr("egpu probe: %1").arg(change->errorString()));
        change->deleteLater();
    });
    change->setProcessChannelMode(QProcess::MergedChannels);
    change->start(find_egpu(), line);
}

void MainWindow::toggle_pause() {
    if (link_.viewport().following())
        link_.viewport().pause();
    else
        link_.viewport().jump_to_now();
    link_.view_moved();
}

void MainWindow::show_now() {
    link_.viewport().jump_to_now();
    link_.view_moved();
}

void MainWindow::fit() {
    link_.viewport().fit();
    link_.view_moved();
}

void MainWindow::show_lines() {
    lines_wait_ = false;
    lines_shown_at_.start();
    const auto extent = model_.charts().extent();
    auto& viewport = link_.viewport();
    const TimeRange before = viewport.range();
    // A view that stays where it is needs no new lines unless data came into it.
    const bool in_view = viewport.behind() == 0;
    if (extent)
        viewport.set_data(extent->begin, extent->end);
    if (viewport.range() != before)
        link_.view_moved();
    stack_->data_changed(in_view || viewport.following());
}

void MainWindow::frame() {
    QElapsedTimer timer;
    timer.start();
    const auto changes = model_.pull();
    lines_wait_ = lines_wait_ || changes.lines;
    clock_.add_look(changes.values || changes.life);
    // Where lines only go on level, as those of a program that does nothing, the view moves on less often.
    if (lines_wait_ &&
        (changes.values || changes.life || !lines_shown_at_.isValid() || lines_shown_at_.elapsed() >= kLevelMs))
        show_lines();
    if (changes.facts)
        facts_changed();
    if (changes.life)
        probes_->set_live(model_.life() == Life::live);
    if (changes.facts || changes.life || (changes.lines && !link_.viewport().following()))
        bar_->refresh();
    const double painted = stack_->take_paint_ms();
    if (changes.any() || painted > 0)
        clock_.add_frame(painted + static_cast<double>(timer.nsecsElapsed()) / 1e6);
    if (model_.finished()) {
        clock_.set_running(false);
        if (model_.life() == Life::recorded)
            fit();
    }
    if (changes.life || changes.facts || ++frames_since_status_ >= kFramesPerStatus)
        refresh_status();
}

QString MainWindow::status_text() const {
    if (pages_->currentIndex() == kStartPage)
        return tr("no session");
    const auto& facts = model_.facts();
    QStringList parts;
    parts << QString::fromStdString(model_.name());
    if (facts) {
        parts << tr("%1 launches").arg(QString::fromStdString(format_count(facts->launches)));
        parts
            << tr("dropped %1").arg(facts->dropped ? QString::fromStdString(format_count(*facts->dropped)) : tr("n/a"));
        if (!facts->agent_error.empty())
            parts << QString::fromStdString(facts->agent_error);
    }
    return parts.join(QStringLiteral("   "));
}

void MainWindow::refresh_status() {
    frames_since_status_ = 0;
    status_->setText(status_text());
    frame_time_->setText(frame_text());
}

QString MainWindow::frame_text() const {
    if (!clock_.running())
        return {};
    if (verbose_action_->isChecked())
        return tr("%1 points/s   frame %2 ms (p95 %3), every %4 ms")
            .arg(model_.point_rate(), 0, 'f', 0)
            .arg(clock_.frame_ms_last(), 0, 'f', 1)
            .arg(clock_.frame_ms_p95(), 0, 'f', 1)
            .arg(clock_.interval_ms());
    return clock_.frame_ms_p95() > kSlowMs
               ? tr("drawing is slow: %1 ms a picture").arg(clock_.frame_ms_p95(), 0, 'f', 0)
               : QString();
}

void MainWindow::set_verbose(bool verbose) {
    verbose_action_->setChecked(verbose);
    refresh_status();
}

QString MainWindow::findings_title() const {
    const auto count = model_.facts() ? model_.facts()->findings.size() : 0;
    return count == 0 ? tr("Findings") : tr("Findings (%1)").arg(count);
}

void MainWindow::facts_changed() {
    kernels_->refresh();
    maps_->set_facts(model_.facts());
    findings_dock_->setWindowTitle(findings_title());
    if (!model_.facts())
        return;
    link_.set_newest(model_.facts()->time);
    for (auto* legend : stack_->legends())
        legend->data_changed();
}

void MainWindow::update_seen() {
    clock_.set_seen(!isVisible() || isMinimized() ? FrameClock::Seen::hidden
                    : isActiveWindow()            ? FrameClock::Seen::focused
                                                  : FrameClock::Seen::unfocused);
}

void MainWindow::changeEvent(QEvent* event) {
    if (event->type() == QEvent::ActivationChange || event->type() == QEvent::WindowStateChange)
        update_seen();
    QMainWindow::changeEvent(event);
}

void MainWindow::showEvent(QShowEvent* event) {
    QMainWindow::showEvent(event);
    update_seen();
    resizeDocks({docks_.front()}, {height() * 3 / 10}, Qt::Vertical);
}

void MainWindow::hideEvent(QHideEvent* event) {
    QMainWindow::hideEvent(event);
    update_seen();
}

}  // namespace egpu::ui
