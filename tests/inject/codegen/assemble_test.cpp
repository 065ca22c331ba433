// SPDX-License-Identifier: Apache-2.0
// Every text is PTX: ptxas takes it for old and new targets. Skipped, with the reason, where there is no ptxas.
#include <gmock/gmock.h>

#include "every_helper.hpp"
#include "inject/codegen/grids.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::inject::testing {
namespace {

struct Machine {
    std::uint32_t target;      ///< .target of the text
    const char* architecture;  ///< what ptxas compiles for
    bool specific = false;     ///< .target sm_90a rather than sm_90
};
constexpr Machine kMachines[] = {{60, "sm_75"}, {70, "sm_75"},        {75, "sm_75"},  {80, "sm_80"},
                                 {90, "sm_90"}, {90, "sm_90a", true}, {100, "sm_100"}};

class Assemble : public ::testing::Test {
protected:
    void SetUp() override {
        ptxas_ = find_ptxas();
        if (!ptxas_)
            GTEST_SKIP() << "no ptxas: set EGPU_PTXAS or install one";
    }

    /// Puts a module's kernel beside those of the same target and version: one ptxas for all of them (TearDown).
    void accept(std::string text, const char* architecture, const std::string& what) {
        constexpr std::string_view kHead = ".address_size 64\n";
        const auto head = text.find(kHead) + kHead.size();
        auto& batch = batches_[{architecture, text.substr(0, head)}];
        text = fmt::format("// {}\n", what) + text.substr(head);
        for (const std::string_view name : {"harness", "egpu_table"})
            for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + name.size()))
                text.insert(at + name.size(), fmt::format("_{}_", batch.size()));
        batch.push_back(std::move(text));
    }

    void TearDown() override {
        for (const auto& [target, kernels] : batches_) {
            std::string text = target.second;
            for (const auto& kernel : kernels)
                text += kernel;
            CompileOptions options;
            options.architecture = target.first;
            const auto compiled = compile_ptx(*ptxas_, text, "harness_0_", options);
            EXPECT_TRUE(compiled) << (compiled ? "" : to_text(compiled.error())) << numbered(text);
        }
    }

    static std::string numbered(const std::string& text) {
        std::string out;
        int line = 0;
        for (std::size_t at = 0; at < text.size();) {
            const auto end = text.find('\n', at);
            out += fmt::format("{:5} {}\n", ++line, text.substr(at, end - at));
            at = end == std::string::npos ? text.size() : end + 1;
        }
        return out;
    }

    /// The program at an unguarded and a guarded site, for each target.
    template <typename Adapt>
    void accept_everywhere(const Object& object, const std::string& what, Adapt adapt, bool after = false) {
        for (const auto& machine : kMachines) {
            for (const bool guarded : {false, true}) {
                Harness harness(object, machine.target);
                if (guarded)
                    harness.site.guard = "%p1";
                if (machine.specific)
                    harness.function.require_version(8, 0);
                adapt(harness);
                const auto probe = harness.emit(object);
                ASSERT_TRUE(probe) << what << to_text(probe.error());
                std::string text = harness.module(*probe, after);
                if (machine.specific)
                    text.insert(text.find('\n', text.find(".target")), "a");
                accept(text, machine.architecture,
                       fmt::format("{} {} {}", what, machine.architecture, guarded ? "guarded" : "unguarded"));
            }
        }
    }
    void accept_everywhere(const Object& object, const std::string& what) {
        accept_everywhere(object, what, [](Harness&) {});
    }

    std::optional<std::string> ptxas_;
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> batches_;  ///< by architecture and header
};

TEST_F(Assemble, BundledPrograms) {
    for (const char* name : {"bandwidth", "coalescing"}) {
        const Object object = bundled(name);
        accept_everywhere(object, name);
        accept_everywhere(object, std::string(name) + " with accumulators", [](Harness& harness) {
            harness.keep({{0, 0, 0}, {0, 0, 8}, {0, 0, 16}});
        });
    }
    const Object latency = bundled("latency");
    accept_everywhere(
        latency, "latency", [](Harness& harness) { harness.site.latency = "%rd5"; }, true);
}

