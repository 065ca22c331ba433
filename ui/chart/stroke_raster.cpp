// SPDX-License-Identifier: Apache-2.0
#include "ui/chart/stroke_raster.hpp"

#include <algorithm>
#include <cmath>

namespace egpu::ui {
namespace {

constexpr double kUpright = 1e-6;     ///< pixels: what is not wider has no slope
constexpr double kSharp = 0.9;        ///< cosine of a bend: sharper ones get a round corner
constexpr double kThin = 1.25;        ///< pixels, half a width: corners of thinner lines are too small to be seen
constexpr double kNothing = 1e-9;     ///< pixels
constexpr double kFarAway = 1 << 20;  ///< pixels: heights beyond are none that can be counted in

/// `alpha` of 255 of one colour over another, both without transparency.
QRgb mixed(QRgb under, QRgb over, unsigned alpha) {
    const auto two = [alpha](unsigned below, unsigned above) {
        const unsigned sum = (above & 0xff00ffu) * alpha + (below & 0xff00ffu) * (255u - alpha);
        return ((sum + ((sum >> 8) & 0xff00ffu) + 0x800080u) >> 8) & 0xff00ffu;
    };
    return two(under, over) | two(under >> 8, over >> 8) << 8;
}

unsigned alpha_of(double share) {
    return static_cast<unsigned>(std::clamp(share, 0.0, 1.0) * 255 + 0.5);
}

int whole(double height) {
    return static_cast<int>(std::clamp(height, -kFarAway, kFarAway));
}

double length_of(const QPointF& step) {
    return std::sqrt(step.x() * step.x() + step.y() * step.y());
}

}  // namespace

StrokeRaster::StrokeRaster(QImage& image, const QRect& clip)
    : clip_(clip & image.rect()),
      pixels_(reinterpret_cast<QRgb*>(image.bits())),
      stride_(image.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb))),
      parts_(static_cast<std::size_t>(std::max(clip_.width(), 0)) * kParts) {}

std::pair<int, int> StrokeRaster::parts_in(double left, double right) const {
    // Rounded up by hand: std::ceil is a call where the processor may lack the instruction.
    const double most = static_cast<double>(parts_.size());
    const auto rounded_up = [most](double value) {
        const double within = std::clamp(value, 0.0, most);
        const int whole = static_cast<int>(within);
        return whole + (within > whole ? 1 : 0);
    };
    return {rounded_up((left - clip_.left()) * kParts - 0.5), rounded_up((right - clip_.left()) * kParts - 0.5)};
}

void StrokeRaster::add(int part, double low, double high) {
    // The parts of a line that share a column touch each other: together they are one interval.
    Interval& interval = parts_[static_cast<std::size_t>(part)];
    interval.low = std::min(interval.low, low);
    interval.high = std::max(interval.high, high);
}

void StrokeRaster::touch(int first, int end) {
    if (first >= end)
        return;
    first_ = last_ < first_ ? first : std::min(first_, first);
    last_ = std::max(last_, end - 1);
}

void StrokeRaster::add_segment(const QPointF& from, const QPointF& to, double half) {
    const double dx = to.x() - from.x(), dy = to.y() - from.y();
    const double length = length_of(to - from);
    if (!(length > kNothing))
        return;
    const double beside = half * std::abs(dy) / length;
    const auto [first, last] = parts_in(from.x() - beside, to.x() + beside);
    touch(first, last);
    const double least = std::min(from.y(), to.y()) - half, most = std::max(from.y(), to.y()) + half;
    const bool has_slope = dx > kUpright, has_ends = std::abs(dy) > kUpright;
    const double slope = has_slope ? dy / dx : 0, above = has_slope ? half * length / dx : 0;
    const double end_slope = has_ends ? dx / dy : 0, between = has_ends ? length * length / dy : 0;
    for (int part = first; part < last; ++part) {
        const double x = middle_of(part) - from.x();
        double low = least, high = most;
        if (has_slope) {  // no farther than half a width from the line
            const double y = from.y() + x * slope;
            low = std::max(low, y - above);
            high = std::min(high, y + above);
        }
        if (has_ends) {  // between the ends, which are cut at right angles
            const double begin = from.y() - x * end_slope, end = begin + between;
            low = std::max(low, std::min(begin, end));
            high = std::min(high, std::max(begin, end));
        }
        if (low < high)
            add(part, low, high);
    }
}

