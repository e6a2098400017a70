"""Another PMPI tool before and after Refrain, linked or preloaded: both get all calls, results are unchanged, and
`refrain doctor` names it."""

from __future__ import annotations

import unittest
from pathlib import Path

from refrain_testing import BUILD, MPIS, PROGRAMS, REFRAIN, Outcome, Report, TestCase, mpiexec

ROUNDS = 20
# Of both ranks.
VISITS = {"MPI_Init": 2, "MPI_Finalize": 2, "MPI_Send": 4 * ROUNDS, "MPI_Recv": 2 * ROUNDS, "MPI_Irecv": 2 * ROUNDS,
          "MPI_Wait": 2 * ROUNDS, "MPI_Allreduce": 2}
BYTES_SENT = {"blocking": 300 * ROUNDS, "nonblocking": 600 * ROUNDS}
OTHERS = {"MPI_Comm_rank": 2, "MPI_Comm_size": 2, "MPI_Type_size": 0}  # the tool asks for all of these


class Stacking(TestCase):
    def files(self) -> dict[str, str]:
        return {"TOOL_FILE": str(self.directory / "tool")}

    def seen_by_tool(self) -> dict[str, int]:
        """Sums over the processes; forgets them."""
        visits: dict[str, int] = {}
        for path in self.directory.glob("tool.*"):
            for line in path.read_text().splitlines():
                name, count = line.split()
                visits[name] = visits.get(name, 0) + int(count)
            path.unlink()
        return {name: count for name, count in visits.items() if count}

    def by_hand(self, command: list[str], **env: str) -> Outcome:
        """Without `refrain run`, where Refrain is in the program or preloaded behind something else."""
        self._runs += 1
        experiment = self.directory / f"experiment-{self._runs}"
        outcome = self.plain(command, {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)} | self.files() | env)
        outcome.experiment = experiment
        return outcome

    def assert_all_seen(self, plain: Outcome, outcome: Outcome) -> Report:
        self.assert_same_result(plain, outcome)
        self.assertEqual(VISITS, self.seen_by_tool(), "the tool's counts")
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual("complete", report.data["experiment"]["state"])
        truth = VISITS | OTHERS
        self.assertEqual(truth, {name: report.sum("visits", lambda c: c["kind"] == "mpi" and c["path"][-1] == name)
                                 for name in truth})
        self.assertEqual(sum(truth.values()), report.totals["mpi_calls"])
        for function, sent in BYTES_SENT.items():
            self.assertEqual(sent, report.below(function, "bytes_sent"), function)
        return report

    def test_linked_and_preloaded_on_both_sides(self) -> None:
        for mpi in MPIS:
            program, with_tool = PROGRAMS / f"mpi_traffic_{mpi}", PROGRAMS / f"mpi_traffic_tool_{mpi}"
            tool = PROGRAMS / f"libmpi_tool_{mpi}.so"
            runtime = next(BUILD.rglob(f"librefrain-{mpi}.so"))
            plain = self.plain(mpiexec(mpi, 2, program, ROUNDS))
            self.assertEqual(0, plain.code, plain.stderr)
            with self.subTest(mpi=mpi, tool="linked, behind"):
                self.assert_all_seen(plain, self.measured(mpiexec(mpi, 2, with_tool, ROUNDS), self.files()))
            with self.subTest(mpi=mpi, tool="preloaded, behind"):
                preloaded = self.files() | {"LD_PRELOAD": str(tool)}
                self.assert_all_seen(plain, self.measured(mpiexec(mpi, 2, program, ROUNDS), preloaded))
            with self.subTest(mpi=mpi, tool="preloaded, in front"):
                preloaded = mpiexec(mpi, 2, "env", f"LD_PRELOAD={tool}:{runtime}", program, ROUNDS)
                self.assert_all_seen(plain, self.by_hand(preloaded))
            with self.subTest(mpi=mpi, tool="linked, in front of Refrain, which is linked too"):
                both = PROGRAMS / f"mpi_traffic_tool_refrain_{mpi}"
                self.assert_all_seen(plain, self.by_hand(mpiexec(mpi, 2, both, ROUNDS)))
            with self.subTest(mpi=mpi, tool="in the program itself"):
                own = PROGRAMS / f"mpi_traffic_own_tool_{mpi}"
                self.assert_all_seen(plain, self.measured(mpiexec(mpi, 2, own, ROUNDS), self.files()))

    def test_a_tool_that_wants_one_function_only(self) -> None:
        for mpi in MPIS:
            program, tool = PROGRAMS / f"mpi_traffic_{mpi}", PROGRAMS / f"libmpi_tool_init_{mpi}.so"
            runtime = next(BUILD.rglob(f"librefrain-{mpi}.so"))
            for preload in (f"{tool}:{runtime}", f"{runtime}:{tool}"):
                with self.subTest(mpi=mpi, preload=preload):
                    outcome = self.by_hand(mpiexec(mpi, 2, "env", f"LD_PRELOAD={preload}", program, ROUNDS))
                    self.assertEqual(0, outcome.code, outcome.stderr)
                    self.assertEqual({"MPI_Init": 2}, self.seen_by_tool())
                    report = self.report(outcome)
                    self.assertEqual(VISITS, {name: report.of_function(name, "visits") for name in VISITS})

    def test_a_tool_that_asks_the_library(self) -> None:
        """Were it to get Refrain's wrapper, each would call the other for ever."""
        for mpi in MPIS:
            program, tool = PROGRAMS / f"mpi_traffic_{mpi}", PROGRAMS / f"libmpi_tool_handle_{mpi}.so"
            runtime = next(BUILD.rglob(f"librefrain-{mpi}.so"))
            for preload in (f"{tool}:{runtime}", f"{runtime}:{tool}"):
                with self.subTest(mpi=mpi, preload=preload):
                    outcome = self.by_hand(mpiexec(mpi, 2, "env", f"LD_PRELOAD={preload}", program, ROUNDS))
                    self.assertEqual(0, outcome.code, outcome.stderr)
                    self.assertEqual({"MPI_Allreduce": 2}, self.seen_by_tool())
                    report = self.report(outcome)
                    self.assertEqual(VISITS, {name: report.of_function(name, "visits") for name in VISITS})

    def test_a_tool_for_fortran(self) -> None:
        for mpi in MPIS:
            program = PROGRAMS / f"mpi_traffic_fortran_{mpi}"
            if not program.exists():
                self.fail(f"there is no {program}")
            tool = PROGRAMS / f"libmpi_tool_fortran_{mpi}.so"
            runtime = next(BUILD.rglob(f"librefrain-{mpi}.so"))
            for preload in (f"{tool}:{runtime}", f"{runtime}:{tool}"):
                with self.subTest(mpi=mpi, preload=preload):
                    outcome = self.by_hand(mpiexec(mpi, 2, "env", f"LD_PRELOAD={preload}", program))
                    self.assertEqual(0, outcome.code, outcome.stderr)
                    self.assertEqual({"MPI_Send": 10, "MPI_Recv": 10}, self.seen_by_tool())
                    report = self.report(outcome)
                    self.assertEqual((10, 1000, 10, 1000),
                                     (report.of_function("MPI_Send", "visits"), report.of_function("MPI_Send", "bytes_sent"),
                                      report.of_function("MPI_Recv", "visits"),
                                      report.of_function("MPI_Recv", "bytes_received")))

    def doctor(self, program: Path, preload: str = "") -> str:
        command = [REFRAIN, "doctor", program]
        if preload:
            command = ["env", f"LD_PRELOAD={preload}", *command]
        outcome = self.plain(command)
        self.assertEqual(0, outcome.code, outcome.stdout)
        return outcome.stdout.decode()

    def test_doctor_names_the_tool(self) -> None:
        for mpi in MPIS:
            program = PROGRAMS / f"mpi_traffic_{mpi}"
            with self.subTest(mpi=mpi):
                self.assertNotIn("intercepts MPI calls", self.doctor(program))
                text = self.doctor(PROGRAMS / f"mpi_traffic_tool_{mpi}")
                self.assertIn(f"libmpi_tool_{mpi}.so intercepts MPI calls too (MPI_Allreduce, MPI_Finalize, MPI_Init and 5 others)",
                              text)
                self.assertIn("the program itself intercepts MPI calls (MPI_Allreduce,",
                              self.doctor(PROGRAMS / f"mpi_traffic_own_tool_{mpi}"))
                for kind, names in (("init", "MPI_Init"), ("fortran", "mpi_recv_, mpi_send_")):
                    tool = PROGRAMS / f"libmpi_tool_{kind}_{mpi}.so"
                    self.assertIn(f"{tool} intercepts MPI calls too ({names})", self.doctor(program, str(tool)))
                both = self.doctor(PROGRAMS / f"mpi_traffic_tool_refrain_{mpi}")
                self.assertIn("Refrain is linked into it", both)
                self.assertIn(f"libmpi_tool_{mpi}.so intercepts", both)


if __name__ == "__main__":
    unittest.main(verbosity=2)
