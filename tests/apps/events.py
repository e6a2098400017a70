"""Events: what `refrain events` and `refrain export` show is what the program has done, and what its profile counts."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from refrain_testing import FULL, PROGRAMS, REFRAIN, Outcome, TestCase, alone, clean_environment, mpirun

MPIS = [mpi for mpi in ("openmpi", "mpich") if (PROGRAMS / f"events_few_{mpi}").exists()]
ALL = {"REFRAIN_TRACE": "all"}


def launched(mpi: str, ranks: int, program: str, *arguments: Any) -> list[str]:
    command = mpirun(ranks, PROGRAMS / f"{program}_{mpi}", *map(str, arguments))
    return ["mpiexec.mpich", *command[command.index("-n"):]] if mpi == "mpich" else command


class EventsTest(TestCase):
    def tool(self, *words: Any, code: int = 0) -> str:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(),
                              timeout=300)
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr}")
        self.stderr = done.stderr
        return done.stdout

    def events(self, experiment: Path, *options: Any, code: int = 0) -> list[dict[str, str]]:
        text = self.tool("events", experiment, "--format", "csv", *options, code=code)
        return list(csv.DictReader(io.StringIO(text)))

    def summary(self, experiment: Path) -> dict[str, Any]:
        return json.loads(self.tool("report", experiment, "--events", "--format", "json"))["events"]

    def traced(self, command: list[str], env: dict[str, str] | None = None) -> Outcome:
        outcome = self.measured(command, ALL | (env or {}))
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome

    def killed(self, name: str, options: dict[str, str], after_s: float) -> Path:
        """The experiment of a job that is killed some time after both ranks have written snapshots."""
        experiment = self.directory / name
        env = clean_environment(options | {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"})
        command = [REFRAIN, "run", "--", *mpirun(2, PROGRAMS / "iterations_loop", "1000000", "100")]
        with subprocess.Popen(list(map(str, command)), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as running:
            deadline = time.monotonic() + 60
            while len(list(experiment.glob("part-*.refrain"))) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(after_s)
            os.killpg(running.pid, signal.SIGKILL)
            subprocess.run(["pkill", "-KILL", "-f", str(PROGRAMS / "iterations_loop") + " 1000000 100"])
        return experiment

    def check_order(self, events: list[dict[str, str]]) -> None:
        times = [float(e["time_s"]) for e in events]
        self.assertEqual(sorted(times), times)
        open_calls: dict[tuple[str, str], list[str]] = defaultdict(list)
        for e in events:
            calls = open_calls[e["rank"], e["thread"]]
            if e["event"] == "enter":
                calls.append(e["region"])
            elif e["event"] == "leave":
                self.assertEqual(e["region"], calls.pop())
        self.assertEqual([], [calls for calls in open_calls.values() if calls])

    def check_against_profile(self, outcome: Outcome) -> None:
        events = self.events(outcome.experiment)
        self.check_order(events)
        visits, sent, messages = Counter(), Counter(), Counter()
        received, completed, begins = Counter(), Counter(), set()
        for e in events:
            region = e["region"]
            visits[region] += e["event"] == "enter"
            if e["event"] == "receive":
                received[region] += int(e["bytes_received"])
            elif e["event"] == "receive_completed":
                completed[region] += int(e["bytes_received"])
            elif e["event"] in ("send", "send_begun", "collective", "collective_begun"):
                sent[region] += int(e["bytes_sent"])
                messages[region] += e["event"].startswith("send")
            if e["event"] in ("collective", "collective_begun"):
                received[region] += int(e["bytes_received"])
            if e["event"] == "receive_begun":
                begins.add(region)
        report = self.report(outcome)
        functions = {c["path"][-1] for c in report.callpaths if c["kind"] == "mpi"}
        self.assertGreater(len(functions), 3)
        for name in functions - {"MPI_Finalize", "(MPI without call path)"}:
            self.assertEqual((name, report.of_function(name, "visits")), (name, visits[name]))
            self.assertEqual((name, report.of_function(name, "messages_sent")), (name, messages[name]))
            self.assertEqual((name, report.of_function(name, "bytes_sent")), (name, sent[name]))
            self.assertEqual((name, report.of_function(name, "bytes_completed")), (name, completed[name]))
            if name not in begins:  # the bytes of others are counted there when they are completed
                self.assertEqual((name, report.of_function(name, "bytes_received")), (name, received[name]))

    def check_sample(self, outcome: Outcome, loop: str = "step") -> list[int]:
        """The kept iterations are the same on all ranks, but for slow ones, which say how many ranks have them; and what is
        kept of each is all of it. Returns the numbers of the sample."""
        summary = self.summary(outcome.experiment)
        level, ranks = summary["level"], len(summary["by_rank"])
        slowest = {row["iteration"]: row["ranks"] for row in summary["slowest"] if row["loop"] == loop}
        self.assertLessEqual(len(slowest), 16)
        self.assertEqual("sampled", summary["mode"])
        self.assertEqual(1, len({rank["kept_hash"] for rank in summary["by_rank"]}), summary)
        events = self.events(outcome.experiment)
        self.check_order(events)
        kept: dict[tuple[str, str], list[int]] = defaultdict(list)
        calls: dict[tuple[str, str, int], int] = {}
        sent: dict[tuple[str, str, int], int] = {}
        begun: Counter[tuple[str, str]] = Counter()
        bytes_sent: Counter[tuple[str, str]] = Counter()
        for e in events:
            place = e["rank"], e["thread"]
            if e["event"] == "leave":
                begun[place] += 1
            if not e["event"].endswith("_completed"):
                bytes_sent[place] += int(e["bytes_sent"] or 0)
            if e["event"] == "span_end":
                if e["region"] == loop:
                    kept[place].append(int(e["iteration"]))
                    calls[*place, int(e["iteration"])], sent[*place, int(e["iteration"])] = begun[place], bytes_sent[place]
                begun[place] = bytes_sent[place] = 0
        sample = {place: [n for n in numbers if is_sampled(n, level)] for place, numbers in kept.items()}
        main = sample["0", "0"]
        self.assertEqual(sorted(set(main)), main)
        self.assertEqual({tuple(main)}, {tuple(numbers) for numbers in sample.values()})
        beside = Counter(n for (_, thread), numbers in kept.items() for n in numbers
                         if thread == "0" and not is_sampled(n, level) and (n in slowest or not is_sampled(n + 1, level)))
        self.assertEqual({n for n, of in slowest.items() if not is_sampled(n, level)}, set(beside))
        for n, of in beside.items():
            (self.assertEqual if not is_sampled(n + 1, level) else self.assertGreaterEqual)(of, slowest[n])
        self.assertEqual({ranks}, {of for n, of in slowest.items() if is_sampled(n, level)} | {ranks})
        self.assertEqual(summary["iterations_kept"], len(main))
        if loop == "(stretches)":
            return main
        exact = csv.DictReader(io.StringIO(self.tool("report", outcome.experiment, "--iterations", "--format", "csv")))
        for row in exact:
            key = row["rank"], row["thread"], int(row["iteration"])
            if row["loop"] == loop and key in calls:
                self.assertEqual((key, int(row["mpi_calls"]), int(row["bytes_sent"])), (key, calls[key], sent[key]))
        return main


class All(EventsTest):
    def test_counts_and_bytes_are_those_of_the_profile(self) -> None:
        for mpi in MPIS:
            for program, *arguments in (("events_few",), ("mpi_control", "requests", 30), ("mpi_traffic",)):
                with self.subTest(mpi=mpi, program=program):
                    self.check_against_profile(self.traced(launched(mpi, 2, program, *arguments)))

    def test_threads_are_locations(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome = self.traced(launched(mpi, 2, "mpi_control", "threads"))
                self.check_against_profile(outcome)
                places = {(e["rank"], e["thread"]) for e in self.events(outcome.experiment)}
                self.assertGreater(len(places), 2)

    def test_more_events_than_memory_has_room_for(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "mpi_control", "requests", 3000), {"REFRAIN_TRACE_MEMORY": "32K"})
        self.check_against_profile(outcome)
        by_rank = self.summary(outcome.experiment)["by_rank"]
        self.assertEqual([0, 0], [rank["lost"] for rank in by_rank])
        self.assertGreater(len([e for e in self.events(outcome.experiment) if e["event"] == "flush_begin"]), 10)

    def test_nothing_is_kept_when_that_is_asked_for(self) -> None:
        outcome = self.measured(launched(MPIS[0], 2, "events_few"), {"REFRAIN_TRACE": "off"})
        self.assertEqual([], list(outcome.experiment.glob("events-*")))
        self.assertEqual("off", self.summary(outcome.experiment)["mode"])
        for command in ("events", "export"):
            self.tool(command, outcome.experiment, code=1)
            self.assertIn("REFRAIN_TRACE=all", self.stderr)

    def test_a_value_that_is_none_is_named(self) -> None:
        for value in ("sometimes", "1-", "5-2", "1,,2", "-3"):
            outcome = self.measured([PROGRAMS / "truth_no_mpi", "0.01", "0"], {"REFRAIN_TRACE": value})
            self.assertEqual(0, outcome.code)
            self.assertIn(f"REFRAIN_TRACE={value}", outcome.stderr)
            self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)


    def test_iterations_end_while_a_thread_is_in_a_call(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "followers", "waits", 20, 5))
        events = self.events(outcome.experiment)
        self.check_order(events)
        for rank in "01":
            threads = {e["thread"] for e in events if e["rank"] == rank and e["event"] == "receive"}
            self.assertEqual(1, len(threads))
            mine = [e for e in events if e["rank"] == rank and {e["thread"]} == threads]
            words = [e["event"] for e in mine]
            begin, end = words.index("enter"), words.index("leave")
            iterations = [e["iteration"] for e in mine[begin:end] if e["iteration"]]
            self.assertGreater(len(iterations), 10)

    def test_threads_without_calls_are_written_by_others(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "followers", "alternate", 400, 5),
                              {"REFRAIN_TRACE_MEMORY": "32K", "REFRAIN_SNAPSHOT": "0"})
        by_rank = self.summary(outcome.experiment)["by_rank"]
        self.assertEqual([0, 0], [rank["lost"] for rank in by_rank])
        iterations = Counter((e["rank"], e["thread"]) for e in self.events(outcome.experiment) if e["iteration"])
        self.assertEqual({("0", "0"): 400, ("0", "1"): 400, ("1", "0"): 400, ("1", "1"): 400}, iterations)

    def test_times_are_the_same_whichever_ranks_are_asked_for(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "events_few"))
        # But for the times of sends of other ranks, which are not read.
        events = [e | {"sent_s": ""} for e in self.events(outcome.experiment)]
        for rank in "01":
            self.assertEqual([e for e in events if e["rank"] == rank], self.events(outcome.experiment, "--rank", rank))


class List(EventsTest):
    def test_iterations_larger_than_memory(self) -> None:
        """Iterations of 5,000 calls, in memory for few of them: the wanted one is written piece by piece."""
        outcome = self.measured(mpirun(1, PROGRAMS / "truth_cheap_calls", "40000"),
                                {"REFRAIN_TRACE": "3", "REFRAIN_TRACE_MEMORY": "32K",
                                 "REFRAIN_ITERATION_AT": "MPI_Send/5000"})
        events = self.events(outcome.experiment)
        self.check_order(events)
        self.assertEqual(0, self.summary(outcome.experiment)["by_rank"][0]["lost"])
        self.assertEqual(["3"], [e["iteration"] for e in events if e["iteration"]])
        one = self.events(outcome.experiment, "--iteration", 3)
        self.assertEqual(5000, len([e for e in one if e["event"] == "enter" and e["region"] == "MPI_Send"]))
        self.assertNotIn("events_lost", self.report(outcome).losses())

    def test_exemplars_of_an_earlier_run(self) -> None:
        first = self.measured(mpirun(2, PROGRAMS / "iterations_loop", "200", "10"), {"REFRAIN_CLUSTERS": "8"})
        (loop,) = self.report(first, "--iterations").data["loops"]
        exemplars = {c["exemplar"] for location in loop["per_location"] for c in location["clusters"]}
        self.assertGreater(len(exemplars), 3)
        outcome = self.traced(mpirun(2, PROGRAMS / "iterations_loop", "200", "10"), {"REFRAIN_TRACE": f"exemplars:{first.experiment}"})
        kept = {int(e["iteration"]) for e in self.events(outcome.experiment) if e["iteration"]}
        self.assertEqual(exemplars, kept)
        self.assertEqual("list", self.summary(outcome.experiment)["mode"])
        # More than there is room for: those that stand for most.
        many = self.measured(mpirun(1, PROGRAMS / "iterations_loop", "2000", "1000"), {"REFRAIN_CLUSTERS": "400"})
        outcome = self.traced(mpirun(1, PROGRAMS / "iterations_loop", "2000", "10"), {"REFRAIN_TRACE": f"exemplars:{many.experiment}"})
        room, of = map(int, re.search(r"room for (\d+) of (\d+) exemplars", outcome.stderr).groups())
        kept = {int(e["iteration"]) for e in self.events(outcome.experiment) if e["iteration"]}
        self.assertEqual((room, True), (len(kept), room < of))

    def test_exemplars_that_cannot_be_had(self) -> None:
        none = self.measured(launched(MPIS[0], 2, "events_few"))
        for experiment, word in ((none.experiment, "no loop is marked"), (self.directory / "nowhere", "does not exist")):
            outcome = self.measured(launched(MPIS[0], 2, "events_few"), {"REFRAIN_TRACE": f"exemplars:{experiment}"})
            self.assertEqual((0, b"2\n"), (outcome.code, outcome.stdout))
            self.assertIn(word, outcome.stderr)
            self.assertEqual(1, len(outcome.stderr.splitlines()), outcome.stderr)

    def test_what_is_outside_of_iterations_is_kept(self) -> None:
        outcome = self.measured(mpirun(1, PROGRAMS / "truth_cheap_calls", "20000"),
                                {"REFRAIN_TRACE": "3", "REFRAIN_TRACE_MEMORY": "32K"})
        calls = Counter(e["region"] for e in self.events(outcome.experiment) if e["event"] == "enter")
        self.assertEqual(20000, calls["MPI_Send"])
        self.assertEqual(0, self.summary(outcome.experiment)["by_rank"][0]["lost"])

    def test_listed_iterations_alone(self) -> None:
        command = mpirun(2, PROGRAMS / "iterations_loop", "20", "1000")
        outcome = self.measured(command, {"REFRAIN_TRACE": "0-2,7,19-30"})
        events = self.events(outcome.experiment)
        self.check_order(events)
        for rank in "01":
            kept = [int(e["iteration"]) for e in events if e["iteration"] and e["rank"] == rank]
            self.assertEqual([0, 1, 2, 7, 19], kept)
            self.assertEqual({"step"}, {e["region"] for e in events if e["iteration"]})
            # A message each, and a barrier in every tenth.
            mine = [e for e in events if e["rank"] == rank]
            self.assertEqual([1000 * (i % 3 + 1) for i in kept],
                             [int(e["bytes_sent"]) for e in mine if e["event"] == "send"])
            self.assertEqual(1, [e["region"] for e in mine if e["event"] == "enter"].count("MPI_Barrier"))
        summary = self.summary(outcome.experiment)
        self.assertEqual(("list", 5), (summary["mode"], summary["iterations_kept"]))
        self.assertEqual(1, len({rank["kept_hash"] for rank in summary["by_rank"]}))
        one = self.events(outcome.experiment, "--iteration", 7)
        self.assertEqual({"1000" if 7 % 3 == 0 else str(1000 * (7 % 3 + 1))},
                         {e["bytes_sent"] for e in one if e["event"] == "send"})
        self.assertEqual(2, len([e for e in one if e["event"] == "send"]))
        self.assertEqual([], [e for e in self.events(outcome.experiment, "--rank", 1) if e["rank"] != "1"])
        self.tool("events", outcome.experiment, "--iteration", 3, code=1)
        self.assertIn("--iteration 3", self.stderr)
        middle = float(one[0]["time_s"])
        later = self.events(outcome.experiment, "--from", middle)
        earlier = self.events(outcome.experiment, "--to", middle)
        at_once = [e for e in events if float(e["time_s"]) == middle]
        self.assertEqual(len(events) + len(at_once), len(earlier) + len(later), "these are in both")


def mixed(x: int) -> int:
    """docs/file-format.md, of 64 bits."""
    x = x + 0x9e3779b97f4a7c15 & 0xffffffffffffffff
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & 0xffffffffffffffff
    x = (x ^ x >> 27) * 0x94d049bb133111eb & 0xffffffffffffffff
    return x ^ x >> 31


def is_sampled(n: int, level: int) -> bool:
    seed = 0x5265667261696e
    return all(n >> j & 1 == mixed(n >> j + 1 ^ mixed(seed ^ mixed(j))) & 1 for j in range(level))


class Sampled(EventsTest):
    SAMPLED = {"REFRAIN_TRACE": "sampled", "REFRAIN_TRACE_MEMORY": "64K"}

    def test_the_same_iterations_on_all_ranks(self) -> None:
        for mpi, ranks in [(mpi, ranks) for mpi in MPIS[:1] for ranks in (2, 4)] + [(MPIS[0], 8)] * FULL:
            with self.subTest(mpi=mpi, ranks=ranks):
                outcome = self.measured(mpirun(ranks, PROGRAMS / "iterations_loop", "3000", "10"), self.SAMPLED)
                kept = self.check_sample(outcome)
                level = self.summary(outcome.experiment)["level"]
                self.assertGreater(level, 1)
                # One of each whole block.
                self.assertEqual([block for block in range(3000 >> level)], [n >> level for n in kept][:3000 >> level])

    @alone
    def test_the_slowest_iterations(self) -> None:
        """One rank lasts longer, and the other waits for it."""
        outcome = self.measured(mpirun(2, PROGRAMS / "iterations_loop", "3000", "10"), self.SAMPLED | {"SLOW_EVERY": "600"})
        self.check_sample(outcome)
        slowest = {row["iteration"]: row["ranks"] for row in self.summary(outcome.experiment)["slowest"]}
        self.assertEqual({n: 2 for n in range(300, 3000, 600)}, {n: slowest.get(n) for n in range(300, 3000, 600)})
        self.assertIn("slowest iterations", self.tool("report", outcome.experiment, "--events"))
        none = self.measured(mpirun(2, PROGRAMS / "iterations_loop", "3000", "10"), self.SAMPLED | {"REFRAIN_TRACE_SLOWEST": "0"})
        self.check_sample(none)
        self.assertEqual([], self.summary(none.experiment)["slowest"])

    def test_ranks_with_unequal_memory(self) -> None:
        program = [str(PROGRAMS / "iterations_loop"), "3000", "10"]
        outcome = self.measured([*mpirun(1, "env", "REFRAIN_TRACE_MEMORY=32K", *program), ":", "-n", "1", "env",
                                 "REFRAIN_TRACE_MEMORY=1M", *program], self.SAMPLED)
        self.check_sample(outcome)
        self.assertGreater(self.summary(outcome.experiment)["level"], 3)

    def test_threads_that_follow(self) -> None:
        outcome = self.measured(launched(MPIS[0], 2, "followers", "calls", 1500), self.SAMPLED)
        self.check_sample(outcome)
        self.assertGreater(self.summary(outcome.experiment)["level"], 0)

    def test_begin_and_end_of_the_run_are_kept(self) -> None:
        outcome = self.measured(mpirun(2, PROGRAMS / "iterations_loop", "3000", "10"), self.SAMPLED)
        for rank in "01":
            mine = [e for e in self.events(outcome.experiment) if e["rank"] == rank]
            # A machine that is slow to start a program has samples of it before.
            self.assertEqual(("enter", "MPI_Init"), [(e["event"], e["region"]) for e in mine if e["event"] != "sample"][0])
            self.assertEqual(("leave", "MPI_Finalize"), [(e["event"], e["region"]) for e in mine if e["event"] != "thread_end"][-1])

    def test_all_of_a_short_run(self) -> None:
        outcome = self.measured(mpirun(2, PROGRAMS / "iterations_loop", "100", "10"), {"REFRAIN_TRACE": "sampled"})
        self.assertEqual(list(range(100)), self.check_sample(outcome))
        self.assertEqual(0, self.summary(outcome.experiment)["level"])
        self.assertIn("all iterations of step", self.tool("report", outcome.experiment, "--events"))

    def test_a_program_without_iterations(self) -> None:
        outcome = self.measured(launched(MPIS[0], 2, "events_few"), self.SAMPLED)
        self.check_against_profile(outcome)

    @alone
    def test_a_rank_that_is_late(self) -> None:
        """The others do not wait for it longer than they are told to, and each writes its own."""
        outcome = self.measured(mpirun(3, PROGRAMS / "iterations_loop", "300", "10"),
                                self.SAMPLED | {"LATE": "4", "REFRAIN_FINALIZE_TIMEOUT": "1"})
        self.assertEqual(0, outcome.code)
        lines = [line for line in outcome.stderr.splitlines() if "REFRAIN_FINALIZE_TIMEOUT" in line]
        self.assertEqual(1, len(lines), outcome.stderr)
        self.assertEqual(3, len(list(outcome.experiment.glob("part-*.refrain"))))
        self.assertEqual({"0", "1", "2"}, {e["rank"] for e in self.events(outcome.experiment)})

    def test_killed_jobs_show_what_all_ranks_have(self) -> None:
        randomly = random.Random(5)
        for attempt in range(20 if FULL else 1):
            with self.subTest(attempt):
                experiment = self.killed(f"sampled-{attempt}", self.SAMPLED, randomly.uniform(0, 2))
                summary = self.summary(experiment)
                kept: dict[str, list[int]] = defaultdict(list)
                events = self.events(experiment)
                for e in events:
                    if e["iteration"] and is_sampled(int(e["iteration"]), summary["level"]):
                        kept[e["rank"]].append(int(e["iteration"]))
                self.assertEqual(sorted(events, key=lambda e: float(e["time_s"])), events)
                common = min(max(numbers) for numbers in kept.values())
                self.assertEqual(*([n for n in kept[rank] if n <= common] for rank in "01"))
                self.assertGreater(len(kept["0"]), 50)
                self.assertGreater(summary["level"], 0)


class Stretches(EventsTest):
    """Programs without marks. Each blocking collective operation of all ranks ends a stretch."""

    def stretches(self, mpi: str, ranks: int, mode: str, repetitions: int, memory: str = "16M") -> tuple[Outcome, int, int]:
        outcome = self.measured(launched(mpi, ranks, "events_stretches", mode, repetitions), {"REFRAIN_TRACE_MEMORY": memory})
        self.assertEqual(0, outcome.code, outcome.stderr)
        operations, before = map(int, outcome.stdout.split())
        return outcome, operations, before

    def test_all_of_a_short_run(self) -> None:
        for mpi, ranks in ((MPIS[-1], 2), (MPIS[0], 3)):
            with self.subTest(mpi=mpi):
                outcome, operations, _ = self.stretches(mpi, ranks, "plain", 101)
                self.assertEqual(list(range(operations)), self.check_sample(outcome, "(stretches)"))
                self.assertEqual(operations, self.summary(outcome.experiment)["stretches"])
                self.check_against_profile(outcome)
                ends: dict[str, list[tuple[str, str]]] = defaultdict(list)
                for e in self.events(outcome.experiment):
                    if e["event"] == "span_end":
                        ends[e["rank"]].append((e["region"], e["iteration"]))
                for rank in map(str, range(ranks)):
                    self.assertEqual([("(stretches)", str(n)) for n in range(operations)], ends[rank][:operations])

    def test_the_same_on_all_ranks(self) -> None:
        for ranks in (2, 4) + (8,) * FULL:
            outcome, operations, _ = self.stretches(MPIS[0], ranks, "plain", 1000, "64K")
            kept, level = self.check_sample(outcome, "(stretches)"), self.summary(outcome.experiment)["level"]
            self.assertGreater(level, 1)
            self.assertEqual([block for block in range(operations >> level)], [n >> level for n in kept][:operations >> level])
            self.assertIn(f"one of {1 << level} stretches", self.tool("report", outcome.experiment, "--events"))

    def test_what_is_not_the_same_on_all_ranks_is_left_out(self) -> None:
        outcome, operations, before = self.stretches(MPIS[0], 2, "differ", 100)
        self.assertEqual(list(range(before)), self.check_sample(outcome, "(stretches)"))
        text = self.tool("report", outcome.experiment, "--events")
        self.assertIn(f"{operations - before} stretches left out", text)
        self.assertEqual(operations - before, self.summary(outcome.experiment)["stretches_left_out"])

    def test_a_loop_that_is_marked_late(self) -> None:
        outcome, _, _ = self.stretches(MPIS[0], 2, "marked", 100)
        self.assertEqual(list(range(50)), self.check_sample(outcome, "late"))
        self.assertIn("all iterations of late", self.tool("report", outcome.experiment, "--events"))
        self.check_against_profile(outcome)

    def test_iterations_that_begin_at_calls(self) -> None:
        outcome = self.measured(launched(MPIS[0], 2, "events_stretches", "plain", 100), {"REFRAIN_ITERATION_AT": "MPI_Sendrecv/9"})
        self.assertNotIn("stretches", self.summary(outcome.experiment))
        self.assertGreater(self.summary(outcome.experiment)["iterations_kept"], 20)


class Export(EventsTest):
    def printed(self, directory: Path, *options: str) -> list[str]:
        done = subprocess.run(["otf2-print", *options, directory / "traces.otf2"], capture_output=True, text=True, timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout.splitlines()

    def records(self, directory: Path) -> dict[str, list[str]]:
        """By location: kind of record, and region or what it moves."""
        found: dict[str, list[str]] = defaultdict(list)
        for line in self.printed(directory):
            parts = re.match(r"([A-Z0-9_]+) +(\d+) +\d+  (.*)", line)
            if parts:
                kind, location, rest = parts.groups()
                region = re.search(r'Region: "(\w+)"', rest)
                peer = re.search(r"(?:Receiver|Sender): (\d)", rest)
                tag, length = re.search(r"Tag: (\d+)", rest), re.search(r"Length: (\d+)", rest)
                collective = re.search(r"Operation: (\w+), .* Root: (\w+).*, Sent: (\d+), Received: (\d+)", rest)
                words = [kind] + [m[1] for m in (region, peer, tag, length) if m] + (list(collective.groups()) if collective else [])
                if kind not in ("CALLING_CONTEXT_SAMPLE", "BUFFER_FLUSH"):
                    found[location].append(" ".join(words))
        return found

    def call(self, name: str, *within: str) -> list[str]:
        return [f"ENTER {name}", *within, f"LEAVE {name}"]

    def test_planted_events_one_by_one(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome = self.traced(launched(mpi, 2, "events_few"))
                directory = self.directory / f"otf2-{mpi}"
                self.tool("export", outcome.experiment, "--format", "otf2", "-o", directory)
                begin = self.call("MPI_Init") + self.call("MPI_Comm_rank")
                # Sent to each, and received from each, oneself included.
                end = self.call("MPI_Allreduce", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END ALLREDUCE NONE 8 8")
                expected = {
                    "0": begin + self.call("MPI_Send", "MPI_SEND 1 7 100") + self.call("MPI_Irecv", "MPI_IRECV_REQUEST")
                    + self.call("MPI_Wait", "MPI_IRECV 1 8 30") + end
                    + self.call("MPI_Bcast", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END BCAST 1 0 50"),
                    "1": begin + self.call("MPI_Recv", "MPI_RECV 0 7 100") + self.call("MPI_Send", "MPI_SEND 0 8 30") + end
                    + self.call("MPI_Bcast", "MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_END BCAST 1 100 50")}
                got = {location: [r for r in records if "MPI_Finalize" not in r]
                       for location, records in self.records(directory).items()}
                self.assertEqual(expected, got)

    def test_definitions(self) -> None:
        outcome = self.traced(mpirun(2, PROGRAMS / "iterations_loop", "30", "2000"))
        directory = self.directory / "otf2"
        self.tool("export", outcome.experiment, "-o", directory)
        text = "\n".join(self.printed(directory, "-G"))
        self.assertRegex(text, r'LOCATION_GROUP +1 .*"rank 1"')
        self.assertRegex(text, r'COMM .*"MPI_COMM_WORLD"')
        self.assertRegex(text, r'CALLING_CONTEXT .*"MPI_Sendrecv".*Parent: "step"')
        self.assertRegex(text, r'CALLING_CONTEXT .*"step".*Parent: "main@iterations_loop.c:\d+"')
        self.assertRegex(text, r'PARAMETER .*"iteration of step"')
        events = "\n".join(self.printed(directory))
        self.assertEqual(2 * 30, events.count("PARAMETER_INT64"))
        self.assertIn("CALLING_CONTEXT_SAMPLE", events)

    def test_functions_are_entered_and_left_when_asked_for(self) -> None:
        outcome = self.traced(mpirun(2, PROGRAMS / "iterations_loop", "30", "2000"))
        directory = self.directory / "otf2"
        self.tool("export", outcome.experiment, "-o", directory, "--regions", "callpath")
        for records in self.records(directory).values():
            open_regions: list[str] = []
            for record in records:
                kind, _, region = record.partition(" ")
                if kind == "ENTER":
                    open_regions.append(region)
                elif kind == "LEAVE":
                    self.assertEqual(open_regions.pop(), region)
            self.assertEqual([], open_regions)
            self.assertEqual(1, records.count("ENTER main"))
            self.assertIn("ENTER work", records)

    def test_some_ranks_alone(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "events_few"))
        for rank in (0, 1):
            directory = self.directory / f"of-{rank}"
            self.tool("export", outcome.experiment, "-o", directory, "--rank", rank)
            found = self.records(directory)
            self.assertEqual(1, len(found))
            self.assertIn("ENTER MPI_Send", next(iter(found.values())))

    def test_nothing_is_overwritten_and_nothing_half_is_left(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "events_few"))
        (self.directory / "there").mkdir()
        self.tool("export", outcome.experiment, "-o", self.directory / "there", code=1)
        self.assertIn("exists", self.stderr)
        (self.directory / "file").write_text("")
        (self.directory / "link").symlink_to(self.directory / "nowhere")
        self.tool("export", outcome.experiment, "-o", self.directory / "link", code=1)
        self.assertTrue((self.directory / "link").is_symlink())
        self.tool("export", outcome.experiment, "-o", self.directory / "file" / "below", code=1)
        self.assertEqual(1, len(self.stderr.splitlines()), self.stderr)


class Trouble(EventsTest):
    def test_killed_runs_keep_what_was_written(self) -> None:
        randomly = random.Random(7)
        for attempt in range(20 if FULL else 1):
            with self.subTest(attempt):
                experiment = self.killed(f"killed-{attempt}", ALL | {"REFRAIN_TRACE_MEMORY": "32K"}, randomly.uniform(0, 2))
                events = self.events(experiment)
                self.check_times(events)
                self.assertGreater(len([e for e in events if e["event"] == "send"]), 1000)

    def test_a_call_in_progress_is_in_the_events(self) -> None:
        """SIGTERM comes while the rank waits in MPI."""
        experiment = self.directory / "terminated"
        env = clean_environment(ALL | {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
        command = [REFRAIN, "run", "--", *launched(MPIS[0], 1, "endings", "wait", 100)]
        with subprocess.Popen(list(map(str, command)), env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True) as running:
            while not (ready := re.search(rb"ready, process (\d+)", line := running.stdout.readline())):
                self.assertTrue(line)
            time.sleep(0.5)
            os.kill(int(ready[1]), signal.SIGTERM)
            running.stdout.read()
        events = self.events(experiment)
        self.check_order(events)
        enters = Counter(e["region"] for e in events if e["event"] == "enter")
        report = self.report(Outcome(0, b"", b"", experiment))
        for name in {c["path"][-1] for c in report.callpaths if c["kind"] == "mpi"}:
            self.assertEqual((name, report.of_function(name, "visits")), (name, enters[name]))

    def check_times(self, events: list[dict[str, str]]) -> None:
        times = [float(e["time_s"]) for e in events]
        self.assertEqual(sorted(times), times)

    def test_a_full_disk_ends_events_and_nothing_else(self) -> None:
        """Files may have 64 KiB: after the first events no more can be written."""
        outcome = self.measured(mpirun(1, "prlimit", "--fsize=65536", PROGRAMS / "truth_cheap_calls", "300000"),
                                ALL | {"REFRAIN_TRACE_MEMORY": "64K"})
        self.assertEqual((0, 300000), (outcome.code, outcome.json_lines()[0]["calls"]), outcome.stderr)
        lines = [line for line in outcome.stderr.splitlines() if "refrain:" in line]
        self.assertEqual(1, len(lines), outcome.stderr)
        self.assertIn("cannot write events", lines[0])
        report = self.report(outcome)
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertEqual(300000, report.of_function("MPI_Send", "visits"))
        self.assertIn("events_lost", report.losses())
        self.assertGreater(len(self.events(outcome.experiment)), 1000)

    def test_damage_costs_what_it_holds(self) -> None:
        outcome = self.traced(launched(MPIS[0], 2, "mpi_control", "requests", 1000), {"REFRAIN_TRACE_MEMORY": "32K"})
        whole = self.events(outcome.experiment)
        # When its messages were sent is what the other rank has told.
        of_rank_0 = lambda events: [{k: v for k, v in e.items() if k != "sent_s"} for e in events if e["rank"] == "0"]
        randomly = random.Random(11)
        name = "events-1.refrain"
        contents = (outcome.experiment / name).read_bytes()
        for attempt in range(60 if FULL else 12):
            damaged = bytearray(contents)
            if attempt % 4 == 3:
                del damaged[randomly.randrange(len(damaged)):]
            else:
                for _ in range(1 + attempt % 3):
                    damaged[randomly.randrange(len(damaged))] ^= 1 << randomly.randrange(8)
            with self.subTest(attempt):
                copy = self.directory / f"damaged-{attempt}"
                shutil.copytree(outcome.experiment, copy)
                (copy / name).write_bytes(damaged)
                left = self.events(copy, code=4)
                self.assertIn(name, self.stderr)
                self.assertTrue(of_rank_0(whole) == of_rank_0(left), "a difference of long lists would take minutes")
                self.assertLess(len(left), len(whole))
        (copy / name).unlink()
        self.assertTrue(of_rank_0(whole) == of_rank_0(self.events(copy, code=4)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
