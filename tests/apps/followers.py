"""Threads without marks of their own are cut at the iterations of the main thread: what they did in each is compared
with what the program did, with Open MPI and with MPICH."""

from __future__ import annotations

import unittest
from typing import Any

from refrain_testing import PROGRAMS, REFRAIN, Outcome, Report, TestCase, mpirun

LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}
BINARIES = [mpi for mpi in LAUNCHERS if (PROGRAMS / f"followers_{mpi}").exists()]
#: Every sample counts, also on a busy machine.
WALL_CLOCK = {"REFRAIN_SAMPLING_CLOCK": "wall", "REFRAIN_SAMPLING_FREQUENCY": "1000"}


class Followers(TestCase):
    def run_mode(self, mode: str, *arguments: int, mpi: str = "openmpi", ranks: int = 1,
                 env: dict[str, str] | None = None) -> Outcome:
        command = mpirun(ranks, PROGRAMS / f"followers_{mpi}", mode, *arguments)
        outcome = self.measured([LAUNCHERS[mpi], *command[1:]], env)
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.assertEqual(str(arguments[0]), outcome.stdout.decode().strip())
        return outcome

    def loop_of(self, outcome: Outcome, *options: str, loop: str = "step") -> tuple[dict[str, Any], Report]:
        report = self.report(outcome, "--iterations", "--clusters", *options)
        self.assert_time_conserved(report)
        return next(l for l in report.data["loops"] if l["name"] == loop), report

    def location(self, loop: dict[str, Any], thread: int, rank: int = 0) -> dict[str, Any]:
        return next(l for l in loop["per_location"] if (l["rank"], l["thread"]) == (rank, thread))

    def assert_complete(self, loop: dict[str, Any], iterations: int) -> None:
        """Every thread has a value for every iteration, and its clusters hold what its iterations have."""
        self.assertEqual(iterations, loop["iterations"])
        for of in loop["per_location"]:
            for name in ("cluster_of", "wall_s", "mpi_s", "cpu_s", "mpi_calls"):
                self.assertEqual(iterations, len(of[name]), name)
            sizes = [of["cluster_of"].count(k) for k in range(len(of["clusters"]))]
            self.assertEqual([c["size"] for c in of["clusters"]], sizes)
            clustered = sum(c["size"] * c["mean_wall_s"] for c in of["clusters"])
            # Times of clusters are whole nanoseconds, those of single iterations are not.
            self.assertAlmostEqual(clustered, sum(of["wall_s"]), delta=1e-9 * (1 + clustered + len(of["clusters"])))
            for wall, mpi in zip(of["wall_s"], of["mpi_s"]):
                self.assertLessEqual(0, mpi)
                self.assertLessEqual(mpi, wall)

    def assert_nothing_lost(self, report: Report) -> None:
        self.assertEqual({}, report.losses_of_calls())

    def assert_cut_as_main(self, loop: dict[str, Any], thread: int, rank: int = 0) -> None:
        self.assertEqual(self.location(loop, 0, rank)["wall_s"], self.location(loop, thread, rank)["wall_s"])

    def test_samples_of_workers_lie_in_the_iterations_that_they_were_taken_in(self) -> None:
        iterations = 30
        for mpi in BINARIES:
            outcome = self.run_mode("alternate", iterations, 60, mpi=mpi, env=WALL_CLOCK)
            loop, _ = self.loop_of(outcome, "--metric", "samples")
            self.assert_complete(loop, iterations)
            self.assert_cut_as_main(loop, 1)
            self.assertEqual({0, 1}, {l["thread"] for l in loop["per_location"]})
            # With fewer samples an iteration is shown as those of its class.
            shown = {l["thread"]: [i for i, n in enumerate(l["samples"]) if n >= 10] for l in loop["per_location"]}
            for number, name in enumerate(("even_work", "odd_work")):
                loop, _ = self.loop_of(outcome, "--metric", "samples", "--callpath", name)
                for of in loop["per_location"]:
                    self.assertEqual(iterations, len(set(of["cluster_of"])), "clusters of one iteration: nothing is mixed")
                    samples, of_it = of["callpath"]["samples"], shown[of["thread"]]
                    self.assertGreater(len(of_it), iterations // 2, "iterations with samples enough")
                    self.assertEqual([], [i for i in of_it if i % 2 != number and samples[i] > 0], f"{name} elsewhere")
                    self.assertEqual([], [i for i in of_it if i % 2 == number and samples[i] < 5], f"no {name}")

    def test_all_ranks_have_their_workers(self) -> None:
        loop, _ = self.loop_of(self.run_mode("alternate", 20, 5, ranks=2))
        self.assert_complete(loop, 20)
        self.assertEqual([(0, 0), (0, 1), (1, 0), (1, 1)], [(l["rank"], l["thread"]) for l in loop["per_location"]])
        for rank in (0, 1):
            self.assert_cut_as_main(loop, 1, rank)

    def test_one_iteration_and_its_clusters_show_what_the_worker_did(self) -> None:
        outcome = self.run_mode("alternate", 10, 60, env=WALL_CLOCK)
        for number, (own, other) in enumerate((("even_work", "odd_work"), ("odd_work", "even_work"))):
            report = self.report(outcome, "--iteration", str(4 + number))
            self.assert_time_conserved(report)
            self.assertEqual(2, len(report.locations))
            self.assertEqual(0, report.below(other, "samples"))
            self.assertGreater(report.below(own, "samples"), 20)
            text = self.plain([REFRAIN, "report", outcome.experiment, "--iteration", str(4 + number)]).stdout.decode()
            self.assertNotRegex(" ".join(text.split()), r"on \d+ ranks")
        for thread, name in ((0, "rank 0"), (1, "rank 0 thread 1")):
            subject = self.report(outcome, "--cluster", "0", "--thread", str(thread)).data["experiment"]["subject"]
            self.assertIn(f"cluster 0 of loop step on {name}: ", subject[0])
        loop, _ = self.loop_of(outcome, "--thread", "1")
        self.assertEqual([1], [l["thread"] for l in loop["per_location"]])

    def test_short_iterations_are_all_there_and_all_time_is_in_them(self) -> None:
        iterations = 20_000
        for shared, env in ((True, WALL_CLOCK), (False, {"REFRAIN_CLUSTER_EQUIVALENCE": "all"})):
            loop, report = self.loop_of(self.run_mode("short", iterations, 20, env=env))
            self.assert_complete(loop, iterations)
            self.assert_cut_as_main(loop, 1)
            worker = self.location(loop, 1)
            self.assertNotIn(-1, worker["cluster_of"])
            self.assertLessEqual(len(worker["clusters"]), 64 + 1, "and one of iterations without a record")
            self.assertNotIn("iteration_unclustered", report.losses())
            if not shared:  # nothing may be said of iterations without a sample
                continue
            work = report.below("even_work", "exclusive_s") + report.below("odd_work", "exclusive_s")
            self.assertGreater(work, 0.1 * sum(worker["wall_s"]), "the time of iterations too short for a sample")

    def test_a_thread_that_lives_in_an_iteration_works_there(self) -> None:
        iterations = 20
        outcome = self.run_mode("created", iterations, 30, env=WALL_CLOCK)
        loop, report = self.loop_of(outcome)
        self.assert_complete(loop, iterations)
        self.assertEqual({0, 1, 2}, {l["thread"] for l in loop["per_location"]}, "one location for all of them")
        walls = self.location(loop, 0)["wall_s"]
        for wall, of_main in zip(self.location(loop, 2)["wall_s"], walls):
            self.assertGreaterEqual(wall, 0.03)
            self.assertLess(wall, of_main)
        taken = self.location(self.loop_of(outcome, "--metric", "samples")[0], 2)["samples"]
        for number, name in enumerate(("even_work", "odd_work")):
            loop, _ = self.loop_of(outcome, "--metric", "samples", "--callpath", name)
            samples = self.location(loop, 2)["callpath"]["samples"]
            for i in range(iterations):
                if taken[i] < 10:
                    continue
                if i % 2 == number:
                    self.assertGreater(samples[i], 4)
                else:
                    self.assertEqual(0, samples[i])
        # None of it is outside of iterations.
        outside = [l["wall_s"] for l in report.locations if l["thread"] == 2][0] - sum(self.location(loop, 2)["wall_s"])
        self.assertLess(abs(outside), 1e-3)

    def test_calls_of_a_worker_are_counted_in_their_iterations(self) -> None:
        iterations = 3000
        for mpi in BINARIES:
            # All call paths: then the region tells classes, too.
            outcome = self.run_mode("calls", iterations, mpi=mpi, env={"REFRAIN_CLUSTER_EQUIVALENCE": "all"})
            loop, report = self.loop_of(outcome)
            self.assert_complete(loop, iterations)
            self.assertEqual([1 + i % 3 for i in range(iterations)], self.location(loop, 2)["mpi_calls"])
            self.assertEqual([0] * iterations, self.location(loop, 0)["mpi_calls"])
            worker = self.location(loop, 2)
            classes = [worker["clusters"][k]["class"] for k in worker["cluster_of"]]
            self.assertEqual(set(), set(classes[0::2]) & set(classes[1::2]), "the region is in odd iterations")
            for i in (100, 101):
                regions = [c["region"]["visits"] for c in self.report(outcome, "--iteration", str(i)).callpaths
                           if c["path"] and c["path"][-1] == "odd"]
                self.assertEqual([1] if i % 2 else [], regions)
            self.assert_nothing_lost(report)

    def test_a_call_over_many_iterations_is_mpi_time_of_each(self) -> None:
        iterations = 20
        within = slice(2, iterations - 2)
        # Without samples all time of these iterations is the call's. With samples it is but for the time of ticks.
        for sampling in ({"REFRAIN_SAMPLING_FREQUENCY": "0"}, WALL_CLOCK):
            loop, _ = self.loop_of(self.run_mode("waits", iterations, 10, env=sampling))
            self.assert_complete(loop, iterations)
            main, worker = self.location(loop, 0), self.location(loop, 2)
            of_ticks = [wall - mpi for wall, mpi in zip(main["wall_s"][within], worker["mpi_s"][within])]
            if sampling != WALL_CLOCK:
                self.assertEqual([0.0] * len(of_ticks), of_ticks)
            self.assertGreaterEqual(min(of_ticks), 0)
            self.assertLess(sum(of_ticks), 0.1 * sum(main["wall_s"][within]))
            self.assertEqual([0.0, 0.0], [worker["mpi_s"][0], worker["mpi_s"][-1]])
            self.assertEqual([int(i == iterations - 2) for i in range(iterations)], worker["mpi_calls"])

    def test_a_thread_has_empty_iterations_before_and_after_its_life(self) -> None:
        iterations = 400  # more than are logged one by one
        outcome = self.run_mode("late", iterations)
        loop, _ = self.loop_of(outcome)
        self.assert_complete(loop, iterations)
        worker, begin, end = self.location(loop, 2), iterations // 2, iterations - iterations // 4
        self.assertEqual([-1] * begin, worker["cluster_of"][:begin])
        self.assertEqual([-1] * (iterations - end), worker["cluster_of"][end:])
        self.assertNotIn(-1, worker["cluster_of"][begin:end])
        self.assertEqual([0.0] * begin, worker["wall_s"][:begin])
        self.assertEqual(self.location(loop, 0)["wall_s"][begin + 1:end - 1], worker["wall_s"][begin + 1:end - 1])

        text = self.plain([REFRAIN, "report", outcome.experiment, "--iterations"]).stdout.decode()
        self.assertNotIn("after the last snapshot", text)
        self.assertNotIn("least 0 s", text)
        subject = self.report(outcome, "--iteration", "3").data["experiment"]["subject"]
        self.assertIn("which rank 0 thread 2 did not reach", subject[0])

    def test_threads_that_begin_late_do_not_stall_the_program(self) -> None:
        iterations = 2_000_000
        for mpi in BINARIES:
            command = [LAUNCHERS[mpi], *mpirun(1, PROGRAMS / f"followers_{mpi}", "stall", iterations)[1:]]
            outcome = self.measured(command)
            self.assertEqual(0, outcome.code, outcome.stderr)
            # When each past iteration was logged for each of them it took 1,000 to 1,500 ms.
            self.assertLess(float(outcome.stdout), 200)
            report = self.report(outcome, "--clusters")
            loop = report.data["loops"][0]
            self.assertEqual(iterations + 100, loop["iterations"])
            late = [of for of in loop["per_location"] if of["thread"] > 0]
            self.assertEqual(2, len(late))
            for of in late:
                self.assertLessEqual(sum(c["size"] for c in of["clusters"]), 101)
                self.assertGreater(sum(c["size"] for c in of["clusters"]), 0)

    def test_a_thread_with_a_loop_of_its_own_is_cut_by_that(self) -> None:
        outcome = self.run_mode("own", 40)
        step, _ = self.loop_of(outcome)
        own, report = self.loop_of(outcome, loop="own")
        self.assertEqual([2], [l["thread"] for l in own["per_location"]])
        self.assertEqual([1] * 20, own["per_location"][0]["mpi_calls"])
        self.assertEqual({0, 1}, {l["thread"] for l in step["per_location"]})
        self.assert_nothing_lost(report)

    def test_snapshots_while_threads_follow_change_nothing(self) -> None:
        iterations = 400
        for mode, arguments in (("alternate", (10,)), ("calls", ())):
            outcome = self.run_mode(mode, iterations, *arguments, env={"REFRAIN_SNAPSHOT": "1"})
            loop, _ = self.loop_of(outcome)
            self.assert_complete(loop, iterations)
            self.assert_cut_as_main(loop, 1)

    def test_a_killed_run_has_the_iterations_of_workers_up_to_its_last_snapshot(self) -> None:
        for mode, last, arguments in (("alternate", 350, (10,)), ("short", 150_000, (20,))):
            outcome = self.measured(mpirun(1, PROGRAMS / "followers_openmpi", mode, 10 * last, *arguments),
                                    {"REFRAIN_SNAPSHOT": "1", "KILL_AT": str(last)})
            self.assertNotEqual(0, outcome.code)
            loop, report = self.loop_of(outcome)
            self.assertEqual("incomplete", report.data["experiment"]["state"])
            self.assertEqual({0, 1}, {l["thread"] for l in loop["per_location"]})
            self.assert_cut_as_main(loop, 1)
            worker = self.location(loop, 1)
            self.assertGreater(len(worker["wall_s"]), last // 4)
            self.assertNotIn(-1, worker["cluster_of"])


if __name__ == "__main__":
    unittest.main()
