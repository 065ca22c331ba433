// SPDX-License-Identifier: Apache-2.0
#include "ui/panes/map_pane.hpp"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSignalBlocker>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/panes/table_view.hpp"

namespace egpu::ui {
namespace {

constexpr int kKeyCharacters = 26, kValueCharacters = 20;

std::vector<GridTable::Row> rows_of(const MapRows& map) {
    std::vector<GridTable::Row> rows;
    rows.reserve(map.rows.size());
    for (const auto& cells : map.rows) {
        GridTable::Row row;
        for (const auto& cell : cells)
            row.cells << QString::fromStdString(cell);
        rows.push_back(std::move(row));
    }
    return rows;
}

QStringList heads_of(const MapRows& map) {
    QStringList heads;
    for (const auto& head : map.heads)
        heads << QString::fromStdString(head);
    return heads;
}

}  // namespace

MapPane::MapPane(QWidget* parent)
    : QWidget(parent), choice_(new QComboBox), note_(new QLabel), view_(make_table(table_, this)) {
    choice_->setAccessibleName(tr("Map"));
    choice_->setMinimumContentsLength(28);
    note_->setProperty("quiet", true);
    auto* top = new QHBoxLayout;
    top->addWidget(choice_);
    top->addWidget(note_, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(6, 6, 6, 0);
    layout->addLayout(top);
    layout->addWidget(view_, 1);
    // What a value is stands beside its key, not at the window's other end.
    view_->horizontalHeader()->setStretchLastSection(false);
    connect(choice_, &QComboBox::currentIndexChanged, this, &MapPane::show_chosen);
    set_facts(nullptr);
}

QString MapPane::note() const {
    return note_->text();
}

void MapPane::set_facts(FactsPointer facts) {
    facts_ = std::move(facts);
    QStringList names;
    for (std::size_t i = 0; facts_ && i < facts_->maps.size(); ++i)
        names << QString::fromStdString(facts_->maps[i].name);
    QStringList before;
    for (int i = 0; i < choice_->count(); ++i)
        before << choice_->itemText(i);
    if (names != before) {
        const QSignalBlocker quiet(choice_);
        const QString chosen = choice_->currentText();
        choice_->clear();
        choice_->addItems(names);
        choice_->setCurrentIndex(names.isEmpty() ? -1 : std::max(0, static_cast<int>(names.indexOf(chosen))));
    }
    choice_->setVisible(!names.isEmpty());
    show_chosen();
}

void MapPane::show_chosen() {
    const int index = choice_->currentIndex();
    if (!facts_ || index < 0 || index >= static_cast<int>(facts_->maps.size())) {
        table_.set_table({}, 0, {});
        note_->setText(facts_ ? tr("The session's programs have no maps") : QString());
        return;
    }
    const auto& map = facts_->maps[static_cast<std::size_t>(index)];
    const bool other = heads_of(map).size() != table_.columnCount();
    table_.set_table(heads_of(map), static_cast<int>(map.key_columns), rows_of(map));
    note_->setText(QString::fromStdString(map.note));
    const int character = view_->fontMetrics().averageCharWidth();
    for (int column = 0; other && column < table_.columnCount(); ++column)
        view_->setColumnWidth(
            column,
            std::max((column < static_cast<int>(map.key_columns) ? kKeyCharacters : kValueCharacters) * character,
                     view_->horizontalHeader()->sectionSizeHint(column)));
}

}  // namespace egpu::ui
