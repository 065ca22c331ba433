// SPDX-License-Identifier: Apache-2.0
// mma and its kin: layouts as the figures of PTX ISA 9.0, section 9.7.14.5, have them, register by register.
#include "matrix_kernels.hpp"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <map>
#include <random>

namespace egpu::simulated::test {
namespace {

/// Where a register's first element is, relative to the one of the lane's group and place in it.
struct Block {
    unsigned row, column;
};

struct Mma {
    const char* opcode;
    unsigned m, n, k;
    std::string d, a, b, c;
    std::vector<Block> a_blocks;
    std::vector<unsigned> b_blocks;  ///< along k
};

const std::vector<Block> kOne = {{0, 0}}, kTwo = {{0, 0}, {8, 0}};
std::vector<Block> four(unsigned step) {
    return {{0, 0}, {8, 0}, {0, step}, {8, step}};
}

std::vector<Mma> forms() {
    const std::vector<Block> eight = {{0, 0}, {8, 0}, {0, 4}, {8, 4}, {0, 8}, {8, 8}, {0, 12}, {8, 12}};
    return {
        {"m16n8k8.row.col", 16, 8, 8, "f32", "f16", "f16", "f32", kTwo, {0}},
        {"m16n8k8.row.col", 16, 8, 8, "f16", "f16", "f16", "f16", kTwo, {0}},
        {"m16n8k16.row.col", 16, 8, 16, "f32", "f16", "f16", "f32", four(8), {0, 8}},
        {"m16n8k16.row.col", 16, 8, 16, "f16", "f16", "f16", "f16", four(8), {0, 8}},
        {"m16n8k8.row.col", 16, 8, 8, "f32", "bf16", "bf16", "f32", kTwo, {0}},
        {"m16n8k16.row.col", 16, 8, 16, "f32", "bf16", "bf16", "f32", four(8), {0, 8}},
        {"m16n8k4.row.col", 16, 8, 4, "f32", "tf32", "tf32", "f32", kTwo, {0}},
        {"m16n8k8.row.col", 16, 8, 8, "f32", "tf32", "tf32", "f32", four(4), {0, 4}},
        {"m8n8k4.row.col", 8, 8, 4, "f64", "f64", "f64", "f64", kOne, {0}},
        {"m16n8k4.row.col", 16, 8, 4, "f64", "f64", "f64", "f64", kTwo, {0}},
        {"m16n8k8.row.col", 16, 8, 8, "f64", "f64", "f64", "f64", four(4), {0, 4}},
        {"m16n8k16.row.col", 16, 8, 16, "f64", "f64", "f64", "f64", eight, {0, 4, 8, 12}},
        {"m16n8k32.row.col", 16, 8, 32, "f32", "e4m3", "e5m2", "f32", four(16), {0, 16}},
        {"m16n8k32.row.col", 16, 8, 32, "f32", "e5m2", "e4m3", "f32", four(16), {0, 16}},
        {"m8n8k16.row.col", 8, 8, 16, "s32", "s8", "u8", "s32", kOne, {0}},
        {"m16n8k16.row.col", 16, 8, 16, "s32", "u8", "s8", "s32", kTwo, {0}},
        {"m16n8k32.row.col", 16, 8, 32, "s32", "s8", "s8", "s32", four(16), {0, 16}},
        {"m16n8k32.row.col.satfinite", 16, 8, 32, "s32", "u8", "u8", "s32", four(16), {0, 16}},
        {"m8n8k32.row.col", 8, 8, 32, "s32", "s4", "u4", "s32", kOne, {0}},
        {"m16n8k32.row.col", 16, 8, 32, "s32", "u4", "s4", "s32", kTwo, {0}},
        {"m16n8k64.row.col", 16, 8, 64, "s32", "s4", "s4", "s32", four(32), {0, 32}},
        {"m8n8k128.row.col", 8, 8, 128, "s32", "b1", "b1", "s32", kOne, {0}},
        {"m16n8k128.row.col", 16, 8, 128, "s32", "b1", "b1", "s32", kTwo, {0}},
        {"m16n8k256.row.col", 16, 8, 256, "s32", "b1", "b1", "s32", four(128), {0, 128}},
    };
}

using Matrix = std::vector<std::vector<int>>;

class Numbers {
public:
    Matrix matrix(unsigned rows, unsigned columns, const std::string& type) {
        const bool negative = type != "u8" && type != "u4" && type != "b1";
        std::uniform_int_distribution<int> values(negative ? -3 : 0, type == "b1" ? 1 : 4);
        Matrix result(rows, std::vector<int>(columns));
        for (auto& row : result) {
            for (int& value : row) {
                value = values(engine_);
            }
        }
        return result;
    }

private:
    std::mt19937 engine_{20261130};
};

Matrix product(const Matrix& a, const Matrix& b, Matrix c, const std::function<int(int, int)>& times) {
    for (std::size_t row = 0; row < a.size(); ++row) {
        for (std::size_t column = 0; column < b[0].size(); ++column) {
            for (std::size_t k = 0; k < b.size(); ++k) {
                c[row][column] += times(a[row][k], b[k][column]);
            }
        }
    }
    return c;
}

/// Registers of all lanes: element j of register r of a lane is at(lane, r, j).
using At = std::function<int(unsigned, unsigned, unsigned)>;
std::uint64_t packed(const std::string& type, unsigned lane, unsigned reg, const At& at) {
    const unsigned width = element_width(type), count = width >= 32 ? 1 : 32 / width;
    std::uint64_t word = 0;
    for (unsigned j = 0; j < count; ++j) {
        word |= element_bits(type, at(lane, reg, j)) << (j * width);
    }
    return word;
}

struct Registers {
    std::string type;
    unsigned count;
    At at;
};

/// A kernel of one instruction whose operands are registers: d, then a, b, c.
MatrixCase register_case(const std::string& opcode, const Registers& d, const std::vector<Registers>& sources) {
    MatrixCase result;
    result.name = opcode;
    unsigned total = 0;
    std::string operands;
    const auto name = [](const Registers& one, const char* prefix, unsigned index) {
        return fmt::format("%{}{}{}", element_width(one.type) == 64 ? "d" : "r", prefix, index);
    };
    const auto list = [&](const Registers& one, const char* prefix) {
        std::string text = "{";
        for (unsigned r = 0; r < one.count; ++r) {
            text += (r == 0 ? "" : ", ") + name(one, prefix, r);
        }
        return text + "}";
    };
    for (const Registers& one : sources) {
        total += one.count;
    }
    unsigned next = 0;
    static constexpr const char* kPrefixes[] = {"a", "b", "c"};
    result.body += fmt::format("  mad.wide.u32 %in, %lane, {}, %in; mad.wide.u32 %out, %lane, {}, %out;\n", 8 * total,
                               8 * d.count);
    for (std::size_t i = 0; i < sources.size(); ++i) {
        for (unsigned r = 0; r < sources[i].count; ++r) {
            result.body +=
                fmt::format("  ld.global.b{} {}, [%in+{}];\n", element_width(sources[i].type) == 64 ? 64 : 32,
                            name(sources[i], kPrefixes[i], r), 8 * next++);
        }
        operands += ", " + list(sources[i], kPrefixes[i]);
    }
    result.body += fmt::format("  {} {}{};\n", opcode, list(d, "d"), operands);
    for (unsigned r = 0; r < d.count; ++r) {
        result.body +=
            element_width(d.type) == 64
                ? fmt::format("  st.global.b64 [%out+{}], {};\n", 8 * r, name(d, "d", r))
                : fmt::format("  cvt.u64.u32 %x, {}; st.global.b64 [%out+{}], %x;\n", name(d, "d", r), 8 * r);
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (const Registers& one : sources) {
            for (unsigned r = 0; r < one.count; ++r) {
                result.in.push_back(packed(one.type, lane, r, one.at));
            }
        }
        for (unsigned r = 0; r < d.count; ++r) {
            result.out.push_back(packed(d.type, lane, r, d.at));
        }
    }
    return result;
}

/// c and d: two neighbours of row lane / 4, and of the row eight further down.
Registers sums(const std::string& type, unsigned rows, const Matrix& values) {
    const unsigned per = type == "f16" ? 2 : 1;
    return {type, rows / 8 * 2 / per, [&values, per](unsigned lane, unsigned reg, unsigned j) {
                const unsigned i = reg * per + j;
                return values[lane / 4 + (i >= 2 ? 8 : 0)][lane % 4 * 2 + (i & 1)];
            }};
}

MatrixCase mma_case(const Mma& form, const std::string& operation, Numbers& numbers) {
    const Matrix a = numbers.matrix(form.m, form.k, form.a), b = numbers.matrix(form.k, form.n, form.b),
                 c = numbers.matrix(form.m, form.n, form.c);
    const auto times = [&](int x, int y) {
        return operation == ".xor.popc" ? x ^ y : operation == ".and.popc" ? x & y : x * y;
    };
    const Matrix d = product(a, b, c, times);
    const unsigned a_per = element_width(form.a) >= 32 ? 1 : 32 / element_width(form.a);
    const std::string opcode =
        fmt::format("mma.sync.aligned.{}.{}.{}.{}.{}{}", form.opcode, form.d, form.a, form.b, form.c, operation);
    return register_case(
        opcode, sums(form.d, form.m, d),
        {{form.a, static_cast<unsigned>(form.a_blocks.size()),
          [&](unsigned lane, unsigned reg, unsigned j) {
              return a[lane / 4 + form.a_blocks[reg].row][lane % 4 * a_per + j + form.a_blocks[reg].column];
          }},
         {form.b, static_cast<unsigned>(form.b_blocks.size()),
          [&](unsigned lane, unsigned reg, unsigned j) {
              return b[lane % 4 * a_per + j + form.b_blocks[reg]][lane / 4];
          }},
         sums(form.c, form.m, c)});
}

/// m8n8k4 with f16: four products; lanes 4 q to 4 q + 3 and those 16 above hold product q.
MatrixCase quad_case(bool a_columns, bool b_columns, const std::string& sum, Numbers& numbers) {
    std::vector<Matrix> a, b, c, d;
    for (unsigned q = 0; q < 4; ++q) {
        a.push_back(numbers.matrix(8, 4, "f16"));
        b.push_back(numbers.matrix(4, 8, "f16"));
        c.push_back(numbers.matrix(8, 8, sum));
        d.push_back(product(a[q], b[q], c[q], [](int x, int y) { return x * y; }));
    }
    const auto quad = [](unsigned lane) { return lane % 16 / 4; };
    const auto upper = [](unsigned lane) { return lane < 16 ? 0U : 4U; };
    const auto sum_at = [&](const std::vector<Matrix>& of) {
        return [&of, quad, upper, sum](unsigned lane, unsigned reg, unsigned j) {
            if (sum == "f16") {
                return of[quad(lane)][lane % 4 + upper(lane)][reg * 2 + j];
            }
            return of[quad(lane)][(lane & 1) + (reg & 2) + upper(lane)][(reg & 4) + (lane & 2) + (reg & 1)];
        };
    };
    const unsigned count = sum == "f16" ? 4 : 8;
    return register_case(
        fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{}", a_columns ? "col" : "row", b_columns ? "col" : "row",
                    sum, sum),
        {sum, count, sum_at(d)},
        {{"f16", 2,
          [&](unsigned lane, unsigned reg, unsigned j) {
              const unsigned i = reg * 2 + j;
              return a_columns ? a[quad(lane)][i + upper(lane)][lane % 4] : a[quad(lane)][lane % 4 + upper(lane)][i];
          }},
         {"f16", 2,
          [&](unsigned lane, unsigned reg, unsigned j) {
              const unsigned i = reg * 2 + j;
              return b_columns ? b[quad(lane)][i][lane % 4 + upper(lane)] : b[quad(lane)][lane % 4][i + upper(lane)];
          }},
         {sum, count, sum_at(c)}});
}

struct Wmma {
    unsigned m, n, k;
    std::string type, sum, types, operation;
    unsigned a, b, c;  ///< registers
};

std::vector<Wmma> wmma_forms() {
    std::vector<Wmma> all;
    for (const auto& [m, n] : {std::pair{16U, 16U}, {8U, 32U}, {32U, 8U}}) {
        all.push_back({m, n, 16, "f16", "f32", "f32.f32", "", 8, 8, 8});
        all.push_back({m, n, 16, "f16", "f16", "f16.f16", "", 8, 8, 4});
        all.push_back({m, n, 16, "bf16", "f32", "f32.bf16.bf16.f32", "", m / 4, n / 4, 8});
        all.push_back({m, n, 16, "s8", "s32", "s32.s8.s8.s32", "", m / 8, n / 8, 8});
        all.push_back({m, n, 16, "u8", "s32", "s32.u8.u8.s32.satfinite", "", m / 8, n / 8, 8});
    }
    all.push_back({16, 16, 8, "tf32", "f32", "f32.tf32.tf32.f32", "", 4, 4, 8});
    all.push_back({8, 8, 4, "f64", "f64", "rn.f64.f64.f64.f64", "", 1, 1, 2});
    all.push_back({8, 8, 32, "s4", "s32", "s32.s4.s4.s32", "", 1, 1, 2});
    all.push_back({8, 8, 32, "u4", "s32", "s32.u4.u4.s32", "", 1, 1, 2});
    all.push_back({8, 8, 128, "b1", "s32", "s32.b1.b1.s32", ".xor.popc", 1, 1, 2});
    all.push_back({8, 8, 128, "b1", "s32", "s32.b1.b1.s32", ".and.popc", 1, 1, 2});
    return all;
}

/// A matrix as bytes in memory, `stride` elements from one row (or column) to the next.
std::vector<std::uint64_t> in_memory(const Matrix& values, const std::string& type, bool by_columns, unsigned stride) {
    const unsigned width = element_width(type);
    const std::size_t lines = by_columns ? values[0].size() : values.size();
    std::vector<std::uint64_t> words((lines * stride * width + 63) / 64);
    for (std::size_t row = 0; row < values.size(); ++row) {
        for (std::size_t column = 0; column < values[0].size(); ++column) {
            const std::size_t bit = (by_columns ? column * stride + row : row * stride + column) * width;
            words[bit / 64] |= element_bits(type, values[row][column]) << (bit % 64);
        }
    }
    return words;
}

std::string fragment(const std::string& prefix, unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) {
        text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, i);
    }
    return text + "}";
}

