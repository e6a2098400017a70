"""Runs real programs with and without Refrain and reads what it reports. Shared by the tests of this folder.

The build directory comes from the environment variable BUILD_DIR (ctest sets it), else it is `build` of the sources.
FULL_TESTS=1 asks for the long form of a test. TEST_PART=beside asks for what may run beside other tests, TEST_PART=alone for
what must not (`alone`); without it a test runs whole.
"""

from __future__ import annotations

import json
import math
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Iterable, TypeVar

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD_DIR", SOURCE / "build")).resolve()
REFRAIN = BUILD / "bin" / "refrain"
EXAMPLES = BUILD / "examples"
PROGRAMS = BUILD / "tests" / "apps"
FULL = os.environ.get("FULL_TESTS", "") not in ("", "0", "OFF", "off")
PART = os.environ.get("TEST_PART", "")

OPEN_MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "self,vader",
    "OMP_WAIT_POLICY": "passive",
}


def clean_environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """The caller's environment without any REFRAIN_ variable, plus what Open MPI needs here, plus `extra`."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_")}
    return env | OPEN_MPI_ENVIRONMENT | (extra or {})


class Others:
    """What processes other than this one and its children take of the machine, from now on."""

    def __init__(self) -> None:
        self._begin, self._busy_s = time.monotonic(), self._busy_s_now()

    @staticmethod
    def _busy_s_now() -> float:
        """Since the machine was started, without children of this process that have ended."""
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        user, nice, system, _, _, interrupts, soft, stolen = map(int, fields)
        return (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])

    def were_idle(self) -> bool:
        """They had less than a twentieth of a core."""
        return self._busy_s_now() - self._busy_s < 0.05 * (time.monotonic() - self._begin)


def stands_still() -> bool:
    """Two processes that do nothing but look at the clock for a second miss more than a hundredth of it: a virtual machine that its host does not run
    counts that as CPU time of whoever computes."""
    look = """import time
lost, last = 0, time.monotonic()
end = last + 1
while last < end:
    now = time.monotonic()
    if now - last > 1e-4: lost += now - last
    last = now
print(lost)"""
    both = [subprocess.Popen([sys.executable, "-c", look], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    return max(float(process.communicate()[0]) for process in both) > 0.01


def mpirun(ranks: int, *command: str | Path) -> list[str]:
    return ["mpirun.openmpi", "-n", str(ranks), *map(str, command)]


MPIS = [mpi for mpi in ("openmpi", "mpich") if shutil.which(f"mpiexec.{mpi}")
        and any(BUILD.rglob(f"librefrain-{mpi}.so"))]


# One without a share is of waiting that durations of calls or single messages tell of.
FINDING = r"refrain: (\d+\.\d( \+- \d+\.\d)? % of the time: |.*, as (durations of calls|single messages) tell)"


def mpiexec(mpi: str, ranks: int, *command: object) -> list[str]:
    return [f"mpiexec.{mpi}", "-n", str(ranks), *map(str, command)]


def without_results(stderr: str) -> tuple[str, str]:
    """What a command printed, and the line of `refrain run` about its results; without those about what costs most."""
    lines = stderr.splitlines(keepends=True)
    if not lines or not re.match("refrain: (no )?results", lines[-1]):
        return stderr, ""
    last = lines.pop().strip()
    while lines and re.match(FINDING, lines[-1]):
        lines.pop()
    return "".join(lines), last


def python_with_otf2() -> str | None:
    """Debian's has the package; the one that runs this may be another."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import otf2"], capture_output=True).returncode == 0:
            return python
    return None


class Outcome:
    """How a program ended: exit status, stdout, stderr, and its experiment directory when there is one. What `refrain run` says
    of the results at the end is `last_line`, and not in stderr."""

    def __init__(self, code: int, stdout: bytes, stderr: bytes, experiment: Path | None = None):
        self.code, self.stdout, self.experiment = code, stdout, experiment
        self.whole_stderr = stderr.decode(errors="replace")
        self.stderr, self.last_line = without_results(self.whole_stderr)

    def json_lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stdout.decode().splitlines() if line.startswith("{")]


