// SPDX-License-Identifier: Apache-2.0
// Decodes one function: walks its statements, resolves names, emits instructions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.hpp"
#include "gpu/simulated/executor/decoder/builder.hpp"
#include "gpu/simulated/executor/decoder/matrix_shapes.hpp"
#include "gpu/simulated/executor/decoder/names.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {

class FunctionDecoder {
public:
    FunctionDecoder(Builder& builder, const ptx::Function& function, bool is_kernel)
        : builder_(builder), function_(function), is_kernel_(is_kernel) {}

    /// Decodes into `code`. What was wrong, if anything; `unsupported` tells a missing feature from malformed text.
    std::optional<Diagnostic> decode(FunctionCode& code);
    std::uint32_t registers() const { return layout_.registers(); }
    /// First parts of all opcodes that are decoded.
    static std::vector<std::string_view> opcodes();

private:
    struct Entry;
    static std::span<const Entry> entries();  // dispatch.cpp

    // function_decoder.cpp: statements and operands
    void declare_parameters(FunctionCode& code);
    void declare(const ptx::Variable& variable);
    void declare_register(const ptx::Variable& variable);
    void predeclare(const ptx::Scope& scope);
    void walk(const ptx::Scope& scope, unsigned depth);
    void note_origin(std::size_t begin);
    void finish_branches();
    void decode_instruction(const ptx::Instruction& instruction);

    /// Errors: the first one is kept, and everything after it is skipped.
    void fail(std::string_view code, std::string message, std::string hint = {});
    void missing(std::string what);  ///< "the simulated GPU has not got ..."
    void malformed(std::string message);
    bool failed() const { return problem_.has_value(); }

    Instruction begin() const;  ///< an instruction with line and guard of the current one
    std::uint32_t emit(const Instruction& instruction);

    const Symbol* symbol(std::string_view name) { return names_.find(name, layout_); }
    const Symbol* register_of(const ptx::Operand& operand);
    /// The row of a source of a type; registers, immediates, special registers, addresses of variables.
    Place source(const ptx::Operand& operand, Type type);
    Place predicate(const ptx::Operand& operand, bool& negated);
    Place source_register(const Symbol& found, const ptx::Operand& operand, Type type);
    std::optional<Place> special_register(std::string_view name, Type type);
    Place dynamic_register(std::string_view name, bool wide_wanted, bool wide);
    Place immediate(const ptx::Operand& operand, Type type);
    std::optional<std::uint64_t> address_value(std::string_view name, std::int64_t offset);
    Place variable_address(std::string_view name, std::int64_t offset, Type type);
    Place narrowed(Place place, bool from_wide, bool to_wide, bool sign);

    /// Where a result of a type goes. Where the register is wider than the type, a temporary, and `finish` extends it.
    struct Target {
        Place place;
        bool extend = false;
        bool sign = false;
        Place final_place;
    };
    Target target(const ptx::Operand& operand, Type type);
    void finish(const Target& target);
    Place predicate_target(const ptx::Operand& operand);

    bool want(std::size_t least, std::size_t most);  ///< operands