MatrixCase wmma_case(const Wmma& form, bool a_columns, bool b_columns, bool c_columns, Numbers& numbers) {
    const Matrix a = numbers.matrix(form.m, form.k, form.type), b = numbers.matrix(form.k, form.n, form.type),
                 c = numbers.matrix(form.m, form.n, form.sum);
    const Matrix d = product(a, b, c, [&](int x, int y) {
        return form.operation == ".xor.popc" ? x ^ y : form.operation == ".and.popc" ? x & y : x * y;
    });
    const unsigned a_stride = a_columns ? form.m : form.k, b_stride = b_columns ? form.k : form.n;
    const unsigned c_stride = (c_columns ? form.m : form.n) + 8;  // rows with a gap
    const auto name = [](bool columns) { return columns ? "col" : "row"; };
    const std::string shape = fmt::format("m{}n{}k{}", form.m, form.n, form.k);
    const char* const kind = form.type == "f64" ? "d" : "r";
    MatrixCase result;
    result.name =
        fmt::format("wmma {} {} {}{}{}", shape, form.types, name(a_columns), name(b_columns), name(c_columns));
    const auto append = [&](const std::vector<std::uint64_t>& words) {
        const std::size_t at = result.in.size() * 8;
        result.in.insert(result.in.end(), words.begin(), words.end());
        result.in.resize((result.in.size() + 31) / 32 * 32);  // 256 bytes
        return at;
    };
    const std::size_t a_at = append(in_memory(a, form.type, a_columns, a_stride));
    const std::size_t b_at = append(in_memory(b, form.type, b_columns, b_stride));
    const std::size_t c_at = append(in_memory(c, form.sum, c_columns, c_stride));
    const auto load = [&](const char* which, bool columns, const std::string& type, unsigned count, std::size_t at,
                          unsigned stride) {
        result.body += fmt::format("  wmma.load.{}.sync.aligned.{}.{}.global.{} {}, [%in+{}], {};\n", which,
                                   name(columns), shape, type, fragment(std::string(kind) + which, count), at, stride);
    };
    load("a", a_columns, form.type, form.a, a_at, a_stride);
    load("b", b_columns, form.type, form.b, b_at, b_stride);
    load("c", c_columns, form.sum, form.c, c_at, c_stride);
    const std::string prefix = kind;
    result.body +=
        fmt::format("  wmma.mma{}.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", form.operation, name(a_columns),
                    name(b_columns), shape, form.types, fragment(prefix + "d", form.c), fragment(prefix + "a", form.a),
                    fragment(prefix + "b", form.b), fragment(prefix + "c", form.c));
    result.body += fmt::format("  wmma.store.d.sync.aligned.{}.{}.global.{} [%out], {}, {};\n", name(c_columns), shape,
                               form.sum, fragment(prefix + "d", form.c), c_stride);
    result.out = in_memory(d, form.sum, c_columns, c_stride);
    return result;
}

