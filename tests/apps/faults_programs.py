"""Programs that do what a measurement tool must survive: results are those without Refrain, losses are counted."""

from __future__ import annotations

import re
import unittest

from refrain_testing import FULL, PROGRAMS, TestCase, alone, mpirun

FAST = {"REFRAIN_SAMPLING_FREQUENCY": "1000"}


class Sleep(TestCase):
    def test_no_blocking_call_is_cut_short(self) -> None:
        command = [PROGRAMS / "faults_sleep"]
        plain, outcome = self.plain(command), self.measured(command, FAST)
        self.assertEqual(11, plain.stdout.count(b"interrupted=0 early=0"), plain.stdout)
        self.assert_same_result(plain, outcome)
        self.assertGreater(self.report(outcome).totals["samples"], 100, "it was sampled all the while")

    def test_the_program_can_show_the_difference(self) -> None:
        # The wall clock is documented to interrupt waiting calls; if this sees nothing, the test above proves nothing.
        outcome = self.measured([PROGRAMS / "faults_sleep"], FAST | {"REFRAIN_SAMPLING_CLOCK": "wall"})
        self.assertRegex(outcome.stdout.decode(), r"interrupted=[1-9]|early=[1-9]")


class Handler(TestCase):
    def test_the_handler_allocates_nothing_and_takes_no_lock(self) -> None:
        seconds = "30" if FULL else "3"
        command = [PROGRAMS / "faults_handler_calls", PROGRAMS / "libfaults_plugin.so", seconds]
        self.check_handler(self.measured(command, FAST))

    def test_neither_does_it_when_it_reads_metrics(self) -> None:
        command = [PROGRAMS / "faults_handler_calls", PROGRAMS / "libfaults_plugin.so", "3"]
        metrics = {"REFRAIN_METRICS": "ru_utime,ru_maxrss,perf::TASK-CLOCK,perf::PAGE-FAULTS"}
        self.check_handler(self.measured(command, FAST | metrics))

    def check_handler(self, outcome: Outcome) -> None:
        self.assertEqual((0, b"clean\n"), (outcome.code, outcome.stdout), outcome.stderr)
        found = re.search(r"handlers (\d+) calls (\d+)", outcome.stderr)
        assert found, outcome.stderr
        self.assertEqual(1, int(found[1]), "one sampling handler was wrapped")
        self.assertGreater(int(found[2]), 100, "the wrapped handler ran")
        report = self.report(outcome)
        self.assert_time_conserved(report)
        self.assertGreater(report.below("plugin_work", "samples"), 10, "code of the plug-in is named")


class Signals(TestCase):
    def run_mode(self, mode: str):
        command = [PROGRAMS / "faults_signals", mode]
        plain, outcome = self.plain(command), self.measured(command)
        self.assertEqual(5, plain.code)
        self.assert_same_result(plain, outcome)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return report

    @alone
    def test_a_program_that_touches_no_signal_sees_those_of_a_fresh_process(self) -> None:
        report = self.run_mode("nothing")
        # A tick may meet Refrain or a stub of the dynamic linker at work, which is a loss, but none of the signal.
        self.assertEqual({}, report.losses_of_calls())
        self.assertNotIn("tick_late", report.losses())
        self.assertGreater(report.totals["samples"], 60)

    def test_replaced_signal_goes_to_the_program_and_the_loss_is_reported(self) -> None:
        self.assertIn("signal_taken", self.run_mode("replace").losses())

    def test_ignoring_or_resetting_all_signals_neither_kills_the_program_nor_hides_a_loss(self) -> None:
        for mode in ("ignore", "reset"):
            with self.subTest(mode):
                report = self.run_mode(mode)
                if "signal_taken" not in report.losses():  # then sampling must have gone on: 1 s of CPU time at 100 Hz
                    self.assertGreater(report.totals["samples"], 70)

    def test_blocked_signal_is_a_reported_loss(self) -> None:
        self.assertIn("tick_late", self.run_mode("block").losses())

    def test_replaced_and_blocked_signal_is_handled_once_per_raise(self) -> None:
        self.assertNotEqual({}, self.run_mode("replace_and_block").losses())


class Jumps(TestCase):
    def test_longjmp_fibers_coroutines_and_exceptions(self) -> None:
        command = [PROGRAMS / "faults_jumps", "20" if FULL else "1"]
        plain = self.plain(command, timeout=300)
        for env in (FAST, FAST | {"REFRAIN_UNWINDER": "libunwind"}):
            with self.subTest(env):
                outcome = self.measured(command, env, timeout=300)
                self.assert_same_result(plain, outcome)
                report = self.report(outcome)
                self.assert_time_conserved(report)
                for name in ("dive_and_jump", "dive_and_throw", "fiber_depths", "coroutines"):
                    named = [c for c in report.callpaths if c["samples"] and any(name in p for p in c["path"])]
                    self.assertTrue(named, f"samples below {name}")

    def test_generated_code_is_a_truncated_path(self) -> None:
        command = [PROGRAMS / "faults_jit", "1"]
        plain, outcome = self.plain(command), self.measured(command, FAST)
        self.assert_same_result(plain, outcome)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        losses = report.losses()
        self.assertGreater(losses.get("truncated_no_tables", 0) + losses.get("truncated_bad_stack", 0), 50)
        truncated = report.sum("exclusive_s", lambda c: "(truncated)" in c["path"])
        self.assertGreater(truncated, 0.5, "most of the CPU second is spent in or below generated code")


