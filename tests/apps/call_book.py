"""What is noted of calls (measurement/event_log.hpp): all events of a program, against the book that it keeps itself."""

from __future__ import annotations

import subprocess
import unittest
from typing import Iterator

from refrain_testing import MPIS, PROGRAMS, TestCase, mpiexec

RANKS = 2


class OneToOne:
    """Names on two sides that stand for the same things."""

    def __init__(self, test: unittest.TestCase, what: str):
        self.test, self.what, self.there, self.back = test, what, {}, {}

    def same(self, ours: str, theirs: str) -> None:
        self.test.assertEqual((theirs, ours), (self.there.setdefault(ours, theirs), self.back.setdefault(theirs, ours)), self.what)


class CallBook(TestCase):
    def books(self, mpi: str) -> Iterator[tuple[list[list[str]], list[list[str]]]]:
        """Of each rank what the program says, and what was noted."""
        book = self.directory / f"program-{mpi}"
        outcome = self.measured(mpiexec(mpi, RANKS, PROGRAMS / f"call_book_{mpi}", book), {"REFRAIN_TRACE": "all"}, timeout=300)
        self.assertEqual((0, b"", ""), (outcome.code, outcome.stdout, outcome.stderr))
        for rank in range(RANKS):
            read = subprocess.run([PROGRAMS / "call_book_records", str(outcome.experiment), str(rank)], check=True, capture_output=True, text=True)
            yield [line.split() for line in book.with_name(f"{book.name}.{rank}").read_text().splitlines()], [line.split() for line in read.stdout.splitlines()]

    def compare(self, told: list[list[str]], noted: list[list[str]]) -> int:
        """`told`: by the program. The number of things that its calls did."""
        first = next(i for i, line in enumerate(noted) if line[:2] == ["call", "MPI_Comm_dup"])
        self.assertEqual(["MPI_Init_thread", "MPI_Comm_rank"], [line[1] for line in noted[:first]])
        self.assertEqual(["call", "MPI_Finalize"], noted[-1][:2])
        noted = noted[first:-1]
        self.assertEqual([line[:2] for line in told], [line[:2] for line in noted])
        requests, communicators, sites = OneToOne(self, "requests"), OneToOne(self, "communicators"), OneToOne(self, "paths")
        windows = OneToOne(self, "windows")
        communicators.same("world", "0")
        last_end = 0
        did = 0
        for line, record in zip(told, noted):
            if line[0] == "call":
                _, function, site, *times = line
                ticks_before, ticks_after, ns_before, ns_after = map(int, times)
                thread, node, begin, end, whole = map(int, record[2:])
                sites.same(site, f"{thread}:{node}")
                in_ticks = ticks_before <= begin <= end <= ticks_after
                self.assertTrue(in_ticks or ns_before <= begin <= end <= ns_after, f"{line} {record}")
                self.assertLessEqual(last_end, begin)
                self.assertEqual(1, whole)
                last_end = end
                continue
            did += 1
            _, kind, phase, peer, tag, communicator, request, site, sent, received = line
            self.assertEqual([kind, phase, peer, tag], record[1:5], f"{line} {record}")
            self.assertEqual([sent, received], record[9:], f"{line} {record}")
            if communicator == "unknown":
                self.assertEqual("-1", record[5], f"{line} {record}")
            else:
                (windows if kind in ("one_sided", "synchronization") else communicators).same(communicator, record[5])
            requests.same(request, record[6])
            if phase in ("completed", "cancelled"):
                sites.same(site, f"{record[7]}:{record[8]}")
        self.assertEqual("0", requests.there["0"], "what has no request")
        return did

    def test_every_field_of_every_record_is_that_of_the_program(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                for told, noted in self.books(mpi):
                    self.assertGreater(self.compare(told, noted), 40)

    def test_it_would_notice_another_field(self) -> None:
        told, noted = next(self.books(MPIS[0]))
        self.compare(told, noted)
        for i, line in enumerate(noted):
            if line[0] != "did" or line[2] != "completed":
                continue
            for field in range(1, len(line)):
                changed = [list(other) for other in noted]
                changed[i][field] = "7"
                with self.subTest(line=line, field=field), self.assertRaises(AssertionError):
                    self.compare(told, changed)
            return
        self.fail("nothing was completed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
