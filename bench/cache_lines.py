#!/usr/bin/env python3
"""Counts the distinct cache lines, code and data, that an MPI call, a sample and the end of an iteration touch in user mode.
Usage: cache_lines.py [--detail PART] BUILD [DEPTH...]
--detail call|sample|end also lists the functions with their instructions and lines of code, and the lines of data with who touches them.

The program runs each of them instruction by instruction (programs/step.c), which gives the registers before each one; the
disassembly of the modules tells which memory an instruction reads or writes. Exact but for the kernel's own lines, and the
vDSO's data. A thread that is stepped loses its processor all the time, so the end of an iteration reads the CPU clock by
the system call.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

DETAIL = {"end": 0, "call": 1, "sample": 2}[sys.argv[2]] if sys.argv[1:2] == ["--detail"] else None
WORDS = sys.argv[3:] if DETAIL is not None else sys.argv[1:]
BUILD = Path(WORDS[0] if WORDS else "build").resolve()
DEPTHS = WORDS[1:] or ["5", "20"]
SIGNAL = "60"
LINE = 64
PARTS = ("the end of an iteration", "an MPI call", "a sample")
REGISTERS = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs "
             "gs").split()
RECORD = struct.Struct(f"<{1 + len(REGISTERS)}Q")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t([^#]*)")
OPERAND = re.compile(r"(?:%(fs|gs):)?(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+),(\d))?\)|%(fs|gs):(0x[0-9a-f]+)")
NO_ACCESS = ("lea", "nop", "cs nop", "data16", "endbr", "prefetch")
STRING_SIZE = {"b": 1, "w": 2, "l": 4, "q": 8}


def disassembly(path: str, addresses: set[int]) -> dict[int, str]:
    """Text of the instructions of a file from the first to the last of these addresses."""
    said = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--start-address={min(addresses)}",
                           f"--stop-address={max(addresses) + 16}", path], capture_output=True, text=True, check=True).stdout
    return {int(match[1], 16): match[2].strip() for match in map(INSTRUCTION.match, said.splitlines()) if match}


def register(values: dict[str, int], name: str) -> int:
    name = name.lstrip("%")
    if name in values:
        return values[name]
    if name in ("riz", "eiz"):
        return 0
    return values["r" + name[1:]] & 0xFFFFFFFF  # eax and such


def size_of(name: str, text: str) -> int:
    """Bytes of the memory operand: by the register beside it, else by the instruction's suffix."""
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
    """Address and size of what an instruction reads and writes. `after`: address of the next one."""
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
    """The address in the file's own terms of what lies at this offset of it."""
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
    return "other" if name.startswith("/") or name == "[vdso]" else "Refrain"  # without a file: trees, locations, the log


def count(depth: str, work: Path) -> None:
    trace = work / "trace"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")} | {
        "REFRAIN_EXPERIMENT_DIRECTORY": str(work / f"experiment-{depth}"), "REFRAIN_SAMPLING_SIGNAL": SIGNAL,
        "REFRAIN_SAMPLING_CLOCK": "wall", "REFRAIN_SAMPLING_FREQUENCY": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader"}
    program = [BUILD / "bin/refrain", "exec", BUILD / "bench/one_of_each", depth, SIGNAL]
    subprocess.run([BUILD / "bench/step", trace, *program], env=environment, check=True, cwd=work)
    head, steps = trace.read_bytes().split(b"\n\n", 1)
    modules = Map(head.decode())
    records = list(RECORD.iter_unpack(steps[:len(steps) // RECORD.size * RECORD.size]))
    first = dict(zip(REGISTERS, records[0][1:]))
    stack = modules.find(first["rsp"])[:2]
    # Where each instruction lies in its file.
    places: dict[int, tuple[str, int]] = {}
    for record in records:
        rip = record[1 + REGISTERS.index("rip")]
        if rip not in places:
            low, _, offset, name = modules.find(rip)
            places[rip] = (name, file_address(name, rip - low + offset) if name.startswith("/") else rip)
    texts = {name: disassembly(name, {a for n, a in places.values() if n == name})
             for name in {n for n, _ in places.values()} if name.startswith("/")}
    code = [defaultdict(set) for _ in PARTS]
    data = [defaultdict(set) for _ in PARTS]
    instructions = [0] * len(PARTS)
    for part, *values_of in records:
        values = dict(zip(REGISTERS, values_of))
        rip = values["rip"]
        name, address = places[rip]
        instructions[part] += 1
        code[part][owner(name, rip, stack)].add(rip // LINE)
        text = texts.get(name, {}).get(address, "")
        if not text:
            continue
        following = next((a for a in range(address + 1, address + 16) if a in texts[name]), address + 8)
        for at, size in accesses(text, values, rip + following - address):
            for line in range(at // LINE, (at + max(size, 1) - 1) // LINE + 1):
                data[part][owner(modules.find(at)[3], at, stack)].add(line)
    if DETAIL is not None:
        show_detail([r for r in records if r[0] == DETAIL], places, texts, modules, stack)
    for part, what in enumerate(PARTS):
        total = [sum(map(len, lines[part].values())) for lines in (code, data)]
        print(f"| {what}, {depth} frames | {instructions[part]} | {total[0]} ({len(code[part]['Refrain'])} of Refrain) | {total[1]} "
              f"({len(data[part]['Refrain'])} of Refrain, {len(data[part]['stack'])} of the stack) |", flush=True)


def show_detail(records: list, places: dict, texts: dict, modules: Map, stack: tuple[int, int]) -> None:
    symbols = {name: Symbols(name) for name in texts}
    executed: dict[str, int] = defaultdict(int)
    lines_of: dict[str, set[int]] = defaultdict(set)
    touched: dict[int, dict[str, None]] = defaultdict(dict)
    for _, *values_of in records:
        values = dict(zip(REGISTERS, values_of))
        rip = values["rip"]
        name, address = places[rip]
        function = (symbols[name].name(address) if name in symbols else "?") + ("" if "librefrain" in name else f" [{Path(name).name}]")
        executed[function] += 1
        lines_of[function].add(rip // LINE)
        text = texts.get(name, {}).get(address, "")
        if not text:
            continue
        following = next((a for a in range(address + 1, address + 16) if a in texts[name]), address + 8)
        for at, size in accesses(text, values, rip + following - address):
            for line in range(at // LINE, (at + max(size, 1) - 1) // LINE + 1):
                touched[line].setdefault(function)
    print("\ninstructions, lines of code, function")
    for function, count in executed.items():
        print(f"{count:6} {len(lines_of[function]):4}  {function}")
    print("\nlines of data: where, by whom")
    for line, functions in sorted(touched.items()):
        low, _, offset, name = modules.find(line * LINE)
        where = "stack" if stack[0] <= line * LINE < stack[1] else Path(name).name if name else f"pages {low:x}"
        if name.startswith("/") and name in symbols:
            where += " " + symbols[name].name(file_address(name, line * LINE - low + offset))
        print(f"  {where} +{line * LINE - low:#x}: {', '.join(functions)}")
    print()


def main() -> None:
    print("| what | instructions | cache lines of code | of data |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        for depth in DEPTHS:
            count(depth, Path(directory))


if __name__ == "__main__":
    main()
