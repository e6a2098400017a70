"""The floating-point environment is the program's: Refrain computes in one of its own, wherever it works."""

from __future__ import annotations

import bisect
import re
import subprocess
import sys
import unittest
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, FULL, MPIS, Outcome, TestCase, mpiexec  # noqa: E402

PROGRAMS = BUILD / "tests" / "issues"

# Values of MXCSR (Intel SDM, volume 1, figure 10-3).
ALL_TRAP = "0000"  # the inexact result too, so nearly all arithmetic ends the program
FLUSH_AND_ROUND_UP = "dfc0"  # no flag is set: one that Refrain raises is seen
ENVIRONMENTS = (ALL_TRAP, FLUSH_AND_ROUND_UP)

# What has to compute, by the options that have it compute most.
WORK = {
    "marks": {"REFRAIN_SNAPSHOT": "1", "REFRAIN_SAMPLING_FREQUENCY": "1000"},
    "calls": {"REFRAIN_ITERATION_AT": "MPI_Barrier", "REFRAIN_METRICS": "ru_utime", "REFRAIN_SAMPLING_SOURCE": "timer",
              "REFRAIN_CLUSTER_EQUIVALENCE": "all"},
    "wall": {"REFRAIN_SAMPLING_CLOCK": "wall"},
}


class OfPrograms(TestCase):
    def check(self, command: list[object], env: dict[str, str]) -> Outcome:
        """The same environment at all places of the program, with and without Refrain."""
        plain, measured = self.plain(command), self.measured(command, env)
        self.assertEqual((plain.code, sorted(plain.stdout.splitlines())),
                         (measured.code, sorted(measured.stdout.splitlines())), measured.stderr)
        self.assertGreater(len(plain.stdout.splitlines()), 2)
        return measured

    def check_mpi(self, mpi: str, mxcsr: str, work: str) -> None:
        with self.subTest(mpi=mpi, mxcsr=mxcsr, work=work):
            program = PROGRAMS / f"floating_point_{mpi}"
            measured = self.check(mpiexec(mpi, 2, program, mxcsr, "return", work), WORK[work])
            report = self.report(measured)
            self.assertEqual("complete", report.data["experiment"]["state"])

    def test_of_an_mpi_program(self) -> None:
        if FULL:
            cases = [(mpi, mxcsr, work) for mpi in MPIS for mxcsr in ENVIRONMENTS for work in WORK]
        else:
            cases = [(MPIS[0], ALL_TRAP, "marks"), (MPIS[0], FLUSH_AND_ROUND_UP, "calls")]
        for case in cases:
            self.check_mpi(*case)

    def test_of_a_program_that_ends_without_mpi(self) -> None:
        for ending in ("return", "_exit", "killed") if FULL else ("_exit",):
            for mxcsr in ENVIRONMENTS if FULL else (ALL_TRAP,):
                with self.subTest(ending=ending, mxcsr=mxcsr):
                    measured = self.check([PROGRAMS / "floating_point_serial", mxcsr, ending, "marks"], WORK["marks"])
                    self.assertGreater(self.report(measured).of_function("work", "samples"), 10)


# ---- the code -------------------------------------------------------------------------------------------------------

# SSE: what depends on MXCSR or sets its flags.
COMPUTES = re.compile(r"v?(add|sub|mul|div|sqrt|min|max|hadd|hsub|addsub|dp)[ps][sd]|v?u?comis[sd]|v?cmp\w*[ps][sd]|v?round[ps][sd]|v?cvt\w+")
# x87 and MMX, which share registers and have a control word of their own.
IS_X87 = re.compile(r"f\w+|emms")
CHANGES_ENVIRONMENT = ("ldmxcsr", "vldmxcsr")

# Functions that are called from outside, or whose address is taken, and need no environment of their own, because:
CLEAN = {
    "the kernel gives a signal handler a clean environment": "handle_tick",
    "a helper thread has begun with one": "end_process",
}


class Code:
    """The functions of a library, by address: what each contains, calls, and takes the address of."""

    def __init__(self, library: Path):
        self.names: dict[int, str] = {}
        self.x87: set[int] = set()
        self.computes: set[int] = set()  # in the environment that it was called in
        self.guarded: set[int] = set()
        self.edges: dict[int, set[int]] = defaultdict(set)
        self.entries: set[int] = set()
        taken: set[int] = set()
        function = 0
        with subprocess.Popen(["objdump", "-d", "-w", "--no-show-raw-insn", library], stdout=subprocess.PIPE, text=True) as dump:
            assert dump.stdout
            for line in dump.stdout:
                if line.startswith("0"):
                    function = int(line[:16], 16)
                    self.names[function] = line[18:-3]
                    continue
                _, _, instruction = line.rstrip().partition(":\t")
                name, _, operands = instruction.partition(" ")
                if IS_X87.fullmatch(name) or "%mm" in operands or "%st" in operands:
                    self.x87.add(function)
                elif name in CHANGES_ENVIRONMENT:
                    self.guarded.add(function)
                elif COMPUTES.fullmatch(name):
                    if function not in self.guarded:
                        self.computes.add(function)
                elif name == "lea" and "# " in operands:
                    taken.add(int(operands.partition("# ")[2].split()[0], 16))
                elif (name == "call" or name.startswith("j")) and not operands.lstrip().startswith("*"):
                    self.edges[function].add(int(operands.split()[0], 16))
        relocations = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout
        taken |= {int(address, 16) for address in re.findall(r"R_X86_64_RELATIVE\s+([0-9a-f]+)", relocations)}
        exported = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        taken |= {int(line[:16], 16) for line in exported.splitlines()}
        self.entries = taken & self.names.keys()
        starts = sorted(self.names)
        for function, targets in self.edges.items():  # jumps lead into functions, too, that the compiler has split
            self.edges[function] = {starts[bisect.bisect(starts, target) - 1] for target in targets} - {function}

    def computing(self) -> list[list[str]]:
        """Ways from outside to functions that compute in the program's environment."""
        found: list[list[str]] = []
        way: dict[int, int] = {entry: 0 for entry in self.entries if not any(name in self.names[entry] for name in CLEAN.values())}
        waiting = list(way)
        for function in waiting:  # grows
            if function in self.computes:
                path = [function]
                while way[path[-1]]:
                    path.append(way[path[-1]])
                found.append([self.names[f] for f in reversed(path)])
            elif function not in self.guarded:
                new = [callee for callee in self.edges[function] if callee not in way]
                way.update(dict.fromkeys(new, function))
                waiting += new
        return found


class OfTheCode(unittest.TestCase):
    def test_computes_in_an_environment_of_its_own(self) -> None:
        libraries = [library for mpi in ("serial", *reversed(MPIS)) for library in BUILD.glob(f"lib/librefrain-{mpi}.so")]
        self.assertTrue(libraries)
        for library in libraries if FULL else libraries[-1:]:
            with self.subTest(library.name):
                code = Code(library)
                self.assertGreater(len(code.names), 1000)
                self.assertGreater(len(code.guarded), 10)
                self.assertGreater(len(code.entries), 100)
                self.assertEqual([], [code.names[f] for f in code.x87], "x87")
                self.assertEqual([], code.computing())


if __name__ == "__main__":
    unittest.main(verbosity=2)
