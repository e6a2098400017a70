"""The Python module refrain.trace: its events, links and states are those of a slow and obvious model of the same events."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

from archives_by_hand import (BEGIN, PYTHON, Call, collective, done, events_of, icollective, irecv, isend, receive, received,
                              send, sent, write_archive)
from refrain_testing import BUILD, PROGRAMS, REFRAIN, TestCase, clean_environment

# Prints what it finds: first in this order of positions, and the states behind some of them.
ASK = """
import json, sys
from refrain.trace import EventTrace
asked = json.load(sys.stdin)
trace = EventTrace(asked["trace"], asked.get("ranks"))
order = asked.get("order")
events = {pos: trace.event(pos) for pos in order} if order else {event["pos"]: event for event in trace}
stacks = {pos: [trace.stack(pos, location) for location in range(len(trace.locations))] for pos in asked.get("states", [])}
queues = {pos: trace.queue(pos) for pos in asked.get("states", [])}
some = {pos: trace.queue(pos, 0, 1) for pos in asked.get("states", [])}
paths = {event["callpath"]: trace.callpath(event["callpath"]) for event in events.values() if event["callpath"] is not None}
print(json.dumps({"size": len(trace), "events": [events[pos] for pos in sorted(events)], "stacks": stacks, "queues": queues,
                  "some": some, "paths": paths, "locations": trace.locations, "regions": trace.regions,
                  "communicators": trace.communicators, "damage": trace.damage}))