/// 16-bit value `row`, `column` of matrix `number`.
std::uint64_t half_value(unsigned number, unsigned row, unsigned column) {
    return number << 12 | row << 8 | column << 4 | 5;
}

MatrixCase rows_case(bool loads, unsigned count, bool transposed) {
    MatrixCase result;
    result.name = fmt::format("{}.sync.aligned.m8n8.x{}{}.shared.b16", loads ? "ldmatrix" : "stmatrix", count,
                              transposed ? ".trans" : "");
    // Row r of matrix i lies at lane 8 i + r's address: 16 bytes, the rows in reverse order.
    const std::string registers = fragment("ra", count);
    result.body =
        "  .shared .align 16 .b8 rows[512]; mov.u64 %x, rows; sub.u32 %rb0, 31, %lane; mad.wide.u32 %x, %rb0, 16, %x;\n"
        "  mad.wide.u32 %in, %lane, 32, %in; mad.wide.u32 %out, %lane, 32, %out;\n"
        "  ld.global.v2.b64 {%q0, %q1}, [%in]; ld.global.v2.b64 {%q2, %q3}, [%in+16];\n";
    const auto in_lane = [&](unsigned lane) {  // what a lane's registers hold of each matrix
        std::vector<std::uint64_t> words;
        for (unsigned i = 0; i < 4; ++i) {
            std::uint64_t word = 0;
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned across = lane % 4 * 2 + half, down = lane / 4;
                word |= (transposed ? half_value(i, across, down) : half_value(i, down, across)) << (16 * half);
            }
            words.push_back(i < count ? word : 0);
        }
        return words;
    };
    const auto in_row = [&](unsigned lane) {  // the 16 bytes at a lane's address
        std::vector<std::uint64_t> words(4);
        for (unsigned column = 0; column < 8 && lane < 8 * count; ++column) {
            words[column / 4] |= half_value(lane / 8, lane % 8, column) << (16 * (column % 4));
        }
        return words;
    };
    for (unsigned lane = 0; lane < 32; ++lane) {
        const auto registers_of = in_lane(lane), row = in_row(lane);
        (loads ? result.in : result.out).insert((loads ? result.in : result.out).end(), row.begin(), row.end());
        (loads ? result.out : result.in)
            .insert((loads ? result.out : result.in).end(), registers_of.begin(), registers_of.end());
    }
    if (loads) {
        result.body += fmt::format(
            "  st.shared.v2.b64 [%x], {{%q0, %q1}}; bar.sync 0; mov.b32 %ra1, 0; mov.b32 %ra2, 0; mov.b32 %ra3, 0;\n"
            "  {} {}, [%x];\n  cvt.u64.u32 %q0, %ra0; cvt.u64.u32 %q1, %ra1; cvt.u64.u32 %q2, %ra2; cvt.u64.u32 %q3, "
            "%ra3;\n",
            result.name, registers);
    } else {
        result.body += fmt::format(
            "  cvt.u32.u64 %ra0, %q0; cvt.u32.u64 %ra1, %q1; cvt.u32.u64 %ra2, %q2; cvt.u32.u64 %ra3, %q3;\n"
            "  mov.b64 %q2, 0; mov.b64 %q3, 0; st.shared.v2.b64 [%x], {{%q2, %q3}}; bar.sync 0;\n"
            "  {} [%x], {};\n  bar.sync 0; ld.shared.v2.b64 {{%q0, %q1}}, [%x];\n",
            result.name, registers);
    }
    result.body += "  st.global.v2.b64 [%out], {%q0, %q1}; st.global.v2.b64 [%out+16], {%q2, %q3};\n";
    return result;
}

