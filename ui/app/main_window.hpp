// SPDX-License-Identifier: Apache-2.0
// MainWindow: puts the parts together. What they do is theirs.
#pragma once

#include <QElapsedTimer>
#include <QMainWindow>
#include <memory>

#include "ui/app/frame_clock.hpp"
#include "ui/app/run_process.hpp"
#include "ui/chart/chart_link.hpp"
#include "ui/chart/chart_stack.hpp"
#include "ui/model/session_model.hpp"

class QDockWidget;
class QLabel;
class QStackedWidget;
class QTableView;

namespace egpu::ui {

class KernelPane;
class MapPane;
class MessagePane;
class ProbePane;
class SessionBar;
class StartPage;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(ThemeName theme);
    ~MainWindow() override;

    void set_theme(ThemeName name);
    ThemeName theme_name() const { return theme_; }

    void open_demo();
    void open_session(const QString& number);
    void open_file(const QString& file);
    /// A session's number or a file's name.
    void open(const QString& what);
    void show_start_page();
    /// For tests: a feed of their own.
    void open_feed(std::unique_ptr<Feed> feed);

    SessionModel& model() { return model_; }
    ChartLink& link() { return link_; }
    ChartStack& stack() { return *stack_; }
    FrameClock& clock() { return clock_; }
    KernelPane& kernel_pane() { return *kernels_; }
    MessagePane& message_pane() { return *messages_; }
    MapPane& map_pane() { return *maps_; }
    ProbePane& probe_pane() { return *probes_; }
    SessionBar& bar() { return *bar_; }
    StartPage& start_page() { return *start_; }
    QString status_text() const;
    /// What a frame took and how many points came: always where `verbose`, else only where drawing is slow.
    void set_verbose(bool verbose);
    QString frame_text() const;
    /// "Findings (1)": of the pane's tab.
    QString findings_title() const;

    void toggle_pause();
    void show_now();
    void fit();

protected:
    void changeEvent(QEvent*) override;
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    void make_docks();
    QDockWidget* add_dock(const QString& title, const char* name, QWidget* content);
    void restore_layout();
    /// The start page has messages only, and these where there are any.
    void show_docks(bool session);
    void make_menus();
    void make_chart_menu();
    void connect_parts();
    void take_feed(Result<std::unique_ptr<Feed>> feed);
    void run(const RunRequest& request);
    /// `egpu probe WORDS -s SESSION`, its output as messages.
    void change_probes(const QStringList& words);
    void frame();
    /// New points into the charts, and the view along with them.
    void show_lines();
    void refresh_status();
    /// What is made of facts: tables, and figures of the same moment in the legends.
    void facts_changed();
    void update_seen();
    void say(Severity severity, const QString& text);

    ThemeName theme_;
    SessionModel model_;
    ChartLink link_;
    FrameClock clock_;
    RunProcess process_;
    QStackedWidget* pages_;
    StartPage* start_;
    SessionBar* bar_;
    ChartStack* stack_;
    KernelPane* kernels_;
    ProbePane* probes_;
    MapPane* maps_;
    QTableView* findings_;
    MessagePane* messages_;
    QList<QDockWidget*> docks_;
    QMenu* chart_menu_ = nullptr;
    QLabel *status_, *frame_time_;
    QDockWidget* findings_dock_ = nullptr;
    QAction* verbose_action_ = nullptr;
    std::uint32_t frames_since_status_ = 0;
    bool lines_wait_ = false;  ///< came, and are not shown so far
    QElapsedTimer lines_shown_at_;
};

}  // namespace egpu::ui