TEST_F(Assemble, EveryAluOperation) {
    std::string body;
    for (const char* operation :
         {"add", "sub", "mul", "div", "sdiv", "or", "and", "lsh", "rsh", "mod", "smod", "xor", "arsh"})
        for (const char* width : {"", "32"})
            for (const char* operand : {"%r7", "3", "-1", "0"})
                body += fmt::format("{}{} %r0, {}\n", operation, width, operand);
    for (const char* unary :
         {"neg", "neg32", "le16", "le32", "le64", "be16", "be32", "be64", "bswap16", "bswap32", "bswap64"})
        body += fmt::format("{} %r0\n", unary);
    for (const char* move : {"mov", "mov32", "movsx832", "movsx1632", "movsx864", "movsx1664", "movsx3264"})
        body += fmt::format("{} %r0, %r7\nadd %r0, %r6\n", move);
    // Known first operands.
    body +=
        "mov %r3, 5\nlsh %r3, %r7\nxor %r0, %r3\nmov %r3, 5\nsub %r3, %r7\nxor %r0, %r3\nmov %r3, 5\ndiv %r3, %r7\n"
        "xor %r0, %r3\nmov32 %r3, -5\nrsh32 %r3, %r7\nxor %r0, %r3\n";
    accept_everywhere(assembled(storing(body)), "alu");
}

TEST_F(Assemble, EveryJump) {
    std::string body;
    int label = 0;
    for (const char* operation : {"jeq", "jgt", "jge", "jset", "jne", "jsgt", "jsge", "jlt", "jle", "jslt", "jsle"})
        for (const char* width : {"", "32"})
            for (const char* operand : {"%r7", "3", "-1"}) {
                body += fmt::format("{}{} %r0, {}, l{}\nadd %r0, 3\nl{}:\n", operation, width, operand, label, label);
                ++label;
            }
    body += "again:\nadd %r0, 1\nmul %r7, 3\njlt %r7, 50, again\n";
    accept_everywhere(assembled(storing(body)), "jumps");
}

TEST_F(Assemble, EveryAtomic) {
    std::string body;
    for (const char* width : {"", "32"}) {
        for (const char* operation : {"add", "or", "and", "xor"})
            body += fmt::format("lock {}{} [%r8+8], %r7\nlock fetch {}{} [%r8+8], %r7\nxor %r0, %r7\n", operation,
                                width, operation, width);
        body += fmt::format("lock xchg{} [%r8+16], %r7\nxor %r0, %r7\nlock cmpxchg{} [%r8+16], %r7\n", width, width);
    }
    body += "mov %r3, 9\nlock add [%r8+24], %r3\nlock add32 [%r8+32], %r3\nlock or [%r8+24], %r3\n";
    accept_everywhere(assembled(storing(body)), "atomics on a map");
    for (std::size_t at = body.find("%r8"); at != std::string::npos; at = body.find("%r8"))
        body.replace(at, 3, "%r5");
    accept_everywhere(assembled(storing("mov %r5, %r10\nadd %r5, -64\nstxdw [%r5+8], %r7\nstxdw [%r5+16], %r7\n"
                                        "stxdw [%r5+24], %r7\nstxdw [%r5+32], %r7\n" +
                                        body)),
                      "atomics on the stack");
}

TEST_F(Assemble, LoadsAndStores) {
    std::string body;
    for (const char* size : {"b", "h", "w", "dw"})
        body +=
            fmt::format("stx{} [%r8+8], %r7\nst{} [%r8+16], 5\nldx{} %r1, [%r8+24]\nadd %r0, %r1\n", size, size, size);
    for (const char* size : {"b", "h", "w"})
        body += fmt::format("ldxs{} %r1, [%r8+24]\nadd %r0, %r1\n", size);
    accept_everywhere(assembled(storing(body)), "map values");
    // Slots: whole registers, mixed sizes in memory, an index known at run time.
    std::string stack =
        "stxdw [%r10-16], %r7\nldxdw %r1, [%r10-16]\nadd %r0, %r1\nstxw [%r10-24], %r7\n"
        "ldxsw %r1, [%r10-24]\nadd %r0, %r1\nstxdw [%r10-32], %r7\nldxh %r1, [%r10-30]\nadd %r0, %r1\n"
        "ldxsb %r1, [%r10-31]\nadd %r0, %r1\n";
    accept_everywhere(assembled(storing(stack)), "stack");
    stack +=
        "mov %r3, %r10\nadd %r3, -16\nmov %r4, %r7\nand %r4, 8\nadd %r3, %r4\nldxdw %r1, [%r3+0]\nadd %r0, %r1\n"
        "stxdw [%r3+0], %r7\nldxdw %r1, [%r3-16]\nadd %r0, %r1\nstxw [%r3-8], %r7\n";
    accept_everywhere(assembled(storing(stack)), "stack at run-time offsets");
    accept_everywhere(assembled(storing("mov %r3, %r8\nand %r7, 8\nadd %r3, %r7\nadd %r3, 16\nldxdw %r1, [%r3-8]\n"
                                        "add %r0, %r1\nlock add [%r3-16], %r1\nstxw [%r3-4], %r1\n")),
                      "map at run-time offsets");
}

