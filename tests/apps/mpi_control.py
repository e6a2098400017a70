"""MPI_Pcontrol: what the program stops is not recorded, all time is still accounted for, and requests stay right."""

from __future__ import annotations

import unittest

from refrain_testing import MPIS, PROGRAMS, Outcome, Report, TestCase, mpiexec

OFF = "(measurement off)"


def names_like(report: Report, ending: str) -> set[str]:
    """Functions on any call path whose name ends so."""
    return {name for c in report.callpaths for name in c["path"] if name.endswith(ending)}


class Control(TestCase):
    def run_mode(self, mpi: str, *arguments: object, env: dict[str, str] | None = None) -> tuple[Outcome, Report]:
        command = mpiexec(mpi, 2, PROGRAMS / f"mpi_control_{mpi}", *arguments)
        outcome = self.measured(command, {"REFRAIN_SAMPLING_FREQUENCY": "250"} | (env or {}))
        self.assertEqual(0, outcome.code, outcome.stderr)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertEqual(set(), names_like(report, "_off"), "something was recorded while the measurement was stopped")
        for location in [report.totals, *report.locations]:
            parts = [location[part] for part in ("mpi_s", "user_s", "overhead_s", "measurement_off_s")]
            self.assertAlmostEqual(location["wall_s"], sum(parts), delta=1e-6 * location["wall_s"])
        self.assertAlmostEqual(report.totals["measurement_off_s"], report.special(OFF), delta=1e-9)
        return outcome, report

    def assert_calls(self, report: Report, truth: dict[tuple[str, ...], dict[str, int]]) -> None:
        """Counts of the call paths that end so."""
        for ending, columns in truth.items():
            of = [c for c in report.callpaths if tuple(c["path"][-len(ending):]) == ending]
            got = {column: sum(c[column] for c in of) for column in columns}
            self.assertEqual(columns, got, "/".join(ending))

    def assert_off(self, outcome: Outcome, rank: int, stopped: list[float]) -> None:
        """All threads stop within one of the two calls and resume within the other."""
        (truth,) = [line for line in outcome.json_lines() if line["rank"] == rank]
        self.assertGreaterEqual(min(stopped), truth["least_s"] - 1e-5)
        self.assertLessEqual(max(stopped), truth["most_s"] + 1e-5)

    def test_time_and_calls(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome, report = self.run_mode(mpi, "times")
                self.assert_calls(report, {
                    ("swap_on", "swap", "MPI_Sendrecv"): {"visits": 10, "messages_sent": 10, "bytes_sent": 1000,
                                                  "messages_received": 10, "bytes_received": 1000},
                    ("MPI_Sendrecv",): {"visits": 10},
                    ("MPI_Barrier",): {"visits": 0},
                    ("MPI_Pcontrol",): {"visits": 4},  # the one that stops, and the last, on each rank
                })
                for location in report.locations:
                    self.assert_off(outcome, location["rank"], [location["measurement_off_s"]])
                self.assertNotIn("tick_late", report.losses())
                for part in ("first", "second"):  # ticks go on after the stop
                    self.assertGreater(report.below(f"spin_{part}", "samples"), 0)
                self.assertEqual(0, report.special("(MPI without call path)"))

    def test_requests_across_a_stop(self) -> None:
        rounds = 30
        both = 2 * rounds
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                _, report = self.run_mode(mpi, "requests", rounds)
                exchanged = 2 * 50 * 8
                self.assert_calls(report, {
                    ("send_on", "MPI_Send"): {"visits": 3 * both, "bytes_sent": both * (20 + 30 + 40)},
                    # Of two receives a round, one is completed while nothing is recorded.
                    ("post_on", "MPI_Irecv"): {"visits": 2 * both, "messages_received": both,
                                               "bytes_received": 20 * both, "messages_completed": 0},
                    ("prepare_on", "MPI_Recv_init"): {"visits": 2, "messages_received": 0},
                    # Of two starts a round, the one that is recorded is completed while nothing is.
                    ("MPI_Start",): {"visits": both, "messages_received": 0, "bytes_received": 0},
                    # One that was posted meanwhile is known where it is completed, and nowhere else.
                    ("wait_on", "MPI_Wait"): {"visits": 3 * both, "messages_received": 0, "messages_completed": 3 * both,
                                              "bytes_completed": (20 + 30 + 40) * both},
                    ("exchange_on", "MPI_Irecv"): {"visits": exchanged, "messages_received": exchanged,
                                                   "bytes_received": 8 * exchanged},
                    ("exchange_on", "MPI_Isend"): {"messages_sent": exchanged, "bytes_sent": 8 * exchanged,
                                                   "messages_received": 0},
                    ("exchange_on", "MPI_Waitall"): {"visits": 100, "messages_completed": exchanged,
                                                     "bytes_completed": 8 * exchanged},
                })
                self.assertEqual({}, report.losses_of_calls())

    def test_iterations_of_which_nothing_was_measured_have_no_cluster(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome, report = self.run_mode(mpi, "iterations")
                loop = self.report(outcome, "--iterations").data["loops"][0]
                self.assertEqual(20, loop["iterations"])
                stopped = range(5, 9)
                for location in loop["per_location"]:
                    self.assertEqual(list(stopped), [i for i, k in enumerate(location["cluster_of"]) if k < 0])
                    calls = [0 if i in stopped else 2 for i in range(20)]
                    self.assertEqual(calls, location["mpi_calls"])  # the twelfth: one exchange and one MPI_Pcontrol
                    walls = location["wall_s"]
                    self.assertEqual([0] * 4, [walls[i] for i in stopped])
                    self.assertGreaterEqual(min(w for i, w in enumerate(walls) if i not in stopped), 0.005)
                    self.assertLess(walls[12], 0.2, "the stopped part is not in the iteration")
                for location in report.locations:
                    self.assertGreater(location["measurement_off_s"], 4 * 0.005 + 0.2)
                    self.assertGreater(location["wall_s"], 20 * 0.005 + 0.2)

    def test_iterations_begun_while_stopped(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome, report = self.run_mode(mpi, "warm_up")
                (loop,) = self.report(outcome, "--iterations").data["loops"]
                for location in loop["per_location"]:
                    self.assertEqual([0] * 4 + [1] * 6, location["mpi_calls"])
                    self.assertEqual([0] * 4, location["wall_s"][:4])
                for rank in (0, 1):
                    self.assert_off(outcome, rank, [l["measurement_off_s"] for l in report.locations if l["rank"] == rank])
                self.assertEqual(report.totals["mpi_calls"], sum(c["visits"] for c in report.callpaths))
                phase = [c["region"] for c in report.callpaths if c["path"][-1] == "phase"]
                self.assertEqual(2 * 6, sum(region["visits"] for region in phase))
                self.assertGreaterEqual(sum(region["wall_s"] for region in phase), 2 * 6 * 0.02)
                off = sum(l["measurement_off_s"] for l in report.locations)
                self.assertLess(sum(region["wall_s"] for region in phase), report.totals["wall_s"] - off - 2 * 0.3)

    def test_metrics_of_a_stop_are_left_out(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome, _ = self.run_mode(mpi, "faults", env={"REFRAIN_METRICS": "ru_minflt"})
                (loop,) = self.report(outcome, "--iterations", "--metric", "ru_minflt").data["loops"]
                for location in loop["per_location"]:
                    extra = [got - truth for got, truth in zip(location["ru_minflt"], [500, 500, 500, 1500, 500, 500])]
                    self.assertGreaterEqual(min(extra), 0, "the program's own pages")
                    self.assertLess(max(extra), 400, "Refrain, MPI and the C library touch a page now and then")

    def test_all_threads_stop(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome, report = self.run_mode(mpi, "threads")
                for rank in (0, 1):
                    stopped = sorted(l["measurement_off_s"] for l in report.locations if l["rank"] == rank)
                    self.assertEqual(6, len(stopped))
                    self.assertGreaterEqual(stopped[0], 0.1)  # two threads ended, one of them began, in between
                    self.assert_off(outcome, rank, stopped[2:])
                self.assertEqual(0, report.below("live_inside", "visits") + report.below("live_inside", "samples"))
                self.assertGreater(report.below("compute", "samples"), 0)
                self.assert_calls(report, {
                    ("receive_over_both", "receive", "MPI_Recv"): {"visits": 2, "bytes_received": 20},
                    # It had begun before the stop, so it is counted.
                    ("receive_over_begin", "receive", "MPI_Recv"): {"visits": 2, "bytes_received": 22},
                    # It began while nothing was recorded.
                    ("receive_over_end", "receive", "MPI_Recv"): {"visits": 0, "bytes_received": 0},
                    ("swap_on", "swap", "MPI_Sendrecv"): {"visits": 2, "bytes_sent": 2},
                    ("deliver", "MPI_Send"): {"visits": 4, "bytes_sent": 44},
                })
                waited = [c for c in report.callpaths if c["path"][-3:] == ["receive_over_both", "receive", "MPI_Recv"]]
                recorded = sum(max(l["wall_s"] - l["measurement_off_s"] for l in report.locations if l["rank"] == rank)
                               for rank in (0, 1))
                seconds = sum(c["exclusive_s"] for c in waited)  # it does nothing else but spin for a while
                self.assertGreater(seconds, 2 * 0.2)
                self.assertLess(seconds, recorded)

    def test_a_program_that_ends_stopped_leaves_a_whole_experiment(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                _, report = self.run_mode(mpi, "ends_stopped")
                self.assert_calls(report, {("swap_on", "swap", "MPI_Sendrecv"): {"visits": 2, "bytes_sent": 20},
                                           ("MPI_Finalize",): {"visits": 0}})
                self.assertGreaterEqual(report.totals["measurement_off_s"], 0.2)

    def test_from_fortran(self) -> None:
        for mpi in MPIS:
            for interface in ("mpif_h", "use_mpi", "use_mpi_f08"):
                program = PROGRAMS / f"mpi_control_{interface}_{mpi}"
                if not program.exists():
                    self.fail(f"there is no {program}")
                with self.subTest(mpi=mpi, interface=interface):
                    outcome = self.measured(mpiexec(mpi, 2, program))
                    self.assertEqual(0, outcome.code, outcome.stderr)
                    report = self.report(outcome)
                    self.assert_time_conserved(report)
                    self.assert_calls(report, {("MPI_Sendrecv",): {"visits": 4, "bytes_sent": 600},
                                               ("MPI_Pcontrol",): {"visits": 2}})
                    self.assertGreater(report.totals["measurement_off_s"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
