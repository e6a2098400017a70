"""Readings of REFRAIN_METRICS in events: what they grow by is what the profile counts, of calls, iterations and the run."""

from __future__ import annotations

import csv
import io
import subprocess
import unittest
from collections import Counter, defaultdict
from typing import Iterable

from metrics_programs import FAULTS, Metrics, perf_fault
from refrain_testing import PROGRAMS, REFRAIN, Outcome, clean_environment, mpirun

ALL = {"REFRAIN_TRACE": "all"}
NAMES = ["ru_minflt", "ru_maxrss", "ru_nvcsw"] + ([] if perf_fault() else [FAULTS])
PAGES = PROGRAMS / "metrics_pages"

Place = tuple[int, int]  # rank and thread
Row = dict[str, str]


class Readings(Metrics):
    def tool(self, *words: object) -> str:
        done = subprocess.run([str(REFRAIN), *map(str, words)], capture_output=True, text=True, env=clean_environment())
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def rows(self, source: object, *options: object) -> dict[Place, list[Row]]:
        """Events by location."""
        found: dict[Place, list[Row]] = defaultdict(list)
        for row in csv.DictReader(io.StringIO(self.tool("events", source, "--format", "csv", *options))):
            found[int(row["rank"]), int(row["thread"])].append(row)
        return found

    def pages(self, iterations: int, env: dict[str, str], metrics: Iterable[str] = NAMES, base: int = 3) -> Outcome:
        outcome = self.measured(mpirun(2, PAGES, iterations, base, 40, 7, 1), {"REFRAIN_METRICS": ",".join(metrics)} | env)
        self.assertEqual((0, ""), (outcome.code, outcome.stderr))
        return outcome

    def values(self, outcome: Outcome, loop_iterations: int) -> dict[str, dict[int, list[float]]]:
        """Of each metric what the profile has of each iteration, by rank."""
        found = {name: self.iterations(outcome, name) for name in NAMES}
        for by_rank in found.values():
            self.assertEqual([loop_iterations] * 2, [len(values) for values in by_rank.values()])
        return found

    def check_readings(self, rows: list[Row], names: Iterable[str] = NAMES) -> None:
        """All metrics are read at a time, in their order, and none of them falls."""
        names = list(names)
        metrics = [row for row in rows if row["event"] == "metric"]
        self.assertGreater(len(metrics), 0)
        for i in range(0, len(metrics), len(names)):
            together = metrics[i:i + len(names)]
            self.assertEqual(names, [row["region"] for row in together])
            self.assertEqual(1, len({row["time_s"] for row in together}), together)
        last = dict.fromkeys(names, 0)
        for row in metrics:
            self.assertGreaterEqual(int(row["value"]), last[row["region"]], row)
            last[row["region"]] = int(row["value"])

    def check_calls(self, rows: list[Row]) -> Counter[tuple[str, str]]:
        """Metrics are read right before a call is entered and right before it is left. Returns their growth by function."""
        now: dict[str, int] = {}
        at_begin: dict[str, int] = {}
        grown: Counter[tuple[str, str]] = Counter()
        before = ""
        for row in rows:
            if row["event"] == "metric":
                now[row["region"]] = int(row["value"])
            elif row["event"] in ("enter", "leave") and row["region"] not in ("MPI_Init", "MPI_Finalize"):
                self.assertEqual("metric", before, row)
                if row["event"] == "enter":
                    at_begin = dict(now)
                else:
                    for name, value in now.items():
                        grown[row["region"], name] += value - at_begin[name]
            before = row["event"] if not row["event"].startswith(("send", "receive", "collective")) else before
        return grown

    def kept(self, rows: list[Row]) -> dict[int, dict[str, int]]:
        """What each iteration grows by, from the readings that it begins with to those that it ends with."""
        found: dict[int, dict[str, int]] = {}
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for row in rows:
            if row["event"] == "metric":
                first.setdefault(row["region"], int(row["value"]))
                last[row["region"]] = int(row["value"])
            elif row["event"] == "span_end":
                if row["iteration"] != "":
                    found[int(row["iteration"])] = {name: last[name] - first[name] for name in last}
                first = {}
        return found

    def check_iterations(self, outcome: Outcome, iterations: int, rows: dict[Place, list[Row]]) -> int:
        """Returns how many are kept on both ranks."""
        truth = self.values(outcome, iterations)
        kept = {rank: self.kept(rows[rank, 0]) for rank in (0, 1)}
        for rank, found in kept.items():
            for iteration, growth in found.items():
                expected = {name: truth[name][rank][iteration] for name in NAMES}
                self.assertEqual(expected, growth, f"iteration {iteration} of rank {rank}")
        for iteration in (i for i in kept[0] if i % 10 == 3):
            self.assertGreaterEqual(kept[0][iteration]["ru_minflt"], 43, "pages that the program touches")
        return len(set(kept[0]) & set(kept[1]))