TEST_F(Assemble, EveryField) {
    for (const char* section : {"gpu/mem", "gpu.warp/mem"}) {
        std::string body;
        for (const auto& field : context_fields()) {
            if (!field.in_mem_context || field.name == "device" || field.variability == Variability::site)
                continue;
            body += fmt::format("ldx{} %r1, [%r9+{}]\nadd %r0, %r1\n", field.bytes == 8 ? "dw" : "w", field.offset);
        }
        body += "ldxb %r1, [%r9+105]\nadd %r0, %r1\nldxsh %r1, [%r9+106]\nadd %r0, %r1\n";
        const Object object = assembled(storing(body), section);
        accept_everywhere(object, section, [](Harness& harness) { harness.site.latency = "%rd5"; });
        for (const Space space : {Space::shared, Space::local, Space::constant, Space::generic})
            accept_everywhere(object, std::string(section) + " " + to_name(space), [&](Harness& harness) {
                harness.site.latency = "%rd5";
                harness.site.space = space;
                if (space == Space::shared)
                    harness.site.address_base = "%r4", harness.site.address_bits = 32;
                if (space == Space::constant)
                    harness.site.address_base = "";
            });
    }
}

/// What finds a launch's first and last thread, and a program that one of them runs.
TEST_F(Assemble, OnceAGrid) {
    const Object object = assembled(storing("ldxdw %r1, [%r9+88]\nadd %r0, %r1\n"), "gpu.grid/kernel_exit");
    for (const auto& machine : kMachines) {
        Harness harness(object, machine.target);
        harness.site.guard = kGridThread;
        const auto program = harness.emit(object);
        ASSERT_TRUE(program) << to_text(program.error());
        EmittedProbe both;
        both.text = "\t{\n" + grid_declarations() + emit_grid_arrival(harness.function).text +
                    emit_grid_arrived(harness.function).text + "\t}\n\t{\n" + grid_declarations() +
                    emit_grid_departure(harness.function).text + program->text + "\t}\n";
        accept(harness.module(both), machine.architecture, fmt::format("once a grid, sm_{}", machine.target));
    }
}

TEST_F(Assemble, GenericSpaceAtRunTime) {
    const Object object = assembled(storing("ldxw %r1, [%r9+88]\nadd %r0, %r1\n"));
    accept_everywhere(object, "space", [](Harness& harness) { harness.site.space = Space::generic; });
}

TEST_F(Assemble, EveryHelper) {
    for (const Helper& row : every_helper())
        for (const HelperUse& use : uses_of(row))
            accept_everywhere(assembled(use_of(row, use)), std::string(row.name),
                              [](Harness& harness) { supply(harness.site); });
}

TEST_F(Assemble, ArraysAtARunTimeIndex) {
    for (const std::uint32_t map : {0u, 2u})
        accept_everywhere(
            assembled(storing("stxw [%r10-12], %r7\nmov %r2, %r10\nadd %r2, -12\nlddw %r1, " + map_address(map) +
                              "\ncall 1\njeq %r0, 0, none\nldxdw %r7, [%r0+8]\nlock add [%r0+16], %r7\nnone:\n"
                              "mov %r0, %r7\n")),
            "array at a run-time index");
}

