"""Iterations of real programs: their vectors against the program's own arithmetic and clock, clusters, memory, snapshots
of jobs that are killed, and LAMMPS cut into iterations without a source change."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import (EXAMPLES, FULL, MPIS, PROGRAMS, REFRAIN, SOURCE, Outcome, Report, TestCase, alone, clean_environment,
                             mpiexec, mpirun, recorded_files)

LOOP = PROGRAMS / "iterations_loop"


def sent(iteration: int) -> int:
    return 1000 * (iteration % 3 + 1)


class Loop(TestCase):
    def loop_of(self, outcome: Outcome) -> dict[str, Any]:
        report = self.report(outcome, "--iterations")
        self.assert_time_conserved(report)
        self.assertEqual(1, len(report.data["loops"]))
        return report.data["loops"][0]

    def run_loop(self, ranks: int, iterations: int, duration: float, **env: str) -> tuple[dict[str, Any], Outcome]:
        outcome = self.measured(mpirun(ranks, LOOP, iterations, duration, self.directory / "log"), env)
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.assertEqual("", outcome.stderr)
        return self.loop_of(outcome), outcome

    @alone
    def test_every_iteration_has_its_own_counts_bytes_and_times(self) -> None:
        iterations = 600
        loop, outcome = self.run_loop(2, iterations, 1000)
        self.assertEqual(("step", iterations), (loop["name"], loop["iterations"]))
        ends = struct.unpack(f"{iterations}Q", (self.directory / "log").read_bytes())
        for location in loop["per_location"]:
            self.assertEqual([sent(i) for i in range(iterations)], location["bytes_sent"])
            self.assertEqual([1 + (i % 10 == 0) for i in range(iterations)], location["mpi_calls"])
            for i in range(iterations):
                self.assertLessEqual(location["mpi_s"][i], location["wall_s"][i])
        walls = next(l["wall_s"] for l in loop["per_location"] if l["rank"] == 0)
        off = [i for i in range(1, iterations) if abs(walls[i] - (ends[i] - ends[i - 1]) * 1e-9) > 5e-5]
        # One that is held up between an end and the next begin differs: on a busy machine some are.
        self.assertLessEqual(len(off), iterations // 10, "iterations unlike the program's clock")
        self.assertEqual(["manifest.json", "profile.refrain"], recorded_files(outcome.experiment))

    def test_a_receive_belongs_to_the_iteration_that_completes_it_and_the_path_that_posted_it(self) -> None:
        iterations = 40
        received = [(i % 2) * (1000 + i - 1) for i in range(iterations)]
        for mpi in ("openmpi", "mpich"):
            program = PROGRAMS / f"iterations_requests_{mpi}"
            if not program.exists():
                continue
            outcome = self.measured([f"mpiexec.{mpi}", "-n", "2", program, iterations])
            self.assertEqual((0, ""), (outcome.code, outcome.stderr))
            for location in self.loop_of(outcome)["per_location"]:
                if location["thread"] != 0:
                    continue
                self.assertEqual([1 + i % 2 for i in range(iterations)], location["mpi_calls"])
                self.assertEqual(received, location["bytes_received"])
                # What was posted before an iteration is no part of its call tree: two classes of iterations.
                self.assertEqual({0, 1}, {c["class"] for c in location["clusters"]})
            whole = self.report(outcome)
            for column, rows in (("bytes_received", ("post", "MPI_Irecv")), ("bytes_completed", ("finish", "MPI_Wait"))):
                found = {tuple(c["path"][-2:]): 0 for c in whole.callpaths if c[column]}
                for c in whole.callpaths:
                    if c[column]:
                        found[tuple(c["path"][-2:])] += c[column]
                self.assertEqual({rows: 2 * (sum(received) + 77)}, found, column)
            losses = whole.losses()
            self.assertEqual([], [name for name in losses if not name.startswith("tick_")], losses)
            one = self.report(outcome, "--iteration", "7", "--rank", "0")
            posted = [c for c in one.callpaths if c["path"][-1] == "MPI_Irecv"]
            self.assertEqual([(0, received[7])], [(c["visits"], c["bytes_received"]) for c in posted])

    def test_a_receive_that_nobody_completes_is_reported(self) -> None:
        command = mpirun(2, PROGRAMS / "iterations_requests_openmpi", 2, "leave")
        outcome = self.measured(command)
        self.assert_same_result(self.plain(command), outcome)
        self.assertEqual(2, self.report(outcome).losses().get("request_left"))

    def test_clusters_are_as_many_as_asked_for_and_never_mix_call_paths(self) -> None:
        for clusters in (1, 4, 16):
            loop, _ = self.run_loop(2, 500, 100, REFRAIN_CLUSTERS=str(clusters))
            for location in loop["per_location"]:
                of = location["cluster_of"]
                sizes = [c["size"] for c in location["clusters"]]
                self.assertEqual(sizes, [of.count(k) for k in range(len(sizes))])
                self.assertLessEqual(len(sizes), max(clusters, 2))  # with and without MPI_Barrier: one each at least
                with_barrier = {k for i, k in enumerate(of) if i % 10 == 0}
                without = {k for i, k in enumerate(of) if i % 10}
                self.assertEqual(set(), with_barrier & without)

    def test_equivalence_decides_what_may_share_a_cluster(self) -> None:
        classes = {}
        for equivalence in ("mpi", "none"):
            loop, _ = self.run_loop(1, 200, 10, REFRAIN_CLUSTER_EQUIVALENCE=equivalence, REFRAIN_CLUSTERS="1")
            classes[equivalence] = len(loop["per_location"][0]["clusters"])
        self.assertEqual({"mpi": 2, "none": 1}, classes)

    def test_memory_does_not_grow_with_the_number_of_iterations(self) -> None:
        peaks, sizes = {}, {}
        for iterations in (20_000, 1_000_000):
            outcome = self.measured(mpirun(1, LOOP, iterations, 0), {"REFRAIN_TRACE": "off"})
            self.assertEqual(0, outcome.code, outcome.stderr)
            peaks[iterations] = int(outcome.stdout)
            self.assertEqual(["manifest.json", "profile.refrain"], recorded_files(outcome.experiment))
            sizes[iterations] = (outcome.experiment / "profile.refrain").stat().st_size
            loop = self.loop_of(outcome)
            self.assertEqual(iterations, loop["iterations"])
            self.assertEqual(sum(map(sent, range(iterations))), sum(loop["per_location"][0]["bytes_sent"]))
        # The file is put together in memory at the end, twice at most. How well it compresses depends on how unequal the times
        # are: 5 to 9 bytes an iteration were seen. Without spilling there would be 25 more in memory.
        grown = sizes[1_000_000] - sizes[20_000]
        self.assertLessEqual(grown / 980_000, 15, f"bytes per iteration; sizes: {sizes}")
        self.assertLessEqual((peaks[1_000_000] - peaks[20_000]) * 1024, 2.2 * grown + 2**20, f"peaks in KiB: {peaks}, sizes: {sizes}")

    def test_marks_keep_errno_while_snapshots_are_written(self) -> None:
        """They are written at the ends of iterations: there are no calls that could end meanwhile."""
        outcome = self.measured([PROGRAMS / "iterations_serial", 3000, 1000], {"REFRAIN_SNAPSHOT": "1"})
        self.assertEqual(0, outcome.code, outcome.stderr)

    @unittest.skipUnless(FULL, "three runs of many iterations")
    def test_events_take_the_memory_that_they_may_and_no_more(self) -> None:
        def peak(iterations: int, memory: str) -> tuple[int, int]:
            """Of the program, and the size of its profile; KiB."""
            outcome = self.measured(mpirun(1, LOOP, iterations, 0), {"REFRAIN_TRACE_MEMORY": memory})
            self.assertEqual(0, outcome.code, outcome.stderr)
            return int(outcome.stdout), (outcome.experiment / "profile.refrain").stat().st_size // 1024

        # Half of it is the first thread's, and after 200,000 iterations that is full. At the end the profile has it once more,
        # compressed, beside what it has of the iterations (above). If nothing went it would be 40 bytes an iteration.
        (few, few_size), (many, many_size), (more, _) = peak(200_000, "16M"), peak(1_000_000, "16M"), peak(1_000_000, "64M")
        self.assertLessEqual(many - few, 2.2 * (many_size - few_size) + 8 * 1024, f"{few}, {many} KiB; {few_size}, {many_size} KiB")
        self.assertLessEqual(more - many, 48 * 1024 * 5 / 6, f"{many}, {more} KiB")

    def test_nor_does_it_in_a_program_without_mpi(self) -> None:
        outcome = self.measured([PROGRAMS / "iterations_serial", 1_000_000, 0], {"REFRAIN_TRACE": "off"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        early, late = map(int, outcome.stdout.split())
        # 512 KiB wait for the file; 10 bytes and more an iteration would be 10,000 KiB.
        self.assertLessEqual(late - early, 3000, "KiB")
        self.assertEqual(["manifest.json", "profile.refrain"], recorded_files(outcome.experiment))
        self.assertEqual(1_000_000, self.loop_of(outcome)["iterations"])

    def test_nor_does_it_where_mpi_is_never_initialized(self) -> None:
        for mpi in MPIS:
            outcome = self.measured([PROGRAMS / f"iterations_uninitialized_{mpi}", 2_000_000, 0], {"REFRAIN_TRACE": "off"})
            self.assertEqual(0, outcome.code, outcome.stderr)
            early, late = map(int, outcome.stdout.split())
            # 4 MiB wait for MPI_Init; 10 bytes and more an iteration would be 20,000 KiB.
            self.assertLessEqual(late - early, 9000, "KiB")
            self.assertEqual(2_000_000, self.loop_of(outcome)["iterations"])

    @unittest.skipUnless(FULL, "takes more than a minute")
    def test_a_program_that_never_initializes_mpi_has_snapshots(self) -> None:
        program = PROGRAMS / f"iterations_uninitialized_{MPIS[0]}"
        outcome = self.measured(["timeout", "-s", "KILL", "75", program, 1_000_000, 1000])
        self.assertNotEqual(0, outcome.code)
        self.assertGreater(self.loop_of(outcome)["iterations"], 30_000)

    def test_a_report_reads_no_more_than_it_shows(self) -> None:
        """Vectors stay in the file unless iterations are asked for, and then one piece of the log is there at a time."""
        experiments = {}
        for iterations in (20_000, 1_000_000):
            # Without samples: the modules that they hit are read for their names, and are not the same in both runs. Without events:
            # they are searched in a process of its own, whose memory is theirs.
            outcome = self.measured(mpirun(1, LOOP, iterations, 0), {"REFRAIN_SAMPLING_FREQUENCY": "0", "REFRAIN_TRACE": "off"})
            self.assertEqual(0, outcome.code, outcome.stderr)
            experiments[iterations] = outcome.experiment

        def more(options_of_few: list[str], options_of_many: list[str]) -> int:
            peaks = []
            for iterations, options in ((20_000, options_of_few), (1_000_000, options_of_many)):
                done = self.plain([PROGRAMS / "peak_memory", REFRAIN, "report", experiments[iterations], *options])
                self.assertEqual(0, done.code, done.stderr)
                peaks.append(int(done.stderr))
            return peaks[1] - peaks[0]

        labels = 4 * 980_000 // 1024  # a table of them, at most one an iteration, which views of iterations and of clusters need
        # What stands out is looked for in a process of its own, in series of at most 500,000 values (offline/findings/facts.hpp).
        series = 40 * 500_000 // 1024
        self.assertLess(more([], []), series + 500, "KiB more for 50 times as many iterations")
        # When groups of clusters occur is in the log, of which a piece is there at a time; all of it would be 10 bytes and more an iteration.
        self.assertLess(more(["--clusters"], ["--clusters"]), labels + 3000)
        self.assertLess(more(["--iteration", "19999"], ["--iteration", "777777"]), labels + 3000)
        self.assertLess(more(["--iterations"], ["--iterations"]), labels + 3000)


def kept(n: int, every: int) -> bool:
    """Whether the samples of iteration n are kept when those of one of `every` are: docs/file-format.md."""
    def mixed(x: int) -> int:
        x = (x + 0x9E3779B97F4A7C15) % 2**64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    seed = 0x5265667261696E
    return all(n >> j & 1 == mixed(n >> j + 1 ^ mixed(seed ^ mixed(j))) & 1 for j in range(every.bit_length() - 1))


@alone
class HotSpot(TestCase):
    """examples/drift on one rank: MPI is the same in all iterations, user code changes at `--start`."""

    START, STEPS, CELLS = 600, 800, 10_000

    def series(self, outcome: Outcome, callpath: str) -> dict[str, Any]:
        loop = self.report(outcome, "--iterations", "--callpath", callpath, "--metric", "user").data["loops"][0]
        return loop["per_location"][0]["callpath"]

    def test_a_function_below_which_no_call_was_made_has_no_time(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                program = PROGRAMS / f"iterations_refine_{mpi}"
                outcome = self.measured(mpiexec(mpi, 1, program, 300), {"REFRAIN_SAMPLING_FREQUENCY": "500"})
                self.assertEqual(0, outcome.code, outcome.stderr)
                split = self.series(outcome, "split")["user_s"]
                self.assertEqual([], [i for i, s in enumerate(split) if i % 20 != 19 and s > 0])
                self.assertTrue(all(s > 0 for s in split[19::20]))
                # About 15 of 45 samples are in split(): 6 standard errors are 19 of them.
                self.assertAlmostEqual(float(outcome.stdout), sum(split), delta=19 * 2e-3)
                second = self.report(outcome, "--iteration", "2").callpaths
                self.assertFalse([c for c in second if "refine" in c["path"]])

    def test_a_function_is_in_the_iterations_that_call_it_and_in_no_others(self) -> None:
        drift = mpirun(1, EXAMPLES / "drift", "--cells", self.CELLS, "--steps", self.STEPS, "--start", self.START)
        outcome = self.measured(drift, {"REFRAIN_SAMPLING_FREQUENCY": "1000"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        cloud, chemistry = self.series(outcome, "chemistry_in_cloud"), self.series(outcome, "chemistry")
        # At the boundary iterations without a sample are on one side or the other.
        for i in range(self.START - 40):
            # Every tenth is in a class of its own, with an MPI call more and a tenth of the samples.
            most = 5 * cloud["standard_error_s"][i] if i % 10 == 9 else 0
            self.assertLessEqual(cloud["user_s"][i], most, f"iteration {i}")
        # An iteration that had next to no CPU time has nothing to divide.
        unknown = [i for i in range(self.START - 40) if cloud["standard_error_s"][i] == 0]
        self.assertLess(len(unknown), self.START // 10, unknown)
        # 2 (cells / 16 + 1) + 1 cells of the cloud are computed 40 times, all cells once more, by the same function.
        extra = (2 * (self.CELLS // 16 + 1) + 1) * 40
        truth = extra / (extra + self.CELLS)
        for i in range(self.START + 40, self.STEPS):
            share = cloud["user_s"][i] / chemistry["user_s"][i]
            error = cloud["standard_error_s"][i] / chemistry["user_s"][i]
            # 5 errors are exceeded once in a million. The rest is for the timer, which is looked at on the kernel's tick
            # and sees too little of the 0.6 ms that come before the cloud when cores are shared.
            self.assertAlmostEqual(truth, share, delta=5 * error + 0.15, msg=f"iteration {i}")
        # Shares: what is certain of the CPU time of each iteration is not so of their sums when cores are shared.
        run = self.report(outcome)
        self.assertAlmostEqual(run.below("chemistry_in_cloud", "exclusive_s") / run.below("chemistry", "exclusive_s"),
                               sum(cloud["user_s"]) / sum(chemistry["user_s"]), delta=0.01, msg="add up to the run")

        before = self.report(outcome, "--iteration", "40")
        self.assert_time_conserved(before)
        self.assertFalse([c for c in before.callpaths if c["path"][-1] == "chemistry_in_cloud"])
        n = before.data["experiment"]["user_code_divided_by_samples"]
        self.assertGreaterEqual(n["least"], 10)
        self.assertEqual(n["least"], n["most"])
        text = self.text(outcome, "--iteration", "40")
        self.assertIn(f"divided as the {n['least']:.0f} samples", " ".join(text.split()))
        text = self.text(outcome, "--iterations", "--callpath", "chemistry_in_cloud", "--metric", "user")
        self.assertRegex(text, r"least < [0-9.]+ [mun]?s \(iteration")

    def text(self, outcome: Outcome, *options: str) -> str:
        done = self.plain([REFRAIN, "report", outcome.experiment, *options])
        self.assertEqual(0, done.code, done.stderr)
        return done.stdout.decode() if isinstance(done.stdout, bytes) else done.stdout


@alone
class Samples(TestCase):
    """The samples of single iterations, and values of single iterations against the program's own arithmetic."""

    ITERATIONS = 800
    KINDS = PROGRAMS / "iterations_kinds"

    def run_kinds(self, **env: str) -> tuple[Outcome, list[tuple[int, int]]]:
        log = self.directory / "log"
        # Few clusters, so that nearly every value is reconstructed.
        settings = {"REFRAIN_SAMPLING_FREQUENCY": "1000", "REFRAIN_CLUSTERS": "4"} | env
        outcome = self.measured(mpirun(1, self.KINDS, self.ITERATIONS, 1_000_000, log), settings)
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome, list(struct.iter_unpack("QQ", log.read_bytes()))

    def samples_of(self, outcome: Outcome, callpath: str) -> dict[str, Any]:
        loop = self.report(outcome, "--iterations", "--callpath", callpath, "--metric", "samples").data["loops"][0]
        return loop["per_location"][0]["callpath"]

    def alone_in_clusters(self, location: dict[str, Any]) -> set[int]:
        """Iterations that have the samples of their cluster, whether or not there was room for their own."""
        sizes = [cluster["size"] for cluster in location["clusters"]]
        return {i for i, cluster in enumerate(location["cluster_of"]) if sizes[cluster] == 1}

    def in_clusters(self, outcome: Outcome, function: str) -> int:
        clusters = self.report(outcome, "--clusters").data["loops"][0]["per_location"][0]["clusters"]
        return sum(self.report(outcome, "--cluster", str(k)).below(function, "samples") for k in range(len(clusters)))

    def test_recorded_samples_add_up_to_those_of_the_clusters(self) -> None:
        outcome, _ = self.run_kinds()
        for function, kinds in (("smooth", (0, 1, 2)), ("relax", (3,)), ("main", (0, 1, 2, 3))):
            of = self.samples_of(outcome, function)
            self.assertEqual((True, 1), (of["samples_recorded"], of["samples_recorded_every"]))
            self.assertEqual(self.ITERATIONS, len(of["samples"]))
            self.assertEqual(self.in_clusters(outcome, function), sum(of["samples"]))
            self.assertGreater(sum(of["samples"]), self.ITERATIONS / 8, "few samples test little")
            hit = {i % 4 for i, n in enumerate(of["samples"]) if n}
            self.assertLessEqual(hit, set(kinds), f"{function} was seen in iterations that did not call it")
            for i in range(0, self.ITERATIONS, 97):
                report = self.report(outcome, "--iteration", str(i))
                self.assertTrue(report.data["experiment"]["samples_recorded"])
                self.assertEqual(of["samples"][i], report.below(function, "samples"))

    def test_with_little_room_some_iterations_have_their_samples_and_all_add_up(self) -> None:
        outcome, _ = self.run_kinds(REFRAIN_ITERATION_SAMPLES="1K")
        location = self.report(outcome, "--iterations").data["loops"][0]["per_location"][0]
        smooth, relax = self.samples_of(outcome, "smooth"), self.samples_of(outcome, "relax")
        every = smooth["samples_recorded_every"]
        self.assertFalse(smooth["samples_recorded"])
        self.assertGreaterEqual(every, 4)
        self.assertEqual(0, every & (every - 1))
        recorded = [i for i in range(self.ITERATIONS) if kept(i, every)]
        self.assertAlmostEqual(self.ITERATIONS / every, len(recorded), delta=1)
        for i in recorded:
            own, other = (relax, smooth) if i % 4 == 3 else (smooth, relax)
            self.assertEqual(0, other["samples"][i])
            self.assertEqual(int(own["samples"][i]), own["samples"][i])
        between = sorted({i for i in range(self.ITERATIONS) if not kept(i, every)} - self.alone_in_clusters(location))
        # Three of four iterations compute in smooth. Clusters may separate the kinds by their user time, or mix them.
        samples = {of: sum(of_each["samples"][i] for i in between) for of, of_each in
                   (("smooth", smooth), ("relax", relax), ("main", self.samples_of(outcome, "main")))}
        self.assertGreater(samples["main"], 100, "few samples test little")
        self.assert_near(samples["smooth"] + samples["relax"], samples["main"], 0.05 * samples["main"], "estimates")
        self.assertGreater(samples["smooth"], samples["relax"])
        # Which kinds were kept is chance: 50 of the 200 kept iterations are of relax, give or take 6, with 4 or 5 samples
        # each, and the others are estimated from all. Standard deviation 30 of 870; the bound is 5.8 times that.
        for function, of in (("smooth", smooth), ("relax", relax)):
            self.assert_near(sum(of["samples"]), self.in_clusters(outcome, function), 0.2 * sum(of["samples"]) + 1, function)
        for i in (*recorded[:3], *between[:3], between[-1]):
            report = self.report(outcome, "--iteration", str(i))
            self.assertEqual(kept(i, every), report.data["experiment"]["samples_recorded"])
            self.assert_time_conserved(report)
            self.assertAlmostEqual(location["wall_s"][i], report.totals["wall_s"], delta=1e-9)

    def test_without_room_there_are_estimates(self) -> None:
        outcome, _ = self.run_kinds(REFRAIN_ITERATION_SAMPLES="0")
        of = self.samples_of(outcome, "smooth")
        self.assertEqual((False, 0), (of["samples_recorded"], of["samples_recorded_every"]))
        location = self.report(outcome, "--iterations").data["loops"][0]["per_location"][0]
        one = min(set(range(self.ITERATIONS)) - self.alone_in_clusters(location))
        self.assertFalse(self.report(outcome, "--iteration", str(one)).data["experiment"]["samples_recorded"])
        self.assertAlmostEqual(self.in_clusters(outcome, "smooth"), sum(of["samples"]),
                               delta=0.05 * sum(of["samples"]) + 1)

    def test_bytes_of_single_iterations_are_those_of_the_program(self) -> None:
        outcome, log = self.run_kinds(REFRAIN_SAMPLING_FREQUENCY="0")
        self.assertEqual(self.ITERATIONS, len(log))
        sizes = [c["size"] for c in
                 self.report(outcome, "--clusters").data["loops"][0]["per_location"][0]["clusters"]]
        alone = sum(size for size in sizes if size < 20)
        self.assertLess(alone, 0.05 * self.ITERATIONS, "values of single iterations would not be reconstructed")
        series = {}
        for function in ("halo", "payload"):
            loop = self.report(outcome, "--iterations", "--callpath", function, "--metric", "bytes_sent").data["loops"][0]
            series[function] = loop["per_location"][0]["callpath"]["bytes_sent"]
        for i, (halo, payload) in enumerate(log):
            self.assertAlmostEqual(halo, series["halo"][i], delta=0.005 * halo, msg=f"halo, iteration {i}")
            self.assertAlmostEqual(payload, series["payload"][i], delta=0.005 * payload, msg=f"payload, iteration {i}")
        for i in range(3, self.ITERATIONS, 101):
            halo, payload = log[i]
            report = self.report(outcome, "--iteration", str(i))
            self.assert_time_conserved(report)
            self.assertEqual(halo + payload, report.of_kind("mpi", "bytes_sent"))
            self.assertEqual(1 + i * 7 % 5, report.below("halo", "visits"))
            self.assertEqual(1, report.below("payload", "visits"))
            self.assertAlmostEqual(halo, report.below("halo", "bytes_sent"), delta=0.005 * halo)
            self.assertAlmostEqual(payload, report.below("payload", "bytes_sent"), delta=0.005 * payload)


