"""Marks of loops, iterations and regions: right ones are recorded exactly, wrong ones are counted and do no harm."""

from __future__ import annotations

import re
import statistics
import subprocess
import unittest
from typing import Any

from refrain_testing import EXAMPLES, PROGRAMS, REFRAIN, Outcome, Report, TestCase, alone, clean_environment, mpirun

MISUSE_LINE = "the program's marks do not match"


class Marks(TestCase):
    def run_case(self, program: str, *arguments: str, ranks: int = 1,
                 launcher: str = "openmpi") -> tuple[Outcome, Report]:
        path = PROGRAMS / program
        if not path.exists():
            self.skipTest(f"{program} was not built")
        command = [str(path), *arguments]
        if program.endswith(("_openmpi", "_mpich")) or "fortran" in program:
            command = ["mpirun." + launcher, "-n", str(ranks), *command]
        outcome = self.measured(command)
        self.assertEqual(0, outcome.code, outcome.stderr)
        report = self.report(outcome, "--iterations")
        wall, total = report.totals["wall_s"], report.sum("exclusive_s", lambda c: True)
        self.assertLessEqual(abs(total - wall), 1e-6, "exclusive times add up to the wall time")
        self.assert_time_conserved(report)
        return outcome, report

    def regions(self, report: Report, name: str) -> list[dict[str, Any]]:
        return [c for c in report.callpaths if "region" in c and c["path"][-1] == name]

    def assert_region(self, report: Report, path: list[str], visits: int, least: float, most: float,
                      margin: float = 0.0005) -> None:
        """One region below `path`, with a time that lies between what the program has seen within and around its marks."""
        found = [c for c in report.callpaths if "region" in c and c["path"][-len(path):] == path
                 and c["path"].count(path[0]) == path.count(path[0])]
        self.assertEqual(1, len(found), f"{path} in {[c['path'] for c in report.callpaths if 'region' in c]}")
        self.assertEqual(visits, found[0]["region"]["visits"], f"visits of {path}")
        seconds = found[0]["region"]["wall_s"]
        self.assertTrue(least - margin <= seconds <= most + margin, f"time of {path}: {seconds} s, {least} to {most} s")

    def iterations(self, report: Report) -> dict[str, list[int]]:
        """Iterations of each loop, location by location, after a look at what each of them must have."""
        result: dict[str, list[int]] = {}
        for loop in report.data["loops"]:
            for of in loop["per_location"]:
                count = len(of["wall_s"])
                result.setdefault(loop["name"], []).append(count)
                self.assertEqual(count, len(of["cluster_of"]))
                self.assertEqual(count, sum(c["size"] for c in of["clusters"]), "members of clusters")
        return result

    def loop(self, report: Report, name: str, rank: int = 0) -> dict[str, Any]:
        (loop,) = [l for l in report.data["loops"] if l["name"] == name]
        (of,) = [p for p in loop["per_location"] if p["rank"] == rank]
        return of

    # ---- right ----

    def check_regions(self, program: str, mpi: bool, **how: Any) -> None:
        outcome, report = self.run_case(program, "regions", **how)
        self.assertEqual({}, report.losses_of_calls())
        self.assertEqual("", outcome.stderr)
        truth = outcome.json_lines()[0]
        self.assert_region(report, ["around", "region"], 1, *truth["region"])
        self.assert_region(report, ["outer"], 100, *truth["outer"])
        self.assert_region(report, ["outer", "inner"], 300, *truth["inner"])
        text = subprocess.run([str(REFRAIN), "report", str(outcome.experiment), "--min-share", "0"], capture_output=True,
                              text=True, timeout=120, check=True, env=clean_environment()).stdout
        self.assertRegex(text, r"(?m) outer +\[100 visits, [0-9.]+ m?s(, [^]]+ (waiting for a core|blocked))*\]$")
        for depth in range(1, 6):
            self.assert_region(report, ["descend", "recursive"] * depth, 1, 0, 5)
        # What is called before and after a region of the same function is not below it; what is called inside is.
        for name, below in (("spin_before", False), ("spin_inside", True), ("spin_after", False)):
            wrong = [c["path"] for c in report.callpaths if name in c["path"] and ("region" in c["path"]) != below]
            self.assertEqual([], wrong)
            seconds = report.of_function(name, "inclusive_s")
            away = report.off_cpu()
            self.assertTrue(0.2 - away - 0.05 <= seconds <= 0.25, f"{name}: {seconds} s of 0.2 s")
        (region,) = self.regions(report, "region")
        inside = report.of_function("spin_inside", "inclusive_s")
        self.assertLessEqual(inside, region["inclusive_s"] + 1e-9)
        self.assertLessEqual(region["inclusive_s"], region["region"]["wall_s"] + 0.05)
        if mpi:
            visits = lambda *below: report.sum("visits", lambda c: c["path"][-2:] == ["communicate", "MPI_Sendrecv"]
                                               and c["path"][:-2][-len(below):] == list(below)
                                               and c["path"].count(below[0]) == below.count(below[0]))
            self.assertEqual(5, visits("now_and_then", "a while"))
            self.assertEqual(7, visits("now_and_then"))
            inlined = [c["path"][-4:] for c in report.callpaths
                       if c["path"][-1] == "MPI_Iprobe" and "several_places" not in c["path"]]
            self.assertEqual([["regions", "outer", "communicate_inlined", "MPI_Iprobe"]], inlined)
            probes = {below: report.sum("visits", lambda c: c["path"][-1] == "MPI_Iprobe" and "several_places" in c["path"]
                                        and ("some" in c["path"]) == below) for below in (True, False)}
            self.assertEqual({True: 6 + 6 + 5, False: 6 + 6 + 7}, probes)
            self.assertEqual(2, visits("around"), "before and after the region")
            self.assertEqual(2, visits("around", "region"))
            for depth in range(1, 6):
                path = ["descend", "recursive"] * depth
                self.assertEqual(1, visits(*path))

    @alone
    def test_regions_are_exact_and_hold_what_is_inside_them(self) -> None:
        self.check_regions("marks_openmpi", True)

    @alone
    def test_regions_with_the_other_mpi(self) -> None:
        self.check_regions("marks_mpich", True, launcher="mpich")

    @alone
    def test_regions_without_mpi_and_without_optimization(self) -> None:
        self.check_regions("marks_serial", False)
        self.check_regions("marks_no_pie", False)

    def test_loops_again_and_inside_each_other(self) -> None:
        for program, ranks in (("marks_openmpi", 2), ("marks_serial", 1)):
            with self.subTest(program):
                _, report = self.run_case(program, "loops", ranks=ranks)
                self.assertEqual({}, report.losses_of_calls())
                self.assertEqual({"first": [50] * ranks, "second": [12] * ranks}, self.iterations(report))
                for rank in range(ranks):
                    wall = self.loop(report, "first", rank)["wall_s"]
                    peaks = [i for i, w in enumerate(wall) if w >= 0.005]
                    self.assertTrue({9, 19, 29, 39, 49} <= set(peaks), peaks)  # the machine may add others
                    self.assertLessEqual(0.001, min(wall))
                # The loops inside of another are regions of it, by themselves they are loops.
                visits = lambda *path: sum(c["region"]["visits"] for c in self.regions(report, path[-1])
                                           if c["path"][-len(path):] == list(path))
                self.assertEqual(2 * ranks, visits("loops", "loop_of", "first"))
                self.assertEqual(12 * ranks, visits("loops", "second", "loop_of", "first"))
                self.assertEqual(12 * ranks, visits("loops", "second", "third"))
                if program == "marks_openmpi":
                    calls = self.loop(report, "second")["mpi_calls"]
                    self.assertEqual([1 + 1 + 2 + 3 + 1 + 3] * 12, calls)
                    self.assertEqual([1 + i % 3 for i in range(30)] + [1 + i % 3 for i in range(20)],
                                     self.loop(report, "first")["mpi_calls"])

    def test_an_iteration_that_ends_mpi(self) -> None:
        """It is one of the loop, as far as it is measured; its marks match."""
        for mpi in ("openmpi", "mpich"):
            if not (PROGRAMS / f"marks_{mpi}").exists():
                continue
            outcome, report = self.run_case(f"marks_{mpi}", "finalize_inside", launcher=mpi)
            self.assertEqual(({}, ""), (report.losses_of_calls(), outcome.stderr))
            self.assertEqual({"until the end": [10]}, self.iterations(report))
            loop = self.loop(report, "until the end")
            self.assertGreaterEqual(loop["wall_s"][9], 0.03)
            self.assertEqual(loop["mpi_calls"][0] + 1, loop["mpi_calls"][9], "with MPI_Finalize")
            self.assert_region(report, ["until the end", "ending"], 1, 0.02, 5)

    def test_loops_of_threads(self) -> None:
        _, report = self.run_case("marks_openmpi", "threads")
        self.assertEqual({}, report.losses_of_calls())
        counts = self.iterations(report)
        # Threads that follow each other may share a location; numbering goes on there.
        self.assertEqual(150, sum(counts["in thread"]))
        self.assertEqual(50, sum(counts.get("in team", [50])))

    # ---- wrong ----

    def check_misuse(self, program: str, case: str, others: dict[str, int] | None = None, **how: Any) -> Report:
        for attempt in range(4):
            outcome, report = self.run_case(program, case, **how)
            self.check_counts(outcome, report, case, others)
            wall = sum(self.loop(report, "good")["wall_s"])
            (good,) = self.regions(report, "good")
            # A busy machine may take the core away between the end of an iteration and the next; hardly ever four times for so long.
            if abs(wall - good["region"]["wall_s"]) <= 0.1:
                break
        self.assert_near(wall, good["region"]["wall_s"], 0.1, "the iterations are the loop")
        return report

    def misused_in(self, outcome: Outcome) -> str:
        """The function that contains the place named in the line."""
        place = re.search(r", at (\S+)\+(0x[0-9a-f]+)[ ;]", outcome.stderr)
        assert place, outcome.stderr
        command = ["addr2line", "-f", "-e", place[1], place[2]]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0]

    def check_counts(self, outcome: Outcome, report: Report, case: str, others: dict[str, int] | None) -> None:
        times = outcome.json_lines()[0]["misused"]
        losses = report.losses_of_calls()
        self.assertEqual(times, losses.pop("mark_misused", 0), outcome.stderr)
        # While libgcc puts another frame's registers in place there is no caller to be found.
        truncated = sum(n for name, n in report.losses().items() if name.startswith("truncated_"))
        self.assertLessEqual(truncated, 2 + 0.02 * report.totals["samples"])
        self.assertEqual(others or {}, losses)
        self.assertEqual(1 if times else 0, len(outcome.stderr.splitlines()), outcome.stderr)
        self.assertEqual(1 if times else 0, outcome.stderr.count(MISUSE_LINE), outcome.stderr)
        self.assertEqual(20, min(self.iterations(report)["good"]))
        self.assertLessEqual(0.003, min(self.loop(report, "good")["wall_s"]), "the right iterations")
        (good,) = self.regions(report, "good")
        self.assertEqual(1, good["region"]["visits"])

    def check_short(self, wall: list[float]) -> None:
        """Each is 2 ms of work. One may have lost its core meanwhile, but not most of them."""
        self.assertLessEqual(0.002, min(wall))
        self.assertLess(statistics.median(wall), 0.02)

    def both(self, case: str, **how: Any) -> list[Report]:
        reports = []
        for program in ("marks_openmpi", "marks_serial", "marks_no_pie"):
            with self.subTest(program):
                reports.append(self.check_misuse(program, case, **how))
        return reports

    def test_ends_without_begin(self) -> None:
        self.both("end_without_begin")

    def test_iterations_outside_of_a_loop(self) -> None:
        for report in self.both("iteration_outside"):
            self.assertEqual({"good"}, set(self.iterations(report)))

    def test_iterations_begun_twice(self) -> None:
        for report in self.both("iteration_twice"):
            self.assertEqual([5], self.iterations(report)["bad"])
            self.check_short(self.loop(report, "bad")["wall_s"])

    def test_a_loop_that_ends_inside_an_iteration(self) -> None:
        for report in self.both("loop_end_inside"):
            self.assertEqual([6], self.iterations(report)["bad"])

    def test_regions_ended_in_another_order(self) -> None:
        for report in self.both("region_order"):
            self.assertEqual([4, 4], [self.regions(report, name)[0]["region"]["visits"] for name in ("one", "two")])
            self.assertFalse(any("one" in c["path"] for c in report.callpaths if "good" in c["path"]))

    def test_marks_left_by_longjmp(self) -> None:
        for report in self.both("by_longjmp"):
            self.assertEqual({"good": [20], "bad": [0]}, self.iterations(report) | {"bad": [0]})
            (after,) = self.regions(report, "after jump")
            self.assertNotIn("left", after["path"])

    def test_an_inner_loop_left_by_goto(self) -> None:
        for report in self.both("inner_left"):
            self.assertEqual([10], self.iterations(report)["bad"])
            (inner,) = self.regions(report, "inner")
            self.assertEqual(10, inner["region"]["visits"])

    def test_regions_and_iterations_that_overlap(self) -> None:
        for case, name in (("region_in_iteration", "skipped"), ("region_across", "across")):
            for report in self.both(case):
                self.assertEqual([10], self.iterations(report)["bad"])
                self.assertTrue(all(0.002 <= w for w in self.loop(report, "bad")["wall_s"]))
                self.assertEqual([10], [c["region"]["visits"] for c in self.regions(report, name)])
                self.assertFalse([c["path"] for c in self.regions(report, "between") if name in c["path"]])

    def test_a_region_left_by_return(self) -> None:
        for report in self.both("early_return"):
            if report.totals["mpi_calls"] > 0:
                visits = [report.sum("visits", lambda c: c["path"][:-2][-len(path):] == path) for path in
                          (["early_return", "knows_nothing"], ["comes_after", "unrelated"], ["forgets", "forgotten"])]
                self.assertEqual([6, 6, 3], visits)
            for name in ("knows_nothing", "unrelated"):
                paths = [c["path"] for c in report.callpaths if name in c["path"]]
                self.assertTrue(paths or name == "knows_nothing")
                self.assertFalse([p for p in paths if "forgotten" in p])

    def test_more_open_marks_than_are_followed(self) -> None:
        for report in self.both("too_many_open"):
            self.assertEqual([5], self.iterations(report)["bad"])

    def test_more_loops_than_are_kept(self) -> None:
        for program in ("marks_openmpi", "marks_serial"):
            outcome, report = self.run_case(program, "too_many_loops")
            self.assertEqual({"mark_misused": 2, "iteration_unclustered": 6}, report.losses_of_calls(), outcome.stderr)
            counts = self.iterations(report)
            self.assertEqual(16, len(counts))
            self.assertEqual([23], counts["good"])
            self.assertEqual(1, outcome.stderr.count(MISUSE_LINE), outcome.stderr)
            self.assertEqual("too_many_loops", self.misused_in(outcome), outcome.stderr)

    def test_strange_names(self) -> None:
        for report in self.both("strange_names"):
            names = sorted(c["path"][-1] for c in report.callpaths if "region" in c and c["path"][-1] != "good")
            self.assertEqual(sorted(["???\"\\;bytes?", "0123456789" * 25 + "01234", "(unnamed)", "Größe µ"]), names)
            self.assertTrue(all(c["region"]["visits"] == 5 for c in report.callpaths
                                if "region" in c and c["path"][-1] != "good"))

    def test_a_region_that_lasts_to_the_end_of_the_run(self) -> None:
        for report in self.both("never_ended"):
            (region,) = self.regions(report, "whole run")
            self.assertGreater(region["region"]["wall_s"], 20 * 0.003)

    def test_scope_objects_and_exceptions(self) -> None:
        for program in ("marks_scopes", "marks_scopes_plain"):
            with self.subTest(program):
                report = self.check_misuse(program, "scopes")
                self.assertEqual([20], self.iterations(report)["scoped"])
                self.assertEqual([10, 10], [self.regions(report, n)[0]["region"]["visits"] for n in ("odd", "even")])
                report = self.check_misuse(program, "thrown_in_iteration")
                self.assertEqual([16], self.iterations(report)["plain"])
                report = self.check_misuse(program, "thrown_out_of_loop")
                self.assertEqual([12], self.iterations(report)["plain"])

    def test_scope_objects_do_not_stand_in_call_paths(self) -> None:
        for program in ("marks_scopes", "marks_scopes_plain"):
            with self.subTest(program):
                report = self.check_misuse(program, "thrown_far")
                unwinding = report.sum("samples", lambda c: "throwing_step()/_Unwind_Resume" in "/".join(c["path"]))
                self.assertGreater(unwinding, 0, "what the scope's end calls is below the function of the scope")
                self.assertEqual([], [c["path"] for c in report.callpaths if any("refrain::" in p for p in c["path"])])

    # ---- Fortran ----

    def test_fortran(self) -> None:
        for kind in ("O0", "O2", "O2-flto", "O2-static-libgfortran"):
            with self.subTest(kind):
                for ranks in (1, 2):
                    outcome, report = self.run_case(f"marks_fortran_{kind}", ranks=ranks)
                    self.assertEqual({"mark_misused": ranks}, report.losses_of_calls(), outcome.stderr)
                    self.assertEqual(1, outcome.stderr.count(MISUSE_LINE), outcome.stderr)
                    self.assertEqual({"timestep": [20] * ranks}, self.iterations(report))
                    for path, visits in ((["marks_fortran", "timestep", "solve"], 20), (["first_of_all", "set-up"], 1)):
                        least, most = (sum(line[path[-1]][i] for line in outcome.json_lines()) for i in (0, 1))
                        self.assert_region(report, path, visits * ranks, least, most)
                    visits = lambda *path: report.sum(
                        "visits", lambda c: c["path"][-2 - len(path):] == [*path, "communicate", "MPI_Barrier"])
                    self.assertEqual(20 * ranks, visits("timestep", "solve"))
                    self.assertEqual(ranks, visits("first_of_all", "set-up"))
                    self.assertEqual(ranks, visits("first_of_all"))
                    # No procedure of the module stands in a call path.
                    helpers = {"found", "first_region_begin", "first_loop_begin"}
                    self.assertFalse([c["path"] for c in report.callpaths if helpers & set(c["path"])])

    # ---- the example that is made for them ----

    @alone
    def test_the_hot_spot_of_drift_moves_from_rank_to_rank(self) -> None:
        drift = EXAMPLES / "drift"
        for imbalance in (40, 0):
            command = mpirun(4, drift, "--steps", "200", "--imbalance", str(imbalance))
            outcome = self.measured(command)
            self.assert_same_result(self.plain(command), outcome)
            report = self.report(outcome, "--iterations")
            self.assert_time_conserved(report)
            self.assertEqual({"timestep": [200] * 4}, self.iterations(report))
            (chemistry,) = self.regions(report, "chemistry")
            self.assertEqual(4 * 200, chemistry["region"]["visits"])
            if not imbalance:
                self.assertEqual(0, report.below("chemistry_in_cloud", "samples"))
                continue
            loops = [self.loop(report, "timestep", rank) for rank in range(4)]
            outside = [[w - m for w, m in zip(l["wall_s"], l["mpi_s"])] for l in loops]
            typical = lambda rank, begin, end: statistics.median(outside[rank][begin:end])
            calm = max(typical(rank, 0, 50) for rank in range(4))
            for place, begin in enumerate(range(50, 200, 38)):
                window = [typical(rank, begin + 10, begin + 28) for rank in range(4)]
                hottest = max(range(4), key=lambda rank: window[rank])
                self.assertEqual(place, hottest, window)
                self.assertGreater(window[hottest], 2 * calm)

    # ---- without Refrain ----

    def test_without_refrain_the_program_is_as_ever(self) -> None:
        for program in ("marks_serial", "marks_static", "marks_no_pie", "marks_scopes"):
            for case in ("loops", "strange_names", "too_many_loops", "region_order", "scopes"):
                outcome = self.plain([PROGRAMS / program, case])
                self.assertEqual((0, ""), (outcome.code, outcome.stderr))
        outcome, _ = self.run_case("marks_serial", "loops")
        self.assertEqual(self.plain([PROGRAMS / "marks_serial", "loops"]).stdout, outcome.stdout)
        for program in sorted(PROGRAMS.glob("marks_fortran_*")):
            if program.is_file():
                outcome = self.plain(mpirun(1, program))
                self.assertEqual((0, ""), (outcome.code, outcome.stderr))

    @alone
    def test_without_refrain_a_mark_costs_a_load_and_a_branch(self) -> None:
        for program in ("marks_serial", "marks_static"):
            cost = self.plain([PROGRAMS / program, "cost"]).json_lines()[0]["ns"]
            self.assertLess(cost, 2, "ns per mark; a call through a pointer takes longer")

    def test_a_static_program_is_not_measured_and_runs(self) -> None:
        outcome = self.measured([PROGRAMS / "marks_static", "loops"])
        self.assertEqual((0, b'{"first": 50, "second": 12}\n'), (outcome.code, outcome.stdout), outcome.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
