"""Waiting without events: what durations of calls tell is what was planted by the wall clock, for every kind of call that waits.

The truth comes from the program's own clock: when its calls began and ended."""

from __future__ import annotations

import csv
import io
import json
import statistics
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from analyze import CALL_S, MODES, calls_of, truth, until
from refrain_testing import MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

STEPS, DELAY = 60, 0.004
# Special cases of a kind of waiting that durations of calls do not tell apart.
NOT_TOLD = ("late_sender_wrong_order", "wrong_order_same_source", "late_complete")
# Other calls than those that are looked at may wait, too: MPI_Put for the exposure or the lock, MPI_Win_flush for the lock, by the MPI library.
WITH_OTHER_CALLS = ("locks",)
# MPI_Scan may make the first process wait, too, for those that need nothing of it.
AT_LEAST = ("scan",)
# How fast much is moved varies.
DELAYS = {"large": 0.02}
# A request of a barrier is one of any collective operation.
AS_KIND = {"ibarrier": {"wait_at_barrier": ("wait_at_barrier", "wait_at_nxn")}}


class WaitStates(TestCase):
    def waits(self, experiment: Path, *words: str) -> list[dict[str, Any]]:
        done = subprocess.run([REFRAIN, "report", experiment, "--waits", "--format", "json", *words], capture_output=True,
                              text=True, env=clean_environment(), timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        document = json.loads(done.stdout)
        for path in document["callpaths"]:
            self.assertLessEqual(path.get("wait_s", 0), path["exclusive_s"])
        for of in document["waits"]:
            self.assertLessEqual(of["wait_s"], of["mpi_s"])
            if "minimum_s" in of:
                self.assertLessEqual(of["minimum_least_s"], of["minimum_s"])
                self.assertLessEqual(of["minimum_s"], of["minimum_most_s"])
                self.assertLessEqual(of["shortest_s"], of["minimum_most_s"])
                self.assertTrue(set(row["rank"] for row in of["by_rank"]) <= {0, 1} and of["by_rank"])
        return document["waits"]

    def run_mode(self, mpi: str, mode: str, options: dict[str, str]) -> tuple[Path, dict[str, list[float]], float]:
        """With what was planted, and how much of it may be more: what calls have taken beside, where a process was not on its processor."""
        times = self.directory / f"times-{mpi}-{mode}"
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"analyze_waits_{mpi}", mode, STEPS, DELAYS.get(mode, DELAY), times), options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        calls = [calls_of(times, rank) for rank in (0, 1)]
        planted = truth(mode, *calls)
        told = [waits for name, waits in planted.items() if name not in NOT_TOLD]
        if mode == "large":  # to move the data takes as long as usual, or is done late
            beside = [end - begin - waits for function, of, waits in (("MPI_Recv", calls[1], planted["late_sender"]), ("MPI_Send", calls[0], planted["late_receiver"]))
                      for (begin, end), waits in zip((of[function][step] for step in sorted(of[function])), waits)]
            more = sum(max(rest - 3 * statistics.median(beside), 0) for rest in beside)
        else:
            more = sum(end - begin for of in calls for function, by_step in of.items() if function != "between" or "barrier" in mode
                       for begin, end in by_step.values()) - sum(map(sum, told))
        return outcome.experiment, planted, max(more, 0.0)

    def test_durations_of_calls_tell_each_planted_wait(self) -> None:
        for i, mode in enumerate(MODES):
            mpi = MPIS[i % len(MPIS)]
            if mode in WITH_OTHER_CALLS:
                continue
            with self.subTest(mode=mode, mpi=mpi):
                self.undisturbed(lambda: self.check_durations(mode, mpi))

    def check_durations(self, mode: str, mpi: str) -> None:
        experiment, planted, more = self.run_mode(mpi, mode, {"REFRAIN_TRACE": "off"})
        found: dict[str, float] = defaultdict(float)
        # Call sites of one function may wait in different ways.
        for of in self.waits(experiment, "--callsites"):
            self.assertEqual("minimum", of["wait_method"])
            self.assertNotIn("events_s", of)
            if "one_step" in of["path"]:
                found[of.get("wait_kind", "")] += of["wait_s"]
        for name, waits in planted.items():
            if name in NOT_TOLD:
                continue
            kinds = AS_KIND.get(mode, {}).get(name, (name,))
            self.assert_planted(sum(waits), 0.2 * STEPS * DELAY)
            of_kinds, may_be_off = sum(found[kind] for kind in kinds), 0.05 * sum(waits) + STEPS * 2 * CALL_S
            self.assertGreaterEqual(of_kinds, sum(waits) - may_be_off, name)
            if mode not in AT_LEAST:
                self.assertLessEqual(of_kinds, sum(waits) + may_be_off + more, name)

    def test_events_are_preferred(self) -> None:
        self.undisturbed(self.check_events_are_preferred)

    def check_events_are_preferred(self) -> None:
        # A sample is one when not all steps have room.
        for options, steps, delay, method in (({"REFRAIN_TRACE": "all"}, STEPS, DELAY, "events"),
                                              ({"REFRAIN_TRACE_MEMORY": "32K"}, 3000, 0.0002, "sampled")):
            times = self.directory / f"times-{method}"
            outcome = self.measured(mpiexec(MPIS[0], 2, PROGRAMS / f"analyze_waits_{MPIS[0]}", "recv", steps, delay, times, "marked"), options)
            self.assertEqual(0, outcome.code, outcome.stderr)
            waits = sum(truth("recv", calls_of(times, 0), calls_of(times, 1))["late_sender"])
            (of, *_) = [of for of in self.waits(outcome.experiment) if of["path"][-1] == "MPI_Recv"]
            self.assertEqual((method, "late_sender"), (of["wait_method"], of["wait_kind"]))
            # 10 errors that come from 16 replicates: Student's t of 16 degrees, one of 30 million.
            self.assertAlmostEqual(waits, of["wait_s"], delta=0.02 * waits + steps * CALL_S + 10 * of["wait_error_s"])
            self.assertLess(of["minimum_least_s"], 1.05 * waits + steps * CALL_S)
            by_rank = {row["rank"]: row["wait_s"] for row in of["by_rank"]}
            self.assertAlmostEqual(of["wait_s"], by_rank[1], delta=1e-6 * of["wait_s"])
            self.assertEqual({method}, {row["wait_method"] for row in of["by_rank"]})

    def test_who_always_waits_is_seen_by_single_messages_alone(self) -> None:
        """No iteration, no collective operation: one rank is late with each message, so the shortest receive has waited, too."""
        self.undisturbed(self.check_who_always_waits_is_seen_by_single_messages_alone)

    def check_who_always_waits_is_seen_by_single_messages_alone(self) -> None:
        times, steps, delay = self.directory / "times-apart", 3000, 0.0002
        outcome = self.measured(mpiexec(MPIS[0], 2, PROGRAMS / f"analyze_waits_{MPIS[0]}", "recv", steps, delay, times, "apart"),
                                {"REFRAIN_TRACE_MEMORY": "32K"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        second = calls_of(times, 1)
        waits = sum(truth("recv", calls_of(times, 0), second)["late_sender"])
        self.assert_planted(waits, 0.5 * steps * delay)
        (of, *_) = [of for of in self.waits(outcome.experiment) if of["path"][-1] == "MPI_Recv"]
        self.assertEqual(("matched", "late_sender"), (of["wait_method"], of["wait_kind"]))
        self.assertAlmostEqual(waits, of["wait_s"], delta=0.02 * waits + steps * CALL_S + 10 * of["wait_error_s"])
        # The minimum knows of nothing but how much longer calls are than the shortest one; that is what all have waited, but for what chance adds.
        durations = [end - begin for begin, end in second["MPI_Recv"].values()]
        self.assertLess(of["minimum_s"], sum(durations) - len(durations) * min(durations) + steps * CALL_S)

    def test_a_call_that_never_ended_has_waited(self) -> None:
        outcome = self.measured(mpiexec("openmpi", 2, PROGRAMS / "analyze_waits_openmpi", "recv", 20, 0.0002, self.directory / "times-abandoned", "abandoned"),
                                {"REFRAIN_TRACE": "off"})
        self.assertNotEqual(0, outcome.code)
        waits = {of["path"][-2]: of for of in self.waits(outcome.experiment) if of["path"][-1] == "MPI_Recv"}
        # The job is ended after 2 seconds.
        self.assertGreater(waits["abandon"]["wait_s"] + waits["abandon"]["wait_error_s"], 1.9)
        self.assertGreater(waits["abandon"]["minimum_most_s"], 1.9)

    def test_a_list_of_iterations_does_not_stand_for_the_run(self) -> None:
        times = self.directory / "times-list"
        outcome = self.measured(mpiexec(MPIS[0], 2, PROGRAMS / f"analyze_waits_{MPIS[0]}", "recv", STEPS, DELAY, times, "marked"),
                                {"REFRAIN_TRACE": "0-3"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        (of, *_) = [of for of in self.waits(outcome.experiment) if of["path"][-1] == "MPI_Recv"]
        self.assertEqual("minimum", of["wait_method"])
        self.assertLess(of["events_s"], 0.2 * of["wait_s"])

    def test_each_iteration_and_cluster_has_its_waiting(self) -> None:
        self.undisturbed(self.check_each_iteration_and_cluster_has_its_waiting)

    def check_each_iteration_and_cluster_has_its_waiting(self) -> None:
        times = self.directory / "times-iterations"
        outcome = self.measured(mpiexec(MPIS[0], 2, PROGRAMS / f"analyze_waits_{MPIS[0]}", "recv", STEPS, DELAY, times, "marked"),
                                {"REFRAIN_TRACE": "off"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        first, second = calls_of(times, 0), calls_of(times, 1)
        # Of rank 1, with its barriers.
        waits = [until(second["MPI_Recv"][step], first["MPI_Send"][step][0]) + until(second["between"][step], first["between"][step][0])
                 for step in range(STEPS)]
        done = subprocess.run([REFRAIN, "report", outcome.experiment, "--iterations", "--metric", "wait", "--format", "csv"], capture_output=True,
                              text=True, env=clean_environment(), timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        found = {int(row["iteration"]): float(row["wait_s"]) for row in csv.DictReader(io.StringIO(done.stdout)) if row["rank"] == "1"}
        self.assertEqual([*range(STEPS)], sorted(found))
        self.assertLess(statistics.median(abs(waits[step] - found[step]) for step in range(STEPS)), 2 * CALL_S)
        document = json.loads(subprocess.run([REFRAIN, "report", outcome.experiment, "--clusters", "--format", "json"], capture_output=True,
                                             text=True, env=clean_environment(), timeout=300).stdout)
        (of_rank,) = [of for of in document["loops"][0]["per_location"] if of["rank"] == 1]
        whole = sum(cluster["mean_wait_s"] * cluster["size"] for cluster in of_rank["clusters"])
        self.assertAlmostEqual(sum(found.values()), whole, delta=0.05 * whole + STEPS * CALL_S)

    def test_without_either_it_is_said(self) -> None:
        experiment, *_ = self.run_mode(MPIS[0], "recv", {"REFRAIN_TRACE": "off", "REFRAIN_WAIT_STATES": "off"})
        done = subprocess.run([REFRAIN, "report", experiment, "--waits"], capture_output=True, text=True, env=clean_environment(),
                              timeout=300)
        self.assertEqual(1, done.returncode)
        self.assertIn("--waits: the experiment has neither events nor durations of calls", done.stderr)


if __name__ == "__main__":
    unittest.main()
