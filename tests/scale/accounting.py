"""Made-up experiments of any size, and programs that are run on them with account of time and memory."""

from __future__ import annotations

import fcntl
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from refrain_testing import BUILD, REFRAIN, TestCase, clean_environment  # noqa: E402

MAKE_EXPERIMENT = Path(os.environ.get("MAKE_EXPERIMENT", BUILD / "tests/bin/make_experiment"))
READ_LOG = Path(os.environ.get("READ_LOG", BUILD / "tests/bin/read_log"))
MIB = 1 << 20
F_SETPIPE_SZ = 1031  # fcntl has it since Python 3.10
LOOK_EACH_S = 0.05


@dataclass
class Usage:
    wall_s: float
    cpu_s: float  # user and system
    resident: int  # bytes, the most at any time
    written: int  # bytes on standard output
    stopped: str = ""  # why it was not let to its end

    def __str__(self) -> str:
        ending = f", stopped: {self.stopped}" if self.stopped else ""
        return (f"{self.wall_s:.2f} s, {self.cpu_s:.2f} s of CPU time, {self.resident / MIB:.0f} MiB resident, "
                f"{self.written:,} bytes written{ending}")


@dataclass
class Bounds:
    """Where a program is stopped that needs far too much, lest it take the machine's memory or hours."""
    wall_s: float = 600
    resident: int = 2048 * MIB


def resident_now(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0  # it has just ended
    return pages * os.sysconf("SC_PAGE_SIZE")


def account(command: Iterable[object], bounds: Bounds = Bounds()) -> Usage:
    """Runs `command`, whose output is counted and thrown away. Raises AssertionError when it fails."""
    words = [str(word) for word in command]
    begin = next_look = time.monotonic()
    written = 0
    stopped = ""
    with tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, env=clean_environment())
        assert running.stdout is not None
        pipe = running.stdout.fileno()
        fcntl.fcntl(pipe, F_SETPIPE_SZ, MIB)
        while not stopped:
            if select.select([pipe], [], [], LOOK_EACH_S)[0]:
                piece = os.read(pipe, MIB)
                if not piece:
                    break
                written += len(piece)
            now = time.monotonic()
            if now < next_look:
                continue
            next_look = now + LOOK_EACH_S
            resident = resident_now(running.pid)
            if resident > bounds.resident:
                stopped = f"at {resident / MIB:.0f} MiB resident"
            elif now - begin > bounds.wall_s:
                stopped = f"after {now - begin:.0f} s"
        if stopped:
            running.kill()
        running.stdout.close()
        _, status, usage = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - begin
        errors.seek(0)
        if running.returncode != 0 and not stopped:
            said = errors.read().decode(errors="replace").strip()
            raise AssertionError(f"{' '.join(words)}: exit {running.returncode}: {said[-500:]}")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, written, stopped)


def best_of(tries: int, once: Callable[[], Usage], good: Callable[[Usage], bool]) -> Usage:
    """Of up to so many runs the one that took least wall time; no more runs than it takes to have a good one."""
    best = once()
    while tries > 1 and not good(best) and not best.stopped:
        best = min(best, once(), key=lambda usage: usage.wall_s)
        tries -= 1
    return best


class ScaleTest(TestCase):
    """Makes experiments on the disk with the project's build directory: the one for temporary files may be memory."""

    def setUp(self) -> None:
        super().setUp()
        for program in (MAKE_EXPERIMENT, READ_LOG):
            if not program.exists():
                self.fail(f"there is no {program}")
        self.on_disk = Path(tempfile.mkdtemp(prefix="scale-", dir=BUILD))
        self.addCleanup(shutil.rmtree, self.on_disk, ignore_errors=True)

    def make(self, name: str, **size: int) -> Path:
        experiment = self.on_disk / name
        options = [word for option, value in size.items() for word in (f"--{option}", value)]
        usage = account([MAKE_EXPERIMENT, experiment, *options])
        bytes_on_disk = sum(file.stat().st_size for file in experiment.iterdir())
        print(f"\n{name}: {size}, {bytes_on_disk / MIB:.0f} MiB, made in {usage.wall_s:.1f} s", flush=True)
        return experiment

    def report(self, experiment: Path, *options: object, bounds: Bounds = Bounds()) -> Usage:
        usage = account([REFRAIN, "report", experiment, *options], bounds)
        print(f"refrain report {' '.join([experiment.name, *map(str, options)])}: {usage}", flush=True)
        return usage
