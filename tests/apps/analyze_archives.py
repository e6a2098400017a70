"""`refrain analyze` of small OTF2 archives: its values are, to the nanosecond, those that docs/patterns.md defines, computed
by hand."""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import unittest
from pathlib import Path
from typing import Any

from analyze_together import difference, together
from archives_by_hand import (BEGIN, END, PYTHON, Call, Communicators, Ranks, Threads, barriers, collective, done,
                              events_of, icollective, irecv, isend, receive, received, send, sent, write_archive)
from refrain_testing import REFRAIN, TestCase, clean_environment


def period(begin: int, end: int) -> str:
    return f"{begin / 1e9:.9f}:{end / 1e9:.9f}"


# Patterns of single calls. Those that depend on a master are apart.
WAITING = ["late_sender", "late_sender_wrong_order", "wrong_order_same_source", "wrong_order_different_sources",
           "late_receiver", "messages_in_wrong_order", "wait_at_barrier", "barrier_completion", "load_imbalance_at_barrier",
           "wait_at_nxn", "nxn_completion", "late_broadcast", "early_reduce", "early_scan", "wait_at_init", "wait_at_finalize"]
KINDS = ["late_sender", "late_receiver", "wait_at_barrier", "wait_at_nxn", "late_broadcast", "early_reduce", "early_scan",
         "wait_at_init", "wait_at_finalize"]
CHILDREN = {
    "": ["time"],
    "time": ["costs", "mpi", "io", "idle_workers", "serial_sections"],
    "mpi": ["communication", "synchronization", "init_finalize", "mpi_other", "waiting", "late_post", "lock_contention"],
    "communication": ["p2p", "collective", "one_sided", "dominating_communication", "frequent_communication", "big_messages",
                      "uneven_distribution"],
    "synchronization": ["barrier", "one_sided_synchronization"],
    "p2p": ["late_sender", "late_receiver", "overloaded_master", "messages_in_wrong_order"],
    "late_sender": ["late_sender_wrong_order", "slow_slaves"],
    "late_sender_wrong_order": ["wrong_order_same_source", "wrong_order_different_sources"],
    "barrier": ["wait_at_barrier", "barrier_completion", "load_imbalance_at_barrier"],
    "collective": ["wait_at_nxn", "nxn_completion", "late_broadcast", "early_reduce", "early_scan"],
    "init_finalize": ["wait_at_init", "wait_at_finalize"],
    "one_sided_synchronization": ["wait_at_fence", "early_wait"],
    "early_wait": ["late_complete"],
}
PARENTS = {child: parent for parent, children in CHILDREN.items() for child in children}

def severity(of: dict[str, Any]) -> int:
    """In nanoseconds."""
    return round(of["severity_s"] * 1e9)


@unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
class Analyzed(TestCase):
    def write(self, ranks: Ranks, communicators: Communicators | None = None, threads: Threads = ()) -> Path:
        return self.write_events([events_of(calls) for calls in ranks], communicators, threads)

    def write_events(self, ranks: list[list[list[Any]]], communicators: Communicators | None = None,
                     threads: Threads = ()) -> Path:
        self._runs += 1
        directory = self.directory / f"archive-{self._runs}"
        return write_archive(directory, ranks, communicators, threads)

    def refrain(self, archive: Path, *options: Any, code: int = 0) -> str:
        done = subprocess.run([REFRAIN, "analyze", archive, *map(str, options)], capture_output=True, text=True,
                              env=clean_environment(), timeout=60)
        self.stderr = done.stderr
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout

    def findings(self, archive: Path, *options: Any) -> dict[str, dict[str, Any]]:
        """By name, after what holds for all archives was checked. The rest of the output is in `whole`."""
        self.whole = json.loads(self.refrain(archive, "--format", "json", *options))
        if not {"--causes", "--critical-path", "--plugin"} & set(map(str, options)):
            (code, out, _), _ = together(self.directory, 2, archive, "--format", "json", *options)
            self.assertEqual((0, ""), (code, difference(self.whole, json.loads(out))), "of two processes")
        found = {pattern["name"]: pattern for pattern in self.whole["patterns"]}
        self.assertEqual(len(found), len(self.whole["patterns"]))
        for name, pattern in found.items():
            self.assertEqual(PARENTS[name], pattern["parent"], name)
            self.check_parts(pattern)
            if pattern["parent"] in found:
                self.check_part_of(pattern, found[pattern["parent"]])
        return found

    def check_parts(self, pattern: dict[str, Any]) -> None:
        name, total = pattern["name"], severity(pattern)
        self.assertGreaterEqual(total, 0, name)
        stands_for = "part" if self.whole["gaps"] else "all"
        self.assertEqual((0, stands_for), (pattern["standard_error_s"], pattern["stands_for"]), name)
        self.assertTrue(0 <= pattern["confidence"] <= 1, (name, pattern["confidence"]))
        self.assertAlmostEqual(pattern["severity_s"], pattern["share"] * self.whole["total_time_s"], delta=1e-12, msg=name)
        for parts in ("by_location", "by_callpath"):
            values = [severity(part) for part in pattern[parts]]
            self.assertEqual(sorted(values, reverse=True), values, (name, parts))
            if (name, parts) != ("time", "by_callpath"):
                self.assertEqual(total, sum(values), (name, parts))

    def check_part_of(self, child: dict[str, Any], parent: dict[str, Any]) -> None:
        names = child["name"], parent["name"]
        self.assertLessEqual(severity(child), severity(parent), names)
        for parts in ("by_location", "by_callpath"):
            whole = values(parent, parts)
            if parent["name"] != "time" or parts == "by_location":
                for part, value in values(child, parts).items():
                    self.assertLessEqual(value, whole.get(part, 0), (names, part))

    def check(self, ranks: Ranks, expected: dict[str, int], *options: Any, communicators: Communicators | None = None,
              threads: Threads = ()) -> dict[str, dict[str, Any]]:
        """Severities in nanoseconds; patterns of single calls that are not named are 0. All waiting is the sum of its kinds,
        unless it is named: of a call that has waited for two things it is the longer one."""
        found = self.findings(self.write(ranks, communicators, threads), *options)
        self.assertEqual(PARENTS.keys(), found.keys())
        wanted = {"waiting": sum(expected.get(name, 0) for name in KINDS)} | {name: 0 for name in WAITING} | expected
        self.assertEqual(wanted, {name: severity(found[name]) for name in wanted})
        return found


def values(pattern: dict[str, Any], parts: str) -> dict[Any, int]:
    """By rank, or by the path's names; threads other than the first one have a number beside the rank's."""
    def key(part: dict[str, Any]) -> Any:
        if parts == "by_callpath":
            return " > ".join(part["path"])
        return (part["rank"], part["thread"]) if part["thread"] else part["rank"]
    return {key(part): severity(part) for part in pattern[parts]}


