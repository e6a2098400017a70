"""Commands on events, of a small experiment and an archive that need no run: times, totals, wrong words, and what is damaged."""

from __future__ import annotations

import csv
import io
import json
import shutil
import unittest
from typing import Any

from refrain_testing import BUILD, REFRAIN
from tools_exec import ToolsTest

GOLDEN = BUILD.parent / "tests" / "golden" / "events-3"


class Events(ToolsTest):
    def setUp(self) -> None:
        super().setUp()
        shutil.copytree(GOLDEN, self.directory / "exp")

    def refrain(self, *words: Any, code: int = 0) -> str:
        done = self.start(REFRAIN, *words)
        self.assertEqual(code, done.returncode, done.stderr)
        self.said = done.stderr
        return done.stdout

    def rows(self, *words: Any) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.refrain("events", "exp", "--format", "csv", *words))))

    def total_s(self, *words: Any) -> float:
        return json.loads(self.refrain("analyze", "exp", "--format", "json", *words))["total_time_s"]

    def test_markdown_has_all_digits_of_times(self) -> None:
        rows = self.rows()
        table = [line.split("|") for line in self.refrain("events", "exp", "--format", "markdown").splitlines()[2:]]
        self.assertEqual([round(float(row["time_s"]) * 1e9) for row in rows],
                         [round(float(cells[1]) * 1e9) for cells in table])

    def test_shares_of_one_iteration_are_of_its_own_time(self) -> None:
        whole = self.total_s()
        iterations = {row["iteration"] for row in self.rows() if row["event"] == "span_end" or row["iteration"]}
        numbers = sorted(int(number) for number in iterations if number)
        self.assertGreater(len(numbers), 1)
        times = [self.total_s("--iteration", number) for number in numbers]
        self.assertTrue(all(0 < time < whole for time in times), (times, whole))
        self.assertLessEqual(sum(times), whole)

    def test_wrong_words_are_refused(self) -> None:
        for words, what in ((("events", "exp", "--from", "nan"), "--from"), (("events", "exp", "--to", "inf"), "--to"),
                            (("analyze", "exp", "--frequent", "nan"), "--frequent"),
                            (("analyze", "exp", "--big", "-5"), "--big"), (("analyze", "exp", "--uneven", "much"), "--uneven"),
                            (("events", "exp", "--from", "2", "--to", "1"), "--from 2: must be before --to 1")):
            self.assertEqual("", self.refrain(*words, code=1))
            self.assertIn(what, self.said)

    def test_events_that_cannot_be_read_are_not_denied(self) -> None:
        profile = self.directory / "exp" / "profile.refrain"
        profile.write_bytes(profile.read_bytes()[:2500])
        for command in ("events", "analyze"):
            self.refrain(command, "exp", code=2)
            self.assertNotIn("has no events", self.said)
            self.assertIn("no events can be read", self.said)
            self.assertIn("profile.refrain", self.said)


if __name__ == "__main__":
    unittest.main()
