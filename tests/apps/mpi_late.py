"""Programs that load MPI late and for themselves (RTLD_LOCAL): under a launcher and alone, of both MPIs; those that take its
functions by handle; those whose calls Refrain cannot see."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import unittest

from refrain_testing import BUILD, FULL, MPIS, PROGRAMS, REFRAIN, Outcome, Report, TestCase, clean_environment, mpiexec

ROUNDS = 50
ONE_OR_BOTH = MPIS if FULL else MPIS[:1]
LIBRARIES = {"openmpi": ("libmpi.so.40", "libmpi_mpifh.so.40"), "mpich": ("libmpich.so.12", "libmpichfort.so.12")}


def plugin(kind: str, mpi: str) -> str:
    return str(PROGRAMS / f"mpi_late_{kind}_{mpi}.so")


@unittest.skipUnless(FULL, "the long form")
class Late(TestCase):
    def both(self, command: list[object], env: dict[str, str] | None = None) -> tuple[Outcome, Outcome]:
        plain = self.plain(command, env)
        self.assertEqual(0, plain.code, plain.stderr)
        outcome = self.measured(command, env)
        self.assert_same_result(plain, outcome)
        return plain, outcome

    def assert_traffic(self, report: Report, ranks: int, launched: bool) -> None:
        self.assert_time_conserved(report)
        self.assertEqual(ranks, report.data["experiment"]["ranks"])
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertEqual(ranks, len(report.locations))
        messages = ROUNDS if ranks == 2 else 0  # alone, they go nowhere
        of = lambda function, call, column: report.sum(
            column, lambda c: c["path"][-3:] == ["plugin_main", function, call])
        for call, column, truth in (("MPI_Send", "bytes_sent", 300 * messages),
                                    ("MPI_Recv", "bytes_received", 300 * messages)):
            self.assertEqual(truth, of("blocking", call, column), call)
        self.assertEqual([ranks * ROUNDS] * 3,
                         [of("nonblocking", call, "visits") for call in ("MPI_Irecv", "MPI_Send", "MPI_Wait")])
        self.assertEqual(600 * messages, of("nonblocking", "MPI_Irecv", "bytes_received"))
        self.assertEqual(600 * messages, of("nonblocking", "MPI_Wait", "bytes_completed"))
        self.assertGreater(report.below("compute", "samples"), 0)
        # Under a launcher a program that needs no MPI may lead to the one that does, and is measured from MPI_Init on.
        early = report.below("work_before", "samples")
        self.assertEqual(0, early) if launched else self.assertGreater(early, 5)

    def test_under_a_launcher(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                plugin = PROGRAMS / f"mpi_late_plugin_{mpi}.so"
                _, outcome = self.both(mpiexec(mpi, 2, PROGRAMS / "mpi_late", plugin, ROUNDS), {"LATE_WORK": "1"})
                self.assert_traffic(self.report(outcome), 2, launched=True)

    def test_alone(self) -> None:
        for mpi in MPIS:
            command = [PROGRAMS / "mpi_late", PROGRAMS / f"mpi_late_plugin_{mpi}.so", ROUNDS]
            with self.subTest(mpi=mpi):
                env = {"LATE_WORK": "0.5"}
                plain, outcome = self.both(command, env)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                if mpi == MPIS[0]:  # what is expected when nothing tells which MPI it will be
                    self.assert_traffic(report, 1, launched=False)
                else:  # let through: sampled as ever, its calls not recorded, which is said
                    self.assertIn("is not the one that librefrain-openmpi.so is for", outcome.stderr)
                    self.assertGreater(report.below("compute", "samples"), 0)
                    self.assertEqual(0, report.of_function("MPI_Send", "visits"))
                told = self.measured(command, env, options=["--library", mpi])
                self.assert_same_result(plain, told)
                self.assert_traffic(self.report(told), 1, launched=False)


class Events(TestCase):
    """What is known of messages in a program that was not measured before MPI_Init."""

    def test_waiting_is_that_of_the_programs_clock(self) -> None:
        for mpi in ONE_OR_BOTH:
            with self.subTest(mpi=mpi):
                outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / "mpi_late", plugin("wait", mpi)))
                self.assertEqual(0, outcome.code, outcome.stderr)
                waited = {rank: float(seconds) for rank, seconds in re.findall(r"rank (\d) waited (\S+)", outcome.stderr)}
                self.assertGreater(waited["0"], 0.25)
                report = self.report(outcome)
                self.assertEqual(2, report.of_function("MPI_Init_thread", "visits"))
                barriers = [c for c in report.callpaths if c["path"][-1] == "MPI_Barrier"]
                found = sum(c.get("wait_s") or 0 for c in barriers)
                self.assertLess(0.5 * waited["0"], found, "the rest is no waiting where ranks share cores")
                self.assertLess(found, waited["0"] + waited["1"])

    def test_messages_of_a_thread_that_is_not_measured(self) -> None:
        """It was there before. Of all that comes after its first message nobody knows which send and which receive are one."""
        for mpi in ONE_OR_BOTH:
            with self.subTest(mpi=mpi):
                command = mpiexec(mpi, 2, PROGRAMS / "mpi_late", plugin("thread", mpi))
                plain = self.plain(command, {"LATE_THREAD": "1"})
                outcome = self.measured(command, {"LATE_THREAD": "1", "REFRAIN_TRACE": "all"})
                self.assert_same_result(plain, outcome)
                self.assertEqual(1, self.report(outcome).losses()["thread_unmeasured"], "that of rank 0")
                done = subprocess.run([REFRAIN, "events", outcome.experiment, "--format", "csv"], capture_output=True,
                                      text=True, env=clean_environment(), timeout=60)
                received = [e for e in csv.DictReader(io.StringIO(done.stdout)) if e["event"] == "receive"]
                self.assertEqual([True] * 50 + [False] * 60, [e["sent_s"] != "" for e in received])


class BeforeMpi(TestCase):
    """A process that was measured for a while, with snapshots, before it initializes MPI: one experiment, with all of it."""

    def check(self, outcome: Outcome, ranks: int) -> None:
        self.assertEqual(0, outcome.code, outcome.stderr)
        experiments = [path for path in self.directory.iterdir() if path.is_dir()]
        self.assertEqual(1, len(experiments), experiments)
        outcome.experiment = experiments[0]
        report = self.report(outcome, "--iterations", "--clusters")
        self.assertEqual((ranks, "complete"), (report.data["experiment"]["ranks"], report.data["experiment"]["state"]))
        (loop,) = report.data["loops"]
        self.assertEqual([300] * ranks, [len(of["wall_s"]) for of in loop["per_location"]])
        self.assertEqual([], sorted(path.name for path in experiments[0].iterdir() if path.name.startswith(("part", "iter"))))
        self.assertEqual(ranks, self.report(outcome).of_function("MPI_Init", "visits"))

    ENV = {"LATE_WORK": "1.6", "LATE_ITERATIONS": "300", "REFRAIN_SNAPSHOT": "1"}

    def test_alone(self) -> None:
        command = [PROGRAMS / "mpi_late", plugin("plugin", MPIS[0]), ROUNDS]
        outcome = self.measured(command, self.ENV)
        self.check(outcome, 1)
        self.assertIn(f"results in {outcome.experiment.name};", outcome.last_line)

    def test_of_all_ranks(self) -> None:
        """The runtime is preloaded by hand, so that these processes are measured from their start."""
        for mpi in ONE_OR_BOTH:
            runtime = next(BUILD.rglob(f"librefrain-{mpi}.so"))
            for name in ({"REFRAIN_EXPERIMENT_DIRECTORY": "experiment"}, {}) if FULL else ({},):
                with self.subTest(mpi=mpi, name=name):
                    self.setUp()
                    command = mpiexec(mpi, 2, "env", f"LD_PRELOAD={runtime}", PROGRAMS / "mpi_late", plugin("plugin", mpi), ROUNDS)
                    outcome = self.plain(command, self.ENV | name)
                    self.check(outcome, 2)


class ByHandle(TestCase):
    def test_calls_are_recorded_and_the_program_sees_no_difference(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                command = mpiexec(mpi, 2, PROGRAMS / f"mpi_by_handle_{mpi}", LIBRARIES[mpi][0], PROGRAMS / "mpi_other_object.so",
                                  LIBRARIES[mpi][1])
                plain = self.plain(command)
                self.assertEqual(b"sum 2, nonsense not there (said), quiet 1, again not there 1, version not there, other 4711, Fortran 0\n",
                                 plain.stdout, plain.stderr)
                outcome = self.measured(command)
                self.assert_same_result(plain, outcome)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                visits = {"MPI_Init": 2, "MPI_Allreduce": 642, "MPI_Sendrecv": 642, "MPI_Comm_rank": 12,
                          "MPI_Finalize": 2}
                self.assertEqual(visits, {name: report.of_function(name, "visits") for name in visits})
                self.assertEqual(sum(visits.values()), report.totals["mpi_calls"], "PMPI_Allreduce by handle is MPI's own")


class PastUs(TestCase):
    def test_calls_that_cannot_be_seen_are_said(self) -> None:
        # Open MPI ends itself in a namespace of its own (glibc 2.36).
        cases = [("openmpi", "deepbind"), ("mpich", "dlmopen"), ("mpich", "deepbind")]
        for mpi, flags in cases if FULL else cases[:2]:
            if mpi in MPIS:
                with self.subTest(mpi=mpi, flags=flags):
                    command = mpiexec(mpi, 2, PROGRAMS / "mpi_late", plugin("plugin", mpi), ROUNDS)
                    plain = self.plain(command, {"LATE_FLAGS": flags})
                    self.assertEqual(0, plain.code, plain.stderr)
                    outcome = self.measured(command, {"LATE_FLAGS": flags})
                    self.assert_same_result(plain, outcome)
                    lines = [line for line in outcome.whole_stderr.splitlines() if line.startswith("refrain:")]
                    self.assertEqual(1, len(lines), outcome.whole_stderr)
                    self.assertIn("MPI was called past Refrain", lines[0])


class OlderMpi(TestCase):
    @unittest.skipUnless("mpich" in MPIS, "needs the interface of MPICH")
    def test_a_library_without_the_functions_of_mpi_4(self) -> None:
        outcome = self.measured([PROGRAMS / "mpi_stub_program"])
        self.assertEqual(0, outcome.code, outcome.stderr)
        report = self.report(outcome)
        self.assertEqual("a stub of MPICH 3", report.data["experiment"]["mpi_library"])
        self.assertEqual((100, 2400), (report.of_function("MPI_Allreduce", "visits"),
                                       report.of_function("MPI_Allreduce", "bytes_sent")))


class Never(TestCase):
    def test_a_program_that_never_initializes_mpi(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome = self.measured([PROGRAMS / f"mpi_uninitialized_{mpi}"])
                self.assertEqual(0, outcome.code, outcome.stderr)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                self.assertEqual((3, 1), (report.of_function("MPI_Initialized", "visits"),
                                          report.of_function("MPI_Get_version", "visits")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
