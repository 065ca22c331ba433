# SPDX-License-Identifier: Apache-2.0
"""Machine code as a disassembler prints it, with what no disassembler prints: which scoreboard an instruction sets and which
it waits for, read from the cubin. For sm_70 and later, where an instruction is 16 bytes."""
import glob
import os
import re
import shutil
import struct

from programs import check, run

# "        /*00f0*/              @!P0 LDG.E.64 R2, desc[UR4][R2.64+0x8] ;", with cuobjdump's encoding behind it.
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+([^;]*\S)\s*;")
# What newer ones print of the scheduling: "&req={1,0} &wr=0x1 ?trans1".
SCHEDULING = re.compile(r"\s+(?:&\w+=|\?\w).*$")
GUARDED = re.compile(r"^@(!?U?P(?:\d|T))\s+")
# nvdisasm: ".section .text.NAME,"; cuobjdump: "Function : NAME".
FUNCTION = re.compile(r"^\s*\.section\s+\"?\.text\.([^,\s\"]+)|^\s*Function : (\S+)")
SECTION = re.compile(r"^\s*\.section\s")  # not ".sectioninfo", which stands inside one before sm_90
LABEL = re.compile(r"^\s*([.$\w]+):\s*$")
TARGETS = re.compile(r"^(BRA|BRX|BSSY|CALL|JMP|JMX|WARPSYNC)\b")
FLOW = re.compile(r"^(BRA|BRX|BRXU|CALL|JMP|JMX|JMXU|RET|EXIT|BSYNC|BREAK|KILL|RPCMOV)\b")
# No destination: what stands first is stored, or is an address.
STORES = re.compile(r"^(STG|ST|STS|STL|RED|REDG|SUST|STSM|CCTL|UBLKCP|UTMA\w+)\b")
NO_SCOREBOARD = 7
SIZE = 16  # of an instruction, in bytes
PADDING = 0x918  # the opcode of NOP


class Instruction:
    """One instruction: guard without "@" or None, opcode with its modifiers, operands as printed."""

    def __init__(self, offset, text):
        self.offset, self.text = offset, SCHEDULING.sub("", text)
        text = self.text
        guarded = GUARDED.match(text)
        self.guard = guarded.group(1) if guarded else None
        words = text[guarded.end() if guarded else 0:].split(None, 1)
        self.opcode = words[0]
        self.operands = split_operands(words[1]) if len(words) > 1 else []
        self.is_target = False
        # Scoreboards: set when the result is there, set when the sources are read, waited for (a mask); None: not known.
        self.sets = self.sets_when_read = self.waits = None

    @property
    def name(self):
        return self.opcode.split(".")[0]

    def is_clock(self):
        """The whole SM clock, as %clock64 reads it."""
        return self.name == "CS2R" and ".32" not in self.opcode and "SR_CLOCKLO" in self.operands

    def is_global_load(self):
        """From global memory or a generic address; not LDGSTS, LDS, LDL, LDC."""
        return self.name in ("LDG", "LD")

    def leaves_block(self):
        return FLOW.match(self.opcode) is not None

    def destinations(self):
        """Numbers of the registers that a load writes: all of a vector."""
        width = {"64": 2, "128": 4, "256": 4}  # 256 bits: two operands of four registers
        each = max([width[part] for part in self.opcode.split(".") if part in width], default=1)
        found = set()
        for operand in self.operands:
            register = re.fullmatch(r"R(\d+)(?:\.\w+)?", operand)
            if register:
                found.update(range(int(register.group(1)), int(register.group(1)) + each))
            elif "[" in operand:
                return found
        return found

    def reads(self):
        """Numbers of the registers that stand where a source stands."""
        operands = self.operands
        if operands and re.fullmatch(r"R\d+(\.\w+)*", operands[0]) and not STORES.match(self.opcode):
            operands = operands[1:]
        return {int(number) for operand in operands for number in re.findall(r"(?<![A-Z])R(\d+)", operand)}

    def __str__(self):
        known = ""
        if self.waits is not None:
            waited = ",".join(str(bit) for bit in range(6) if self.waits >> bit & 1)
            known = f"  sets {self.sets if self.sets != NO_SCOREBOARD else '-'} waits {waited or '-'}"
        return f"/*{self.offset:04x}*/ {self.text} ;{known}"