class Configuration(TestCase):
    """A bad value: one line names variable and value, and the program runs unmeasured. A good one: it is measured."""

    PROGRAM = PROGRAMS / "truth_no_mpi"
    BAD = {
        "REFRAIN_SAMPLING_FREQUENCY": ["banana", "-1", "10001", "1e3", "99999999999999999999999", "100 Hz"],
        "REFRAIN_UNWINDER": ["fast", "INCREMENTAL "],
        "REFRAIN_SAMPLING_CLOCK": ["sundial"],
        "REFRAIN_SAMPLING_SOURCE": ["perf"],
        "REFRAIN_CALLPATH_DEPTH": ["0", "x" * 100_000],
        "REFRAIN_MEMORY": ["1", "12Q"],
        "REFRAIN_ITERATION_LOG": ["63K", "0"],
        "REFRAIN_ENABLE": ["perhaps"],
    }
    GOOD = {
        "REFRAIN_SAMPLING_FREQUENCY": ["1", "100", ""],  # empty: the default
        "REFRAIN_UNWINDER": ["incremental", "libunwind"],
        "REFRAIN_SAMPLING_CLOCK": ["cpu"],
        "REFRAIN_SAMPLING_SOURCE": ["task_clock", "timer"],
        "REFRAIN_CALLPATH_DEPTH": ["64"],
        "REFRAIN_MEMORY": ["4M"],
        "REFRAIN_ITERATION_LOG": ["64K"],
        "REFRAIN_ENABLE": ["on"],
    }

    def test_bad_values_are_named_and_harmless(self) -> None:
        for variable, values in self.BAD.items():
            for value in values:
                with self.subTest(variable=variable, value=value[:30]):
                    outcome = self.measured([self.PROGRAM, "0.05", "6"], {variable: value})
                    self.assertEqual((6, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
                    self.assertFalse(outcome.experiment.exists(), "the program is to run unmeasured")
                    lines = outcome.stderr.strip().splitlines()
                    self.assertEqual(1, len(lines), outcome.stderr[:2000])
                    self.assertIn(variable, lines[0])
                    self.assertIn(value[:20], lines[0])
                    self.assertLess(len(lines[0]), 1000)

    def test_a_name_that_is_no_option_is_told_with_the_one_that_was_meant(self) -> None:
        outcome = self.measured([self.PROGRAM, "0.05", "6"], {"REFRAIN_SAMPLNG_FREQUENCY": "100"})
        self.assertEqual((6, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
        self.assertFalse(outcome.experiment.exists(), "the program is to run unmeasured")
        self.assertEqual(1, len(outcome.stderr.strip().splitlines()), outcome.stderr)
        for word in ("REFRAIN_SAMPLNG_FREQUENCY", "REFRAIN_SAMPLING_FREQUENCY"):
            self.assertIn(word, outcome.stderr)

    def test_good_values_measure(self) -> None:
        for variable, values in self.GOOD.items():
            for value in values:
                with self.subTest(variable=variable, value=value):
                    outcome = self.measured([self.PROGRAM, "0.2", "6"], {variable: value})
                    self.assertEqual((6, b"done\n"), (outcome.code, outcome.stdout), outcome.stderr)
                    self.assertEqual("", outcome.stderr)
                    self.assertGreater(self.report(outcome).totals["wall_s"], 0.2)

    def test_a_frequency_beyond_the_kernels_is_said_once_and_measured(self) -> None:
        for command, code in (([self.PROGRAM, "0.3", "6"], 6),
                              (mpirun(2, PROGRAMS / "truth_paths", "2", "0.3", "none"), 0)):
            with self.subTest(command):
                outcome = self.measured(command, {"REFRAIN_SAMPLING_FREQUENCY": "10000",
                                                   "REFRAIN_SAMPLING_SOURCE": "timer"})
                self.assertEqual(code, outcome.code, outcome.stderr)
                self.assertEqual(1, outcome.stderr.count("REFRAIN_SAMPLING_FREQUENCY"), outcome.stderr)
                self.assertIn("frequency_capped", self.report(outcome).losses())

    def test_a_bad_value_is_said_once_per_job(self) -> None:
        outcome = self.measured(mpirun(2, PROGRAMS / "truth_paths", "2", "0.1", "none"), {"REFRAIN_MEMORY": "much"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.assertEqual(2, len(outcome.json_lines()))
        self.assertEqual(1, outcome.stderr.count("REFRAIN_MEMORY"), outcome.stderr)

    def test_switched_off(self) -> None:
        outcome = self.measured([self.PROGRAM, "0.05", "6"], {"REFRAIN_ENABLE": "off"})
        self.assertEqual((6, b"done\n", ""), (outcome.code, outcome.stdout, outcome.stderr))
        self.assertFalse(outcome.experiment.exists())

    def test_a_directory_that_cannot_be_made_is_one_warning(self) -> None:
        (self.directory / "file").touch()
        for place in ("/proc/refrain-experiment", str(self.directory / "file" / "below")):
            with self.subTest(place):
                outcome = self.measured([self.PROGRAM, "0.05", "6"], {"REFRAIN_EXPERIMENT_DIRECTORY": place})
                self.assertEqual((6, b"done\n"), (outcome.code, outcome.stdout))
                self.assertEqual(1, len(outcome.stderr.strip().splitlines()), outcome.stderr)
                self.assertIn(place, outcome.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
