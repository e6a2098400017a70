"""What threads of a process do at the same time, as `refrain analyze` finds it in experiments.

The truth is the program's: it reads the CPU time of its threads around what it plants, and what the kernel counts of how long the
other one was ready to run and had no core, which is not idle. Archives: analyze_archives.py."""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

# Student's t of 16 degrees, as errors come from 16 replicates, is beyond this once in 30 million times.
ERRORS = 10
# What a program does beside what it plants: its begin, its library of threads.
REST_S, REST = 0.03, 0.05


class AnalyzeThreads(TestCase):
    def run_program(self, mpi: str, how: str, options: dict[str, str]) -> tuple[Path, dict[str, float]]:
        # Open MPI would bind both threads to one core: who waits for a core is not idle.
        unbound = {"OMPI_MCA_hwloc_base_binding_policy": "none"}
        outcome = self.measured(mpiexec(mpi, 1, PROGRAMS / f"analyze_threads_{mpi}", how, 40, 0.03, 0.02), unbound | options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome.experiment, json.loads(outcome.stdout)

    def analysis(self, experiment: Path, *words: Any) -> dict[str, dict[str, Any]]:
        done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *map(str, words)], capture_output=True,
                              text=True, env=clean_environment(), timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return {of["name"]: of for of in json.loads(done.stdout)["patterns"]}

    def test_parallel_regions(self) -> None:
        for mpi, policy, trace in ((MPIS[0], "passive", "sampled"), (MPIS[-1], "active", "all")):
            with self.subTest(mpi=mpi, policy=policy, trace=trace):
                experiment, truth = self.run_program(mpi, "openmp", {"OMP_WAIT_POLICY": policy, "REFRAIN_TRACE": trace})
                found = self.analysis(experiment)
                serial, idle = found["serial_sections"], found["idle_workers"]
                self.assertEqual(("time", 1, "time", 1), (serial["parent"], serial["confidence"], idle["parent"], idle["confidence"]))
                self.assertEqual([(0, 0)], [(row["rank"], row["thread"]) for row in serial["by_location"]])
                self.assertEqual([(0, 1)], [(row["rank"], row["thread"]) for row in idle["by_location"]])
                wall = {row["thread"]: row["severity_s"] for row in found["time"]["by_location"]}[1]
                for of, true in ((serial, truth["serial"]), (idle, wall - truth["worker"] - truth["waited"])):
                    self.assertLessEqual(abs(of["severity_s"] - true), REST_S + REST * true + ERRORS * of["standard_error_s"],
                                         (of["name"], of["severity_s"], of["standard_error_s"], truth, wall))
                self.assertIn("serial_part", serial["by_callpath"][0]["path"])
                if policy == "passive":
                    self.assertEqual(["(blocked)"], idle["by_callpath"][0]["path"])
                within = self.analysis(experiment, "--region", "serial_part")
                self.assertLess(0.8 * serial["severity_s"], within["serial_sections"]["severity_s"])
                self.assertEqual(0, within["idle_workers"]["severity_s"])
                within = self.analysis(experiment, "--time", "0:1")
                self.assertEqual((0, 0), (within["idle_workers"]["severity_s"], within["idle_workers"]["confidence"]))
                said = subprocess.run([REFRAIN, "report", experiment, "--locations", "--metric", "serial_sections"], capture_output=True, text=True,
                                      env=clean_environment(), timeout=300)
                self.assertEqual((0, ""), (said.returncode, said.stderr))

    def test_threads_without_parallel_regions(self) -> None:
        experiment, truth = self.run_program(MPIS[0], "pthread", {})
        found = self.analysis(experiment)
        self.assertEqual((0, 1), (found["serial_sections"]["confidence"], found["idle_workers"]["confidence"]))
        wall = {row["thread"]: row["severity_s"] for row in found["time"]["by_location"]}[1]
        self.assertLessEqual(abs(found["idle_workers"]["severity_s"] - (wall - truth["worker"] - truth["waited"])), REST_S + REST * wall)

    def test_one_thread(self) -> None:
        experiment, _ = self.run_program(MPIS[0], "alone", {})
        found = self.analysis(experiment)
        for name in ("serial_sections", "idle_workers"):
            self.assertEqual((0, 1), (found[name]["severity_s"], found[name]["confidence"]))


if __name__ == "__main__":
    unittest.main()