class PointToPoint(Analyzed):
    def test_late_sender(self) -> None:
        found = self.check([[(3000, 3500, "MPI_Send", send(1))], [(1000, 4000, "MPI_Recv", receive(0))]],
                           {"late_sender": 2000, "p2p": 3500})
        self.assertEqual({1: 2000}, values(found["late_sender"], "by_location"))
        self.assertEqual({"main > MPI_Recv": 2000}, values(found["late_sender"], "by_callpath"))
        self.assertEqual(0, self.whole["clock_violations"])

    def test_a_sender_that_was_first_is_not_late(self) -> None:
        for at in (500, 1000):
            with self.subTest(at):
                self.check([[(at, at + 50, "MPI_Send", send(1))], [(1000, 4000, "MPI_Recv", receive(0))]], {"p2p": 3050})

    def test_what_was_sent_after_it_was_received_counts_to_the_leave(self) -> None:
        self.check([[(5000, 5500, "MPI_Send", send(1))], [(1000, 4000, "MPI_Recv", receive(0))]], {"late_sender": 3000})
        self.assertEqual(1, self.whole["clock_violations"])

    def test_late_sender_of_a_wait(self) -> None:
        self.check([[(3000, 3500, "MPI_Isend", isend(7, 1)), (3600, 3700, "MPI_Wait", sent(7))],
                    [(100, 150, "MPI_Irecv", irecv(7)), (1000, 4000, "MPI_Wait", received(7, 0))]], {"late_sender": 2000})

    def test_of_several_receives_the_latest_send_counts_once(self) -> None:
        for order in (received(1, 0), received(2, 2)), (received(2, 2), received(1, 0)):
            found = self.check([[(3000, 3500, "MPI_Send", send(1))],
                                [(100, 150, "MPI_Irecv", irecv(1)), (200, 250, "MPI_Irecv", irecv(2)),
                                 (1000, 6000, "MPI_Waitall", *order)],
                                [(5000, 5500, "MPI_Send", send(1))]], {"late_sender": 4000})
            self.assertEqual({"main > MPI_Waitall": 4000}, values(found["late_sender"], "by_callpath"))

    def test_late_sender_of_a_test(self) -> None:
        self.check([[(3000, 3010, "MPI_Send", send(1))],
                    [(100, 110, "MPI_Irecv", irecv(1)), (500, 600, "MPI_Test"), (2500, 3600, "MPI_Test", received(1, 0))]],
                   {"late_sender": 500, "p2p": 10 + 10 + 100 + 1100})

    def test_numbers_of_requests_are_used_again(self) -> None:
        sends: list[Call] = []
        receives: list[Call] = []
        for at in (0, 5000, 10000):
            sends += [(at + 3000, at + 3010, "MPI_Isend", isend(1, 1)), (at + 3100, at + 3110, "MPI_Wait", sent(1))]
            receives += [(at + 100, at + 110, "MPI_Irecv", irecv(1)), (at + 1000, at + 4000, "MPI_Wait", received(1, 0))]
        self.check([sends, receives], {"late_sender": 3 * 2000})

    def test_other_threads_than_the_first(self) -> None:
        found = self.check([[], [(1000, 4000, "MPI_Recv", receive(0))]], {"late_sender": 2000, "time": 3 * END, "p2p": 3500},
                           threads=[(0, [(3000, 3500, "MPI_Send", send(1))])])
        self.assertEqual({(0, 1): 500, 1: 3000}, values(found["p2p"], "by_location"))

    def test_messages_meet_in_the_order_in_which_receives_were_posted(self) -> None:
        # The first message, of 500, is that of request 1, which is completed last: so it is an older one that waits.
        self.check([[(500, 550, "MPI_Send", send(1)), (3000, 3050, "MPI_Send", send(1))],
                    [(100, 150, "MPI_Irecv", irecv(1)), (200, 250, "MPI_Irecv", irecv(2)),
                     (1000, 4000, "MPI_Wait", received(2, 0)), (5000, 8000, "MPI_Wait", received(1, 0))]],
                   {"late_sender": 2000, "late_sender_wrong_order": 2000, "wrong_order_same_source": 2000,
                    "messages_in_wrong_order": 3000})

    def test_tags_communicators_and_directions_are_kept_apart(self) -> None:
        # In `turned` rank 1 is 2, rank 2 is 0.
        self.check([[(1000, 1100, "MPI_Send", send(1, 5)), (2000, 2100, "MPI_Send", send(2, 5, on="turned"))],
                    [(1500, 2500, "MPI_Recv", receive(1, 5, on="turned")), (2600, 2700, "MPI_Recv", receive(0, 5)),
                     (2800, 2900, "MPI_Recv", receive(0, 5, on="turned"))],
                    [(2200, 2300, "MPI_Send", send(2, 5, on="turned"))]],
                   # The message of 1000 is older, and the first one that is received is that of 2000.
                   {"late_sender": 500, "late_sender_wrong_order": 500, "wrong_order_same_source": 500,
                    "messages_in_wrong_order": 1000}, communicators={"turned": [2, 0, 1]})

    def test_late_receiver(self) -> None:
        for how, posted in (("blocking", [(4000, 5500, "MPI_Recv", receive(0))]),
                            ("request", [(4000, 4100, "MPI_Irecv", irecv(1)), (4500, 5500, "MPI_Wait", received(1, 0))])):
            with self.subTest(how):
                found = self.check([[(1000, 5000, "MPI_Send", send(1))], posted], {"late_receiver": 3000})
                self.assertEqual({0: 3000}, values(found["late_receiver"], "by_location"))
                self.assertEqual({"main > MPI_Send": 3000}, values(found["late_receiver"], "by_callpath"))

    def test_late_receiver_of_a_wait(self) -> None:
        found = self.check([[(500, 600, "MPI_Isend", isend(1, 1)), (1000, 5000, "MPI_Wait", sent(1))],
                            [(4000, 5500, "MPI_Recv", receive(0))]], {"late_receiver": 3000})
        self.assertEqual({"main > MPI_Wait": 3000}, values(found["late_receiver"], "by_callpath"))

    def test_of_several_sends_the_latest_receive_counts_once(self) -> None:
        self.check([[(500, 600, "MPI_Isend", isend(1, 1)), (700, 800, "MPI_Isend", isend(2, 2)),
                     (1000, 5000, "MPI_Waitall", sent(1), sent(2))],
                    [(4000, 5500, "MPI_Recv", receive(0))], [(3000, 5600, "MPI_Recv", receive(0))]], {"late_receiver": 3000})

    def test_a_receiver_outside_of_the_call_is_not_late(self) -> None:
        for how, calls in (("after it", [(1000, 2000, "MPI_Send", send(1))]),
                           ("before it", [(3500, 3600, "MPI_Isend", isend(1, 1)), (4100, 5000, "MPI_Wait", sent(1))]),
                           ("between both", [(100, 600, "MPI_Isend", isend(1, 1)), (4500, 5000, "MPI_Wait", sent(1))])):
            with self.subTest(how):
                self.check([calls, [(4000, 5500, "MPI_Recv", receive(0))]], {})

    def test_a_receive_may_be_late_and_wait(self) -> None:
        # Both directions in one call. The second rank is late: the first one waits for its message, and for its receive.
        self.check([[(1000, 5000, "MPI_Sendrecv", send(1), receive(1))], [(3000, 5200, "MPI_Sendrecv", send(0), receive(0))]],
                   {"late_sender": 2000, "late_receiver": 2000, "waiting": 2000, "p2p": 6200})

    def test_wrong_order_of_one_sender(self) -> None:
        self.check([[(1000, 1100, "MPI_Send", send(1, 1)), (3000, 3100, "MPI_Send", send(1, 2))],
                    [(2000, 3500, "MPI_Recv", receive(0, 2)), (4000, 4100, "MPI_Recv", receive(0, 1))]],
                   {"late_sender": 1000, "late_sender_wrong_order": 1000, "wrong_order_same_source": 1000,
                    "messages_in_wrong_order": 1500})

    def test_wrong_order_of_tags_of_one_class(self) -> None:
        self.check([[(1000, 1100, "MPI_Send", send(1, 1)), (3000, 3100, "MPI_Send", send(1, 33))],
                    [(2000, 3500, "MPI_Recv", receive(0, 33)), (4000, 4100, "MPI_Recv", receive(0, 1))]],
                   {"late_sender": 1000, "late_sender_wrong_order": 1000, "wrong_order_same_source": 1000,
                    "messages_in_wrong_order": 1500})

    def test_wrong_order_of_several_senders(self) -> None:
        self.check([[(1000, 1100, "MPI_Send", send(1))],
                    [(2000, 3500, "MPI_Recv", receive(2)), (4000, 4100, "MPI_Recv", receive(0))],
                    [(3000, 3100, "MPI_Send", send(1))]],
                   {"late_sender": 1000, "late_sender_wrong_order": 1000, "wrong_order_different_sources": 1000,
                    "messages_in_wrong_order": 1500})

    def test_an_older_message_of_the_sender_is_the_reason_beside_those_of_others(self) -> None:
        self.check([[(1000, 1100, "MPI_Send", send(1))],
                    [(2000, 3500, "MPI_Recv", receive(2, 2)), (4000, 4100, "MPI_Recv", receive(0)),
                     (4200, 4300, "MPI_Recv", receive(2, 1))],
                    [(1500, 1600, "MPI_Send", send(1, 1)), (3000, 3100, "MPI_Send", send(1, 2))]],
                   {"late_sender": 1000, "late_sender_wrong_order": 1000, "wrong_order_same_source": 1000,
                    "messages_in_wrong_order": 1500})

    def test_wrong_order_without_waiting(self) -> None:
        self.check([[(1000, 1100, "MPI_Send", send(1, 1)), (1200, 1300, "MPI_Send", send(1, 2))],
                    [(2000, 2070, "MPI_Recv", receive(0, 2)), (4000, 4100, "MPI_Recv", receive(0, 1))]],
                   {"messages_in_wrong_order": 70})

    def test_a_call_that_takes_several_in_wrong_order_counts_once(self) -> None:
        self.check([[(1000, 1010, "MPI_Send", send(1, 1)), (1200, 1210, "MPI_Send", send(1, 2)),
                     (3000, 3010, "MPI_Send", send(1, 3))],
                    [(100, 110, "MPI_Irecv", irecv(2)), (200, 210, "MPI_Irecv", irecv(3)),
                     (2000, 4000, "MPI_Waitall", received(2, 0, 2), received(3, 0, 3)),
                     (5000, 5050, "MPI_Recv", receive(0, 1))]],
                   {"late_sender": 1000, "late_sender_wrong_order": 1000, "wrong_order_same_source": 1000,
                    "messages_in_wrong_order": 2000})

    def test_what_one_call_completes_is_in_order(self) -> None:
        self.check([[(3000, 3010, "MPI_Send", send(1, 1)), (4000, 4010, "MPI_Send", send(1, 2))],
                    [(100, 110, "MPI_Irecv", irecv(1)), (200, 210, "MPI_Irecv", irecv(2)),
                     (1000, 5000, "MPI_Waitall", received(2, 0, 2), received(1, 0, 1))]], {"late_sender": 3000})

    def test_younger_messages_and_those_to_others_are_in_order(self) -> None:
        self.check([[(1000, 1100, "MPI_Send", send(2, 1)), (3000, 3100, "MPI_Send", send(1, 2)),
                     (3200, 3300, "MPI_Send", send(1, 3))],
                    [(2000, 3500, "MPI_Recv", receive(0, 2)), (4000, 4100, "MPI_Recv", receive(0, 3))],
                    [(5000, 5100, "MPI_Recv", receive(0, 1))]], {"late_sender": 1000})

    def test_a_master_and_its_slaves(self) -> None:
        # Late: 1 for 0 by 300, 0 for 2 by 500; 2 for 1 by 700; receives: 0 for 1 by 1100, 2 for 0 by 1300, 1 for 2 by 1700.
        ranks = [[(1000, 2000, "MPI_Recv", receive(1, 1)), (3500, 3600, "MPI_Send", send(2, 2)),
                  (8100, 9100, "MPI_Recv", receive(1, 4)), (11000, 13000, "MPI_Send", send(2, 5))],
                 [(1300, 1400, "MPI_Send", send(0, 1)), (5000, 6000, "MPI_Recv", receive(2, 3)),
                  (7000, 9000, "MPI_Send", send(0, 4)), (16700, 17700, "MPI_Recv", receive(2, 6))],
                 [(3000, 4000, "MPI_Recv", receive(0, 2)), (5700, 5800, "MPI_Send", send(1, 3)),
                  (12300, 13300, "MPI_Recv", receive(0, 5)), (15000, 17000, "MPI_Send", send(1, 6))]]
        all_of_them = {"late_sender": 300 + 500 + 700, "late_receiver": 1100 + 1300 + 1700}
        for master, slow, overloaded in ((0, 300, 500 + 1100), (1, 700, 300 + 1700), (2, 500, 700 + 1300)):
            with self.subTest(master):
                self.check(ranks, {**all_of_them, "slow_slaves": slow, "overloaded_master": overloaded}, "--master", master)
        self.check(ranks, {**all_of_them, "slow_slaves": 300, "overloaded_master": 1600})

    def test_a_slave_does_not_wait_twice_for_its_master(self) -> None:
        # Both for its message and for its receive, in one call, for the same 3500 ns.
        self.check([[(4500, 5000, "MPI_Sendrecv", send(1), receive(1))], [(1000, 5000, "MPI_Sendrecv", send(0), receive(0))]],
                   {"late_sender": 3500, "late_receiver": 3500, "waiting": 3500, "overloaded_master": 3500, "p2p": 4500})


