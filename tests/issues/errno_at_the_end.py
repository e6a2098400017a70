"""What Refrain does while a process ends leaves errno alone, also that of signal handlers which run meanwhile."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, TestCase  # noqa: E402


class Errno(TestCase):
    def test_of_handlers_at_the_end(self) -> None:
        program = BUILD / "tests" / "issues" / "errno_at_the_end"
        taken = self.directory / "taken"
        taken.mkdir()  # so Refrain's calls fail, too
        (taken / "file").touch()
        outcomes = [self.measured([program], {"REFRAIN_EXPERIMENT_DIRECTORY": str(taken)}) for _ in range(8)]
        self.assertEqual({0}, {outcome.code for outcome in outcomes})
        self.assertEqual([], [outcome.stdout for outcome in outcomes if b"changed" in outcome.stdout])
        self.assertTrue(any(b"looked" in outcome.stdout for outcome in outcomes), "no handler has run at the end")


if __name__ == "__main__":
    unittest.main(verbosity=2)
