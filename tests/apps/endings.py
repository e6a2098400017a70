"""Programs that end in every way there is: the end is the program's own, and what was measured until then is there."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from refrain_testing import FULL, PROGRAMS, REFRAIN, Outcome, Report, TestCase, clean_environment

MPIS = [mpi for mpi in ("openmpi", "mpich") if (PROGRAMS / f"endings_{mpi}").exists()]
ROUNDS = 25
SERIAL = PROGRAMS / "endings_serial"


def launcher(mpi: str, ranks: int) -> list[str]:
    return [{"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}[mpi], "-n", str(ranks)]


def without_processes(text: bytes) -> list[bytes]:
    """Lines in an order of their own, without what differs from run to run."""
    return sorted(re.sub(rb"process \d+", b"process N", line) for line in text.splitlines() if line.startswith(b"rank"))


class Endings(TestCase):
    def both(self, command: list[str | Path], env: dict[str, str] | None = None) -> tuple[Outcome, Outcome]:
        """Without and with Refrain, at the same time."""
        with ThreadPoolExecutor() as pool:
            plain = pool.submit(self.plain, command, env)
            measured = self.measured(command, env)
            return plain.result(), measured

    def check(self, outcome: Outcome, state: str) -> Report:
        """The report opens the experiment and says what it is."""
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertEqual(state, report.data["experiment"]["state"])
        return report

    def assert_same_code(self, mpi: str, own: int, plain: Outcome, outcome: Outcome) -> None:
        """`own`: exit status, or number of the signal, of a rank that ends by itself.

        MPICH's launcher says the ranks' states in one, bit by bit, and a signal hides exit statuses. It takes 1 for a
        rank whose connection it sees closed before its end, and kills the other one if that has not ended yet: luck both.
        """
        if mpi == "openmpi" or own == 0:
            self.assertEqual(plain.code, outcome.code)
        else:
            possible = {state | luck for state in (0, own) for luck in (0, 1, signal.SIGKILL)} - {0}
            for code in (plain.code, outcome.code):
                self.assertIn(code, possible)

    def ranks_of(self, report: Report) -> set[int]:
        return {location["rank"] for location in report.locations}

    def assert_silent(self, outcome: Outcome) -> None:
        self.assertNotIn("refrain:", outcome.stderr)


class Serial(Endings):
    """A program without MPI is complete when it ends by its own will."""

    COMPLETE = {"return": 2, "exit": 4, "atexit": 0, "destructor": 0, "library": 0, "thread": 6, "_exit": 5, "_Exit": 7,
                "quick_exit": 8, "term_info": 0}
    INCOMPLETE = {"abort": signal.SIGABRT, "throw": signal.SIGABRT, "segv": signal.SIGSEGV, "bus": signal.SIGBUS,
                  "raise_segv": signal.SIGSEGV, "raise_term": signal.SIGTERM, "raise_hup": signal.SIGHUP,
                  "raise_int": signal.SIGINT, "pipe": signal.SIGPIPE, "term_once": signal.SIGTERM,
                  "term_ignored": signal.SIGTERM, "overflow_alternate": signal.SIGSEGV}
    # What else ends a process by default, of timers, limits, seccomp and programs themselves.
    BY_NUMBER = (signal.SIGXFSZ, signal.SIGALRM, signal.SIGPROF, signal.SIGSYS, signal.SIGRTMIN + 1, *(
        (signal.SIGVTALRM, signal.SIGIO, signal.SIGPWR, signal.SIGXCPU, signal.SIGQUIT, signal.SIGRTMAX) if FULL else ()))
    INCOMPLETE |= {f"raise_{by:d}": by for by in BY_NUMBER}

    def test_endings_by_its_own_will(self) -> None:
        for way, code in self.COMPLETE.items():
            with self.subTest(way):
                plain, outcome = self.both([SERIAL, way, ROUNDS])
                self.assertEqual(code, plain.code)
                self.assert_same_result(plain, outcome)
                self.assertEqual(plain.stderr, outcome.stderr)
                # 50 ms of computing, whatever comes afterwards.
                self.assertGreater(self.check(outcome, "complete").totals["user_s"], 0.049)

    def test_endings_by_a_signal(self) -> None:
        for way, by in self.INCOMPLETE.items():
            with self.subTest(way):
                plain, outcome = self.both([SERIAL, way, ROUNDS])
                self.assertEqual(-by, plain.code)
                self.assertNotIn(b"wrong", outcome.stdout)
                self.assertNotIn(b"not reset", outcome.stdout)
                self.assertEqual((128 + by if outcome.code > 0 else -by, plain.stdout), (outcome.code, outcome.stdout))
                self.assertEqual(plain.stderr, outcome.stderr)
                self.assertGreater(self.check(outcome, "incomplete").totals["user_s"], 0.049)

    def test_the_report_says_so(self) -> None:
        for way, complete in (("exit", True), ("segv", False)):
            outcome = self.measured([SERIAL, way, ROUNDS])
            text = self.plain([REFRAIN, "report", outcome.experiment])
            self.assertEqual(0, text.code, text.stderr)
            self.assertEqual(not complete, b"the experiment is incomplete" in text.stdout, text.stdout)
            self.assertEqual(not complete, b"the data ends 0." in b" ".join(text.stdout.split()), text.stdout)
            self.assertNotIn(b"snapshot", text.stdout)

    def test_what_cannot_be_caught_leaves_the_last_snapshot(self) -> None:
        for way, by in (("overflow", signal.SIGSEGV), ("kill", signal.SIGKILL)):
            with self.subTest(way):
                plain, outcome = self.both([SERIAL, way, ROUNDS])
                self.assertEqual(-by, plain.code)
                self.assertIn(outcome.code, (-by, 128 + by))
                self.assertEqual(plain.stderr, outcome.stderr)
                self.assertFalse(outcome.experiment.exists(), "there was none yet")

    def test_a_core_is_dumped_as_without(self) -> None:
        if Path("/proc/sys/kernel/core_pattern").read_text()[0] in "|/":
            self.skipTest("cores do not go to the working directory here")
        for way in ("segv", "abort"):
            for run in (self.plain, self.measured):
                with self.subTest(way=way, run=run.__name__):
                    for core in self.directory.glob("core*"):
                        core.unlink()
                    outcome = run([SERIAL, way, 1], {"WITH_CORE": "1"})
                    self.assertIn(abs(outcome.code) % 128, (signal.SIGSEGV, signal.SIGABRT))
                    cores = list(self.directory.glob("core*"))
                    self.assertEqual(1, len(cores), "one core")
                    self.assertGreater(cores[0].stat().st_size, 10_000)


class Mpi(Endings):
    """Without MPI_Finalize the experiment is incomplete; all that a rank has done is in it when the rank could write."""

    # The way, the ranks' exit status, and whether MPI is finalized by then.
    BOTH_END = [("return", 2, False), ("exit", 4, False), ("atexit", 0, True), ("destructor", 0, True), ("library", 0, True),
                ("thread", 6, False), ("_exit", 5, False), ("quick_exit", 8, False)]
    # The way of one rank, and its exit status or signal.
    ONE_ENDS = {"abort_mpi": 42, "abort": signal.SIGABRT, "throw": signal.SIGABRT, "segv": signal.SIGSEGV,
                "raise_term": signal.SIGTERM, "error": 6}

    def test_all_ranks_end_without_finalize_or_finalize_late(self) -> None:
        for mpi in MPIS:
            for way, own, complete in self.BOTH_END:
                with self.subTest(mpi=mpi, way=way):
                    plain, outcome = self.both([*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", way, ROUNDS])
                    self.assert_same_code(mpi, own, plain, outcome)
                    # A rank may be killed by the launcher because the other one has ended: what it says depends on luck.
                    if complete:
                        self.assertEqual(without_processes(plain.stdout), without_processes(outcome.stdout))
                    self.assert_silent(outcome)
                    report = self.check(outcome, "complete" if complete else "incomplete")
                    ranks = self.ranks_of(report)
                    self.assertTrue(ranks)
                    if complete or mpi == "openmpi":
                        self.assertEqual({0, 1}, ranks)
                    self.assertEqual(ROUNDS * len(ranks), report.of_function("MPI_Allreduce", "visits"))

    def test_one_rank_ends_and_takes_the_others_with_it(self) -> None:
        for mpi in MPIS:
            for way, own in self.ONE_ENDS.items():
                if mpi == "mpich" and way == "error":
                    continue  # the rank is killed before it says that an error is fatal
                with self.subTest(mpi=mpi, way=way):
                    plain, outcome = self.both([*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", way, ROUNDS, 1])
                    self.assert_same_code(mpi, own, plain, outcome)
                    self.assert_silent(outcome)
                    report = self.check(outcome, "incomplete")
                    ranks = self.ranks_of(report)
                    self.assertIn(1, ranks, "the rank that ended")
                    self.assertEqual(ROUNDS * len(ranks), report.of_function("MPI_Allreduce", "visits"))
                    if mpi == "openmpi":  # sends SIGTERM to the others; MPICH's launcher sends SIGKILL
                        self.assertIn(0, ranks, "the one that waited for it")
                        self.assertEqual(1, report.of_function("MPI_Barrier", "visits"), "the call in which it waited")

    def test_mpi_is_never_initialized_or_late(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi, way="never"):
                plain, outcome = self.both([*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", "never"])
                self.assertEqual((plain.code, plain.stdout), (outcome.code, outcome.stdout))
                self.assert_silent(outcome)
                others = [e for e in self.directory.iterdir() if e.name.startswith(outcome.experiment.name)]
                self.assertEqual(2, len(others), "each rank is a program of its own")
                for experiment in others:
                    report = self.check(Outcome(0, b"", b"", experiment), "complete")
                    self.assertGreater(report.totals["user_s"], 0.29)
            with self.subTest(mpi=mpi, way="late"):
                plain, outcome = self.both([*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", "atexit", ROUNDS],
                                           {"LATE": "3" if FULL else "1"})
                self.assertEqual((plain.code, without_processes(plain.stdout)),
                                 (outcome.code, without_processes(outcome.stdout)))
                report = self.check(outcome, "complete")
                self.assertGreater(report.totals["user_s"], 2 * (3 if FULL else 1), "user code before MPI_Init")
                self.assertEqual(2 * ROUNDS, report.of_function("MPI_Allreduce", "visits"))


class Termination(Endings):
    """SIGTERM, and a second later SIGKILL."""

    def start(self, command: list[str | Path], **env: str) -> tuple[subprocess.Popen[bytes], list[int], list[bytes]]:
        """Starts `command` measured and waits until every rank is ready: their process ids and first lines."""
        self._runs += 1
        self.experiment = self.directory / f"experiment-{self._runs}"
        ranks = int(command[command.index("-n") + 1]) if "-n" in command else 1
        running = subprocess.Popen([str(REFRAIN), "run", "--", *map(str, command)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, cwd=self.directory, stdin=subprocess.DEVNULL, start_new_session=True,
                                   env=clean_environment({"REFRAIN_EXPERIMENT_DIRECTORY": str(self.experiment)} | env))
        self.addCleanup(running.kill)
        processes, lines = [], []
        while len(processes) < ranks:
            line = running.stdout.readline()
            self.assertTrue(line, running.stderr.read() if running.poll() is not None else "")
            lines.append(line)
            if found := re.search(rb"ready, process (\d+)", line):
                processes.append(int(found[1]))
        return running, processes, lines

    def end(self, running: subprocess.Popen[bytes], lines: list[bytes]) -> Outcome:
        out, err = running.communicate(timeout=30)
        return Outcome(running.returncode, b"".join(lines) + out, err, self.experiment)

    def test_its_own_end_is_written_within_half_a_second(self) -> None:
        for way, code, state in (("wait", -signal.SIGTERM, "incomplete"), ("wait_leave", 9, "complete"),
                                 ("wait_exit", 10, "complete"), ("wait_handler", 2, "complete")):
            with self.subTest(way):
                running, (process,), lines = self.start([SERIAL, way, ROUNDS])
                begin = time.monotonic()
                os.kill(process, signal.SIGTERM)
                outcome = self.end(running, lines)
                took = time.monotonic() - begin
                self.assertIn(outcome.code, (code, 128 - code))
                self.assertEqual(way != "wait", b"handler" in outcome.stdout, "the program's own handler ran")
                self.assertLess(took, 0.5 + (1 if way == "wait_handler" else 0))
                self.check(outcome, state)
                self.assert_silent(outcome)

    def test_a_handler_of_the_program_that_lasts_too_long(self) -> None:
        """SIGKILL comes while the program still ends: what there was at SIGTERM is there."""
        for _ in range(10):  # on a busy machine its end may be missed
            running, (process,), lines = self.start([SERIAL, "wait_handler", ROUNDS])
            os.kill(process, signal.SIGTERM)
            while lines[-1] and b"handler" not in lines[-1]:
                lines.append(running.stdout.readline())
            # It writes in the second that its end takes.
            while not (self.experiment / "part-0.refrain").exists() and running.poll() is None:
                time.sleep(0.005)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            outcome = self.end(running, lines)
            if b"ending" not in outcome.stdout:
                break
        self.assertNotIn(b"ending", outcome.stdout)
        self.assertGreater(self.check(outcome, "incomplete").totals["user_s"], 0.049)
        text = self.plain([REFRAIN, "report", outcome.experiment])
        self.assertIn(b"its last snapshot is shown", b" ".join(text.stdout.split()))

    def test_ranks_killed_by_signal(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                command = [*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", "wait", ROUNDS]
                running, processes, lines = self.start(command)
                time.sleep(0.6)
                for process in processes:
                    os.kill(process, signal.SIGTERM)
                outcome = self.end(running, lines)
                report = self.check(outcome, "incomplete")
                ranks = self.ranks_of(report)
                self.assertTrue(ranks)
                if mpi == "openmpi":
                    self.assertEqual({0, 1}, ranks)
                self.assertEqual(ROUNDS * len(ranks), report.of_function("MPI_Allreduce", "visits"))
                self.assertEqual(len(ranks), report.of_function("MPI_Recv", "visits"))
                # A rank may come to the call some time after it has said that it is ready.
                self.assertGreater(report.of_function("MPI_Recv", "inclusive_s"), 0.3 * len(ranks), "while it waited")
                self.assert_silent(outcome)

    def test_the_launcher_is_told_to_end(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi):
                command = [*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", "wait", ROUNDS]
                running, _, lines = self.start(command, REFRAIN_SNAPSHOT="1")
                time.sleep(0.3)
                running.terminate()
                outcome = self.end(running, lines)
                if mpi == "openmpi":  # MPICH's says 0 when ranks take some milliseconds to end, also without Refrain
                    self.assertNotEqual(0, outcome.code)
                self.check(outcome, "incomplete")

    def test_interrupt_from_the_terminal(self) -> None:
        """More ranks than cores: at the first death the launcher kills the others, and all have written before."""
        for mpi in MPIS:
            for _ in range(10 if FULL else 2):
                with self.subTest(mpi):
                    command = [*launcher(mpi, 4), PROGRAMS / f"endings_{mpi}", "wait", ROUNDS]
                    running, _, lines = self.start(command)
                    time.sleep(0.3)
                    os.killpg(running.pid, signal.SIGINT)
                    outcome = self.end(running, lines)
                    if mpi == "openmpi":  # as above
                        self.assertNotEqual(0, outcome.code)
                    self.assertEqual({0, 1, 2, 3}, self.ranks_of(self.check(outcome, "incomplete")))
                    self.assertEqual([], list(outcome.experiment.glob("*.new")))
                    self.assertIn("incomplete", outcome.last_line)

    def test_the_first_snapshot_comes_early(self) -> None:
        """With the usual period, too; without rank 0 nothing is said of its snapshot."""
        for mpi in MPIS[:1]:
            running, processes, lines = self.start([*launcher(mpi, 2), PROGRAMS / f"endings_{mpi}", "malloc_storm", ROUNDS])
            for _ in range(300):
                if len(list(self.experiment.glob("part-*.refrain"))) == 2:
                    break
                time.sleep(0.05)
            for process in processes:
                os.kill(process, signal.SIGKILL)
            outcome = self.end(running, lines)
            self.assertEqual({0, 1}, self.ranks_of(self.check(outcome, "incomplete")))
            said = lambda: b" ".join(self.plain([REFRAIN, "report", outcome.experiment]).stdout.split())
            self.assertIn(b"of rank 0 its last snapshot is shown", said())
            (outcome.experiment / "part-0.refrain").unlink()
            self.assertNotIn(b"snapshot", said())
            self.assertIn(b"no data of rank 0", said())

    def test_a_file_system_that_hangs_keeps_nobody(self) -> None:
        """To open a pipe that nobody reads lasts for ever."""
        for mpi in MPIS[:1]:
            running, (process,), lines = self.start([*launcher(mpi, 1), PROGRAMS / f"endings_{mpi}", "wait", ROUNDS])
            os.mkfifo(self.experiment / "part-0.refrain.new")
            begin = time.monotonic()
            os.kill(process, signal.SIGTERM)
            self.end(running, lines)
            took = time.monotonic() - begin
            self.assertGreater(took, 0.4, "it was waited for")
            self.assertLess(took, 10)

    def test_another_signal_while_it_is_written(self) -> None:
        """A fault that was sent waits for the end of the writing, and nobody waits for himself."""
        for mpi in MPIS[:1]:
            for another in (signal.SIGSEGV, signal.SIGFPE, signal.SIGTERM):
                with self.subTest(another=another.name):
                    running, (process,), lines = self.start([*launcher(mpi, 1), PROGRAMS / f"endings_{mpi}", "wait", ROUNDS])
                    os.mkfifo(self.experiment / "part-0.refrain.new")  # writing lasts as long as it may
                    begin = time.monotonic()
                    os.kill(process, signal.SIGTERM)
                    time.sleep(0.1)
                    os.kill(process, another)
                    self.assertNotEqual(0, self.end(running, lines).code)
                    self.assertLess(time.monotonic() - begin, 10)

    def test_nobody_reads_what_is_said(self) -> None:
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as stderr:
            env = clean_environment({"REFRAIN_EXPERIMENT_DIRECTORY": str(self.directory / "unread"),
                                     "REFRAIN_VERBOSE": "on"})
            done = subprocess.run([str(REFRAIN), "exec", "--", str(SERIAL), "return", str(ROUNDS)], stderr=stderr,
                                  stdout=subprocess.PIPE, env=env, cwd=self.directory, timeout=60)
        self.assertEqual(self.plain([SERIAL, "return", ROUNDS]).code, done.returncode)

    def test_it_comes_anywhere(self) -> None:
        """In malloc, in MPI, in Refrain's own work: each time the program dies of it, and something is written."""
        programs = [SERIAL] + [PROGRAMS / f"endings_{mpi}" for mpi in MPIS]
        count = 120 if FULL else 4
        for i in range(count):
            program = programs[i % len(programs)]
            prefix = [] if program == SERIAL else launcher(MPIS[i % len(programs) - 1], 1)
            running, (process,), lines = self.start([*prefix, program, "malloc_storm", ROUNDS],
                                                    REFRAIN_SAMPLING_FREQUENCY="250")
            time.sleep(0.05 + 0.01 * (i % 7))
            os.kill(process, signal.SIGTERM)
            outcome = self.end(running, lines)
            self.assertNotIn(outcome.code, (0, -signal.SIGSEGV, 128 + signal.SIGSEGV))
            self.assert_silent(outcome)
            self.assertGreater(self.check(outcome, "incomplete").totals["wall_s"], 0.05)


if __name__ == "__main__":
    unittest.main(verbosity=2)