class Collective(Analyzed):
    def test_barrier(self) -> None:
        found = self.check(barriers((1000, 4500), (2000, 4600), (4000, 4700)),
                           {"wait_at_barrier": 3000 + 2000, "barrier_completion": 100 + 200,
                            "load_imbalance_at_barrier": 2800 + 1900, "barrier": 3500 + 2600 + 700})
        self.assertEqual({0: 3000, 1: 2000}, values(found["wait_at_barrier"], "by_location"))
        self.assertEqual({1: 100, 2: 200}, values(found["barrier_completion"], "by_location"))
        self.assertEqual({0: 2800, 1: 1900}, values(found["load_imbalance_at_barrier"], "by_location"))
        self.assertEqual({"main > MPI_Barrier": 5000}, values(found["wait_at_barrier"], "by_callpath"))

    def test_barrier_that_is_left_before_the_last_one_enters(self) -> None:
        self.check(barriers((1000, 3000), (4000, 4700)),
                   {"wait_at_barrier": 2000, "barrier_completion": 700, "load_imbalance_at_barrier": 1300})

    def test_barriers_of_some_are_apart_from_those_of_all(self) -> None:
        of_two = lambda enter, leave: collective(enter, leave, "BARRIER", on="pair")
        of_all = lambda enter, leave: collective(enter, leave, "BARRIER")
        # 600 and 10 ns, 2500 and 1500 and 20 and 30, 40 and 0.
        self.check([[of_two(1000, 1650), of_all(2000, 4600), of_two(5000, 5060)],
                    [of_all(3000, 4620)],
                    [of_two(1600, 1660), of_all(4500, 4630), of_two(5040, 5060)]],
                   {"wait_at_barrier": 600 + 2500 + 1500 + 40, "barrier_completion": 10 + 20 + 30,
                    "load_imbalance_at_barrier": (650 - 60) + (2600 - 130) + (1620 - 130) + (60 - 20)},
                   communicators={"pair": [2, 0]})

    def test_all_to_all(self) -> None:
        for operation in ("ALLREDUCE", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV", "ALLTOALLW", "REDUCE_SCATTER",
                          "REDUCE_SCATTER_BLOCK"):
            with self.subTest(operation):
                found = self.check([[collective(1000, 4500, operation)], [collective(2000, 4600, operation)],
                                    [collective(4000, 4700, operation)]],
                                   {"wait_at_nxn": 5000, "nxn_completion": 300, "collective": 6800})
                self.assertEqual({0: 3000, 1: 2000}, values(found["wait_at_nxn"], "by_location"))

    def test_late_broadcast(self) -> None:
        for operation in ("BCAST", "SCATTER", "SCATTERV"):
            with self.subTest(operation):
                # The root is 1. The last one comes after it, and the third one leaves before it comes.
                found = self.check([[collective(1000, 3500, operation, 1)], [collective(3000, 3600, operation, 1)],
                                    [collective(2000, 2500, operation, 1)], [collective(3300, 3700, operation, 1)]],
                                   {"late_broadcast": 2000 + 500})
                self.assertEqual({0: 2000, 2: 500}, values(found["late_broadcast"], "by_location"))

    def test_the_root_is_a_rank_of_its_communicator(self) -> None:
        # In `turned` the root 0 is rank 2.
        self.check([[collective(1000, 3500, "BCAST", 0, "turned")], [collective(2000, 3550, "BCAST", 0, "turned")],
                    [collective(3000, 3600, "BCAST", 0, "turned")]], {"late_broadcast": 3000},
                   communicators={"turned": [2, 0, 1]})

    def test_early_reduce(self) -> None:
        for operation in ("REDUCE", "GATHER", "GATHERV"):
            with self.subTest(operation):
                found = self.check([[collective(3000, 3500, operation, 1)], [collective(1000, 5000, operation, 1)],
                                    [collective(4000, 4100, operation, 1)]], {"early_reduce": 3000})
                self.assertEqual({1: 3000}, values(found["early_reduce"], "by_location"))
        with self.subTest("the root is last"):
            self.check([[collective(3000, 3500, "REDUCE", 1)], [collective(5000, 6000, "REDUCE", 1)]], {})
        with self.subTest("left before the last one comes"):
            self.check([[collective(3000, 3500, "REDUCE", 1)], [collective(1000, 2500, "REDUCE", 1)]], {"early_reduce": 1500})

    def test_early_scan(self) -> None:
        for operation in ("SCAN", "EXSCAN"):
            with self.subTest(operation):
                found = self.check([[collective(3000, 3100, operation)], [collective(1000, 3200, operation)],
                                    [collective(4000, 4100, operation)], [collective(2000, 4200, operation)]],
                                   {"early_scan": 2000 + 2000})
                self.assertEqual({1: 2000, 3: 2000}, values(found["early_scan"], "by_location"))

    def test_lower_ranks_are_those_of_the_communicator(self) -> None:
        # In `turned` the order is 2, 0, 1: 0 waits for 2, 1 for both, and 2 for none.
        found = self.check([[collective(1000, 4300, "SCAN", on="turned")], [collective(3000, 4400, "SCAN", on="turned")],
                            [collective(2500, 4200, "SCAN", on="turned")]], {"early_scan": 1500},
                           communicators={"turned": [2, 0, 1]})
        self.assertEqual({0: 1500}, values(found["early_scan"], "by_location"))

    def test_init_and_finalize(self) -> None:
        for function in ("MPI_Init", "MPI_Init_thread"):
            with self.subTest(function):
                found = self.check([[(100, 1000, function), (9000, 9900, "MPI_Finalize")],
                                    [(300, 1000, function), (9700, 9900, "MPI_Finalize")],
                                    [(700, 1100, function), (9100, 9200, "MPI_Finalize")]],
                                   {"wait_at_init": 600 + 400, "wait_at_finalize": 700 + 100,
                                    "init_finalize": 2000 + 1200, "mpi": 3200, "communication": 0, "costs": 0})
                self.assertEqual({0: 600, 1: 400}, values(found["wait_at_init"], "by_location"))
                self.assertEqual({0: 700, 2: 100}, values(found["wait_at_finalize"], "by_location"))

    def test_a_barrier_that_a_wait_completes(self) -> None:
        found = self.check([[(100, 150, "MPI_Ibarrier", icollective(1)), (1000, 4000, "MPI_Wait", done(1, "BARRIER"))],
                            [(3000, 3050, "MPI_Ibarrier", icollective(1)), (3500, 4100, "MPI_Wait", done(1, "BARRIER"))]],
                           {"wait_at_barrier": 2000, "barrier_completion": 100, "load_imbalance_at_barrier": 2400,
                            "barrier": 50 + 3000 + 50 + 600, "p2p": 0})
        self.assertEqual({"main > MPI_Wait": 2000}, values(found["wait_at_barrier"], "by_callpath"))

    def test_other_operations_that_a_wait_completes(self) -> None:
        for operation, root, expected in (("ALLREDUCE", None, {"wait_at_nxn": 2000, "nxn_completion": 100}),
                                          ("BCAST", 1, {"late_broadcast": 2000}), ("REDUCE", 0, {"early_reduce": 2000})):
            name = "MPI_I" + operation.lower()
            with self.subTest(name):
                self.check([[(100, 150, name, icollective(1)), (1000, 4000, "MPI_Wait", done(1, operation, root))],
                            [(3000, 3050, name, icollective(1)), (3500, 4100, "MPI_Wait", done(1, operation, root))]],
                           {**expected, "collective": 3700, "p2p": 0})

    def test_operations_are_one_by_the_order_of_their_begins(self) -> None:
        with self.subTest("waits in another order"):
            # The first one: nobody waits, the first rank leaves last by 100. The second one: 2000, 50, and 3000 - 750.
            self.check([[(100, 110, "MPI_Ibarrier", icollective(1)), (200, 210, "MPI_Ibarrier", icollective(2)),
                         (1000, 4000, "MPI_Wait", done(2, "BARRIER")), (4100, 4200, "MPI_Wait", done(1, "BARRIER"))],
                        [(500, 510, "MPI_Ibarrier", icollective(1)), (3000, 3010, "MPI_Ibarrier", icollective(2)),
                         (3100, 3200, "MPI_Wait", done(1, "BARRIER")), (3300, 4050, "MPI_Wait", done(2, "BARRIER"))]],
                       {"wait_at_barrier": 2000, "barrier_completion": 100 + 50, "load_imbalance_at_barrier": 2250})
        with self.subTest("a blocking one before the wait"):
            # The first one: 0, 20, 100 - 20. The second one: 700, 50, 1000 - 350.
            self.check([[(100, 110, "MPI_Ibarrier", icollective(1)), collective(1000, 2000, "BARRIER"),
                         (3000, 3020, "MPI_Wait", done(1, "BARRIER"))],
                        [(200, 210, "MPI_Ibarrier", icollective(1)), (500, 600, "MPI_Wait", done(1, "BARRIER")),
                         collective(1700, 2050, "BARRIER")]],
                       {"wait_at_barrier": 700, "barrier_completion": 70, "load_imbalance_at_barrier": 730})

    def test_a_wait_for_two_barriers_is_one_wait(self) -> None:
        # Their last begins are 4000 and 4500; what is waited for both counts once.
        self.check([[(100, 110, "MPI_Ibarrier", icollective(1)), (200, 210, "MPI_Ibarrier", icollective(2)),
                     (1000, 5000, "MPI_Waitall", done(1, "BARRIER"), done(2, "BARRIER"))],
                    [(4000, 4010, "MPI_Ibarrier", icollective(1)), (4500, 4510, "MPI_Ibarrier", icollective(2)),
                     (4600, 5000, "MPI_Waitall", done(1, "BARRIER"), done(2, "BARRIER"))]],
                   {"wait_at_barrier": 3500, "load_imbalance_at_barrier": 3600, "barrier": 20 + 4000 + 20 + 400})

    def test_a_wait_for_a_barrier_and_a_message_is_point_to_point(self) -> None:
        found = self.findings(self.write([
            [(100, 110, "MPI_Ibarrier", icollective(1)), (200, 210, "MPI_Irecv", irecv(2)),
             (1000, 5000, "MPI_Waitall", done(1, "BARRIER"), received(2, 1))],
            [(3000, 3010, "MPI_Ibarrier", icollective(1)), (3500, 3600, "MPI_Send", send(0)),
             (4000, 5000, "MPI_Wait", done(1, "BARRIER"))]]))
        # What waits for the barrier in the first call is no part of the time of barriers, so it cannot stand below it.
        expected = {"p2p": 10 + 4000 + 100, "barrier": 10 + 10 + 1000, "late_sender": 2500}
        self.assertEqual(expected, {name: severity(found[name]) for name in expected})

    def test_functions_of_the_program_within_an_operation(self) -> None:
        # As of MPI_Op_create: the first call's own time is 2000 of 4000. Nothing below it is longer than that.
        found = self.findings(self.write([[collective(1000, 5000, "ALLREDUCE"), (2000, 4000, "operator")],
                                          [collective(4500, 5000, "ALLREDUCE")]]))
        self.assertEqual(2500, severity(found["collective"]))


