"""Efficiencies in the terms of POP, against programs that draw their factors and keep their own book: wall time and CPU time around each call of MPI."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import MPIS, PROGRAMS, REFRAIN, SOURCE, TestCase, clean_environment, mpiexec

TOLERANCE = 0.02
EXACT = 1e-9


class Book:
    """What the ranks of the program have counted themselves."""

    def __init__(self, ranks: list[dict[str, Any]]):
        self.useful_of = useful = [rank["useful_s"] for rank in ranks]
        self.elapsed_s = elapsed = max(rank["elapsed_s"] for rank in ranks)
        self.useful_s = sum(useful)
        self.load_balance = sum(useful) / len(useful) / max(useful)
        self.communication = max(useful) / elapsed
        self.hybrid = sum(useful + [rank["worker_s"] for rank in ranks]) / (2 * len(ranks)) / elapsed
        self.availability = sum(rank["on_cpu_s"] for rank in ranks) / sum(useful)


class Efficiency(TestCase):
    def refrain(self, *words: object, code: int = 0) -> str:
        done = subprocess.run([str(REFRAIN), *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout + (done.stderr if code else "")

    def run_kind(self, mpi: str, ranks: int, kind: str, even_s: float, odd_s: float, steps: int, options: dict[str, str] | None = None) -> tuple[Path, Book]:
        outcome = self.measured(mpiexec(mpi, ranks, PROGRAMS / f"efficiency_{mpi}", kind, even_s, odd_s, steps), options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment, Book(outcome.json_lines())

    def document(self, experiment: Path, *options: object) -> dict[str, Any]:
        return json.loads(self.refrain("report", experiment, "--efficiency", "--format", "json", *options))

    def loop(self, document: dict[str, Any]) -> dict[str, Any]:
        (loop,) = [of for of in document["efficiencies"] if of["kind"] == "loop"]
        self.assertEqual("steps", loop["name"])
        return loop

    def assert_products(self, of: dict[str, Any]) -> None:
        self.assertAlmostEqual(of["parallel"], of["load_balance"] * of["communication"], delta=EXACT)
        self.assertAlmostEqual(of["load_balance"], of["load_balance_across_machines"] * of["load_balance_within_machines"], delta=EXACT)
        self.assertAlmostEqual(of["parallel"], of["additive"]["load_balance"] + of["additive"]["communication"] - 1, delta=EXACT)
        if of["serialisation"] is not None:
            self.assertAlmostEqual(of["communication"], of["serialisation"] * of["transfer"], delta=EXACT)

    def assert_close(self, truth: float, of: dict[str, Any], factor: str) -> None:
        self.assertLessEqual(abs(of[factor] - truth), TOLERANCE + 2 * of.get(f"{factor}_error", 0), f"{factor}: {of[factor]}, truth {truth}")

    def test_unequal_work_lacks_load_balance(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.undisturbed(lambda: self.check_kind(mpi, "balance"))

    def test_work_in_turn_lacks_serialisation(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.undisturbed(lambda: self.check_kind(mpi, "chain"))

    def check_kind(self, mpi: str, kind: str) -> None:
        even_s, odd_s = random.uniform(0.004, 0.02), random.uniform(0.004, 0.02)
        experiment, book = self.run_kind(mpi, 2, kind, even_s, odd_s, 100, {"REFRAIN_TRACE": "all"})
        document = self.document(experiment)
        for of in document["efficiencies"]:
            self.assert_products(of)
        self.assert_products(document["efficiency"])
        loop = self.loop(document)
        self.assert_close(book.load_balance, loop, "load_balance")
        self.assert_close(book.communication, loop, "communication")
        # All time outside of useful time is waiting: transfer costs microseconds.
        self.assert_close(1, loop, "transfer")
        self.assert_close(book.communication, loop, "serialisation")
        self.assert_close(book.availability, loop, "processor_availability")

    def test_four_ranks_on_two_cores_have_less_availability_and_the_same_definition(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.undisturbed(lambda: self.check_shared_cores(mpi))

    def check_shared_cores(self, mpi: str) -> None:
        experiment, book = self.run_kind(mpi, 4, "balance", 0.02, 0.02, 60, {"REFRAIN_TRACE": "all"})
        loop = self.loop(self.document(experiment))
        self.assert_products(loop)
        self.assertLess(book.availability, 0.9)
        self.assert_close(book.availability, loop, "processor_availability")
        self.assert_close(book.load_balance, loop, "load_balance")
        self.assert_close(book.communication, loop, "communication")
        self.assertAlmostEqual(1, loop["processor_availability"] + loop["waited_for_core"] + loop["blocked"], delta=EXACT)

    def test_a_step_is_told_with_its_factor_and_its_iteration(self) -> None:
        """From the middle on odd ranks work a quarter of what they did: load balance (1 + 1/4) / 2."""
        def check() -> None:
            experiment, _ = self.run_kind(MPIS[0], 2, "step", 0.01, 0.0025, 128)
            step = self.loop(self.document(experiment))["step"]
            self.assertEqual("load balance", step["factor"])
            self.assertLessEqual(abs(step["from"] - 64), 128 / 32, step)
            self.assertLess(abs(step["factor_before"] - 1), 0.1, step)
            self.assertLess(abs(step["factor_after"] - 0.625), 0.1, step)
            self.assertIn(f"From iteration {step['from']} on the parallel efficiency is ", self.refrain("report", experiment, "--efficiency"))
        self.undisturbed(check)

    def test_threads_have_the_hybrid_forms(self) -> None:
        """A second thread of each rank works for a fifth of the first one's time: two ranks on two cores, and a core for a while more."""
        def check() -> None:
            experiment, book = self.run_kind(MPIS[0], 2, "threads", 0.01, 0.005, 100)
            run = self.document(experiment)["efficiency"]
            self.assert_products(run)
            hybrid = run["hybrid"]
            self.assertEqual(4, hybrid["threads"])
            self.assertAlmostEqual(hybrid["parallel"], run["parallel"] * hybrid["threads_multiplicative"], delta=EXACT)
            self.assertAlmostEqual(hybrid["parallel"], run["parallel"] + hybrid["threads_additive"] - 1, delta=EXACT)
            # The book is the loop's; beside it the run has little but the begin of MPI.
            self.assertLess(abs(hybrid["parallel"] - book.hybrid * book.elapsed_s / run["elapsed_s"]), 0.05)
            text = " ".join(self.refrain("report", experiment, "--efficiency").split())  # sentences are wrapped
            self.assertRegex(text, r"With threads \(4 in all\): parallel efficiency .* \(multiplicative form\) or .* \(additive form\)")
        self.undisturbed(check)

    def test_formats_and_the_first_page_have_the_same_figures(self) -> None:
        experiment, _ = self.run_kind(MPIS[0], 2, "balance", 0.01, 0.005, 60)
        document = self.document(experiment)
        rows = list(csv.DictReader(io.StringIO(self.refrain("report", experiment, "--efficiency", "--format", "csv"))))
        self.assertEqual([of["kind"] for of in document["efficiencies"]], [row["kind"] for row in rows])
        run = document["efficiency"]
        self.assertAlmostEqual(run["parallel"], float(rows[0]["parallel"]), delta=EXACT)
        text = self.refrain("report", experiment, "--efficiency")
        self.assertRegex(text, r"(?m)^ *%.* factor$")
        self.assertRegex(text, rf"(?m)^ *{100 * run['parallel']:.1f} .*parallel efficiency$")
        self.assertNotIn("within machines", text, "there is one")
        self.assertIn("| run", self.refrain("report", experiment, "--efficiency", "--format", "markdown"))
        page = self.refrain("report", experiment)
        self.assertIn(f"Parallel efficiency {100 * run['parallel']:.0f} % = load balance {100 * run['load_balance']:.0f} % x communication", page)
        loop = self.loop(document)
        region = self.document(experiment, "--region", "steps")["efficiencies"][1]
        self.assertEqual(("region", "steps"), (region["kind"], region["name"]))
        self.assertAlmostEqual(loop["parallel"], region["parallel"], delta=EXACT)
        self.assertIn("no marked region", self.refrain("report", experiment, "--efficiency", "--region", "nowhere", code=1))
        self.assertEqual(60, sum(of["iterations"] for of in loop["classes"]))
        self.assertAlmostEqual(1, sum(of["share"] for of in loop["classes"]), delta=EXACT)
        last = loop["ranges"][-1]
        self.assertEqual(59, last["last"])
        self.assertAlmostEqual(last["parallel"], last["load_balance"] * last["communication"], delta=EXACT)

    def test_without_waits_serialisation_and_transfer_are_null(self) -> None:
        experiment, _ = self.run_kind(MPIS[0], 2, "chain", 0.004, 0.004, 20, {"REFRAIN_TRACE": "off", "REFRAIN_WAIT_STATES": "off"})
        of = self.document(experiment)["efficiency"]
        self.assertIsNone(of["serialisation"])
        self.assertIsNone(of["transfer"])
        self.assertIn("REFRAIN_WAIT_STATES", of["why"])
        self.assertGreater(of["load_balance"], 0)
        self.assertRegex(self.refrain("report", experiment, "--efficiency"), r"n/a .*serialisation \(")
        self.assertIn("not checked", self.refrain("check", experiment, "--efficiency", "serialisation>=0.1", code=1))

    def test_check_fails_below_a_bound(self) -> None:
        experiment, _ = self.run_kind(MPIS[0], 2, "chain", 0.01, 0.01, 60)
        self.assertIn("0 propert", self.refrain("check", experiment, "--efficiency", "parallel>=0.1"))
        failed = self.refrain("check", experiment, "--efficiency", "parallel>=0.9", "--efficiency", "load_balance>=0.1", code=3)
        self.assertIn("efficiency: parallel efficiency is 0.", failed)
        self.assertIn("1 failed", failed)
        document = json.loads(self.refrain("check", experiment, "--efficiency", "communication<=0.01", "--format", "json", code=3))
        self.assertEqual([("communication", True)], [(of["factor"], of["failed"]) for of in document["efficiencies"]])
        self.assertIn("<failure", self.refrain("check", experiment, "--efficiency", "parallel>=0.9", "--format", "junit", code=3))
        self.assertIn("as in parallel>=0.8", self.refrain("check", experiment, "--efficiency", "speed>=0.8", code=1))

    def test_check_has_bounds_of_loops(self) -> None:
        experiment, _ = self.run_kind(MPIS[0], 2, "chain", 0.01, 0.01, 60)
        loop = self.loop(self.document(experiment))
        failed = self.refrain("check", experiment, "--region", "steps", "--region", "main", "--efficiency", "parallel>=0.9", code=3)
        self.assertIn(f"efficiency: parallel efficiency of steps is {loop['parallel']:.3f}, and is to be at least 0.9", failed)
        self.assertIn("parallel efficiency of main is 0.", failed)
        self.assertIn("2 failed", failed)
        document = json.loads(self.refrain("check", experiment, "--region", "steps", "--efficiency", "parallel>=0.1", "--format", "json"))
        self.assertEqual([("steps", False)], [(of["region"], of["failed"]) for of in document["efficiencies"]])
        self.assertIn('name="parallel efficiency of steps"', self.refrain("check", experiment, "--region", "steps", "--efficiency", "parallel>=0.1", "--format", "junit"))
        self.assertIn("no marked region", self.refrain("check", experiment, "--region", "nowhere", "--efficiency", "parallel>=0.1", code=1))
        self.assertIn("--region requires --efficiency", self.refrain("check", experiment, "--region", "steps", code=1))

    def test_scaling_of_directories_is_the_table_of_pop(self) -> None:
        one, book = self.run_kind(MPIS[0], 1, "balance", 0.01, 0.01, 40)
        two, first = self.run_kind(MPIS[0], 2, "balance", 0.005, 0.0025, 40)
        again, second = self.run_kind(MPIS[0], 2, "balance", 0.005, 0.0025, 40)
        scaling = [book.useful_s / of.useful_s for of in (first, second)]  # 4/3, but for what others take of the cores
        document = json.loads(self.refrain("scaling", one, two, again, "--region", "steps", "--format", "json"))
        self.assertEqual("strong", document["scaling"])
        run, steps = document["regions"]
        self.assertEqual(("(run)", "steps"), (run["region"], steps["region"]))
        small, large = steps["by_processes"]
        self.assertEqual((1, 1, 2, 2), (small["processes"], small["runs"], large["processes"], large["runs"]))
        self.assertAlmostEqual(1, small["computation_scaling"], delta=EXACT)
        self.assertAlmostEqual(large["global"], large["parallel"] * large["computation_scaling"], delta=EXACT)
        self.assertLess(min(scaling) - TOLERANCE, large["computation_scaling"])
        self.assertLess(large["computation_scaling"], max(scaling) + TOLERANCE)
        if min(scaling) > 1:
            self.assertEqual("load balance", steps["largest_loss"]["factor"])
        text = self.refrain("scaling", one, two)
        self.assertIn("strong scaling, against 1 process", text)
        self.assertRegex(text, r"(?m)^processes +1 +2$")
        self.assertNotIn("deviation", text)
        both = self.refrain("scaling", one, two, again, "--region", "steps")
        self.assertRegex(both, rf"(?m)^    load balance % +100.0 +{100 * large['load_balance']:.1f} \S+ {100 * large['load_balance_error']:.1f}$")
        self.assertRegex(both, r"(?m)^runs +1 +2$")
        self.assertRegex(both, r"(?m)^deviation of runs +\d")
        rows = [line.split(" | ") for line in self.refrain("scaling", one, two, again, "--region", "steps", "--format", "markdown").splitlines()]
        self.assertEqual(["| region", "processes", "1", "2 |"], rows[0])
        self.assertEqual({"| (run)", "| steps"}, {row[0] for row in rows[2:]})
        # A rank of which nothing was written has worked as much as the other one, and not not at all.
        half = Path(shutil.copytree(two, self.directory / "half"))
        for kept in half.glob("analysis-*.refrain"):
            kept.unlink()
        data = bytearray((half / "profile.refrain").read_bytes())
        second = int.from_bytes(data[32:40], "little") + 32  # in the rank table (docs/file-format.md)
        data[second : second + 32] = bytes(32)
        (half / "profile.refrain").write_bytes(data)
        of_half = json.loads(self.refrain("scaling", one, half, "--region", "steps", "--format", "json"))["regions"][1]["by_processes"][1]
        self.assertAlmostEqual(book.useful_s / (2 * first.useful_of[0]), of_half["computation_scaling"], delta=TOLERANCE)
        # So has one that cannot be read; that something could not be is told.
        damaged = Path(shutil.copytree(two, self.directory / "damaged"))
        for kept in damaged.glob("analysis-*.refrain"):
            kept.unlink()
        data = bytearray((damaged / "profile.refrain").read_bytes())
        data[int.from_bytes(data[72:80], "little") + 9] ^= 16  # the block of rank 0
        (damaged / "profile.refrain").write_bytes(data)
        of_left = json.loads(self.refrain("scaling", one, damaged, "--format", "json", code=4).rpartition("}")[0] + "}")
        self.assertEqual([1, 2], [of["processes"] for of in of_left["regions"][0]["by_processes"]])
        self.assertIn("of 1 of 2 ranks", self.refrain("check", damaged, "--efficiency", "load_balance>=0.9"))
        packed = self.directory / "two.tar"
        self.refrain("pack", two, "-o", packed)
        self.assertEqual(text, self.refrain("scaling", one, packed))
        database = self.directory / "runs.sqlite"
        self.refrain("db", "add", one, two, again, "--database", database, "--version", "1")
        stored = json.loads(self.refrain("scaling", "--database", database, "--efficiency", "--format", "json"))
        for of, wanted in zip(stored["regions"][0]["by_processes"], run["by_processes"]):
            for factor in ("processes", "runs", "parallel", "load_balance", "communication", "computation_scaling"):
                self.assertAlmostEqual(wanted[factor], of[factor], delta=1e-6, msg=factor)
            self.assertNotIn("serialisation", of)
        properties = SOURCE / "examples/properties/efficiency.asl"
        found = json.loads(self.refrain("properties", "--database", database, "--properties", properties, "--format", "json"))
        self.assertNotIn("LowLoadBalance", [of["name"] for of in found["not_evaluated"]])
        self.assertIn("requires", self.refrain("scaling", "--database", database, "--weak", code=1))
        weak = json.loads(self.refrain("scaling", one, two, "--weak", "--format", "json"))
        self.assertEqual("weak", weak["scaling"])
        self.assertIn("no experiment directory", self.refrain("scaling", one, "main", code=1))
        link = self.directory / "the-same"
        link.symlink_to(one)
        for same in (one, link, f"{one}/"):
            self.assertIn("is named twice", self.refrain("scaling", one, two, same, code=1))


if __name__ == "__main__":
    unittest.main()
