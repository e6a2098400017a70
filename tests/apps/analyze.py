"""Waiting that was planted by the wall clock is found by `refrain analyze`, in events of all iterations and estimated from a sample.

The truth comes from the program's own clock: when its calls began and ended."""

from __future__ import annotations

import json
import statistics
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from refrain_testing import FULL, MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

Calls = dict[str, dict[int, tuple[float, float]]]  # by function, by step: begin and end
ALL = {"REFRAIN_TRACE": "all"}
# By which the program's clock readings and Refrain's may differ, for a call.
CALL_S = 20e-6


def calls_of(path: Path, rank: int) -> Calls:
    calls: Calls = defaultdict(dict)
    for line in Path(f"{path}.{rank}").read_text().splitlines():
        function, step, begin, end = line.split()
        calls[function][int(step)] = (float(begin), float(end))
    return calls


def until(own: tuple[float, float], other_begin: float) -> float:
    return max(min(other_begin, own[1]) - own[0], 0.0)


def each(waiting: dict[int, tuple[float, float]], causing: dict[int, tuple[float, float]]) -> list[float]:
    """By step: how long the one has waited for the begin of the other."""
    assert waiting and set(waiting) == set(causing)
    return [until(waiting[step], causing[step][0]) for step in sorted(waiting)]


# Of a mode: the patterns that find its waiting, and by step what it comes to.
def truth(mode: str, first: Calls, second: Calls) -> dict[str, list[float]]:
    if mode in ("recv", "waitall", "order"):
        function, send = {"recv": ("MPI_Recv", "MPI_Send"), "waitall": ("MPI_Waitall", "MPI_Isend"),
                          "order": ("MPI_Recv", "MPI_Send")}[mode]
        waits = each(second[function], first[send])
        return {"late_sender": waits} | ({"late_sender_wrong_order": waits, "wrong_order_same_source": waits}
                                         if mode == "order" else {})
    if mode in ("ssend", "issend"):
        function, receive = {"ssend": ("MPI_Ssend", "MPI_Recv"), "issend": ("MPI_Wait", "MPI_Irecv")}[mode]
        return {"late_receiver": each(first[function], second[receive])}
    def both(function: str) -> list[float]:
        return [a + b for a, b in zip(each(first[function], second[function]), each(second[function], first[function]))]

    if mode == "allreduce":
        return {"wait_at_nxn": both("MPI_Allreduce")}
    if mode in ("barrier", "ibarrier"):
        # With the barriers between the steps.
        function = {"barrier": "MPI_Barrier", "ibarrier": "MPI_Wait"}[mode]
        return {"wait_at_barrier": [a + b for a, b in zip(both(function), both("between"))]}
    if mode == "bcast":
        return {"late_broadcast": each(second["MPI_Bcast"], first["MPI_Bcast"])}
    if mode == "reduce":
        return {"early_reduce": each(first["MPI_Reduce"], second["MPI_Reduce"])}
    assert mode == "scan"
    return {"early_scan": each(second["MPI_Scan"], first["MPI_Scan"])}


MODES = ("recv", "waitall", "order", "ssend", "issend", "barrier", "ibarrier", "allreduce", "bcast", "reduce", "scan")