class OfThreads(Analyzed):
    """Of the first thread what it does while others have nothing to do; by hand."""
    def found_of(self, first: list[Call], *workers: tuple[int, list[Call]], options: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
        self._runs += 1
        ranks = [events_of(first), events_of([])]
        return self.findings(write_archive(self.directory / f"archive-{self._runs}", ranks, workers=workers), *options)

    def test_parallel_regions(self) -> None:
        found = self.found_of([(1000, 4000, "smooth"), (4000, 4500, "MPI_Comm_rank")],
                              (0, [(2000, 3000, "work"), (5000, 7000, "work")]), (0, [(2500, 3500, "work"), (6000, 8000, "work")]))
        # The first one has nothing to do from 3000 to 5000 and from 7000, the second one from 3500 to 6000 and from 8000.
        self.assertEqual({(0, 1): 2000 + END - 7000, (0, 2): 2500 + END - 8000}, values(found["idle_workers"], "by_location"))
        self.assertEqual({"main > smooth": 1000 + 500, "main > MPI_Comm_rank": 2 * 500,
                          "main": 500 + 1500 + END - 7000 + END - 8000}, values(found["idle_workers"], "by_callpath"))
        # Both from 3500 to 5000 and from 8000; 500 of that is in a call of MPI.
        self.assertEqual({"main > smooth": 500, "main": 500 + END - 8000}, values(found["serial_sections"], "by_callpath"))
        self.assertEqual({0: 1000 + END - 8000}, values(found["serial_sections"], "by_location"))

    def test_a_part_of_the_time(self) -> None:
        # Nothing happens in it.
        found = self.found_of([], (0, [(2000, 3000, "work"), (5000, 7000, "work")]), options=("--time", period(8000, 20000)))
        self.assertEqual((12000, 12000), (severity(found["idle_workers"]), severity(found["serial_sections"])))
        found = self.found_of([], (0, [(2000, 3000, "work"), (5000, 7000, "work")]), options=("--time", period(4000, 6000)))
        self.assertEqual(1000, severity(found["serial_sections"]))

    def test_after_a_gap_a_thread_may_still_work(self) -> None:
        worker = events_of([(2000, 90000, "work"), (5000, 5100, "part")], None)
        worker[1:1] = [[BEGIN + 3000, "measurement_on_off", "OFF"], [BEGIN + 4000, "measurement_on_off", "ON"]]
        archive = write_archive(self.directory / "archive", [events_of([])], raw=[(0, worker)])
        found = {of["name"]: of for of in json.loads(self.refrain(archive, "--format", "json"))["patterns"]}
        self.assertEqual((0, 0), (severity(found["idle_workers"]), severity(found["serial_sections"])))

    def test_calls_of_mpi_alone_say_nothing(self) -> None:
        archive = write_archive(self.directory / "archive", [events_of([(1000, 90000, "MPI_Comm_rank")], None)],
                                workers=[(0, [(2000, 3000, "MPI_Comm_rank")])])
        found = {of["name"]: of for of in json.loads(self.refrain(archive, "--format", "json"))["patterns"]}
        self.assertEqual((0, 0), (severity(found["idle_workers"]), found["idle_workers"]["confidence"]))

    def test_a_plug_in_finds_the_same(self) -> None:
        plugin = self.directory / "alone.py"
        plugin.write_text("from refrain.patterns import Pattern\n\n\nclass Alone(Pattern):\n    parent = 'time'\n\n"
                          "    def idle_threads_callback(self, piece):\n"
                          "        if piece['are_all'] and not piece['region'].startswith('MPI_'):\n"
                          "            self.add(piece, ns=piece['leave_ns'] - piece['enter_ns'])\n"
                          "            assert piece['idle'] == [1]\n")
        archive = write_archive(self.directory / "archive", [events_of([(1000, 4000, "smooth"), (4000, 4500, "MPI_Comm_rank")])],
                                workers=[(0, [(2000, 3000, "work"), (5000, 7000, "work")])])
        found = {of["name"]: of for of in json.loads(self.refrain(archive, "--format", "json", "--plugin", plugin))["patterns"]}
        self.assertEqual(values(found["serial_sections"], "by_callpath"), values(found["alone"], "by_callpath"))
        self.assertLess(90000, severity(found["alone"]))

    def test_a_worker_within_a_worker(self) -> None:
        found = self.found_of([], (0, [(1000, 5000, "work"), (2000, 3000, "more work")]))
        self.assertEqual({"main": END - 5000}, values(found["idle_workers"], "by_callpath"))
        self.assertEqual(END - 5000, severity(found["serial_sections"]))

    def test_a_thread_that_never_rests(self) -> None:
        found = self.check([[], []], {"time": 3 * END}, threads=[(0, [])])
        self.assertEqual((0, 0), (severity(found["idle_workers"]), severity(found["serial_sections"])))


class TimeAndSums(Analyzed):
    def test_classes(self) -> None:
        ranks = [[(100, 600, "MPI_Init"), (1000, 1700, "MPI_Send", send(1)), collective(2000, 2900, "BARRIER"),
                  collective(3000, 4100, "ALLREDUCE"), (5000, 5013, "MPI_Comm_rank"), (6000, 6029, "MPI_Put"),
                  (7000, 7037, "MPI_Win_fence"), (8000, 8041, "write"), (9000, 9017, "MPI_Finalize")],
                 [(500, 600, "MPI_Init"), (1000, 1710, "MPI_Recv", receive(0)), collective(2000, 2900, "BARRIER"),
                  collective(3000, 4100, "ALLREDUCE"), (9000, 9017, "MPI_Finalize")]]
        p2p, collectives, one_sided, barrier, fences, files, init, other = 1410, 2200, 29, 1800, 37, 41, 634, 13
        found = self.check(ranks, {
            "time": 2 * END, "p2p": p2p, "collective": collectives, "one_sided": one_sided, "barrier": barrier,
            "one_sided_synchronization": fences,
            "io": files, "init_finalize": init, "mpi_other": other, "synchronization": barrier + fences,
            "communication": p2p + collectives + one_sided, "costs": p2p + collectives + one_sided + barrier + fences + files,
            "mpi": p2p + collectives + one_sided + barrier + fences + init + other,
            "wait_at_init": 400})
        self.assertAlmostEqual(2 * END / 1e9, self.whole["total_time_s"], delta=1e-12)
        self.assertEqual({0: END, 1: END}, values(found["time"], "by_location"))
        self.assertEqual({0: 700 + 1100 + 29, 1: 710 + 1100}, values(found["communication"], "by_location"))

    def test_call_paths_and_locations(self) -> None:
        ranks = [[(1000, 9000, "smooth"), (2000, 2300, "MPI_Send", send(1)), (3000, 3200, "exchange"),
                  (3010, 3110, "MPI_Send", send(1)), (10000, 10700, "MPI_Send", send(1))],
                 [(1000, 9000, "smooth"), (1500, 2400, "MPI_Recv", receive(0)), (2500, 3300, "exchange"),
                  (2600, 3200, "MPI_Recv", receive(0)), (9900, 10800, "MPI_Recv", receive(0))]]
        found = self.check(ranks, {"late_sender": 500 + 410 + 100})
        self.assertEqual({"main > smooth > MPI_Recv": 500, "main > smooth > exchange > MPI_Recv": 410, "main > MPI_Recv": 100},
                         values(found["late_sender"], "by_callpath"))
        self.assertEqual({"main > smooth > MPI_Recv": 900, "main > MPI_Recv": 900, "main > MPI_Send": 700,
                          "main > smooth > exchange > MPI_Recv": 600, "main > smooth > MPI_Send": 300,
                          "main > smooth > exchange > MPI_Send": 100}, values(found["p2p"], "by_callpath"))
        self.assertEqual({0: 1100, 1: 2400}, values(found["p2p"], "by_location"))
        self.assertEqual({1: 1010}, values(found["late_sender"], "by_location"))

        archive = self.write(ranks)
        for region, late, p2p in (("smooth", 910, 1900), ("exchange", 410, 700), ("MPI_Recv", 1010, 2400),
                                  ("main", 1010, 3500)):
            with self.subTest(region):
                chosen = self.findings(archive, "--region", region)
                self.assertEqual((late, p2p), (severity(chosen["late_sender"]), severity(chosen["p2p"])))

    def test_dominating_communication(self) -> None:
        # Of all paths: MPI_Send 3500, MPI_Allreduce 3000. A barrier, 9000, is no communication.
        together = [collective(6000, 7500, "ALLREDUCE"), collective(10000, 14500, "BARRIER")]
        calls = [(1000, 5000, "smooth"), (1000, 1800, "MPI_Send", send(1)), (5000, 5900, "MPI_Send", send(1)), *together]
        others = [(2000, 2100, "MPI_Recv", receive(0)), (5910, 5920, "MPI_Recv", receive(0)), *together,
                  (15000, 16800, "MPI_Send", send(0))]
        found = self.check([[*calls, (16810, 16820, "MPI_Recv", receive(1))], others],
                           {"dominating_communication": 800 + 900 + 1800, "communication": 3500 + 120 + 3000})
        dominating = found["dominating_communication"]
        self.assertEqual(["MPI_Send"], dominating["names"])
        self.assertEqual({"main > MPI_Send": 2700, "main > smooth > MPI_Send": 800}, values(dominating, "by_callpath"))

    def test_frequent_communication(self) -> None:
        # Means: MPI_Send 9.5 us, MPI_Recv 10 us.
        ranks = [[(1000, 6000, "MPI_Send", send(1)), (10000, 24000, "MPI_Send", send(1))],
                 [(1000, 12000, "MPI_Recv", receive(0)), (20000, 29000, "MPI_Recv", receive(0))]]
        expected = {"late_receiver": 10000}
        for options, names, frequent in (((), ["MPI_Send"], 19000), (("--frequent", "9.5"), [], 0),
                                         (("--frequent", "9.6"), ["MPI_Send"], 19000),
                                         (("--frequent", "10.1"), ["MPI_Recv", "MPI_Send"], 39000)):
            with self.subTest(options):
                found = self.check(ranks, {**expected, "frequent_communication": frequent}, *options)
                self.assertEqual(names, sorted(found["frequent_communication"].get("names", [])))

    def test_big_messages(self) -> None:
        # Means of bytes: 1 MiB + 1 and 1 MiB of two paths on each side; of a third one 100.
        mebibyte = 1 << 20
        sizes = [("small", 100, 100), ("least", mebibyte + 50, mebibyte - 50), ("big", mebibyte + 2, mebibyte)]
        sends, receives, at = [], [], 1000
        for name, *messages in sizes:
            for side in sends, receives:
                side.append((at, at + 1000, name))
            for size in messages:
                sends.append((at, at + 100, "MPI_Send", send(1, 0, size)))
                receives.append((at + 200, at + 230, "MPI_Recv", receive(0, 0, size)))
                at += 500
        for options, big in (((), 260), (("--big", 99), 3 * 260), (("--big", 100), 2 * 260), (("--big", mebibyte + 1), 0)):
            with self.subTest(options):
                found = self.check([sends, receives], {"big_messages": big}, *options)
                if not options:
                    self.assertEqual({"main > big > MPI_Send": 200, "main > big > MPI_Recv": 60},
                                     values(found["big_messages"], "by_callpath"))

    def test_messages_that_a_call_completes_are_its_messages(self) -> None:
        # All have 1.5 MiB. An exchange with requests: what the last call completes are a send and a receive.
        size = 3 << 19
        calls = lambda other: [(1000, 1010, "MPI_Irecv", irecv(1)), (1100, 1110, "MPI_Isend", isend(2, other, 0, size)),
                               (2000, 2500, "MPI_Waitall", received(1, other, 0, size), sent(2))]
        found = self.findings(self.write([calls(1), calls(0)]))
        by_path = values(found["big_messages"], "by_callpath")
        self.assertEqual((20, 1000), (by_path.get("main > MPI_Isend"), by_path.get("main > MPI_Waitall")))

    def test_uneven_distribution(self) -> None:
        # Allreduce: 1000 and 1500, a fifth of the mean. Broadcast: 1000 and 9000, 0.8 of it.
        ranks = [[collective(1000, 2000, "ALLREDUCE"), collective(3000, 4000, "BCAST", 0)],
                 [collective(1000, 2500, "ALLREDUCE"), collective(3000, 12000, "BCAST", 0)]]
        waiting = {"nxn_completion": 500}
        for options, uneven in (((), 10000), (("--uneven", 0.1), 12500), (("--uneven", 1.5), 0)):
            with self.subTest(options):
                self.check(ranks, {**waiting, "uneven_distribution": uneven}, *options)
        with self.subTest("threads of one process are not processes"):
            # Two threads of rank 0 spend 1000 each, rank 1 spends nothing.
            self.check([[(1000, 2000, "MPI_Send")], []], {"uneven_distribution": 2000},
                       threads=[(0, [(1000, 2000, "MPI_Send")])])
        with self.subTest("one process alone"):
            self.check([[(1000, 1500, "MPI_Send", send(1))], [(1600, 1700, "MPI_Recv", receive(0))]],
                       {"uneven_distribution": 600})


class Choosing(Analyzed):
    # A message of 3000 and one of 13000, late by 2000 and by 3000.
    RANKS = [[(3000, 3500, "MPI_Send", send(1)), (13000, 13500, "MPI_Send", send(1))],
             [(1000, 4000, "MPI_Recv", receive(0)), (10000, 14000, "MPI_Recv", receive(0))]]

    def test_time(self) -> None:
        archive = self.write(self.RANKS)
        for begin, end, late, p2p in ((0, END, 5000, 8000), (9000, 20000, 3000, 4500), (900, 5000, 2000, 3500),
                                      (20000, 30000, 0, 0)):
            with self.subTest((begin, end)):
                found = self.findings(archive, "--time", period(begin, end))
                self.assertEqual((late, p2p), (severity(found["late_sender"]), severity(found["p2p"])))
        with self.subTest("the sender is outside"):
            found = self.findings(archive, "--time", period(9000, 11000), "--pattern", "p2p,late_sender")
            self.assertEqual((3000, 4000), (severity(found["late_sender"]), severity(found["p2p"])))
        with self.subTest("calls that last longer are a part of the time"):
            self.findings(archive, "--time", period(9000, 11000))

    def test_rank(self) -> None:
        archive = self.write([[(3000, 3500, "MPI_Send", send(1))],
                              [(1000, 4000, "MPI_Recv", receive(0)), (10000, 14000, "MPI_Recv", receive(2))],
                              [(13000, 13500, "MPI_Send", send(1))]])
        for options, ranks, late, p2p in ((("--rank", "0-2"), {0, 1, 2}, 5000, 8000), (("--rank", "0-1"), {0, 1}, 2000, 7500),
                                          (("--rank", "1,2"), {1, 2}, 3000, 7500), (("--rank", "1"), {1}, 0, 7000),
                                          (("--rank", "1", "--rank", "2"), {1, 2}, 3000, 7500)):
            with self.subTest(options):
                found = self.findings(archive, *options)
                self.assertEqual((late, p2p), (severity(found["late_sender"]), severity(found["p2p"])))
                self.assertEqual(ranks, set(values(found["time"], "by_location")))
        self.refrain(archive, "--rank", "9", code=1)
        self.assertRegex(self.stderr, "^refrain analyze: .*9.*\n$")

    def test_pattern(self) -> None:
        archive = self.write(self.RANKS)
        for options in ("--pattern", "late_sender,barrier"), ("--pattern", "late_sender", "--pattern", "barrier"):
            found = self.findings(archive, *options)
            self.assertEqual({"late_sender": 5000, "barrier": 0}, {name: severity(pattern) for name, pattern in found.items()})
        for name in PARENTS:
            self.assertEqual({name}, set(self.findings(archive, "--pattern", name)))

    def test_patterns_that_do_not_exist(self) -> None:
        archive = self.write(self.RANKS)
        for names in ("late_singer", "late_sender,late_singer", ""):
            with self.subTest(names):
                self.assertEqual("", self.refrain(archive, "--pattern", names, code=1))
                self.assertRegex(self.stderr, "^refrain analyze: .*\n$")
                if names:
                    self.assertIn("late_singer", self.stderr)

    def test_csv_has_a_row_for_each_pattern_and_location(self) -> None:
        archive = self.write(self.RANKS)
        found = self.findings(archive)
        header, *rows = csv.reader(io.StringIO(self.refrain(archive, "--format", "csv")))
        self.assertEqual(len(header), len(set(header)), header)
        by_location = {(name, rank): value for name, pattern in found.items()
                       for rank, value in values(pattern, "by_location").items() if value}
        of_location = [dict(zip(header, row)) for row in rows if row[header.index("rank")]]
        self.assertEqual(by_location, {(row["name"], int(row["rank"])): round(float(row["location_severity_s"]) * 1e9)
                                       for row in of_location if float(row["location_severity_s"])})
        for row in of_location:
            self.assertEqual(found[row["name"]]["severity_s"], float(row["severity_s"]))

    def test_text(self) -> None:
        archive = self.write(self.RANKS)
        for format in ("text", "markdown"):
            self.assertRegex(self.refrain(archive, "--format", format), "late_sender")


class Nonsense(Analyzed):
    GOOD = [[(3000, 3500, "MPI_Send", send(1)), collective(5000, 6000, "ALLREDUCE"), collective(7000, 8000, "BARRIER")],
            [(1000, 4000, "MPI_Recv", receive(0)), collective(5500, 6000, "ALLREDUCE"), collective(7300, 8000, "BARRIER")],
            [collective(5700, 6000, "ALLREDUCE"), collective(7400, 8000, "BARRIER")]]
    OF_GOOD = {"late_sender": 2000, "wait_at_nxn": 700 + 200, "wait_at_barrier": 400 + 100}
    MESSAGES, OPERATIONS = ["late_sender", "late_receiver", "messages_in_wrong_order"], ["wait_at_barrier", "wait_at_nxn"]

    def bad(self, *more: list[Call]) -> dict[str, dict[str, Any]]:
        """Behind what is good, which is still found."""
        found = self.findings(self.write([[*good, *calls] for good, calls in zip(self.GOOD, more)]))
        self.assertEqual(self.OF_GOOD, {name: severity(found[name]) for name in self.OF_GOOD})
        return found

    def assert_unsure(self, found: dict[str, dict[str, Any]], *names: str) -> None:
        for name in names:
            self.assertTrue(0 < found[name]["confidence"] < 1, (name, found[name]["confidence"]))

    def test_without_nonsense_everything_is_sure(self) -> None:
        self.assertEqual({1}, {pattern["confidence"] for pattern in self.bad([], [], []).values()})

    def test_a_send_that_is_not_received(self) -> None:
        found = self.bad([(10000, 11000, "MPI_Send", send(1))], [], [])
        self.assert_unsure(found, *self.MESSAGES)
        self.assertEqual({1}, {found[name]["confidence"] for name in self.OPERATIONS})

    def test_a_receive_that_was_not_sent(self) -> None:
        found = self.bad([], [(10000, 11000, "MPI_Recv", receive(2))], [])
        self.assert_unsure(found, *self.MESSAGES)
        self.assertEqual(3500 + 1000, severity(found["p2p"]))

    def test_an_operation_without_a_rank(self) -> None:
        with self.subTest("barrier"):
            found = self.bad([collective(10000, 11000, "BARRIER")], [collective(10000, 11000, "BARRIER")], [])
            self.assert_unsure(found, "wait_at_barrier", "barrier_completion", "load_imbalance_at_barrier")
        with self.subTest("allreduce"):
            found = self.bad([collective(10000, 11000, "ALLREDUCE")], [], [collective(10000, 11000, "ALLREDUCE")])
            self.assert_unsure(found, "wait_at_nxn", "nxn_completion")
        with self.subTest("begun"):
            found = self.bad(*([collective(10000, leave, "BARRIER")] for leave in (11000, 11000, None)))
            self.assert_unsure(found, "wait_at_barrier", "barrier_completion", "load_imbalance_at_barrier")

    def test_a_root_that_is_missing(self) -> None:
        found = self.bad([], [collective(10000, 11000, "BCAST", 0)], [collective(10000, 11000, "BCAST", 0)])
        self.assertLess(found["late_broadcast"]["confidence"], 1)
        self.assertEqual(0, severity(found["late_broadcast"]))

    def test_calls_that_are_not_left(self) -> None:
        with self.subTest("a receive"):
            found = self.bad([(10000, 11000, "MPI_Send", send(1))], [(10000, None, "MPI_Recv", receive(0))], [])
            self.assert_unsure(found, *self.MESSAGES)
        with self.subTest("a send"):
            self.bad([(10000, None, "MPI_Send", send(1))], [(10000, 20000, "MPI_Recv", receive(0))], [])
        with self.subTest("all"):
            self.bad(*[[(10000, None, "MPI_Finalize")]] * 3)
        with self.subTest("a function"):
            self.bad(*[[(10000, None, "smooth")]] * 3)

    def test_different_operations_at_a_time(self) -> None:
        self.bad([collective(10000, 11000, "BARRIER")], [collective(10000, 11000, "ALLREDUCE")],
                 [collective(10000, 11000, "BCAST", 0)])

    def test_an_operation_with_two_roots(self) -> None:
        self.bad(*([collective(10000, 11000, "BCAST", root)] for root in (0, 1, 77)))

    def test_completions_of_nothing(self) -> None:
        self.bad([(10000, 11000, "MPI_Wait", sent(77)), (12000, 13000, "MPI_Wait", received(78, 1))],
                 [(10000, 11000, "MPI_Wait", done(77, "BARRIER"))], [(10000, 11000, "MPI_Wait", received(79, 2))])

    def test_requests_that_are_never_completed(self) -> None:
        self.bad([(10000, 11000, "MPI_Isend", isend(77, 1))], [(10000, 11000, "MPI_Irecv", irecv(77))],
                 [(10000, 11000, "MPI_Ibarrier", icollective(77))])

    def test_messages_to_oneself_and_to_nobody(self) -> None:
        self.bad([(10000, 11000, "MPI_Sendrecv", send(0), receive(0))], [(10000, 11000, "MPI_Send", send(55))],
                 [(10000, 11000, "MPI_Recv", receive(66))])

    def test_ranks_without_calls_and_without_events(self) -> None:
        self.check([[], []], {"time": 2 * END, "mpi": 0})
        found = self.findings(self.write_events([events_of([(1000, 2000, "MPI_Send", send(1))]), []]))
        self.assertEqual((END, 1000), (severity(found["time"]), severity(found["p2p"])))

    def test_what_happens_outside_of_calls(self) -> None:
        events = [events_of(calls) for calls in self.GOOD]
        events[0] += [[BEGIN + END + 10, *send(1)[1]], [BEGIN + END + 20, "leave", "main"]]
        events[1] += [[BEGIN + END + 10, *receive(0)[1]], [BEGIN + END + 20, "mpi_collective_begin"]]
        events[2] = [[BEGIN, "leave", "MPI_Recv"], *events[2]]
        found = self.findings(self.write_events(events))
        self.assertEqual(self.OF_GOOD, {name: severity(found[name]) for name in self.OF_GOOD})


class Gaps(Analyzed):
    """Measurement was off for a while on the second rank, which has received a message meanwhile."""

    def archive(self, off: int, on: int) -> Path:
        sender = [(1000, 1100, "MPI_Send", send(1, 1)), (5000, 5100, "MPI_Send", send(1, 2)),
                  (12000, 12100, "MPI_Send", send(1, 3)), (13000, 13100, "MPI_Send", send(1, 4))]
        receiver = [(11000, 14000, "MPI_Recv", receive(0, 4)), (15000, 15100, "MPI_Recv", receive(0, 3)),
                    (16000, 16100, "MPI_Recv", receive(0, 2))]
        events = [events_of(sender), events_of(receiver)]
        gap = [[BEGIN + off, "measurement_on_off", "OFF"], [BEGIN + on, "measurement_on_off", "ON"]]
        events[1] = [events[1][0], *gap, *events[1][1:]]
        return self.write_events(events)

    def test_what_may_have_been_received_unseen_is_no_older_message(self) -> None:
        # Of those that were sent before the one with tag 4 only the one with tag 3 was sent after the gap.
        found = self.findings(self.archive(2000, 10000))
        self.assertEqual(1, self.whole["gaps"])
        self.assertEqual(3000, severity(found["messages_in_wrong_order"]))

    def test_times_are_less_sure_by_the_time_that_is_missing(self) -> None:
        archive = self.archive(2000, 10000)
        found = self.findings(archive)
        for name in ("time", "mpi", "p2p"):
            self.assertAlmostEqual(1 - 8000 / (2 * END), found[name]["confidence"], msg=name)
        self.findings(self.archive(10000, 10000), "--pattern", "mpi")
        self.assertEqual(0.99, self.whole["patterns"][0]["confidence"])
        sure = json.loads(self.refrain(archive, "--time", period(10500, 20000), "--format", "json"))
        self.assertEqual({("mpi", "all", 1)}, {(of["name"], of["stands_for"], of["confidence"]) for of in sure["patterns"]
                                               if of["name"] == "mpi"})


def activity(of: dict[str, Any]) -> tuple[int, Any]:
    """The rank, and a call or (after, before) of a computation."""
    def last(name: str) -> str | None:
        return of[name][-1] if name in of else None
    return of["rank"], last("call") if of["kind"] == "call" else (last("after"), last("before"))


class CriticalPath(Analyzed):
    """Activities and their nanoseconds; and by how much of them that is more than on average."""

    def path(self, ranks: Ranks) -> dict[Any, tuple[int, int]]:
        self.findings(self.write(ranks), "--critical-path")
        found = {}
        for of in self.whole["critical_path"]:
            self.assertAlmostEqual(of["time_s"], of["share"] * self.whole["critical_path_s"], delta=1e-12)
            found[activity(of)] = round(of["time_s"] * 1e9), round(of["imbalance_s"] * 1e9)
        self.assertEqual(len(found), len(self.whole["critical_path"]))
        # Nothing is left out: it goes from the begin to the end of the last call.
        end = max(call[1] for calls in ranks for call in calls)
        self.assertEqual(end, sum(ns for ns, _ in found.values()))
        self.assertEqual(end, round(self.whole["critical_path_s"] * 1e9))
        return found

    def test_it_crosses_to_a_late_sender(self) -> None:
        found = self.path([[(10_000, 10_100, "MPI_Send", send(1))], [(2_000, 10_500, "MPI_Recv", receive(0))]])
        self.assertEqual({(0, (None, "MPI_Send")): (10_000, 5_000), (1, "MPI_Recv"): (500, 250)}, found)

    def test_it_stays_where_nobody_has_waited(self) -> None:
        found = self.path([[(1_000, 1_100, "MPI_Send", send(1))], [(2_000, 2_500, "MPI_Recv", receive(0))]])
        self.assertEqual({(1, (None, "MPI_Recv")): (2_000, 1_000), (1, "MPI_Recv"): (500, 250)}, found)

    def test_it_goes_along_a_chain_of_waits(self) -> None:
        found = self.path([
            [(10_000, 10_100, "MPI_Send", send(1))],
            [(2_000, 10_500, "MPI_Recv", receive(0)), (11_000, 11_100, "MPI_Send", send(2))],
            [(1_000, 11_500, "MPI_Recv", receive(1))]])
        self.assertEqual({(0, (None, "MPI_Send")): 10_000, (1, "MPI_Recv"): 500, (1, ("MPI_Recv", "MPI_Send")): 500,
                          (2, "MPI_Recv"): 500}, {what: ns for what, (ns, _) in found.items()})

    def test_it_goes_from_barrier_to_barrier_by_the_last_one(self) -> None:
        found = self.path([
            [collective(1_000, 5_100, "BARRIER"), collective(9_000, 9_200, "BARRIER")],
            [collective(5_000, 5_100, "BARRIER"), collective(6_000, 9_100, "BARRIER")]])
        # Of the calls what is not waiting: 100 + 200 on the path, all of it 100 + 100 + 200 + 100.
        self.assertEqual({(1, (None, "MPI_Barrier")): (5_000, 2_000), (0, "MPI_Barrier"): (300, 50),
                          (0, ("MPI_Barrier", "MPI_Barrier")): (3_900, 1_500)}, found)

    def test_random_programs(self) -> None:
        """Beside a second way to find it: backwards from the end, as it is defined."""
        for seed in range(12):
            with self.subTest(seed=seed):
                draw = random.Random(seed)
                ranks, waits = random_program(draw, draw.choice([2, 3, 5]), draw.choice([20, 1_500]))
                on_path, all_of_it = critical_path(ranks, waits)
                found = self.path(ranks)
                self.assertEqual({what: ns for what, ns in on_path.items() if ns > 0},
                                 {what: ns for what, (ns, _) in found.items()})
                for (rank, what), (ns, imbalance) in found.items():
                    self.assertAlmostEqual(max(ns - all_of_it[what] / len(ranks), 0), imbalance, delta=1)

    def test_two_that_wait_for_one_another_end(self) -> None:
        self.path([
            [(1_000, 4_000, "MPI_Recv", receive(1)), (5_000, 5_100, "MPI_Send", send(1))],
            [(1_000, 5_500, "MPI_Recv", receive(0)), (6_000, 6_100, "MPI_Send", send(0))]])

    def test_where_events_are_missing_it_is_not_known(self) -> None:
        events = events_of([(1_000, 2_000, "MPI_Send", send(1))])
        events[-1:-1] = [[BEGIN + 3_000, "measurement_on_off", "OFF"], [BEGIN + 4_000, "measurement_on_off", "ON"]]
        archive = self.write_events([events, events_of([(500, 2_500, "MPI_Recv", receive(0))])])
        self.assertNotIn("critical_path", json.loads(self.refrain(archive, "--critical-path", "--format", "json")))
        self.assertIn("the critical path is not known, as events are missing", self.stderr)


Waits = dict[tuple[int, int], tuple[int, int]]  # of a rank's n-th call: for whom, and until when


def random_program(draw: random.Random, size: int, steps: int) -> tuple[Ranks, Waits]:
    ranks: Ranks = [[] for _ in range(size)]
    now = [0] * size
    waits: Waits = {}

    def compute(rank: int) -> int:
        now[rank] += draw.randint(1, 9) if draw.random() < 0.8 else draw.randint(10, 30)
        return now[rank]

    def waits_for(rank: int, other: int, enter: int, until: int) -> None:
        if until > enter:
            waits[rank, len(ranks[rank])] = other, until

    for _ in range(steps):
        if draw.random() < 0.8:
            source, target = draw.sample(range(size), 2)
            begun, enter = compute(source), compute(target)
            waits_for(target, source, enter, begun)
            now[source] = begun + draw.randint(1, 3)
            if enter < now[source]:
                waits_for(source, target, begun, enter)  # as of a synchronous one
            now[target] = max(begun + 1, enter) + draw.randint(1, 5)
            ranks[source].append((begun, now[source], "MPI_Send", send(target)))
            ranks[target].append((enter, now[target], "MPI_Recv", receive(source)))
            continue
        enters = [compute(rank) for rank in range(size)]
        last = draw.randrange(size)
        enters[last] = max(enters) + 1
        for rank, enter in enumerate(enters):
            if rank != last:
                waits_for(rank, last, enter, enters[last])
            now[rank] = enters[last] + draw.randint(1, 6)
            ranks[rank].append(collective(enter, now[rank], "BARRIER"))
    ranks[0].append((max(now) + 5, max(now) + 9, "MPI_Iprobe"))  # one end is the last
    return ranks, waits


def critical_path(ranks: Ranks, waits: Waits) -> tuple[dict[Any, int], dict[Any, int]]:
    """What is on it, by rank and what; and all that there is without waiting, by what."""
    all_of_it: dict[Any, int] = {}
    for rank, calls in enumerate(ranks):
        before, leave_before = None, 0
        for n, (enter, leave, name, *_) in enumerate(calls):
            all_of_it[before, name] = all_of_it.get((before, name), 0) + enter - leave_before
            begin = waits.get((rank, n), (0, enter))[1]
            all_of_it[name] = all_of_it.get(name, 0) + leave - begin
            before, leave_before = name, leave
    on_path: dict[Any, int] = {}

    def add(rank: int, what: Any, ns: int) -> None:
        on_path[rank, what] = on_path.get((rank, what), 0) + ns

    rank = max(range(len(ranks)), key=lambda of: ranks[of][-1][1] if ranks[of] else -1)
    n = len(ranks[rank]) - 1
    while n >= 0:
        enter, leave, name, *_ = ranks[rank][n]
        other, until = waits.get((rank, n), (rank, enter))
        add(rank, name, leave - until)
        m = n - 1 if other == rank else max((k for k, call in enumerate(ranks[other]) if call[1] <= until), default=-1)
        following = ranks[other][m + 1][2]
        add(other, (ranks[other][m][2] if m >= 0 else None, following), until - (ranks[other][m][1] if m >= 0 else 0))
        rank, n = other, m
    return on_path, all_of_it


class Causes(Analyzed):
    """Activities that have made others wait, and nanoseconds."""

    def causes(self, ranks: Ranks, communicators: Communicators | None = None) -> dict[Any, tuple[int, int]]:
        """Cost and direct cost."""
        self.findings(self.write(ranks, communicators), "--causes")
        self.waiting = round(self.whole["waiting_s"] * 1e9)
        self.unexplained = round(self.whole["waiting_unexplained_s"] * 1e9)
        found = {}
        for cause in self.whole["causes"]:
            self.assertAlmostEqual(cause["severity_s"], cause["share"] * self.whole["waiting_s"], delta=1e-12)
            found[activity(cause)] = severity(cause), round(cause["direct_s"] * 1e9)
        self.assertEqual(len(found), len(self.whole["causes"]))
        self.assertAlmostEqual(self.waiting - self.unexplained, sum(all_of_it for all_of_it, _ in found.values()), delta=2)
        return found

    def test_a_late_sender_has_computed(self) -> None:
        found = self.causes([[(10_000, 10_100, "MPI_Send", send(1))], [(2_000, 10_500, "MPI_Recv", receive(0))]])
        self.assertEqual({(0, (None, "MPI_Send")): (8_000, 8_000)}, found)
        self.assertEqual((8_000, 0), (self.waiting, self.unexplained))

    def test_a_late_receiver_has_computed(self) -> None:
        found = self.causes([[(1_000, 8_000, "MPI_Ssend", send(1))], [(7_000, 8_100, "MPI_Recv", receive(0))]])
        self.assertEqual({(1, (None, "MPI_Recv")): (6_000, 6_000)}, found)

    def test_costs_flow_along_a_chain_of_waits(self) -> None:
        found = self.causes([
            [(10_000, 10_100, "MPI_Send", send(1))],
            [(2_000, 10_500, "MPI_Recv", receive(0)), (11_000, 11_100, "MPI_Send", send(2))],
            [(1_000, 11_500, "MPI_Recv", receive(1))]])
        # The last one has waited 10,000: for 8,000 in which the second one has waited itself, and for what that did longer.
        self.assertEqual({(0, (None, "MPI_Send")): (16_000, 8_000), (1, (None, "MPI_Recv")): (1_000, 1_000),
                          (1, "MPI_Recv"): (500, 500), (1, ("MPI_Recv", "MPI_Send")): (500, 500)}, found)

    def test_only_what_is_longer_since_both_were_in_step_counts(self) -> None:
        found = self.causes([
            [collective(1_000, 5_100, "BARRIER"), collective(9_000, 9_100, "BARRIER")],
            [collective(5_000, 5_100, "BARRIER"), collective(6_000, 9_100, "BARRIER")]])
        self.assertEqual({(1, (None, "MPI_Barrier")): (4_000, 4_000), (0, ("MPI_Barrier", "MPI_Barrier")): (3_000, 3_000)},
                         found)

    def test_of_a_collective_operation_the_last_one_is_late(self) -> None:
        found = self.causes([
            [collective(1_000, 9_100, "ALLREDUCE")], [collective(4_000, 9_100, "ALLREDUCE")],
            [collective(9_000, 9_100, "ALLREDUCE")]])
        self.assertEqual({(2, (None, "MPI_Allreduce")): (13_000, 13_000)}, found)
        found = self.causes([
            [collective(6_000, 6_100, "BCAST", 0)], [collective(4_000, 6_100, "BCAST", 0)],
            [collective(9_000, 9_100, "BCAST", 0)]])
        self.assertEqual({(0, (None, "MPI_Bcast")): (2_000, 2_000)}, found)
        found = self.causes([
            [collective(1_000, 9_100, "REDUCE", 0)], [collective(4_000, 4_100, "REDUCE", 0)],
            [collective(9_000, 9_100, "REDUCE", 0)]])
        self.assertEqual({(2, (None, "MPI_Reduce")): (8_000, 8_000)}, found)
        found = self.causes([
            [collective(3_000, 3_100, "SCAN")], [collective(9_000, 9_100, "SCAN")], [collective(4_000, 9_100, "SCAN")]])
        self.assertEqual({(1, (None, "MPI_Scan")): (5_000, 5_000)}, found)

    def test_chance_cancels_between_waits_of_one_call_path(self) -> None:
        """In the first step one place is longer by 1,000 on rank 0, in the second one on rank 1."""
        def step(begin: int, first: int, second: int, waits: bool) -> list[Call]:
            probe = begin + 100 + first
            enter = probe + 100 + second
            return [collective(begin, begin + 100, "BARRIER"), (probe, probe + 100, "MPI_Iprobe"),
                    (enter, begin + 9_000, "MPI_Recv", receive(0)) if waits else (enter, enter + 100, "MPI_Send", send(1))]
        found = self.causes([
            [*step(0, 3_000, 4_000, False), *step(9_000, 1_000, 6_000, False)],
            [*step(0, 2_000, 2_000, True), *step(9_000, 2_000, 2_000, True)]])
        self.assertEqual({(0, ("MPI_Iprobe", "MPI_Send")): (6_000, 6_000)}, found)

    def test_one_call_that_has_waited_twice_counts_once(self) -> None:
        found = self.causes([
            [(6_000, 6_100, "MPI_Send", send(2))], [(9_000, 9_100, "MPI_Send", send(2))],
            [(1_000, 1_100, "MPI_Irecv", irecv(1)), (1_200, 1_300, "MPI_Irecv", irecv(2)),
             (2_000, 9_500, "MPI_Waitall", received(1, 0), received(2, 1))]])
        self.assertEqual(7_000, self.waiting)
        self.assertEqual({(1, (None, "MPI_Send")): (7_000, 7_000)}, found)

    def test_two_that_wait_for_one_another_end(self) -> None:
        """A message from the future, by the clocks, is no reason to go round for ever."""
        found = self.causes([
            [(1_000, 4_000, "MPI_Recv", receive(1)), (5_000, 5_100, "MPI_Send", send(1))],
            [(1_000, 5_500, "MPI_Recv", receive(0)), (6_000, 6_100, "MPI_Send", send(0))]])
        self.assertLessEqual(self.unexplained, self.waiting)
        self.assertTrue(all(cost >= 0 for cost, _ in found.values()))

    def test_as_text_and_as_a_table(self) -> None:
        archive = self.write([[(10_000, 10_100, "MPI_Send", send(1))], [(2_000, 10_500, "MPI_Recv", receive(0))]])
        text = self.refrain(archive, "--causes")
        self.assertIn("causes of 8.00 us of waiting", text)
        self.assertIn("rank 0: computation between the begin and main > MPI_Send", text)
        rows = list(csv.DictReader(io.StringIO(self.refrain(archive, "--causes", "--format", "csv"))))
        self.assertEqual([("computation", "main;MPI_Send", "0")], [(r["kind"], r["before"], r["rank"]) for r in rows])
        self.assertNotIn("causes", self.refrain(archive))
        self.assertNotIn("causes", json.loads(self.refrain(archive, "--format", "json")))


if __name__ == "__main__":
    unittest.main()
