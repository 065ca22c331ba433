// SPDX-License-Identifier: Apache-2.0
// Texture and surface instructions (PTX ISA 9.0, sections 9.7.10 and 9.7.11) on objects that registers name: tex, tld4,
// txq, suld.b, sust.b, sured.b, suq. Their form (machine/image_form.hpp) is at Instruction::target.
//
// An instruction whose geometry is not the resource's is undefined on a GPU. Here a resource is width x height x slices
// to all of them: coordinates that the instruction has not are 0, those that the resource has not go through the
// address mode (of surfaces: the boundary check) of an axis of one texel, layers and faces are clamped to the slices
// there are.
#pragma once

#include <memory>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/operations/sample.hpp"

namespace egpu::simulated {

/// tex: Control::none handlers, each lane on its own.
Handler fetch_handler();
/// tld4.
Handler gather_handler();
/// suld.b, sust.b. `wide`: registers of 64 bits.
Handler surface_load_handler(bool wide);
Handler surface_store_handler(bool wide);
/// sured.b: Instruction::element combines.
Handler surface_reduce_handler(bool wide);
/// txq, suq.
Handler image_query_handler(bool of_surface);

/// The objects of an instruction's lanes, looked up once where neighbours have the same.
class ViewOfLane {
public:
    ViewOfLane(Context& context, bool of_surface) : context_(context), of_surface_(of_surface) {}
    /// The object and its memory; null (and a fault) where the handle names none of the kind, or its memory is gone.
    const ImageView* find(std::uint64_t handle, unsigned lane);
    const ImageObject& object() const { return *object_; }

private:
    Context& context_;
    const bool of_surface_;
    std::uint64_t handle_ = 0;
    std::shared_ptr<const ImageObject> object_;
    ImageView view_;
};

/// The registers of an image instruction, by their order.
struct ImageRows {
    const ImageForm& form;
    const Place* places;

    ImageRows(const Context& context, const Instruction& instruction)
        : form(context.program->images[instruction.target]),
          places(context.program->places.data() + instruction.list) {}
    Place object() const { return places[0]; }
    Place coordinate(unsigned index) const { return places[1 + index]; }
    Place value(unsigned index) const { return places[1 + form.geometry.coordinates() + index]; }
};

}  // namespace egpu::simulated
