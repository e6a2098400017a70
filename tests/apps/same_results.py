"""Bit-identical results and exit status with Refrain on and off, and exceptions under sampling: C, C++, Fortran."""

from __future__ import annotations

import re
import unittest

from refrain_testing import FULL, MPIS, PROGRAMS, Outcome, TestCase, mpiexec

LANGUAGES = ("c", "cxx", "fortran")
# Ticks on the wall clock come most often.
OFTEN = {"REFRAIN_SAMPLING_CLOCK": "wall", "REFRAIN_SAMPLING_FREQUENCY": "5000"}


class Programs(TestCase):
    def program(self, name: str, language: str, mpi: str) -> str:
        path = PROGRAMS / f"{name}_{language}_{mpi}"
        if not path.exists():
            self.fail(f"there is no {path}")
        return str(path)


class SameResults(Programs):
    def test_many_runs(self) -> None:
        for mpi in MPIS:
            for language in LANGUAGES:
                program = self.program("same_results", language, mpi)
                with self.subTest(mpi=mpi, language=language):
                    for status in (0, 3):
                        # A launcher ends the other ranks when one fails, without Refrain too: perhaps in mid-output.
                        command = mpiexec(mpi, 2 if status == 0 else 1, program, status, 500_000)
                        plain = self.plain(command)
                        self.assertEqual(status, plain.code)
                        self.assertNotEqual(b"", plain.stdout)
                        for _ in range(20 if FULL else 2 - bool(status)):
                            outcome = self.measured(command, OFTEN)
                            # Lines of two ranks come in any order, without Refrain too.
                            for of in (plain, outcome):
                                of.stdout = b"".join(sorted(of.stdout.splitlines(keepends=True)))
                            self.assert_same_result(plain, outcome)
                            self.assertTrue(outcome.experiment.is_dir(), outcome.stderr)
                    report = self.report(outcome)
                    self.assertGreater(report.totals["samples"], 0, "nothing was sampled, so nothing was tested")


class Exceptions(Programs):
    TIMES = 300_000 if FULL else 50_000

    def truth(self) -> int:
        return sum(range(self.TIMES)) + sum(i % 8 + 1 for i in range(self.TIMES))

    def seconds(self, outcome: Outcome) -> float:
        return float(re.search(r"(?m)^\s*(\d*\.\d+)$", outcome.stderr)[1])

    def test_libgcc_raises_them(self) -> None:
        for mpi in MPIS:
            for language in LANGUAGES:
                command = [self.program("throwing", language, mpi), self.TIMES]
                with self.subTest(mpi=mpi, language=language):
                    outcome = self.measured(command, OFTEN | {"LD_DEBUG": "bindings",
                                                              "LD_DEBUG_OUTPUT": str(self.directory / "bindings")})
                    self.assertEqual((0, f"{self.truth()} 1\n".encode()), (outcome.code, outcome.stdout), outcome.stderr)
                    self.assertGreater(self.report(outcome).below("throw_and_catch", "samples"), 0)
                    bound = re.compile(r"binding file \S+ \[0\] to (\S+) \[0\]: normal symbol `(_Unwind_\w+|__cxa_throw)'")
                    found = {symbol: to for path in self.directory.glob("bindings.*")
                             for to, symbol in bound.findall(path.read_text(errors="replace"))}
                    self.assertIn("_Unwind_RaiseException", found)
                    for symbol, to in found.items():
                        self.assertRegex(to, r"libgcc_s\.so|libstdc\+\+\.so", symbol)

    @unittest.skipUnless(FULL, "times are compared in the long form")
    def test_they_cost_no_more(self) -> None:
        for mpi in MPIS:
            for language in LANGUAGES:
                command = [self.program("throwing", language, mpi), self.TIMES]
                with self.subTest(mpi=mpi, language=language):
                    # Whatever else the machine does makes a run longer, never shorter: the least of each is compared, of
                    # more runs while it is too much.
                    pairs: list[tuple[float, float]] = []
                    for _ in range(3):
                        pairs += [(self.seconds(self.plain(command)), self.seconds(self.measured(command)))
                                  for _ in range(9)]
                        ratio = min(on for _, on in pairs) / min(off for off, _ in pairs)
                        if ratio <= 1.1:
                            break
                    self.assertLessEqual(ratio, 1.1, pairs)


if __name__ == "__main__":
    unittest.main(verbosity=2)
