"""REFRAIN_ITERATION_AT and functions that the compiler has inlined."""

from __future__ import annotations

import unittest

from refrain_testing import PROGRAMS, Outcome, TestCase, mpirun

PROGRAM = PROGRAMS / "iterations_inlined"
STEPS = 12


class Inlined(TestCase):
    def cut_at(self, setting: str, program: object = PROGRAM) -> tuple[Outcome, list[int]]:
        outcome = self.measured(mpirun(2, program, str(STEPS)), {"REFRAIN_ITERATION_AT": setting})
        self.assertEqual((0, b"done\ndone\n"), (outcome.code, outcome.stdout), outcome.stderr)
        loops = self.report(outcome, "--iterations").data["loops"]
        return outcome, [len(location["wall_s"]) for loop in loops for location in loop["per_location"]]

    def test_an_inlined_function_begins_iterations(self) -> None:
        # libc has a function named `step`, too. The last iteration has no end: it is not whole.
        outcome, iterations = self.cut_at("MPI_Barrier@step")
        self.assertEqual([STEPS - 1] * 2, iterations, outcome.stderr)
        self.assertEqual("", outcome.stderr)

    def test_one_that_is_inlined_in_several_places_does(self) -> None:
        outcome, iterations = self.cut_at("MPI_Allreduce@sum_up")
        self.assertEqual([STEPS + 2 - 1] * 2, iterations, outcome.stderr)

    def test_the_function_around_it_does(self) -> None:
        outcome, iterations = self.cut_at("MPI_Allreduce@main")
        self.assertEqual([STEPS + 2 - 1] * 2, iterations, outcome.stderr)
        outcome, iterations = self.cut_at("MPI_Allreduce@set_up")
        self.assertEqual([1] * 2, iterations, outcome.stderr)

    def test_without_debug_information_it_is_said_why_there_are_none(self) -> None:
        for setting, words in (("MPI_Barrier@step", "not called below a function of that name"),
                               ("MPI_Allreduce@sum_up", "no loaded module has a function of that name"),
                               ("MPI_Send@main", "this MPI function was not called")):
            with self.subTest(setting):
                outcome, iterations = self.cut_at(setting, PROGRAMS / "iterations_inlined_stripped")
                self.assertEqual([], iterations)
                lines = [line for line in outcome.stderr.splitlines() if "refrain:" in line]
                self.assertEqual(1, len(lines), outcome.stderr)
                self.assertIn(setting, lines[0])
                self.assertIn(words, lines[0])
                if "function of that name" in words:
                    self.assertIn("-g", lines[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
