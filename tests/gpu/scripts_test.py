# SPDX-License-Identifier: Apache-2.0
"""What the scripts for a person with a GPU read: a disassembler's and a profiler's text, and the verdict on timed loads."""
import os
import struct
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner"))

import latency_sites  # noqa: E402 (found in the folder above)
import machine_code  # noqa: E402
import ncu  # noqa: E402

FACTS = {"sites": 1, "other_loads": 0, "without_register": 0, "own_clocks": 0, "several_loads": False}
# (instruction, scoreboard that it sets, mask of those that it waits for), as ptxas writes them for sm_90.
BEFORE = [("ISETP.NE.U32.AND P0, PT, R4, RZ, PT", 7, 0), ("ISETP.NE.AND.EX P0, PT, R5, RZ, PT, P0", 7, 0)]
START = [("CS2R R6, SR_CLOCKLO", 7, 0), ("SEL R13, R6, R13, !P0", 7, 0), ("CS2R R6, SR_CLOCKLO", 7, 0)]
LOAD = [("LDG.E R5, desc[UR8][R4.64]", 2, 0), ("SEL R13, R6, R13, P0", 7, 0)]
WAIT = [("ISETP.NE.AND P1, PT, R5, RZ, PT", 7, 1 << 2)]
END = [("CS2R R6, SR_CLOCKLO", 7, 0), ("SEL R9, R6, R9, !P1", 7, 0), ("CS2R R6, SR_CLOCKLO", 7, 0)]
BEHIND = [("STG.E desc[UR8][R2.64], R5", 7, 0), ("EXIT", 7, 0)]
RIGHT = BEFORE + START + LOAD + WAIT + END + BEHIND


def text_of(code, name="_Z1kPf"):
    """As nvdisasm -c prints it; what is no tuple is a line of its own."""
    lines = ["\t.headerflags\t@\"EF_CUDA_SM90\"", f"//--------------------- .text.{name} --------------------------",
             f"\t.section\t.text.{name},\"ax\",@progbits", "\t.sectioninfo\t@\"SHI_REGISTERS=12\"", "\t.align\t128", f"        .global         {name}", f".text.{name}:"]
    offset = 0
    for one in code:
        if isinstance(one, str):
            lines.append(one)
            continue
        lines.append(f"        /*{offset:04x}*/                   {one[0]} ;")
        offset += 16
    return "\n".join(lines + ["\t.section\t.nv.constant0._Z1kPf,\"a\",@progbits", "        /*0000*/ \t.byte\t0x00"])


def cubin_of(code, name="_Z1kPf"):
    """An ELF file whose code has the scoreboards and nothing else."""
    instructions = [one for one in code if isinstance(one, tuple)]
    content = b"".join(struct.pack("<QQ", 0x918 if text == "NOP" else 0, sets << 46 | 7 << 49 | waits << 52) for text, sets, waits in instructions)
    names = b"\0.text." + name.encode() + b"\0.shstrtab\0"
    places = [(0, 0, 0), (1, 64, len(content)), (names.index(b".shstrtab"), 64 + len(content), len(names))]
    header = b"\x7fELF\x02\x01" + bytes(34) + struct.pack("<Q", 64 + len(content) + len(names)) + bytes(12) + struct.pack("<HH", 3, 2)
    assert len(header) == 64
    return header + content + names + b"".join(
        struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, begin, size, 0, 0, 0, 0) for at, begin, size in places)


def judged(code, facts=FACTS):
    functions = machine_code.parse(text_of(code))
    machine_code.add_scoreboards(functions, cubin_of(code))
    return [(site.verdict, site.reason) for site in latency_sites.judge(functions, facts)]


