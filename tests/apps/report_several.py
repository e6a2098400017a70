"""`refrain report` of runs of other tools, and of several runs: values are those of the files, added up here."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

import export_readers
from archives_by_hand import PYTHON, collective, events_of, receive, send, write_archive
from refrain_testing import MPIS, PROGRAMS, REFRAIN, SOURCE, TestCase, clean_environment, mpiexec

TRACES = SOURCE.parent / "shared" / "traces"
REAL = TRACES / "10_scorep_mpi_tags"


class Reports(TestCase):
    def refrain(self, *words: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([str(REFRAIN), *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=120,
                              cwd=self.directory)
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr}")
        return done

    def document(self, *words: Any, code: int = 0) -> dict[str, Any]:
        return json.loads(self.refrain("report", *words, "--format", "json", code=code).stdout)

    def refusal(self, *words: Any, code: int = 2) -> str:
        done = self.refrain("report", *words, code=code)
        self.assertEqual(("", 1), (done.stdout, done.stderr.count("\n")), done.stderr)
        return done.stderr

    def by_path(self, document: dict[str, Any], column: str) -> dict[str, Any]:
        return {"/".join(row["path"]): row.get(column) for row in document["callpaths"]}

    def caliper(self, name: str, main_s: tuple[float, ...], barrier_s: tuple[float, ...]) -> Path:
        rows = [[0, rank, value] for rank, value in enumerate(main_s)] + [[1, rank, value] for rank, value in enumerate(barrier_s)]
        path = self.directory / f"{name}.json"
        path.write_text(json.dumps({
            "data": rows, "columns": ["path", "mpi.rank", "sum#time.duration"],
            "column_metadata": [{"is_value": False}, {"is_value": True}, {"is_value": True}],
            "nodes": [{"label": "main", "column": "path"}, {"label": "MPI_Barrier", "column": "path", "parent": 0}]}))
        return path

    def tau(self, name: str, main_us: tuple[int, ...], barrier_us: int) -> Path:
        path = self.directory / name
        path.mkdir()
        for rank, us in enumerate(main_us):
            (path / f"profile.{rank}.0.0").write_text(
                '2 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n'
                f'"main" 1 1 {us} {us + barrier_us} 0 GROUP="TAU_USER"\n'
                f'"main => MPI_Barrier()" 7 0 {barrier_us} {barrier_us} 0 GROUP="TAU_CALLPATH"\n')
        return path


class OfOtherTools(Reports):
    def test_caliper_has_times_and_nothing_that_it_lacks(self) -> None:
        path = self.caliper("one", (1, 3), (2, 0.5))
        document = self.document(path)
        self.assertEqual({"main": 6.5, "main/MPI_Barrier": 2.5}, self.by_path(document, "inclusive_s"))
        self.assertEqual((6.5, 2.5, 4), tuple(document["totals"][of] for of in ("wall_s", "mpi_s", "user_s")))
        for member in ("mpi_calls", "samples", "overhead_s", "not_on_cpu_s"):
            self.assertNotIn(member, document["totals"])
        self.assertEqual({None}, set(self.by_path(document, "visits").values()))
        self.assertNotIn("findings", document)
        text = self.refrain("report", path).stdout
        self.assertIn("one.json: profile of Caliper", text)
        self.assertIn("calls: not known", text)
        self.assertIn("MPI_Barrier", text)

    def test_tau_has_calls(self) -> None:
        path = self.tau("tau", (3_000_000, 1_000_000), 500_000)
        document = self.document(path)
        self.assertEqual(14, document["totals"]["mpi_calls"])
        self.assertEqual({"main": 0, "main/MPI_Barrier": 14}, self.by_path(document, "visits"))
        self.assertEqual({0: 3.5, 1: 1.5}, {row["rank"]: row["wall_s"] for row in document["locations"]})

    def test_views(self) -> None:
        path = self.tau("tau", (3_000_000, 1_000_000), 500_000)
        flat = list(csv.DictReader(io.StringIO(self.refrain("report", path, "--flat", "--format", "csv").stdout)))
        self.assertEqual({"main": 4.0, "MPI_Barrier": 1.0}, {row["function"]: float(row["exclusive_s"]) for row in flat})
        self.assertEqual({""}, {row["samples"] for row in flat})
        callers = list(csv.DictReader(io.StringIO(self.refrain("report", path, "--callers", "MPI_Barrier", "--format", "csv").stdout)))
        self.assertEqual(["main;MPI_Barrier"], [row["path"] for row in callers])
        self.assertEqual(["14"], [row["mpi_calls"] for row in callers])
        ranks = list(csv.DictReader(io.StringIO(self.refrain("report", path, "--locations", "--format", "csv").stdout)))
        self.assertEqual([("0", 3.0), ("1", 1.0)], [(row["rank"], float(row["user_s"])) for row in ranks])
        self.assertEqual(1.5, self.document(path, "--rank", 1)["totals"]["wall_s"])
        self.assertIn("MPI_Barrier", self.refrain("report", path, "--flat", "--format", "markdown").stdout)
        first = list(csv.DictReader(io.StringIO(
            self.refrain("report", path, "--flat", "--format", "csv", "--sort=-exclusive_s", "--limit", 1).stdout)))
        self.assertEqual(["MPI_Barrier"], [row["function"] for row in first])

    def test_what_it_cannot_answer_is_refused(self) -> None:
        path = self.tau("tau", (3_000_000, 1_000_000), 500_000)
        for words in (["--waits"], ["--iterations"], ["--efficiency"], ["--mpi"], ["--events"], ["--findings"], ["--iteration", 3],
                      ["--callsites"], ["--callpath-depth", 2], ["--locations", "--metric", "wall"]):
            line = self.refusal(path, *words)
            self.assertIn("profile of TAU", line)
            self.assertIn("--flat, --callers and --locations", line)
        self.assertIn("no such rank", self.refusal(path, "--rank", 5, code=1))
        self.assertIn("near it: MPI_Barrier", self.refusal(path, "--callers", "MPI_Barier", code=1))
        broken = self.directory / "broken.json"
        broken.write_text('{"data": []}')
        self.refusal(broken)

    @unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
    def test_archives_count_calls_and_bytes(self) -> None:
        anchor = write_archive(self.directory / "archive", [
            events_of([(10_000, 12_000, "MPI_Send", send(1, size=100)), (20_000, 50_000, "work"), collective(60_000, 90_000, "BARRIER")]),
            events_of([(5_000, 15_000, "MPI_Recv", receive(0, size=100)), (20_000, 30_000, "work"), collective(40_000, 90_000, "BARRIER")])])
        for path in (anchor, anchor.parent):
            document = self.document(path)
            self.assertEqual("otf2", document["experiment"]["source"])
            seconds = self.by_path(document, "exclusive_s")
            for name, ns in {"main/MPI_Send": 2_000, "main/MPI_Recv": 10_000, "main/work": 40_000, "main/MPI_Barrier": 80_000,
                             "main": 200_000 - 132_000}.items():
                self.assertAlmostEqual(ns * 1e-9, seconds[name], delta=1e-12)
            self.assertEqual((1, 1, 2, 0), tuple(self.by_path(document, "visits")["main/" + of]
                                                 for of in ("MPI_Send", "MPI_Recv", "MPI_Barrier", "work")))
            self.assertEqual(100, self.by_path(document, "bytes_sent")["main/MPI_Send"])
            self.assertEqual(100, self.by_path(document, "bytes_received")["main/MPI_Recv"])
            self.assertEqual(4, document["totals"]["mpi_calls"])
        self.assertIn("OTF2 archive", self.refrain("report", anchor).stdout)
        # `refrain query` reads it by the same way.
        statement = "SELECT TOTAL(v.value) FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = 'bytes_sent'"
        sent = self.refrain("query", anchor, statement, "--format", "csv").stdout.split()[-1]
        self.assertEqual(sum(row.get("bytes_sent", 0) for row in self.document(anchor)["callpaths"]), float(sent))

    @unittest.skipUnless(REAL.exists(), "the traces are not there")
    def test_a_profile_and_an_archive_of_one_run_of_score_p(self) -> None:
        time = export_readers.cubex(REAL / "profile.cubex")["time"]
        document = self.document(REAL / "profile.cubex")
        seconds = sum(sum(values) for values in time.values())
        self.assertAlmostEqual(seconds, document["totals"]["wall_s"], delta=1e-9 * seconds)
        archive = self.document(REAL / "traces.otf2")
        self.assertEqual(document["experiment"]["ranks"], archive["experiment"]["ranks"])
        self.assertEqual(document["totals"]["mpi_calls"], archive["totals"]["mpi_calls"])
        # Names of C++ are readable in both, so call paths meet.
        profiled, traced = self.by_path(document, "exclusive_s"), self.by_path(archive, "exclusive_s")
        self.assertEqual(set(profiled), set(traced))
        for path, value in profiled.items():
            self.assertAlmostEqual(value, traced[path], delta=1e-4, msg=path)


class Several(Reports):
    def check(self, row: dict[str, Any], prefix: str, values: list[float], whole: float | None = None) -> None:
        deviation = statistics.stdev(values)
        scale = max(map(abs, values)) or 1
        for name, truth in {"mean_s": statistics.mean(values), "deviation_s": deviation, "least_s": min(values), "greatest_s": max(values),
                            "standard_error_s": deviation / math.sqrt(len(values))}.items():
            self.assertAlmostEqual(truth, row[prefix + name], delta=1e-9 * scale, msg=f"{prefix}{name}")
        if whole:
            self.assertAlmostEqual(statistics.mean(values) / whole, row[prefix + "share"], delta=1e-9)

    def test_profiles_of_caliper(self) -> None:
        paths = [self.caliper("a", (1, 3), (2, 1)), self.caliper("b", (2, 4), (3, 3)), self.caliper("c", (5,), (1,))]
        document = self.document(*paths)
        self.assertEqual([2, 2, 1], [run["ranks"] for run in document["runs"]])
        self.assertEqual({"caliper"}, {run["source"] for run in document["runs"]})
        rows = {"/".join(row["path"]): row for row in document["callpaths"]}
        main, barrier = [2.0, 3.0, 5.0], [1.5, 3.0, 1.0]
        both = [a + b for a, b in zip(main, barrier)]
        whole = statistics.mean(both)
        self.check(rows["main"], "exclusive_", main, whole)
        self.check(rows["main"], "inclusive_", both, whole)
        self.check(rows["main/MPI_Barrier"], "exclusive_", barrier, whole)
        self.assertEqual({3}, {row["runs"] for row in rows.values()})
        self.assertNotIn("mpi_calls_mean", rows["main"])
        totals = {row["metric"]: row for row in document["totals"]}
        for metric, values in {"wall": both, "elapsed": both, "mpi": barrier, "user": main}.items():
            self.check(totals[metric], "", values, whole)
        self.assertTrue(any("different numbers of ranks (1, 2)" in note for note in document["notes"]))
        text = self.refrain("report", *paths).stdout
        self.assertIn("Means over 3 runs", text)
        self.assertIn("different numbers of ranks", text)
        table = list(csv.DictReader(io.StringIO(self.refrain("report", *paths, "--format", "csv").stdout)))
        self.assertEqual(["main", "main;MPI_Barrier"], [row["path"] for row in table])
        self.assertAlmostEqual(10 / 3, float(table[0]["exclusive_mean_s"]))
        self.assertIn("mean", self.refrain("report", *paths, "--format", "markdown").stdout)
        one = self.document(*paths, "--rank", 0)
        self.check({"/".join(row["path"]): row for row in one["callpaths"]}["main"], "exclusive_", [1, 2, 5])

    def test_two_are_compared(self) -> None:
        document = self.document(self.caliper("a", (1, 3), (2, 1)), self.caliper("b", (2, 4), (3, 3)))
        row = {"/".join(of["path"]): of for of in document["callpaths"]}["main"]
        self.assertEqual((2, 3, 1), (row["before_s"], row["now_s"], row["difference_s"]))
        self.assertNotIn("before_calls", row)

    def test_runs_of_other_kinds_and_views_of_one_are_refused(self) -> None:
        caliper, tau = self.caliper("a", (1, 3), (2, 1)), self.tau("tau", (3_000_000,), 500_000)
        self.assertIn("another kind (tau)", self.refusal(caliper, caliper, tau, code=1))
        self.assertIn("--flat: of one experiment, not of several runs", self.refusal(caliper, caliper, caliper, "--flat", code=1))
        self.assertIn("--min-share", self.refusal(caliper, caliper, caliper, "--min-share", 2, "--format", "csv", code=1))

    def test_experiments(self) -> None:
        experiments = []
        for number, (ranks, microseconds) in enumerate([(2, 1000), (2, 2000), (2, 1500), (1, 1000)]):
            outcome = self.measured(mpiexec(MPIS[0], ranks, PROGRAMS / f"marked_steps_{MPIS[0]}", 40, microseconds),
                                    {"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / f"run-{number}")})
            self.assertEqual(0, outcome.code, outcome.stderr)
            assert outcome.experiment
            experiments.append(outcome.experiment)
        runs = [self.document(of) for of in experiments]
        document = self.document(*experiments)
        # Time in which helper threads are idle is left out.
        values: dict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0] * len(runs))
        for number, run in enumerate(runs):
            ranks = len({of["rank"] for of in run["locations"]})
            for row in run["callpaths"]:
                if row["kind"] != "other":
                    values[(*row["path"], row["kind"])][number] += row["exclusive_s"] / ranks
        sums: dict[tuple[str, ...], float] = defaultdict(float)
        rows: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
        for row in document["callpaths"]:
            if row["kind"] != "other":
                sums[(*row["path"], row["kind"])] += row["exclusive_mean_s"]
                rows[(*row["path"], row["kind"])].append(row)
        self.assertEqual(set(values), set(sums))
        for path, of in values.items():
            self.assertAlmostEqual(statistics.mean(of), sums[path], delta=1e-9)
            if len(rows[path]) == 1:  # a marked region and a function may have one name
                self.check(rows[path][0], "exclusive_", of)
        mpi = next(row for row in document["totals"] if row["metric"] == "mpi")
        self.check(mpi, "", [run["totals"]["mpi_s"] / len({of["rank"] for of in run["locations"]}) for run in runs])
        self.assertEqual([True] * 4, [run["saw_whole"] for run in document["runs"]])
        self.check_incomplete(experiments)

    def check_incomplete(self, experiments: list[Path]) -> None:
        """What a run lacks that has not ended is unknown."""
        manifest = experiments[3] / "manifest.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "state": "incomplete"}))
        document = self.document(*experiments)
        self.assertEqual([True, True, True, False], [run["saw_whole"] for run in document["runs"]])
        self.assertTrue(any("it is incomplete" in note for note in document["notes"]))
        there = {tuple(row["path"]) for row in self.document(experiments[3])["callpaths"]}
        for row in document["callpaths"]:
            if tuple(row["path"]) not in there:
                self.assertEqual(3, row["runs"], row["path"])

    def test_what_a_whole_run_lacks_counts_as_nothing(self) -> None:
        paths = [self.caliper("a", (1,), (2,)), self.caliper("b", (2,), (4,)), self.caliper("c", (5,), ())]
        rows = {"/".join(row["path"]): row for row in self.document(*paths)["callpaths"]}
        self.check(rows["main/MPI_Barrier"], "exclusive_", [2, 4, 0])


if __name__ == "__main__":
    unittest.main()
