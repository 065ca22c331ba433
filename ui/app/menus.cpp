// SPDX-License-Identifier: Apache-2.0
// MainWindow: its menus.
#include <QActionGroup>
#include <QApplication>
#include <QDockWidget>
#include <QFileDialog>
#include <QMenuBar>

#include "ui/app/exports.hpp"
#include "ui/app/main_window.hpp"
#include "ui/panes/kernel_pane.hpp"
#include "ui/panes/start_page.hpp"

#include <QLineEdit>

namespace egpu::ui {
namespace {

template <typename Do>
QAction* add(QMenu& menu, const QString& text, const QKeySequence& key, MainWindow* window, Do&& what) {
    auto* action = menu.addAction(text);
    action->setShortcut(key);
    QObject::connect(action, &QAction::triggered, window, std::forward<Do>(what));
    return action;
}

}  // namespace

void MainWindow::make_menus() {
    auto* file = menuBar()->addMenu(tr("&File"));
    const auto ask_file = [this] {
        const QString name =
            QFileDialog::getOpenFileName(this, tr("Open a recording"), {}, tr("Recordings (*.egpu);;All files (*)"));
        if (!name.isEmpty())
            open_file(name);
    };
    add(*file, tr("&Start page"), QKeySequence(Qt::CTRL | Qt::Key_N), this, [this] { show_start_page(); });
    add(*file, tr("&Open a recording…"), QKeySequence::Open, this, ask_file);
    add(*file, tr("&Demo data"), {}, this, [this] { open_demo(); });
    connect(start_, &StartPage::file_asked, this, ask_file);
    file->addSeparator();
    add(*file, tr("&Quit"), QKeySequence::Quit, this, [this] { close(); });

    auto* view = menuBar()->addMenu(tr("&View"));
    add(*view, tr("&Pause or resume"), QKeySequence(Qt::Key_Space), this, [this] { toggle_pause(); });
    add(*view, tr("Follow &now"), QKeySequence(Qt::Key_End), this, [this] { show_now(); });
    add(*view, tr("&Fit all data"), QKeySequence(Qt::Key_F), this, [this] { fit(); });
    view->addSeparator();
    chart_menu_ = view->addMenu(tr("&Charts"));
    connect(chart_menu_, &QMenu::aboutToShow, this, &MainWindow::make_chart_menu);
    auto* panes = view->addMenu(tr("P&anes"));
    for (auto* dock : docks_)
        panes->addAction(dock->toggleViewAction());
    panes->addSeparator();
    add(*panes, tr("&Restore default layout"), {}, this, [this] { restore_layout(); });
    add(*view, tr("Filter &kernels"), QKeySequence(Qt::Key_Slash), this, [this] {
        docks_.front()->show();
        docks_.front()->raise();
        kernels_->filter().setFocus();
    });
    auto* verbose = view->addAction(tr("Frame &times"));
    verbose->setCheckable(true);
    connect(verbose, &QAction::toggled, this, &MainWindow::set_verbose);
    verbose_action_ = verbose;
    auto* dark = add(*view, tr("&Dark theme"), QKeySequence(Qt::CTRL | Qt::Key_T), this,
                     [this] { set_theme(theme_ == ThemeName::dark ? ThemeName::light : ThemeName::dark); });
    dark->setCheckable(true);
    dark->setChecked(theme_ == ThemeName::dark);

    auto* exports = menuBar()->addMenu(tr("&Export"));
    add(*exports, tr("&Copy image of all charts"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this,
        [this] { copy_image(*stack_->widget()); });
    add(*exports, tr("&Save image of all charts…"), QKeySequence::Save, this,
        [this] { ask_and_save_image(*stack_->widget(), model_.messages()); });
    connect(stack_, &ChartStack::chart_added, this, [this](ChartWidget* chart) {
        connect(chart, &ChartWidget::copy_image_asked, this, [chart] { copy_image(*chart->parentWidget()); });
        connect(chart, &ChartWidget::export_image_asked, this,
                [this, chart] { ask_and_save_image(*chart->parentWidget(), model_.messages()); });
        connect(chart, &ChartWidget::export_csv_asked, this, [this, chart] {
            ask_and_save_csv(*this, chart->chart(), link_.viewport().range(), model_.messages());
        });
    });

    auto* help = menuBar()->addMenu(tr("&Help"));
    add(*help, tr("&Keys"), QKeySequence(Qt::Key_Question), this, [this] {
        say(Severity::hint,
            tr("Keys: Space pause, End now, F fit, / filter, Ctrl+T theme; in a chart: Left Right or A D pan, Up Down "
               "or W S "
               "zoom, L logarithmic, wheel zooms at the mouse, drag pans, Shift+drag marks what to zoom to"));
        docks_.back()->show();
        docks_.back()->raise();
    });
}

void MainWindow::make_chart_menu() {
    chart_menu_->clear();
    for (const auto& chart : model_.charts().all()) {
        auto* action = chart_menu_->addAction(QString::fromStdString(chart->title));
        action->setCheckable(true);
        action->setChecked(chart->shown);
        connect(action, &QAction::toggled, this, [this, shown = chart.get()](bool on) {
            shown->shown = on;
            stack_->data_changed();
        });
    }
    if (chart_menu_->isEmpty())
        chart_menu_->addAction(tr("none so far"))->setEnabled(false);
}

}  // namespace egpu::ui