def split_operands(text):
    """At commas that stand in no bracket."""
    found, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "[({") - (character in "])}")
        if character == "," and depth == 0:
            found.append(text[begin:at].strip())
            begin = at + 1
    return found + [text[begin:].strip()]


def parse(text):
    """{function: [Instruction]} of what nvdisasm -c or cuobjdump -sass prints."""
    functions, current, labelled, goals = {}, None, False, {}
    for line in text.splitlines():
        named = FUNCTION.match(line)
        if named:
            name = named.group(1) or named.group(2)
            current, labelled = functions.setdefault(name, []), False
            goals[name] = set()
            continue
        if SECTION.match(line):
            current = None
        if current is None:
            continue
        read = INSTRUCTION.match(line)
        if not read:
            labelled = labelled or LABEL.match(line) is not None
            continue
        instruction = Instruction(int(read.group(1), 16), read.group(2))
        instruction.is_target, labelled = labelled, False
        current.append(instruction)
        if TARGETS.match(instruction.opcode):
            goals[name].update(int(number, 16) for number in re.findall(r"\b0x([0-9a-f]+)\b", instruction.text))
    for name, code in functions.items():
        for instruction in code:
            instruction.is_target = instruction.is_target or instruction.offset in goals[name]
    return functions


def sections(cubin):
    """(name, content) of the sections of an ELF file of 64 bits."""
    check(cubin[:4] == b"\x7fELF" and cubin[4] == 2, "the cubin is no ELF file of 64 bits")
    table, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3c)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, table + 64 * number) for number in range(count)]
    for header in headers:
        begin = headers[names][4] + header[0]
        yield cubin[begin:cubin.index(b"\0", begin)].decode(errors="replace"), cubin[header[4]:header[4] + header[5]]


def add_scoreboards(functions, cubin):
    """Reads them from the cubin that the text is of; the text must have each of its instructions, but for the NOPs behind
    the last one."""
    code = {name.removeprefix(".text."): content for name, content in sections(cubin) if name.startswith(".text.")}
    for name, instructions in functions.items():
        check(name in code, f"the cubin has no code of {name}")
        behind = range(SIZE * len(instructions), len(code[name]), SIZE)
        check([one.offset for one in instructions] == list(range(0, SIZE * len(instructions), SIZE)) and
              SIZE * len(instructions) <= len(code[name]) and
              all(struct.unpack_from("<H", code[name], at)[0] & 0xfff == PADDING for at in behind),
              f"{len(instructions)} instructions of {name} were read, the cubin has {len(code[name]) // SIZE}")
        for one in instructions:
            control, = struct.unpack_from("<Q", code[name], one.offset + 8)
            one.sets, one.sets_when_read, one.waits = control >> 46 & 7, control >> 49 & 7, control >> 52 & 63


def find_tool(name, given=None):
    """Path of a tool of the CUDA Toolkit, or None."""
    homes = [os.environ.get("CUDA_HOME", "/usr/local/cuda")] + sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    candidates = [given] if given else [shutil.which(name)] + [os.path.join(home, "bin", name) for home in homes]
    return next((path for path in candidates if path and os.path.exists(path)), None)


def find_disassembler(given=None):
    return find_tool("nvdisasm", given) or find_tool("cuobjdump")


def disassemble(disassembler, path):
    """{function: [Instruction]} of a cubin, with scoreboards."""
    options = ["-sass"] if os.path.basename(disassembler).startswith("cuobjdump") else ["-c"]
    outcome = run([disassembler] + options + [path], 60)
    check(outcome.code == 0, f"{os.path.basename(disassembler)} fails: {outcome.errors[-400:]}{outcome.output[-200:]}")
    functions = parse(outcome.output)
    check(functions, f"no function in what {os.path.basename(disassembler)} prints: {outcome.output[:400]}")
    with open(path, "rb") as file:
        add_scoreboards(functions, file.read())
    return functions