"""


def python_with_refrain() -> tuple[str, dict[str, str]]:
    """That of the Debian package pybind11-dev: the module is built for it."""
    environment = clean_environment({"PYTHONPATH": str(BUILD / "lib" / "refrain" / "python")})
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import refrain.trace"], capture_output=True, env=environment).returncode == 0:
            return python, environment
    raise RuntimeError("no interpreter can import refrain.trace")


def random_calls(draw: random.Random, ranks: int, messages: int) -> list[list[Call]]:
    """Each call has ten nanoseconds of its own, so no two events have one time but those at one end of a call."""
    slots = draw.sample(range(1, 9 * messages), 4 * messages)
    calls: list[list[Call]] = [[] for _ in range(ranks)]

    def call(rank: int, slot: int, region: str, act: Any) -> None:
        calls[rank].append((10 * slot, 10 * slot + 5, region, act))

    plain: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for n in range(messages):
        source, target = draw.sample(range(ranks), 2)
        own = sorted(slots[4 * n:4 * n + 4])
        if draw.random() < 0.5:
            plain.setdefault((source, target), []).append((own[0], own[3]))
            continue
        # Of its tag there is one message, so requests may be completed in any order.
        begun, posted = draw.sample(own[:2], 2)
        waited, done = draw.sample(own[2:], 2)
        call(source, begun, "MPI_Isend", isend(n, target, tag=n + 1, size=n))
        call(source, waited, "MPI_Wait", sent(n))
        call(target, posted, "MPI_Irecv", irecv(n))
        call(target, done, "MPI_Wait", received(n, source, tag=n + 1, size=n))
    for (source, target), times in plain.items():
        # In the order of their sends.
        for begun, end in zip(sorted(begun for begun, _ in times), sorted(end for _, end in times)):
            call(source, begun, "MPI_Send", send(target, size=begun))
            call(target, end, "MPI_Recv", receive(source, size=begun))
    return calls


class Model:
    """Everything by looking at all that came before."""

    def __init__(self, events: list[tuple[int, int, str, tuple[Any, ...]]]):
        self.events = events

    def enter(self, pos: int) -> int | None:
        location, kind = self.events[pos][1], self.events[pos][2]
        stack = self.stack(pos, location) if kind != "leave" else self.stack(pos - 1, location)
        if kind == "enter":
            stack.pop()
        return stack[-1] if stack else None

    def stack(self, pos: int, location: int) -> list[int]:
        stack: list[int] = []
        for n in range(pos + 1):
            if self.events[n][1] == location and self.events[n][2] == "enter":
                stack.append(n)
            elif self.events[n][1] == location and self.events[n][2] == "leave":
                stack.pop()
        return stack

    def sends_and_receives(self) -> list[tuple[int, int]]:
        """Positions. Of one sender, receiver and tag those are a pair that are the n-th of their side."""
        sides: dict[tuple[int, int, int], tuple[list[int], list[int]]] = {}
        for pos, (_, location, kind, values) in enumerate(self.events):
            if kind in ("mpi_send", "mpi_isend"):
                sides.setdefault((location, values[0], values[2]), ([], []))[0].append(pos)
            if kind in ("mpi_recv", "mpi_irecv"):
                sides.setdefault((values[0], location, values[2]), ([], []))[1].append(pos)
        return [pair for sent_at, received_at in sides.values() for pair in zip(sent_at, received_at, strict=True)]

    def begin(self, pos: int) -> int | None:
        _, location, kind, values = self.events[pos]
        if kind not in ("mpi_irecv", "mpi_isend_complete"):
            return None
        begun = ("mpi_irecv_request", values[-1]) if kind == "mpi_irecv" else ("mpi_isend", values[-1])
        return next(n for n in range(pos) if self.events[n][1] == location
                    and (self.events[n][2], self.events[n][3][-1:]) == (begun[0], (begun[1],)))


class TraceModel(TestCase):
    def ask(self, trace: Path, order: list[int] | None = None, states: list[int] = [], code: int = 0,
            ranks: list[int] | None = None) -> dict[str, Any]:
        python, environment = python_with_refrain()
        asked = json.dumps({"trace": str(trace), "order": order, "states": states, "ranks": ranks})
        done = subprocess.run([python, "-c", ASK], input=asked, capture_output=True, text=True, env=environment, timeout=300)
        self.stderr = done.stderr
        self.assertEqual(code, done.returncode, done.stderr)
        return json.loads(done.stdout) if code == 0 else {}

    def run_python(self, script: str, *arguments: object) -> str:
        python, environment = python_with_refrain()
        done = subprocess.run([python, "-c", script, *map(str, arguments)], capture_output=True, text=True, env=environment,
                              timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    @unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
    def test_links_and_states_of_random_messages(self) -> None:
        for seed in range(8):
            with self.subTest(seed=seed):
                draw = random.Random(seed)
                self.check_archive(f"random-{seed}", random_calls(draw, 3, 25), draw)

    def check_archive(self, name: str, calls: list[list[Call]], draw: random.Random) -> None:
        ranks = [events_of(sorted(of, key=lambda call: call[0])) for of in calls]
        anchor = write_archive(self.directory / name, ranks)
        all_events = [(time - BEGIN, rank, kind, tuple(values)) for rank, events in enumerate(ranks)
                      for time, kind, *values in events]
        model = Model(sorted(all_events, key=lambda event: event[:1] + event[1:2]))
        positions = list(range(len(model.events)))
        draw.shuffle(positions)
        states = draw.sample(positions, 25)
        answer = self.ask(anchor, order=positions, states=states)
        self.assertEqual((len(model.events), []), (answer["size"], answer["damage"]))
        pairs = model.sends_and_receives()
        send_of = {receive_at: send_at for send_at, receive_at in pairs}
        names = {"leave": "exit", "mpi_send": "send", "mpi_isend": "send", "mpi_recv": "recv", "mpi_irecv": "recv",
                 "mpi_irecv_request": "recv_post", "mpi_isend_complete": "send_complete"}
        first_enters: dict[int, int] = {}
        for pos, (event, (time, location, kind, values)) in enumerate(zip(answer["events"], model.events, strict=True)):
            self.assertEqual((pos, names.get(kind, kind), time, location), (event["pos"], event["type"], event["time_ns"],
                                                                            event["location"]), event)
            self.assertEqual(model.enter(pos), event["enterptr"], event)
            if kind == "enter":
                self.assertEqual(values[0], event["region"])
                first_enters.setdefault(event["callpath"], pos)
            self.assertEqual(first_enters[event["callpath"]], event["cnodeptr"], event)
            if kind.startswith("mpi_"):
                self.assertEqual(model.begin(pos), event["beginptr"], event)
            if kind in ("mpi_recv", "mpi_irecv"):
                self.assertEqual((send_of[pos], values[0], location, values[2], values[3]),
                                 (event["sendptr"], event["source"], event["destination"], event["tag"], event["length"]))
        for pos in states:
            self.assertEqual([model.stack(pos, location) for location in range(3)], answer["stacks"][str(pos)])
            on_their_way = sorted(begun for begun, end in pairs if begun <= pos < end)
            self.assertEqual(on_their_way, answer["queues"][str(pos)], f"behind {pos}")
            self.assertEqual([begun for begun in on_their_way if model.events[begun][1] == 0
                              and model.events[begun][3][0] == 1], answer["some"][str(pos)])
        self.assertEqual({("main", "user"), ("MPI_Send", "mpi")},
                         {(region["name"], region["group"]) for region in answer["regions"]} & {("main", "user"),
                                                                                              ("MPI_Send", "mpi")})
        self.assertIn(["main", "MPI_Recv"], answer["paths"].values())

    def test_a_run_natively_and_as_an_archive(self) -> None:
        """More events than are kept in memory, so that they are read again."""
        experiment = self.with_all_events(PROGRAMS / "events_many_openmpi", "30000")
        archive = self.directory / "archive"
        subprocess.run([REFRAIN, "export", experiment, "-o", archive], check=True, capture_output=True, env=clean_environment())
        # In order; then the same, with states, backwards and forwards in strides.
        for trace in (experiment, archive / "traces.otf2"):
            self.run_python(CHECK_ACCESS, trace)
        messages = [json.loads(self.run_python(MESSAGES, trace)) for trace in (experiment, archive / "traces.otf2")]
        self.assertEqual(30000, len(messages[0]))
        self.assertEqual(messages[0], messages[1])

    @unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
    def test_the_parts_of_a_collective_operation(self) -> None:
        """The first of each rank, the second of each, and so on, of each communicator."""
        draw = random.Random(3)
        calls: list[list[Call]] = []
        for rank in range(3):
            times = sorted(draw.sample(range(1, 400), 40))
            calls.append([collective(10 * time, 10 * time + 5, "BARRIER" if n % 2 else "BCAST", root=None if n % 2 else 0)
                          for n, time in enumerate(times)])
        last = 4010
        calls[1].append((last, last + 1, "MPI_Ibarrier", icollective(1)))
        calls[1].append((last + 2, last + 3, "MPI_Wait", done(1, "BARRIER")))
        calls[1].append(collective(last + 10, last + 20, "BARRIER"))
        anchor = write_archive(self.directory / "collectives", [events_of(of) for of in calls])
        found = json.loads(self.run_python(COLLECTIVES, anchor))
        self.assertEqual(3 * 40 + 3, len(found))
        for instance in found:
            if instance["time_ns"] >= last:
                self.assertEqual(([], None), (instance["parts"], instance["operation"]))
                continue
            self.assertEqual([0, 1, 2], sorted(part["rank"] for part in instance["parts"]))
            self.assertEqual({instance["operation"]}, {part["operation"] for part in instance["parts"]})
            for part in instance["parts"]:
                begin = calls[part["rank"]][instance["operation"]][0]
                self.assertEqual(begin, part["time_ns"])

    def test_the_parts_of_collective_operations_of_a_run(self) -> None:
        experiment = self.with_all_events(PROGRAMS / "analyze_waits_openmpi", "allreduce", "50", "0", self.directory / "times")
        found = json.loads(self.run_python(COLLECTIVES, experiment))
        self.assertGreater(len(found), 2 * 50)
        for instance in found:
            self.assertEqual([0, 1], sorted(part["rank"] for part in instance["parts"]), instance)
            self.assertEqual(1, len({(part["operation"], part["region"]) for part in instance["parts"]}), instance)

    def test_figure_1_of_the_paper_as_a_script(self) -> None:
        """Of blocking calls it is what `refrain analyze` finds, to the nanosecond."""
        experiment = self.with_late_senders()
        found = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json"], check=True, capture_output=True,
                               env=clean_environment())
        patterns = {pattern["name"]: pattern for pattern in json.loads(found.stdout)["patterns"]}
        idle_ns = int(self.run_python(FIGURE_1, experiment))
        self.assertGreater(idle_ns, 0)
        self.assertEqual(idle_ns, round(patterns["late_sender"]["severity_s"] * 1e9))

    @unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
    def test_an_event_as_text(self) -> None:
        anchor = write_archive(self.directory / "two", [events_of([(10, 20, "MPI_Send", send(1, 7, 8))]),
                                                        events_of([(5, 30, "MPI_Recv", receive(0, 7, 8))])])
        lines = self.run_python("import sys; from refrain.trace import EventTrace; trace = EventTrace(sys.argv[1])\n"
                                "for pos in range(len(trace)): print(trace.literal(pos))", anchor).splitlines()
        self.assertEqual("6 0.000000030 recv location=1 rank=1 thread=0 region=MPI_Recv group=mpi callpath=... enterptr=2 "
                         "cnodeptr=2 communicator=0 source=0 destination=1 tag=7 length=8 sendptr=4",
                         re.sub(r"callpath=\d+", "callpath=...", lines[6]))

    def test_what_is_wrong_is_said(self) -> None:
        self.ask(self.directory / "nothing", code=1)
        self.assertRegex(self.stderr, r"ReadError: .*nothing")
        experiment = self.with_late_senders()
        self.ask(experiment, ranks=[7], code=1)
        self.assertIn("has no events of these ranks", self.stderr)
        self.ask(experiment, ranks=[0, 7], code=1)
        self.assertIn("ValueError: there are no events of rank 7", self.stderr)
        self.assertEqual({0}, {event["rank"] for event in self.ask(experiment, ranks=[0])["events"]})
        self.ask(experiment, order=[10**9], code=1)
        self.assertIn("IndexError: there is no event 1000000000", self.stderr)
        self.ask(experiment, order=[-1], code=1)
        self.assertIn("IndexError: there is no event -1", self.stderr)


CHECK_ACCESS = """
import sys
from refrain.trace import EventTrace
first = EventTrace(sys.argv[1])
size = len(first)
assert size > 150000, size
inorder = EventTrace(sys.argv[1])
seen, stacks, queues = [], {}, {}
for event in inorder:
    pos = event["pos"]
    seen.append(event)
    if pos % 7919 == 0:
        stacks[pos], queues[pos] = [inorder.stack(pos, n) for n in (0, 1)], inorder.queue(pos)
