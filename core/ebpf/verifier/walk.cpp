// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/walk.hpp"

#include <algorithm>
#include <iterator>

#include "ebpf/verifier/refuse.hpp"

namespace egpu::ebpf {

Walk::Walk(const Object& object, const Program& program, const VerifierOptions& options, const Flow& flow,
           const KnownPlaces& known, Observer* observer)
    : object_(object),
      program_(program),
      options_(options),
      flow_(flow),
      context_(context_of(program.point.event)),
      asks_lanes_(std::ranges::any_of(program.instructions,
                                      [](const Instruction& i) {
                                          const Helper* called = called_helper(i);
                                          return called != nullptr && called->asks_lanes();
                                      })),
      known_(known),
      observer_(observer),
      explored_(program.instructions.size()),
      log_(object, program, context_, options.keep_walk) {}

std::uint32_t Walk::limit() const {
    if (options_.instruction_limit != 0)
        return options_.instruction_limit;
    const Event event = program_.point.event;
    return event == Event::kernel_entry || event == Event::kernel_exit ? 4096 : 512;
}

Result<Verification> Walk::run() {
    State start;
    start.frames.emplace_back();
    start.set(1, Value::pointer(Kind::context));
    refused_state_ = start;
    pending_.push_back({std::move(start), Explored::kNone});
    Verdict refusal;
    while (!refusal && !pending_.empty()) {
        Pending path = std::move(pending_.back());
        pending_.pop_back();
        refusal = follow(std::move(path));
    }
    if (!refusal)
        refusal = check_total_stack(found_.stack_bytes);
    log_.end(steps_, explored_.peak());
    if (refusal) {
        Diagnostic diagnostic = to_diagnostic(*refusal, scene(refused_state_));
        if (options_.keep_walk)
            diagnostic.detail += "\n" + log_.take();
        return diagnostic;
    }
    for (auto& [at, note] : noted_additions_)
        if (note)
            keep_note(std::move(*note));
    const Cost worst = explored_.worst();
    found_.worst_instructions = worst.instructions;
    found_.worst_lookups = worst.lookups;
    found_.worst_atomics = worst.atomics;
    found_.dynamic_lookups.assign(dynamic_lookups_.begin(), dynamic_lookups_.end());
    found_.walk = log_.take();
    return std::move(found_);
}

KnownPlaces Walk::missed() const {
    KnownPlaces missed{{}, contested_};
    std::set_intersection(static_places_.begin(), static_places_.end(), dynamic_places_.begin(), dynamic_places_.end(),
                          std::inserter(missed.searched, missed.searched.end()));
    return missed;
}

/// False where the present instruction named another element earlier on this path.
bool Walk::names_same(State& state, std::uint64_t element) {
    const std::uint64_t place = state.place();
    if (known_.contested.contains(place))
        return state.visit(element);
    if (elements_.emplace(place, element).first->second != element)
        contested_.insert(place);
    return true;
}

/// One path to its end; the other sides of its branches wait in pending_.
Verdict Walk::follow(Pending path) {
    State& state = path.state;
    Explored::Node node = path.node;
    log_.begin_path(state, node == Explored::kNone ? state.at : path.state.came_from);
    bool ended = false;
    while (!ended) {
        if (effort() > options_.walk_limit) {
            refused_state_ = state;
            return too_complex(options_.walk_limit);
        }
        Verdict refusal = arrive(state, node, ended);
        if (!refusal && !ended)
            refusal = step(state, node, ended);
        if (refusal) {
            refused_state_ = std::move(state);
            return refusal;
        }
    }
    return std::nullopt;
}

/// True where a place that names an element of a map may be passed twice from here on.
bool Walk::names_again(const State& state) const {
    bool again = flow_.names_again[state.at] != 0;
    for (std::size_t i = 1; i < state.frames.size(); ++i)
        again = again || flow_.names_again[state.frames[i].return_to] != 0;
    return again;
}

Verdict Walk::arrive(State& state, Explored::Node& node, bool& ended) {
    state.close(state.at);
    if (node != Explored::kNone && !flow_.is_meeting[state.at])
        return std::nullopt;
    for (std::size_t i = 0; i + 1 < state.frames.size(); ++i)
        state.forget_dead(i, static_cast<std::uint16_t>(flow_.live[state.frames[i + 1].return_to] & 0x3c0));
    state.forget_dead(state.frames.size() - 1, flow_.live[state.at]);
    state.forget_fields(flow_.live_fields[state.at]);
    state.drop_single_links();
    const Explored::Arrival arrival = explored_.arrive(state, node, names_again(state));
    if (arrival.outcome == Explored::Outcome::fresh) {
        node = arrival.node;
        return std::nullopt;
    }
    if (arrival.outcome == Explored::Outcome::endless) {
        const std::uint32_t back = flow_.back_edge[state.at];
        return endless_loop(back == Flow::kFunctionEnd ? state.at : place_of_loop(program_, state.at, back));
    }
    log_.covered(state);
    const Cost total = state.cost + arrival.remaining;
    if (auto refusal = check_total(state, total, node))
        return refusal;
    explored_.finish(node, total);
    ended = true;
    return std::nullopt;
}

Verdict Walk::pay(State& state, const Cost& cost, Explored::Node node) {
    if (observer_ != nullptr && !observer_->costs(state.at))
        return std::nullopt;
    state.cost = state.cost + cost;
    return check_total(state, state.cost, node);
}

/// Over the limit in a loop, the loop is the reason.
Verdict Walk::check_total(const State& state, const Cost& total, Explored::Node node) const {
    if (total.instructions <= limit())
        return std::nullopt;
    auto loop = explored_.loop_of(node, flow_);
    if (loop)
        loop->start = place_of_loop(program_, loop->start, flow_.back_edge[loop->start]);
    return check_budget(scene(state), total.instructions, limit(), loop);
}

Diagnostic Walk::warning(const State& state, const Refusal& note) const {
    Diagnostic diagnostic = to_diagnostic(note, scene(state));
    diagnostic.severity = Severity::warning;
    diagnostic.detail.clear();
    return diagnostic;
}

/// Once for each line of the source, however many copies of it the compiler makes.
void Walk::keep_note(Diagnostic note) {
    const Location& where = note.where;
    if (where.line == 0 || noted_lines_.emplace(note.code, where.file, where.line).second)
        found_.notes.push_back(std::move(note));
}

/// Once for each instruction, however often it is passed.
void Walk::note(const State& state, const std::optional<Refusal>& note) {
    if (note && noted_.emplace(state.at, note->code).second)
        keep_note(warning(state, *note));
}

/// Of an addition that every lane does: said where that holds of all paths that come there.
void Walk::note_addition(const State& state, const std::optional<Refusal>& note) {
    const auto known = noted_additions_.find(state.at);
    if (!note)
        noted_additions_[state.at] = std::nullopt;
    else if (known == noted_additions_.end())
        noted_additions_.emplace(state.at, warning(state, *note));
}

Verdict Walk::step(State& state, Explored::Node node, bool& ended) {
    ++steps_;
    if (observer_ != nullptr)
        if (auto refusal = observer_->before_step(state))
            return refusal;
    if (auto refusal = pay(state, {1, 0, 0}, node))
        return refusal;
    std::optional<State> before;
    if (options_.keep_walk)
        before = state;
    Verdict refusal = execute(state, node, ended);
    if (!refusal && observer_ != nullptr)
        refusal = observer_->after_step(state);
    if (before)
        log_.step(*before, refusal ? *before : state);
    return refusal;
}

Verdict Walk::execute(State& state, Explored::Node node, bool& ended) {
    const Instruction& i = program_.instructions[state.at];
    if (is_alu(i))
        return step_arithmetic(state);
    if (class_of(i) == kClassLd)
        return step_immediate64(state);
    if (class_of(i) == kClassLdx)
        return step_load(state);
    if (class_of(i) == kClassSt || class_of(i) == kClassStx)
        return mode_of(i) == kModeAtomic ? step_atomic(state) : step_store(state);
    if (i.opcode == kExit)
        return step_exit(state, node, ended);
    if (is_local_call(i))
        return step_local_call(state);
    if (i.opcode == kCall)
        return step_helper(state, node);
    if (!is_goto(i))
        return step_branch(state, node);
    state.at = target_of(i, state.at);
    return std::nullopt;
}

}  // namespace egpu::ebpf
