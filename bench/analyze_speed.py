"""Runs `mpirun -n N refrain-analyze` with different numbers of processes in turn. Prints the median times and speedups.

    bench/analyze_speed.py EXPERIMENT|ARCHIVE [--build BUILD] [--runs 7] [--processes 1,2]"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--processes", default="1,2")
    given = parser.parse_args()
    command = [(given.build / "bin" / "refrain-analyze").absolute(), given.trace.resolve(), "--format", "csv"]
    sizes = [int(size) for size in given.processes.split(",")]
    times: dict[int, list[float]] = {size: [] for size in sizes}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(given.runs):
            for size in sizes:
                begin = time.monotonic()
                subprocess.run(["mpirun.openmpi", "--oversubscribe", "-n", str(size), *command], check=True, cwd=scratch,
                               stdout=subprocess.DEVNULL)
                times[size].append(time.monotonic() - begin)
    first = statistics.median(times[sizes[0]])
    for size in sizes:
        taken = statistics.median(times[size])
        print(f"{size} processes: {taken:.2f} s ({min(times[size]):.2f} to {max(times[size]):.2f}), {first / taken:.2f} times as fast")


if __name__ == "__main__":
    main()