assert len(seen) == size
for pos in list(range(size - 1, -1, -6007)) + list(range(0, size, 5003)):
    for at in range(pos, min(pos + 3, size)):
        assert first.event(at) == seen[at], (first.event(at), seen[at])
for pos in sorted(stacks, reverse=True):
    assert [first.stack(pos, n) for n in (0, 1)] == stacks[pos]
    assert first.queue(pos) == queues[pos], (pos, first.queue(pos), queues[pos])
for event in seen[::101]:
    for link in ("enterptr", "sendptr", "beginptr"):
        if event.get(link) is not None:
            assert first.event(event[link]) == seen[event[link]]
"""

COLLECTIVES = """
import json, sys
from refrain.trace import EventTrace
trace = EventTrace(sys.argv[1])
events = [event for event in trace if event["type"].startswith("collective")]
print(json.dumps([event | {"parts": [trace.event(pos) for pos in trace.collective(event["pos"])]} for event in events[::-1]]))
"""

MESSAGES = """
import json, sys
from refrain.trace import EventTrace
trace = EventTrace(sys.argv[1])
found = []
for event in trace:
    if event["type"] == "recv":
        send = trace.event(event["sendptr"])
        assert (send["source"], send["destination"], send["tag"]) == (event["source"], event["destination"], event["tag"])
        assert send["type"] == "send" and send["rank"] == event["source"]
        found.append([event["rank"], event["source"], event["tag"], event["length"],
                      trace.event(event["enterptr"])["region"], trace.event(send["enterptr"])["region"]])
print(json.dumps(sorted(found)))
"""

FIGURE_1 = """
import sys
from refrain.trace import EventTrace
trace = EventTrace(sys.argv[1])
idle = 0
for recv in trace:
    if recv["type"] == "recv":
        recv_start = trace.event(recv["enterptr"])
        send = trace.event(recv["sendptr"])
        send_start = trace.event(send["enterptr"])
        idle_time = send_start["time_ns"] - recv_start["time_ns"]
        if idle_time > 0 and send_start["region"] == "MPI_Send" and recv_start["region"] == "MPI_Recv":
            idle += idle_time
print(idle)
"""

if __name__ == "__main__":
    unittest.main(verbosity=2)
