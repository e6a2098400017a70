"""`refrain events` of OTF2 archives: what it shows of Score-P's is what libotf2 reads in them, by otf2-print; and of an export
it shows what the experiment has."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterator

from refrain_testing import PROGRAMS, REFRAIN, SOURCE, TestCase, clean_environment, mpirun

TRACES = SOURCE.parent / "shared" / "traces"
GOOD = ["2_jacobi_blame_cpu_015", "2_jacobi_blame_cpu_050", "10_scorep_mpi_tags", "1_scorep-ompt-host-nested", "ping-pong-otf2",
        "ping-pong-otf2-papi"]
BROKEN = "4_mpi_lammps_colloid"

Event = tuple[Any, ...]  # time in ns, word, region, peer, tag, communicator, bytes sent, bytes received, value


def otf2_print(*words: str | Path) -> list[str]:
    done = subprocess.run(["otf2-print", *words], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


class Definitions:
    """Places of locations, and the clock."""

    def __init__(self, anchor: Path):
        self.resolution, self.offset = 10**9, 0
        groups: dict[int, int] = {}  # rank by location group
        order: list[tuple[int, int]] = []
        mpi: list[int] = []
        processes: list[int] = []
        for line in otf2_print("-G", anchor):
            if line.startswith("CLOCK_PROPERTIES"):
                self.resolution, self.offset = (int(re.search(rf"{name}: (\d+)", line)[1])
                                                for name in ("Ticks per Seconds", "Global Offset"))
            elif line.startswith("LOCATION_GROUP "):
                processes.append(int(line.split()[1]))
            elif line.startswith("LOCATION "):
                order.append((int(line.split()[1]), int(re.search(r"Group: .*<(\d+)>$", line)[1])))
            elif re.match(r"GROUP .*Type: COMM_LOCATIONS, Paradigm: (\"MPI\" <\d+>|MPI),", line) and not mpi:
                mpi = [int(m) for m in re.findall(r"<(\d+)>", line[line.index("Members"):])]
        group_of = dict(order)
        if mpi:
            groups = {group_of[location]: rank for rank, location in enumerate(mpi)}
        else:
            groups = {group: rank for rank, group in enumerate(processes)}
        self.place: dict[int, tuple[str, str]] = {}
        threads: dict[int, int] = defaultdict(int)
        for location, group in sorted(order, key=lambda of: of[0] not in mpi):
            self.place[location] = str(groups[group]), str(threads[group])
            threads[group] += 1

    def ns(self, ticks: int) -> int:
        return (ticks - self.offset) * 10**9 // self.resolution


def name_in(text: str, what: str) -> str:
    found = re.search(rf'{what}: "((?:[^"\\]|\\.)*)" <\d+>', text)
    return found[1] if found else ""


def number_in(text: str, what: str) -> str:
    found = re.search(rf"{what}: (\d+)", text)
    return found[1] if found else ""


WORDS = {"ENTER": "enter", "LEAVE": "leave", "MPI_SEND": "send", "MPI_RECV": "receive", "RMA_PUT": "one_sided_begun",
         "RMA_GET": "one_sided_begun", "RMA_OP_COMPLETE_BLOCKING": "one_sided_completed", "RMA_WIN_CREATE": "window_made",
         "RMA_WIN_DESTROY": "window_freed", "THREAD_FORK": "fork", "THREAD_JOIN": "join", "THREAD_TEAM_BEGIN": "team_begin",
         "THREAD_TEAM_END": "team_end", "THREAD_ACQUIRE_LOCK": "lock_acquired", "THREAD_RELEASE_LOCK": "lock_released",
         "PROGRAM_BEGIN": "program_begin", "PROGRAM_END": "program_end"}


def truth(anchor: Path, of: Definitions) -> dict[tuple[str, str], list[Event]]:
    """By place, in the words of refrain events."""
    events: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for line in otf2_print(anchor):
        parts = re.match(r"([A-Z0-9_]+) +(\d+) +(\d+) *(.*)", line)
        if not parts:
            continue
        kind, place, ns, rest = parts[1], of.place[int(parts[2])], of.ns(int(parts[3])), parts[4]
        mine = events[place]
        if kind == "METRIC":
            for name, value in re.findall(r'\("([^"]*)" <\d+>; \w+; (-?\d+)\)', rest):
                mine.append((ns, "metric", name, "", "", "", "", "", value))
        elif kind == "MPI_COLLECTIVE_BEGIN":
            mine.append((ns, "collective"))
        elif kind == "MPI_COLLECTIVE_END":
            assert mine[-1][1:] == ("collective",)
            root = re.search(r"Root: (\d+)", rest)
            mine[-1] = (mine[-1][0], "collective", None, root[1] if root else "", "", name_in(rest, "Communicator"),
                        number_in(rest, "Sent"), number_in(rest, "Received"), "")
        elif kind in ("MPI_SEND", "MPI_RECV"):
            bytes_of = number_in(rest, "Length")
            mine.append((ns, WORDS[kind], None, number_in(rest, "Receiver") + number_in(rest, "Sender"), number_in(rest, "Tag"),
                         name_in(rest, "Communicator"), *((bytes_of, "0") if kind == "MPI_SEND" else ("0", bytes_of)), ""))
        elif kind in ("RMA_PUT", "RMA_GET"):
            bytes_of = number_in(rest, "Bytes")
            mine.append((ns, WORDS[kind], None, number_in(rest, "Remote"), "", "", *((bytes_of, "0") if kind == "RMA_PUT" else ("0", bytes_of)),
                         ""))
        elif kind in ("ENTER", "LEAVE"):
            mine.append((ns, WORDS[kind], name_in(rest, "Region"), "", "", "", "", "", ""))
        else:
            mine.append((ns, WORDS[kind]))
    return events


class Reading(TestCase):
    def refrain(self, *words: Any, code: int = 0) -> str:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=600)
        self.stderr = done.stderr
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr}")
        return done.stdout

    def rows(self, path: Path, *options: Any, code: int = 0) -> list[dict[str, str]]:
        # When a message was sent is told where both sides are read.
        return [{**row, "sent_s": ""} for row in csv.DictReader(io.StringIO(self.refrain("events", path, "--format", "csv", *options, code=code)))]


def event_of(row: dict[str, str]) -> Event:
    return (round(float(row["time_s"]) * 1e9), row["event"], row["region"], row["peer"], row["tag"], row["communicator"],
            row["bytes_sent"], row["bytes_received"], row["value"])


@unittest.skipUnless(TRACES.is_dir() and shutil.which("otf2-print"), f"{TRACES} is not there, or otf2-print is not")
class ForeignArchives(Reading):
    def archives(self) -> Iterator[Path]:
        for name in GOOD:
            with self.subTest(name):
                yield TRACES / name / "traces.otf2"

    def test_each_event_of_each_location_is_that_of_libotf2(self) -> None:
        for anchor in self.archives():
            of = Definitions(anchor)
            wanted = truth(anchor, of)
            rows = self.rows(anchor)
            self.assertEqual("", self.stderr)
            times = [float(row["time_s"]) for row in rows]
            self.assertEqual(sorted(times), times)
            found: dict[tuple[str, str], list[Event]] = defaultdict(list)
            for row in rows:
                found[row["rank"], row["thread"]].append(event_of(row))
            self.assertEqual(wanted.keys(), found.keys())
            for place, events in wanted.items():
                self.assertEqual(len(events), len(found[place]), place)
                for want, have in zip(events, found[place]):
                    exactly = of.resolution == 10**9
                    self.assertLessEqual(abs(want[0] - have[0]), 0 if exactly else 1, (place, want, have))
                    # Nothing: otf2-print does not say it, as the region that a message is sent from.
                    for of_want, of_have in zip(want[1:], have[1:]):
                        if of_want is not None:
                            self.assertEqual(of_want, of_have, (place, want, have))

    def test_messages_belong_to_the_call_they_are_in(self) -> None:
        for anchor in self.archives():
            open_calls: dict[tuple[str, str], list[str]] = defaultdict(list)
            messages = 0
            for row in self.rows(anchor):
                calls = open_calls[row["rank"], row["thread"]]
                if row["event"] == "enter":
                    calls.append(row["region"])
                elif row["event"] == "leave":
                    self.assertEqual(calls.pop(), row["region"])
                elif row["event"] in ("send", "receive", "collective", "one_sided_begun"):
                    self.assertEqual(calls[-1] if calls else "(unknown)", row["region"])
                    messages += 1
            self.assertEqual(messages > 0, "ompt" not in str(anchor))

    def test_a_part_is_what_all_of_it_has_there(self) -> None:
        for anchor in self.archives():
            rows = self.rows(anchor)
            times = [float(row["time_s"]) for row in rows]
            begin, end = times[len(times) // 3], times[len(times) // 2]
            without_region = [{**row, "region": ""} if row["event"] not in ("enter", "leave") else row for row in rows]
            part = [row for row in without_region if begin <= float(row["time_s"]) <= end]
            found = self.rows(anchor, "--from", repr(begin), "--to", repr(end))
            self.assertEqual(part, [{**row, "region": ""} if row["event"] not in ("enter", "leave") else row for row in found])
            last = max(row["rank"] for row in rows)
            self.assertEqual([row for row in rows if row["rank"] == last], self.rows(anchor, "--rank", last))
            self.refrain("events", anchor, "--rank", "99", code=1)
            self.assertIn("--rank 99", self.stderr)
            self.refrain("events", anchor, "--iteration", "1", code=1)

    def test_a_directory_stands_for_its_only_archive(self) -> None:
        for anchor in self.archives():
            self.assertEqual(self.refrain("events", anchor), self.refrain("events", anchor.parent))
        for name in ("one.otf2", "two.otf2"):
            shutil.copy(TRACES / GOOD[2] / "traces.otf2", self.directory / name)
        self.refrain("events", self.directory, code=2)
        self.assertIn("several archives", self.stderr)

    def test_what_needs_an_experiment_says_so(self) -> None:
        self.refrain("export", TRACES / GOOD[2] / "traces.otf2", code=1)
        self.assertRegex(self.stderr, "^refrain export: .* is an OTF2 archive; export needs an experiment.*\n$")

    def test_missing_files_are_named(self) -> None:
        anchor = TRACES / BROKEN / "traces.otf2"
        self.refrain("events", anchor, code=2)
        self.assertRegex(self.stderr, r"^refrain events: .*/traces/0.evt: .*missing, and 3 more of the 4.*\n$")
        directory = self.directory / "copy"
        shutil.copytree(TRACES / GOOD[2], directory)
        (directory / "traces" / "4.evt").unlink()
        self.refrain("events", directory, code=2)
        self.assertIn("4.evt", self.stderr)
        self.assertEqual({"3"}, {row["rank"] for row in self.rows(directory, "--rank", "3")})
        for name in ("traces.def", "traces.otf2"):
            (directory / name).unlink()
            self.refrain("events", directory / "traces.otf2", code=2)
            self.assertIn(name, self.stderr)

    def test_what_is_behind_the_end_of_a_file_is_a_gap(self) -> None:
        directory = self.directory / "copy"
        shutil.copytree(TRACES / GOOD[2], directory)
        whole = self.rows(directory)
        file = directory / "traces" / "3.evt"
        file.write_bytes(file.read_bytes()[:300])
        rows = self.rows(directory, code=4)
        self.assertRegex(self.stderr, "^refrain events: .*3.evt: at byte .*\n$")
        self.assertEqual([row for row in whole if row["rank"] != "3"], [row for row in rows if row["rank"] != "3"])
        mine = [row for row in rows if row["rank"] == "3"]
        of_whole = [row for row in whole if row["rank"] == "3"]
        self.assertEqual(of_whole[:len(mine) - 1], mine[:-1])
        self.assertEqual(("gap", str(len(of_whole) - len(mine) + 1)), (mine[-1]["event"], mine[-1]["lost"]))


class RoundTrip(Reading):
    """An experiment and its export have the same events of MPI."""

    def of_mpi(self, rows: list[dict[str, str]]) -> dict[tuple[str, str], list[Event]]:
        found: dict[tuple[str, str], list[Event]] = defaultdict(list)
        told = ("enter", "leave", "send", "send_begun", "receive", "receive_completed", "collective", "collective_completed")
        begun = {row["request"] for row in rows if row["event"].endswith("_begun")}
        for row in rows:
            if row["event"].endswith("_completed") and row["request"] not in begun:
                continue  # an export has no end without a begin
            mine = found[row["rank"], row["thread"]]
            if row["region"].startswith("MPI_") and row["event"] in told:
                mine.append((*event_of(row), row["request"]))
            elif row["iteration"]:
                mine.append((row["event"], row["region"], row["iteration"]))
        return {place: events for place, events in found.items() if events}

    def check(self, name: str, command: list[str], *options: Any) -> None:
        outcome = self.measured(command, {"REFRAIN_TRACE": "all"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        archive = self.directory / f"{name}-otf2"
        self.refrain("export", outcome.experiment, "-o", archive)
        for chosen in ((), options):
            native, exported = self.of_mpi(self.rows(outcome.experiment, *chosen)), self.of_mpi(self.rows(archive, *chosen))
            self.assertEqual(native.keys(), exported.keys())
            self.assertGreater(sum(map(len, native.values())), 8)
            for place, events in native.items():
                for want, have in zip(events, exported[place]):
                    self.assertEqual(want, have, place)
                self.assertEqual(len(events), len(exported[place]), place)

    def test_messages_and_requests(self) -> None:
        self.check("few", mpirun(2, PROGRAMS / "events_few_openmpi"))
        self.check("requests", mpirun(2, PROGRAMS / "mpi_control_openmpi", "requests", "30"), "--rank", "1")

    def test_iterations(self) -> None:
        self.check("iterations", mpirun(2, PROGRAMS / "iterations_loop", "40", "100"), "--iteration", "7")

    def test_from_the_middle_of_many_frames(self) -> None:
        outcome = self.measured(mpirun(2, PROGRAMS / "mpi_control_openmpi", "requests", "3000"),
                                {"REFRAIN_TRACE": "all", "REFRAIN_TRACE_MEMORY": "32K"})
        # When a message was sent is known of those that are sent since.
        without_sends = lambda rows: [{**row, "sent_s": ""} for row in rows]
        rows = without_sends(self.rows(outcome.experiment))
        self.assertGreater(sum(row["event"] == "flush_begin" for row in rows), 10)
        for place in (len(rows) // 3, len(rows) // 2, len(rows) - 5):
            begin = rows[place]["time_s"]
            wanted = [row for row in rows if float(row["time_s"]) >= float(begin)]
            self.assertTrue(wanted == without_sends(self.rows(outcome.experiment, "--from", begin)), begin)

    def test_threads(self) -> None:
        self.check("threads", mpirun(2, PROGRAMS / "mpi_control_openmpi", "threads"), "--from", "0.001")


if __name__ == "__main__":
    unittest.main()
