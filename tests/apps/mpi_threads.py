"""MPI_THREAD_MULTIPLE: eight threads a rank, wildcards, matched probes, requests that another thread completes: every
send matches its receive in the counts, and results are unchanged."""

from __future__ import annotations

import unittest

from refrain_testing import FULL, MPIS, PROGRAMS, TestCase, mpiexec

THREADS = 8
ROUNDS = 1000 if FULL else 100


def size_of(thread: int, round: int) -> int:
    return 1 + (thread * 131 + round * 17) % 1023


MESSAGES = 2 * THREADS * ROUNDS  # of each phase
BYTES = 2 * sum(size_of(thread, i) for thread in range(THREADS) for i in range(ROUNDS))


class Threads(TestCase):
    def test_every_send_matches_its_receive(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                command = mpiexec(mpi, 2, PROGRAMS / f"mpi_threads_{mpi}", THREADS, ROUNDS)
                plain = self.plain(command)
                self.assertEqual(0, plain.code, plain.stderr)
                outcome = self.measured(command)
                self.assert_same_result(plain, outcome)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                self.assertEqual({}, {k: n for k, n in report.losses().items() if not k.startswith("tick_")})
                of = lambda phase, column, *calls: report.sum(
                    column, lambda c: phase in c["path"] and (not calls or c["path"][-1] in calls))
                for phase in ("wildcards", "matched", "handed_over", "at_once"):
                    for column, truth in (("messages_sent", MESSAGES), ("bytes_sent", BYTES),
                                          ("messages_received", MESSAGES), ("bytes_received", BYTES)):
                        self.assertEqual(truth, of(phase, column), f"{phase}: {column}")
                # Where a receive was posted it is received; where it was completed it is completed.
                self.assertEqual(BYTES, of("wildcards", "bytes_received", "MPI_Recv"))
                self.assertEqual(BYTES, of("matched", "bytes_received", "MPI_Mrecv", "MPI_Imrecv"))
                self.assertEqual((MESSAGES, BYTES), (of("handed_over", "messages_received", "MPI_Irecv"),
                                                     of("handed_over", "bytes_received", "MPI_Irecv")))
                self.assertEqual((MESSAGES, BYTES), (of("handed_over", "messages_completed", "MPI_Wait"),
                                                     of("handed_over", "bytes_completed", "MPI_Wait")))
                self.assertEqual((MESSAGES, BYTES), (of("at_once", "messages_received", "MPI_Irecv"),
                                                     of("at_once", "bytes_received", "MPI_Irecv")))
                self.assertEqual(BYTES, of("at_once", "bytes_completed", "MPI_Waitall", "MPI_Waitany", "MPI_Testsome"))
                self.assertEqual(MESSAGES, of("wildcards", "visits", "MPI_Recv"))
                # Of one window and many threads no operation is lost.
                puts, put_bytes = 50 * ROUNDS * THREADS, 50 * ROUNDS * sum(range(1, THREADS + 1))
                self.assertEqual([[{"target": target, "world_rank": target, "puts": puts, "bytes_put": put_bytes, "gets": 0,
                                    "bytes_got": 0} for target in (0, 1)]] * 2,
                                 [window["targets"] for window in report.data["windows"]])
                self.assertEqual(4 * put_bytes, of("one_sided", "bytes_sent"))
                made = [c["made"] for c in report.data["communicators"] if c["parent"] > 1]
                self.assertEqual(2 * THREADS * (ROUNDS // 5), sum(made))
                self.assertEqual(MESSAGES, of("matched", "visits", "MPI_Mrecv", "MPI_Imrecv"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
