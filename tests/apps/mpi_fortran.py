#!/usr/bin/env python3
"""What the MPI adapter records of mpi_fortran.F90 is the truth that is written beside its calls, each call once.

    mpi_fortran.py NAME RECORDER MPIEXEC PROGRAM...

The programs are one source with mpif.h, the module mpi and the module mpi_f08.
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from mpi_checks import ENVIRONMENT, Checks

name, recorder, mpiexec, *programs = sys.argv[1:]
checks = Checks(name)
expect = checks.expect


def run(program: str, ranks: int, preload: str = "", **variables: str) -> str:
    command = [mpiexec, "-n", str(ranks), "env", *([f"LD_PRELOAD={preload}"] if preload else []), program]
    done = subprocess.run(command, env=ENVIRONMENT | variables, capture_output=True, text=True, timeout=240)
    expect(done.returncode == 0, f"{program}, preload '{preload}': exit {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


for program in programs:
    for ranks in (2, 3):
        with tempfile.TemporaryDirectory() as scratch:
            truth_file, record_file = Path(scratch) / "truth", Path(scratch) / "record"
            where = f"{Path(program).name}, {ranks} ranks"
            plain = run(program, ranks, TRUTH_FILE="")
            measured = run(program, ranks, recorder, TRUTH_FILE=str(truth_file), RECORDER_FILE=str(record_file))
            expect(plain != "" and plain == measured, f"{where}: output differs:\n{plain}\n{measured}")
            for rank in range(ranks):
                truth: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
                for line in Path(f"{truth_file}.{rank}").read_text().splitlines():
                    function, *counts = line.split()
                    truth[function] = [a + b for a, b in zip(truth[function], [1, *map(int, counts)])]
                path = Path(f"{record_file}.{rank}")
                expect(path.exists(), f"{where}: rank {rank} is not seen as an MPI program")
                if not path.exists():
                    continue
                record = json.loads(path.read_text())
                for function in sorted(truth.keys() | record["functions"].keys()):
                    expect(truth.get(function) == record["functions"].get(function),
                           f"{where}: rank {rank}: {function}: recorded {record['functions'].get(function)}, "
                           f"truth {truth.get(function)}")
                expect(record["unmatched"] == [0, 0], f"completed, but not where it was begun: {record['unmatched']}")
                expect(record["requests"] == 0, f"{where}: {record['requests']} requests are left in the table")
                expect(any(c["name"] == "from Fortran" for c in record["communicators"]),
                       f"{where}: MPI_COMM_SET_NAME is not recorded")

sys.exit(checks.failures > 0)
