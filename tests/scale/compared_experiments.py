"""Experiments of every kind that `compare.py` looks at: whole programs under both MPIs, threads, a killed job, damaged files,
files of older versions, and made-up jobs of thousands of ranks. A kind whose program is not built or not installed is left
out, and named."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, EXAMPLES, MPIS, PROGRAMS, SOURCE, clean_environment, mpiexec  # noqa: E402

MAKE_EXPERIMENT = Path(os.environ.get("MAKE_EXPERIMENT", BUILD / "tests/bin/make_experiment"))
MELT = Path("/usr/share/lammps/examples/melt/in.melt")
LONGEST_RUN_S = 300
EVENTS = {"REFRAIN_TRACE": "all"}
TIMES = "times"  # a file that a program writes into its working directory


@dataclass
class Run:
    """One measured run of a program."""

    name: str
    program: Path
    words: tuple[object, ...] = ()
    ranks: int = 2
    mpi: str = "openmpi"
    options: dict[str, str] = field(default_factory=dict)


def runs() -> list[Run]:
    """The programs; which of them exist is looked at when they are started."""
    found = [Run(name, EXAMPLES / name, words, 4) for name, words in
             [("stencil", ("--steps", 60)), ("particles", ("--steps", 20)), ("wave", ("--steps", 200)), ("drift", ("--steps", 200))]]
    found.append(Run("stencil-again", EXAMPLES / "stencil", ("--steps", 60, "--imbalance", 0), 4))
    found.append(Run("openmp", EXAMPLES / "stencil_omp", ("--steps", 40), 2, options={"OMP_NUM_THREADS": "2"}))
    found.append(Run("events-of-all", EXAMPLES / "drift", ("--steps", 60), 4, options=EVENTS))
    if lammps := shutil.which("lmp"):
        found.append(Run("lammps", Path(lammps), ("-in", MELT, "-log", "none")))
    for mpi in MPIS:
        found.append(Run(f"late-sender-{mpi}", PROGRAMS / f"analyze_waits_{mpi}", ("recv", 40, 0.005, TIMES, "marked"), 2, mpi, EVENTS))
        found.append(Run(f"collectives-{mpi}", PROGRAMS / f"analyze_waits_{mpi}", ("allreduce", 40, 0.002, TIMES), 2, mpi))
        found.append(Run(f"windows-{mpi}", PROGRAMS / f"mpi_windows_{mpi}", (), 2, mpi))
        found.append(Run(f"threads-{mpi}", PROGRAMS / f"analyze_threads_{mpi}", ("uneven", 40, 0.001, 0.01), 1, mpi))
        found.append(Run(f"followers-{mpi}", PROGRAMS / f"followers_{mpi}", ("alternate", 200, 5), 2, mpi))
    return found


# Name, and how the job is made up. The largest has as many ranks as fit a test: what is compared is each figure of it.
MADE_UP = {"small-job": (70, 60, 8, 3000, 2), "long-job": (4, 20, 16, 50_000, 1), "wide-job": (4096, 60, 4, 64, 1)}
# Name, the experiment that is copied, the file, and which share of it lies before the byte that is turned over.
DAMAGE = [(f"damaged-{file.partition('.')[0]}-{share:.2f}", source, file, share)
          for source, file, shares in [("stencil", "profile.refrain", (0.001, 0.05, 0.3, 0.6, 0.95)),
                                       ("events-of-all", "events-0.refrain", (0.1, 0.7))] for share in shares]


def measured(refrain: Path, run: Run, directory: Path) -> str:
    """Makes the experiment; returns why there is none."""
    if not run.program.exists():
        return f"there is no {run.program}"
    environment = clean_environment({"REFRAIN_EXPERIMENT_DIRECTORY": str(directory / run.name)} | run.options)
    command = [refrain, "run", "--", *mpiexec(run.mpi, run.ranks, run.program, *run.words)]
    done = subprocess.run(list(map(str, command)), env=environment, cwd=directory, capture_output=True, timeout=LONGEST_RUN_S)
    return "" if (directory / run.name).is_dir() else f"exit {done.returncode}, and no experiment"


def descendants(process: int) -> list[int]:
    """The process and all below it, those below first."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass  # it has just ended
    return [below for child, parent in parents.items() if parent == process for below in descendants(child)] + [process]


def killed(refrain: Path, directory: Path) -> str:
    """A job that ends by SIGKILL when both ranks have written a snapshot."""
    experiment = directory / "killed"
    program = EXAMPLES / "drift"
    if not program.exists():
        return f"there is no {program}"
    environment = clean_environment({"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SNAPSHOT": "1"})
    command = [refrain, "run", "--", *mpiexec("openmpi", 2, program, "--steps", 1_000_000)]
    with subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as running:
        deadline = time.monotonic() + 60
        while len(list(experiment.glob("part-*.refrain"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in descendants(running.pid):  # ranks have process groups of their own
            os.kill(process, signal.SIGKILL)
    return "" if experiment.is_dir() else "no experiment"


def made_up(name: str, directory: Path) -> str:
    if not MAKE_EXPERIMENT.exists():
        return f"there is no {MAKE_EXPERIMENT}"
    sizes = zip(("--ranks", "--paths", "--clusters", "--iterations", "--threads"), map(str, MADE_UP[name]))
    done = subprocess.run([str(MAKE_EXPERIMENT), str(directory / name), *(word for pair in sizes for word in pair)],
                          capture_output=True, text=True, env=clean_environment())
    return done.stderr.strip() if done.returncode else ""


def damaged(name: str, source: str, file: str, share: float, directory: Path) -> str:
    """A copy of an experiment with one byte turned over."""
    if not (directory / source / file).exists():
        return f"{source} has no {file}"
    shutil.copytree(directory / source, directory / name)
    path = directory / name / file
    data = bytearray(path.read_bytes())
    data[int(share * len(data))] ^= 16
    path.write_bytes(data)
    return ""


def cut_short(directory: Path) -> str:
    """A file that ends early, as on a full disk."""
    if not (directory / "stencil").is_dir():
        return "stencil is missing"
    shutil.copytree(directory / "stencil", directory / "cut-short")
    path = directory / "cut-short" / "profile.refrain"
    os.truncate(path, path.stat().st_size // 2)
    return ""


def make_all(refrain: Path, directory: Path) -> tuple[list[Path], dict[str, str]]:
    """Every experiment, and by name why some are missing."""
    missing: dict[str, str] = {}

    def keep(name: str, why: str) -> None:
        if why:
            missing[name] = why

    for run in runs():
        keep(run.name, measured(refrain, run, directory))
    keep("killed", killed(refrain, directory))
    for name in MADE_UP:
        keep(name, made_up(name, directory))
    for name, source, file, share in DAMAGE:
        keep(name, damaged(name, source, file, share, directory))
    keep("cut-short", cut_short(directory))
    for old in sorted((SOURCE / "tests" / "golden").iterdir()):
        shutil.copytree(old, directory / old.name)
    return sorted(path for path in directory.iterdir() if path.is_dir()), missing
