"""Waiting that was planted by the wall clock is found by `refrain analyze`, in events of all iterations and estimated from a sample.

The truth comes from the program's own clock: when its calls began and ended."""

from __future__ import annotations

import csv
import io
import json
import statistics
import subprocess
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from events import is_sampled
from refrain_testing import FULL, MPIS, PROGRAMS, REFRAIN, TestCase, clean_environment, mpiexec

Calls = dict[str, dict[int, tuple[float, float]]]  # by function, by step: begin and end
ALL = {"REFRAIN_TRACE": "all"}
# By which the program's clock readings and Refrain's may differ, for a call.
CALL_S = 20e-6
STEPS = 3000  # of which a sample is taken


def calls_of(path: Path, rank: int) -> Calls:
    calls: Calls = defaultdict(dict)
    for line in Path(f"{path}.{rank}").read_text().splitlines():
        function, step, begin, end = line.split()
        calls[function][int(step)] = (float(begin), float(end))
    return calls


def until(own: tuple[float, float], other_begin: float) -> float:
    return max(min(other_begin, own[1]) - own[0], 0.0)


def each(waiting: dict[int, tuple[float, float]], causing: dict[int, tuple[float, float]]) -> list[float]:
    """By step: how long the one has waited for the begin of the other."""
    assert waiting and set(waiting) == set(causing)
    return [until(waiting[step], causing[step][0]) for step in sorted(waiting)]


# Of a mode: the patterns that find its waiting, and by step what it comes to.
def truth(mode: str, first: Calls, second: Calls) -> dict[str, list[float]]:
    if mode in ("recv", "waitall", "order", "buffers"):
        function, send = {"recv": ("MPI_Recv", "MPI_Send"), "waitall": ("MPI_Waitall", "MPI_Isend"),
                          "order": ("MPI_Recv", "MPI_Send"), "buffers": ("MPI_Wait", "MPI_Send")}[mode]
        waits = each(second[function], first[send])
        return {"late_sender": waits} | ({"late_sender_wrong_order": waits, "wrong_order_same_source": waits}
                                         if mode == "order" else {})
    requests = {"persistent": "MPI_Wait", "waitany": "MPI_Waitany", "waitsome": "MPI_Waitsome", "mrecv": "MPI_Mprobe"}
    if mode in requests:
        return {"late_sender": each(second[requests[mode]], first["MPI_Send"])}
    if mode == "large":
        return {"late_sender": each(second["MPI_Recv"], first["MPI_Send"]), "late_receiver": each(first["MPI_Send"], second["MPI_Recv"])}
    if mode == "ssend":
        return {"late_sender": each(second["MPI_Recv"], first["MPI_Ssend"]), "late_receiver": each(first["MPI_Ssend"], second["MPI_Recv"])}
    if mode == "issend":
        return {"late_receiver": each(first["MPI_Wait"], second["MPI_Irecv"])}
    def both(function: str) -> list[float]:
        return [a + b for a, b in zip(each(first[function], second[function]), each(second[function], first[function]))]

    if mode == "sendrecv":
        return {"late_sender": both("MPI_Sendrecv")}
    if mode == "allreduce":
        return {"wait_at_nxn": both("MPI_Allreduce")}
    if mode in ("barrier", "ibarrier"):
        # With the barriers between the steps.
        function = {"barrier": "MPI_Barrier", "ibarrier": "MPI_Wait"}[mode]
        return {"wait_at_barrier": [a + b for a, b in zip(both(function), both("between"))]}
    if mode == "fence":
        return {"wait_at_fence": both("MPI_Win_fence")}
    if mode == "epochs":
        def posted(step: int) -> float:
            """How long the call has waited in which the target has begun."""
            begin = second["MPI_Win_post"][step][0]
            calls = [first[name][step] for name in ("MPI_Win_start", "MPI_Put", "MPI_Win_complete")]
            return sum(begin - call[0] for call in calls if call[0] < begin < call[1])

        def idle(step: int) -> float:
            wait, complete = second["MPI_Win_wait"][step], first["MPI_Win_complete"][step][0]
            return max(complete - max(first["MPI_Put"][step][1], wait[0]), 0.0) if wait[0] < complete < wait[1] else 0.0

        steps = sorted(first["MPI_Win_start"])
        return {"late_post": [posted(step) for step in steps], "late_complete": [idle(step) for step in steps],
                "early_wait": each(second["MPI_Win_wait"], first["MPI_Win_complete"])}
    if mode == "locks":
        def locked(step: int) -> float:
            """An MPI library without progress of its own may give the lock to the rank that asks later."""
            waits = 0.0
            for holder, other in ((first, second), (second, first)):
                begin = holder["MPI_Win_unlock"][step][0]
                calls = [other[name][step] for name in ("MPI_Win_lock", "MPI_Put", "MPI_Win_flush", "MPI_Win_unlock")]
                waits += sum(begin - call[0] for call in calls if call[0] < begin < call[1])
            return waits

        return {"lock_contention": [locked(step) for step in sorted(first["MPI_Win_lock"])]}
    if mode == "bcast":
        return {"late_broadcast": each(second["MPI_Bcast"], first["MPI_Bcast"])}
    if mode == "reduce":
        return {"early_reduce": each(first["MPI_Reduce"], second["MPI_Reduce"])}
    if mode == "scatter":
        return {"late_broadcast": each(second["MPI_Scatter"], first["MPI_Scatter"])}
    if mode == "gather":
        return {"early_reduce": each(first["MPI_Gather"], second["MPI_Gather"])}
    assert mode == "scan"
    return {"early_scan": each(second["MPI_Scan"], first["MPI_Scan"])}


