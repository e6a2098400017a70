"""Makes the experiments of golden_experiments.py with a build of the version that they are to be of.

    tests/apps/make_golden_experiments.py BUILD VERSION

BUILD is the build directory of that version, with the examples. It writes tests/golden/VERSION-complete, of a job that came to its end,
VERSION-killed, of one that was killed with SIGKILL after some snapshots, and in each `said.json`: what the reports of that version say of it.
Two ranks of two threads; the second thread of each follows the first one's iterations. Nothing may stand at these places yet.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from refrain_testing import SOURCE, clean_environment, mpirun

GOLDEN = SOURCE / "tests" / "golden"
SAID = "said.json"
RANKS = 2
# Words of the command line, and the members of the document that are kept; all of them if empty.
VIEWS: dict[str, tuple[str, ...]] = {
    "report --format json": ("totals", "locations"),
    "report --locations --format json": (),
    "report --locations --metric mpi --format json": (),
    "report --iterations --format json": (),
    "report --iterations --metric user --format json": (),
    "report --iterations --metric bytes_sent --format json": (),
    "report --nodes --format json": (),
    "report --communicators --format csv": (),
}
# The experiment of a job that was killed has no names of functions. Reports find them only where its binaries are, so these members differ.
WITH_NAMES = {"callpaths", "findings", "path"}


def document_of(output: str, words: str, is_killed: bool) -> Any:
    """What is compared of the output of a view."""
    if "csv" in words:
        return list(csv.DictReader(io.StringIO(output)))
    document = json.loads(output)
    document = {member: document.get(member) for member in VIEWS[words] or document}
    return without_names(document) if is_killed else document


def without_names(value: Any) -> Any:
    """The value without WITH_NAMES, at any depth."""
    if isinstance(value, dict):
        return {name: without_names(member) for name, member in value.items() if name not in WITH_NAMES}
    return [without_names(element) for element in value] if isinstance(value, list) else value


def environment(**more: str) -> dict[str, str]:
    return clean_environment({"OMP_NUM_THREADS": "2"} | more)


def children_of(process: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def make_complete(refrain: Path, program: Path, target: Path) -> None:
    subprocess.run([refrain, "run", "--experiment", target, "--", *mpirun(RANKS, program, "--size", "24", "--steps", "40")], check=True,
                   env=environment(), cwd=program.parent)


def make_killed(refrain: Path, program: Path, target: Path) -> None:
    """All of it is killed at one moment, when each rank has written two snapshots and events. The steps are long, so that there are few."""
    job = subprocess.Popen(mpirun(RANKS, refrain, "exec", "--", program, "--size", "160", "--steps", "1000000"), cwd=program.parent,
                           env=environment(REFRAIN_EXPERIMENT_DIRECTORY=str(target), REFRAIN_SNAPSHOT="2", REFRAIN_TRACE="all"))
    try:
        snapshots: dict[str, set[int]] = {}
        end = time.monotonic() + 60
        while time.monotonic() < end and (len(snapshots) < RANKS or min(map(len, snapshots.values())) < 2):
            time.sleep(0.05)
            for part in target.glob("part-*.refrain"):
                snapshots.setdefault(part.name, set()).add(part.stat().st_ino)
        if len(snapshots) < RANKS:
            raise SystemExit(f"no snapshots of both ranks in {target}")
    finally:
        os.kill(job.pid, signal.SIGSTOP)  # it would end the other ranks in its own way
        for rank in children_of(job.pid):
            os.kill(rank, signal.SIGKILL)
        job.kill()
        job.wait()
    for unfinished in target.glob("*.new"):
        unfinished.unlink()


def keep_what_is_said(refrain: Path, experiment: Path, is_killed: bool) -> None:
    """Of a copy, to which the reports may add what they like."""
    said = {}
    with tempfile.TemporaryDirectory() as directory:
        copy = Path(shutil.copytree(experiment, Path(directory) / experiment.name))
        for words in VIEWS:
            command, _, options = words.partition(" ")
            done = subprocess.run([refrain, command, copy.name, *options.split()], cwd=directory, capture_output=True, text=True, env=environment())
            said[words] = {"code": done.returncode, "document": document_of(done.stdout, words, is_killed)}
    (experiment / SAID).write_text(json.dumps(said, sort_keys=True) + "\n")


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    build, version = Path(sys.argv[1]).resolve(), sys.argv[2]
    refrain = build / "bin" / "refrain"
    for state in ("complete", "killed"):
        if (GOLDEN / f"{version}-{state}").exists():
            raise SystemExit(f"{GOLDEN / f'{version}-{state}'} is there already")
    with tempfile.TemporaryDirectory() as directory:
        program = Path(shutil.copy2(build / "examples" / "stencil_omp", directory))
        for state, make in (("complete", make_complete), ("killed", make_killed)):
            target = Path(directory) / f"{version}-{state}"
            make(refrain, program, target)
            keep_what_is_said(refrain, target, state == "killed")
            shutil.copytree(target, GOLDEN / target.name)


if __name__ == "__main__":
    main()