void StrokeRaster::add_disc(const QPointF& at, double radius) {
    const auto [first, last] = parts_in(at.x() - radius, at.x() + radius);
    touch(first, last);
    for (int part = first; part < last; ++part) {
        const double x = middle_of(part) - at.x();
        const double half = std::sqrt(std::max(0.0, radius * radius - x * x));
        add(part, at.y() - half, at.y() + half);
    }
}

void StrokeRaster::flush(QRgb colour) {
    if (last_ < first_)
        return;
    const int begin = first_ / kParts, end = last_ / kParts + 1;
    for (int column = begin; column < end; ++column)
        paint_column(clip_.left() + column, &parts_[static_cast<std::size_t>(column) * kParts], colour);
    std::fill(parts_.begin() + begin * kParts, parts_.begin() + end * kParts, Interval());
    first_ = 0;
    last_ = -1;
}

void StrokeRaster::paint_column(int x, const Interval* parts, QRgb colour) {
    Interval any;
    double all_low = -kFarAway, all_high = kFarAway;  // that all parts cover
    for (int i = 0; i < kParts; ++i) {
        any.low = std::min(any.low, parts[i].low);
        any.high = std::max(any.high, parts[i].high);
        all_low = std::max(all_low, parts[i].low);
        all_high = std::min(all_high, parts[i].high);
    }
    if (any.empty())
        return;
    const int top = std::max(clip_.top(), whole(std::floor(any.low)));
    const int bottom = std::min(clip_.bottom(), whole(std::ceil(any.high)) - 1);
    const int solid_top = whole(std::ceil(all_low)), solid_end = whole(std::floor(all_high));
    QRgb* at = pixel(x, top);
    for (int y = top; y <= bottom; ++y, at += stride_) {
        if (y >= solid_top && y < solid_end) {
            *at = colour;
            continue;
        }
        double covered = 0;
        for (int i = 0; i < kParts; ++i)
            covered += std::max(0.0, std::min(parts[i].high, y + 1.0) - std::max(parts[i].low, double(y)));
        *at = mixed(*at, colour, alpha_of(covered / kParts));
    }
}

void StrokeRaster::stroke(std::span<const QPointF> points, double width, QRgb colour) {
    const double half = width / 2;
    for (std::size_t i = 1; i < points.size(); ++i) {
        add_segment(points[i - 1], points[i], half);
        if (i + 1 == points.size())
            break;
        const QPointF in = points[i] - points[i - 1], out = points[i + 1] - points[i];
        if (half > kThin && QPointF::dotProduct(in, out) < kSharp * length_of(in) * length_of(out))
            add_disc(points[i], half);
    }
    flush(colour);
}

void StrokeRaster::dashes(std::span<const QPointF> points, double width, const Dash& dash, QRgb colour) {
    const double period = dash.on + dash.off;
    double at = std::fmod(dash.phase, period);
    at += at < 0 ? period : 0;
    piece_.clear();
    for (std::size_t i = 1; i < points.size(); ++i) {
        const QPointF step = points[i] - points[i - 1];
        const double length = length_of(step);
        if (piece_.empty() && at < dash.on)
            piece_.push_back(points[i - 1]);
        for (double done = 0; done < length;) {
            const double to_edge = (at < dash.on ? dash.on : period) - at;
            const double go = std::min(to_edge, length - done);
            done = go < to_edge ? length : done + go;
            at += go;
            if (!piece_.empty())
                piece_.push_back(done < length ? points[i - 1] + step * (done / length) : points[i]);
            if (go < to_edge)
                break;
            if (!piece_.empty())
                stroke(piece_, width, colour);
            piece_.clear();
            if (at >= period) {  // the hole is over
                at = 0;
                piece_.push_back(points[i - 1] + step * std::min(1.0, done / length));
            }
        }
    }
    stroke(piece_, width, colour);
}

