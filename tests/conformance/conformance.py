"""The programs of this folder: same results with and without Refrain, and what it reports is their truth.

CONFORMANCE_MPI names the MPI, MPIEXEC its launcher. Programs run with 2 ranks and with 3 or 4. For every rank and
every call path from main to an MPI function the visits, messages and bytes that `refrain report` shows are those that
the program wrote down.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, FULL, SOURCE, Outcome, Report, TestCase, patiently  # noqa: E402

MPI = os.environ.get("CONFORMANCE_MPI", "openmpi")
MPIEXEC = os.environ.get("MPIEXEC", f"mpiexec.{MPI}")
PROGRAMS = BUILD / "tests" / "conformance" / MPI
COLUMNS = ["visits", "messages_sent", "bytes_sent", "messages_received", "bytes_received", "messages_completed",
           "bytes_completed", "bytes_read", "bytes_written"]

Paths = dict[str, list[int]]

called: set[str] = set()  # functions of the truths of all programs that were run


def truth_of(path: Path) -> Paths:
    paths = {}
    for line in path.read_text().splitlines():
        name, *counts = line.split()
        paths[name] = [int(count) for count in counts]
        called.add(name.rpartition("/")[2])
    return paths


def recorded(report: Report) -> Paths:
    """By the functions from main on. Call sites of a function are one path."""
    paths: Paths = defaultdict(lambda: [0] * len(COLUMNS))
    for callpath in report.callpaths:
        row = [callpath[column] for column in COLUMNS]
        if not any(row):
            continue
        names = callpath["path"]
        first = names.index("main") if "main" in names else 0
        path = paths["/".join(names[first:])]
        for i, value in enumerate(row):
            path[i] += value
    return dict(paths)


class Conformance(TestCase):
    def run_program(self, program: str, ranks: int, *arguments: str, losses: dict[str, int] | None = None,
                    env: dict[str, str] | None = None, starts_processes: bool = False) -> None:
        self.assertTrue((PROGRAMS / program).exists(), f"{PROGRAMS / program} is not built")
        with self.subTest(f"{program} {' '.join(arguments)}", ranks=ranks):
            command = [MPIEXEC, "-n", str(ranks), PROGRAMS / program, *arguments]
            truth = self.directory / f"truth-{program}-{ranks}"
            scratch = self.directory / "files"
            variables = {"SCRATCH": str(scratch), "TRUTH_FILE": str(truth)} | (env or {})
            timeout = 30 if starts_processes else 600 if FULL else 120

            def run_in_scratch(run: Callable[..., Outcome]) -> Outcome:
                shutil.rmtree(scratch, ignore_errors=True)
                scratch.mkdir()
                return run(command, variables, timeout)

            plain, measured = [patiently(lambda: run_in_scratch(run)) if starts_processes else run_in_scratch(run)
                               for run in (self.plain, self.measured)]
            self.assertEqual(0, plain.code, f"without Refrain: {plain.stderr[-2000:]}")
            self.assert_same_result(plain, measured)
            self.assertNotEqual(b"", plain.stdout)
            whole = self.report(measured)
            lost = whole.losses_of_calls()
            self.assertEqual(losses or {}, lost, "losses, those of samples aside")
            for communicator in whole.data["communicators"]:
                everybody = communicator["size"] + communicator["remote_size"]
                self.assertEqual(max(0, everybody - ranks), communicator["outside"], communicator)
            for rank in range(ranks):
                self.compare(truth_of(Path(f"{truth}.{rank}")),
                             recorded(self.report(measured, "--rank", str(rank))), f"{program}, rank {rank} of {ranks}")

    def compare(self, truth: Paths, record: Paths, where: str) -> None:
        wrong = []
        for path in sorted(truth.keys() | record.keys()):
            if truth.get(path) == record.get(path):
                continue
            expected, seen = truth.get(path), record.get(path)
            if expected is None or seen is None:
                wrong.append(f"{path}: {'only recorded' if expected is None else 'not recorded'} {expected or seen}")
                continue
            wrong += [f"{path}: {column}: recorded {seen[i]}, truth {expected[i]}"
                      for i, column in enumerate(COLUMNS) if expected[i] != seen[i]]
        self.assertEqual([], wrong, f"{where}:\n" + "\n".join(wrong[:40]))

    def check_program(self, program: str, few: int = 2, more: int = 3, losses_per_rank: dict[str, int] | None = None,
                      more_matters: bool = False) -> None:
        """With both numbers of ranks; and where MPI has large counts, its functions for them, too.

        The short form has more ranks only where they matter.
        """
        large = program + "_c"
        for form in [program, large] if (PROGRAMS / large).exists() else [program]:
            for n in (few, more) if FULL or more_matters and form == program else (few,):
                self.run_program(form, n, losses={k: v * n for k, v in (losses_per_rank or {}).items()})

    def test_point_to_point(self) -> None:
        # MPICH 4.0 does not say how much a request of MPI_Isendrecv brought: twice in each of three functions.
        self.check_program("point_to_point", more_matters=True,
                           losses_per_rank={"unknown_receive": 6} if MPI == "mpich" else {})

    def test_requests(self) -> None:
        # Receives that are freed while they are active: 7 in each of two functions.
        self.check_program("requests", more_matters=True, losses_per_rank={"unknown_receive": 14})

    def test_persistent(self) -> None:
        self.check_program("persistent")

    def test_collectives(self) -> None:
        self.check_program("collectives", more_matters=True)

    def test_neighborhoods(self) -> None:
        self.check_program("neighborhoods", more=4, more_matters=True)

    def test_one_sided(self) -> None:
        self.check_program("one_sided")

    def test_files(self) -> None:
        self.check_program("files")

    def test_communicators(self) -> None:
        self.check_program("communicators", more_matters=True)

    @unittest.skipIf(MPI == "mpich", "Debian's MPICH has no dynamic processes")
    def test_processes_that_meet(self) -> None:
        for what in ("connect", "spawn"):
            self.run_program("communicators", 2, what, env={"OMPI_MCA_btl": "self,vader,tcp"}, starts_processes=True)

    def test_datatypes(self) -> None:
        self.check_program("datatypes")

    def test_errors(self) -> None:
        self.check_program("errors")

    @unittest.skipUnless((PROGRAMS / "sessions").exists(), "no sessions in this MPI")
    def test_sessions(self) -> None:
        self.run_program("sessions", 2)

    def test_without_initialization(self) -> None:
        self.run_program("uninitialized", 1)

    def test_large(self) -> None:
        self.run_program("large", 2)


class Covered(unittest.TestCase):
    """Runs last: which functions the programs called."""

    # They move nothing between ranks.
    LOCAL = ("local", "management", "control", "abort", "unwrapped", "group", "datatype")
    # Functions that no program can call, and why.
    LEFT_OUT = {
        "MPIX_Comm_agree": "MPICH 4.0 stops in it",
        "MPIX_Comm_shrink": "begins with MPIX_Comm_agree",
    } | {name: "Debian's MPICH has no dynamic processes" for name in (
        "MPI_Comm_accept", "MPI_Comm_connect", "MPI_Comm_join", "MPI_Comm_spawn",
        "MPI_Comm_spawn_multiple") if MPI == "mpich"}

    def test_every_function_that_communicates_is_called(self) -> None:
        if len(called) < 200:
            self.skipTest("only a part of the programs was run")
        rows = re.findall(r'\{"(\w+)", "(\w+)", "(\w+)", "[^"]*"\}',
                          (BUILD / "adapters" / "mpi" / MPI / "coverage.inc").read_text())
        self.assertGreater(len(rows), 300)
        missing = sorted(function for _, function, operation in rows
                         if operation not in self.LOCAL and function not in called and function not in self.LEFT_OUT)
        self.assertFalse(missing, "no program calls " + " ".join(missing))


if __name__ == "__main__":
    unittest.main(verbosity=2)