class Sites(unittest.TestCase):
    def test_clock_load_wait_clock_is_right(self):
        self.assertEqual(judged(RIGHT), [("right", "")])
        self.assertEqual(judged(BEFORE + START + LOAD + WAIT + END + RIGHT), [("right", ""), ("right", "")])

    def test_the_second_clock_before_the_wait_is_wrong(self):
        late = BEFORE + START + LOAD + END + WAIT + BEHIND
        self.assertEqual(judged(late), [("wrong", "nothing reads the load's value before the second clock read")])

    def test_a_reader_that_does_not_wait_is_wrong(self):
        code = BEFORE + START + LOAD + [(WAIT[0][0], 7, 0)] + END + BEHIND
        self.assertEqual(judged(code), [("wrong", "nothing waits for the load's scoreboard before the second clock read")])

    def test_a_wait_for_another_scoreboard_is_wrong(self):
        code = BEFORE + START + LOAD + [(WAIT[0][0], 7, 1 << 3)] + END + BEHIND
        self.assertEqual(judged(code)[0][0], "wrong")

    def test_a_load_that_was_moved_before_the_first_clock_is_wrong(self):
        self.assertEqual(judged(BEFORE + LOAD + START + WAIT + END + BEHIND)[0][0], "wrong")

    def test_a_value_that_an_earlier_load_has_is_no_error(self):
        code = RIGHT[:-1] + START + WAIT + END + BEHIND
        self.assertEqual([verdict for verdict, _ in judged(code)], ["right", "removed"])
        # A load of a constant by its address stands outside of the sites.
        beside = [("LDG.E R30, desc[UR8][R32.64]", 3, 0)] + code
        self.assertEqual([verdict for verdict, _ in judged(beside, dict(FACTS, other_loads=1))], ["right", "removed"])
        self.assertEqual([verdict for verdict, _ in judged(beside)], ["right", "wrong"])

    def test_a_branch_or_a_label_inside_is_not_judged(self):
        branch = BEFORE + START + LOAD + [("@P2 BRA `(.L_x_1)", 7, 0)] + WAIT + END + BEHIND
        label = BEFORE + START + LOAD + [".L_x_1:"] + WAIT + END + BEHIND
        for code in (branch, label):
            self.assertEqual(judged(code)[0][0], "not judged")

    def test_clock_reads_that_are_left_over_are_not_judged(self):
        self.assertEqual(judged(BEFORE + START + LOAD + WAIT + BEHIND)[0][0], "not judged")

    def test_a_load_whose_address_is_in_no_register_has_one_clock_before_it(self):
        code = START[:1] + LOAD + WAIT + END + BEHIND
        self.assertEqual(judged(code, dict(FACTS, without_register=1)), [("right", "")])

    def test_clock_reads_of_the_program_itself(self):
        code = START[:1] + BEFORE + START + LOAD + WAIT + END + START[:1] + BEHIND
        self.assertEqual(judged(code, dict(FACTS, own_clocks=2)), [("right", "")])

    def test_what_was_begun_before_the_clock_and_is_waited_for_is_known(self):
        code = [("LDL R20, [R1+0x8]", 4, 0)] + BEFORE + START + [(LOAD[0][0], 2, 1 << 4)] + WAIT + END + BEHIND
        functions = machine_code.parse(text_of(code))
        machine_code.add_scoreboards(functions, cubin_of(code))
        site, = latency_sites.judge(functions, FACTS)
        self.assertEqual([one.text for one in site.older], ["LDL R20, [R1+0x8]"])
        self.assertTrue(latency_sites.waits_for_memory(site))

    def test_what_the_ptx_says(self):
        self.assertEqual(latency_sites.facts_of("""
	@%egpu_site_ready mov.u64 %egpu_site_start, %clock64;
	@!%egpu_site_ready mov.u64 %egpu_site_start, %clock64;
	@%egpu_site_here mov.u64 %egpu_site_end, %clock64;
	@!%egpu_site_here mov.u64 %egpu_site_end, %clock64;
	mov.u64 %egpu_site_start, %clock64;
	@%egpu_site_here mov.u64 %egpu_site_end, %clock64;
	@!%egpu_site_here mov.u64 %egpu_site_end, %clock64;
	mov.u64 	%rd13, %clock64;
	@%p1 ld.global.f32 %f1, [%rd1];
	ld.volatile.global.u32 %r1, [counter];
	ld.u32 %r2, [%rd2];
	ld.param.u64 %rd1, [k_0];
	ld.volatile.shared.u32 %r1, [%r4];
	ld.shared::cta.u32 %r1, [%r4];
	ld.const.u64 %egpu_d1, [egpu_table+0];
"""), {"sites": 2, "other_loads": 1, "without_register": 1, "own_clocks": 1, "several_loads": False})