class Report:
    """`refrain report --format json` of an experiment."""

    def __init__(self, experiment: Path, *options: str):
        command = [str(REFRAIN), "report", str(experiment), "--format", "json", *options]
        done = subprocess.run(command, capture_output=True, env=clean_environment(), timeout=120)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.decode(errors='replace')}")
        self.data: dict[str, Any] = json.loads(done.stdout)
        self.totals: dict[str, Any] = self.data["totals"]
        self.locations: list[dict[str, Any]] = self.data["locations"]
        self.callpaths: list[dict[str, Any]] = self.data["callpaths"]

    def sum(self, column: str, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        return sum(c[column] for c in self.callpaths if wanted(c))

    def of_function(self, name: str, column: str) -> Any:
        """Sum over the call paths that end in `name`; right for inclusive columns when `name` does not recur."""
        return self.sum(column, lambda c: bool(c["path"]) and c["path"][-1] == name)

    def below(self, name: str, column: str) -> Any:
        """Sum over the call paths with `name` somewhere in them; for exclusive columns and counts."""
        return self.sum(column, lambda c: name in c["path"])

    def of_kind(self, kind: str, column: str) -> Any:
        return self.sum(column, lambda c: c["kind"] == kind)

    def special(self, label: str) -> float:
        """Exclusive seconds of a pseudo path such as "(blocked)"."""
        return self.sum("exclusive_s", lambda c: bool(c["path"]) and c["path"][-1] == label)

    def off_cpu(self) -> float:
        """Seconds of user code in which threads did not run."""
        return sum(map(self.special, ("(waited for a core)", "(blocked)", "(not on CPU)")))

    def losses(self) -> dict[str, float]:
        """Those that happened. A few of the kernel's ticks may find nobody, as when a virtual machine stands still: up to
        five, and the tick after them is late."""
        losses = {k: v for k, v in self.totals.get("losses", {}).items() if v}
        if losses.get("cpu_time_without_ticks", 1) > 0.02:
            return losses
        return {k: v for k, v in losses.items() if k not in ("cpu_time_without_ticks", "tick_late")}

    def losses_of_calls(self) -> dict[str, float]:
        """Losses of calls and marks. What a single sample may lose depends on where a tick finds the thread: inside of
        Refrain, or in a stub of the dynamic linker or of MPI that has no unwind tables."""
        of_samples = ("tick_", "truncated_", "cpu_time_without_ticks")
        return {name: n for name, n in self.losses().items() if not name.startswith(of_samples)}


def run_to_the_end(command: list[str], timeout: float, env: dict[str, str],
                   directory: Path | None = None) -> tuple[int, bytes, bytes]:
    """Exit status, stdout and stderr. What lasts too long is told to end, so that launchers take their ranks along."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                          cwd=directory) as running:
        try:
            out, err = running.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            running.terminate()
            try:
                running.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                running.kill()
            raise
        return running.returncode, out, err


Result = TypeVar("Result")


def patiently(run: Callable[[], Result]) -> Result:
    """For programs that start processes through MPI, up to four times: Open MPI 4.1 hangs in that now and then, also
    without Refrain (once in 25 runs beside three busy processes on two cores, 9 times in 23 on one core)."""
    for _ in range(3):
        try:
            return run()
        except subprocess.TimeoutExpired:
            print("tried again: processes that start processes hang", file=sys.stderr)
    return run()


Done = tuple[int, str, str]  # exit status, stdout, stderr


def finish(processes: list[subprocess.Popen[str]]) -> list[Done]:
    """Of processes that work together, once all have ended."""
    ends = []
    for process in processes:
        try:
            out, err = process.communicate(timeout=200)
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            raise
        ends.append((process.returncode, out, err))
    return ends


def on_a_terminal(command: Iterable[str | Path], columns: int) -> str:
    """What `command` prints on a terminal of this width; it must end with 0."""
    main, other = pty.openpty()
    environment = clean_environment() | {"COLUMNS": str(columns), "TERM": "dumb", "PAGER": "cat", "REFRAIN_PAGER": "cat"}
    with subprocess.Popen(list(map(str, command)), stdout=other, stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            text += part
    os.close(main)
    if process.returncode != 0:
        raise AssertionError(f"{command} ended with {process.returncode}")
    return text.decode()


class Disturbed(Exception):
    """The program's own clock says that others took the machine meanwhile: a check that fails then says nothing."""


class NotPlanted(Exception):
    """The program's own clock says that a run did not have the times that were to be measured: whatever was measured says nothing."""


def recorded_files(experiment: Path) -> list[str]:
    """Those that the program has written: without what tools have added, which are names and what was found."""
    return sorted(path.name for path in experiment.iterdir()
                  if path.name != "names.refrain" and not path.name.startswith(("analysis-", "functions-", "pools-")))


def alone(test: Any) -> Any:
    """Marks a test, or all tests of a class, in a file of which ctest runs the rest beside other tests (SPLIT of `app_test`, tests/CMakeLists.txt):
    this one compares times with truth, so nothing else may run meanwhile."""
    test.runs_alone = True
    return test


class TestCase(unittest.TestCase):
    """A test with a scratch directory of its own."""

    maxDiff = None

    def setUp(self) -> None:
        runs_alone = any(getattr(of, "runs_alone", False) for of in (type(self), getattr(self, self._testMethodName)))
        if PART and runs_alone != (PART == "alone"):
            self.skipTest("it is of the other part")
        if not REFRAIN.exists():
            self.fail(f"there is no {REFRAIN}")
        self.directory = Path(tempfile.mkdtemp(prefix="app-test-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self._runs = 0

    def plain(self, command: Iterable[str | Path], env: dict[str, str] | None = None, timeout: float = 120) -> Outcome:
        """Runs `command` without Refrain."""
        return Outcome(*run_to_the_end(list(map(str, command)), timeout, clean_environment(env), self.directory))

    def undisturbed(self, check: Callable[[], None], fair_runs: int = 1) -> None:
        """A check of times that are true only where nobody else uses the machine. One that fails while other processes take more than a twentieth of
        a core, a core stands still, the program was disturbed by its own clock, or nothing was planted says nothing and is repeated; of the others as
        many as `fair_runs` have to fail."""
        runs = not_planted = 5 + fair_runs
        for _ in range(runs):
            others = Others()
            try:
                check()
                return
            except NotPlanted as what:
                not_planted -= 1
                if not_planted == 0:
                    self.fail(f"in each of {runs} runs: {what}")
            except Disturbed:
                pass
            except AssertionError:
                fair_runs -= others.were_idle() and not stands_still()
                if fair_runs == 0:
                    raise
        self.skipTest("other processes use this machine")

    def assert_planted(self, seconds: float, least: float) -> None:
        """That the program waited for as long as it was made to, by its own clock; for checks that are `undisturbed`."""
        if seconds <= least:
            raise NotPlanted(f"{seconds} s are planted, not {least} s")

    def measured(self, command: Iterable[str | Path], env: dict[str, str] | None = None,
                 timeout: float = 120, options: Iterable[str] = ()) -> Outcome:
        """Runs `command` under `refrain run`; the experiment directory is a new one in the scratch directory."""
        self._runs += 1
        experiment = self.directory / f"experiment-{self._runs}"
        outcome = self.plain([REFRAIN, "run", *options, "--", *command],
                             {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)} | (env or {}), timeout)
        outcome.experiment = experiment
        return outcome

    def with_all_events(self, *command: object) -> Path:
        """The experiment of two ranks of `command`."""
        outcome = self.measured(mpiexec("openmpi", 2, *command), {"REFRAIN_TRACE": "all"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def with_late_senders(self) -> Path:
        """Sends and receives, all of them blocking."""
        return self.with_all_events(PROGRAMS / "analyze_waits_openmpi", "recv", 40, 0.005, self.directory / "times")

    def report(self, outcome: Outcome, *options: str) -> Report:
        assert outcome.experiment is not None
        self.assertTrue(outcome.experiment.is_dir(), f"no experiment; stderr: {outcome.stderr}")
        return Report(outcome.experiment, *options)

    # ---- assertions that many tests share ----

    def assert_same_result(self, plain: Outcome, measured: Outcome) -> None:
        self.assertEqual(plain.code, measured.code, f"exit status; stderr: {measured.stderr}")
        self.assertEqual(plain.stdout, measured.stdout, f"stdout; stderr: {measured.stderr}")

    def assert_time_conserved(self, report: Report) -> None:
        wall = report.totals["wall_s"]
        total = report.sum("exclusive_s", lambda c: True)
        self.assertGreater(wall, 0)
        self.assertLessEqual(abs(total - wall), 1e-6 * wall, f"exclusive_s add up to {total}, wall_s is {wall}")
        self.assertLessEqual(abs(sum(l["wall_s"] for l in report.locations) - wall), 1e-6 * wall)
        negative = [c for c in report.callpaths if c["exclusive_s"] < 0]
        self.assertEqual([], negative, "negative times")

    def assert_near(self, got: float, truth: float, tolerance: float, what: str) -> None:
        self.assertLessEqual(abs(got - truth), tolerance, f"{what}: {got:.6f} s, truth {truth:.6f} s")


def chi_square_tail(value: float, degrees: int) -> float:
    """P(X > value) for a chi-square variable with an even number of degrees of freedom."""
    assert degrees % 2 == 0
    half, term, total = value / 2, 1.0, 1.0
    for k in range(1, degrees // 2):
        term *= half / k
        total += term
    return math.exp(-half) * total