class Everything(Readings):
    def test_the_run_its_iterations_and_its_calls_are_those_of_the_profile(self) -> None:
        outcome = self.pages(60, ALL)
        report = self.report(outcome)
        rows = self.rows(outcome.experiment)
        self.assertEqual({(0, 0), (1, 0)}, set(rows))
        calls: Counter[tuple[str, str]] = Counter()
        for location in report.locations:
            mine = rows[location["rank"], 0]
            self.check_readings(mine)
            calls += self.check_calls(mine)
            metrics = [row for row in mine if row["event"] == "metric"]
            self.assertEqual([0] * len(NAMES), [int(row["value"]) for row in metrics[:len(NAMES)]])
            at_end = {row["region"]: int(row["value"]) for row in metrics[-len(NAMES):]}
            self.assertEqual({name: location["metrics"][name] for name in NAMES}, at_end)
        for name in NAMES:
            profile = sum(c["metrics"]["exclusive"][name] for c in report.callpaths if c["path"][-1] == "MPI_Sendrecv")
            self.assertEqual(profile, calls["MPI_Sendrecv", name], name)
        truth = self.values(outcome, 60)
        for rank in (0, 1):
            now: dict[str, int] = {}
            begin: dict[str, int] = {}
            seen = 0
            for row in rows[rank, 0]:
                if row["event"] == "metric":
                    now[row["region"]] = int(row["value"])
                elif row["event"] == "span_end":
                    if row["iteration"] != "":
                        expected = {name: truth[name][rank][int(row["iteration"])] for name in NAMES}
                        self.assertEqual(expected, {name: now[name] - begin[name] for name in NAMES}, row)
                        seen += 1
                    begin = dict(now)
            self.assertEqual(60, seen)

    def test_in_many_frames(self) -> None:
        outcome = self.pages(800, ALL | {"REFRAIN_TRACE_MEMORY": "32K"})
        rows = self.rows(outcome.experiment)
        for location in self.report(outcome).locations:
            mine = rows[location["rank"], 0]
            self.assertGreater(len([row for row in mine if row["event"] == "flush_begin"]), 3)
            self.assertNotIn("gap", {row["event"] for row in mine})
            self.check_readings(mine)
            at_end = {row["region"]: int(row["value"]) for row in mine if row["event"] == "metric"}
            self.assertEqual({name: location["metrics"][name] for name in NAMES}, at_end)

    def test_from_the_middle_on_the_same_is_read(self) -> None:
        outcome = self.pages(800, ALL | {"REFRAIN_TRACE_MEMORY": "32K"})
        whole = self.rows(outcome.experiment)
        middle = whole[0, 0][len(whole[0, 0]) // 2]["time_s"]
        for place, rows in self.rows(outcome.experiment, "--from", middle).items():
            # When a message was sent is not known of one that was sent before.
            behind = [row | {"sent_s": ""} for row in whole[place] if float(row["time_s"]) >= float(middle)]
            self.assertEqual(behind, [row | {"sent_s": ""} for row in rows])

    def test_every_thread_has_readings_of_its_own(self) -> None:
        names = ["ru_minflt", "ru_nvcsw"]
        outcome = self.measured(mpirun(1, PROGRAMS / "truth_threads"), ALL | {"REFRAIN_METRICS": ",".join(names)})
        self.assertEqual("", outcome.stderr)
        rows = self.rows(outcome.experiment)
        locations = self.report(outcome).locations
        self.assertGreater(len(locations), 1)
        for location in locations:
            mine = rows[location["rank"], location["thread"]]
            self.check_readings(mine, names)
            at_end = {row["region"]: int(row["value"]) for row in mine if row["event"] == "metric"}
            self.assertEqual({name: location["metrics"][name] for name in names}, at_end, location)

    def test_an_export_has_the_same(self) -> None:
        outcome = self.pages(40, ALL)
        archive = self.directory / "archive"
        self.tool("export", outcome.experiment, "-o", archive)
        columns = ("time_s", "event", "region", "value")
        told = {place: [[row[c] for c in columns] for row in rows if row["event"] in ("metric", "enter", "leave")]
                for place, rows in self.rows(outcome.experiment).items()}
        read = {place: [[row[c] for c in columns] for row in rows if row["event"] in ("metric", "enter", "leave")
                        and row["region"] != "step"] for place, rows in self.rows(archive).items()}
        self.assertGreater(sum(row[1] == "metric" for row in told[0, 0]), 40 * 4 * len(NAMES))
        self.assertEqual(told, read)
        text = subprocess.run(["otf2-print", "-G", archive / "traces.otf2"], capture_output=True, text=True, check=True).stdout
        members = {line for line in text.splitlines() if line.startswith("METRIC_MEMBER")}
        self.assertEqual(len(NAMES), len(members))
        for name, unit in (("ru_minflt", "1"), ("ru_maxrss", "B")):
            self.assertTrue(any(f'"{name}"' in line and "ACCUMULATED_START" in line and f'"{unit}"' in line
                                and "INT64" in line for line in members), members)


class Parts(Readings):
    def test_a_sample(self) -> None:
        outcome = self.pages(1500, {"REFRAIN_TRACE_MEMORY": "128K"})
        rows = self.rows(outcome.experiment)
        for mine in rows.values():
            self.check_readings(mine)
        kept = self.check_iterations(outcome, 1500, rows)
        self.assertGreater(kept, 30)
        self.assertLess(kept, 1000, "not all: the level has risen")

    def test_a_list(self) -> None:
        outcome = self.pages(60, {"REFRAIN_TRACE": "2-5,13,40-43"})
        self.assertEqual(9, self.check_iterations(outcome, 60, self.rows(outcome.experiment)))

    def test_stretches_begin_with_what_the_one_before_has_ended_with(self) -> None:
        names = ["ru_minflt", "ru_nvcsw"]
        program = next(p for p in ("events_stretches_openmpi", "events_stretches_mpich") if (PROGRAMS / p).exists())
        outcome = self.measured(mpirun(2, PROGRAMS / program, "plain", "100"), {"REFRAIN_METRICS": ",".join(names)})
        self.assertEqual((0, ""), (outcome.code, outcome.stderr))
        for mine in self.rows(outcome.experiment).values():
            self.check_readings(mine, names)
            last: dict[str, str] = {}
            begins = 0
            for i, row in enumerate(mine):
                if row["event"] == "metric":
                    last[row["region"]] = row["value"]
                elif row["event"] == "span_end" and row["region"] == "(stretches)":
                    first = mine[i + 1:i + 1 + len(names)]
                    self.assertEqual([("metric", name, last[name], row["time_s"]) for name in names],
                                     [(r["event"], r["region"], r["value"], r["time_s"]) for r in first])
                    begins += 1
            self.assertGreater(begins, 10)


class Nothing(Readings):
    def test_without_metrics_there_are_no_readings(self) -> None:
        for env in (ALL, {}):
            outcome = self.measured(mpirun(2, PAGES, 20, 3, 40, 7, 1), env)
            self.assertEqual((0, ""), (outcome.code, outcome.stderr))
            rows = self.rows(outcome.experiment)
            self.assertGreater(len(rows[0, 0]), 40)
            self.assertNotIn("metric", {row["event"] for mine in rows.values() for row in mine})

    def test_without_events_metrics_are_what_they_were(self) -> None:
        outcome = self.pages(20, {"REFRAIN_TRACE": "off"})
        self.assertGreater(self.report(outcome).totals["metrics"]["ru_minflt"], 2 * (20 * 3 + 2 * 40))


del Metrics  # its own tests are those of metrics_programs.py

if __name__ == "__main__":
    unittest.main()