class Text(unittest.TestCase):
    def test_cuobjdump_prints_encodings_and_targets_by_number(self):
        functions = machine_code.parse("""
		Function : _Z1kPf
	.headerflags	@"EF_CUDA_SM75"
        /*0000*/                   LDG.E.64.SYS R4, [R2+0x8] ;                   /* 0x0000080002047381 */
                                                                                 /* 0x000ea800001eeb00 */
        /*0010*/              @!P0 BRA 0x30 ;                                    /* 0x0000000000008947 */
        /*0020*/                   IMAD.WIDE R6, R4.reuse, R5, c[0x0][0x168] ;   /* 0x00005a0004067625 */
        /*0030*/                   EXIT ;                                        /* 0x000000000000794d */
""")
        load, branch, use, end = functions["_Z1kPf"]
        self.assertEqual((load.name, load.destinations(), load.reads()), ("LDG", {4, 5}, {2}))
        self.assertEqual((branch.guard, branch.leaves_block()), ("!P0", True))
        self.assertEqual(use.reads(), {4, 5})
        self.assertEqual([one.is_target for one in (load, branch, use, end)], [False, False, False, True])

    def test_destinations_of_loads(self):
        for text, wanted in (("LDG.E.U8.CONSTANT R3, desc[UR4][R2.64]", {3}), ("LDG.E.128 R8, desc[UR4][R2.64+0x10]", {8, 9, 10, 11}),
                             ("@P1 LD.E R7, [R4.64]", {7}), ("LDG.E.ENL2.256 R16, R12, desc[UR4][R2.64]", set(range(12, 20))),
                             ("LDG.E R2, desc[UR4][R2.64] &req={1,0} &wr=0x2 ?trans1", {2})):
            self.assertEqual(machine_code.Instruction(0, text).destinations(), wanted, text)

    def test_what_reads_a_register(self):
        for text, wanted in (("STG.E desc[UR4][R2.64], R5", {2, 5}), ("R2UR UR4, R5", {5}), ("SEL R13, R6, R13, P0", {6, 13}),
                             ("ISETP.NE.AND P1, PT, R5, RZ, PT", {5}), ("MOV R5, UR7", set()), ("LDGSTS.E [R3], desc[UR4][R6.64]", {3, 6})):
            self.assertEqual(machine_code.Instruction(0, text).reads(), wanted, text)

    def test_only_loads_and_whole_clocks_are_taken_for_such(self):
        for text, wanted in (("LDG.E R2, [R4]", True), ("LD.E R2, [R4]", True), ("LDGSTS.E [R3], [R6.64]", False), ("LDS R2, [R4]", False),
                             ("LDGDEPBAR", False)):
            self.assertEqual(machine_code.Instruction(0, text).is_global_load(), wanted, text)
        for text, wanted in (("CS2R R2, SR_CLOCKLO", True), ("CS2R.32 R2, SR_CLOCKLO", False), ("CS2R R2, SRZ", False)):
            self.assertEqual(machine_code.Instruction(0, text).is_clock(), wanted, text)

    def test_text_that_lacks_instructions_of_the_cubin_is_refused(self):
        functions = machine_code.parse(text_of(RIGHT[:-1]))
        with self.assertRaisesRegex(AssertionError, "were read, the cubin has"):
            machine_code.add_scoreboards(functions, cubin_of(RIGHT))
        functions = machine_code.parse(text_of(RIGHT))
        machine_code.add_scoreboards(functions, cubin_of(RIGHT + [("NOP", 7, 0)] * 3))
        with self.assertRaisesRegex(AssertionError, "were read, the cubin has"):
            machine_code.add_scoreboards(functions, cubin_of(RIGHT[:-1]))


NCU = """==PROF== Connected to process 4711 (/tmp/program)
==PROF== Disconnected from process 4711
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","4711","program","127.0.0.1","_Z1kPf","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","","1,048,576"
"0","4711","program","127.0.0.1","_Z1kPf","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_red.sum","","n/a"
"1","4711","program","127.0.0.1","_Z1kPf","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","","24"
"1","4711","program","127.0.0.1","_Z1kPf","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","Command line profiler metrics","l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum","","5"
"""


class Profiler(unittest.TestCase):
    def test_counts_are_summed_over_launches_of_a_kernel(self):
        sums = ncu.totals(ncu.parse(NCU))
        self.assertEqual(sums["_Z1kPf"]["launches"], 2)
        self.assertEqual(ncu.of_access(sums["_Z1kPf"], ncu.REQUESTS, "load"), 1048600)
        self.assertIsNone(ncu.of_access(sums["_Z1kPf"], ncu.REQUESTS, "atomic"), "one half of it was not counted")

    def test_numbers(self):
        for text, wanted in (("1,048,576", 1048576), ("0", 0), ("12.00", 12), ("n/a", None), ("", None), ("1\u202f024", 1024)):
            self.assertEqual(ncu.number_of(text), wanted)

    def test_metrics_that_are_not_known_are_named(self):
        said = "==ERROR== Failed to find metric regex:^smsp__sass_inst_executed_op_global_red\\.(sum|min|max)$"
        self.assertEqual(ncu.unknown_metrics(said, ncu.METRICS), ["smsp__sass_inst_executed_op_global_red.sum"])
        self.assertEqual(ncu.unknown_metrics("==PROF== Connected", ncu.METRICS), [])

    def test_no_table_says_what_there_was(self):
        with self.assertRaisesRegex(AssertionError, "permission"):
            ncu.parse("==ERROR== ERR_NVGPUCTRPERM - no permission")


if __name__ == "__main__":
    unittest.main()