MatrixCase transpose_case() {
    const auto word = [](unsigned lane, bool transposed) {
        std::uint64_t result = 0;
        for (unsigned half = 0; half < 2; ++half) {
            const unsigned across = lane % 4 * 2 + half, down = lane / 4;
            result |= (transposed ? half_value(1, across, down) : half_value(1, down, across)) << (16 * half);
        }
        return result;
    };
    MatrixCase result;
    result.name = "movmatrix.sync.aligned.m8n8.trans.b16";
    result.body =
        "  mad.wide.u32 %in, %lane, 8, %in; mad.wide.u32 %out, %lane, 8, %out; ld.global.b32 %ra0, [%in];\n  " +
        result.name + " %ra0, %ra0; cvt.u64.u32 %x, %ra0; st.global.b64 [%out], %x;\n";
    for (unsigned lane = 0; lane < 32; ++lane) {
        result.in.push_back(word(lane, false));
        result.out.push_back(word(lane, true));
    }
    return result;
}

}  // namespace

unsigned element_width(const std::string& type) {
    static const std::map<std::string, unsigned> kWidths = {{"f64", 64}, {"f32", 32}, {"tf32", 32},
                                                            {"s32", 32}, {"f16", 16}, {"bf16", 16},
                                                            {"s4", 4},   {"u4", 4},   {"b1", 1}};
    const auto found = kWidths.find(type);
    return found == kWidths.end() ? 8 : found->second;
}

