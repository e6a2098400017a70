"""A method that has seen a part of the waiting says so, and none that has seen nothing is asked: what is unknown is never shown as zero, nor a part as the whole.

The truth comes from the program's own clock. What is compared with an error lies within 5 of them, or within 10 where that of a sample comes from 16 replicates: chance alone goes beyond
that once in some million runs (Student's t of 16 degrees)."""

from __future__ import annotations

import json
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from refrain_testing import MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

Call = tuple[float, float]


def late(waiting: list[Call], other: list[Call]) -> float:
    """How long calls have waited until the others were entered."""
    return sum(max(min(enter, leave) - begin, 0.0) for (begin, leave), (enter, _) in zip(waiting, other, strict=True))


class WaitsKnown(TestCase):
    def run_mode(self, mpi: str, mode: str, steps: int, seconds: float, options: dict[str, str] | None = None) -> tuple[Path, list[dict[str, list[Call]]]]:
        times = self.directory / f"times-{mpi}-{mode}"
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"waits_known_{mpi}", mode, steps, seconds, times), options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        ranks = []
        for rank in (0, 1):
            calls: dict[str, list[Call]] = defaultdict(list)
            for line in Path(f"{times}.{rank}").read_text().splitlines():
                function, begin, end = line.split()
                calls[function].append((float(begin), float(end)))
            ranks.append(calls)
        return outcome.experiment, ranks

    def report(self, experiment: Path, *words: str) -> str:
        done = subprocess.run([REFRAIN, "report", experiment, *words], capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def document(self, experiment: Path, *words: str) -> dict[str, Any]:
        return json.loads(self.report(experiment, "--format", "json", *words))

    def of_function(self, document: dict[str, Any], function: str, caller: str) -> dict[str, Any]:
        (of,) = [path for path in document["waits" if "waits" in document else "callpaths"] if path["path"][-1] == function and caller in path["path"]]
        return of

    def test_polling_is_waiting_and_a_finding(self) -> None:
        for mpi in MPIS:
            for trace in ("sampled", "all"):
                with self.subTest(mpi=mpi, trace=trace):
                    self.undisturbed(lambda: self.check_polling(mpi, trace))

    def check_polling(self, mpi: str, trace: str) -> None:
        experiment, ranks = self.run_mode(mpi, "polling", 40, 0.005, {"REFRAIN_TRACE": trace})
        document = self.document(experiment)
        of = self.of_function(document, "MPI_Test", "polling")
        self.assertEqual(("minimum", "polling"), (of["wait_method"], of["wait_kind"]))
        self.assert_planted(late(ranks[0]["MPI_Test"], ranks[1]["MPI_Send"]), 40 * 0.004)
        # The test that completes is the one in which the process loses its processor.
        self.assertGreater(of["wait_s"], 0.5 * of["exclusive_s"])
        self.assertGreater(of["wait_s"] + 3 * of["wait_error_s"], 0.8 * of["exclusive_s"])
        self.assertGreater(of["wait_error_s"], 0.3 * of["wait_s"])
        (finding,) = [finding for finding in document["findings"] if finding["rule"] == "polling"]
        self.assertIn("MPI_Test, mostly on rank 0", finding["text"])
        self.assertAlmostEqual(of["wait_s"], finding["share"] * document["totals"]["wall_s"], delta=0.02 * of["wait_s"])

    def test_messages_without_a_number_say_nothing_of_waiting(self) -> None:
        for mpi in MPIS:
            for trace in ("sampled", "all"):
                with self.subTest(mpi=mpi, trace=trace):
                    self.undisturbed(lambda: self.check_messages_without_a_number(mpi, trace))

    def check_messages_without_a_number(self, mpi: str, trace: str) -> None:
        experiment, ranks = self.run_mode(mpi, "wildcard", 40, 0.004, {"REFRAIN_TRACE": trace})
        events = self.document(experiment, "--events")["events"]
        self.assertGreaterEqual(events["messages"]["left_out"]["unnumbered"], 40)
        of = self.of_function(self.document(experiment, "--waits"), "MPI_Wait", "wildcard")
        waits = late(ranks[0]["MPI_Wait"], ranks[1]["MPI_Send"])
        self.assert_planted(waits, 30 * 0.0035)
        self.assertEqual(("minimum", "late_sender"), (of["wait_method"], of["wait_kind"]))
        # Beside others a process waits for its processor, too, in the same call.
        self.assertGreater(of["wait_s"], 0.95 * waits - 0.005)
        self.assertLessEqual(of["wait_s"], of["mpi_s"])

    def test_bounds_hold_where_a_rank_is_always_late(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.undisturbed(lambda: self.check_bounds_of_always_late(mpi))

    def check_bounds_of_always_late(self, mpi: str) -> None:
        steps = 25
        experiment, (first, second) = self.run_mode(mpi, "always", steps, 0.004, {"REFRAIN_TRACE": "off"})
        document = self.document(experiment, "--waits")
        # Messages to rank 1 come first.
        planted = {"MPI_Recv": late(second["MPI_Recv"], first["MPI_Send"]), "MPI_Ssend": late(second["MPI_Ssend"], first["MPI_Recv"]),
                   "MPI_Bcast": late(second["MPI_Bcast"], first["MPI_Bcast"]), "MPI_Reduce": late(first["MPI_Reduce"], second["MPI_Reduce"])}
        for function, waits in planted.items():
            of = self.of_function(document, function, "always")
            self.assert_planted(waits, 0.5 * steps * 0.004)
            self.assertLessEqual(of["minimum_least_s"], waits, function)
            # The program's clock sees the way into a call and out of it, too.
            self.assertGreaterEqual(of["minimum_most_s"], 0.98 * waits, function)
            # No network takes milliseconds for four bytes.
            self.assertGreater(of["minimum_s"], 0.8 * waits, function)
            self.assertAlmostEqual(waits, of["wait_s"], delta=5 * of["wait_error_s"], msg=function)

    def test_waves_without_marks(self) -> None:
        """Most waiting is in one message of a hundred, of which a sample of single messages has few."""
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.undisturbed(lambda: self.check_waves(mpi))

    def check_waves(self, mpi: str) -> None:
        experiment, (first, second) = self.run_mode(mpi, "waves", 100, 0.00002, {"REFRAIN_TRACE_MEMORY": "64K"})
        waits = {"MPI_Recv": late(first["MPI_Recv"], second["MPI_Send"]) + late(second["MPI_Recv"], first["MPI_Send"]),
                 "MPI_Send": late(first["MPI_Send"], second["MPI_Recv"]) + late(second["MPI_Send"], first["MPI_Recv"])}
        self.assert_planted(waits["MPI_Recv"], 0.15)
        document = self.document(experiment, "--waits")
        for function, planted in waits.items():
            of = self.of_function(document, function, "waves")
            self.assertEqual("matched", of["wait_method"])
            # A send that is buffered takes a fraction of a microsecond before its receiver comes, which nobody has planted.
            unplanted = 1e-6 * (len(first[function]) + len(second[function]))
            self.assertAlmostEqual(planted, of["wait_s"], delta=10 * of["wait_error_s"] + 0.02 * planted + unplanted, msg=function)
            # An error that says nothing would hold as well.
            self.assertLess(of["wait_error_s"], 0.35 * of["mpi_s"], function)
        # No sentence gives what the events that were kept tell for the run.
        by_rule = {"late_sender": self.of_function(document, "MPI_Recv", "waves"), "late_receiver": self.of_function(document, "MPI_Send", "waves")}
        for finding in document["findings"]:
            if of := by_rule.get(finding["rule"]):
                if finding["share"] > 0:
                    self.assertAlmostEqual(of["wait_s"], finding["share"] * document["totals"]["wall_s"], delta=0.05 * of["wait_s"])
                else:
                    self.assertIn("events tell of", finding["text"])


if __name__ == "__main__":
    unittest.main()
