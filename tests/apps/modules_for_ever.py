"""Programs that load and unload libraries for ever: bounded memory, right names, no deadlock."""

from __future__ import annotations

import re
import shutil
import unittest

from refrain_testing import FULL, PROGRAMS, Report, TestCase

PROGRAM = PROGRAMS / "modules_for_ever"
FIRST, SECOND = PROGRAMS / "libmodules_first.so", PROGRAMS / "libmodules_second.so"
ROUNDS = 3000  # far more unloads than the 1,024 that were once the end of what could be told apart


def visits(report: Report, function: str, region: str) -> int:
    """Of a marked region, as far as it was marked by this function."""
    return sum(c["region"]["visits"] for c in report.callpaths if "region" in c and c["path"][-2:] == [function, region])


class Rounds(TestCase):
    """Fault 13: another library comes to lie where the first one lay."""

    def rounds(self, *libraries: object) -> Report:
        # The least memory: 3,000 rounds with new call paths each time would fill it several times.
        outcome = self.measured([PROGRAM, "rounds", ROUNDS, *libraries], {"REFRAIN_MEMORY": "1M"})
        self.assertEqual((0, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertNotIn("arena_full", report.losses(), "call paths were made anew")
        self.assertEqual(ROUNDS, visits(report, "own_work", "own"))
        grown = re.search(r"grown_kib (-?\d+)", outcome.stderr)
        assert grown, outcome.stderr
        self.assertLess(int(grown[1]), 600, "the program's memory grows with what it unloads")
        return report

    def test_a_library_that_comes_back_has_its_call_paths_again(self) -> None:
        report = self.rounds(FIRST)
        self.assertEqual(ROUNDS, visits(report, "first_inner", "in first"))

    def test_two_that_lie_at_one_address_in_turn_are_told_apart(self) -> None:
        report = self.rounds(FIRST, SECOND)
        for which in ("first", "second"):
            self.assertEqual(ROUNDS // 2, visits(report, f"{which}_inner", f"in {which}"))


class Names(TestCase):
    """Libraries without a build-id are told apart by their names: more of them than there are records."""

    @unittest.skipUnless(FULL, "loads 17,000 libraries")
    def test_more_libraries_than_can_be_kept_are_a_loss_and_nothing_else(self) -> None:
        names = 17_000  # 16,384 can be kept
        library = self.directory / "nameless.so"
        shutil.copy(PROGRAMS / "libmodules_nameless.so", library)
        outcome = self.measured([PROGRAM, "names", names, library], timeout=600)
        self.assertEqual((0, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        # Those without a record at a time, of which there is one.
        self.assertEqual(1, report.losses().get("module_table_full"))
        self.assertEqual(1, visits(report, "own_work", "own"), "what was loaded before keeps its names")
        self.assertEqual(names, sum(c["region"]["visits"] for c in report.callpaths if c["path"][-1] == "in nameless"))


class Storm(TestCase):
    """Fault 3: two threads load and unload in a loop at 1 kHz sampling, and snapshots are written meanwhile."""

    def test_there_is_neither_a_deadlock_nor_a_leak(self) -> None:
        seconds = 180 if FULL else 4
        # So little that it is used up before the growth is measured: what is kept of events is no leak.
        env = {"REFRAIN_SAMPLING_FREQUENCY": "1000", "REFRAIN_SNAPSHOT": "1", "REFRAIN_TRACE_MEMORY": "1M"}
        outcome = self.measured([PROGRAM, "storm", seconds, FIRST, SECOND], env, timeout=seconds + 120)
        self.assertEqual((0, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
        found = re.search(r"loads (\d+) grown_kib (-?\d+)", outcome.stderr)
        assert found, outcome.stderr
        report = self.report(outcome)
        self.assert_time_conserved(report)
        inside = sum(visits(report, f"{which}_inner", f"in {which}") for which in ("first", "second"))
        self.assertEqual(int(found[1]), inside, "every visit stands below the library in which it was")
        self.assertGreater(report.totals["samples"], 100)
        self.assertLess(int(found[2]), 4000, "memory that is kept")


if __name__ == "__main__":
    unittest.main(verbosity=2)
