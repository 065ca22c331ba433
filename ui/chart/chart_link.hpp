// SPDX-License-Identifier: Apache-2.0
// What the charts of a window share: the stretch of time they show, and where the cursor is.
#pragma once

#include <QObject>
#include <optional>

#include "ui/model/viewport.hpp"

namespace egpu::ui {

class ChartLink : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    Viewport& viewport() { return viewport_; }
    const Viewport& viewport() const { return viewport_; }
    /// After any change of the viewport by a person.
    void view_moved() { Q_EMIT view_changed(); }
    std::optional<Time> cursor() const { return cursor_; }
    /// The moment that tables show: what is newest in legends is of it too. nullopt: of the last point.
    std::optional<Time> newest() const { return newest_; }
    void set_newest(std::optional<Time> time) { newest_ = time; }
    void set_cursor(std::optional<Time> time) {
        if (cursor_ == time)
            return;
        cursor_ = time;
        Q_EMIT cursor_changed();
    }

Q_SIGNALS:
    void view_changed();
    void cursor_changed();

private:
    Viewport viewport_;
    std::optional<Time> cursor_, newest_;
};

}  // namespace egpu::ui
