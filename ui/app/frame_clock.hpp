// SPDX-License-Identifier: Apache-2.0
// FrameClock: the one timer of the window. 16 ms while somebody looks at it, slower where frames cost too much, the
// window has no focus or nothing has happened for a while, one look a second where it is hidden, none without a
// session.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <vector>

namespace egpu::ui {

class FrameClock : public QObject {
    Q_OBJECT
public:
    enum class Seen { focused, unfocused, hidden };
    static constexpr int kStillAfterMs = 1000, kStillMs = 100;

    explicit FrameClock(QObject* parent = nullptr);

    void set_running(bool running);
    void set_seen(Seen seen);
    /// What a tick found: something that happened, or at most lines that go on level. After kStillAfterMs of nothing
    /// the clock looks only every kStillMs, until something happens.
    void add_look(bool happened);
    /// What a frame that drew something took, in ms.
    void add_frame(double milliseconds);
    int interval_ms() const { return timer_.interval(); }
    bool running() const { return timer_.isActive(); }
    /// Of the last frames that drew something; 0 without any.
    double frame_ms_p95() const;
    double frame_ms_last() const { return last_; }

Q_SIGNALS:
    void tick();

private:
    void adapt();

    QTimer timer_;
    Seen seen_ = Seen::focused;
    bool heavy_ = false;  ///< frames take long: 30 Hz
    bool still_ = false;  ///< nothing happens
    QElapsedTimer happened_at_;
    std::vector<double> frames_;  ///< ring
    std::size_t next_ = 0;
    double last_ = 0;
};

}  // namespace egpu::ui
