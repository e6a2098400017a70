"""Programs whose segments have holes between them, as with huge pages, have whole call paths, whatever linker laid them out;
`refrain doctor` tries it and says what will be."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import FULL, MPIS, REFRAIN, SOURCE, TestCase, clean_environment, mpiexec  # noqa: E402

HOLES = "-Wl,-z,max-page-size=0x200000"
SHORT = [[HOLES, "-no-pie"], [HOLES]]
LONG = [[HOLES, "-Wl,-z,noseparate-code"], [HOLES, "-Wl,-z,separate-code", "-static-libgcc"], ["-Wl,-z,max-page-size=0x10000"],
        [HOLES, "-fuse-ld=gold"], [HOLES, "-fuse-ld=gold", "-Wl,--rosegment"], [HOLES, "-mcmodel=large", "-no-pie"],
        [HOLES, "-Wl,-Ttext-segment=0x40000000", "-no-pie"], [HOLES, "-Wl,-Ttext-segment=0x40000000"], ["-Wl,-z,max-page-size=0x200000,-z,common-page-size=0x200000"]]


class Programs(TestCase):
    def build(self, mpi: str, options: list[str]) -> Path:
        program = self.directory / f"program{len(list(self.directory.iterdir()))}"
        subprocess.run([f"mpicc.{mpi}", "-O2", "-g", str(SOURCE / "tests/issues/segments.c"), *options, "-o", str(program)], check=True)
        return program

    def doctor(self, program: Path) -> str:
        done = subprocess.run([REFRAIN, "doctor", program], capture_output=True, text=True, env=clean_environment(), cwd=self.directory)
        return done.stdout

    def paths(self, mpi: str, program: Path, seconds: float = 0.02) -> dict[tuple[str, ...], int]:
        """Samples by call path."""
        outcome = self.measured(mpiexec(mpi, 2, program, seconds))
        self.assertEqual(0, outcome.code, outcome.stderr)
        return {tuple(c["path"]): c["samples"] for c in self.report(outcome).callpaths}


class Segments(Programs):
    def test_call_paths_are_whole(self) -> None:
        for mpi in MPIS:
            for options in SHORT + LONG if FULL else SHORT[MPIS.index(mpi):]:
                with self.subTest(mpi=mpi, options=options):
                    program = self.build(mpi, options)
                    paths = self.paths(mpi, program)
                    self.assertGreater(paths.get(("main", "step", "work"), 0), 10)
                    self.assertIn(("main", "step", "MPI_Barrier"), paths)
                    self.assertEqual([], [path for path in paths if "work" in path and "main" not in path])
                    self.assertRegex(self.doctor(program), r"(?m)^ok .*unwind tables: call paths are complete.*[1-9]\d* of its functions")

    def test_the_doctor_says_where_call_paths_end(self) -> None:
        program = self.build(MPIS[0], ["-Wl,--no-eh-frame-hdr"])
        self.assertRegex(self.doctor(program), r"(?m)^warning .*no search table.*call paths end in it")


class WithoutBuildId(Programs):
    def test_another_file_at_its_path_gives_no_names(self) -> None:
        program = self.build(MPIS[0], ["-Wl,--build-id=none"])
        outcome = self.measured(mpiexec(MPIS[0], 2, program, 0.01))
        self.assertEqual(0, outcome.code, outcome.stderr)
        steps = lambda: [c for c in self.report(outcome).callpaths if "step" in c["path"]]
        before = steps()
        self.assertTrue(before)
        subprocess.run([f"mpicc.{MPIS[0]}", "-O0", str(SOURCE / "tests/issues/segments.c"), "-Wl,--build-id=none", "-o", str(program)], check=True)
        self.assertEqual(before, steps(), "names are kept")
        assert outcome.experiment
        (outcome.experiment / "names.refrain").unlink()
        self.assertEqual([], steps())


if __name__ == "__main__":
    unittest.main()
