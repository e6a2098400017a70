#!/usr/bin/env python3
"""Counts the distinct cache lines, code and data, that an MPI call, a sample and the end of an iteration touch in user mode.

programs/step.c steps through each of them and writes the registers before every instruction; the disassembly of the modules
tells which memory an instruction reads or writes. The counts are exact except for the lines of the kernel and the data of the
vDSO. Stepping makes the thread lose its processor all the time, which step.c hides from Refrain. It cannot hide that stepping
takes long, so the end of an iteration reads the CPU clock by the system call, as for iterations of 0.4 ms and more.
"""
import argparse
import os
import re
import struct
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Iterator, NamedTuple

SIGNAL = "60"
LINE = 64
PARTS = {"end": "the end of an iteration", "call": "an MPI call", "sample": "a sample"}
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs "
             "gs").split()
RECORD = struct.Struct(f"<{1 + len(REGISTERS)}Q")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t([^#]*)")
OPERAND = re.compile(r"(?:%(fs|gs):)?(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+),(\d))?\)|%(fs|gs):(0x[0-9a-f]+)")
NO_ACCESS = ("lea", "nop", "cs nop", "data16", "endbr", "prefetch")
STRING_SIZE = {"b": 1, "w": 2, "l": 4, "q": 8}


def disassembly(path: str, addresses: set[int]) -> dict[int, str]:
    """Returns the text of a file's instructions from the lowest to the highest of these addresses, by address."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={min(addresses)}",
                           f"--stop-address={max(addresses) + 16}", path], capture_output=True, text=True, check=True).stdout
    return {int(match[1], 16): match[2].strip() for match in map(INSTRUCTION.match, said.splitlines()) if match}


def register(values: dict[str, int], name: str) -> int:
    name = name.lstrip("%")
    if name in values:
        return values[name]
    if name in ("riz", "eiz"):
        return 0
    return values["r" + name[1:]] & 0xFFFFFFFF  # 32-bit names such as eax


def size_of(name: str, text: str) -> int:
    """Returns the size of the memory operand in bytes, from the register operand or else from the instruction's suffix."""
    if "%ymm" in text:
        return 32
    if "%xmm" in text:
        return 8 if name.endswith(("sd", "q")) and not name.endswith("dq") else 4 if name.endswith("ss") else 16
    if match := re.match(r"mov[sz]([bwl])", name):
        return STRING_SIZE[match[1]]
    for word in re.findall(r"(?<![(,])%(\w+)(?![\w)]*\))", re.sub(r"\([^)]*\)", "", text)):
        if re.fullmatch(r"e\w\w|r\d+d", word):
            return 4
        if re.fullmatch(r"[abcd][lh]|[sd]il|[sb]pl|r\d+b", word):
            return 1
        if re.fullmatch(r"[abcd]x|[sd]i|[sb]p|r\d+w", word):
            return 2
        if word.startswith("r"):
            return 8
    return STRING_SIZE.get(name[-1], 8) if "$" in text else 8


def accesses(text: str, values: dict[str, int], after: int) -> list[tuple[int, int]]:
    """Returns the addresses and sizes that an instruction reads and writes. `after` is the address of the next instruction."""
    name = text.split()[0]
    found = []
    if text.startswith("rep") and (match := re.search(r"(stos|movs|scas|cmps)([bwlq])", text)):
        size = STRING_SIZE[match[2]] * values["rcx"]
        found.append((values["rdi"], size))
        return found + ([(values["rsi"], size)] if match[1] in ("movs", "cmps") else [])
    if name.startswith(("push", "call")):
        found.append((values["rsp"] - 8, 8))
    if name.startswith(("pop", "ret", "leave")):
        found.append((values["rbp"] if name.startswith("leave") else values["rsp"], 8))
    if text.startswith(NO_ACCESS):
        return found
    size = size_of(name, text)
    if name.startswith("xsave") or name.startswith("xrstor"):
        size = 832
    for segment, offset, base, index, scale, far_segment, far in OPERAND.findall(text):
        at = int(offset or far or "0", 16)
        if base == "%rip":
            at += after
        elif base:
            at += register(values, base)
        if index:
            at += register(values, index) * int(scale)
        if segment or far_segment:
            at += values[(segment or far_segment) + "_base"]
        found.append((at & (1 << 64) - 1, size))
    return found


class Map:
    def __init__(self, text: str):
        self.ranges = []
        for line in text.splitlines():
            fields = line.split()
            low, high = (int(a, 16) for a in fields[0].split("-"))
            self.ranges.append((low, high, int(fields[2], 16), fields[5] if len(fields) > 5 else ""))

    def find(self, address: int) -> tuple[int, int, int, str]:
        return next((r for r in self.ranges if r[0] <= address < r[1]), (0, 0, 0, ""))


def file_address(path: str, offset: int) -> int:
    """Returns the virtual address, as given in the file, of the data at this file offset."""
    said = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    for line in said.splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"]:
            begin, address, size = int(fields[1], 16), int(fields[2], 16), int(fields[4], 16)
            if begin <= offset < begin + size:
                return address - begin + offset
    return offset


class Symbols:
    """Functions and variables of a file, by address."""

    def __init__(self, path: str):
        said = subprocess.run(["nm", "-nSC", "--defined-only", path], capture_output=True, text=True).stdout
        said += subprocess.run(["nm", "-nSCD", "--defined-only", path], capture_output=True, text=True).stdout
        self.ranges = sorted((int(f[0], 16), int(f[1], 16), f[3].split("(")[0]) for f in
                             (line.split(maxsplit=3) for line in said.splitlines()) if len(f) == 4 and len(f[2]) == 1)

    def name(self, address: int) -> str:
        for begin, size, name in self.ranges:
            if begin <= address < begin + max(size, 1):
                return name
        return hex(address)


def owner(name: str, address: int, stack: tuple[int, int]) -> str:
    if stack[0] <= address < stack[1]:
        return "stack"
    if "librefrain" in name:
        return "Refrain"
    return "other" if name.startswith("/") or name == "[vdso]" else "Refrain"  # anonymous memory: trees, locations, the log


class Step(NamedTuple):
    """An instruction that was executed."""

    part: int     # index in PARTS
    rip: int      # address in the process
    file: str     # file that contains the instruction
    address: int  # address in that file
    touched: list[int]  # cache lines of data


class Trace:
    """The instructions that the program executed, read from the file that programs/step.c writes."""

    def __init__(self, file: Path):
        head, steps = file.read_bytes().split(b"\n\n", 1)
        self.modules = Map(head.decode())
        self.records = list(RECORD.iter_unpack(steps[:len(steps) // RECORD.size * RECORD.size]))
        first = dict(zip(REGISTERS, self.records[0][1:]))
        self.stack = self.modules.find(first["rsp"])[:2]
        self.locations: dict[int, tuple[str, int]] = {}
        for record in self.records:
            rip = record[1 + REGISTERS.index("rip")]
            if rip not in self.locations:
                low, _, offset, name = self.modules.find(rip)
                self.locations[rip] = (name, file_address(name, rip - low + offset) if name.startswith("/") else rip)
        self.texts = {name: disassembly(name, {a for n, a in self.locations.values() if n == name})
                      for name in {n for n, _ in self.locations.values()} if name.startswith("/")}

    def steps(self) -> Iterator[Step]:
        for part, *values_of in self.records:
            values = dict(zip(REGISTERS, values_of))
            rip = values["rip"]
            name, address = self.locations[rip]
            lines: list[int] = []
            if text := self.texts.get(name, {}).get(address, ""):
                following = next((a for a in range(address + 1, address + 16) if a in self.texts[name]), address + 8)
                for at, size in accesses(text, values, rip + following - address):
                    lines += range(at // LINE, (at + max(size, 1) - 1) // LINE + 1)
            yield Step(part, rip, name, address, lines)


def trace_of(build: Path, depth: str, work: Path) -> Trace:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")} | {
        "REFRAIN_EXPERIMENT_DIRECTORY": str(work / f"experiment-{depth}"), "REFRAIN_SAMPLING_SIGNAL": SIGNAL,
        "REFRAIN_SAMPLING_CLOCK": "wall", "REFRAIN_SAMPLING_FREQUENCY": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader"}
    program = [build / "bin/refrain", "exec", build / "bench/one_of_each", depth, SIGNAL]
    subprocess.run([build / "bench/step", work / "trace", *program], env=environment, check=True, cwd=work)
    return Trace(work / "trace")


def show_counts(trace: Trace, depth: str) -> None:
    code = [defaultdict(set) for _ in PARTS]
    data = [defaultdict(set) for _ in PARTS]
    instructions = [0] * len(PARTS)
    for step in trace.steps():
        instructions[step.part] += 1
        code[step.part][owner(step.file, step.rip, trace.stack)].add(step.rip // LINE)
        for line in step.touched:
            data[step.part][owner(trace.modules.find(line * LINE)[3], line * LINE, trace.stack)].add(line)
    for part, what in enumerate(PARTS.values()):
        total = [sum(map(len, lines[part].values())) for lines in (code, data)]
        print(f"| {what}, {depth} frames | {instructions[part]} | {total[0]} ({len(code[part]['Refrain'])} of Refrain) | {total[1]} "
              f"({len(data[part]['Refrain'])} of Refrain, {len(data[part]['stack'])} of the stack) |", flush=True)


def show_detail(trace: Trace, wanted: str) -> None:
    """Prints, for one of PARTS, the functions with their instructions and lines of code, and the lines of data with the
    functions that touch them."""
    modules = trace.modules
    symbols = {name: Symbols(name) for name in trace.texts}
    executed: dict[str, int] = defaultdict(int)
    lines_of: dict[str, set[int]] = defaultdict(set)
    touched: dict[int, dict[str, None]] = defaultdict(dict)
    for step in trace.steps():
        if step.part != list(PARTS).index(wanted):
            continue
        function = symbols[step.file].name(step.address) if step.file in symbols else "?"
        function += "" if "librefrain" in step.file else f" [{Path(step.file).name}]"
        executed[function] += 1
        lines_of[function].add(step.rip // LINE)
        for line in step.touched:
            touched[line].setdefault(function)
    print("\ninstructions, lines of code, function")
    for function, count in executed.items():
        print(f"{count:6} {len(lines_of[function]):4}  {function}")
    print("\nlines of data: address, functions that touch them")
    for line, functions in sorted(touched.items()):
        low, _, offset, name = modules.find(line * LINE)
        where = "stack" if trace.stack[0] <= line * LINE < trace.stack[1] else Path(name).name if name else f"pages {low:x}"
        if name.startswith("/") and name in symbols:
            where += " " + symbols[name].name(file_address(name, line * LINE - low + offset))
        print(f"  {where} +{line * LINE - low:#x}: {', '.join(functions)}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--detail", choices=PARTS, help="list the functions and lines of one of the parts")
    parser.add_argument("build", type=Path, nargs="?", default=Path("build"))
    parser.add_argument("depths", nargs="*", default=["5", "20"], metavar="depth", help="frames of the call path")
    options = parser.parse_args()
    print("| what | instructions | cache lines of code | of data |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        for depth in options.depths:
            trace = trace_of(options.build.resolve(), depth, Path(directory))
            show_counts(trace, depth)
            if options.detail:
                show_detail(trace, options.detail)


if __name__ == "__main__":
    main()