std::uint64_t element_bits(const std::string& type, int value) {
    const auto sign = static_cast<unsigned>(value < 0 ? 1 : 0);
    const std::uint32_t single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (type == "f64") {
        return std::bit_cast<std::uint64_t>(static_cast<double>(value));
    }
    if (type == "f32" || type == "tf32") {
        return single;
    }
    if (type == "bf16") {
        return single >> 16;
    }
    if (type == "f16") {  // small integers are exact
        return value == 0 ? 0 : sign << 15 | ((single >> 23 & 0xff) - 112) << 10 | (single >> 13 & 0x3ff);
    }
    static constexpr unsigned kE4m3[] = {0, 0x38, 0x40, 0x44, 0x48}, kE5m2[] = {0, 0x3c, 0x40, 0x42, 0x44};
    if (type == "e4m3" || type == "e5m2") {
        return sign << 7 | (type == "e4m3" ? kE4m3 : kE5m2)[value < 0 ? -value : value];
    }
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) &
           ((std::uint64_t{1} << element_width(type)) - 1);
}

std::vector<MatrixCase> mma_cases() {
    Numbers numbers;
    std::vector<MatrixCase> cases;
    for (const Mma& form : forms()) {
        if (form.a == "b1") {
            cases.push_back(mma_case(form, ".xor.popc", numbers));
            cases.push_back(mma_case(form, ".and.popc", numbers));
        } else {
            cases.push_back(mma_case(form, "", numbers));
        }
    }
    for (const bool a_columns : {false, true}) {
        for (const bool b_columns : {false, true}) {
            cases.push_back(quad_case(a_columns, b_columns, "f16", numbers));
            cases.push_back(quad_case(a_columns, b_columns, "f32", numbers));
        }
    }
    return cases;
}

