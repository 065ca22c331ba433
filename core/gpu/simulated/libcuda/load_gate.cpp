// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/libcuda/load_gate.hpp"

#include <cstdlib>
#include <cstring>

namespace egpu::simulated {

bool LoadGate::is_strict() {
    static const bool strict = [] {
        const char* const text = std::getenv("EGPU_SIMULATED_STRICT_LOADS");
        return text != nullptr && std::strcmp(text, "1") == 0;
    }();
    return strict;
}

LoadGate::Work::Work(LoadGate& gate) : gate_(is_strict() ? &gate : nullptr) {
    if (gate_ != nullptr) {
        std::unique_lock lock(gate_->mutex_);
        gate_->changed_.wait(lock, [&] { return gate_->loads_ == 0; });
        ++gate_->working_;
    }
}

LoadGate::Work::~Work() {
    if (gate_ != nullptr) {
        const std::lock_guard lock(gate_->mutex_);
        --gate_->working_;
        gate_->changed_.notify_all();
    }
}

LoadGate::Load::Load(LoadGate& gate) : gate_(is_strict() ? &gate : nullptr) {
    if (gate_ != nullptr) {
        std::unique_lock lock(gate_->mutex_);
        ++gate_->loads_;
        gate_->changed_.wait(lock, [&] { return gate_->working_ == 0 && !gate_->loading_; });
        gate_->loading_ = true;
    }
}

LoadGate::Load::~Load() {
    if (gate_ != nullptr) {
        const std::lock_guard lock(gate_->mutex_);
        gate_->loading_ = false;
        --gate_->loads_;
        gate_->changed_.notify_all();
    }
}

}  // namespace egpu::simulated
