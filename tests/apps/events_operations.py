"""Each collective operation in events has its number on its communicator: the function that has it is told by arithmetic."""

from __future__ import annotations

import csv
import io
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path

from refrain_testing import MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

COMMUNICATORS = {"MPI_COMM_WORLD": 0, "copy": 1, "half": 2, "MPI_COMM_SELF": 3}
FUNCTIONS = ["MPI_Barrier", "MPI_Bcast", "MPI_Allreduce", "MPI_Reduce", "MPI_Allgather", "MPI_Iallreduce"]
# Without the slowest iterations, which not all ranks may have.
SAMPLED = {"REFRAIN_TRACE": "sampled", "REFRAIN_TRACE_MEMORY": "64K", "REFRAIN_TRACE_SLOWEST": "0"}
# Memory for some iterations: what is kept goes to the file in many frames.
ALL_IN_PIECES = {"REFRAIN_TRACE": "all", "REFRAIN_TRACE_MEMORY": "32K"}
STEPS = 600


def operations(rank: int, communicator: str) -> int:
    """How many the program makes."""
    c = COMMUNICATORS[communicator]
    return sum(1 + (step + c) % 3 + (rank if c == 3 else 0) for step in range(STEPS))


class Operations(TestCase):
    def numbers(self, mpi: str, ranks: int, options: dict[str, str], *words: object) -> dict[tuple[int, str], list[int | None]]:
        """By rank and communicator, in order of time. Checks that each belongs to its function."""
        outcome = self.measured(mpiexec(mpi, ranks, PROGRAMS / f"events_operations_{mpi}", STEPS, *words), options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        done = subprocess.run([REFRAIN, "events", outcome.experiment, "--format", "csv"], capture_output=True, text=True,
                              env=clean_environment(), timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        found: dict[tuple[int, str], list[int | None]] = defaultdict(list)
        for row in csv.DictReader(io.StringIO(done.stdout)):
            if row["event"] not in ("collective", "collective_begun"):
                self.assertEqual("", row["operation"], row)
                continue
            name = row["communicator"]
            number = int(row["operation"]) if row["operation"] else None
            found[int(row["rank"]), name].append(number)
            if number is not None:
                self.assertEqual(FUNCTIONS[(7 * number + 3 * COMMUNICATORS[name]) % len(FUNCTIONS)], row["region"], row)
        return found

    def test_all_are_numbered_without_a_gap(self) -> None:
        for mpi, ranks in zip(MPIS, (2, 3)):
            with self.subTest(mpi=mpi):
                found = self.numbers(mpi, ranks, ALL_IN_PIECES)
                for (rank, communicator), numbers in found.items():
                    every = list(range(operations(rank, communicator)))
                    if rank == 1 and communicator == "copy":  # the measurement stopped in every fifth step
                        begin = [sum(1 + (step + 1) % 3 for step in range(until)) for until in range(STEPS + 1)]
                        every = [n for step in range(STEPS) if step % 5 != 2 for n in range(begin[step], begin[step + 1])]
                    self.assertTrue(every == numbers, f"{communicator} on rank {rank}: {numbers[:40]}")
                self.assertEqual(ranks * len(COMMUNICATORS), len(found))

    def test_numbers_of_a_sample(self) -> None:
        for mpi, ranks in zip(MPIS, (4, 2)):
            with self.subTest(mpi=mpi):
                found = self.numbers(mpi, ranks, SAMPLED)
                self.assertEqual(ranks * len(COMMUNICATORS), len(found))
                for (rank, communicator), numbers in found.items():
                    self.assertNotIn(None, numbers)
                    self.assertGreater(len(numbers), 20)
                    self.assertLess(len(numbers), operations(rank, communicator))
                    if communicator == "MPI_COMM_WORLD":  # the same iterations are kept on all ranks
                        self.assertTrue(set(numbers) == set(found[0, communicator]))

    def test_an_operation_that_fails_on_one_rank(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                found = self.numbers(mpi, 2, ALL_IN_PIECES, STEPS // 2)
                before = sum(1 + (step + 1) % 3 for step in range(STEPS // 2) if step % 5 != 2)
                of_failed = found[1, "copy"]
                self.assertNotIn(None, of_failed[:before])
                self.assertEqual({None}, set(of_failed[before:]))
                self.assertEqual(list(range(operations(0, "copy"))), found[0, "copy"])
                self.assertNotIn(None, found[1, "MPI_COMM_WORLD"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
