"""`mpirun -n N refrain-analyze`: several processes find what one finds."""

from __future__ import annotations

import json
import math
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path
from typing import Any

from archives_by_hand import (PYTHON, Call, Communicators, Ranks, collective, done, events_of, icollective, irecv, isend,
                              receive, received, send, sent, write_archive)
from refrain_testing import BUILD, MPIS, PROGRAMS, REFRAIN, Done, TestCase, clean_environment, finish, mpiexec

ANALYZE = BUILD / "bin" / "refrain-analyze"


def start(directory: Path, rank: int, size: int, *words: Any) -> subprocess.Popen[str]:
    """As a launcher starts it."""
    place = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size)}
    return subprocess.Popen([ANALYZE, *map(str, words)], env=clean_environment(place), text=True, cwd=directory,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def together(directory: Path, size: int, *words: Any) -> list[Done]:
    return finish([start(directory, rank, size, *words) for rank in range(size)])


def difference(one: Any, other: Any, path: str = "") -> str:
    """Where two documents are not equal but for rounding; empty: nowhere."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((found for key in one if (found := difference(one[key], other[key], f"{path}/{key}"))), "")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next((found for n, pair in enumerate(zip(one, other)) if (found := difference(*pair, f"{path}/{n}"))), "")
    if isinstance(one, float) and isinstance(other, (float, int)) and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
        return ""
    return "" if one == other else f"{path}: {one} and {other}"


class Together(TestCase):
    def alone(self, trace: Path, *words: Any) -> Done:
        end = subprocess.run([REFRAIN, "analyze", trace, *map(str, words)], capture_output=True, text=True,
                             env=clean_environment(), timeout=300)
        return end.returncode, end.stdout, end.stderr

    def check(self, trace: Path, sizes: tuple[int, ...], *words: Any) -> dict[str, Any]:
        words = ("--format", "json", *words)
        code, out, err = self.alone(trace, *words)
        for size in sizes:
            first, *rest = together(self.directory, size, trace, *words)
            self.assertEqual((code, err), (first[0], first[2]), f"{size} processes")
            self.assertEqual([(0, "", "")] * (size - 1), rest)
            self.assertEqual("", difference(json.loads(out), json.loads(first[1])), f"{size} processes")
        self.assertEqual([], list(self.directory.glob("*.processes")))
        return json.loads(out)

    @unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
    def test_random_archives(self) -> None:
        seen: set[str] = set()
        for seed in range(6):
            with self.subTest(seed=seed):
                archive, communicators = random_ranks(random.Random(seed))
                anchor = write_archive(self.directory / f"random-{seed}", [events_of(calls) for calls in archive], communicators)
                found = self.check(anchor, (2, 3, 5), "--master", "1")
                seen |= {pattern["name"] for pattern in found["patterns"] if pattern["severity_s"] > 0}
        self.assertLess({"late_sender", "late_receiver", "wrong_order_same_source", "wrong_order_different_sources",
                         "overloaded_master", "slow_slaves", "wait_at_barrier", "late_broadcast", "early_reduce", "early_scan",
                         "wait_at_nxn", "nxn_completion", "load_imbalance_at_barrier"}, seen)

    def test_experiments(self) -> None:
        for mpi, settings in ((MPIS[0], {"REFRAIN_TRACE": "all"}), (MPIS[-1], {"REFRAIN_TRACE_MEMORY": "64K"})):
            program = [PROGRAMS / f"analyze_waits_{mpi}", "recv", 1500, 0.0001, self.directory / f"times-{mpi}", "marked"]
            outcome = self.measured(mpiexec(mpi, 2, *program), settings)
            self.assertEqual(0, outcome.code, outcome.stderr)
            found = self.check(outcome.experiment, (2, 3))
            self.assertGreater({of["name"]: of for of in found["patterns"]}["late_sender"]["severity_s"], 0.01)
            self.check(outcome.experiment, (2,), "--iteration", "0")
            self.check(outcome.experiment, (2,), "--region", "MPI_Barrier")

    def test_windows_and_messages_between_iterations(self) -> None:
        for mode, pattern, settings in (("fence", "wait_at_fence", {"REFRAIN_TRACE": "all"}),
                                        ("epochs", "early_wait", {"REFRAIN_TRACE": "all"}),
                                        ("locks", "lock_contention", {"REFRAIN_TRACE": "all"}),
                                        ("buffers", "late_sender", {"REFRAIN_TRACE_MEMORY": "64K"})):
            with self.subTest(mode=mode):
                program = [PROGRAMS / f"analyze_waits_{MPIS[0]}", mode, 1500, 0.0003, self.directory / "times", "marked"]
                outcome = self.measured(mpiexec(MPIS[0], 2, *program), settings)
                self.assertEqual(0, outcome.code, outcome.stderr)
                found = self.check(outcome.experiment, (2,))
                self.assertGreater({of["name"]: of for of in found["patterns"]}[pattern]["severity_s"], 0.001)

    def test_more_events_than_are_read_ahead(self) -> None:
        experiment = self.with_all_events(PROGRAMS / "events_many_openmpi", "30000")
        self.check(experiment, (2,))
        first, _ = together(self.directory, 2, experiment)
        self.assertEqual(self.alone(experiment), first)

    def test_under_launchers(self) -> None:
        experiment = self.with_late_senders()
        _, out, _ = self.alone(experiment, "--format", "json")
        for mpi in MPIS:
            end = subprocess.run([*map(str, mpiexec(mpi, 2, ANALYZE, experiment, "--format", "json"))], capture_output=True,
                                 text=True, env=clean_environment(), cwd=self.directory, timeout=300)
            self.assertEqual(0, end.returncode, end.stderr)
            self.assertEqual("", difference(json.loads(out), json.loads(end.stdout)))

    def test_what_only_one_process_can_do_is_refused(self) -> None:
        experiment = self.with_late_senders()
        for option in (["--causes"], ["--critical-path"], ["--plugin", "nothing.py"]):
            first, second = together(self.directory, 2, experiment, *option)
            self.assertEqual((1, "", f"refrain analyze: {option[0]}: only of one process, not of several together\n"), first)
            self.assertEqual((0, "", ""), second)
        first, second = together(self.directory, 2, self.directory / "nothing")
        self.assertEqual((self.alone(self.directory / "nothing"), (0, "", "")), (first, second))
        self.assertEqual([], list(self.directory.glob("*.processes")))

    def test_damage_that_another_process_finds(self) -> None:
        experiment = self.with_late_senders()
        for kept in experiment.glob("analysis-*"):
            kept.unlink()
        file = experiment / "events-1.refrain"
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 0xff
        file.write_bytes(data)
        self.check(experiment, (2,))
        self.assertEqual(4, together(self.directory, 2, experiment)[0][0])
        self.assertEqual([], list(experiment.glob("analysis-*")))

    def test_a_process_that_ends_is_named(self) -> None:
        experiment = self.with_all_events(PROGRAMS / "events_many_openmpi", "100000")
        processes = [start(self.directory, rank, 3, experiment) for rank in range(3)]
        deadline = time.monotonic() + 60
        while not list(self.directory.glob("*-analyze.processes")) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.3)
        processes[2].send_signal(signal.SIGINT)
        first, *_ = finish(processes)
        if processes[2].returncode == 0 or first[0] == 0:
            return  # it was quicker
        self.assertEqual((1, ""), first[:2])
        # While they meet or when they have met; the other one may have ended by that before.
        self.assertRegex(first[2], r"(?m)^refrain analyze: process 2 of 3 has (ended, or its machine cannot be reached|not .*)$")


def random_ranks(draw: random.Random) -> tuple[Ranks, Communicators]:
    """Of twelve ranks: more than four of a process decide for all. Steps of messages and of collective operations of all or some, each with times of its own."""
    size = 12
    ranks: Ranks = [[] for _ in range(size)]
    communicators = {"even": [0, 2, 4, 6, 8, 10], "odd": [1, 3, 5, 7, 9, 11], "front": [7, 0, 1, 3, 2, 4, 5]}
    now, request = 10, 0

    def times(count: int) -> list[list[int]]:
        nonlocal now
        begin, now = now, now + 400
        return [sorted(draw.sample(range(begin, begin + 390), 8)) for _ in range(count)]

    for _ in range(120):
        kind = draw.choice(["message", "messages", "isend", "collective", "collective", "ibarrier"])
        at = times(size)
        if kind == "message":
            source, target = draw.sample(range(size), 2)
            ranks[source].append((at[source][0], at[source][3], "MPI_Send", send(target)))
            ranks[target].append((at[target][2], at[target][6], "MPI_Recv", receive(source)))
        elif kind == "messages":
            # Received in another order than they were sent.
            target, *sources = draw.sample(range(size), 3)
            order = draw.sample([(sources[0], 1), (sources[0], 2), (sources[1], 3)], 3)
            for n, (source, tag) in enumerate([(sources[0], 1), (sources[0], 2), (sources[1], 3)]):
                ranks[source].append((at[source][2 * (n % 2)], at[source][2 * (n % 2) + 1], "MPI_Send", send(target, tag)))
            last = 0
            for n, (source, tag) in enumerate(order):
                begin = max(last, at[target][n])
                last = max(begin + 1, now - 30 + n)
                ranks[target].append((begin, last, "MPI_Recv", receive(source, tag)))
        elif kind == "isend":
            source, target = draw.sample(range(size), 2)
            request += 2
            ranks[source].append((at[source][0], at[source][1], "MPI_Isend", isend(request, target)))
            ranks[source].append((at[source][2], at[source][7], "MPI_Wait", sent(request)))
            ranks[target].append((at[target][1], at[target][2], "MPI_Irecv", irecv(request + 1)))
            ranks[target].append((at[target][3], at[target][6], "MPI_Wait", received(request + 1, source)))
        elif kind == "ibarrier":
            request += 1
            for rank in range(size):
                ranks[rank].append((at[rank][0], at[rank][1], "MPI_Ibarrier", icollective(request)))
                ranks[rank].append((at[rank][2], max(at[rank][7], now - 20), "MPI_Wait", done(request, "BARRIER")))
        else:
            operation = draw.choice(["BARRIER", "BCAST", "REDUCE", "ALLREDUCE", "SCAN", "EXSCAN"])
            on = draw.choice([None, "even", "odd", "front"])
            members = communicators[on] if on else list(range(size))
            root = draw.randrange(len(members)) if operation in ("BCAST", "REDUCE") else None
            for rank in members:
                call = (at[rank][0], max(at[rank][5], now - 100 + rank), operation)
                ranks[rank].append(collective(*call, root, on) if on else collective(*call, root))
    return ranks, communicators


if __name__ == "__main__":
    unittest.main()
