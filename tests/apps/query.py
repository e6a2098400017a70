"""`refrain query` and `refrain properties EXPERIMENT`: SQL over experiments says what reports say, and nothing can be written."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import EXAMPLES, REFRAIN, SOURCE, Report, TestCase, clean_environment, mpirun

BY_PATH = """SELECT path(v.node), SUM(v.value) FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = '{}' GROUP BY v.node"""
INCLUSIVE = """WITH own AS MATERIALIZED (SELECT v.node, SUM(v.value) AS s FROM value v JOIN metric m ON v.metric = m.id
  WHERE m.name = 'wall' GROUP BY v.node)
SELECT path(c.id), SUM(own.s) FROM callpath c JOIN own ON own.node BETWEEN c.id AND c.last GROUP BY c.id"""


# Times are rounded to nanoseconds in each unit of each location, of which there are no more here.
ROUNDED_S = 200e-9


class QueryTest(TestCase):
    def refrain(self, *words: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([str(REFRAIN), *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=120,
                              cwd=self.directory)
        self.assertEqual(code, done.returncode, done.stderr + done.stdout)
        return done

    def rows(self, *words: Any) -> list[list[str]]:
        """Of CSV, without its head."""
        return list(csv.reader(io.StringIO(self.refrain("query", *words, "--format", "csv").stdout)))[1:]

    def number(self, *words: Any) -> float:
        ((value,),) = self.rows(*words)
        return float(value)

    def sum(self, metric: str, *experiments: Path) -> float:
        return self.number(*experiments, f"SELECT TOTAL(v.value) FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = '{metric}'")

    def mistake(self, *words: Any, code: int = 1) -> str:
        done = self.refrain("query", *words, code=code)
        self.assertEqual(("", 1), (done.stdout, len(done.stderr.splitlines())), done.stderr)
        return done.stderr.strip()

    def stencil(self, *words: object) -> Path:
        outcome = self.measured(mpirun(4, EXAMPLES / "stencil", "--steps", 80, *words))
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def by_path(self, report: Report, column: str) -> dict[str, float]:
        sums: dict[str, float] = {}
        for call in report.callpaths:
            path = " > ".join(call["path"])
            sums[path] = sums.get(path, 0) + (call.get(column) or 0)
        return sums

    def assert_same_by_path(self, want: dict[str, float], rows: list[list[str]]) -> None:
        got = {path: float(value) for path, value in rows}
        for path in want.keys() | got.keys():
            self.assertAlmostEqual(want.get(path, 0), got.get(path, 0), delta=ROUNDED_S, msg=path)


class Query(QueryTest):
    def test_sums_by_call_path_are_those_of_the_report(self) -> None:
        experiment = self.stencil()
        report = Report(experiment)
        for metric, column in (("wall", "exclusive_s"), ("visits", "visits"), ("bytes_sent", "bytes_sent"), ("wait", "wait_s")):
            with self.subTest(metric):
                self.assert_same_by_path(self.by_path(report, column), self.rows(experiment, BY_PATH.format(metric)))
        self.assert_same_by_path(self.by_path(report, "inclusive_s"), self.rows(experiment, INCLUSIVE))
        self.assertAlmostEqual(report.totals["mpi_s"], self.sum("mpi", experiment), delta=ROUNDED_S)

    def test_sums_by_rank_are_those_of_the_report(self) -> None:
        experiment = self.stencil()
        rows = self.rows(experiment, "SELECT l.rank, l.thread, SUM(v.value) FROM value v JOIN location l ON v.location = l.id JOIN metric m "
                                     "ON v.metric = m.id WHERE m.name = 'mpi' GROUP BY l.id ORDER BY l.id")
        want = [(of["rank"], of["thread"], of["mpi_s"]) for of in Report(experiment).locations]
        self.assertEqual([(rank, thread) for rank, thread, _ in want], [(int(rank), int(thread)) for rank, thread, _ in rows])
        for (_, _, seconds), (_, _, got) in zip(want, rows):
            self.assertAlmostEqual(seconds, float(got), delta=ROUNDED_S)

    def test_waits_in_all_events_add_up(self) -> None:
        experiment = self.with_late_senders()
        want = sum(call.get("wait_s") or 0 for call in Report(experiment).callpaths)
        self.assertGreater(want, 0.1)  # the program plants 40 delays of 5 ms
        self.assertAlmostEqual(want, self.sum("wait", experiment), delta=1e-9 + 1e-6 * want)
        self.assertGreater(self.sum("late_sender", experiment), 0.1)

    def test_iterations_are_those_of_the_report(self) -> None:
        experiment = self.stencil()
        loop = Report(experiment, "--iterations", "--metric", "wall").data["loops"][0]
        rows = self.rows(experiment, "SELECT i.wall_s FROM iteration i JOIN loop o ON i.loop = o.id JOIN location l ON i.location = l.id "
                                     "WHERE o.name = '" + loop["name"] + "' ORDER BY l.rank, i.number")
        want = [value for location in loop["per_location"] for value in location["wall_s"]]
        self.assertEqual(4 * 80, len(rows))
        for seconds, (got,) in zip(want, rows):
            self.assertAlmostEqual(seconds, float(got), delta=1e-9)
        # Clusters of the loop have the time of their iterations.
        sums = self.rows(experiment, """SELECT SUM(i.wall_s), (SELECT SUM(v.value) FROM value v JOIN metric m ON v.metric = m.id
          WHERE m.name = 'wall' AND v.unit = i.unit) FROM iteration i WHERE i.unit IS NOT NULL GROUP BY i.unit""")
        self.assertGreater(len(sums), 0)
        for of_iterations, of_unit in sums:
            self.assertAlmostEqual(float(of_iterations), float(of_unit), delta=1e-6 + 1e-3 * float(of_unit))

    def test_findings_are_those_of_the_report(self) -> None:
        experiment = self.stencil()
        self.assertEqual([[finding["text"]] for finding in Report(experiment).data["findings"]],
                         self.rows(experiment, "SELECT text FROM finding"))

    def test_runs_are_compared_by_the_names_of_call_paths(self) -> None:
        first, second = self.stencil(), self.stencil("--imbalance", 0)
        rows = self.rows(first, second, """SELECT path(node), TOTAL(value) FILTER (WHERE run = 1) - TOTAL(value) FILTER (WHERE run = 0)
          FROM value WHERE metric = (SELECT id FROM metric WHERE name = 'wall') GROUP BY node""")
        before, after = (self.by_path(Report(experiment), "exclusive_s") for experiment in (first, second))
        self.assert_same_by_path({path: after.get(path, 0) - before.get(path, 0) for path in before.keys() | after.keys()}, rows)

    def test_all_formats_have_the_same(self) -> None:
        words = ("query", SOURCE / "tests/golden/profile-1.10",
                 "SELECT name, unit, 7 AS n, 0.25 AS part, NULL AS unknown FROM metric WHERE name = 'wall'")
        document = json.loads(self.refrain(*words, "--format", "json").stdout)
        self.assertEqual([{"name": "wall", "unit": "s", "n": 7, "part": 0.25}], document["rows"])
        self.assertEqual("name,unit,n,part,unknown\nwall,s,7,0.25,\n", self.refrain(*words, "--format", "csv").stdout.replace("\r", ""))
        for name in ("text", "markdown"):
            self.assertRegex(self.refrain(*words, "--format", name).stdout, r"wall\W+s\W+7\W+0\.25")
        self.assertIn("There are no rows", self.refrain(*words[:2], "SELECT 1 FROM metric WHERE FALSE").stdout)

    def test_mistakes_are_one_line_with_a_place(self) -> None:
        golden = SOURCE / "tests/golden/profile-1.10"
        self.assertEqual("refrain query: line 1, column 8: no such column: seconds", self.mistake(golden, "SELECT seconds FROM value"))
        self.assertIn("syntax error", self.mistake(golden, "SELEKT 1"))
        self.assertIn("one statement", self.mistake(golden, "SELECT 1; SELECT 2"))
        self.assertIn("--schema", self.mistake(golden))
        self.assertIn("not-there", self.mistake("not-there", "SELECT 1", code=2))

    def test_nothing_can_be_written(self) -> None:
        golden, made = SOURCE / "tests/golden/profile-1.10", self.directory / "made"
        for sql in (f"ATTACH '{made}' AS made", f"VACUUM INTO '{made}'", "DROP TABLE metric", "PRAGMA journal_mode = wal", "BEGIN"):
            self.assertIn("only a SELECT", self.mistake(golden, sql))
        self.assertFalse(made.exists())

    def test_experiments_of_old_versions_add_up(self) -> None:
        for golden in sorted((SOURCE / "tests/golden").glob("profile-*")):
            with self.subTest(golden.name):
                experiment = self.directory / golden.name
                shutil.copytree(golden, experiment)
                want = sum(call["exclusive_s"] for call in Report(experiment).callpaths)
                self.assertAlmostEqual(want, self.sum("wall", experiment), delta=ROUNDED_S)

    def test_what_is_damaged_is_said_and_the_rest_is_there(self) -> None:
        experiment = self.stencil()
        path = experiment / "profile.refrain"
        data = bytearray(path.read_bytes())
        rank_table, entry = 64, 32
        block = int.from_bytes(data[rank_table + entry * 3 + 8:][:8], "little")  # of rank 3 (docs/file-format.md)
        data[block + 9] ^= 16
        path.write_bytes(data)
        done = self.refrain("query", experiment, "SELECT COUNT(DISTINCT location) AS n FROM value", "--format", "csv", code=4)
        self.assertEqual("3", done.stdout.split()[-1])
        self.assertIn("rank 3", done.stderr)

    def test_the_schema_is_that_of_the_document(self) -> None:
        tables = re.findall(r"^CREATE TABLE (\w+) \(", self.refrain("query", "--schema").stdout, re.MULTILINE)
        self.assertIn("value", tables)
        document = (SOURCE / "docs/query.md").read_text()
        self.assertEqual(tables, re.findall(r"^\| `(\w+)` \|", document, re.MULTILINE))


class PropertiesWithoutDatabase(QueryTest):
    def test_they_are_those_of_a_database(self) -> None:
        experiment = self.with_late_senders()
        alone = json.loads(self.refrain("properties", experiment, "--format", "json").stdout)
        self.assertFalse((self.directory / "refrain.sqlite").exists())
        self.refrain("db", "add", experiment)
        stored = json.loads(self.refrain("properties", "--format", "json").stdout)
        self.assertEqual(stored, alone)
        self.assertGreater(len(alone["properties"]), 0)

    def test_an_experiment_does_not_go_with_a_database(self) -> None:
        done = self.refrain("properties", "experiment", "--run", "1", code=1)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertEqual(1, len(self.refrain("properties", "not-there", code=2).stderr.splitlines()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