void StrokeRaster::dot(const QPointF& at, double radius, QRgb colour) {
    add_disc(at, radius);
    flush(colour);
}

void StrokeRaster::column(int x, double top, double bottom, QRgb colour) {
    if (x < clip_.left() || x > clip_.right() || !(top < bottom))
        return;
    const int first = whole(std::floor(top)), last = whole(std::ceil(bottom)) - 1;
    const auto edge = [&](int y, double covered) {
        if (y >= clip_.top() && y <= clip_.bottom())
            *pixel(x, y) = mixed(*pixel(x, y), colour, alpha_of(covered));
    };
    edge(first, std::min(bottom, first + 1.0) - top);
    if (last == first)
        return;
    edge(last, bottom - last);
    const int begin = std::max(clip_.top(), first + 1), end = std::min(clip_.bottom() + 1, last);
    QRgb* at = begin < end ? pixel(x, begin) : nullptr;
    for (int y = begin; y < end; ++y, at += stride_)
        *at = colour;
}

void StrokeRaster::tint_under(std::span<const QPointF> points, double bottom, QRgb colour, unsigned alpha) {
    if (points.size() < 2)
        return;
    const int left = std::max(clip_.left(), whole(std::ceil(points.front().x() - 0.5)));
    const int right = std::min(clip_.right(), whole(std::floor(points.back().x() - 0.5)));
    tops_.clear();
    std::size_t next = 1;
    for (int x = left; x <= right; ++x) {
        const double middle = x + 0.5;
        while (next + 1 < points.size() && points[next].x() < middle)
            ++next;
        const QPointF &from = points[next - 1], &to = points[next];
        const double width = to.x() - from.x();
        const double share = width > kUpright ? std::clamp((middle - from.x()) / width, 0.0, 1.0) : 1;
        tops_.push_back(from.y() + share * (to.y() - from.y()));
    }
    tint_columns(left, tops_, bottom, colour, alpha);
}

void StrokeRaster::tint_columns(int left, std::span<const double> tops, double bottom, QRgb colour, unsigned alpha) {
    const int end = std::min(clip_.bottom() + 1, whole(std::floor(bottom)));
    const int begin_x = std::max(left, clip_.left());
    const int end_x = std::min(left + static_cast<int>(tops.size()), clip_.right() + 1);
    const auto top_of = [&](int x) { return tops[static_cast<std::size_t>(x - left)]; };
    int highest = end;
    first_rows_.assign(tops.size(), end);
    for (int x = begin_x; x < end_x; ++x) {
        if (std::isnan(top_of(x)))
            continue;
        const int edge = whole(std::floor(top_of(x)));  // covered in part
        if (edge >= clip_.top() && edge < end)
            *pixel(x, edge) = mixed(*pixel(x, edge), colour, alpha_of(alpha / 255.0 * (edge + 1 - top_of(x))));
        first_rows_[static_cast<std::size_t>(x - left)] = std::max(edge + 1, clip_.top());
        highest = std::min(highest, std::max(edge + 1, clip_.top()));
    }
    const auto first_row_of = [&](int x) { return first_rows_[static_cast<std::size_t>(x - left)]; };
    // Row by row, as the image lies in memory. Most of what lies there has one colour: the ground's.
    QRgb before = 0, after = mixed(before, colour, alpha);
    for (int y = highest; y < end; ++y) {
        QRgb* const row = pixel(0, y);
        for (int x = begin_x; x < end_x; ++x) {
            if (first_row_of(x) > y)
                continue;
            if (row[x] != before) {
                before = row[x];
                after = mixed(before, colour, alpha);
            }
            row[x] = after;
        }
    }
}

}  // namespace egpu::ui
