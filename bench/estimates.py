#!/usr/bin/env python3
"""How far estimates from a sample of iterations are from the truth, and from the errors that they state.

    bench/estimates.py [--ranks N] [--memory 64K,256K,...] [COMMAND ...]

Each command, or each example and each of bench/programs/kernels.c without any, runs once with all events. Then `refrain analyze` with and without --as-sampled: of every kind of waiting and
call path with more than 0.5 % of the time the true value, the estimate, its standard error, and their distance in standard errors; in the end the share within
3 of them, the median error in points of the time, and the root of the mean square distance. Needs build/bin, build/examples and build/bench.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFRAIN = ROOT / "build/bin/refrain"
EXAMPLES = ["stencil --size 40 --steps 4000", "particles --particles 1000 --steps 2000", "wave --size 200 --steps 4000", "drift --cells 4000 --steps 4000"]
KERNELS = ["pipeline", "halo", "buffers", "dots", "alltoall", "master", "drift"]
WAITS = {"waiting", "late_sender", "late_receiver", "wait_at_nxn", "nxn_completion", "wait_at_barrier", "barrier_completion", "late_broadcast", "early_reduce",
         "early_scan"}
LEAST = 0.005  # of the time


def analysis(experiment: Path, *options: str) -> dict:
    done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *options], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def rows_of(found: dict) -> dict[tuple[str, str], tuple[float, float]]:
    return {(of["name"], " > ".join(row["path"])): (row["severity_s"], row["standard_error_s"])
            for of in found["patterns"] if of["name"] in WAITS for row in of["by_callpath"]}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--ranks", type=int, default=2)
    options.add_argument("--memory", default="32K,64K,128K,256K,512K")
    options.add_argument("commands", nargs="*")
    asked = options.parse_args()
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                       "OMPI_MCA_mpi_yield_when_idle": "1", "REFRAIN_TRACE": "all"})
    commands = asked.commands or [*(f"{ROOT}/build/examples/{example}" for example in EXAMPLES),
                                  *(f"{ROOT}/build/bench/kernels {kernel} 4000" for kernel in KERNELS)]
    distances, errors = [], []
    for command in commands:
        with tempfile.TemporaryDirectory() as directory:
            experiment = Path(directory) / "all"
            subprocess.run([REFRAIN, "run", "--experiment", experiment, "--", "mpirun", "-n", str(asked.ranks), *shlex.split(command)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            whole = analysis(experiment)
            truth, total = rows_of(whole), whole["total_time_s"]
            print(f"{command.rpartition('/')[2]}: {total:.2f} s, {sum(f.stat().st_size for f in experiment.glob('events-*')) >> 10} KiB of events")
            for memory in asked.memory.split(","):
                sampled = analysis(experiment, "--as-sampled", memory)
                if all(of["stands_for"] == "all" for of in sampled["patterns"]):
                    continue
                estimates = rows_of(sampled)
                for key in sorted(truth.keys() | estimates.keys()):
                    true, (value, error) = truth.get(key, (0, 0))[0], estimates.get(key, (0, 0))
                    if max(true, value) < LEAST * total:
                        continue
                    distance = abs(value - true) / error if error > 0 else (0 if abs(value - true) < 1e-9 else 99)
                    distances.append(distance)
                    errors.append(error / total)
                    print(f"  {memory:>5} {key[0]:16} {100 * true / total:6.2f} % estimated {100 * value / total:6.2f} +- {100 * error / total:5.2f}, "
                          f"{distance:4.1f} errors off: {key[1][-50:]}")
    if distances:
        print(f"{len(distances)} rows: {100 * sum(d <= 3 for d in distances) / len(distances):.1f} % within 3 errors, median error "
              f"{100 * statistics.median(errors):.2f} points, root of the mean square distance {statistics.fmean(d * d for d in distances) ** 0.5:.2f}")


if __name__ == "__main__":
    main()
