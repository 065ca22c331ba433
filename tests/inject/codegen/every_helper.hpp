// SPDX-License-Identifier: Apache-2.0
// A program for each row of the table of helpers, made from its signature.
#pragma once

#include "harness.hpp"

#include "ebpf/helpers/helpers.hpp"

namespace egpu::inject::testing {

/// The table, and what is taken for programs written for bpftime.
inline std::vector<Helper> every_helper() {
    std::vector<Helper> all(helpers().begin(), helpers().end());
    all.insert(all.end(), bpftime_helpers().begin(), bpftime_helpers().end());
    return all;
}

/// r7 = a value known only at run time; the result in r0 is stored to array[2], so that nothing is dropped.
inline std::string storing(const std::string& body) {
    return "mov %r9, %r1\nldxw %r7, [%r1+36]\nldxw %r6, [%r1+64]\nstw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw "
           "%r1, " +
           map_address(0) + "\ncall 1\njeq %r0, 0, out\nmov %r8, %r0\nmov %r0, %r6\n" + body +
           "stxdw [%r8+0], %r0\nout:\nmov %r0, 0\nexit\n";
}

struct HelperUse {
    std::uint32_t word_bytes = 8;  ///< where the helper changes a word
    bool result_used = true;
    bool constant = false;  ///< numbers are constants
};

inline std::string argument_of(const Helper& called, unsigned argument, const HelperUse& use) {
    const std::string to = fmt::format("%r{}", argument + 1);
    const auto on_stack = [&](int offset) { return fmt::format("mov {}, %r10\nadd {}, {}\n", to, to, offset); };
    switch (called.arguments[argument]) {
        case ArgumentKind::none:
            return {};
        case ArgumentKind::map:
            return fmt::format("lddw {}, {}\n", to, map_address(0));
        case ArgumentKind::map_key:
            return on_stack(-12);
        case ArgumentKind::map_value:
            return on_stack(-80);
        case ArgumentKind::stack_buffer:
            return on_stack(-96);
        case ArgumentKind::stack_word:
            return on_stack(-96 - 8 * static_cast<int>(argument));
        case ArgumentKind::ring:
            return fmt::format("lddw {}, {}\n", to, map_address(3));
        case ArgumentKind::record:
            return on_stack(-80);
        case ArgumentKind::text:
            return fmt::format("lddw {}, {}\n", to,
                               constants_address(called.id == HelperId::trace_printk ? kThreeNumbers : kOneNumber));
        case ArgumentKind::printed:
        case ArgumentKind::map_word:
            return called.arguments[argument] == ArgumentKind::map_word
                       ? fmt::format("mov {}, %r8\nadd {}, 16\n", to, to)
                       : fmt::format("mov {}, {}\n", to, use.constant ? "77" : "%r7");
        case ArgumentKind::context:
            return fmt::format("mov {}, %r9\n", to);
        case ArgumentKind::scalar:
            return fmt::format("mov {}, {}\n", to, use.constant ? "77" : "%r7");
        case ArgumentKind::constant:
            break;
    }
    const std::uint32_t constant = called.changes_word()                                    ? use.word_bytes
                                   : called.id == HelperId::value                           ? 8
                                   : called.id == HelperId::argument                        ? 1
                                   : called.id == HelperId::ringbuf_output && argument == 2 ? 27
                                   : called.id == HelperId::trace_printk                    ? kThreeNumbersBytes
                                   : called.id == HelperId::trace_vprintk && argument == 1  ? kOneNumberBytes
                                   : called.id == HelperId::trace_vprintk                   ? 8
                                                                                            : 0;
    return fmt::format("mov {}, {}\n", to, constant);
}

/// Element 5 of the array, at an index known at run time; a word of element 2; the number of the lane plus 5.
inline std::string use_of(const Helper& called, const HelperUse& use = {}) {
    std::string body = "add %r7, 5\nstxw [%r10-12], %r7\nstdw [%r10-96], 0\n";
    for (int word = 0; word < 8; ++word)
        body += fmt::format("stxdw [%r10-{}], %r7\n", 80 - word * 8);
    for (unsigned argument = 0; argument < called.arguments.size(); ++argument)
        body += argument_of(called, argument, use);
    body += fmt::format("call {:#x}\n", static_cast<std::uint32_t>(called.id));
    if (called.returns == ReturnKind::map_value_or_null)
        body += "jeq %r0, 0, none\nldxdw %r0, [%r0+8]\nnone:\n";
    if (!use.result_used)
        body += "mov %r0, %r6\n";
    body += "ldxdw %r1, [%r10-96]\nadd %r0, %r1\n";
    return storing(body);
}

/// Every way to use a row that makes other code.
inline std::vector<HelperUse> uses_of(const Helper& called) {
    std::vector<HelperUse> uses;
    for (const bool used : {true, false})
        for (const bool constant : {false, true})
            for (const std::uint32_t bytes : {8u, 4u})
                if (bytes == 8 || called.changes_word())
                    uses.push_back({bytes, used, constant});
    return uses;
}

/// A site that has all that a helper asks for.
inline void supply(SiteBinding& site) {
    site.access = Access::store;
    site.values = {"%f1", "%f2"};
    site.value_type = "f32";
}

}  // namespace egpu::inject::testing
