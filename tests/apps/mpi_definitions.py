"""Communicators and windows: one-sided operations by window and target, and what a run that makes them for ever keeps."""

from __future__ import annotations

import csv
import io
import json
import unittest
from typing import Any

from mpi_checks import identities
from refrain_testing import FULL, MPIS, PROGRAMS, REFRAIN, Outcome, TestCase, mpiexec


def traffic(own: int, target: int, factor: int, times: int = 1) -> dict[str, int]:
    """What use() of mpi_windows.c does `times` times."""
    n = factor * (10 * own + target + 1)
    # MPI_Put, MPI_Accumulate, MPI_Fetch_and_op; MPI_Get twice, MPI_Get_accumulate, MPI_Fetch_and_op.
    return {"target": target, "puts": 3 * times, "bytes_put": 8 * (n + 3 + 1) * times,
            "gets": 4 * times, "bytes_got": 8 * (3 * n + 5 + 1) * times}


class Windows(TestCase):
    def test_every_window_and_target(self) -> None:
        for mpi in MPIS:
            for ranks in (2, 3):
                with self.subTest(mpi=mpi, ranks=ranks):
                    command = mpiexec(mpi, ranks, PROGRAMS / f"mpi_windows_{mpi}")
                    plain, outcome = self.plain(command), self.measured(command)
                    self.assert_same_result(plain, outcome)
                    report = self.report(outcome)
                    self.assertEqual({}, report.losses_of_calls())
                    self.check(report.data, ranks)
                    self.check_views(outcome, report.data)
                    # The same bytes as by call path.
                    paths = [c for c in report.callpaths if c["kind"] == "mpi" and "use" in c["path"]]
                    for column, of_windows in (("bytes_sent", "bytes_put"), ("bytes_received", "bytes_got")):
                        self.assertEqual(sum(c[column] for c in paths),
                                         sum(t[of_windows] for w in report.data["windows"] for t in w["targets"]))

    def check_views(self, outcome: Outcome, data: dict[str, Any]) -> None:
        """The table has every pair once, and the text the sums."""
        def of(*options: str) -> str:
            done = self.plain([REFRAIN, "report", outcome.experiment, "--windows", *options])
            self.assertEqual((0, ""), (done.code, done.stderr))
            return done.stdout.decode()

        truth = [(str(w["window"]), w["kind"], w["name"], "1", str(w["on_rank"]), str(t["world_rank"]),
                  *(str(t[column]) for column in ("puts", "bytes_put", "gets", "bytes_got")))
                 for w in data["windows"] for t in w["targets"]]
        rows = list(csv.reader(io.StringIO(of("--format", "csv"))))
        self.assertEqual(sorted(truth), sorted((row[0], *row[2:]) for row in rows[1:]))
        self.assertEqual({"MPI_COMM_WORLD", "MPI_COMM_WORLD/0"}, {row[1] for row in rows[1:]})
        one = list(csv.reader(io.StringIO(of("--format", "csv", "--rank", "1"))))
        self.assertEqual([row for row in rows if row[5] in ("origin", "1")], one)
        text = of()
        self.assertEqual(4, text.count("Window of MPI_COMM_WORLD, "))
        self.assertIn("Window turned of MPI_COMM_WORLD/0, created\n", text)
        turned = [row for row in rows[1:] if row[3] == "turned"]
        puts, gets = (str(sum(int(row[i]) for row in turned)) for i in (7, 9))
        self.assertRegex(text, rf"(?s)turned.*?\n +all +{puts} .*? {gets} .*? 100.0\n")

    def check(self, data: dict[str, Any], ranks: int) -> None:
        windows = {(w["on_rank"], w["id"]): w for w in data["windows"]}
        self.assertEqual({(rank, i) for rank in range(ranks) for i in range(5)}, set(windows))
        communicators = {(c["on_rank"], c["id"]): c for c in data["communicators"]}
        for rank in range(ranks):
            turned = ranks - 1 - rank
            # By window: own rank, factor, times; kind; name.
            truth = [(rank, 1, 2, "created", ""), (turned, 3, 1, "created", "turned"),
                     *((rank, 1 + i, 1, "allocated", "") for i in range(3))]
            for i, (own, factor, times, kind, name) in enumerate(truth):
                window = windows[rank, i]
                self.assertEqual((kind, name), (window["kind"], window["name"]))
                self.assertEqual(i, window["window"], "one number for all ranks")
                self.assertEqual([traffic(own, target, factor, times) | {"world_rank": ranks - 1 - target if i == 1 else target}
                                  for target in range(ranks) if target != own], window["targets"])
                self.assertEqual(own, communicators[rank, window["communicator"]]["rank"])


