"""REFRAIN_METRICS in real programs: page faults and memory that are known by arithmetic, in known iterations and
functions; events that do not exist; PAPI, by a stand-in where no counter of the real one works."""

from __future__ import annotations

import csv
import ctypes
import io
import os
import struct
import subprocess
import unittest
from typing import Any

from refrain_testing import PROGRAMS, REFRAIN, Outcome, TestCase, clean_environment, mpirun

PAGES = PROGRAMS / "metrics_pages"
STAND_IN = PROGRAMS / "stand-in"  # with a libpapi.so.7.0
ITERATIONS, BASE, PEAK, GROWS, GROWTH = 200, 100, 3000, 57, 64
PAGE = 4096
FAULTS = "perf::PAGE-FAULTS"


def perf_fault() -> str:
    """Why perf events cannot be opened here, empty when they can: page faults of this thread, in user mode only."""
    attributes = struct.pack("IIQQQQQ", 1, 64, 2, 0, 0, 0, 1 << 5) + bytes(16)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(298, attributes, 0, -1, -1, 0)
    if descriptor >= 0:
        os.close(descriptor)
        return ""
    return "perf_event_open: " + os.strerror(ctypes.get_errno())


needs_perf = unittest.skipIf(perf_fault(), perf_fault())


def pages_of(i: int) -> int:
    return BASE + (PEAK if i % 10 == 3 else 0) + ((GROWTH << 20) // PAGE if i == GROWS else 0)


class Metrics(TestCase):
    def run_pages(self, metrics: str, ranks: int = 2, env: dict[str, str] | None = None) -> Outcome:
        outcome = self.measured(self.command(ranks), {"REFRAIN_METRICS": metrics} | (env or {}))
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.assertIn(b"errno kept", outcome.stdout)
        return outcome

    def command(self, ranks: int = 2) -> list[str]:
        return mpirun(ranks, PAGES, ITERATIONS, BASE, PEAK, GROWS, GROWTH)

    def iterations(self, outcome: Outcome, metric: str, *options: str) -> dict[int, list[float]]:
        """Values of a column of the iterations, by rank."""
        command = [str(REFRAIN), "report", str(outcome.experiment), "--iterations", "--metric", metric, "--format",
                   "csv", *options]
        done = subprocess.run(command, capture_output=True, env=clean_environment(), text=True, check=True)
        values: dict[int, list[float]] = {}
        prefix = "callpath_" if "--callpath" in options else ""
        for row in csv.DictReader(io.StringIO(done.stdout)):
            column = prefix + metric if prefix + metric in row else prefix + metric + "_s"
            values.setdefault(int(row["rank"]), []).append(float(row[column]))
        return values

    def assert_faults_are_pages(self, values: list[float]) -> None:
        """Refrain, MPI and the C library touch a page now and then; the program's own are never missing."""
        self.assertEqual(ITERATIONS, len(values))
        extra = [value - pages_of(i) for i, value in enumerate(values)]
        self.assertGreaterEqual(min(extra), 0, extra)
        self.assertLessEqual(sorted(extra)[int(0.9 * ITERATIONS)], 4, extra)
        self.assertLessEqual(max(extra), 400, extra)


class Iterations(Metrics):
    def test_page_faults_of_every_iteration_are_the_pages_that_it_touches(self) -> None:
        for values in self.iterations(self.run_pages("ru_minflt"), "ru_minflt").values():
            self.assert_faults_are_pages(values)

    def test_snapshots_are_in_no_iteration(self) -> None:
        """What Refrain writes and allocates for a snapshot is not the program's."""
        iterations, pages = 10_000, 300
        command = mpirun(1, PAGES, iterations, pages, 0, -1, 0)
        outcome = self.measured(command, {"REFRAIN_METRICS": "ru_minflt", "REFRAIN_SNAPSHOT": "1"})
        self.assertEqual((0, ""), (outcome.code, outcome.stderr))
        values = self.iterations(outcome, "ru_minflt")[0]
        self.assertEqual(iterations, len(values))
        self.assertGreaterEqual(sum(self.iterations(outcome, "wall")[0]), 2, "long enough for a snapshot")
        self.assertGreaterEqual(min(values), pages)
        self.assertLessEqual(max(values[100:]), pages + 12, sorted(values)[-10:])

    @needs_perf
    def test_the_kernels_events_say_the_same(self) -> None:
        outcome = self.run_pages(f"{FAULTS},ru_minflt")
        self.assertEqual("", outcome.stderr)
        minor = self.iterations(outcome, "ru_minflt")
        for rank, values in self.iterations(outcome, FAULTS).items():
            self.assert_faults_are_pages(values)
            self.assertLessEqual(max(abs(a - b) for a, b in zip(values, minor[rank])), 50)

    def test_growth_of_memory_is_in_the_iteration_that_grows(self) -> None:
        for values in self.iterations(self.run_pages("ru_maxrss"), "ru_maxrss").values():
            # What is given back counts once: when the mark has not been there before.
            peak, first, next_peak = PEAK * PAGE, 3, GROWS // 10 * 10 + 13
            truth = {first: peak, GROWS: (GROWTH << 20) - peak, next_peak: peak}
            for i, growth in truth.items():
                self.assertAlmostEqual(growth, values[i], delta=2 << 20)
            self.assertLess(sum(value for i, value in enumerate(values) if i not in truth), 4 << 20)
            self.assertGreater(sum(values), (GROWTH << 20) - (2 << 20))

    def test_clusters_and_iterations_add_up_to_the_run(self) -> None:
        metrics = "ru_minflt,ru_utime,ru_nvcsw" + ("" if perf_fault() else f",{FAULTS},perf::TASK-CLOCK")
        outcome = self.run_pages(metrics, env={"REFRAIN_CLUSTERS": "5"})
        report = self.report(outcome, "--iterations", "--metric", "ru_minflt")
        totals = report.totals["metrics"]
        self.assertEqual(len(metrics.split(",")), len(totals))
        for name, total in totals.items():
            self.assertAlmostEqual(total, sum(c["metrics"]["exclusive"][name] for c in report.callpaths), places=6)
            self.assertAlmostEqual(total, sum(l["metrics"][name] for l in report.locations), places=6)
        for location in report.data["loops"][0]["per_location"]:
            rank = str(location["rank"])
            of_clusters = dict.fromkeys(totals, 0.0)
            for k in range(len(location["clusters"])):
                of_cluster = self.report(outcome, "--cluster", str(k), "--rank", rank)
                for name in totals:
                    of_clusters[name] += of_cluster.totals["metrics"][name]
                    self.assertAlmostEqual(of_cluster.totals["metrics"][name], places=6, second=sum(
                        c["metrics"]["exclusive"][name] for c in of_cluster.callpaths))
            for name in totals:
                values = self.iterations(outcome, name.removesuffix("_s"))[int(rank)]
                self.assertAlmostEqual(of_clusters[name], sum(values), places=6)
                of_rank = next(l for l in report.locations if l["rank"] == int(rank))["metrics"][name]
                self.assertLessEqual(of_clusters[name], of_rank)
        self.assertLess(BASE * ITERATIONS * 2 + PEAK * ITERATIONS // 5, totals["ru_minflt"])

    def test_one_iteration_has_its_total_divided_among_its_call_paths(self) -> None:
        outcome = self.run_pages("ru_minflt", env={"REFRAIN_CLUSTERS": "4"})
        values = self.iterations(outcome, "ru_minflt")
        for i in (12, 13, GROWS):
            report = self.report(outcome, "--iteration", str(i))
            total = sum(values[rank][i] for rank in values)
            self.assertEqual(total, report.totals["metrics"]["ru_minflt"])
            self.assertEqual(total, sum(c["metrics"]["exclusive"]["ru_minflt"] for c in report.callpaths))


@unittest.skipUnless((PROGRAMS / "metrics_pages_mpich").exists(), "there is no MPICH")
class Mpich(Metrics):
    def test_the_other_mpi_is_no_different(self) -> None:
        command = ["mpiexec.mpich", "-n", "2", PROGRAMS / "metrics_pages_mpich", ITERATIONS, BASE, PEAK, GROWS, GROWTH]
        outcome = self.measured(command, {"REFRAIN_METRICS": "ru_minflt,PAPI_NO_SUCH"})
        self.assertEqual(0, outcome.code)
        self.assertEqual(1, len([line for line in outcome.stderr.splitlines() if "refrain:" in line]), outcome.stderr)
        for values in self.iterations(outcome, "ru_minflt").values():
            self.assert_faults_are_pages(values)


class CallPaths(Metrics):
    def test_faults_belong_to_the_function_that_ticks_find(self) -> None:
        env = {"REFRAIN_SAMPLING_FREQUENCY": "1000", "REFRAIN_CLUSTERS": "2"}
        outcome = self.run_pages("ru_minflt,ru_nvcsw", env=env)
        report = self.report(outcome)
        below = {name: sum(c["metrics"]["exclusive"]["ru_minflt"] for c in report.callpaths if name in c["path"])
                 for name in ("touch_some", "touch_many", "grow", "MPI_Sendrecv", "step")}
        pages = 2 * sum(map(pages_of, range(ITERATIONS)))
        self.assertAlmostEqual(pages, below["step"], delta=0.05 * pages)
        truth = {"touch_many": 2 * PEAK * ITERATIONS // 10, "touch_some": 2 * BASE * ITERATIONS}
        for name, value in truth.items():
            self.assertAlmostEqual(value, below[name], delta=0.35 * truth["touch_many"], msg=f"{name} of {below}")
        self.assertLess(below["MPI_Sendrecv"], 0.02 * pages)
        self.assertGreater(sum(self.iterations(outcome, "ru_minflt", "--callpath", "touch_many")[0]),
                           0.3 * PEAK * ITERATIONS / 10)

    def test_what_passes_inside_mpi_belongs_to_it(self) -> None:
        """A rank that waits without spinning gives up its CPU inside MPI, and hardly elsewhere."""
        report = self.report(self.run_pages("ru_nvcsw,ru_nivcsw,ru_utime"))
        for call in report.callpaths:
            self.assertGreaterEqual(min(call["metrics"]["exclusive"].values()), 0)
        names = {c["path"][-1] for c in report.callpaths if c["metrics"]["inclusive"]["ru_utime_s"] > 0}
        self.assertIn("MPI_Sendrecv", names)


class Missing(Metrics):
    def lines(self, outcome: Outcome) -> list[str]:
        return [line for line in outcome.stderr.splitlines() if "refrain:" in line]

    def test_an_event_that_is_not_there_is_one_line_with_near_names(self) -> None:
        plain = self.plain(self.command())
        for wanted, near in ((f"{FAULTS[:-1]}", FAULTS), ("ru_minfault", "ru_minflt"), ("PAPI_NO_SUCH", "")):
            outcome = self.run_pages(f"ru_majflt,{wanted},ru_nvcsw")
            self.assertEqual(1, len(self.lines(outcome)), outcome.stderr)
            self.assertEqual(1, len(outcome.stderr.splitlines()))
            self.assertIn(wanted, outcome.stderr)
            self.assertIn(near, outcome.stderr.split("near it: ")[-1] if near else outcome.stderr)
            self.assertEqual(plain.code, outcome.code)
            self.assertEqual(plain.stdout.split()[:2], outcome.stdout.split()[:2])
            self.assertEqual({"ru_majflt", "ru_nvcsw"}, set(self.report(outcome).totals["metrics"]))

    def test_a_list_that_cannot_be_read_is_one_line_and_no_measurement(self) -> None:
        for wrong in ("ru_minflt,", "ru_minflt,ru_minflt", ",".join(f"E{i}" for i in range(13))):
            outcome = self.measured(self.command(), {"REFRAIN_METRICS": wrong})
            self.assertEqual(0, outcome.code)
            self.assertEqual(1, len(self.lines(outcome)), outcome.stderr)
            self.assertIn("REFRAIN_METRICS=", outcome.stderr)
            self.assertFalse(outcome.experiment is not None and outcome.experiment.exists())

    def test_nothing_is_loaded_and_nothing_reported_that_was_not_asked_for(self) -> None:
        for metrics in ("", "ru_minflt"):
            self.assertIn(b"papi 0", self.run_pages(metrics).stdout)
        report = self.report(self.run_pages(""))
        self.assertNotIn("metrics", report.totals)
        self.assertNotIn("metrics", report.callpaths[0])


class Papi(Metrics):
    def env(self, **more: str) -> dict[str, str]:
        return {"LD_LIBRARY_PATH": str(STAND_IN)} | more

    def test_its_events_are_counted_like_any_other(self) -> None:
        outcome = self.run_pages("STAND_IN_FAULTS,ru_minflt,STAND_IN_CLOCK", env=self.env())
        self.assertEqual("", outcome.stderr)
        self.assertIn(b"papi 1", outcome.stdout)
        minor = self.iterations(outcome, "ru_minflt")
        for rank, values in self.iterations(outcome, "STAND_IN_FAULTS").items():
            self.assert_faults_are_pages(values)
            self.assertLessEqual(max(abs(a - b) for a, b in zip(values, minor[rank])), 50)
        report = self.report(outcome)
        faults = {name: [c["metrics"]["exclusive"][name] for c in report.callpaths] for name in
                  ("ru_minflt", "STAND_IN_FAULTS")}
        for a, b in zip(*faults.values()):
            self.assertAlmostEqual(a, b, delta=0.02 * report.totals["metrics"]["ru_minflt"])
        self.assertGreater(report.totals["metrics"]["STAND_IN_CLOCK_s"], 0.01)

    def test_an_event_that_cannot_be_added_is_left_out(self) -> None:
        outcome = self.run_pages("STAND_IN_BROKEN,STAND_IN_FAULT,ru_minflt", env=self.env())
        self.assertEqual(2, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertIn("near it: STAND_IN_FAULTS", outcome.stderr)
        self.assertRegex(outcome.stderr, r"STAND_IN_BROKEN cannot be counted here \(.*\); refrain info metrics lists")
        self.assertNotRegex(outcome.stderr, r"near it: .*STAND_IN_BROKEN", "what was asked for is no suggestion")
        self.assertEqual({"ru_minflt"}, set(self.report(outcome).totals["metrics"]))

    def test_a_library_of_another_version_is_one_line(self) -> None:
        outcome = self.run_pages("STAND_IN_FAULTS,ru_minflt", env=self.env(STAND_IN_MAJOR="6"))
        self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertIn("not of PAPI 7", outcome.stderr)
        self.assertEqual({"ru_minflt"}, set(self.report(outcome).totals["metrics"]))

    def test_every_thread_has_counters_of_its_own(self) -> None:
        program = PROGRAMS / "truth_threads"
        metrics = "STAND_IN_CLOCK,ru_utime" + ("" if perf_fault() else ",perf::TASK-CLOCK")
        plain = self.plain(mpirun(1, program))
        outcome = self.measured(mpirun(1, program), self.env(REFRAIN_METRICS=metrics))
        self.assertEqual(plain.code, outcome.code, outcome.stderr)
        self.assertEqual("", outcome.stderr)
        report = self.report(outcome)
        self.assertGreater(len(report.locations), 1)
        self.assertEqual({}, {k: v for k, v in report.losses().items() if k == "metric_unreadable"})
        for location in report.locations:
            values = location["metrics"]
            cpu = values["STAND_IN_CLOCK_s"]
            self.assertLessEqual(values["ru_utime_s"], cpu + 0.01)
            if not perf_fault():
                self.assertAlmostEqual(values["perf::TASK-CLOCK_s"], cpu, delta=0.02 + 0.1 * cpu)
            self.assertLessEqual(cpu, location["wall_s"] + 0.01)


if __name__ == "__main__":
    unittest.main()
