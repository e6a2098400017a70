#!/usr/bin/env python3
"""Measures the cost of events and call durations in addition to the profile. The settings take turns, so that noise affects all of them.

    bench/events_cost.py [BUILD] [--pairs N] [--only calls|cold|dilation] [--lammps FILE]

calls: nanoseconds of a call, as measured by the programs themselves (null_call: 10 frames, no message; requests: 8
concurrent non-blocking messages from a process to itself; wait_methods: MPI_Recv of 8 bytes that have arrived, and
MPI_Allreduce, on two ranks). Prints the median time with the profile alone, and the median of the differences from it
for each other setting. cold: the same for a call after 32 MiB of other work. dilation: the wall time of LAMMPS and the
examples by default, compared with that without events: the mean ratio with its standard error.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

draw = random.Random(1)
SETTINGS = {
    "profile": {"REFRAIN_TRACE": "off", "REFRAIN_WAIT_STATES": "off"},
    "durations": {"REFRAIN_TRACE": "off"},
    "sampled": {"REFRAIN_WAIT_STATES": "off"},
    "default": {},
    "all": {"REFRAIN_TRACE": "all"},
}
EXAMPLES = ["stencil --size 200 --steps 6000", "particles --particles 1500 --steps 1500", "wave --size 1200 --steps 4000", "drift --cells 40000 --steps 4000"]


def run(build: Path, ranks: int, command: list[str], settings: dict[str, str], work: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("REFRAIN_")} | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "REFRAIN_SAMPLING_FREQUENCY": "100"} | settings
    with tempfile.TemporaryDirectory(dir=work) as directory:
        done = subprocess.run([build / "bin/refrain", "run", "--experiment", f"{directory}/e", "--", "mpirun.openmpi", "-n", str(ranks), *command], check=True,
                              capture_output=True, text=True, env=env, cwd=work)
    return done.stdout


def print_figures(name: str, values: dict[str, list[float]]) -> None:
    base = statistics.median(values["profile"])
    more = {setting: [value - of_profile for value, of_profile in zip(of, values["profile"])] for setting, of in values.items()}
    print(f"{name}: profile {base:.0f} ns; " + ", ".join(
        f"{setting} {statistics.median(of):+.0f} ({min(of):+.0f} to {max(of):+.0f}), {100 * statistics.median(of) / base:+.1f} %" for setting, of in more.items() if setting != "profile"), flush=True)


def calls(build: Path, pairs: int, work: Path) -> None:
    values: dict[str, dict[str, list[float]]] = {}
    for _ in range(pairs):
        for setting, options in sorted(SETTINGS.items(), key=lambda _: draw.random()):
            found = {"MPI_Send, MPI_Recv, no message": float(run(build, 1, [str(build / "bench/null_call"), "10"], options, work))}
            found |= {name: float(value) for name, value in (line.split() for line in run(build, 1, [str(build / "bench/requests"), "8"], options, work).splitlines())}
            lines = run(build, 2, [str(build / "bench/wait_methods")], options, work).splitlines()
            found |= {name: float(value) for name, value in (line.split() for line in lines) if name in ("recv", "allreduce")}
            for name, value in found.items():
                values.setdefault(name, {}).setdefault(setting, []).append(value)
    for name, of in values.items():
        print_figures(name, of)


def cold(build: Path, pairs: int, work: Path) -> None:
    values: dict[str, list[float]] = {}
    for _ in range(pairs):
        for setting, options in SETTINGS.items():
            words = run(build, 1, [str(build / "bench/cold"), "20", str(32 * 1024), "300"], options | {"REFRAIN_SAMPLING_FREQUENCY": "0"}, work).split()
            values.setdefault(setting, []).append(float(words[0]) - float(words[2]))
    print_figures("a call after 32 MiB of other work", values)


def dilation(build: Path, pairs: int, work: Path, lammps: Path | None) -> None:
    commands = [[str(build / "examples" / words[0]), *words[1:]] for words in (example.split() for example in EXAMPLES)]
    if lammps:
        commands.insert(0, ["lmp", "-in", str(lammps), "-log", "none", "-screen", "none"])
    for command in commands:
        ratios, seconds = [], []
        for pair in range(pairs):
            took = {}
            for setting in ("profile", "default") if pair % 2 else ("default", "profile"):
                begin = time.monotonic()
                run(build, 2, command, SETTINGS[setting], work)
                took[setting] = time.monotonic() - begin
            ratios.append(100 * (took["default"] / took["profile"] - 1))
            seconds.append(took["profile"])
        error = statistics.stdev(ratios) / len(ratios) ** 0.5
        print(f"dilation of {Path(command[0]).name} ({statistics.median(seconds):.1f} s) by the default against no events: {statistics.fmean(ratios):+.2f} % (standard error {error:.2f}; "
              f"median {statistics.median(ratios):+.2f})", flush=True)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("build", nargs="?", default="build", type=Path)
    options.add_argument("--pairs", type=int, default=9)
    options.add_argument("--only", choices=["calls", "cold", "dilation"])
    options.add_argument("--lammps", type=Path)
    asked = options.parse_args()
    build = asked.build.resolve()
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        if asked.only in (None, "calls"):
            calls(build, asked.pairs, work)
        if asked.only in (None, "cold"):
            cold(build, asked.pairs, work)
        if asked.only in (None, "dilation"):
            dilation(build, asked.pairs, work, asked.lammps and asked.lammps.resolve())


if __name__ == "__main__":
    main()