class ForEver(TestCase):
    """A run that makes communicators and windows round after round keeps few definitions of them, and every rank the same."""

    ROUNDS = 20_000 if FULL else 400
    RANKS = {"openmpi": 3 if FULL else 2, "mpich": 2}  # more ranks than cores wait for each other at every call

    def test_definitions_stay_few(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                outcome = self.measured(mpiexec(mpi, self.RANKS[mpi], PROGRAMS / f"mpi_for_ever_{mpi}", self.ROUNDS),
                                        timeout=1800 if FULL else 300)
                self.assertEqual(0, outcome.code, outcome.stderr)
                report = self.report(outcome)
                self.assertEqual({}, report.losses_of_calls())
                seen: dict[tuple[Any, ...], list[tuple[int, ...]]] = {}
                for rank in range(self.RANKS[mpi]):
                    self.check([c for c in report.data["communicators"] if c["on_rank"] == rank],
                               [w for w in report.data["windows"] if w["on_rank"] == rank], self.RANKS[mpi], seen)
                for identity, of_ranks in seen.items():
                    self.assertEqual(1, len(set(of_ranks)), f"{identity}: {of_ranks}")
                    self.assertEqual(of_ranks[0][1], len(of_ranks), "every member has it")

    def test_with_iterations_metrics_and_events(self) -> None:
        """A rank with nearly every kind of section is written, and all of it is read back."""
        rounds = 400
        for mpi in MPIS:
            with self.subTest(mpi):
                outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"mpi_for_ever_{mpi}", rounds),
                                        {"REFRAIN_ITERATION_AT": "MPI_Win_create", "REFRAIN_METRICS": "ru_minflt,ru_nvcsw"}, timeout=300)
                self.assertEqual(0, outcome.code, outcome.stderr)
                report = self.report(outcome)
                self.assertEqual({"ru_minflt", "ru_nvcsw"}, set(report.totals["metrics"]))
                for rank in range(2):
                    self.assertEqual(rounds, sum(w["made"] for w in report.data["windows"] if w["on_rank"] == rank))
                    self.assertLess(rounds, sum(c["made"] for c in report.data["communicators"] if c["on_rank"] == rank))
                events = self.plain([REFRAIN, "report", outcome.experiment, "--events", "--format", "json"])
                self.assertTrue(all(r["events"] > 10 * rounds for r in json.loads(events.stdout)["events"]["by_rank"]))
                done = self.plain([REFRAIN, "report", outcome.experiment, "--iterations", "--format", "json"])
                loops = json.loads(done.stdout)["loops"]
                self.assertEqual([rounds - 1] * 2, [len(l["mpi_calls"]) for l in loops[0]["per_location"]])

    def check(self, own: list[dict[str, Any]], windows: list[dict[str, Any]], ranks: int,
              seen: dict[tuple[Any, ...], list[tuple[int, ...]]]) -> None:
        rank = own[0]["on_rank"]
        known = identities(rank, own)
        for c in own:
            seen.setdefault(known[c["id"]], []).append((c["made"], c["size"] + c["remote_size"]))
        stays = next(c["id"] for c in own if c["parent"] == 0 and c["ordinal"] == 0)
        children = [c for c in own if c["parent"] == stays]
        of_world = [c["id"] for c in own if c["parent"] == 0 and c["ordinal"] > 0]
        two_sides = of_world.pop(0)
        self.assertEqual(ranks - 1, len([c for c in own if c["parent"] == two_sides]))
        inter = [c["id"] for c in own if c["parent"] < 0 and c["remote_size"]]
        self.assertEqual((ranks - 1, 2 * (ranks - 1)), (len(inter), len([c for c in own if c["parent"] in inter])))
        self.assertEqual(1, own[stays]["made"], "what lives long keeps its record")
        # Of the children, those that held all are from MPI_Comm_idup.
        for made, few in (([c for c in children if c["ordinal"] >= 0 and c["size"] < ranks], ranks * 256),
                          ([c for c in children if c["ordinal"] >= 0 and c["size"] == ranks], 256), ([c for c in children if c["ordinal"] < 0], 16 * 3),
                          ([own[i] for i in of_world], 256), ([c for c in own if c["parent"] in of_world], 256), (windows, 64)):
            self.assertEqual(self.ROUNDS, sum(c["made"] for c in made))
            self.assertLessEqual(len(made), few)
        self.assertEqual({stays}, {w["communicator"] for w in windows})
        following = (rank + 1) % ranks
        self.assertEqual([{"target": following, "world_rank": following, "puts": w["made"], "bytes_put": 8 * w["made"], "gets": 0,
                           "bytes_got": 0} for w in windows], [t for w in windows for t in w["targets"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