    // elementwise.cpp
    void decode_form(const Form& form);
    void decode_set();
    void choose(Place destination, std::uint32_t value, Place condition);
    // move.cpp
    void decode_move();
    void decode_pack(const ptx::Operand& destination, const ptx::Operand& vector, Type type);
    void decode_unpack(const ptx::Operand& vector, const ptx::Operand& source_operand, Type type);
    void decode_cvta();
    void decode_is_space();
    // memory.cpp
    struct Address {
        Place base;
        bool wide = true;
        bool frame_relative = false;
        std::int64_t offset = 0;
    };
    std::optional<AddressSpace> take_space(Parts& parts);
    std::optional<Address> address(const ptx::Operand& operand, AddressSpace& space);
    void decode_load_store(bool is_store);
    bool vector_rows(const std::vector<const ptx::Operand*>& elements, Type type, bool is_store, bool& wide,
                     std::vector<Place>& places, std::vector<Target>& targets);
    void decode_atomic(bool is_reduction);
    void set_address(Instruction& instruction, const Address& address, AddressSpace space);
    bool take_policy(bool announced, std::size_t& next);
    // mbarrier.cpp
    Place generic_address(const ptx::Operand& operand, AddressSpace space);
    AddressSpace take_object_space(Parts& parts);
    void decode_mbarrier();
    void decode_mbarrier_change(Parts& parts, std::string_view action, AddressSpace space);
    void decode_arrive(Parts& parts, bool drops, AddressSpace space);
    void decode_mbarrier_wait(Parts& parts, bool tries, AddressSpace space);
    void decode_pending_count(const Parts& parts);
    void decode_cluster_barrier(Parts& parts);
    void decode_map_address();
    // async.cpp
    void decode_async_copy();
    bool decode_copy_groups(Parts& parts, bool bulk);
    void decode_copies_arrive(Parts& parts);
    void decode_copy(Parts& parts);
    bool take_bulk_spaces(Parts& parts, AddressSpace& to, AddressSpace& from);
    void decode_bulk(Parts& parts, bool reduces);
    void decode_bulk_prefetch(Parts& parts);
    void decode_async_store(bool reduces);
    // matrix.cpp
    Instruction begin_matrix(Handler handler) const;
    bool take_fragment(const ptx::Operand& operand, MatrixElement element, unsigned count, bool written,
                       std::vector<Place>& places);
    std::uint32_t add_matrix(const MatrixForm& form);
    void take_matrix_modifiers(Parts& parts, MatrixForm& form);
    void finish_multiply(const MatrixForm& form);
    static bool tile_of(std::string_view which, MatrixShape shape, MatrixElement element, MatrixForm& tile);
    void decode_mma();
    void decode_wmma();
    void decode_wmma_multiply(Parts& parts);
    void decode_wmma_move(Parts& parts, bool loads);
    void decode_row_matrices(bool loads);
    void decode_transpose();
    // image.cpp
    std::optional<Geometry> take_geometry(Parts& parts);
    bool take_object(const ptx::Operand& operand, const ImageForm& form, bool whole, std::vector<Place>& places);
    bool finish_image(Parts& parts, std::size_t operands);
    void emit_image(Instruction& instruction, const ImageForm& form, const std::vector<Place>& places);
    void decode_fetch();
    bool take_level(std::string_view level, const ImageForm& form);
    void decode_surface_access(bool is_store);
    void decode_surface_reduction();
    void decode_image_query(bool of_surface);
    // hints.cpp
    bool form_is_known(const Parts& parts, bool known, std::size_t least, std::size_t most);
    void decode_fence();
    void decode_prefetch();
    void decode_create_policy();
    void decode_grid_dependency();
    void decode_register_count();
    void decode_sleep();
    // control.cpp
    void decode_branch();
    void decode_branch_indexed();
    void decode_call();
    void decode_leave(Control control);
    void decode_barrier();
    void decode_simple(Control control, std::uint16_t price);
    Passed passed(const ptx::Operand& operand);
    std::optional<std::uint32_t> label_of(const ptx::Operand& operand);
    // collective.cpp
    void decode_collective();
    void decode_shuffle(Parts& parts);
    void decode_vote(Parts& parts);
    void decode_match(Parts& parts);
    void decode_reduction(Parts& parts);
    void decode_elect(Parts& parts);
    void decode_activemask(Parts& parts);
    void finish_collective(Instruction& instruction, const Parts& parts, const ptx::Operand* members);

    Builder& builder_;
    const ptx::Function& function_;
    const bool is_kernel_;
    Names names_;
    FrameLayout layout_;
    const ptx::Instruction* current_ = nullptr;
    Place guard_;
    bool guard_negated_ = false;
    std::vector<std::uint32_t> labels_;    ///< label number -> pc
    std::vector<std::uint32_t> branches_;  ///< instructions whose target is a label number
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        tables_;  ///< branch_targets [first, count) that are label numbers
    std::optional<Diagnostic> problem_;
};

/// Handlers that decoding adds of its own.
Handler copy_handler(Type type);
/// From rows of 32 to 64 bits (or back), the value sign-extended where asked.
Handler resize_handler(bool from_wide, bool to_wide, bool sign);

}  // namespace egpu::simulated
