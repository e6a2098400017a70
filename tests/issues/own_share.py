"""A program that locks its memory, or needs most of the descriptors that it may have, gets what it needs: Refrain takes a small,
bounded share."""

from __future__ import annotations

import resource
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import SOURCE, Outcome, TestCase  # noqa: E402

THREADS = 30
# Per thread what a small call tree needs and what is kept back for when it is full; beside that the memory for events and messages.
MIB_OF_A_THREAD, MIB_OF_A_PROCESS = 2, 48


class OwnShare(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.program = self.directory / "own_share"
        subprocess.run(["gcc", "-O1", "-pthread", str(SOURCE / "tests/issues/own_share.c"), "-o", str(self.program)], check=True)

    def both(self, *arguments: object) -> tuple[int | None, int | None, Outcome]:
        """The number that the program prints without Refrain and with it; None: it says no."""
        command = [self.program, *map(str, arguments)]
        plain, outcome = self.plain(command), self.measured(command)
        self.assertEqual((0, 0), (plain.code, outcome.code), outcome.stderr)
        number = lambda of: None if of.stdout == b"no\n" else int(of.stdout)
        return number(plain), number(outcome), outcome

    def test_locked_memory_is_bounded(self) -> None:
        for when in ("before", "after"):
            with self.subTest(when):
                plain, ours, outcome = self.both("locked", THREADS, when)
                if plain is None or ours is None:
                    self.skipTest("memory may not be locked here (ulimit -l)")
                print(f"locked {when}: {plain >> 10} MiB, with Refrain {ours >> 10} MiB")
                self.assertLess(ours - plain, (THREADS * MIB_OF_A_THREAD + MIB_OF_A_PROCESS) << 10)
                report = self.report(outcome)
                self.assertEqual(THREADS + 1, len(report.locations))
                self.assertNotIn("arena_full", report.losses())

    def test_descriptors_are_the_programs(self) -> None:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
        try:
            plain, ours, outcome = self.both("descriptors", 400, 900)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        self.assertEqual((900, 900), (plain, ours))
        report = self.report(outcome)
        sampling = report.data["experiment"]["sampling"]
        if sampling.get("source") == "task_clock":
            self.assertGreater(report.losses().get("task_clock_unavailable", 0), 200, "others are sampled without")


if __name__ == "__main__":
    unittest.main()