MODES = ("recv", "waitall", "order", "buffers", "ssend", "issend", "barrier", "ibarrier", "allreduce", "bcast", "reduce", "scan", "fence", "epochs",
         "locks", "persistent", "waitany", "waitsome", "sendrecv", "large", "gather", "scatter")


class Analyze(TestCase):
    def analysis(self, experiment: Path, *words: Any) -> dict[str, Any]:
        done = subprocess.run([REFRAIN, "analyze", experiment, "--format", "json", *map(str, words)], capture_output=True,
                              text=True, env=clean_environment(), timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("", done.stderr)
        found = json.loads(done.stdout)
        self.check_tree(found["patterns"])
        return found

    def check_tree(self, patterns: list[dict[str, Any]]) -> None:
        """Nothing is more than what it is a part of, as a whole and on each rank."""
        by_name = {of["name"]: of for of in patterns}
        for of in patterns:
            if of["parent"] not in by_name:
                continue
            parent = by_name[of["parent"]]
            slack = 1e-6 + 3 * of["standard_error_s"]
            self.assertLessEqual(of["severity_s"], parent["severity_s"] + slack, of["name"])
            whole = {(row["rank"], row["thread"]): row["severity_s"] for row in parent["by_location"]}
            for row in of["by_location"]:
                slack = 1e-6 + 3 * row.get("standard_error_s", of["standard_error_s"])
                self.assertLessEqual(row["severity_s"], whole[row["rank"], row["thread"]] + slack, of["name"])

    def run_mode(self, mpi: str, mode: str, steps: int, delay: float, options: dict[str, str], *words: str
                 ) -> tuple[Path, dict[str, list[float]]]:
        times = self.directory / f"times-{mpi}-{mode}"
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"analyze_waits_{mpi}", mode, steps, delay, times, *words), options)
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome.experiment, truth(mode, calls_of(times, 0), calls_of(times, 1))

    def test_each_planted_wait_is_found(self) -> None:
        for i, mode in enumerate(MODES):
            mpi = MPIS[i % len(MPIS)]
            with self.subTest(mode=mode, mpi=mpi):
                self.undisturbed(lambda: self.check_mode(mpi, mode, steps=40, delay=0.005))

    def check_mode(self, mpi: str, mode: str, steps: int, delay: float) -> None:
        experiment, planted = self.run_mode(mpi, mode, steps, delay, ALL)
        found = self.analysis(experiment)
        patterns = {of["name"]: of for of in found["patterns"]}
        self.assertGreater(found["total_time_s"], steps * delay)
        for name, waits in planted.items():
            of = patterns[name]
            self.assert_planted(sum(waits), 0.2 * steps * delay)
            self.assertAlmostEqual(sum(waits), of["severity_s"], delta=0.02 * sum(waits) + steps * 2 * CALL_S, msg=name)
            self.assertEqual(("all", 0), (of["stands_for"], of["standard_error_s"]))
            self.assertAlmostEqual(of["severity_s"], sum(row["severity_s"] for row in of["by_callpath"]), delta=1e-6)
            self.assertAlmostEqual(of["severity_s"], sum(row["severity_s"] for row in of["by_location"]), delta=1e-6)
            self.assertIn("one_step", of["by_callpath"][0]["path"])

    def test_the_cause_of_a_wait_is_the_rank_that_was_late(self) -> None:
        """Each rank is late by turns, the one before its send and the other one before its receive."""
        for mpi in MPIS:
            experiment, planted = self.run_mode(mpi, "recv", 40, 0.005, ALL)
            found = self.analysis(experiment, "--causes")
            self.assertAlmostEqual(found["waiting_s"] - found["waiting_unexplained_s"],
                                   sum(cause["severity_s"] for cause in found["causes"]), delta=1e-6)
            self.assertLess(found["waiting_unexplained_s"], 0.01 * found["waiting_s"])
            for rank, call in enumerate(("MPI_Send", "MPI_Recv")):
                late = [cause["direct_s"] for cause in found["causes"]
                        if cause["kind"] == "computation" and cause["rank"] == rank and cause["before"][-1] == call
                        and cause.get("after", [""])[-1] == "MPI_Barrier"]
                # It works that long by the wall clock in every second step.
                self.assertEqual(1, len(late), found["causes"])
                self.assertGreater(late[0], 0.8 * 20 * 0.005)
            waited = sum(planted["late_sender"])
            of_first = sum(cause["direct_s"] for cause in found["causes"] if cause["rank"] == 0)
            self.assertGreater(of_first, 0.95 * waited - 0.002)

    def test_samples_tell_the_functions_that_have_made_others_wait(self) -> None:
        """Of 40 ms three quarters are in one function, a quarter is in another one, and nothing in the one that both ranks
        have. 1,200 samples on each: the standard errors are 0.01 to 0.03 of the whole, and the bounds 5 of them off."""
        for mpi in MPIS:
            outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"analyze_causes_{mpi}", 20), ALL | {"REFRAIN_SAMPLING_FREQUENCY": "1000"})
            self.assertEqual(0, outcome.code, outcome.stderr)
            (cause, *_) = self.analysis(outcome.experiment, "--causes")["causes"]
            self.assertEqual(("computation", 1), (cause["kind"], cause["rank"]))
            shares: dict[str, float] = defaultdict(float)
            computed_s = 0.0
            for row in cause["by_callpath"]:
                if row["path"] == ["(not on CPU)"]:
                    continue  # others have had the core meanwhile
                computed_s += row["severity_s"]
                self.assertGreater(row["standard_error_s"], 0)
                below = row["path"][row["path"].index("main") + 1:]
                # A sample may well fall between the calls, into "solve" or "main" itself.
                self.assertIn(below[:1], ([], ["solve"]))
                shares[below[1] if len(below) > 1 else "itself"] += row["severity_s"]
            shares = defaultdict(float, {name: of / computed_s for name, of in shares.items()})
            self.assertTrue(0.6 < shares["smooth"] < 0.9 and 0.1 < shares["other"] < 0.4 and shares["common"] < 0.2, shares)
            self.assertLess(shares["itself"], 0.05)
            # It is said without being asked for: at the end of the run, and on the first page of the report.
            said = r"rank 0 waits in solve > MPI_Allreduce for the last rank; (\d+ % of it )?because of (time spent waiting for a core and )?solve > smooth (and time spent waiting for a core )?on rank 1"
            self.assertRegex(outcome.whole_stderr, rf"(?m)^refrain: \d+\.\d( \+- \d+\.\d)? % of the time: {said}$")
            page = subprocess.run([REFRAIN, "report", outcome.experiment], capture_output=True, text=True,
                                  env=clean_environment(), timeout=300)
            self.assertRegex(" ".join(page.stdout.split()), said)

    def metric(self, experiment: Path, name: str, *words: str, code: int = 0) -> dict[int, dict[str, Any]]:
        """By rank, as `refrain report` shows it."""
        done = subprocess.run([REFRAIN, "report", experiment, "--locations", "--metric", name, "--format", "json", *words],
                              capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual(code, done.returncode, done.stderr)
        return {row["rank"]: row for row in json.loads(done.stdout)["by_location"]} if code == 0 else {}

    def test_what_was_found_is_a_metric_of_the_experiment(self) -> None:
        experiment, _ = self.run_mode(MPIS[0], "recv", 20, 0.005, ALL)
        found = {of["name"]: of for of in self.analysis(experiment)["patterns"]}
        for name in ("late_sender", "wait_at_barrier", "uneven_distribution"):
            rows = self.metric(experiment, name)
            for of in found[name]["by_location"]:
                self.assertAlmostEqual(of["severity_s"], rows[of["rank"]][f"{name}_s"], delta=1e-9)
            self.assertAlmostEqual(found[name]["severity_s"], sum(row[f"{name}_s"] for row in rows.values()), delta=1e-9)
            path = found[name]["by_callpath"][0]
            below = self.metric(experiment, name, "--callpath", "/".join(path["path"]))
            self.assertAlmostEqual(path["severity_s"], sum(row[f"{name}_s"] for row in below.values()), delta=1e-9)

    def test_the_worst_calls_are_told(self) -> None:
        self.undisturbed(self.check_the_worst_calls)

    def check_the_worst_calls(self) -> None:
        """Of 20 steps eight at most, the longest waits first, each in its step."""
        experiment, planted = self.run_mode(MPIS[0], "recv", 20, 0.005, ALL, "marked")
        (worst,) = [of["worst"] for of in self.analysis(experiment, "--worst")["patterns"] if of["name"] == "late_sender"]
        self.assertEqual(8, len(worst))
        self.assertEqual(sorted((row["severity_s"] for row in worst), reverse=True), [row["severity_s"] for row in worst])
        for row in worst:
            self.assertEqual(("MPI_Recv", 1), (row["path"][-1], row["rank"]))
            self.assertAlmostEqual(planted["late_sender"][row["iteration"]], row["severity_s"], delta=0.001)
        longest = sorted(planted["late_sender"], reverse=True)[:8]
        self.assertAlmostEqual(sum(longest), sum(row["severity_s"] for row in worst), delta=0.1 * sum(longest))

    def test_an_iteration(self) -> None:
        self.undisturbed(self.check_an_iteration)

    def check_an_iteration(self) -> None:
        experiment, planted = self.run_mode(MPIS[0], "recv", 20, 0.005, ALL, "marked")
        wrong = []
        for step in range(20):
            one = {of["name"]: of["severity_s"] for of in self.analysis(experiment, "--iteration", step)["patterns"]}
            wrong.append(abs(planted["late_sender"][step] - one["late_sender"]))
        # The program may be suspended between its clock reading and its call, but not every second time.
        self.assertLess(statistics.median(wrong), 0.0001)
        self.assert_planted(max(planted["late_sender"]), 0.003)

    def report(self, experiment: Path, *words: str) -> str:
        done = subprocess.run([REFRAIN, "report", experiment, *words], capture_output=True, text=True, env=clean_environment(),
                              timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout

    def test_call_paths_say_how_long_they_have_waited(self) -> None:
        steps, delay = 40, 0.005
        for mode, function, kind in (("recv", "MPI_Recv", "late_sender"), ("ssend", "MPI_Ssend", "late_receiver"),
                                     ("allreduce", "MPI_Allreduce", "wait_at_nxn")):
            experiment, planted = self.run_mode(MPIS[0], mode, steps, delay, ALL)
            for words in ([], ["--callsites"], ["--callpath-depth", "1"]):
                paths = json.loads(self.report(experiment, "--format", "json", *words))["callpaths"]
                of_function = [path for path in paths if path["path"][-1] == function]
                self.assertAlmostEqual(sum(planted[kind]), sum(path["wait_s"] for path in of_function),
                                       delta=0.02 * sum(planted[kind]) + steps * 2 * CALL_S)
                self.assertIn((kind, "events", 0), {(path.get("wait_kind"), path["wait_method"], path["wait_error_s"])
                                                    for path in of_function})
                for path in paths:
                    self.assertEqual(path["kind"] == "mpi", "wait_s" in path, path)
                    self.assertLessEqual(path.get("wait_s", 0), path["exclusive_s"])
            rows = list(csv.DictReader(io.StringIO(self.report(experiment, "--format", "csv"))))
            whole = sum(float(row["wait_s"]) for row in rows if row["wait_s"])
            self.assertGreater(whole, sum(planted[kind]))
            self.assertIn(" wait % ", self.report(experiment))
            self.assertNotIn("wait_s", self.report(experiment, "--format", "json", "--rank", "0"))
            self.assertNotIn("wait_s", self.report(experiment, "--format", "csv", "--flat"))
        experiment, _ = self.run_mode(MPIS[0], "recv", 10, 0, {"REFRAIN_TRACE": "off", "REFRAIN_WAIT_STATES": "off"})
        self.assertNotIn("wait_s", self.report(experiment, "--format", "json"))
        self.assertNotIn("wait %", self.report(experiment))

    def series(self, experiment: Path, *words: str) -> dict[int, dict[int, float | None]]:
        """By rank, by iteration: the last column of `refrain report --iterations`; None where it is empty."""
        done = subprocess.run([REFRAIN, "report", experiment, "--iterations", "--format", "csv", "--metric", *words],
                              capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        values: dict[int, dict[int, float | None]] = defaultdict(dict)
        column = f"callpath_{words[0]}_s" if "--callpath" in words else f"{words[0]}_s"
        for row in csv.DictReader(io.StringIO(done.stdout)):
            values[int(row["rank"])][int(row["iteration"])] = float(row[column]) if row[column] else None
        return values

    def test_each_iteration_has_its_waiting(self) -> None:
        experiment, planted = self.run_mode(MPIS[0], "recv", 20, 0.005, ALL, "marked")
        found = self.series(experiment, "late_sender")
        self.assertEqual([[*range(20)]] * 2, [[*found[rank]] for rank in (0, 1)])
        self.assertLess(statistics.median(abs(planted["late_sender"][step] - found[1][step]) for step in range(20)), 0.0001)
        self.assertGreater(max(found[1].values()), 0.003)
        self.assertEqual({0}, set(found[0].values()))
        # As the search finds it for one iteration, and for all of them.
        self.assertEqual(found, self.series(experiment, "late_sender", "--callpath", "MPI_Recv"))
        self.assertEqual({0}, set(self.series(experiment, "late_sender", "--callpath", "MPI_Barrier")[1].values()))
        for step in (3, 4):
            one = {of["name"]: of["severity_s"] for of in self.analysis(experiment, "--iteration", step)["patterns"]}
            self.assertAlmostEqual(one["late_sender"], found[1][step], delta=1e-9)
        whole = {of["name"]: of["severity_s"] for of in self.analysis(experiment)["patterns"]}
        self.assertAlmostEqual(whole["late_sender"], sum(found[1].values()), delta=1e-7)
        page = subprocess.run([REFRAIN, "report", experiment, "--iterations", "--metric", "late_sender"],
                              capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertIn("loop step: 20 iterations on 2 ranks, late_sender time", page.stdout)
        self.assertIn("As the events of each iteration say.", page.stdout)
        document = subprocess.run([REFRAIN, "report", experiment, "--iterations", "--metric", "late_sender", "--format",
                                   "json"], capture_output=True, text=True, env=clean_environment(), timeout=300)
        (loop,) = json.loads(document.stdout)["loops"]
        self.assertEqual([found[rank][step] for rank in (0, 1) for step in range(20)],
                         [value for of in loop["per_location"] for value in of["late_sender_s"]])

    def test_iterations_whose_events_were_not_kept_have_no_waiting(self) -> None:
        experiment, _ = self.run_mode(MPIS[0], "recv", STEPS, 0, {"REFRAIN_TRACE_MEMORY": "64K"}, "marked")
        found = self.series(experiment, "late_sender")
        known = [{step for step, value in found[rank].items() if value is not None} for rank in (0, 1)]
        self.assertEqual(known[0], known[1])
        self.assertTrue(20 < len(known[0]) < STEPS / 2, len(known[0]))
        page = subprocess.run([REFRAIN, "report", experiment, "--iterations", "--metric", "late_sender"],
                              capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertIn(f"As the events of {100 * len(known[0]) / STEPS:.1f} % of the iterations say", page.stdout)

    def test_iterations_whose_messages_come_from_others_have_no_waiting(self) -> None:
        """But where the one before was kept, too."""
        experiment, _ = self.run_mode(MPIS[0], "buffers", STEPS, 0, {"REFRAIN_TRACE_MEMORY": "64K", "REFRAIN_TRACE_SLOWEST": "0"},
                                      "marked")
        summary = subprocess.run([REFRAIN, "report", experiment, "--events", "--format", "json"], check=True,
                                 capture_output=True, env=clean_environment(), timeout=300)
        level = json.loads(summary.stdout)["events"]["level"]
        self.assertGreater(level, 1)
        sample = {n for n in range(STEPS) if is_sampled(n, level)}
        found = self.series(experiment, "late_sender")
        known = [{step for step, value in found[rank].items() if value is not None} for rank in (0, 1)]
        self.assertEqual(known[0], known[1])
        surely = {n for n in sample if n == 0 or n - 1 in sample}
        self.assertEqual((set(), set()), (known[0] - sample, surely - known[0]))
        more = len(known[0] - surely)
        self.assertTrue(len(sample) / 20 < more < len(sample) / 2, (more, len(sample)))

    def test_iterations_whose_events_one_rank_has_lost_have_no_waiting(self) -> None:
        experiment, _ = self.run_mode(MPIS[0], "recv", 20, 0.001, ALL, "marked")
        (events,) = experiment.glob("events-0.refrain")
        events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
        done = subprocess.run([REFRAIN, "report", experiment, "--iterations", "--format", "csv", "--metric", "late_sender"],
                              capture_output=True, text=True, env=clean_environment(), timeout=300)
        self.assertEqual(4, done.returncode, done.stderr)
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(40, len(rows))
        self.assertEqual({""}, {row["late_sender_s"] for row in rows})

    def test_no_events_or_no_such_pattern(self) -> None:
        experiment, _ = self.run_mode(MPIS[0], "recv", 10, 0, {"REFRAIN_TRACE": "off"}, "marked")
        for metric, line in (("late_sender", "the experiment has no events, which tell this"),
                             ("late_sende", "an iteration has wall, .*; wait, and patterns of waiting, such as late_sender")):
            done = subprocess.run([REFRAIN, "report", experiment, "--iterations", "--metric", metric], capture_output=True,
                                  text=True, env=clean_environment(), timeout=300)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, f"^refrain report: --metric {metric}: {line}\n$")

    def test_estimates_from_a_sample(self) -> None:
        """What each step has waited is known, so is what a sample of them may miss: the error must be about as large as
        stated. A busy machine adds long waits, rare ones, which no sample stands for: one of three runs must be near."""
        cases = [("recv", ["marked"]), ("waitall", []), ("buffers", ["marked"]), ("allreduce", ["marked"]), ("allreduce", [])]
        for mode, words in cases if FULL else cases[:3]:
            with self.subTest(mode=mode, words=words):
                said = []
                for _ in range(3):
                    far = self.far_estimates(mode, words)
                    if not far:
                        break
                    said.append(far)
                self.assertLess(len(said), 3, said)

    def far_estimates(self, mode: str, words: list[str]) -> list[str]:
        experiment, planted = self.run_mode(
            MPIS[0], mode, STEPS, 0.0003, {"REFRAIN_TRACE_MEMORY": "64K", "REFRAIN_TRACE_SLOWEST": "4"}, *words)
        return self.far_from(planted, self.analysis(experiment))

    def far_from(self, planted: dict[str, list[float]], analysis: dict[str, Any]) -> list[str]:
        found = {of["name"]: of for of in analysis["patterns"]}
        far = []
        for name, waits in planted.items():
            of, true = found[name], sum(waits)
            self.assertEqual("sampled", of["stands_for"])
            self.assertGreater(of["standard_error_s"], 0)
            said = f"{name}: {of['severity_s']:.4f} +- {of['standard_error_s']:.4f} of {true:.4f} s"
            if of["standard_error_s"] > 0.25 * true:
                far.append(said)
            elif abs(true - of["severity_s"]) > 4.9 * of["standard_error_s"] + 0.02 * true + STEPS * 2 * 1e-6:
                far.append(said)
        return far

    def test_a_run_with_all_events_as_sampled(self) -> None:
        """By the rule of the test above; and what finds room as a whole is the truth."""
        said = []
        for _ in range(3):
            experiment, planted = self.run_mode(MPIS[0], "recv", STEPS, 0.0003, ALL, "marked")
            all_of_it = self.analysis(experiment)
            far = self.far_from(planted, self.analysis(experiment, "--as-sampled", "64K"))
            self.assertEqual(all_of_it, self.analysis(experiment, "--as-sampled", "1G"))
            if not far:
                return
            said.append(far)
        self.fail(said)

    def test_what_cannot_be_sampled_is_said(self) -> None:
        unmarked, _ = self.run_mode(MPIS[0], "recv", 10, 0, ALL)
        sampled, _ = self.run_mode(MPIS[0], "ssend", 10, 0, {}, "marked")
        subprocess.run([REFRAIN, "export", unmarked, "-o", self.directory / "archive"], check=True, capture_output=True,
                       env=clean_environment())
        for of, memory, line in (
                (unmarked, "64K", "there are no iterations to take a sample of"),
                (sampled, "64K", "only events of an experiment with REFRAIN_TRACE=all can be sampled"),
                (self.directory / "archive" / "traces.otf2", "64K", ".* is an OTF2 archive; only experiments can be sampled"),
                (unmarked, "1K", "--as-sampled: must be 32K to 1G; .*")):
            done = subprocess.run([REFRAIN, "analyze", of, "--as-sampled", memory], capture_output=True, text=True,
                                  env=clean_environment(), timeout=300)
            self.assertEqual((1, ""), (done.returncode, done.stdout))
            self.assertRegex(done.stderr, f"^refrain analyze: {line}\n$")

    def test_what_a_sample_cannot_tell_is_refused(self) -> None:
        experiment, _ = self.run_mode(MPIS[0], "recv", 3000, 0, {"REFRAIN_TRACE_MEMORY": "32K"}, "marked")
        done = subprocess.run([REFRAIN, "analyze", experiment, "--time", "0:1"], capture_output=True, text=True,
                              env=clean_environment(), timeout=300)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, "^refrain analyze: --time: only a sample of iterations was kept.*\n$")


if __name__ == "__main__":
    unittest.main()