std::vector<MatrixCase> wmma_cases() {
    Numbers numbers;
    std::vector<MatrixCase> cases;
    bool c_columns = false;
    for (const Wmma& form : wmma_forms()) {
        const bool narrow = element_width(form.type) < 8;
        for (const bool a_columns : {false, true}) {
            for (const bool b_columns : {false, true}) {
                if (!narrow || (!a_columns && b_columns)) {
                    cases.push_back(wmma_case(form, a_columns, b_columns, c_columns, numbers));
                    c_columns = !c_columns;
                }
            }
        }
    }
    return cases;
}

std::vector<MatrixCase> row_matrix_cases() {
    std::vector<MatrixCase> cases;
    for (const bool loads : {true, false}) {
        for (const unsigned count : {1U, 2U, 4U}) {
            cases.push_back(rows_case(loads, count, false));
            cases.push_back(rows_case(loads, count, true));
        }
    }
    cases.push_back(transpose_case());
    return cases;
}

std::string module_of(const std::vector<MatrixCase>& cases) {
    std::string text = ".version 8.6\n.target sm_90\n.address_size 64\n";
    for (std::size_t i = 0; i < cases.size(); ++i) {
        text += fmt::format(
            ".visible .entry m{}(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .u32 count)\n{{\n"
            "  .reg .b32 %lane, %ra<16>, %rb<16>, %rc<16>, %rd<16>; .reg .b64 %in, %out, %x, %q<4>; .reg .f64 %da<16>, "
            "%db<16>, "
            "%dc<16>, %dd<16>;\n"
            "  mov.u32 %lane, %tid.x; ld.param.u64 %in, [in]; ld.param.u64 %out, [out];\n{}  ret;\n}}\n",
            i, cases[i].body);
    }
    return text;
}

}  // namespace egpu::simulated::test
