"""Refrain's own signal in programs that use signals and small stacks: results are those without Refrain, losses counted."""

from __future__ import annotations

import unittest

from refrain_testing import PROGRAMS, TestCase

FAST = {"REFRAIN_SAMPLING_FREQUENCY": "1000"}


class SignalSets(TestCase):
    """Fault 14: masks, sets and dispositions are the program's, and the sampling signal is in none of them."""

    def run_mode(self, mode: str):
        command = [PROGRAMS / "faults_signal_sets", mode]
        plain, outcome = self.plain(command), self.measured(command, FAST)
        self.assertEqual(5, plain.code)
        self.assert_same_result(plain, outcome)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return report

    def test_older_interfaces_neither_kill_the_program_nor_stop_the_sampling(self) -> None:
        # At least 0.5 s of CPU time after everything was set; at 250 kernel ticks a second at most.
        for mode in ("sigset", "sigignore", "sighold"):
            with self.subTest(mode):
                report = self.run_mode(mode)
                self.assertNotIn("signal_taken", report.losses())
                self.assertGreater(report.totals["samples"], 30)

    def test_who_waits_for_all_signals_receives_none_of_ours(self) -> None:
        report = self.run_mode("wait")
        self.assertNotIn("signal_taken", report.losses())
        self.assertGreater(report.totals["samples"], 15, "0.3 s of CPU time after signals were unblocked")

    def test_who_waits_for_our_signal_by_its_number_gets_it(self) -> None:
        self.assertIn("signal_taken", self.run_mode("named").losses())

    def test_waits_that_unblock_signals_are_not_ended_by_a_tick_that_was_held_back(self) -> None:
        self.run_mode("suspend")

    def test_threads_that_inherit_all_signals_blocked_are_sampled_and_believe_them_blocked(self) -> None:
        report = self.run_mode("inherit")
        # 0.8 s of CPU time in each of two threads.
        self.assertGreater(report.below("thread_work", "samples"), 100)

    def test_a_blocked_sigurg_that_the_program_waits_for_is_not_lost(self) -> None:
        for mode in ("urgent_wait", "urgent_all", "urgent_file"):
            with self.subTest(mode):
                self.run_mode(mode)

    def test_a_child_between_vfork_and_exec_changes_nothing_of_its_parent(self) -> None:
        self.run_mode("vfork")

    def test_masks_of_handlers_are_those_that_were_set(self) -> None:
        self.run_mode("on_stack")


class Stacks(TestCase):
    """Stacks with no room to spare, and what lies on them."""

    def run_mode(self, mode: str):
        command = [PROGRAMS / "faults_stacks", mode]
        plain, outcome = self.plain(command), self.measured(command, FAST)
        self.assertEqual(5, plain.code)
        self.assert_same_result(plain, outcome)
        report = self.report(outcome)
        self.assert_time_conserved(report)
        return plain, report

    def test_an_alternate_stack_of_8_kb_is_not_overrun(self) -> None:
        """Fault 15."""
        plain, report = self.run_mode("alternate")
        self.assertIn(b"overwritten 0\n", plain.stdout)
        self.assertGreater(report.totals["samples"], 15, "0.3 s of CPU time outside of the handler")

    def test_a_thread_with_a_stack_of_16_kb_is_not_overrun_and_the_loss_is_counted(self) -> None:
        """Fault 15."""
        plain, report = self.run_mode("thread")
        self.assertIn(b"overwritten 0\n", plain.stdout)
        self.assertEqual(1, report.losses().get("stack_too_small"))
        self.assertEqual(2, len(report.locations), "the thread is measured, without samples")

    def test_a_fiber_with_a_stack_of_8_kb_is_not_overrun_and_the_loss_is_counted(self) -> None:
        """Faults 15 and 20."""
        plain, report = self.run_mode("fiber")
        self.assertIn(b"arguments 1 2 3 4 5 6 7 8\n0\noverwritten 0\n", plain.stdout)
        self.assertEqual(1, report.losses().get("stack_too_small"), "once: the other fiber's stack is large")
        self.assertGreater(report.totals["samples"], 15, "0.3 s of CPU time after the fiber")

    def test_the_programs_own_handler_of_stack_overflows_runs(self) -> None:
        """Fault 16."""
        plain, report = self.run_mode("overflow")
        self.assertIn(b"overflows 100\n", plain.stdout)
        self.assertGreater(report.below("overflow", "samples"), 15, "sampling goes on between overflows")

    def test_return_addresses_stay_what_they_were(self) -> None:
        """Fault 39: a shadow stack holds the return addresses of calls, and a return to another one ends the program. This
        one keeps such a stack in software, built with control-flow protection, and compares all of it all the time."""
        plain, report = self.run_mode("returns")
        self.assertIn(b"changed 0, compared 1\n", plain.stdout)
        self.assertGreater(report.below("compare", "samples"), 30, "it was sampled meanwhile")


if __name__ == "__main__":
    unittest.main(verbosity=2)