class Killed(TestCase):
    """SIGKILL to one rank at a random moment: the job dies, and what was there at the last snapshot is readable."""

    PERIOD = 1.0  # s; snapshots come within 10 % of it

    def kill_once(self, moment: float) -> None:
        log, experiment = self.directory / "log", self.directory / "experiment"
        shutil.rmtree(experiment, ignore_errors=True)
        log.unlink(missing_ok=True)
        settings = {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"}
        command = [REFRAIN, "run", "--", *mpirun(2, LOOP, 100_000, 500, log)]
        job = subprocess.Popen(list(map(str, command)), cwd=self.directory, env=clean_environment(settings),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(moment)
            victims = self.ranks_of(job.pid)
            self.assertEqual(2, len(victims))
            os.kill(random.choice(victims), signal.SIGKILL)
            killed = time.monotonic_ns()
            self.assertNotEqual(0, job.wait(timeout=60))
        finally:
            job.kill()
            job.wait()
        ends = [end for end in struct.unpack("100000Q", log.read_bytes()) if end]
        least = sum(end < killed - int((1.1 * self.PERIOD + 0.3) * 1e9) for end in ends)
        report = Report(experiment, "--iterations")
        self.assertEqual("incomplete", report.data["experiment"]["state"])
        self.assert_time_conserved(report)
        loop = report.data["loops"][0]
        self.assertEqual([0, 1], sorted(l["rank"] for l in loop["per_location"]))
        for location in loop["per_location"]:
            count = len(location["wall_s"])
            self.assertLessEqual(least - 2, count)
            self.assertLessEqual(count, len(ends) + 2)
            self.assertEqual([sent(i) for i in range(count)], location["bytes_sent"])
            self.assertEqual(count, sum(c["size"] for c in location["clusters"]))
            self.assertNotIn(-1, location["cluster_of"])
        sampled = Report(experiment, "--iterations", "--callpath", "work", "--metric", "samples")
        recorded = 0
        for location in sampled.data["loops"][0]["per_location"]:
            self.assertTrue(location["callpath"]["samples_recorded"])
            recorded += sum(location["callpath"]["samples"])
        # The iterations in progress have a few more.
        self.assertIn(sampled.below("work", "samples") - recorded, range(5))
        self.assertGreater(recorded, 0)

    def test_threads_with_loops_are_held_while_a_snapshot_is_taken(self) -> None:
        experiment = self.directory / "experiment"
        settings = {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"}
        program = PROGRAMS / "iterations_threads"
        job = subprocess.Popen(list(map(str, [REFRAIN, "run", "--", *mpirun(1, program)])), cwd=self.directory,
                               env=clean_environment(settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(4)
            victims = self.ranks_of(job.pid, program)
            self.assertEqual(1, len(victims))
            os.kill(victims[0], signal.SIGKILL)
            job.wait(timeout=60)
        finally:
            job.kill()
            job.wait()
        report = Report(experiment, "--iterations")
        self.assert_time_conserved(report)
        locations = report.data["loops"][0]["per_location"]
        self.assertEqual([0, 1, 2], sorted(l["thread"] for l in locations))
        for location in locations:
            count = len(location["wall_s"])
            self.assertGreater(count, 1000)
            self.assertEqual(count, sum(c["size"] for c in location["clusters"]))
            self.assertNotIn(-1, location["cluster_of"])
            self.assertEqual({1 if location["thread"] == 0 else 0}, set(location["mpi_calls"]))
            self.assertLess(max(location["wall_s"]), 4)

    def ranks_of(self, launcher: int, program: Path = LOOP) -> list[int]:
        """The processes of the program among the launcher's descendants."""
        parents, found = {}, []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if os.readlink(entry / "exe") == str(program):
                    found.append(int(entry.name))
            except OSError:
                continue

        def is_ours(process: int) -> bool:
            while process > 1 and process != launcher:
                process = parents.get(process, 0)
            return process == launcher

        return [process for process in found if is_ours(process)]

    @alone
    def test_a_killed_job_keeps_what_its_last_snapshot_had(self) -> None:
        for _ in range(20 if FULL else 1):
            self.kill_once(random.uniform(2.5, 5.0))

    def test_a_killed_program_without_mpi_does_so_too(self) -> None:
        experiment = self.directory / "experiment"
        settings = {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"}
        program = PROGRAMS / "iterations_serial"
        job = subprocess.Popen(list(map(str, [REFRAIN, "run", "--", program, 10_000_000, 500])), cwd=self.directory,
                               env=clean_environment(settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(3.5)
        job.kill()
        self.assertEqual(-signal.SIGKILL, job.wait(timeout=60))
        report = Report(experiment, "--iterations")
        self.assertEqual("incomplete", report.data["experiment"]["state"])
        self.assert_time_conserved(report)
        (location,) = report.data["loops"][0]["per_location"]
        self.assertGreater(len(location["wall_s"]), 200)
        self.assertEqual(len(location["wall_s"]), sum(c["size"] for c in location["clusters"]))

    @alone
    def test_snapshots_can_be_switched_off(self) -> None:
        for period, parts in (("1", 1), ("0", 0)):
            experiment = self.directory / f"with-{period}"
            settings = {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": period}
            command = [REFRAIN, "run", "--", *mpirun(1, LOOP, 2500, 1000)]
            job = subprocess.Popen(list(map(str, command)), cwd=self.directory, env=clean_environment(settings),
                                   stdout=subprocess.DEVNULL)
            time.sleep(2.2)
            seen = len(list(experiment.glob("part-*.refrain")))
            self.assertEqual(0, job.wait(timeout=60))
            self.assertEqual(parts, seen)
            self.assertEqual([], list(experiment.glob("part-*.refrain")))

    def test_a_disk_that_is_full_leaves_the_program_alone(self) -> None:
        """Files may have 64 KiB: iterations cannot be written; one line says so and the program goes on."""
        command = ["sh", "-c", f"ulimit -f 64; exec {LOOP} 400000 0"]
        outcome = self.measured(mpirun(1, *command))
        self.assertEqual(0, outcome.code)
        lines = [line for line in outcome.stderr.splitlines() if "refrain:" in line]
        self.assertEqual(1, len([line for line in lines if "cannot write its iterations" in line]), outcome.stderr)
        self.assertLessEqual(len(lines), 2, outcome.stderr)


@unittest.skipUnless(shutil.which("lmp"), "LAMMPS is not installed")
class Lammps(TestCase):
    STEPS = 100
    MELT = f"""
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 50
thermo_modify norm no
run {STEPS}
"""

    def lmp(self) -> list[str]:
        (self.directory / "in.melt").write_text(self.MELT)
        return mpirun(2, "lmp", "-in", "in.melt", "-log", "none")

    def test_it_is_cut_at_every_time_step_without_a_source_change(self) -> None:
        # Once each time step and rank pair of neighbours: two sends of forces in CommBrick::reverse_comm.
        names = ("LAMMPS_NS::Verlet::run", "Verlet::run", "_ZN9LAMMPS_NS6Verlet3runEi")
        for function in names if FULL else names[:1]:
            outcome = self.measured(self.lmp(), {"REFRAIN_ITERATION_AT": f"MPI_Send@{function}/4"})
            self.assertEqual(0, outcome.code, outcome.stderr)
            report = self.report(outcome, "--iterations")
            self.assert_time_conserved(report)
            below = report.sum("visits", lambda c: c["path"][-1] == "MPI_Send" and
                               any("Verlet::run" in part for part in c["path"]))
            for location in report.data["loops"][0]["per_location"]:
                # The last one has no end: it is not whole.
                self.assertEqual((below // 2 - 1) // 4, len(location["wall_s"]))

    def test_a_step_each_when_the_call_is_made_once_each_step(self) -> None:
        outcome = self.measured(self.lmp(), {"REFRAIN_ITERATION_AT": "MPI_Send@reverse_comm/2"})
        report = self.report(outcome, "--iterations")
        for location in report.data["loops"][0]["per_location"]:
            self.assertEqual(self.STEPS, len(location["wall_s"]))  # set-up has the first such calls
            self.assertGreater(min(location["bytes_sent"]), 0)
        # Every twentieth step LAMMPS looks for new neighbours instead of telling the old ones where atoms are.
        table = subprocess.run([REFRAIN, "report", outcome.experiment, "--clusters", "--rank", "0"], check=True, text=True,
                               capture_output=True, env=clean_environment({"COLUMNS": "600"})).stdout
        rows = re.findall(r"(?m)^ +\d+ +(\d+) +[\d.]+ +\d+ +(\d+) +(\d+) +(\d+ .*)$", table)
        self.assertEqual(self.STEPS, sum(int(size) for size, *_ in rows), table)
        apart = [(int(size), int(first), int(last)) for size, first, last, text in rows
                 if re.search(r"no calls of \S*CommBrick::forward_comm\S*/MPI_", text)]
        self.assertEqual((5, 19, 99), (sum(a[0] for a in apart), min(a[1] for a in apart), max(a[2] for a in apart)), table)

    def test_a_function_that_is_not_there_is_one_line(self) -> None:
        for setting, words in (("MPI_Send@No::such", "no loaded module has a function of that name"),
                               ("MPI_Bogus", "this MPI has no function of that name")):
            outcome = self.measured(self.lmp(), {"REFRAIN_ITERATION_AT": setting})
            self.assertEqual(0, outcome.code)
            lines = [line for line in outcome.stderr.splitlines() if "refrain:" in line]
            self.assertEqual(1, len(lines), outcome.stderr)
            self.assertIn(words, lines[0])
            self.assertEqual([], self.report(outcome, "--iterations").data["loops"])


if __name__ == "__main__":
    unittest.main()
