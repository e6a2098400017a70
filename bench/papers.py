#!/usr/bin/env python3
"""Repeats the tables of the papers on which the pattern search is based with programs of ours, and prints the papers' figures too.

    bench/papers.py [1] [2]

1: Wolf and Mohr, Automatic Performance Analysis of MPI Applications Based on Event Traces, tables 1 and 2.
   bench/programs/mesh.c computes a mesh of 100 x 60 cells on 8, 16 and 32 processes. Prints the share of communication
   and of late senders in its routine `velo`, and the distribution of the waiting over the processes.
2: Wolf, Mohr, Dongarra and Moore, Efficient Pattern Search in Large Traces through Successive Refinement, table 1.
   Prints, for traces of five programs, the time of one search for all patterns, that of a search for each pattern, and
   that with a pattern written in Python in addition to the built-in ones.

Needs build/bin, build/examples and build/bench.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REFRAIN = ROOT / "build/bin/refrain"
# Processes in x and y, and the paper's shares of communication and late sender.
CONFIGURATIONS = [(2, 4, 0.191, 0.050), (4, 2, 0.147, 0.028), (8, 1, 0.154, 0.035), (4, 4, 0.265, 0.055), (8, 2, 0.228, 0.043), (16, 1, 0.211, 0.030),
                  (8, 4, 0.335, 0.063), (16, 2, 0.297, 0.035)]
DISTRIBUTION = [0.17, 0.08, 0.01, 0.01, 0.01, 0.01, 0.05, 0.68]  # for the configuration 8 x 1
# Traces of the second paper: minutes with old Python, new Python and new C++.
TRACES = [("CX3D", 332.0, 42.0, 44.0), ("SWEEP3D-HW", 30.9, 12.5, 13.9), ("SWEEP3D", 4.8, 1.7, 2.3), ("REMO, first", 60.3, 14.6, 6.8),
          ("REMO, second", 285.1, 22.0, 2.5)]
PROGRAMS = ["build/bench/kernels halo 60000", "build/bench/kernels dots 30000", "build/bench/kernels alltoall 100000", "build/bench/kernels master 20000",
            "build/examples/stencil --size 40 --steps 60000"]
PLUGIN = """from refrain.patterns import Pattern


class OwnLateSender(Pattern):
    parent = "late_sender"

    def receiving_callback(self, receiving):
        if receiving["waiting_ns"] > 0:
            self.add(receiving, ns=receiving["waiting_ns"])
"""


def record(directory: Path, ranks: int, command: str) -> Path:
    experiment = directory / "experiment"
    subprocess.run([REFRAIN, "run", "--experiment", experiment, "--", "mpirun", "-n", str(ranks), *shlex.split(command)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    return experiment


def patterns(experiment: Path, *options: str) -> tuple[dict[str, dict], float]:
    done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *options], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return {of["name"]: of for of in found["patterns"]}, found["total_time_s"]


def time_in_velo(experiment: Path) -> float:
    """Returns the time in `velo`, summed over all processes: the time of the whole run except that of setting up MPI and
    the mesh, because a program does nothing else in its loop."""
    done = subprocess.run([REFRAIN, "report", experiment, "--format", "json"], check=True, capture_output=True, text=True)
    report = json.loads(done.stdout)
    init = sum(row["exclusive_s"] for row in report["callpaths"] if row["path"][-1] in ("MPI_Init", "MPI_Cart_create"))
    return report["totals"]["wall_s"] - init


def first_paper() -> None:
    print("idle times in routine VELO introduced by late sender: shares of its time")
    print("processes  configuration   communication  of the paper   late sender  of the paper")
    distribution: list[float] = []
    for x, y, communication, late in CONFIGURATIONS:
        with tempfile.TemporaryDirectory() as directory:
            experiment = record(Path(directory), x * y, f"build/bench/mesh {x} {y}")
            found, _ = patterns(experiment, "--region", "velo")
            whole = time_in_velo(experiment)
            print(f"{x * y:9}  {x:5} x {y:<7} {found['communication']['severity_s'] / whole:14.3f} {communication:14.3f} "
                  f"{found['late_sender']['severity_s'] / whole:13.3f} {late:13.3f}", flush=True)
            if (x, y) == (8, 1):
                by_rank = {row["rank"]: row["severity_s"] for row in found["late_sender"]["by_location"]}
                distribution = [by_rank.get(rank, 0) / found["late_sender"]["severity_s"] for rank in range(8)]
    print("distribution of idle times in the 8 x 1 configuration")
    print("process      " + "".join(f"{rank:6}" for rank in range(8)))
    print("fraction     " + "".join(f"{share:6.2f}" for share in distribution))
    print("of the paper " + "".join(f"{share:6.2f}" for share in DISTRIBUTION), flush=True)


def second_paper() -> None:
    print("execution times of the search: each pattern for itself, all at once, and the speedup; CPU time")
    print("trace                                   events/10^6   apart, s   together, s   speedup   with one in Python, of the built-in ones' time")
    for command in PROGRAMS:
        with tempfile.TemporaryDirectory() as directory:
            experiment = record(Path(directory), 2, command)
            done = subprocess.run([ROOT / "build/bench/bench_pattern_search", experiment, "3"], check=True, capture_output=True, text=True)
            millions, each, _, reading = map(float, re.findall(r"(\d+\.\d+)(?: million| ns| times)", done.stdout))
            together = millions * 1e6 * each * 1e-9
            plugin = Path(directory) / "own.py"
            plugin.write_text(PLUGIN)
            taken = []
            for options in ([], ["--plugin", str(plugin)]):
                begin = time.perf_counter()
                patterns(experiment, *options)
                taken.append(time.perf_counter() - begin)
            print(f"{command.partition('/')[2]:39} {millions:12.1f} {together * reading:10.2f} {together:13.2f} {reading:9.1f} {taken[1] / taken[0]:9.1f}", flush=True)
    print("of the paper, minutes                           old Python   new Python   speedup    new C++   speedup")
    for name, old, new, cpp in TRACES:
        print(f"{name:39} {old:19.1f} {new:12.1f} {old / new:9.1f} {cpp:10.1f} {old / cpp:9.1f}")


def main() -> None:
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                       "OMPI_MCA_mpi_yield_when_idle": "1", "REFRAIN_TRACE": "all"})
    wanted = sys.argv[1:] or ["1", "2"]
    if "1" in wanted:
        first_paper()
    if "2" in wanted:
        second_paper()


if __name__ == "__main__":
    main()
