#!/usr/bin/env python3
"""Compares estimates from a sample of iterations with the true values, and their distances with the stated errors.

    bench/estimates.py [--ranks N] [--levels 3,5,7] [--steps N] [COMMAND ...]

Runs each command once with all events; without commands, each example and each kernel of bench/programs/kernels.c. Then
runs `refrain analyze` with and without --as-sampled, with the memory that leads to each level (one of 2^level
iterations is chosen). For every kind of waiting and call path with more than 0.5 % of the time it prints the true
value, the estimate, its standard error, and the distance in standard errors. Finally it prints, for each level and for
all levels together: the share of the estimates within 3 errors of the truth, the share whose error is at most 0.5
points of the time or a tenth of the value, the median of the errors in points and relative to the value, and the root
mean square of the distances.
Needs build/bin, build/examples and build/bench.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFRAIN = ROOT / "build/bin/refrain"
EXAMPLES = ["stencil --size 40 --steps {}", "particles --particles 1000 --steps {}", "wave --size 200 --steps {}", "drift --cells 4000 --steps {}"]
KERNELS = ["pipeline", "halo", "buffers", "dots", "alltoall", "master", "drift"]
WAITS = {"waiting", "late_sender", "late_receiver", "wait_at_nxn", "nxn_completion", "wait_at_barrier", "barrier_completion", "late_broadcast", "early_reduce",
         "early_scan"}
LEAST = 0.005  # share of the time


def analysis(experiment: Path, *options: str) -> dict:
    done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *options], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def rows_of(found: dict) -> dict[tuple[str, str], tuple[float, float]]:
    return {(of["name"], " > ".join(row["path"])): (row["severity_s"], row["standard_error_s"])
            for of in found["patterns"] if of["name"] in WAITS for row in of["by_callpath"]}


def at_level(experiment: Path, wanted: int) -> dict | None:
    """Returns the analysis with the memory that leads to level `wanted`, or None if no memory leads to it."""
    if not json.loads(subprocess.run([REFRAIN, "report", experiment, "--iterations", "--format", "json"], check=True, capture_output=True, text=True).stdout)["loops"]:
        return None
    low, high = 15, 30  # powers of two
    while low <= high:
        middle = (low + high) // 2
        found = analysis(experiment, "--as-sampled", str(1 << middle))
        if found["level"] == wanted:
            return found
        if found["level"] > wanted:
            low = middle + 1
        else:
            high = middle - 1
    return None


@dataclass
class Row:
    level: int
    distance: float  # in standard errors
    points: float  # standard error, as a share of the time
    relative: float  # standard error, as a share of the value


def summary(what: str, rows: list[Row]) -> str:
    near = sum(row.distance <= 3 for row in rows) / len(rows)
    sure = sum(row.points <= 0.005 or row.relative <= 0.1 for row in rows) / len(rows)
    squares = [row.distance**2 for row in rows if row.points > 0]
    rms = f"{statistics.fmean(squares) ** 0.5:.2f} of {len(squares)} rows with an error" if squares else "of no row"
    return (f"{what}: {len(rows)} rows, {100 * near:.1f} % within 3 errors, {100 * sure:.0f} % with an error of at most 0.5 points or 10 %, median error "
            f"{100 * statistics.median(row.points for row in rows):.2f} points or {100 * statistics.median(row.relative for row in rows):.1f} %, "
            f"root of the mean square distance {rms}")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--ranks", type=int, default=2)
    options.add_argument("--levels", default="3,5,7")
    options.add_argument("--steps", type=int, default=30000)
    options.add_argument("commands", nargs="*")
    asked = options.parse_args()
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                       "OMPI_MCA_mpi_yield_when_idle": "1", "REFRAIN_TRACE": "all"})
    commands = asked.commands or [*(f"{ROOT}/build/examples/{example.format(asked.steps)}" for example in EXAMPLES),
                                  *(f"{ROOT}/build/bench/kernels {kernel} {asked.steps}" for kernel in KERNELS)]
    levels = [int(level) for level in asked.levels.split(",")]
    rows: list[Row] = []
    for command in commands:
        with tempfile.TemporaryDirectory() as directory:
            experiment = Path(directory) / "all"
            subprocess.run([REFRAIN, "run", "--experiment", experiment, "--", "mpirun", "-n", str(asked.ranks), *shlex.split(command)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            whole = analysis(experiment)
            truth, total = rows_of(whole), whole["total_time_s"]
            print(f"{command.rpartition('/')[2]}: {total:.2f} s, {sum(f.stat().st_size for f in experiment.glob('events-*')) >> 10} KiB of events", flush=True)
            for level in levels:
                sampled = at_level(experiment, level)
                if not sampled:
                    print(f"  no memory leads to level {level}")
                    continue
                estimates = rows_of(sampled)
                for key in sorted(truth.keys() | estimates.keys()):
                    true, (value, error) = truth.get(key, (0, 0))[0], estimates.get(key, (0, 0))
                    if max(true, value) < LEAST * total:
                        continue
                    distance = abs(value - true) / error if error > 0 else (0 if abs(value - true) < 1e-9 else 99)
                    rows.append(Row(level, distance, error / total, error / value if value > 0 else 1))
                    print(f"  level {level} {key[0]:16} {100 * true / total:6.2f} % estimated {100 * value / total:6.2f} +- {100 * error / total:5.2f}, "
                          f"{distance:4.1f} errors off: {key[1][-50:]}", flush=True)
    for level in levels:
        if of_level := [row for row in rows if row.level == level]:
            print(summary(f"level {level}", of_level))
    if rows:
        print(summary("all", rows))


if __name__ == "__main__":
    main()
