"""Messages in events are paired as their serial numbers say: no pair is wrong, and what is left out is what must be."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import unittest
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from refrain_testing import FULL, MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

SIDES = {"send": "S", "send_begun": "S", "receive": "R", "receive_completed": "R"}
SAMPLED = {"REFRAIN_TRACE": "sampled", "REFRAIN_TRACE_MEMORY": "64K"}
ALL = {"REFRAIN_TRACE": "all"}
# Memory for some iterations: what is kept goes to the file in many frames.
ALL_IN_PIECES = ALL | {"REFRAIN_TRACE_MEMORY": "32K"}
LIST = {"REFRAIN_TRACE": "3-5,17,18,40-99"}


@dataclass
class Found:
    """Of the receives that the events have."""
    receives: int = 0
    kept: int = 0  # their sends are in the events, too
    paired: int = 0
    wrong: list[str] = field(default_factory=list)
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)  # of `kept`, by rank and tag


class Messages(TestCase):
    def tool(self, *words: object) -> str:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual(0, done.returncode, f"{words}: {done.stderr}")
        return done.stdout

    def serials(self, log: str, rank: str) -> dict[tuple[str, str, str], list[int]]:
        """By side, thread and iteration."""
        found: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for line in Path(f"{log}.{rank}").read_text().splitlines():
            side, thread, iteration, serial = line.split()
            found[side, thread, iteration].append(int(serial))
        return found

    def with_serials(self, experiment: Path, log: str) -> list[tuple[dict[str, str], int]]:
        """The sends and receives among the events, each with the serial number that the program has noted for it."""
        rows = list(csv.DictReader(io.StringIO(self.tool("events", experiment, "--format", "csv"))))
        unassigned: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
        groups: dict[tuple[str, str, str], list[dict[str, str]]] = {}
        for row in rows:
            place = row["rank"], row["thread"]
            if row["event"] in SIDES:
                unassigned[place].append(row)
            elif row["event"] == "span_end" and row["thread"] == "0":
                if row["iteration"]:
                    groups[*place, row["iteration"]] = unassigned.pop(place, [])
                else:
                    self.assertEqual([], unassigned.pop(place, []), "all messages are in iterations")
        groups |= {(*place, "-1"): rest for place, rest in unassigned.items()}  # of other threads
        logs = {rank: self.serials(log, rank) for rank in {row["rank"] for row in rows}}
        found = []
        for (rank, thread, iteration), messages in groups.items():
            for side in "SR":
                mine = [row for row in messages if SIDES[row["event"]] == side]
                of_thread = "0" if thread == "0" else "1"
                noted = logs[rank][side, of_thread, iteration]
                self.assertEqual(len(noted), len(mine), f"{side} of rank {rank} in iteration {iteration}")
                found += zip(mine, noted)
        return found

    def check(self, experiment: Path, log: str) -> Found:
        found, sends, kept = Found(), defaultdict(list), set()
        messages = self.with_serials(experiment, log)
        for row, serial in messages:
            if SIDES[row["event"]] == "S":
                sends[row["rank"], row["peer"], row["communicator"], row["tag"], row["message"], row["time_s"]].append(serial)
                kept.add(serial)
        for row, serial in messages:
            if SIDES[row["event"]] == "S":
                continue
            found.receives += 1
            found.kept += serial in kept
            if not row["sent_s"]:
                found.left_out[row["rank"], row["tag"]] += serial in kept
                continue
            found.paired += 1
            partners = sends[row["peer"], row["rank"], row["communicator"], row["tag"], row["message"], row["sent_s"]]
            if partners != [serial]:
                found.wrong.append(f"{serial:x} with {[f'{partner:x}' for partner in partners]}: {row}")
        summary = json.loads(self.tool("report", experiment, "--events", "--format", "json"))["events"]["messages"]
        self.assertEqual((sum(map(len, sends.values())), found.receives, found.paired),
                         (summary["sends"], summary["receives"], summary["paired"]))
        self.assertEqual(summary["sends"] + summary["receives"], 2 * summary["paired"] + sum(summary["left_out"].values()))
        self.summary = summary
        return found

    def measure(self, mode: str, iterations: int, mpi: str, ranks: int, options: dict[str, str]) -> Found:
        with self.subTest(mode=mode, mpi=mpi, ranks=ranks, trace=options["REFRAIN_TRACE"]):
            log = str(self.directory / "log")
            outcome = self.measured(mpiexec(mpi, ranks, PROGRAMS / f"events_messages_{mpi}", mode, iterations, log), options)
            self.assertEqual(0, outcome.code, outcome.stderr)
            found = self.check(outcome.experiment, log)
            self.assertEqual([], found.wrong[:3], f"{len(found.wrong)} of {found.paired} pairs are wrong")
            self.assertGreater(found.kept, 0)
            return found
        return Found()

    def cases(self) -> list[tuple[str, int, dict[str, str]]]:
        if FULL:
            # Each MPI and each number of ranks with each way to keep events, and each MPI with each number of ranks.
            return [(MPIS[(number + ranks) % len(MPIS)], ranks, options) for ranks in (2, 3, 4)
                    for number, options in enumerate((ALL, ALL_IN_PIECES, SAMPLED, LIST))]
        return [(MPIS[0], 2, ALL_IN_PIECES), (MPIS[-1], 4, SAMPLED)]

    def cases_of(self, number: int) -> list[tuple[str, int, dict[str, str]]]:
        """In the short form one case for each mode, by turns."""
        return self.cases() if FULL else [self.cases()[number % 2]]

    def check_all(self, *modes: str) -> None:
        for number, mode in enumerate(modes):
            of_list = [] if FULL or mode != "halo" else [(MPIS[0], 3, LIST)]
            for mpi, ranks, options in self.cases_of(number) + of_list:
                found = self.measure(mode, 400, mpi, ranks, options)
                with self.subTest(mode=mode, mpi=mpi, ranks=ranks, trace=options["REFRAIN_TRACE"]):
                    self.assertEqual(found.kept, found.paired, found.left_out)
                    if options in (ALL, ALL_IN_PIECES):
                        self.assertEqual(found.receives, found.kept)

    def test_halos(self) -> None:
        self.check_all("halo", "one_tag", "new_tags", "sendrecv", "duplicates")

    def test_receives_posted_an_iteration_before(self) -> None:
        self.check_all("preposted", "persistent")

    def test_messages_that_wait_for_another_iteration(self) -> None:
        """By their order in an iteration these would all be paired wrongly."""
        self.check_all("buffered", "buffered_tags", "pipeline")

    def test_receives_that_complete_in_another_order(self) -> None:
        self.check_all("waitany", "reordered")

    def test_wildcards(self) -> None:
        self.check_all("any_source", "wildcards")

    def test_matched_probes(self) -> None:
        self.check_all("matched")

    def test_a_cancelled_receive(self) -> None:
        self.check_all("cancelled")

    def test_wildcards_that_are_open_when_later_receives_complete(self) -> None:
        for mpi, ranks, options in self.cases():
            self.measure("wildcards_any", 200, mpi, ranks, options)
            found = self.measure("wildcards_last", 200, mpi, ranks, options)
            # The first that was posted is known when it completes, and with it all others, which were completed before.
            self.assertEqual(found.kept, 6 * found.paired)
            self.assertEqual(5 * found.receives, 6 * self.summary["left_out"]["unnumbered"])

    def test_tags_of_a_class_in_another_order(self) -> None:
        for mpi, ranks, options in self.cases():
            found = self.measure("reordered_class", 200, mpi, ranks, options)
            self.assertEqual(0, found.paired)
            self.assertEqual(2 * found.kept, self.summary["left_out"]["other_order"])

    def test_a_receive_is_cancelled_behind_which_another_was_posted(self) -> None:
        for mpi in MPIS:
            found = self.measure("cancelled_late", 50, mpi, 3, ALL)
            self.assertEqual({(str(rank), "1"): 3 * 50 - 1 for rank in range(3)}, {k: n for k, n in found.left_out.items() if n})

    def test_threads(self) -> None:
        for mpi in MPIS:
            found = self.measure("threads", 300, mpi, 2, ALL)
            self.assertEqual((2 * 2 * 2 * 300,) * 2, (found.kept, found.paired))
            shared = self.measure("threads_share", 300, mpi, 2, ALL)
            self.assertLess(shared.paired, shared.kept)
            self.assertGreater(self.summary["left_out"]["unnumbered"], 0)

    def test_a_rank_that_is_not_measured_all_the_time(self) -> None:
        for mpi, ranks, options in self.cases():
            found = self.measure("stopped", 200, mpi, ranks, options)
            self.assertEqual(found.kept, found.paired)



if __name__ == "__main__":
    unittest.main(verbosity=2)
