#!/usr/bin/env python3
"""Measures the accuracy of waiting times from call durations (without events) and from samples, compared with all events of a run.

    bench/waits.py [--ranks 2,4] [--levels 3,5,7] [--steps N] [--no-examples] [--lammps IN.PEPTIDE] [COMMAND ...]

Runs each command once for each number of ranks, with all events; without commands, each example, LAMMPS if its input is
named, and each kernel of bench/programs/kernels.c. For each call path that waited, by any method, more than 0.5 % of
the time of all ranks (the wait ratio of Mao et al., "Catching Idlers with Ease", EuroMPI 2014) it prints, in
percent of that time: the value from all events; the paper's estimate from shortest calls (of the process for messages,
of all processes for collective operations); the same with the shortest calls of all processes; the estimate from usual
short calls, which reports show, with its error; the estimates from samples of iterations, with the memory that leads to
each level, which reports show if there are events; and those from a sample of one in 2^level messages. Then it prints,
by function, the distances in points and relative to the value; by method, how often the truth is within three errors;
and the cost of other ways to detect waiting.
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
from collections import defaultdict
from pathlib import Path

from estimates import EXAMPLES, KERNELS, analysis, at_level

ROOT = Path(__file__).resolve().parents[1]
REFRAIN = ROOT / "build/bin/refrain"
MORE_KERNELS = ["wavefront", "persistent", "groups", "constant", "tested"]
LEAST = 0.005  # share of the time
LAMMPS = "lmp -in {} -log none -screen none"


def report(experiment: Path) -> dict:
    done = subprocess.run([REFRAIN, "report", experiment, "--waits", "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def sampled_rows(found: dict, pattern: str = "waiting") -> dict[str, tuple[float, float]]:
    (waiting,) = [of for of in found["patterns"] if of["name"] == pattern]
    return {" > ".join(row["path"]): (row["severity_s"], row["standard_error_s"]) for row in waiting["by_callpath"]}


def matched(experiment: Path, levels: list[int]) -> dict[int, dict[str, tuple[float, float]]]:
    done = subprocess.run([ROOT / "build/bench/bench_matched_waits", experiment, *map(str, levels)], check=True, capture_output=True, text=True)
    found: dict[int, dict[str, tuple[float, float]]] = defaultdict(dict)
    for line in done.stdout.splitlines():
        of = json.loads(line)
        found[of["level"]][of["path"]] = (of["wait_s"], of["wait_error_s"])
    return found


Far = dict[str, dict[str, list[tuple[float, float]]]]  # by function, by method: distance in points; relative distance
Errors = dict[str, list[tuple[float, float, float]]]  # by method: distance in errors; error relative to time and value


def measure(command: str, ranks: int, levels: list[int], far: Far, errors: Errors, where: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        experiment = Path(directory) / "all"
        subprocess.run([REFRAIN, "run", "--experiment", experiment, "--", "mpirun", "-n", str(ranks), *shlex.split(command)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=where)
        document = report(experiment)
        total = document["totals"]["wall_s"]
        of_events = analysis(experiment)
        truth, late_senders = sampled_rows(of_events), sampled_rows(of_events, "late_sender")
        late_senders |= {path: of for path, of in sampled_rows(of_events, "late_receiver").items() if path.endswith(("MPI_Send", "MPI_Ssend"))}
        samples = {f"level {level}": found for level in levels if (found := at_level(experiment, level))}
        rows = {level: sampled_rows(found) for level, found in samples.items()} | {f"matched {level}": of for level, of in matched(experiment, levels).items()}
        print(f"{command.rpartition('/')[2]}, {ranks} ranks: {total:.1f} s")
        print(f"  {'events':>7} {'paper':>7} {'global':>7} {'usual':>14}" + "".join(f" {method:>14}" for method in rows) + "  call path")
        for of in document["waits"]:
            path = " > ".join(of["path"])
            true = truth.get(path, (0.0, 0.0))[0]
            if path.endswith(("MPI_Init", "MPI_Finalize")):
                continue
            known = "minimum_s" in of
            middle = (of["minimum_most_s"] + of["minimum_least_s"]) / 2 if known else 0
            error = (((of["minimum_most_s"] - of["minimum_least_s"]) ** 2 / 12 + (of["minimum_s"] - middle) ** 2) ** 0.5) if known else 0
            values = {"paper": (of["shortest_s"], 0.0), "global": (of["minimum_most_s"], 0.0), "usual": (of["minimum_s"], error)} if known else {}
            # Single messages show only the waiting for these messages.
            values |= {method: found for method in rows if (found := rows[method].get(path, None if method.startswith("matched") else (0.0, 0.0)))}
            if max([true, *(value for value, _ in values.values())]) < LEAST * total:
                continue
            line = f"  {100 * true / total:7.2f}"
            for method in ["paper", "global", "usual", *rows]:
                if method in ("paper", "global"):
                    line += f" {100 * values[method][0] / total:7.2f}" if method in values else f" {'-':>7}"
                else:
                    line += f" {100 * values[method][0] / total:7.2f} ±{100 * values[method][1] / total:5.2f}" if method in values else f" {'-':>14}"
            print(f"{line}  {path[-60:]}", flush=True)
            for method, (value, error) in values.items():
                if max(true, value) < LEAST * total:
                    continue
                # Single messages show late senders and, for sends, late receivers.
                wanted = late_senders.get(path, (0.0, 0.0))[0] if method.startswith("matched") else true
                far[of["path"][-1]][method].append(((value - wanted) / total, (value - wanted) / wanted if wanted else 1))
                if method not in ("paper", "global"):
                    off = (value - wanted) / error if error > 0 else (0 if abs(value - wanted) < 1e-9 else 99)
                    errors[method].append((off, error / total, error / value if value else 1))


def cost() -> None:
    done = subprocess.run(["mpirun", "-n", "2", ROOT / "build/bench/wait_methods"], check=True, capture_output=True, text=True)
    ns = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    print("other ways to detect waiting, without any tool, ns per call:")
    print(f"  MPI_Recv {ns['recv']:.0f}; asked for first (FPMPI) {ns['recv_probe']:.0f}, {100 * (ns['recv_probe'] / ns['recv'] - 1):+.0f} %; a time with each message (piggyback) "
          f"{ns['recv_piggyback']:.0f}, {100 * (ns['recv_piggyback'] / ns['recv'] - 1):+.0f} %")
    print(f"  MPI_Allreduce {ns['allreduce']:.0f}; with a barrier before it (FPMPI) {ns['allreduce_barrier']:.0f}, {100 * (ns['allreduce_barrier'] / ns['allreduce'] - 1):+.0f} %")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--ranks", default="2,4")
    options.add_argument("--levels", default="3,5,7")
    options.add_argument("--steps", type=int, default=12000)
    options.add_argument("--no-examples", action="store_true")
    options.add_argument("--lammps", type=Path)
    options.add_argument("commands", nargs="*")
    asked = options.parse_args()
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
                       "REFRAIN_TRACE": "all"})
    commands = asked.commands
    if not commands:
        if not asked.no_examples:
            commands = [f"{ROOT}/build/examples/{example.format(asked.steps)}" for example in EXAMPLES]
            if asked.lammps:
                commands.append(LAMMPS.format(asked.lammps.resolve()))
        commands = [*commands, *(f"{ROOT}/build/bench/kernels {kernel} {asked.steps}" for kernel in KERNELS + MORE_KERNELS)]
    far: Far = defaultdict(lambda: defaultdict(list))
    errors: Errors = defaultdict(list)
    levels = [int(level) for level in asked.levels.split(",")]
    # LAMMPS reads further input files from the directory of its input.
    where = asked.lammps.resolve().parent if asked.lammps else ROOT
    for ranks in asked.ranks.split(","):
        for command in commands:
            measure(command, int(ranks), levels, far, errors, where)
    print("distance from the value of all events, by function: median and largest in points; median in percent of the value")
    for function, methods in sorted(far.items()):
        print(f"  {function}: " + "; ".join(
            f"{method} {100 * statistics.median(abs(p) for p, _ in off):.2f}, {100 * max((p for p, _ in off), key=abs):+.2f}, {100 * statistics.median(abs(r) for _, r in off):.0f} % of {len(off)}"
            for method, off in methods.items()))
    for method, of in errors.items():
        squares = [off**2 for off, error, _ in of if error > 0]
        print(f"{method}: {len(of)} call paths, {100 * sum(abs(off) <= 3 for off, *_ in of) / len(of):.1f} % within 3 errors, median error {100 * statistics.median(e for _, e, _ in of):.2f} points "
              f"or {100 * statistics.median(r for *_, r in of):.1f} %, root of the mean square distance {statistics.fmean(squares or [0]) ** 0.5:.2f}")
    cost()


if __name__ == "__main__":
    main()
