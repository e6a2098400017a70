#!/usr/bin/env python3
"""What `refrain run` records of the Fortran programs here is the truth that is written beside their calls: every call
once, below the subroutine that made it, with its counts and bytes; and their output is that without Refrain.

    conformance_fortran.py NAME MPIEXEC PROGRAMS DIRECTORY...

One directory for each of mpif.h, the module mpi and the module mpi_f08, with every program of PROGRAMS ("a,b,c").
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "apps"))
from mpi_checks import ENVIRONMENT, Checks  # noqa: E402
from refrain_testing import patiently, run_to_the_end  # noqa: E402

name, mpiexec, programs, *directories = sys.argv[1:]
REFRAIN = Path(os.environ["BUILD_DIR"]) / "bin" / "refrain"
RANKS = {"communicators": 4, "collectives": 3, "processes": 1}
FIELDS = ("visits", "messages_sent", "bytes_sent", "messages_received", "bytes_received", "messages_completed",
          "bytes_completed", "bytes_read", "bytes_written")
ONE_SIDED = re.compile(r"MPI_R?(put|get|accumulate|get_accumulate)|MPI_Fetch_and_op|MPI_Compare_and_swap", re.IGNORECASE)
checks = Checks(name)
expect = checks.expect


def run(command: list[str], **variables: str) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in ENVIRONMENT.items() if not k.startswith("REFRAIN_")} | variables
    code, out, err = run_to_the_end(command, 60, environment)
    return subprocess.CompletedProcess(command, code, out.decode(), err.decode(errors="replace"))


def truth_of(file: Path, ranks: int) -> dict[tuple[str, str], dict[str, int]]:
    truth: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for rank in range(ranks):
        for line in Path(f"{file}.{rank}").read_text().splitlines():
            where, what, field, amount = line.split()
            truth[where, what][field] += int(amount)
    return truth


def examine(program: Path, where: str, ranks: int) -> None:
    launch = [mpiexec, "-n", str(ranks), str(program)]
    with tempfile.TemporaryDirectory() as scratch:
        # Processes that MPI starts speak to their parents by TCP.
        extra = {"SCRATCH": scratch} | ({"OMPI_MCA_btl": "self,vader,tcp"} if program.name == "processes" else {})
        again = patiently if program.name == "processes" else lambda run_once: run_once()
        plain = again(lambda: run(launch, TRUTH_FILE="", **extra))
        if plain.returncode != 0 and program.name == "processes" and name == "mpich":
            print(f"{where}: left out, this MPI starts no processes here")
            return
        expect(plain.returncode == 0 and plain.stdout != "", f"{where}: exit {plain.returncode}: {plain.stderr[-800:]}")
        experiment, truth_file = Path(scratch) / "experiment", Path(scratch) / "truth"

        def run_measured() -> subprocess.CompletedProcess:
            shutil.rmtree(experiment, ignore_errors=True)
            return run([str(REFRAIN), "run", "--", *launch], TRUTH_FILE=str(truth_file),
                       REFRAIN_EXPERIMENT_DIRECTORY=str(experiment), **extra)

        measured = again(run_measured)
        expect(measured.returncode == 0, f"{where}: exit {measured.returncode}: {measured.stderr[-800:]}")
        expect(plain.stdout == measured.stdout, f"{where}: output differs:\n{plain.stdout}\n{measured.stdout}")
        report = run([str(REFRAIN), "report", str(experiment), "--format", "json"])
        expect(report.returncode == 0, f"{where}: report: {report.stderr}")
        if measured.returncode != 0 or report.returncode != 0:
            return
        truth = truth_of(truth_file, ranks)
        recorded: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        document = json.loads(report.stdout)
        for row in document["callpaths"]:
            if row["kind"] != "mpi":
                continue
            path = row["path"]
            caller = path[-2].lower() if len(path) > 1 else ""
            for field in FIELDS:
                recorded[caller, path[-1]][field] += row.get(field) or 0
        for key in sorted(truth.keys() | recorded.keys()):
            for field in FIELDS:
                expect(truth[key][field] == recorded[key][field],
                       f"{where}: {' -> '.join(key)}: {field} is {recorded[key][field]}, truth {truth[key][field]}")
        targets = [target for window in document["windows"] for target in window["targets"]]
        for field, of_windows in (("bytes_sent", "bytes_put"), ("bytes_received", "bytes_got")):
            wanted = sum(row[field] for (_, function), row in truth.items() if ONE_SIDED.fullmatch(function))
            found = sum(target[of_windows] for target in targets)
            expect(wanted == found, f"{where}: {of_windows} of all windows are {found}, truth {wanted}")


for directory in directories:
    for program in programs.split(","):
        examine(Path(directory) / program, f"{Path(directory).name}, {program}", RANKS.get(program, 2))

sys.exit(checks.failures > 0)
