"""The first page names a planted cause in words, and says nothing where there is none.

Causes are planted by each thread's own CPU clock on two ranks, so their shares are known from arithmetic."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unittest
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Callable, Iterator

from refrain_testing import FULL, MPIS, PROGRAMS, REFRAIN, Disturbed, TestCase, clean_environment, mpiexec


class Book:
    """How long the iterations of a run were to take, and have taken by the program's own wall clock: from it follows whether the cause was there, and
    whether others took the machine meanwhile. Functions say what was wrong, and nothing where a rule has to find the cause."""

    def __init__(self, directory: Path) -> None:
        ranks = [json.loads(file.read_text()) for file in sorted(directory.iterdir())]
        self.elapsed_s = max(rank["elapsed_s"] for rank in ranks)
        # As the rules see an iteration: the mean over ranks. It is planned by the rank that has most to do.
        self.wall_s = [sum(of) / len(of) for of in zip(*(rank["wall_s"] for rank in ranks))]
        planned_s = [max(of) for of in zip(*(rank["planned_s"] for rank in ranks))]
        self.shortest_s = [min(of) for of in zip(*(rank["shortest_s"] for rank in ranks))]
        beyond_s = [wall - planned for wall, planned in zip(self.wall_s, planned_s)]
        self.disturbed_s = [of - median(beyond_s) for of in beyond_s]  # calls of MPI take as long in all iterations

    def is_disturbed(self) -> str:
        part = sum(max(of, 0.0) for of in self.disturbed_s) / sum(self.wall_s)
        return f"{100 * part:.0f} % of the time was not planned" if part > 0.05 else ""

    def has_no_clear_peaks(self, peaks: range) -> str:
        """A peak takes half as much again as what is around it, and eight deviations; one period is found beside up to three other peaks."""
        usual_s = median(self.wall_s)
        others = [i for i, of in enumerate(self.wall_s) if i not in peaks and of > 1.4 * usual_s]
        if len(others) > 2:
            return f"iterations {others} were slow, too"
        for peak in peaks:
            around = [self.wall_s[i] for i in range(max(peak - 10, 0), min(peak + 11, len(self.wall_s))) if i != peak]
            deviation = 1.4826 * median(abs(of - median(around)) for of in around)
            extra_s = self.wall_s[peak] - median(around)
            if extra_s < max(median(around), 12 * deviation) or self.disturbed_s[peak] > 0.25 * extra_s:
                return f"iteration {peak} took {self.wall_s[peak]} s among {around}"
        extra_s = sum(self.wall_s[peak] - usual_s for peak in peaks)
        return f"peaks are {extra_s} s of {self.elapsed_s} s" if extra_s < 0.05 * self.elapsed_s else ""

    def has_cheap_messages(self, messages: int) -> str:
        """The calls cost at least what as many of the shortest take, which is to be well above the 3 % that are worth a finding."""
        part = messages * median(self.shortest_s) / self.elapsed_s
        return f"calls cost {100 * part:.1f} % of the time" if part < 0.06 else ""


class Findings(TestCase):
    def findings(self, cause: str, mpi: str = MPIS[0], iterations: int = 400) -> dict[str, Any]:
        """By rule, of two milliseconds of computation an iteration."""
        experiment = self.directory / cause
        book = self.directory / f"{cause}-book"
        for old in (experiment, book):
            shutil.rmtree(old, ignore_errors=True)
        book.mkdir()
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"findings_causes_{mpi}", cause, iterations, 2000, book),
                                {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SAMPLING_FREQUENCY": "1000"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.book = Book(book)
        return self.findings_of(experiment)

    def findings_of(self, experiment: Path) -> dict[str, Any]:
        """By rule the largest, with all of that rule; the page of people says the same."""
        said = subprocess.run([REFRAIN, "report", experiment, "--format", "json"], capture_output=True, text=True, timeout=120, env=clean_environment())
        self.assertEqual(0, said.returncode, said.stderr)
        page = subprocess.run([REFRAIN, "report", experiment, "--findings"], capture_output=True, text=True, timeout=120, env=clean_environment())
        found: dict[str, Any] = {}
        for of in json.loads(said.stdout)["findings"]:
            self.assertIn(of["text"].split()[0], page.stdout)
            found.setdefault(of["rule"], of | {"all": []})["all"].append(of)
        return found

    @contextmanager
    def judged_by_its_book(self, is_unfair: Callable[[Book], str] = Book.is_disturbed) -> Iterator[None]:
        """What fails here says something only of a run that its own book calls fair."""
        try:
            yield
        except AssertionError as failure:
            if why := is_unfair(self.book):
                raise Disturbed(why) from failure
            raise

    def found(self, cause: str, rule: str, pattern: str, mpi: str = MPIS[0], also: Callable[[dict[str, Any]], bool] = lambda found: True,
              is_unfair: Callable[[Book], str] = Book.is_disturbed) -> dict[str, Any]:
        """What stands out of a run with this cause, of which `also` is true; of this rule, the one that has the pattern. It stands out in one of three
        runs that nobody disturbs, as the machine and the program's own book say: what other processes do may stand out instead."""
        found: dict[str, Any] = {}

        def check() -> None:
            found.clear()
            found.update(self.findings(cause, mpi))
            with self.judged_by_its_book(is_unfair):
                self.assertIn(rule, found)
                meant = [of for of in found[rule]["all"] if re.search(pattern, of["text"])]
                self.assertTrue(meant, [of["text"] for of in found[rule]["all"]])
                found[rule] |= meant[0]
                self.assertTrue(also(found), found)

        self.undisturbed(check, fair_runs=3)
        return found

    def test_a_late_rank(self) -> None:
        for mpi in MPIS:
            found = self.found("late_rank", "late_rank", r"^rank 1 computes longer than the others, .* in .*refine; they wait for it$", mpi)["late_rank"]
            self.assertEqual(("1", "refine"), (found["ranks"], found["cause"]["path"][-1]))
            self.assertGreater(found["figures"]["mean_s"], found["figures"]["others_s"])
            # Of 3 ms half a millisecond more than the mean of both; what other processes take makes all of it less.
            self.assertLess(found["share"], 0.5 / 3 + 0.05 + 3 * found["standard_error"])

    def test_a_hot_spot_that_moves(self) -> None:
        self.found("moving", "moving_hot_spot", r"^the slowest rank of loop step changes as iterations go \(ranks 0, 1\), .* mostly in .*refine",
                   also=lambda found: "late_rank" not in found)

    def test_slow_iterations(self) -> None:
        def is_unfair(book: Book) -> str:
            return book.has_no_clear_peaks(range(7, 400, 20))

        self.found("slow", "slow_iterations", r"^every 20th iteration of loop step \(7, 27, 47, 67, \.\.\.\) takes \d+\.\d times .*, in .*write_output",
                   also=lambda found: self.are_the_slow_ones(found["slow_iterations"]), is_unfair=is_unfair)
        self.found("slow_rank", "slow_iterations", r", in .*write_output on rank 1$", is_unfair=is_unfair)

    def are_the_slow_ones(self, found: dict[str, Any]) -> bool:
        """Their mean is that of the program's book, to a tenth, beside which two others may be counted."""
        mean_s = sum(self.book.wall_s[7::20]) / len(self.book.wall_s[7::20])
        return (found["iterations"]["period"] == 20 and found["cause"]["path"][-1] == "write_output"
                and abs(found["figures"]["mean_s"] - mean_s) < 0.1 * mean_s)

    def test_another_level_from_an_iteration_on(self) -> None:
        self.found("step", "step_of_iterations", r"^from iteration 13[0-9] on an iteration of loop step takes .*, in .*refine")

    def test_two_steps_are_no_growth(self) -> None:
        self.found("stairs", "step_of_iterations", r"^from iteration (1[12]|2[78])\d on an iteration of loop step takes .* instead of .*, in .*refine",
                   also=lambda found: len(found["step_of_iterations"]["all"]) == 2 and "growing_iterations" not in found)

    def test_a_stretch_of_slow_iterations(self) -> None:
        # Of 80 of 400 iterations two more milliseconds than two.
        self.found("stretch", "slow_stretch", r"^iterations 1(59|6\d) to 2[34]\d of loop step take .* before and afterwards, in .*refine",
                   also=lambda found: abs(found["slow_stretch"]["share"] - 80 * 2 / (480 * 2)) < 0.05)

    def test_a_rank_that_is_late_for_a_while(self) -> None:
        self.found("a_while", "late_for_a_while", r"^rank 1 computes longer than the others from about iteration 1[4-7]\d to 2[345]\d .*refine",
                   also=lambda found: "moving_hot_spot" not in found)

    def test_growth(self) -> None:
        self.found("growth", "growing_iterations", r"^an iteration of loop step takes ever more time, .*, in .*refine")

    def test_small_messages(self) -> None:
        messages = 400 * 1000
        found = self.found("messages", "small_messages", r"^[\d,]+ messages of \d+ B each on average .* in .*MPI_Sendrecv$",
                           also=lambda found: found["small_messages"]["figures"]["count"] >= 2 * messages,
                           is_unfair=lambda book: book.has_cheap_messages(messages))["small_messages"]
        # They cost no more than the time of iterations that is not computation.
        self.assertLess(found["share"], 1 - 400 * 0.002 / self.book.elapsed_s + 3 * found["standard_error"])

    def test_a_late_sender(self) -> None:
        self.found("sender", "late_sender", r"^rank 0 waits in .*MPI_Recv for late senders; .*because of .*refine on rank 1",
                   also=lambda found: (found["late_sender"]["path"][-1], found["late_sender"]["ranks"], found["late_sender"]["cause"]["ranks"]) == ("MPI_Recv", "0", "1"))

    def test_a_wait_at_a_collective_operation(self) -> None:
        self.found("collective", "wait_at_nxn", r"^rank 0 waits in .*MPI_Allreduce for the last rank; .*because of .*refine.* on rank 1")

    def test_waits_at_two_call_sites_have_a_cause_each(self) -> None:
        other = r"^rank 0 waits in potential > MPI_Allreduce for the last rank; .*because of .*write_output on rank 1"
        self.found("sites", "wait_at_nxn", r"^rank 1 waits in time_step > MPI_Allreduce for the last rank; .*because of .*refine on rank 0",
                   also=lambda found: any(re.search(other, of["text"]) for of in found["wait_at_nxn"]["all"]))

    def test_what_happens_once_is_the_cause_of_its_wait(self) -> None:
        self.found("rare", "late_sender", r"^rank 0 waits in .*MPI_Sendrecv for late senders; .*because of .*write_output on rank 1")

    def test_who_sleeps_has_no_function_that_is_the_cause(self) -> None:
        self.found("sleep", "late_sender", r"^rank 0 waits in .*MPI_Sendrecv for late senders; .*because of time spent blocked \(sleep, locks or files\) on rank 1",
                   also=lambda found: ", mostly on rank 1 (" in found.get("blocked", {"text": ""})["text"])

    def test_threads_with_unequal_work(self) -> None:
        """Of 20 ms in each step one thread works all the time, and the other one a quarter of it."""
        for mpi in MPIS:
            self.undisturbed(lambda: self.check_unequal_work(mpi))

    def check_unequal_work(self, mpi: str) -> None:
        found = self.of_threads(mpi, "uneven", 250, 0.001, 0.020)["uneven_threads"]
        self.assertRegex(found["text"], r"^threads of OpenMP have unequal work, mostly in .*uneven_part._omp_fn.0: .* of thread 0 against a mean of .*")
        self.assertAlmostEqual(0.375 * 20 / 21, found["share"], delta=0.1 + 3 * found["standard_error"])

    def of_threads(self, mpi: str, *words: object) -> dict[str, Any]:
        """What stands out of one process of two threads."""
        outcome = self.measured(mpiexec(mpi, 1, PROGRAMS / f"analyze_threads_{mpi}", *words))
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        found = self.findings_of(outcome.experiment)
        return defaultdict(lambda: self.fail(f"only {set(found)}"), found)

    def test_a_serial_section(self) -> None:
        """Of 25 ms in each step 15 are serial."""
        for mpi in MPIS:
            self.undisturbed(lambda: self.assertRegex(self.of_threads(mpi, "openmp", 60, 0.015, 0.010)["serial_section"]["text"],
                                                      r"^the first threads of ranks compute alone, .* mostly in .*serial_part"))

    # Rules that a program without a cause must not be accused by; what other processes take shows up in the others.
    OF_PROGRAMS = {"late_rank", "moving_hot_spot", "growing_iterations", "serial_section", "uneven_threads", "small_messages"}

    def test_nothing(self) -> None:
        for run in range(100 if FULL else 2):
            self.undisturbed(lambda: self.check_that_nothing_is_found(MPIS[run % len(MPIS)]))

    def check_that_nothing_is_found(self, mpi: str) -> None:
        found = self.findings("none", mpi, 150)
        with self.judged_by_its_book():
            self.assertEqual(set(), self.OF_PROGRAMS & set(found), found)

    def test_the_newest_experiment_is_opened(self) -> None:
        self.findings("none")
        self.findings("late_rank")
        done = subprocess.run([REFRAIN, "report"], capture_output=True, text=True, timeout=120, cwd=self.directory, env=clean_environment())
        self.assertEqual((0, "refrain report: late_rank, the newest experiment here\n"), (done.returncode, done.stderr))
        empty = self.directory / "empty"
        empty.mkdir()
        done = subprocess.run([REFRAIN, "report"], capture_output=True, text=True, timeout=120, cwd=empty, env=clean_environment())
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r"^refrain report: no experiment is named, and there is none here; .*\n$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
