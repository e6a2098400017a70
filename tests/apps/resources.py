"""Files that cannot be written, memory, timers and descriptors that are not there, threads without number: the program is what it is
without Refrain, and what is lost is said once."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Callable

from refrain_testing import FULL, PROGRAMS, REFRAIN, Outcome, Report, TestCase, clean_environment

PROGRAM = PROGRAMS / "resources"
RIGHT = (6, b"as without Refrain\n")


class Resources(TestCase):
    def experiment_of(self, name: str) -> Path:
        return self.directory / f"experiment-{name}"

    def state(self, experiment: Path) -> str:
        """What the report says of it, "" when there is none. It ends well or says why not, in one line."""
        done = subprocess.run([REFRAIN, "report", experiment], capture_output=True, env=clean_environment(), timeout=60)
        if done.returncode == 0:
            return str(Report(experiment).data["experiment"]["state"])
        self.assertEqual((2, 1), (done.returncode, done.stderr.count(b"\n")), done.stderr)
        return ""

    def failing(self, which: str, first: int, how: str, env: dict[str, str] | None = None) -> tuple[Outcome, str, int]:
        """The program in which such calls fail; what the report says, and how many such calls there were."""
        experiment = self.experiment_of(f"{which}-{first}-{how}")
        count = self.directory / f"count-{which}-{first}-{how}"
        outcome = self.plain([PROGRAMS / "fail_call", which, first, how, count, REFRAIN, "exec", "--", PROGRAM, "plain"],
                             {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)} | (env or {}))
        if outcome.code == 125:
            self.skipTest(f"no seccomp filters here: {outcome.stderr}")
        self.assertEqual(RIGHT, (outcome.code, outcome.stdout), (which, first, how, outcome.stderr))
        outcome.experiment = experiment
        return outcome, self.state(experiment), int(count.read_text())

    def sweep(self, which: str, hows: list[str], step: int, check: Callable[[Outcome, str], None]) -> None:
        """Every such call fails in one run, and in another all from there on."""
        outcome, state, calls = self.failing(which, 0, hows[0])
        self.assertEqual(("complete", ""), (state, outcome.stderr))
        self.assertGreater(calls, 10)
        jobs = [(first, hows[(first + i) % len(hows)] + after) for first in range(1, calls + 1, step)
                for i, after in enumerate(("", "+"))]
        with ThreadPoolExecutor(3) as pool:
            results = list(pool.map(lambda job: (job, self.failing(which, *job)), jobs))
        for (first, how), (outcome, state, _) in results:
            with self.subTest(which=which, first=first, how=how):
                check(outcome, state)

    def test_every_write_fails(self) -> None:
        def check(outcome: Outcome, state: str) -> None:
            said = outcome.stderr.count("refrain:")
            self.assertLessEqual(said, 1, outcome.stderr)
            if state != "complete":
                self.assertEqual(1, said, "it is said")
            if not state and outcome.experiment.exists():
                self.assertEqual(["manifest.json"], os.listdir(outcome.experiment), "nothing half-made is left")

        self.sweep("files", [str(e) for e in (errno.ENOSPC, errno.EROFS, errno.EDQUOT)], 1, check)

    def test_every_piece_of_memory_fails(self) -> None:
        def check(outcome: Outcome, state: str) -> None:
            said = outcome.stderr.count("refrain:")
            self.assertLessEqual(said, 1, outcome.stderr)
            self.assertNotIn("do not match", outcome.stderr, "the marks are right")
            if state != "complete":
                self.assertEqual(1, said, "it is said")

        self.sweep("memory", [str(errno.ENOMEM)], 1 if FULL else 5, check)

    def test_a_write_that_hangs_does_not_keep_the_program_from_its_end(self) -> None:
        for first in (1, 2, 6, 8, 9):
            with self.subTest(first):
                begin = time.monotonic()
                outcome, _, _ = self.failing("files", first, "0", {"REFRAIN_FINALIZE_TIMEOUT": "1"})
                self.assertLess(time.monotonic() - begin, 30)
                self.assertEqual(1, outcome.stderr.count("refrain:"), outcome.stderr)
                self.assertIn("takes longer than REFRAIN_FINALIZE_TIMEOUT", outcome.stderr)

    def test_a_write_that_hangs_and_a_signal(self) -> None:
        """The program dies of it. What it has not written itself by then is lost, as it would be in its last moments."""
        command = [PROGRAMS / "fail_call", "files", 8, 0, self.directory / "count", REFRAIN, "exec", "--", PROGRAM, "plain"]
        experiment = self.experiment_of("hangs")
        running = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.directory,
                                   env=clean_environment({"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)}))
        self.addCleanup(running.kill)
        process = None
        for _ in range(400):  # until it writes its profile
            if (experiment / "profile.refrain.new").exists():
                break
            time.sleep(0.05)
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        (process,) = map(int, children)
        time.sleep(0.2)
        os.kill(process, signal.SIGTERM)
        running.communicate(timeout=20)
        self.assertEqual(-signal.SIGTERM, running.returncode)

    def limited(self, limit: int, value: int, name: str) -> tuple[Outcome, str]:
        experiment = self.experiment_of(f"{name}-{value}")
        command = [REFRAIN, "exec", "--", PROGRAM, "plain"]
        # The limit is the program's: `refrain exec` is one of ours.
        prefix = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit(int(sys.argv[1]), (int(sys.argv[2]),) * 2); "
                  "os.execv(sys.argv[3], sys.argv[3:])", str(limit), str(value)]
        outcome = self.plain([*prefix, *command], {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
        return outcome, self.state(experiment)

    def test_files_of_limited_size(self) -> None:
        for size in (0, 1, 21, 100, 1000, 1500, 2500):
            with self.subTest(size):
                outcome, state = self.limited(resource.RLIMIT_FSIZE, size, "size")
                if not outcome.stdout:
                    continue  # not even the program's own output
                self.assertEqual(RIGHT, (outcome.code, outcome.stdout), outcome.stderr)
                self.assertLessEqual(outcome.stderr.count("refrain:"), 1, outcome.stderr)
                if state != "complete":
                    self.assertEqual(1, outcome.stderr.count("refrain:"), outcome.stderr)

    def test_few_timers_and_descriptors(self) -> None:
        outcome, state = self.limited(resource.RLIMIT_SIGPENDING, 0, "timers")
        self.assertEqual((*RIGHT, "complete"), (outcome.code, outcome.stdout, state), outcome.stderr)
        self.assertEqual(1, Report(self.experiment_of("timers-0")).losses().get("timer_unavailable"))
        for descriptors in (4, 5, 6, 8):
            with self.subTest(descriptors):
                outcome, state = self.limited(resource.RLIMIT_NOFILE, descriptors, "descriptors")
                self.assertEqual(RIGHT, (outcome.code, outcome.stdout), outcome.stderr)
                self.assertEqual(1 if state != "complete" else 0, outcome.stderr.count("refrain:"), outcome.stderr)

    def test_a_small_address_space(self) -> None:
        """From hardly enough for the program on."""
        for mib in (16, 24, 32, 48, 64, 96, 128, 1024):
            with self.subTest(mib):
                outcome, state = self.limited(resource.RLIMIT_AS, mib << 20, "memory")
                if outcome.code in (1, 126, 127) or "shared object" in outcome.stderr or not outcome.stdout:
                    self.assertLess(mib, 128, outcome.stderr)  # the loader, Python or `refrain exec` finds no room
                    continue
                self.assertEqual(RIGHT, (outcome.code, outcome.stdout), outcome.stderr)
                self.assertEqual(1 if state != "complete" else 0, outcome.stderr.count("refrain:"), outcome.stderr)
        self.assertEqual("complete", state)

    def test_threads_without_number(self) -> None:
        """They leave nothing behind, and no tick comes after the last of them."""
        count = 1_000_000 if FULL else 8_000
        command = [PROGRAM, "threads", count]
        outcome = self.measured(command, {"REFRAIN_SAMPLING_FREQUENCY": "250"}, timeout=6000)
        self.assertEqual(6, outcome.code, outcome.stderr)
        grown = outcome.json_lines()[0]
        self.assertEqual(0, grown["descriptors"])
        self.assertLessEqual(grown["mappings"], 8, "pages of threads that have ended")
        self.assertLess(grown["kib"], 2048)
        report = self.report(outcome)
        self.assertEqual("complete", report.data["experiment"]["state"])
        self.assertLessEqual(len(report.locations), 12, "locations are used again")
        self.assertEqual("", outcome.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
