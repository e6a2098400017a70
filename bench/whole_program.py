#!/usr/bin/env python3
"""Measures whole programs with and without Refrain in turn on the same machine. Usage: whole_program.py BUILD [NAME...]

Names: mpi_call cold_calls fortran_call requests dilation memory finalize iterations iteration_files, and dilation_of_runs,
which runs only if it is named. Prints a row of a Markdown table for each figure, with its bound.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
BIN = BUILD / "bin"
REFRAIN = BIN / "refrain"
FULL = bool(os.environ.get("REFRAIN_BENCH_FULL"))


def environment(experiment: Path | None, **options: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")}
    env |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_btl": "self,vader",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
    if experiment:
        env["REFRAIN_EXPERIMENT_DIRECTORY"] = str(experiment)
    return env | {f"REFRAIN_{k}": v for k, v in options.items()}


def run(ranks: int, command: list[str], measured: bool, work: Path, extra: dict[str, str] | None = None,
        **options: str) -> tuple[str, str]:
    """Returns the standard output and standard error of a run. Adds `extra` to the environment, and `options` as REFRAIN_*."""
    launch = ["mpirun.openmpi", "-n", str(ranks), *command]
    experiment = Path(tempfile.mkdtemp(dir=work)) / "experiment"
    if measured:
        launch = [str(REFRAIN), "run", "--", *launch]
    done = subprocess.run(launch, env=environment(experiment if measured else None, **options) | (extra or {}), cwd=work, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(launch)}: exit {done.returncode}: {done.stderr[-500:]}")
    return done.stdout, done.stderr


def row(figure: str, measured: str, bound: str, holds: bool) -> None:
    print(f"| {figure} | {measured} | {bound} | {'yes' if holds else '**no**'} |", flush=True)


def mpi_call(work: Path) -> None:
    for depth, bound in ((10, 100), (40, 150), (200, 300)):
        pairs = []
        for _ in range(5):
            bare = float(run(1, [str(BUILD / "bench/null_call"), str(depth)], False, work)[0])
            with_refrain = float(run(1, [str(BUILD / "bench/null_call"), str(depth)], True, work)[0])
            pairs.append(with_refrain - bare)
        added = statistics.median(pairs)
        row(f"added per MPI call, depth {depth}", f"{added:.0f} ns ({min(pairs):.0f} to {max(pairs):.0f})", f"<= {bound} ns",
            added <= bound)


def cold_calls(work: Path) -> None:
    """The time that Refrain adds to a call, at the end of an iteration and by a sample, after the program has touched
    memory: medians of three runs, each of which measures operations with and without Refrain in turn (programs/cold.c)."""
    program, signal = str(BUILD / "bench/cold"), "60"
    for depth in (5, 20):
        for mebibytes, rounds in ((0, 20000), (4, 1500), (32, 300)):
            command = [program, str(depth), str(mebibytes * 1024), str(rounds)]
            figures: list[list[float]] = []
            for _ in range(3):
                # Samples and calls leave the caches in different states: one run without samples, then one with them.
                quiet = list(map(float, run(1, command, True, work, SAMPLING_FREQUENCY="0")[0].split()))
                ticks = list(map(float, run(1, [*command, signal], True, work, SAMPLING_SIGNAL=signal,
                                            SAMPLING_FREQUENCY="10000")[0].split()))
                figures.append([quiet[0] - quiet[2], quiet[1] - quiet[3], *quiet[4:6], ticks[6] - ticks[8], ticks[7] - ticks[9]])
            for name, at in (("added to an MPI call", 0), ("the end of an iteration", 2),
                             ("a sample, beyond an empty signal handler", 4)):
                median, high = (statistics.median(f[at + i] for f in figures) for i in (0, 1))
                spread = [f[at] for f in figures]
                row(f"{name}, {depth} frames, after {mebibytes} MiB of other work",
                    f"{median:,.0f} ns ({min(spread):,.0f} to {max(spread):,.0f}), 90th percentile {high:,.0f} ns", "", True)


def requests(work: Path) -> None:
    """Calls with 1, 8 and 64 requests at once. The bound is 100 ns per call and 40 ns per request beyond the call itself."""
    for count in (1, 8, 64):
        added: dict[str, list[float]] = {}
        for _ in range(5):
            times = [dict(line.split() for line in run(1, [str(BUILD / "bench/requests"), str(count)], measured, work)[0].splitlines())
                     for measured in (False, True)]
            for call in times[0]:
                added.setdefault(call, []).append(float(times[1][call]) - float(times[0][call]))
        for call, values in added.items():
            bound = 100 + 40 * (count if "Waitall" in call else 1)
            median = statistics.median(values)
            row(f"added to {call}, {count} at once",
                f"{median:.0f} ns ({min(values):.0f} to {max(values):.0f})", f"<= {bound} ns", median <= bound)


def fortran_call(work: Path) -> None:
    """The time that Refrain adds to a Fortran call beyond the time that it adds to the same call from C."""
    names = ["null_call", "null_call_mpif_h", "null_call_use_mpi_f08"]
    if not all((BUILD / "bench" / name).exists() for name in names):
        return
    beyond: dict[str, list[float]] = {name: [] for name in names[1:]}
    for _ in range(7):
        added = {name: float(run(1, [str(BUILD / "bench" / name), "10"], True, work)[0]) -
                       float(run(1, [str(BUILD / "bench" / name), "10"], False, work)[0]) for name in names}
        for name in names[1:]:
            beyond[name].append(added[name] - added["null_call"])
    for name, figures in beyond.items():
        median = statistics.median(figures)
        row(f"added per Fortran call ({name.removeprefix('null_call_')}) beyond the same call from C",
            f"{median:.0f} ns ({min(figures):.0f} to {max(figures):.0f})", "<= 20 ns", median <= 20)


PARTICLES = [str(BUILD / "examples/particles"), "--imbalance", "0", "--steady", "--time"]


def dilation(work: Path) -> None:
    """Compares steps of one run with the sampling signal unblocked and blocked (programs/step_toggle.c); adds the MPI calls.

    The duration of a step varies between runs by more than the measured effect, but not within a run.
    """
    steps = 16000 if FULL else 4000
    program = [*PARTICLES, "--particles", "1000", "--steps", str(steps)]
    toggle = {"LD_PRELOAD": str(BUILD / "bench/step_toggle.so"), "TOGGLE_SIGNAL": "60"}
    call_ns = float(run(1, [str(BUILD / "bench/null_call"), "10"], True, work)[0])  # includes the bare call: an upper bound
    for frequency, bound in (("100", 0.2), ("1000", 0.5)):
        said = run(1, program, True, work, toggle, SAMPLING_SIGNAL="60", SAMPLING_FREQUENCY=frequency)[1]
        numbers = re.search(r"seconds ([0-9.]+) [0-9.]+ standard_error_of_ratio_percent ([0-9.]+) ratio_percent ([-0-9.]+)", said)
        step_s, error, ratio = map(float, numbers.groups())
        ratio += 100 * call_ns * 1e-9 / step_s  # one MPI call per step
        row(f"dilation of the particles example at {frequency} Hz", f"{ratio:+.2f} % (standard error {error:.2f})", f"<= {bound} %",
            ratio <= bound)


def dilation_of_runs(work: Path) -> None:
    """Compares whole runs with and without Refrain in turn. This includes all costs, but the error is larger than the bound."""
    program = [*PARTICLES, "--particles", "4000", "--steps", "30"]
    rounds = int(os.environ.get("REFRAIN_BENCH_ROUNDS", 60))
    for frequency in ("100", "1000"):
        ratios = []
        for i in range(rounds):
            order = (False, True) if i % 2 else (True, False)  # neither side always comes first
            seconds = {}
            for m in order:
                said = run(1, program, m, work, **({"SAMPLING_FREQUENCY": frequency} if m else {}))[1]
                seconds[m] = float(re.search(r"loop_cpu_s ([0-9.]+)", said).group(1))
            ratios.append(100 * (seconds[True] / seconds[False] - 1))
        median = statistics.median(ratios)
        # Standard error of the median, from the median deviation, which a few disturbed runs do not affect.
        spread = 1.4826 * statistics.median(abs(r - median) for r in ratios)
        error = 1.2533 * spread / len(ratios) ** 0.5
        row(f"the same by {rounds} pairs of runs at {frequency} Hz", f"{median:+.2f} % (standard error {error:.2f})", "", True)


def memory(work: Path) -> None:
    calls = 100_000_000 if FULL else 10_000_000
    before, after = map(int, run(1, [str(BUILD / "bench/soak"), str(calls)], True, work, SAMPLING_FREQUENCY="0")[0].split())
    row(f"resident set over {calls:.0e} MPI calls in 1024 call paths, no samples", f"{before} KiB, then {after} KiB", "flat (4 KiB)", after - before <= 4)
    before, after = map(int, run(1, [str(BUILD / "bench/soak"), str(calls)], True, work)[0].split())
    row("the same with samples", f"{before} KiB, then {after} KiB", "flat (64 KiB)", after - before <= 64)


def finalize(work: Path) -> None:
    durations = {}
    for measured in (False, True, False, True, False, True):
        times = Path(tempfile.mkdtemp(dir=work)) / "times"
        run(64, [str(BUILD / "bench/finalize"), "500", str(times)], measured, work)
        ends = [tuple(map(float, line.split())) for line in times.read_text().splitlines()]
        durations.setdefault(measured, []).append(max(e for _, e in ends) - max(b for b, _ in ends))
    added = statistics.median(durations[True]) - statistics.median(durations[False])
    row("finalize beyond MPI_Finalize, 64 ranks on this machine, 500 call paths", f"{added:.2f} s", "<= 0.5 s", added <= 0.5)


def iterations(work: Path) -> None:
    """The time that Refrain adds to iterations of 100 us: from empty iterations, where the difference is not small
    compared with the total; and from pairs of whole runs whose iterations do work."""
    program, count = str(BUILD / "bench/iterations"), 100_000

    def cpu_us(measured: bool, amount: int, paths: int, **options: str) -> float:
        return float(run(1, [program, str(count), str(amount), str(paths)], measured, work, **options)[0])

    for paths, bound in ((1, 1.0), (30, 100.0)):
        added = [cpu_us(True, 0, paths) - cpu_us(False, 0, paths) for _ in range(7)]
        median = statistics.median(added)
        row(f"added to an iteration with {paths} MPI calls (and their call paths), MPI calls included",
            f"{median:.2f} us ({min(added):.2f} to {max(added):.2f}): {median:.2f} % of 100 us",
            "<= 1 %" if paths == 1 else "", median <= bound)
    amount = int(20_000 * 100 / cpu_us(False, 20_000, 1))
    ratios = []
    for _ in range(15 if FULL else 5):
        bare, with_refrain = cpu_us(False, amount, 1), cpu_us(True, amount, 1)
        ratios.append(100 * (with_refrain / bare - 1))
    error = statistics.stdev(ratios) / len(ratios) ** 0.5
    row(f"the same by {len(ratios)} pairs of runs of 10^5 iterations of {bare:.0f} us",
        f"{statistics.mean(ratios):+.2f} % (standard error {error:.2f})", "<= 1 %", statistics.mean(ratios) <= 1 + 2 * error)


def iteration_files(work: Path) -> None:
    """The size of a profile of 1,300 iterations with 64 clusters, compared with one in which every iteration is a cluster;
    for a program with few call paths to MPI and for one with the call paths of PEPC in Table I of the paper."""
    ranks, steps = (64, 1300) if FULL else (8, 1300)
    programs = {"stencil": [str(BUILD / "examples/stencil"), "--size", "64", "--steps", str(steps)],
                "table_shape": [str(BUILD / "bench/table_shape"), str(steps), "1000"]}
    for name, program in programs.items():
        size = {}
        for clusters in (64, 4096):
            experiment = Path(tempfile.mkdtemp(dir=work)) / "experiment"
            command = [str(REFRAIN), "run", "--", "mpirun.openmpi", "-n", str(ranks), *program]
            done = subprocess.run(command, env=environment(experiment, CLUSTERS=str(clusters), MEMORY="1G"), cwd=work, text=True,
                                  capture_output=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-500:]}")
            size[clusters] = (experiment / "profile.refrain").stat().st_size
        share = 100 * size[64] / size[4096]
        row(f"profile of {steps} iterations of {name} on {ranks} ranks, 64 clusters",
            f"{size[64]:,} of {size[4096]:,} bytes: {share:.1f} %", "<= 8 %", share <= 8)


def main() -> None:
    wanted = sys.argv[2:] or ["mpi_call", "cold_calls", "fortran_call", "requests", "dilation", "memory", "finalize", "iterations", "iteration_files"]
    print("| figure | measured | must reach | holds |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        for name in wanted:
            globals()[name](Path(directory))


if __name__ == "__main__":
    main()
