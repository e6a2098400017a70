"""Measures what exports and tables of Python cost, beside the bars that they must keep. Run by hand, on a quiet machine:

    tests/scale/figures.py [--runs N] [--only REGEX] [--input LAMMPS_INPUT]

Each figure is the median of N runs (3), with the largest peak of resident memory. The build directory is `build`, or that of the
environment variable BUILD_DIR; it needs the tests and examples built. Where LAMMPS is not installed its profile is that of an example. What is
made for a figure is removed at the end. The exit status is 1 when a figure is beyond its bar.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "apps")]
from accounting import MAKE_EXPERIMENT, MIB  # noqa: E402
from refrain_testing import BUILD, EXAMPLES, MPIS, PROGRAMS, REFRAIN, clean_environment, mpiexec  # noqa: E402
from trace_model import python_with_refrain  # noqa: E402

OF_PROFILES = ("cubex", "speedscope", "folded", "pprof", "hatchet", "extrap", "callgrind", "talp")
MESSAGES = 3_400_000  # 20 million events (tests/apps/events_many.py)

FRAME = """
import sys, time
import refrain
run = refrain.open(sys.argv[1])
begin = time.monotonic()
frame = {table}
print(len(frame), time.monotonic() - begin)
"""


@dataclass
class Run:
    seconds: float
    peak: int  # bytes; at least what this program has itself
    said: str


def run(command: Iterable[object], environment: dict[str, str] | None = None) -> Run:
    """Raises AssertionError when it fails."""
    words = [str(word) for word in command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        begin = time.monotonic()
        running = subprocess.Popen(words, stdout=out, stderr=errors, env=environment or clean_environment())
        _, status, usage = os.wait4(running.pid, 0)
        seconds = time.monotonic() - begin
        running.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if running.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: exit {running.returncode}: {errors.read()[-500:]}")
        return Run(seconds, usage.ru_maxrss * 1024, out.read())


class Figures:
    def __init__(self, runs: int, only: str, lammps: Path, directory: Path):
        self.runs, self.only, self.lammps, self.directory = runs, re.compile(only), lammps, directory
        self.beyond = 0

    def wanted(self, *names: str) -> bool:
        return any(self.only.search(name) for name in names)

    def row(self, name: str, once: Callable[[], Run], most_s: float, most_mib: float | None = None) -> float | None:
        """The median of the seconds; None: it is not asked for."""
        if not self.wanted(name):
            return None
        all_runs = [once() for _ in range(self.runs)]
        seconds, peak = statistics.median(of.seconds for of in all_runs), max(of.peak for of in all_runs) / MIB
        holds = seconds <= most_s and (most_mib is None or peak <= most_mib)
        self.beyond += not holds
        bar = f"{most_s:.2f} s" + ("" if most_mib is None else f", {most_mib:.0f} MiB")
        print(f"{name:<48} {seconds:>9.3f} s {peak:>7.0f} MiB   must {bar:<18} {'' if holds else 'BEYOND'}", flush=True)
        return seconds

    def export(self, experiment: Path, format: str) -> Callable[[], Run]:
        def once() -> Run:
            target = self.directory / f"out.{format}"
            shutil.rmtree(target, ignore_errors=True)
            target.unlink(missing_ok=True)
            return run([REFRAIN, "export", experiment, "--format", format, "-o", target])
        return once

    def experiment(self, name: str, command: Iterable[object], **variables: str) -> Path:
        path = self.directory / name
        run([REFRAIN, "run", "--experiment", path, "--", *command], clean_environment(variables))
        return path

    def made_up(self, name: str, **size: int) -> Path:
        path = self.directory / name
        run([MAKE_EXPERIMENT, path, *(word for option, value in size.items() for word in (f"--{option}", value))])
        return path

    def small_profile(self) -> tuple[str, Path]:
        if shutil.which("lmp") and self.lammps.is_file():
            return "LAMMPS", self.experiment("lammps", mpiexec("openmpi", 2, "lmp", "-in", self.lammps, "-log", "none", "-screen", "none"))
        return "stencil", self.experiment("stencil", mpiexec("openmpi", 2, EXAMPLES / "stencil", "--steps", 2000))

    def exports_of_a_profile(self) -> None:
        rows = [f"profile to {format}" for format in OF_PROFILES]
        if not self.wanted(*rows):
            return
        program, experiment = self.small_profile()
        print(f"the profile is that of {program}, 2 ranks")
        for name, format in zip(rows, OF_PROFILES):
            self.row(name, self.export(experiment, format), 0.5)

    def export_of_many_ranks(self) -> None:
        name = "4,096 ranks x 500 paths to cubex"
        if self.wanted(name):
            self.row(name, self.export(self.made_up("ranks", ranks=4096, paths=500, clusters=64, iterations=128), "cubex"), 30, 500)

    def exports_of_events(self) -> None:
        """The bar of perfetto is twice the time of OTF2 in the same minutes."""
        names = ("20 million events to otf2", "20 million events to perfetto")
        if not self.wanted(*names):
            return
        experiment = self.experiment("events", mpiexec(MPIS[0], 2, PROGRAMS / f"events_many_{MPIS[0]}", MESSAGES), REFRAIN_TRACE="all")
        otf2 = statistics.median(self.export(experiment, "otf2")().seconds for _ in range(self.runs))
        print(f"{names[0]:<48} {otf2:>9.3f} s")
        self.row(names[1], self.export(experiment, "perfetto"), 2 * otf2)

    def data_frames(self) -> None:
        python, environment = python_with_refrain()
        size = {"clusters": 8, "threads": 1}
        for name, table, made in (("10^6 rows of iterations as a data frame", "run.iterations()", {"ranks": 64, "paths": 20, "iterations": 16384, **size}),
                                  ("10^6 rows of call paths as a data frame", "run.table('callpaths', by='rank')", {"ranks": 2048, "paths": 500, "iterations": 16, **size})):
            if not self.wanted(name):
                continue
            experiment = self.made_up(name.replace(" ", "-"), **made)

            def once() -> Run:
                done = run([python, "-B", "-c", FRAME.format(table=table), experiment], environment)
                rows, seconds = done.said.split()  # about so many
                return Run(float(seconds) * 1e6 / int(rows), done.peak, done.said)

            self.row(name, once, 1)

    def measure(self) -> None:
        self.exports_of_a_profile()
        self.export_of_many_ranks()
        self.exports_of_events()
        self.data_frames()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--only", default="")
    options.add_argument("--input", type=Path, default=Path("/usr/share/lammps/examples/melt/in.melt"))
    asked = options.parse_args()
    # On the disk: the directory for temporary files may be memory.
    with tempfile.TemporaryDirectory(prefix="figures-", dir=BUILD) as directory:
        figures = Figures(asked.runs, asked.only, asked.input, Path(directory))
        figures.measure()
    return int(figures.beyond > 0)


if __name__ == "__main__":
    sys.exit(main())