class Analyze(TestCase):
    def analysis(self, experiment: Path, *words: Any) -> dict[str, Any]:
        done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *map(str, words)], capture_output=True,
                              text=True, env=clean_environment(), timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("", done.stderr)
        found = json.loads(done.stdout)
        self.check_tree(found["patterns"])
        return found

    def check_tree(self, patterns: list[dict[str, Any]]) -> None:
        """Nothing is more than what it is a part of, as a whole and on each rank."""
        by_name = {of["name"]: of for of in patterns}
        for of in patterns:
            if of["parent"] not in by_name:
                continue
            parent = by_name[of["parent"]]
            slack = 1e-6 + 3 * of["standard_error_s"]
            self.assertLessEqual(of["severity_s"], parent["severity_s"] + slack, of["name"])
            whole = {(row["rank"], row["thread"]): row["severity_s"] for row in parent["by_location"]}
            for row in of["by_location"]:
                slack = 1e-6 + 3 * row.get("standard_error_s", of["standard_error_s"])
                self.assertLessEqual(row["severity_s"], whole[row["rank"], row["thread"]] + slack, of["name"])

    def run_mode(self, mpi: str, mode: str, steps: int, delay: float, options: dict[str, str], *words: str
                 ) -> tuple[Path, dict[str, list[float]]]:
        times = self.directory / f"times-{mpi}-{mode}"
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"analyze_waits_{mpi}", mode, steps, delay, times, *words), options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome.experiment, truth(mode, calls_of(times, 0), calls_of(times, 1))

    def test_each_planted_wait_is_found(self) -> None:
        steps, delay = 40, 0.005
        for i, mode in enumerate(MODES):
            mpi = MPIS[i % len(MPIS)]
            with self.subTest(mode=mode, mpi=mpi):
                experiment, planted = self.run_mode(mpi, mode, steps, delay, ALL)
                found = self.analysis(experiment)
                patterns = {of["name"]: of for of in found["patterns"]}
                self.assertGreater(found["total_time_s"], steps * delay)
                for name, waits in planted.items():
                    of = patterns[name]
                    self.assertGreater(sum(waits), 0.2 * steps * delay, "nothing was planted")
                    self.assertAlmostEqual(sum(waits), of["severity_s"], delta=0.02 * sum(waits) + steps * 2 * CALL_S, msg=name)
                    self.assertEqual(("all", 0), (of["stands_for"], of["standard_error_s"]))
                    self.assertAlmostEqual(of["severity_s"], sum(row["severity_s"] for row in of["by_callpath"]), delta=1e-6)
                    self.assertAlmostEqual(of["severity_s"], sum(row["severity_s"] for row in of["by_location"]), delta=1e-6)
                    self.assertIn("one_step", of["by_callpath"][0]["path"])

    def test_the_cause_of_a_wait_is_the_rank_that_was_late(self) -> None:
        """Each rank is late by turns, the one before its send and the other one before its receive."""
        for mpi in MPIS:
            experiment, planted = self.run_mode(mpi, "recv", 40, 0.005, ALL)
            found = self.analysis(experiment, "--causes")
            self.assertAlmostEqual(found["waiting_s"] - found["waiting_unexplained_s"],
                                   sum(cause["severity_s"] for cause in found["causes"]), delta=1e-6)
            self.assertLess(found["waiting_unexplained_s"], 0.01 * found["waiting_s"])
            for rank, call in enumerate(("MPI_Send", "MPI_Recv")):
                late = [cause["direct_s"] for cause in found["causes"]
                        if cause["kind"] == "computation" and cause["rank"] == rank and cause["before"][-1] == call
                        and cause.get("after", [""])[-1] == "MPI_Barrier"]
                # It works that long by the wall clock in every second step.
                self.assertEqual(1, len(late), found["causes"])
                self.assertGreater(late[0], 0.8 * 20 * 0.005)
            waited = sum(planted["late_sender"])
            of_first = sum(cause["direct_s"] for cause in found["causes"] if cause["rank"] == 0)
            self.assertGreater(of_first, 0.95 * waited - 0.002)

    def test_an_iteration(self) -> None:
        experiment, planted = self.run_mode(MPIS[0], "recv", 20, 0.005, ALL, "marked")
        wrong = []
        for step in range(20):
            one = {of["name"]: of["severity_s"] for of in self.analysis(experiment, "--iteration", step)["patterns"]}
            wrong.append(abs(planted["late_sender"][step] - one["late_sender"]))
        # The program may be suspended between its clock reading and its call, but not every second time.
        self.assertLess(statistics.median(wrong), 0.0001)
        self.assertGreater(max(planted["late_sender"]), 0.003)

    def test_estimates_from_a_sample(self) -> None:
        """What each step has waited is known, so is what a sample of them may miss: the error must be about as large as
        stated. A busy machine adds long waits, rare ones, which no sample stands for: one of three runs must be near."""
        cases = [("recv", ["marked"]), ("waitall", []), ("allreduce", ["marked"]), ("allreduce", [])]
        for mode, words in cases if FULL else cases[:2]:
            with self.subTest(mode=mode, words=words):
                said = []
                for _ in range(3):
                    far = self.far_estimates(mode, words)
                    if not far:
                        break
                    said.append(far)
                self.assertLess(len(said), 3, said)

    def far_estimates(self, mode: str, words: list[str]) -> list[str]:
        steps = 3000
        experiment, planted = self.run_mode(
            MPIS[0], mode, steps, 0.0003, {"REFRAIN_TRACE_MEMORY": "64K", "REFRAIN_TRACE_SLOWEST": "4"}, *words)
        found = {of["name"]: of for of in self.analysis(experiment)["patterns"]}
        far = []
        for name, waits in planted.items():
            of, true = found[name], sum(waits)
            self.assertEqual("sampled", of["stands_for"])
            self.assertGreater(of["standard_error_s"], 0)
            said = f"{name}: {of['severity_s']:.4f} +- {of['standard_error_s']:.4f} of {true:.4f} s"
            if of["standard_error_s"] > 0.25 * true:
                far.append(said)
            elif abs(true - of["severity_s"]) > 4.9 * of["standard_error_s"] + 0.02 * true + steps * 2 * 1e-6:
                far.append(said)
        return far

    def test_what_a_sample_cannot_tell_is_refused(self) -> None:
        experiment, _ = self.run_mode(MPIS[0], "recv", 3000, 0, {"REFRAIN_TRACE_MEMORY": "32K"}, "marked")
        done = subprocess.run([REFRAIN, "analyze", experiment, "--time", "0:1"], capture_output=True, text=True,
                              env=clean_environment(), timeout=300)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, "^refrain analyze: --time: only a sample of iterations was kept.*\n$")


if __name__ == "__main__":
    unittest.main()
