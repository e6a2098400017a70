"""Messages that are sampled one by one where iterations find no room: both ends of each are those of one message, and the
waiting for late senders comes out right."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import statistics
import subprocess
import time
import unittest
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from events import MPIS, EventsTest, is_sampled, launched
from refrain_testing import FULL, PROGRAMS, REFRAIN, clean_environment, mpirun

# Of the first thread a half is for events: the begin takes a quarter of that, and the messages an eighth of it more.
MEMORY = {"REFRAIN_TRACE": "sampled", "REFRAIN_TRACE_MEMORY": "128K"}
# Ticks become nanoseconds along a straight line. Calls of the program are 30 us apart.
CLOCK_S = 10e-6
# Longer waits are not planted.
CAP_S = 1e-3


@dataclass
class Noted:
    """A message as the program has seen it."""
    begin_s: float
    end_s: float
    serial: int


@dataclass
class Truth:
    noted: dict[tuple[str, str, int], list[Noted]]  # by rank, side and tag, in the order of time
    sent: dict[int, Noted]
    received: dict[int, Noted]

    def call_at(self, rank: str, side: str, tag: int, begin_s: float, end_s: float) -> Noted | None:
        calls = self.noted[rank, side, tag]
        place = bisect_right(calls, begin_s + CLOCK_S, key=lambda call: call.begin_s) - 1
        return calls[place] if place >= 0 and calls[place].end_s >= end_s - CLOCK_S else None

    def waiting_s(self, serial: int) -> float:
        sent, received = self.sent[serial], self.received[serial]
        return max(0.0, min(sent.begin_s, received.end_s) - received.begin_s)

    def waiting_of_calls(self, serials: set[int]) -> dict[tuple[str, float], list[float]]:
        """By receiving rank and the begin of the call that has completed the messages."""
        calls: dict[tuple[str, float], list[float]] = defaultdict(list)
        for (rank, side, _), messages in self.noted.items():
            for of in messages:
                if side == "R" and of.serial in serials:
                    calls[rank, of.begin_s].append(self.waiting_s(of.serial))
        return calls


def step_of(serial: int) -> int:
    return serial & (1 << 40) - 1


def tag_of(serial: int) -> int:
    return (serial >> 40) % 64


class Matched(EventsTest):
    def truth(self, experiment: Path, log: str, ranks: int) -> Truth:
        """In seconds of the trace. What lies between the program's clock and the trace's is told by the first sends, which are
        whole in the events: each of them began within what the program has noted."""
        lines = {str(rank): [line.split() for line in Path(f"{log}.{rank}").read_text().splitlines()[1:]] for rank in range(ranks)}
        enters: dict[tuple[str, str], list[float]] = defaultdict(list)
        for e in self.events(experiment):
            if e["event"] in ("send", "send_begun") and len(enters[e["rank"], e["tag"]]) < 100:
                enters[e["rank"], e["tag"]].append(float(e["time_s"]))
        least, most = -math.inf, math.inf
        for rank, of_rank in lines.items():
            sends: dict[str, list[list[str]]] = defaultdict(list)
            for line in of_rank:
                if line[0] == "S":
                    sends[line[1]].append(line)
            for tag, of_tag in sends.items():
                self.assertGreater(len(enters[rank, tag]), 20)
                for enter, line in zip(enters[rank, tag], of_tag):
                    least, most = max(least, int(line[3]) / 1e9 - enter), min(most, int(line[4]) / 1e9 - enter)
        self.assertLess(least, most + CLOCK_S, "the clocks do not fit")
        offset = (least + most) / 2
        truth = Truth(defaultdict(list), {}, {})
        for rank, of_rank in lines.items():
            for side, tag, serial, begin, end in of_rank:
                noted = Noted(int(begin) / 1e9 - offset, int(end) / 1e9 - offset, int(serial))
                truth.noted[rank, side, int(tag)].append(noted)
                (truth.sent if side == "S" else truth.received)[int(serial)] = noted
        return truth

    def pairs(self, experiment: Path, *options: Any) -> list[dict[str, str]]:
        text = self.tool("events", experiment, "--matched", "--format", "csv", *options)
        return list(csv.DictReader(io.StringIO(text)))

    def ordinal(self, mode: str, serial: int) -> int:
        """Of the message among those of its class of tags."""
        step = step_of(serial)
        return 2 * step + (tag_of(serial) == 37) if mode == "one_class" else step

    def check_pairs(self, mode: str, experiment: Path, truth: Truth, summary: dict[str, Any]) -> set[int]:
        """Each pair is one message, by the serial number that the program has found in it. Returns these."""
        serials: Counter[int] = Counter()
        differences: list[float] = []
        calls: dict[tuple[str, str, str, str], list[tuple[str, float]]] = defaultdict(list)
        for row in self.pairs(experiment):
            tag = int(row["tag"])
            sent = truth.call_at(row["send_rank"], "S", tag, float(row["send_enter_s"]), float(row["send_leave_s"]))
            received = truth.call_at(row["receive_rank"], "R", tag, float(row["receive_enter_s"]), float(row["receive_leave_s"]))
            assert sent and received, f"the program has made no such call: {row}"
            self.assertEqual(sent.serial, received.serial, f"two messages: {row}")
            self.assertEqual(128, int(row["bytes"]))
            self.assertEqual("MPI_COMM_WORLD", row["communicator"])
            self.assertIn(row["in_events"], ("", "send", "receive"))
            self.assertEqual(self.ordinal(mode, sent.serial), int(row["message"]))
            self.assertTrue(is_sampled(int(row["message"]), summary["level"]))
            late = max(0.0, min(float(row["send_enter_s"]), float(row["receive_leave_s"])) - float(row["receive_enter_s"]))
            self.assertAlmostEqual(late, float(row["late_sender_s"]), delta=2e-9)
            differences.append(abs(late - truth.waiting_s(sent.serial)))
            calls[row["receive_rank"], row["receive_thread"], row["receive_enter_s"], row["receives"]].append((row["message"], late))
            serials[sent.serial] += 1
        self.assertEqual({1}, set(serials.values()), "a message is there twice")
        self.assertEqual(len(serials), summary["paired"])
        # Some may have been suspended between the program's clock and the tool's, but not half of them.
        self.assertLess(statistics.median(differences), CLOCK_S)
        least = most = 0.0
        self.capped = [0.0, 0.0]
        for (*_, receives), messages in calls.items():  # docs/events.md
            waiting = [late for _, late in messages]
            is_known = str(len(messages)) == receives and len({number for number, _ in messages}) == 1
            bounds = (max(waiting),) * 2 if is_known else (sum(waiting) / int(receives) if receives else 0, sum(waiting))
            least += bounds[0]
            most += bounds[1]
            capped = [min(late, CAP_S) for late in waiting]
            self.capped[0] += max(capped) if is_known else sum(capped) / int(receives) if receives else 0
            self.capped[1] += max(capped) if is_known else sum(capped)
        self.assertAlmostEqual(least * (1 << summary["level"]), summary["late_sender_least_s"], delta=1e-3)
        self.assertAlmostEqual(most * (1 << summary["level"]), summary["late_sender_most_s"], delta=1e-3)
        return set(serials)

    def measure(self, mode: str, mpi: str = MPIS[0], ranks: int = 2, steps: int = 1200,
                command: list[str] | None = None) -> tuple[Path, Truth, dict[str, Any], set[int]]:
        log = str(self.directory / "log")
        outcome = self.measured(command or launched(mpi, ranks, "events_matched", mode, steps, log), MEMORY, timeout=300)
        self.assertEqual(0, outcome.code, outcome.stderr)
        summary = self.summary(outcome.experiment)["matched"]
        truth = self.truth(outcome.experiment, log, ranks)
        return outcome.experiment, truth, summary, self.check_pairs(mode, outcome.experiment, truth, summary)

    def check(self, mode: str, **options: Any) -> tuple[dict[str, Any], Path]:
        experiment, truth, summary, paired = self.measure(mode, **options)
        self.assertGreater(summary["level"], 2)
        self.assertEqual(0, summary["lost"])
        # All messages from the begin on whose numbers the hash chooses, but for those of the calls in which a rank has begun.
        in_sample = {serial for serial, received in truth.received.items() if received.begin_s > summary["from_s"] + CLOCK_S}
        chosen = {serial for serial in in_sample if is_sampled(self.ordinal(mode, serial), summary["level"])}
        ranks = len({rank for rank, _, _ in truth.noted})
        self.assertLessEqual(len(chosen - paired), 6 * ranks)
        self.assertGreater(len(chosen & paired), 60)
        self.assertLessEqual(summary["entries"], 2 * summary["paired"] + summary["alone"])
        self.assertLessEqual(summary["alone"], 6 * ranks)
        self.check_waiting(mode, truth, summary, paired, in_sample)
        return summary, experiment

    def check_waiting(self, mode: str, truth: Truth, summary: dict[str, Any], paired: set[int], in_sample: set[int]) -> None:
        weight = 1 << summary["level"]
        self.assertLessEqual(summary["late_sender_least_s"], summary["late_sender_most_s"])
        # A rank that was suspended for long is one wait that may be in the sample or not: all are cut off at CAP_S, in the
        # estimate (of which check_pairs() has shown that it is the sum of these) and in what the program has noted.
        least, most = (weight * capped for capped in self.capped)
        # All messages: six standard errors of a sample by chance, of the times that the program has noted; by Gauss 2e-9. The
        # planted part is the same in each run, as the hash is.
        calls = [[min(late, CAP_S) for late in call] for call in truth.waiting_of_calls(in_sample).values()]
        total = sum(max(call) for call in calls)
        error = math.sqrt(weight * sum(sum(call) ** 2 for call in calls))
        self.assertGreater(total, len(calls) / 4 * 100e-6, "the planted delays were waited for")
        self.assertLess(least, total + 6 * error)
        self.assertGreater(most, total - 6 * error)

    def test_blocking_messages(self) -> None:
        for mpi in MPIS if FULL else MPIS[:1]:
            with self.subTest(mpi=mpi):
                summary, experiment = self.check("pingpong", mpi=mpi)
                self.assertIn(f"one of {1 << summary['level']} from", self.tool("report", experiment, "--events"))
                regions = {(row["send_region"], row["receive_region"]) for row in self.pairs(experiment)}
                self.assertEqual({("MPI_Send", "MPI_Recv")}, regions)

    def test_messages_of_a_waitall(self) -> None:
        _, experiment = self.check("waitall", steps=2000)
        rows = self.pairs(experiment)
        self.assertEqual({("MPI_Isend", "MPI_Waitall", "MPI_Irecv")},
                         {(row["send_region"], row["receive_region"], row["posted_region"]) for row in rows})
        # The same numbers are kept of all channels, so all messages of a call are in the sample.
        self.assertEqual({"3": 1}.keys(), {row["receives"] for row in rows if row["receives"]})

    def test_tags_that_are_counted_together(self) -> None:
        self.check("one_class", steps=2000)

    def test_two_threads(self) -> None:
        _, truth, summary, paired = self.measure("threads")
        self.assertEqual({5, 6}, {tag_of(serial) for serial in paired})
        self.assertLessEqual(summary["alone"], 24)

    def test_four_ranks(self) -> None:
        self.check("pingpong", ranks=4)

    def test_ranks_with_unequal_memory(self) -> None:
        log = str(self.directory / "log")
        program = [str(PROGRAMS / f"events_matched_{MPIS[0]}"), "pingpong", "1200", log]
        command = [*mpirun(1, "env", "REFRAIN_TRACE_MEMORY=64K", *program), ":", "-n", "1", "env", "REFRAIN_TRACE_MEMORY=1M", *program]
        experiment, truth, summary, paired = self.measure("pingpong", command=command)
        self.assertGreater(len(paired), 20)
        self.assertLessEqual(summary["alone"], 4)
        # The second rank still has events as a whole when the first one samples.
        self.assertIn("receive", {row["in_events"] for row in self.pairs(experiment)})

    def test_a_run_that_fits_has_none(self) -> None:
        log = str(self.directory / "log")
        outcome = self.measured(launched(MPIS[0], 2, "events_matched", "pingpong", 100, log), {"REFRAIN_TRACE_MEMORY": "16M"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.assertNotIn("matched", self.summary(outcome.experiment))
        self.assertEqual([], self.pairs(outcome.experiment))
        self.tool("events", outcome.experiment, "--matched", "--iteration", "3", code=1)

    def test_options(self) -> None:
        experiment, _, summary, _ = self.measure("pingpong", steps=800)
        rows = self.pairs(experiment)
        self.assertEqual(len(rows), len(json.loads(self.tool("events", experiment, "--matched", "--format", "json"))["messages"]))
        self.assertEqual(len(rows) + 1, len(self.tool("events", experiment, "--matched").splitlines()))
        middle = float(rows[len(rows) // 2]["receive_leave_s"])
        self.assertEqual([row for row in rows if float(row["receive_leave_s"]) <= middle], self.pairs(experiment, "--to", middle))
        self.assertEqual([row for row in rows if float(row["receive_leave_s"]) >= middle], self.pairs(experiment, "--from", middle))
        self.assertEqual([], self.pairs(experiment, "--rank", "1"), "the other ends are of another rank")

    def killed(self, name: str, after_s: float) -> Path:
        experiment, log = self.directory / name, self.directory / f"{name}.log"
        env = clean_environment(MEMORY | {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"})
        command = [REFRAIN, "run", "--", *launched(MPIS[0], 2, "events_matched", "endless", 600, log)]
        with subprocess.Popen(list(map(str, command)), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as running:
            logs = [Path(f"{log}.{rank}") for rank in range(2)]
            deadline = time.monotonic() + 120

            def wait_until(is_so: Callable[[], bool]) -> None:
                while not is_so() and time.monotonic() < deadline:
                    time.sleep(0.05)

            wait_until(lambda: all(file.exists() and len(file.read_text().splitlines()) > 1 for file in logs))
            told_ns = max(file.stat().st_mtime_ns for file in logs)
            wait_until(lambda: sum(part.stat().st_mtime_ns > told_ns for part in experiment.glob("part-*.refrain")) > 1)
            time.sleep(after_s)
            for rank in range(2):
                os.kill(int(Path(f"{log}.{rank}").read_text().split()[0]), signal.SIGKILL)
            running.wait(timeout=60)
        return experiment

    def test_killed_jobs(self) -> None:
        """Each rank has come to a level of its own: shown is what both have."""
        for attempt in range(20 if FULL else 2):
            with self.subTest(attempt):
                experiment = self.killed(f"killed-{attempt}", 0.1 * attempt)
                summary, rows = self.summary(experiment)["matched"], self.pairs(experiment)
                self.assertGreater(len(rows), 10)
                self.assertEqual(len(rows), summary["paired"])
                for row in rows:
                    self.assertTrue(is_sampled(int(row["message"]), summary["level"]))
                    self.assertLessEqual(float(row["send_enter_s"]), float(row["receive_leave_s"]) + CLOCK_S)
                for rank in "01":  # later ones are sent and received later
                    sent = sorted((row for row in rows if row["send_rank"] == rank), key=lambda row: int(row["message"]))
                    self.assertEqual(len(sent), len({row["message"] for row in sent}))
                    for column in ("send_enter_s", "receive_enter_s"):
                        times = [float(row[column]) for row in sent]
                        self.assertEqual(sorted(times), times)


if __name__ == "__main__":
    unittest.main()
