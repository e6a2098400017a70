"""Time in which threads do not run: how much of user code waited for a core and how much was blocked, by region, iteration, thread and run, against the
program's own book of the kernel's clocks.

The book is kept twice, just within and just around a region: what is told lies between the two. Durations are drawn by chance, and the seed is in the
message of a failure.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import unittest
from pathlib import Path
from typing import Any, Iterable

from refrain_testing import FULL, MPIS, PROGRAMS, REFRAIN, Outcome, Report, TestCase, clean_environment, mpiexec

WITHOUT_PERF = [PROGRAMS / "sampling_source", "deny"]
WITHOUT_WATCH = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
ONE_CORE = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
SERIAL = PROGRAMS / "off_cpu"

Book = dict[str, dict[str, tuple[float, float]]]  # by region: class of time: at least, at most


def parts(times: list[float]) -> tuple[float, float]:
    wall, cpu, waited = times
    return waited, max(wall - cpu - waited, 0)


def book_of(lines: Iterable[dict[str, Any]]) -> Book:
    book: Book = {}
    for line in lines:
        (least_waited, least_blocked), (most_waited, most_blocked) = parts(line["inner"]), parts(line["outer"])
        of = book.setdefault(line["region"], {"waited_for_core_s": (0, 0), "blocked_s": (0, 0)})
        for name, least, most in (("waited_for_core_s", least_waited, most_waited),
                                  ("blocked_s", least_blocked, most_blocked)):
            of[name] = (of[name][0] + least, of[name][1] + most)
    return book


def run_delay_is_counted() -> bool:
    try:
        return any(int(number) for number in Path("/proc/self/schedstat").read_text().split())
    except OSError:
        return False


@unittest.skipUnless(run_delay_is_counted(), "this kernel does not count run delay")
class OffCpu(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.seed = random.randrange(1 << 20)

    def beside(self, *commands: list[str]) -> None:
        """Starts processes that do nothing but run, until the test ends."""
        for command in commands:
            process = subprocess.Popen([*map(str, command), "sh", "-c", "while :; do :; done"], env=clean_environment())
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)

    def run_program(self, *command: Any, env: dict[str, str] | None = None) -> tuple[Outcome, Report]:
        """Of a serial program what stands before it is not measured."""
        if SERIAL in command:
            at = command.index(SERIAL)
            experiment = self.directory / f"experiment-{random.getrandbits(60)}"
            outcome = self.plain([*command[:at], REFRAIN, "exec", "--", *command[at:]],
                                 {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)} | (env or {}))
            outcome.experiment = experiment
        else:
            outcome = self.measured(command, env)
        self.assertEqual(0, outcome.code, outcome.stderr)
        report = self.report(outcome, "--iterations")
        self.assert_time_conserved(report)
        return outcome, report

    def check_regions(self, outcome: Outcome, report: Report, cost_s: float = 3e-6) -> None:
        """`cost_s`: what a mark may take that the inner book does not see."""
        lines = [line for line in outcome.json_lines() if line["region"] not in ("MPI", "iterations")]
        book = book_of(lines)
        short_s = {name: sum(line["short_blocked"] for line in lines if line["region"] == name) for name in book}
        for name, of in book.items():
            regions = [c["region"] for c in report.callpaths if "region" in c and c["path"][-1] == name]
            visits = sum(line["visits"] for line in lines if line["region"] == name)
            self.assertEqual(visits, sum(r["visits"] for r in regions), name)
            for key, (least, most) in of.items():
                told = sum(r[key] for r in regions)
                slack = 0.001 + 0.01 * most + cost_s * visits
                if key == "blocked_s":  # a hypervisor may have taken the core meanwhile: told of a region that comes later
                    least, most = least - max(short_s[name], 0), most + max(sum(short_s.values()) - short_s[name], 0)
                self.assertTrue(least - slack <= told <= most + slack,
                                f"seed {self.seed}: {name}: {key} is {told:.6f}, the program says {least:.6f} to {most:.6f}")

    def check_sums(self, report: Report) -> None:
        """Run, call tree and threads say the same."""
        totals = report.totals
        for key, path in (("waited_for_core_s", "(waited for a core)"), ("blocked_s", "(blocked)")):
            self.assertAlmostEqual(totals[key], report.special(path), delta=1e-6)
            self.assertAlmostEqual(totals[key], sum(l[key] for l in report.locations), delta=1e-6)
        self.assertAlmostEqual(totals["not_on_cpu_s"], totals["waited_for_core_s"] + totals["blocked_s"], delta=1e-6)
        self.assertEqual(totals["not_on_cpu_low_s"], totals["not_on_cpu_high_s"])

    # ---- one thread, its own causes ----

    def test_sleep_pipe_lock_file_fault_and_stop_are_blocked(self) -> None:
        outcome, report = self.run_program(SERIAL, self.seed, 12, "csplftz")
        self.check_regions(outcome, report)
        self.check_sums(report)
        blocked = {line["region"]: parts(line["inner"])[1] for line in outcome.json_lines()}
        for name in ("sleeps", "pipe", "lock", "stopped"):
            self.assertGreater(blocked[name], 0.01, "the program has planted something")

    def test_beside_another_process_on_the_core(self) -> None:
        self.beside(ONE_CORE)
        for how in ([], WITHOUT_PERF):
            for env in ({}, WITHOUT_WATCH):
                with self.subTest(how=how, env=env):
                    outcome, report = self.run_program(*ONE_CORE, *how, SERIAL, self.seed, 20, "bcspl", env=env)
                    self.check_regions(outcome, report)
                    self.check_sums(report)
                    self.assertGreater(report.totals["waited_for_core_s"], 0.05)

    def test_a_quota_is_waiting_for_a_core_and_is_named(self) -> None:
        """Three tenths of a core, by a control group of the test's own."""
        group = Path(f"/sys/fs/cgroup/cpu/refrain-test-{os.getpid()}")
        try:
            group.mkdir()
        except OSError as why:
            self.skipTest(f"no control group of version 1 can be made: {why}")
        self.addCleanup(group.rmdir)
        (group / "cpu.cfs_period_us").write_text("100000")
        (group / "cpu.cfs_quota_us").write_text("30000")
        outcome, report = self.run_program("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", SERIAL, self.seed,
                                           40, "bs")
        self.check_regions(outcome, report)
        self.check_sums(report)
        # 40 times 25 ms of work on average take more than three times as long.
        (first,) = [of for of in report.locations if of["thread"] == 0]
        self.assertGreater(first["waited_for_core_s"], first["wall_s"] / 3)
        self.assertGreater(report.totals["throttled_s"], 0.3 * report.totals["waited_for_core_s"])
        texts = [f["text"] for f in self.report(outcome, "--findings").data["findings"]]
        self.assertTrue(any(t.startswith("user code waited for a core") and "quota" in t for t in texts), texts)

    def test_with_few_descriptors(self) -> None:
        """Then run delay is read at ends of regions and units alone."""
        self.beside(ONE_CORE)
        outcome, report = self.run_program(*ONE_CORE, "prlimit", "--nofile=40:40", SERIAL, self.seed, 20, "bspy")
        self.check_regions(outcome, report, cost_s=10e-6)
        self.check_sums(report)

    def test_iterations_have_what_their_regions_have(self) -> None:
        self.beside(ONE_CORE)
        outcome, _ = self.run_program(*ONE_CORE, SERIAL, self.seed, 40, "bs")
        (book,) = book_of(line for line in outcome.json_lines() if line["region"] == "iterations").values()
        for metric in ("waited_for_core", "blocked"):
            report = self.report(outcome, "--iterations", "--metric", metric)
            (loop,) = report.data["loops"]
            (of,) = [p for p in loop["per_location"] if p["thread"] == 0]
            values = of[metric + "_s"]
            self.assertEqual(40, len(values))
            least, most = book[metric + "_s"]
            slack = 0.001 + 0.01 * most
            self.assertTrue(least - slack <= sum(values) <= most + slack,
                            f"seed {self.seed}: {metric} {sum(values)}, the program says {least} to {most}")

    def test_iterations_that_differ_by_one_of_them_are_said_to(self) -> None:
        """Each tenth iteration takes 30 ms longer."""
        for letter, path, off_cpu in (("S", "(blocked)", "blocked"), ("W", "(waited for a core)", "waited_for_core")):
            with self.subTest(path=path, seed=self.seed):
                self.undisturbed(lambda letter=letter, path=path, off_cpu=off_cpu: self.check_slow_ones(letter, path, off_cpu))

    def check_slow_ones(self, letter: str, path: str, off_cpu: str) -> None:
        outcome, _ = self.run_program(*ONE_CORE, SERIAL, self.seed, 40, "c" + letter)
        (loop,) = self.report(outcome, "--clusters").data["loops"]
        (of,) = [p for p in loop["per_location"] if p["thread"] == 0]
        slow = [c for c in of["clusters"] if c["mean_wall_s"] > 0.025]
        self.assertTrue(slow)
        for cluster in slow:
            means = [a["cluster_mean"] for a in cluster["apart"] if a["path"] == [path]]
            self.assertTrue(means and means[0] > 0.015, cluster)
        outcome, _ = self.run_program(*ONE_CORE, SERIAL, self.seed, 200, "c" + letter)
        findings = self.report(outcome, "--findings").data["findings"]
        self.assertTrue(any("iterations" in f and f.get("cause", {}).get("off_cpu") == off_cpu for f in findings), findings)

    # ---- threads ----

    def test_threads_beyond_cores(self) -> None:
        for limit in ([], ["prlimit", "--nofile=40:40"]):
            with self.subTest(limit=limit):
                outcome, report = self.run_program(*ONE_CORE, *limit, SERIAL, self.seed, 10, "bsp", 5)
                self.check_regions(outcome, report, cost_s=10e-6)
                self.check_sums(report)
                self.assertGreater(report.totals["waited_for_core_s"], 0.1)

    # ---- MPI ----

    def test_ranks_that_share_cores(self) -> None:
        for mpi in MPIS:
            for ranks in (2, 4, 8) if FULL else (3,):
                with self.subTest(mpi=mpi, ranks=ranks):
                    self.check_ranks(mpi, ranks)

    def check_ranks(self, mpi: str, ranks: int) -> None:
        kinds = random.Random(self.seed).choice(("cs", "csp", "cl", "cy"))
        outcome, report = self.run_program(*mpiexec(mpi, ranks, PROGRAMS / f"off_cpu_{mpi}", self.seed, 20, kinds))
        self.check_regions(outcome, report)
        self.check_sums(report)
        books = [line for line in outcome.json_lines() if line["region"] == "MPI"]
        self.assertEqual(ranks, len(books))
        barriers = [c for c in report.callpaths if c["path"][-1] == "MPI_Barrier"]
        self.assertEqual(20 * ranks, sum(c["visits"] for c in barriers))
        # Other calls are those of begin and end: what they are off the CPU comes on top.
        off_s = sum(wall - cpu for wall, cpu, _ in (line["inner"] for line in books))
        told_s = report.totals["mpi_off_cpu_s"]
        others_s = sum(c["exclusive_s"] for c in report.callpaths if c["kind"] == "mpi") - sum(
            c["exclusive_s"] for c in barriers)
        self.assertGreater(told_s, 0.99 * off_s - 0.001 * ranks, f"seed {self.seed}, {kinds}")
        self.assertLess(told_s, 1.01 * off_s + 0.001 * ranks + others_s, f"seed {self.seed}, {kinds}")
        of_barriers_s = sum(c["off_cpu_s"] for c in barriers)
        self.assertGreater(of_barriers_s, 0.98 * off_s - 0.001 * ranks, f"seed {self.seed}, {kinds}")
        self.assertLess(of_barriers_s, 1.01 * off_s + 0.001 * ranks, f"seed {self.seed}, {kinds}")
        self.check_calls(report)

    def check_calls(self, report: Report) -> None:
        """Call paths have no more than the run; what is left over belongs to none of them."""
        calls = [c for c in report.callpaths if c["kind"] == "mpi" and not c["path"][-1].startswith("(")]
        for call in calls:
            self.assertLessEqual(call.get("off_cpu_s", 0), 1.001 * call["exclusive_s"] + 1e-4, call["path"])
        of_calls_s, all_s = sum(c.get("off_cpu_s", 0) for c in calls), report.totals["mpi_off_cpu_s"]
        self.assertLessEqual(of_calls_s, all_s + 1e-4)
        self.assertGreater(of_calls_s, 0.95 * all_s - 0.002)

    def test_a_sleep_in_a_call_is_told_of_its_path_its_events_and_as_a_cause(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                self.undisturbed(lambda mpi=mpi: self.check_sleeping_operation(mpi))

    def check_sleeping_operation(self, mpi: str) -> None:
        rounds, seconds = 40, 0.005
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"off_cpu_calls_{mpi}", rounds, seconds), {"REFRAIN_TRACE": "all"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        report = self.report(outcome)
        (book,) = outcome.json_lines()
        self.assertGreater(book["off_s"], 0.99 * rounds * seconds, "the program has planted something")
        told_s = sum(c["off_cpu_s"] for c in report.callpaths if c["path"][-1] == "MPI_Reduce_local")
        self.assertAlmostEqual(book["off_s"], told_s, delta=0.01 * book["off_s"] + 0.001)
        self.check_calls(report)

        def json_of(*words: Any) -> Any:
            return json.loads(subprocess.run([REFRAIN, *words, "--format", "json"], capture_output=True, text=True, check=True,
                                             env=clean_environment()).stdout)

        events = csv.DictReader(io.StringIO(subprocess.run(
            [REFRAIN, "events", outcome.experiment, "--format", "csv"], capture_output=True, text=True, check=True,
            env=clean_environment()).stdout))
        slept = [float(e["off_cpu_s"]) for e in events if e["event"] == "leave" and e["region"] == "MPI_Reduce_local"]
        self.assertEqual(rounds, len(slept))
        self.assertGreater(min(slept), 0.99 * seconds)
        self.assertAlmostEqual(told_s, sum(slept), delta=1e-4)
        (cause, *_) = json_of("analyze", outcome.experiment, "--causes")["causes"]
        self.assertEqual(("call", "MPI_Reduce_local", 1), (cause["kind"], cause["call"][-1], cause["rank"]))
        self.assertGreater(cause["off_cpu_s"], 0.9 * cause["severity_s"])
        findings = self.report(outcome, "--findings").data["findings"]
        named = [f for f in findings if f.get("cause", {}).get("path", [""])[-1] == "MPI_Reduce_local"]
        self.assertTrue(named, findings)
        self.assertEqual("not_on_cpu", named[0]["cause"]["off_cpu"])
        self.assertIn("because of time not on a CPU in", named[0]["text"])

    def test_the_first_page_says_why(self) -> None:
        cores = len(os.sched_getaffinity(0))
        outcome, report = self.run_program(
            *mpiexec("openmpi", 2 * cores, PROGRAMS / "off_cpu_openmpi", self.seed, 20, "bbs"))
        assert outcome.experiment
        page = subprocess.run([REFRAIN, "report", outcome.experiment], capture_output=True, text=True, check=True,
                              env=clean_environment() | {"COLUMNS": "200"}).stdout
        self.assertRegex(page, r"(?m)^ no core( +[0-9.]+ m?s +[0-9.]+ %)+ *$")
        self.assertRegex(page, r"(?m)^ blocked .* sleep, locks, files, page faults$")
        self.assertNotIn("uncertain", page)
        self.assertNotIn("not on CPU", page)
        self.assertRegex(page, rf"[0-9.]+ % +user code waited for a core, because {2 * cores} ranks share "
                               r"[0-9.]+ cores?")

    def test_a_signal_ends_a_rank_in_a_call(self) -> None:
        """Its record is written by a helper thread, with a clock of its own. The call polls, so it is on the CPU."""
        def check() -> None:
            outcome = self.measured(mpiexec("openmpi", 1, PROGRAMS / "off_cpu_openmpi", self.seed, 1, "die"))
            totals = self.report(outcome).totals
            self.assertGreater(totals["mpi_s"], 0.9)
            self.assertLess(totals["mpi_off_cpu_s"], 0.3)
            self.assertGreater(totals["user_s"], 0.9)

        self.undisturbed(check)


if __name__ == "__main__":
    unittest.main()
