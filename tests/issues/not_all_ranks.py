"""A job of which some ranks are not measured: Refrain is switched off for them, or is not there."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, FULL, MPIS, REFRAIN, Outcome, Report, TestCase, clean_environment  # noqa: E402

OUTPUT = ["rank 0 of 2", "rank 1 of 2"]
SET = {"openmpi": ["-x", "REFRAIN_ENABLE=off"], "mpich": ["-env", "REFRAIN_ENABLE", "off"]}


class NotAllRanks(TestCase):
    def command(self, mpi: str, ranks: list[str]) -> list[str]:
        """One word for each rank: measured, off, or plain."""
        program = str(BUILD / "tests" / "issues" / f"not_all_ranks_{mpi}")
        command = [f"mpiexec.{mpi}"]
        for rank, how in enumerate(ranks):
            command += [":"] * (rank > 0) + ["-n", "1"] + (SET[mpi] if how == "off" else [])
            command += [program] if how == "plain" else [str(REFRAIN), "exec", "--", program]
        return command

    def run_ranks(self, mpi: str, *ranks: str) -> tuple[Outcome, Path]:
        experiment = self.directory / f"{mpi}-{'-'.join(ranks)}"
        outcome = self.plain(self.command(mpi, list(ranks)), {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)}, timeout=60)
        self.assertEqual((0, OUTPUT), (outcome.code, sorted(outcome.stdout.decode().splitlines())), outcome.stderr)
        return outcome, experiment

    def test_it_is_off_on_some_ranks(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi, off="on rank 1"):
                outcome, experiment = self.run_ranks(mpi, "measured", "off")
                self.assertEqual("", outcome.stderr)
                report = Report(experiment)
                self.assertEqual("incomplete", report.data["experiment"]["state"])
                self.assertEqual(10, report.of_function("MPI_Barrier", "visits"))
                page = self.plain([REFRAIN, "report", experiment]).stdout.decode()
                self.assertIn("warning: the experiment is incomplete: rank 1 was not measured\n", page)
            with self.subTest(mpi=mpi, off="on rank 0"):
                outcome, experiment = self.run_ranks(mpi, "off", "measured")
                self.assertEqual("refrain: REFRAIN_ENABLE=off on rank 0: the whole job runs unmeasured\n", outcome.stderr)
                self.assertFalse(experiment.exists())
            with self.subTest(mpi=mpi, off="on all ranks"):
                outcome, experiment = self.run_ranks(mpi, "off", "off")
                self.assertEqual("", outcome.stderr)
                self.assertFalse(experiment.exists())

    @unittest.skipUnless(FULL, "takes half a minute")
    def test_the_library_is_missing_on_a_rank(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                waiting = subprocess.Popen(self.command(mpi, ["measured", "plain"]), stderr=subprocess.PIPE, text=True,
                                           stdout=subprocess.DEVNULL, env=clean_environment(), cwd=self.directory)
                self.addCleanup(waiting.wait)
                self.addCleanup(waiting.terminate)
                assert waiting.stderr
                self.assertEqual("refrain: rank 0 waits in MPI_Init: a rank does not take part; is the library there on all nodes, and "
                                 "every rank started with Refrain?\n", waiting.stderr.readline())
                waiting.stderr.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