TEST_F(Assemble, HashesByKeysOfRunTime) {
    for (const std::uint32_t key_bytes : {4u, 8u, 12u, 20u})
        for (const char* call :
             {"call 1", "call 0x10003", "mov %r4, 0\ncall 2", "mov %r4, 1\ncall 2", "mov %r4, 2\ncall 2"}) {
            std::string body;
            for (int word = 0; word < 8; ++word)
                body += fmt::format("stxdw [%r10-{}], %r7\n", 72 - word * 8);
            body += "mov %r2, %r10\nadd %r2, -32\nmov %r3, %r10\nadd %r3, -72\nlddw %r1, " + map_address(1) + "\n" +
                    call + "\n";
            Object object = assembled(storing(body));
            object.maps[1].key_bytes = key_bytes;
            object.maps[1].keys_at_run_time = true;
            accept_everywhere(object, fmt::format("hash, keys of {} bytes", key_bytes));
        }
}

TEST_F(Assemble, Update) {
    for (const bool known : {false, true}) {
        std::string body;
        for (int word = 0; word < 8; ++word)
            body += fmt::format("stxdw [%r10-{}], %r7\n", 72 - word * 8);
        body += known ? "stw [%r10-8], 3\n" : "stxw [%r10-8], %r7\n";
        body += "mov %r2, %r10\nadd %r2, -8\nmov %r3, %r10\nadd %r3, -72\nmov %r4, 0\nlddw %r1, " + map_address(2) +
                "\ncall 2\n";
        const Object object = assembled(storing(body));
        accept_everywhere(object, "update");
        Harness harness(object);
        harness.site.guard = "%p1";
        ASSERT_TRUE(harness.emit(object));
    }
}

TEST_F(Assemble, MovedValues) {
    struct Moved {
        const char* type;
        std::vector<std::string> registers;
        std::uint32_t register_bits;
    };
    const Moved moved[] = {{"f32", {"%f1"}, 0},  {"f32", {"%f1", "%f2"}, 0}, {"f32", {"%f1", "%f2", "%f1", "%f2"}, 0},
                           {"b32", {"%r1"}, 0},  {"u32", {"%rd3"}, 64},      {"u16", {"%rs1"}, 0},
                           {"u8", {"%rs1"}, 0},  {"s8", {"%r1"}, 0},         {"f64", {"%fd1"}, 0},
                           {"u64", {"%rd3"}, 0}, {"u32", {"5"}, 0},          {"u8", {"5"}, 0}};
    for (const auto& value : moved)
        for (const int size : {1, 2, 4, 8, 12, 16}) {
            std::string body = fmt::format(
                "stdw [%r10-24], 0\nstdw [%r10-16], 0\nmov %r1, %r9\nmov %r2, %r10\nadd %r2, -24\n"
                "mov %r3, {}\ncall 0x10004\nldxdw %r1, [%r10-24]\nadd %r0, %r1\n",
                size);
            if (size > 8)
                body += "ldxdw %r1, [%r10-16]\nadd %r0, %r1\n";
            const Object object = assembled(storing(body), "gpu/store");
            Harness harness(object);
            harness.site.access = Access::store;
            harness.site.values = value.registers;
            harness.site.value_type = value.type;
            harness.site.value_register_bits = value.register_bits;
            const auto probe = harness.emit(object);
            ASSERT_TRUE(probe) << to_text(probe.error());
            accept(harness.module(*probe), "sm_75", fmt::format("{} to {} bytes", value.type, size));
        }
}

TEST_F(Assemble, LocalCalls) {
    const Object object = assembled(
        "mov %r9, %r1\nldxw %r1, [%r9+36]\ncall local f\nmov %r6, %r0\nmov %r1, %r0\ncall local f\n"
        "add %r6, %r0\nstw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nstxdw [%r0+0], %r6\nout:\nmov %r0, 0\nexit\n"
        "f:\nmov %r6, %r1\njgt %r6, 9, big\nadd %r6, 1\nbig:\nmov %r0, %r6\nexit\n");
    accept_everywhere(object, "local calls");
}

TEST_F(Assemble, WarpProgramWithBranches) {
    const Object object = assembled(storing("jgt %r7, 3, l\nadd %r0, 5\nl:\n"), "gpu.warp/mem");
    accept_everywhere(object, "warp with branches");
}

}  // namespace
}  // namespace egpu::inject::testing
