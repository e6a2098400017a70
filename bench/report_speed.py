#!/usr/bin/env python3
"""Compares the CPU time of `refrain report` of two builds for every variant of the report and every experiment.

Usage: report_speed.py BEFORE AFTER [EXPERIMENT...] [--runs N]

BEFORE and AFTER are executables of `refrain`. Reports the golden experiments of the tests and those that are given. The
builds run in turn, each N times; the ratio is the median user and system time of AFTER divided by that of BEFORE. Leaves
out variants that an experiment does not have (no loop, no windows) if both builds refuse them. Exits with status 1 if
only one of the builds can make a report.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
KINDS = [[], ["--flat"], ["--callsites"], ["--iterations"], ["--clusters"], ["--iteration", "3"],
         ["--iteration", "3", "--loop", "timestep"],  # for experiments with several loops
         ["--windows"]]
VARIANTS = [[*kind, *form] for kind in KINDS for form in ([], ["--format", "json"], ["--format", "csv"])]


def run(refrain: Path, experiment: Path, options: list[str], output: Path) -> tuple[int, float]:
    """Returns the exit status, and the seconds of user and system time."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")}
    with output.open("wb") as out:
        running = subprocess.Popen([refrain, "report", experiment, *options], stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    return running.returncode, usage.ru_utime + usage.ru_stime


def digest(path: Path) -> bytes:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            hashed.update(piece)
    return hashed.digest()


def compare(builds: list[Path], experiment: Path, options: list[str], runs: int, scratch: Path) -> float | None:
    """Prints a line and returns the ratio, or None if neither build has this report. Exits if only one build has it."""
    seconds: list[list[float]] = [[], []]
    codes = [0, 0]
    outputs = [scratch / "before", scratch / "after"]
    for i in range(runs):
        for which in (0, 1) if i % 2 == 0 else (1, 0):  # neither build always comes first
            codes[which], taken = run(builds[which], experiment, options, outputs[which])
            seconds[which].append(taken)
        if codes[0] != codes[1]:
            sys.exit(f"refrain report {experiment} {' '.join(options)}: exit {codes[0]} before, {codes[1]} after")
        if codes[0] != 0:
            return None
    before, after = (statistics.median(s) for s in seconds)
    ratio = after / max(before, 1e-6)
    same = "" if digest(outputs[0]) == digest(outputs[1]) else "  other output"
    report = f"{experiment.resolve().name:16} {' '.join(options):44}"
    print(f"{report} {1e3 * before:10.2f} {1e3 * after:10.2f} {ratio:7.3f}{same}", flush=True)
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("experiments", type=Path, nargs="*", metavar="EXPERIMENT")
    parser.add_argument("--runs", type=int, default=11, metavar="N")
    arguments = parser.parse_args()
    builds = [arguments.before.resolve(), arguments.after.resolve()]
    experiments = sorted((SOURCE / "tests/golden").iterdir()) + arguments.experiments
    print(f"{'experiment':16} {'options':44} {'before, ms':>10} {'after, ms':>10} {'ratio':>7}")
    found: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory(prefix="report-speed-") as scratch:
        for experiment in experiments:
            for options in VARIANTS:
                ratio = compare(builds, experiment, options, arguments.runs, Path(scratch))
                if ratio is not None:
                    found.append((ratio, f"{experiment.resolve().name} {' '.join(options)}"))
    worst, where = max(found)
    median = statistics.median(ratio for ratio, _ in found)
    print(f"worst ratio {worst:.3f} ({where}), median {median:.3f}, {len(found)} reports")


if __name__ == "__main__":
    main()
