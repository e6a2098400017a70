"""Small OTF2 archives that tests write by hand.

An archive is a list of calls for each rank; a call has its enter and its leave in nanoseconds, its region, and what it
communicates. Around all of them is a region `main`. python3-otf2 writes it, in an interpreter that has the package.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Sequence

from refrain_testing import python_with_otf2

# Writes the archive that stands on stdin: lists of events of each rank, and of further threads.
WRITE = """
import json, sys
import otf2
from otf2.enums import *

given = json.load(sys.stdin)

def role(name):
    if not name.startswith("MPI_"):
        return RegionRole.FILE_IO if name == "write" else RegionRole.FUNCTION
    word = name[4:].lower()
    word = word[1:] if word in ("ibarrier", "iallreduce", "ibcast", "ireduce") else word
    if word == "barrier":
        return RegionRole.BARRIER
    if word in ("allreduce", "reduce_scatter", "reduce_scatter_block") or word.startswith(("allgather", "alltoall")):
        return RegionRole.COLL_ALL2ALL
    if word in ("bcast", "scatter", "scatterv"):
        return RegionRole.COLL_ONE2ALL
    if word in ("reduce", "gather", "gatherv"):
        return RegionRole.COLL_ALL2ONE
    if word in ("scan", "exscan", "init", "init_thread", "finalize"):
        return RegionRole.COLL_OTHER
    if word in ("send", "recv", "isend", "irecv", "wait", "waitall", "sendrecv", "test"):
        return RegionRole.POINT2POINT
    return RegionRole.RMA if word in ("put", "win_fence") else RegionRole.FUNCTION

with otf2.writer.open(given["directory"], timer_resolution=10**9) as archive:
    known = archive.definitions
    machine = known.system_tree_node("machine")
    processes = [known.location_group(f"MPI Rank {n}", system_tree_parent=machine) for n in range(len(given["ranks"]))]
    locations = [known.location("Master thread", group=process) for process in processes]
    threads = [known.location(f"Thread {n}", group=processes[rank]) for n, (rank, _) in enumerate(given["threads"], 1)]
    known.groups.create("", GroupType.COMM_LOCATIONS, Paradigm.MPI, members=locations)
    communicators = {}
    for name, members in given["communicators"].items():
        group = known.groups.create(name, GroupType.COMM_GROUP, Paradigm.MPI, members=[locations[n] for n in members])
        communicators[name] = known.comm(name, group=group)
    regions = {}
    for location, events in zip(locations + threads, given["ranks"] + [events for _, events in given["threads"]]):
        writer = archive.event_writer_from_location(location)
        for time, kind, *values in events:
            if kind in ("enter", "leave"):
                name = values[0]
                if name not in regions:
                    regions[name] = known.region(name, region_role=role(name),
                                                 paradigm=Paradigm.MPI if name.startswith("MPI_") else Paradigm.USER)
                values = [regions[name]]
            if kind in ("mpi_collective_end", "non_blocking_collective_complete"):
                values[0] = getattr(CollectiveOp, values[0])
                values[2] = Undefined.UINT32.value if values[2] is None else values[2]
            if kind == "measurement_on_off":
                values = [getattr(MeasurementMode, values[0])]
            values = [communicators.get(value, value) if isinstance(value, str) else value for value in values]
            getattr(writer, kind)(time, *values)
"""


PYTHON = python_with_otf2()
WORLD = "MPI_COMM_WORLD"
BEGIN = 7_000_000_000  # of the clock
END = 100_000  # of main, in nanoseconds since its begin

Act = tuple[bool, list[Any]]  # whether it happens at the end of its call, and what is written
Call = tuple[Any, ...]  # enter, leave, region, acts


def send(to: int, tag: int = 0, size: int = 8, on: str = WORLD) -> Act:
    return False, ["mpi_send", to, on, tag, size]


def receive(source: int, tag: int = 0, size: int = 8, on: str = WORLD) -> Act:
    return True, ["mpi_recv", source, on, tag, size]


def isend(request: int, to: int, tag: int = 0, size: int = 8, on: str = WORLD) -> Act:
    return False, ["mpi_isend", to, on, tag, size, request]


def sent(request: int) -> Act:
    return True, ["mpi_isend_complete", request]


def irecv(request: int) -> Act:
    return False, ["mpi_irecv_request", request]


def received(request: int, source: int, tag: int = 0, size: int = 8, on: str = WORLD) -> Act:
    return True, ["mpi_irecv", source, on, tag, size, request]


def icollective(request: int) -> Act:
    return False, ["non_blocking_collective_request", request]


def done(request: int, operation: str, root: int | None = None, on: str = WORLD) -> Act:
    return True, ["non_blocking_collective_complete", operation, on, root, 8, 8, request]


def collective(enter: int, leave: int | None, operation: str, root: int | None = None, on: str = WORLD) -> Call:
    """A call of a blocking operation; without a leave it has begun only."""
    name = "MPI_" + operation.capitalize()
    begin: Act = False, ["mpi_collective_begin"]
    return enter, leave, name, begin, (True, ["mpi_collective_end", operation, on, root, 8, 8])


def barriers(*times: tuple[int, int]) -> list[list[Call]]:
    """One barrier; the enter and the leave of each rank."""
    return [[collective(enter, leave, "BARRIER")] for enter, leave in times]


def events_of(calls: list[Call], around: str | None = "main") -> list[list[Any]]:
    """Of calls that lie in one another by their times, and in one of `around`. A call without a leave is never left, nor are
    those around it."""
    events: list[list[Any]] = []
    open_calls: list[Call] = []

    def leave() -> None:
        _, time, region, *acts = open_calls.pop()
        if time is not None:
            events.extend([BEGIN + time, *what] for at_end, what in acts if at_end)
            events.append([BEGIN + time, "leave", region])

    endless = any(call[1] is None for call in calls)
    for call in [(0, None if endless else END, around), *calls] if around else calls:
        while open_calls and open_calls[-1][1] is not None and open_calls[-1][1] <= call[0]:
            leave()
        open_calls.append(call)
        events.append([BEGIN + call[0], "enter", call[2]])
        events.extend([BEGIN + call[0], *what] for at_end, what in call[3:] if not at_end)
    while open_calls:
        leave()
    return events


Ranks = list[list[Call]]
Communicators = dict[str, list[int]]  # ranks of all, by name
Threads = Sequence[tuple[int, list[Call]]]  # further ones, each with its rank


def write_archive(directory: Path, ranks: list[list[list[Any]]], communicators: Communicators | None = None,
                  threads: Threads = (), workers: Threads = (), raw: Sequence[tuple[int, list[Any]]] = ()) -> Path:
    """Of the events of each rank. `workers`: threads that are in no function but in these calls; `raw`: in these events. Returns
    the anchor file."""
    given = {"directory": str(directory), "ranks": ranks,
             "threads": [*((rank, events_of(calls)) for rank, calls in threads),
                         *((rank, events_of(calls, None)) for rank, calls in workers), *raw],
             "communicators": {WORLD: list(range(len(ranks))), **(communicators or {})}}
    subprocess.run([str(PYTHON), "-c", WRITE], input=json.dumps(given), text=True, timeout=60, check=True)
    return directory / "traces.otf2"
