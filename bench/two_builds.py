#!/usr/bin/env python3
"""Measures the cost of a change of the runtime in whole programs, which run without Refrain and with each of two builds in turn.

Usage: two_builds.py BEFORE NOW [NAME...]   NAME: particles stencil exchange wait lammps. REFRAIN_BENCH_ROUNDS: rounds,
15 by default. Prints a line per program: the time that each build adds, and the difference between the builds, with
standard errors. For the examples and LAMMPS it compares the CPU time of all processes, which other processes affect
least; for the other programs, the wall time that the program prints.
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

BEFORE, NOW = (Path(argument).resolve() for argument in sys.argv[1:3])
ROUNDS = int(os.environ.get("REFRAIN_BENCH_ROUNDS", 15))
LAMMPS = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 100
run 300
"""


class Program(NamedTuple):
    ranks: int
    command: list[str]
    prints_seconds: bool


def programs(work: Path) -> dict[str, Program]:
    (work / "in.melt").write_text(LAMMPS)
    bench, examples = NOW / "bench", NOW / "examples"
    known = {"particles": Program(2, [str(examples / "particles"), "--particles", "2000", "--steps", "60"], False),
             "stencil": Program(2, [str(examples / "stencil"), "--size", "256", "--steps", "1500"], False),
             "exchange": Program(2, [str(bench / "yields"), "exchange", "200000"], True),
             "wait": Program(3, [str(bench / "yields"), "wait", "2000"], True)}
    if lammps := shutil.which("lmp"):
        known["lammps"] = Program(2, [lammps, "-in", "in.melt", "-log", "none"], False)
    return known


def seconds_of(program: Program, build: Path | None, work: Path) -> tuple[float, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1", "OMP_NUM_THREADS": "1",
            "REFRAIN_EXPERIMENT_DIRECTORY": str(Path(tempfile.mkdtemp(dir=work)) / "experiment")}
    command = ["mpirun.openmpi", "-n", str(program.ranks), "--bind-to", "none", *program.command]
    if build:  # exec runs the program without searching for findings afterwards
        command = [*command[:5], str(build / "bin/refrain"), "exec", "--", *command[5:]]
    before = os.times()
    done = subprocess.run(command, env=env, cwd=work, text=True, capture_output=True, check=False)
    after = os.times()
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
    if program.prints_seconds:
        seconds, rate = done.stdout.split()
        return float(seconds), f", {float(rate):,.0f} switches a second"
    return after[2] + after[3] - before[2] - before[3], ""


def percent(values: list[float]) -> tuple[float, float]:
    """Returns the median and its standard error, computed from the median deviation, which a few disturbed runs do not affect."""
    median = statistics.median(values)
    spread = 1.4826 * statistics.median(abs(value - median) for value in values)
    return median, 1.2533 * spread / len(values) ** 0.5


def main() -> None:
    print("| program | before adds | now adds | now to before |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        known = programs(work)
        for name in sys.argv[3:] or known:
            ratios: dict[str, list[float]] = {"before": [], "now": [], "both": []}
            remark = ""
            for i in range(ROUNDS):
                order: list[Path | None] = [None, BEFORE, NOW]
                order = order[i % 3:] + order[:i % 3]  # no build always comes first
                seconds = {}
                for build in order:
                    seconds[build], remark = seconds_of(known[name], build, work)
                ratios["before"].append(100 * (seconds[BEFORE] / seconds[None] - 1))
                ratios["now"].append(100 * (seconds[NOW] / seconds[None] - 1))
                ratios["both"].append(100 * (seconds[NOW] / seconds[BEFORE] - 1))
            cells = ["{:+.2f} % (standard error {:.2f})".format(*percent(ratios[key])) for key in ("before", "now", "both")]
            print(f"| {name}{remark} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
