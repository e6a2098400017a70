#!/usr/bin/env python3
"""A program whose own functions are called like those of MPI does what it does without Refrain.

    foreign_names.py MPIEXEC PROGRAM MPI STAND_IN LIBRARY
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "apps"))
from mpi_checks import ENVIRONMENT, Checks  # noqa: E402

mpiexec, program, mpi, stand_in, library = sys.argv[1:]
refrain = str(Path(os.environ["BUILD_DIR"]) / "bin" / "refrain")
checks = Checks("foreign_names")


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in ENVIRONMENT.items() if not k.startswith("REFRAIN_")} | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


with tempfile.TemporaryDirectory() as scratch:
    experiment = str(Path(scratch) / "experiment")
    plain = run([mpiexec, "-n", "1", program])
    measured = run([refrain, "run", "--", mpiexec, "-n", "1", program], REFRAIN_EXPERIMENT_DIRECTORY=experiment)
    truth = "".join(f"{0.5 + i + 0.25 + 97 + 6 + 4.5 + 5 + 60 + 700:g} 3 {i + 7} 219 1.5 {i + 10} {221 + 200 * i} 5\n" for i in range(3))
    checks.expect(plain.stdout == truth, f"without Refrain: {plain.stdout}, truth {truth}")
    checks.expect((measured.returncode, measured.stdout) == (0, truth), f"exit {measured.returncode}: {measured.stdout}{measured.stderr}")
    report = run([refrain, "report", experiment, "--format", "json"])
    calls = sorted(row["path"][-1] for row in json.loads(report.stdout)["callpaths"] if row["kind"] == "mpi")
    checks.expect(calls == ["MPI_Finalize", "MPI_Init"], f"calls recorded: {calls}")

    plain = run([stand_in, library])
    measured = run([refrain, "exec", "--library", mpi, "--", stand_in, library],
                   REFRAIN_EXPERIMENT_DIRECTORY=experiment + "-stand-in")
    checks.expect(plain.stdout == "own MPI_Init 1\n0 8 0 105\n" * 2 + "no error\n", f"without Refrain: {plain.stdout}")
    checks.expect((measured.returncode, measured.stdout) == (0, plain.stdout),
                  f"stand-in: exit {measured.returncode}: {measured.stdout}{measured.stderr}")

sys.exit(checks.failures > 0)
