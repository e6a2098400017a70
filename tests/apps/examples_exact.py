"""Every example and LAMMPS: time is conserved, MPI counts are those of an independent counter, output is unchanged."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import unittest

from refrain_testing import BUILD, EXAMPLES, FULL, PROGRAMS, Outcome, Report, TestCase, mpirun

POINT_TO_POINT = ("MPI_Send", "MPI_Rsend", "MPI_Isend", "MPI_Recv", "MPI_Sendrecv")
COMPLETING = re.compile(r"MPI_(Irecv|Wait|Test)")

MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 50
thermo_style custom step temp epair emol etotal press
thermo_modify norm no
run 300
"""


def sees_fortran() -> bool:
    """Whether the runtime wraps what MPI's Fortran libraries call."""
    library = next(BUILD.rglob("librefrain-openmpi.so"), None)
    if library is None:
        return False
    command = ["nm", "-D", "--defined-only", library]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return " PMPI_Init\n" in names  # Fortran libraries call by these names


class Exact(TestCase):
    def counted(self, ranks: int, *command: str) -> dict[str, dict[str, int]]:
        """Runs the program under the independent counter alone."""
        counts = self.directory / "counts.json"
        preload = f"LD_PRELOAD={PROGRAMS / 'libtruth_counter.so'}"
        outcome = self.plain(mpirun(ranks, "env", preload, *command), {"COUNTER_FILE": str(counts)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return json.loads(counts.read_text())

    def assert_counts(self, truth: dict[str, dict[str, int]], report: Report) -> None:
        got = {name: report.of_function(name, "visits") for name in truth}
        self.assertEqual({name: row["visits"] for name, row in truth.items()}, got, "visits")
        self.assertGreater(sum(got.values()), 0)
        for column in ("messages_sent", "bytes_sent", "messages_received", "bytes_received"):
            self.assertEqual({name: truth[name][column] for name in POINT_TO_POINT},
                             {name: report.of_function(name, column) for name in POINT_TO_POINT}, column)
        # Whether the bytes of a non-blocking receive are shown at its start or its completion is the report's choice.
        for column in ("messages_received", "bytes_received"):
            self.assertEqual(truth["MPI_Irecv"][column],
                             report.sum(column, lambda c: bool(c["path"]) and bool(COMPLETING.match(c["path"][-1]))),
                             f"{column} of non-blocking receives")

    def check(self, ranks: int, *command: str, env: dict[str, str] | None = None, locations: int = 1) -> Report:
        plain = self.plain(mpirun(ranks, *command), env)
        self.assertEqual(0, plain.code, plain.stderr)
        self.assertNotEqual(b"", plain.stdout)
        outcome: Outcome = self.measured(mpirun(ranks, *command), env)
        self.assert_same_result(plain, outcome)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual(ranks, report.data["experiment"]["ranks"])
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertEqual(ranks * locations, len(report.locations))
        return report

    def test_stencil(self) -> None:
        command = (str(EXAMPLES / "stencil"), "--size", "96", "--steps", "100", "--imbalance", "40")
        report = self.check(4, *command)
        self.assert_counts(self.counted(4, *command), report)
        self.assertEqual(400, report.sum("visits", lambda c: c["path"][-2:] == ["global_residual", "MPI_Allreduce"]))
        # The planted imbalance: only the last rank makes extra sweeps.
        extra = report.of_function("extra_sweeps", "inclusive_s")
        self.assertGreater(extra, 0)
        balanced = self.check(4, *command[:-1], "0")
        self.assertEqual(0, balanced.below("extra_sweeps", "samples"), "--imbalance 0 removes the extra sweeps")

    def test_stencil_with_openmp(self) -> None:
        if not (EXAMPLES / "stencil_omp").exists():
            self.skipTest("the compiler has no OpenMP")
        command = (str(EXAMPLES / "stencil_omp"), "--size", "96", "--steps", "200")
        report = self.check(2, *command, env={"OMP_NUM_THREADS": "2"}, locations=2)
        self.assert_counts(self.counted(2, *command), report)
        workers = [l for l in report.locations if l["thread"] != 0]
        self.assertTrue(all(l["samples"] > 0 for l in workers), "workers have samples")

    def test_particles(self) -> None:
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                command = (str(EXAMPLES / "particles"), "--steps", "20")
                report = self.check(ranks, *command)
                self.assert_counts(self.counted(ranks, *command), report)
                depth = max(len(c["path"]) for c in report.callpaths)
                self.assertGreater(depth, 12, "recursive frames are kept one by one")

    def test_wave(self) -> None:
        if not (EXAMPLES / "wave").exists():
            self.skipTest("there is no Fortran compiler")
        command = (str(EXAMPLES / "wave"), "--steps", "200")
        if not sees_fortran():  # C wrappers alone cannot see the calls; the program must run as ever all the same
            self.assert_same_result(self.plain(mpirun(2, *command)), self.measured(mpirun(2, *command)))
            self.skipTest("this build does not wrap MPI's Fortran interface")
        report = self.check(2, *command)
        visits = {name: report.sum("visits", lambda c: c["path"][-1].lower() == name.lower())
                  for name in ("MPI_Sendrecv", "MPI_Allreduce", "MPI_Gather")}
        self.assertEqual({"MPI_Sendrecv": 2 * 200 * 2, "MPI_Allreduce": 2 * 200, "MPI_Gather": 2}, visits)
        # Two ranks: each has one neighbor, so one of its sends and one of its receives go nowhere.
        self.assertEqual(2 * 200 * 400 * 8, report.sum("bytes_sent", lambda c: c["path"][-1].lower() == "mpi_sendrecv"))

    def test_lammps(self) -> None:
        if shutil.which("lmp") is None:
            self.skipTest("lammps is not installed")
        (self.directory / "in.melt").write_text(MELT)
        command = ("lmp", "-in", "in.melt", "-log", "none")
        plain, outcome = self.plain(mpirun(2, *command)), self.measured(mpirun(2, *command))
        self.assertEqual(plain.code, outcome.code, outcome.stderr)
        # Everything but the lines with LAMMPS's own timings is the same, byte for byte.
        self.assertEqual(without_timings(plain.stdout), without_timings(outcome.stdout))
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assert_counts(self.counted(2, *command), report)
        sends = [c for c in report.callpaths if c["path"][-1] == "MPI_Send"]
        deep = [c for c in sends if any("Verlet::run" in p for p in c["path"])]
        self.assertTrue(deep, "MPI_Send below LAMMPS_NS::Verlet::run")

    def test_output_is_the_same_in_many_runs(self) -> None:
        command = mpirun(2, EXAMPLES / "stencil", "--size", "32", "--steps", "50")
        plain = self.plain(command)
        for _ in range(50 if FULL else 5):
            self.assert_same_result(plain, self.measured(command, {"REFRAIN_SAMPLING_FREQUENCY": "1000"}))


def without_timings(output: bytes) -> list[bytes]:
    timing = re.compile(rb"Loop time|Performance|CPU use|CPU = |Total wall time|"
                        rb"^(Pair|Neigh|Comm|Output|Modify|Other|Bond|Kspace)\s*\|")
    return [line for line in output.splitlines() if not timing.search(line)]


if __name__ == "__main__":
    unittest.main(verbosity=2)
