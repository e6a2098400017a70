"""The views of a report, of programs of which is known what they do: call sites of MPI, sizes, communicators, callers, modules, lines of
source, threads; what changed between two runs; the pager, and the page of a job that still runs."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import BUILD, MPIS, PROGRAMS, REFRAIN, SOURCE, TestCase, alone, clean_environment, mpiexec, on_a_terminal


class Views(TestCase):
    def refrain(self, *words: Any, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(environment), timeout=120, cwd=self.directory)
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr}")
        return done

    def rows(self, *words: Any) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.refrain("report", *words, "--format", "csv").stdout)))

    def cause(self, name: str, iterations: int = 100, mpi: str = MPIS[0], microseconds: int = 2000) -> Path:
        experiment = self.directory / f"{name}-{iterations}-{mpi}"
        outcome = self.measured(mpiexec(mpi, 2, PROGRAMS / f"findings_causes_{mpi}", name, iterations, microseconds),
                                {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment), "REFRAIN_SAMPLING_FREQUENCY": "1000"})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return experiment

    def test_call_sites_of_mpi_count_exactly(self) -> None:
        for mpi in MPIS:
            experiment = self.cause("messages", 50, mpi)
            sites = self.rows(experiment, "--mpi")
            small = next(of for of in sites if of["function"] == "MPI_Sendrecv")
            # 1000 of 8 bytes and one of 800 in each iteration of both ranks, each sent and received.
            self.assertEqual(2 * 50 * 1001, int(small["calls"]))
            self.assertEqual(2 * (1000 * 8 + 800) // 1001, int(small["mean_bytes"]))
            self.assertEqual(("1", "1", "2048"), (small["partners_min"], small["partners_max"], small["below_bytes"]))
            totals = json.loads(self.refrain("report", experiment, "--format", "json").stdout)["totals"]
            self.assertAlmostEqual(totals["mpi_s"], sum(float(of["time_s"]) for of in sites), delta=1e-6 * totals["mpi_s"])
            for of in sites:
                self.assertLessEqual(float(of["min_s"]), float(of["mean_s"]))
                self.assertAlmostEqual(float(of["time_s"]), 2 * float(of["mean_s"]), delta=1e-9)

    @alone
    def test_what_findings_name_can_be_typed(self) -> None:
        threads = self.measured(mpiexec(MPIS[0], 1, PROGRAMS / f"analyze_threads_{MPIS[0]}", "uneven", 150, 0.001, 0.020))
        seen: set[str] = set()
        for experiment in (self.cause("late_rank", 300), self.cause("moving", 300), self.cause("sleep", 300), threads.experiment):
            for of in json.loads(self.refrain("report", experiment, "--format", "json").stdout)["findings"]:
                seen.add(of["options"])
                self.assertNotEqual("", self.refrain("report", experiment, *of["options"].split()).stdout, of)
        self.assertGreater(len(seen), 2, seen)

    def test_damaged_events_are_told_of(self) -> None:
        experiment = self.directory / "damaged"
        shutil.copytree(SOURCE / "tests/golden/events-4", experiment)
        self.assertNotIn("events are damaged", self.refrain("report", experiment).stdout)
        os.truncate(experiment / "events-0.refrain", 100)
        self.assertIn("events are damaged", self.refrain("report", experiment).stdout)

    def test_damaged_events_in_the_profile_are_told_of(self) -> None:
        """Few events are kept beside the profile's own parts."""
        experiment = self.directory / "few"
        outcome = self.measured(mpiexec(MPIS[0], 2, PROGRAMS / f"marked_steps_{MPIS[0]}", 30, 1000), {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        self.assertEqual([], list(experiment.glob("events-*")))
        self.assertNotIn("events are damaged", self.refrain("report", experiment).stdout)
        for kept in experiment.glob("analysis-*"):
            kept.unlink()  # it was found before the damage, and stays true
        path = experiment / "profile.refrain"
        data = bytearray(path.read_bytes())
        frame = data.find(b"RTEV")
        data[frame + 60] ^= 16
        path.write_bytes(data)
        self.assertIn("events are damaged", self.refrain("report", experiment).stdout)

    def test_only_a_screen_has_its_limit_of_lines(self) -> None:
        """In a file or a pipe all call paths of 1 % are there; on a terminal as many as the page has room for."""
        subprocess.run([BUILD / "tests/bin/make_experiment", self.directory / "large", "--ranks", "2", "--paths", "60", "--clusters", "2", "--iterations", "20", "--threads", "1"],
                       check=True, capture_output=True, env=clean_environment())
        page = self.refrain("report", self.directory / "large").stdout
        whole = self.refrain("report", self.directory / "large", "--min-share", 1).stdout
        self.assertEqual(whole.count("\n"), page.count("\n"))
        self.assertGreater(page.count("\n"), 45)
        self.assertLess(on_a_terminal([REFRAIN, "report", self.directory / "large"], columns=120).count("\n"), 45)

    def test_helper_threads_have_the_same_shares_in_all_formats(self) -> None:
        experiment = self.threads()
        for view, name in (("--modules", "module"), ("--mpi", "site")):
            page = self.refrain("report", experiment, view).stdout
            for of in self.rows(experiment, view):
                if float(of["share"]) > 0.02:
                    self.assertRegex(page, rf"(?m)^ *{100 * float(of['share']):.1f} .*{re.escape(of[name].split(',')[0])}")

    def test_a_terminal_may_be_too_narrow(self) -> None:
        experiment = self.threads()
        for width in (1, 20, 36, 59):
            self.assertIn("user code", self.refrain("report", experiment, COLUMNS=str(width)).stdout)

    def test_sizes_and_communicators(self) -> None:
        experiment = self.cause("messages", 50)
        sizes = {(of["function"], int(of["below_bytes"])): int(of["calls"]) for of in self.rows(experiment, "--sizes")}
        self.assertEqual({("MPI_Sendrecv", 32): 2 * 50 * 1000, ("MPI_Sendrecv", 2048): 2 * 50, ("MPI_Allreduce", 64): 2 * 50},
                         {of: calls for of, calls in sizes.items() if of[0] in ("MPI_Sendrecv", "MPI_Allreduce")})
        rows = {of["name"]: of for of in self.rows(experiment, "--communicators")}
        self.assertEqual(("2", "1", "0, 1"), tuple(rows["MPI_COMM_WORLD"][of] for of in ("size", "made", "members")))
        self.assertEqual(("1", "2", "0, 1"), tuple(rows["MPI_COMM_SELF"][of] for of in ("size", "made", "members")))
        communicating = sum(float(of["time_s"]) for of in self.rows(experiment, "--mpi") if of["function"] in ("MPI_Sendrecv", "MPI_Allreduce"))
        self.assertAlmostEqual(communicating, float(rows["MPI_COMM_WORLD"]["time_s"]), delta=0.02 * communicating + 1e-3)

    def test_callers_modules_and_lines(self) -> None:
        experiment = self.cause("late_rank")
        whole = json.loads(self.refrain("report", experiment, "--format", "json").stdout)
        refine_s = sum(of["inclusive_s"] for of in whole["callpaths"] if of["path"][-1:] == ["refine"])
        self.assertGreater(refine_s, 0)
        (caller,) = self.rows(experiment, "--callers", "refine")
        self.assertAlmostEqual(refine_s, float(caller["time_s"]), delta=1e-9)
        self.assertIn("near it: refine", self.refrain("report", experiment, "--callers", "refin", code=1).stderr)
        modules = {Path(of["module"]).name: float(of["time_s"]) for of in self.rows(experiment, "--modules")}
        self.assertAlmostEqual(whole["totals"]["wall_s"], sum(modules.values()), delta=1e-6 * whole["totals"]["wall_s"])
        self.assertGreater(modules[f"findings_causes_{MPIS[0]}"], refine_s)
        source = SOURCE / "tests" / "apps" / "findings_causes.c"
        text = source.read_text().splitlines()
        lines = {int(of["line"]): of for of in self.rows(experiment, "--source", source.name)}
        begin = next(i for i, line in enumerate(text, 1) if "static void refine" in line)
        own_s = sum(of["exclusive_s"] for of in whole["callpaths"] if of["path"][-1:] == ["refine"])
        self.assertAlmostEqual(own_s / whole["totals"]["wall_s"], float(lines[begin]["own_share"]), delta=1e-6)
        self.assertIn(text[begin - 1].strip(), self.refrain("report", experiment, "--source", source.name).stdout)
        self.assertRegex(self.refrain("report", experiment, "--source", "nobody.c", code=1).stderr, r"^refrain report: --source nobody.c: .*findings_causes.c")

    def test_functions_keep_their_columns_when_they_are_sorted(self) -> None:
        experiment = self.cause("late_rank", 300)
        page = self.refrain("report", experiment, "--flat", "--sort", "samples", "--limit", "2").stdout
        head = next(line for line in page.splitlines() if "excl %" in line)
        self.assertRegex(head, r"incl % .* MPI calls .* samples .* function$")
        self.assertEqual(2, len(re.findall(r"(?m)^ +[\d.<]+ ", page[page.index(head):])))

    def test_mistakes_get_a_line_that_helps(self) -> None:
        experiment = self.cause("late_rank", 300)
        for words, says in ((("--sort", "calls"), "--sort: goes with --mpi, --modules,"), (("--iterations", "--limit", "2"), "--iterations does not take it; it goes with --mpi"),
                            (("--mpi", "--sort", "a", "--sort", "b"), "--sort: may be given once"), (("--format",), "--format: a value is missing"),
                            (("--callers", ""), "--callers: a name is missing"), (("--mpi", "--columns", "foo"), "--columns foo: there is no such column; the columns are "),
                            (("--rank", "3-1"), "a range goes up"), (("--mpi", "--limit", "-1"), "a whole number, 0 or more")):
            said = self.refrain("report", experiment, *words, code=1).stderr
            self.assertEqual(1, said.count("\n"), said)
            self.assertIn(says, said)

    def test_tables_are_sorted_and_cut(self) -> None:
        experiment = self.cause("none", 30)
        by_calls = self.rows(experiment, "--mpi", "--sort", "calls", "--limit", 2, "--columns", "function,calls")
        self.assertEqual([["function", "calls"]] * 2, [list(of) for of in by_calls])
        self.assertEqual({"MPI_Sendrecv", "MPI_Allreduce"}, {of["function"] for of in by_calls})
        names = [of["function"] for of in self.rows(experiment, "--mpi", "--sort", "function")]
        self.assertEqual(sorted(names), names)
        self.assertEqual(names[::-1], [of["function"] for of in self.rows(experiment, "--mpi", "--sort", "-function")])
        text = self.refrain("report", experiment, "--mpi", "--columns", "calls,function", "--limit", 1).stdout
        self.assertRegex(text, r"(?m)^ +calls +function$")
        for option in ("--sort", "--columns"):
            self.assertRegex(self.refrain("report", experiment, "--mpi", option, "weight", code=1).stderr,
                             rf"^refrain report: {option} weight: there is no such column; the columns are share, time_s, wait_share, calls, .*\n$")

    def test_a_document_has_the_table_of_each_view(self) -> None:
        experiment = self.cause("none", 30)
        for option, table in (("--mpi", "mpi_call_sites"), ("--modules", "modules"), ("--sizes", "sizes"), ("--nodes", "nodes"),
                              ("--communicators", "communicators_of_job"), ("--callers=main", "callers"), ("--source=findings_causes.c", "source")):
            document = json.loads(self.refrain("report", experiment, option, "--format", "json").stdout)
            self.assertIn(table, document, option)
            self.assertTrue(document[table], option)
            rows = self.rows(experiment, option)
            self.assertEqual(len(document[table]), len(rows), option)
        document = json.loads(self.refrain("report", experiment, "--format", "json").stdout)
        self.assertIsInstance(document["findings"], list)

    def threads(self, kind: str = "openmp") -> Path:
        experiment = self.directory / kind
        outcome = self.measured(mpiexec(MPIS[0], 1, PROGRAMS / f"analyze_threads_{MPIS[0]}", kind, 40, 0.015, 0.010), {"REFRAIN_EXPERIMENT_DIRECTORY": str(experiment)})
        self.assertEqual(0, outcome.code, outcome.stderr)
        return experiment

    def test_threads_apart_and_under_their_construct(self) -> None:
        experiment = self.threads()
        page = self.refrain("report", experiment).stdout
        self.assertIn("all threads", page)
        self.assertIn("first of each rank", page)
        callpaths = json.loads(self.refrain("report", experiment, "--format", "json").stdout)["callpaths"]
        bodies = [of["path"] for of in callpaths if of["path"] and "_omp_fn" in of["path"][-1]]
        self.assertTrue(bodies)
        for path in bodies:
            # What has called the construct has left by a tail call.
            self.assertEqual(["main", "GOMP_parallel"], path[:2], "the body of a worker is where its construct is")
        locations = json.loads(self.refrain("report", experiment, "--format", "json").stdout)["locations"]
        for options in (["--rank", "0.1"], ["--thread", "1"]):
            one = json.loads(self.refrain("report", experiment, "--format", "json", *options).stdout)
            self.assertEqual([1], [of["thread"] for of in one["locations"]])
            self.assertAlmostEqual(next(of["wall_s"] for of in locations if of["thread"] == 1), one["totals"]["wall_s"], delta=1e-9)
        self.assertIn("no thread of this number is here; the last one is 1", self.refrain("report", experiment, "--rank", "0.7", code=1).stderr)

    @alone
    def test_what_changed_from_run_to_run(self) -> None:
        before, now = self.cause("none", 200), self.cause("late_rank", 200)
        changes = json.loads(self.refrain("report", before, now, "--format", "json").stdout)
        refine = next(of for of in changes["callpaths"] if of["path"][-1] == "refine")
        # A millisecond an iteration, on one of two ranks.
        self.assertAlmostEqual(0.001 * 200 / 2, refine["difference_s"], delta=3 * refine["standard_error_s"] + 0.02)
        self.assertEqual(0, refine["before_s"])
        page = self.refrain("report", before, now).stdout
        self.assertRegex(page, r"(?m)^before: .*none-200")
        self.assertRegex(page, r"main > step > refine")
        self.assertRegex(page, r"loop step")
        copy = Path(shutil.copytree(before, self.directory / "copy"))
        same = json.loads(self.refrain("report", before, copy, "--format", "json").stdout)
        self.assertEqual({0.0}, {of["difference_s"] for of in same["callpaths"]})

    def test_without_marks_a_call_is_suggested_that_makes_iterations(self) -> None:
        for mpi in MPIS:
            command = mpiexec(mpi, 2, PROGRAMS / f"analyze_waits_{mpi}", "allreduce", 40, 0.01, self.directory / "times")
            plain = self.measured(command)
            self.assertEqual(0, plain.code, plain.stderr)
            said = self.refrain("report", plain.experiment, "--iterations", code=1).stderr
            self.assertIn("REFRAIN_LOOP_BEGIN", said)
            suggestion = re.search(r"(MPI_\w+) in (\w+) occurs (\d+) times on every rank: (REFRAIN_ITERATION_AT)=(\S+)\n", said)
            assert suggestion, said
            self.assertEqual(("one_step", "40"), suggestion.group(2, 3))
            marked = self.measured(command, {suggestion[4]: suggestion[5]})
            self.assertEqual(0, marked.code, marked.stderr)
            loops = json.loads(self.refrain("report", marked.experiment, "--iterations", "--format", "json").stdout)["loops"]
            self.assertEqual([39], [loop["iterations"] for loop in loops], "from one call to the next")

    def in_terminal(self, *words: Any, lines: int = 24, **environment: str) -> str:
        """What the command prints on a terminal of so many lines."""
        process, terminal = pty.fork()
        if process == 0:
            os.environ.clear()
            os.environ.update(clean_environment({"TERM": "xterm", **environment}))
            os.chdir(self.directory)
            os.execv(REFRAIN, [str(REFRAIN), *map(str, words)])
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 100, 0, 0))
        out, deadline = b"", time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if select.select([terminal], [], [], 1)[0]:
                    part = os.read(terminal, 65536)
                    if not part:
                        break
                    out += part
            except OSError:
                break
        os.waitpid(process, 0)
        os.close(terminal)
        return out.decode(errors="replace")

    def test_a_pager_shows_what_does_not_fit(self) -> None:
        experiment = self.cause("none", 30)
        marked = "echo PAGED; cat"
        self.assertIn("PAGED", self.in_terminal("report", experiment, lines=5, REFRAIN_PAGER=marked))
        self.assertNotIn("PAGED", self.in_terminal("report", experiment, lines=200, REFRAIN_PAGER=marked))
        self.assertNotIn("PAGED", self.in_terminal("report", experiment, "--format", "json", lines=5, REFRAIN_PAGER=marked))
        self.assertNotIn("PAGED", self.refrain("report", experiment, REFRAIN_PAGER=marked).stdout)
        for pager in ("cat", "no-such-pager", ""):
            self.assertIn("user code", self.in_terminal("report", experiment, lines=5, REFRAIN_PAGER=pager), pager)
        # Who leaves the pager early has seen enough.
        self.assertNotIn("user code", self.in_terminal("report", experiment, lines=5, REFRAIN_PAGER="head -2; exit 1"))

    def test_a_job_that_runs_is_watched_until_it_ends(self) -> None:
        experiment = self.directory / "running"
        command = [str(REFRAIN), "run", "--experiment", str(experiment), "--", *mpiexec(MPIS[0], 2, PROGRAMS / f"findings_causes_{MPIS[0]}", "none", 3000, 2000)]
        job = subprocess.Popen(command, env=clean_environment({"REFRAIN_SNAPSHOT": "1"}), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while not (experiment / "manifest.json").exists() and time.monotonic() < deadline and job.poll() is None:
                time.sleep(0.2)
            watched = self.refrain("report", experiment, "--watch", "1")
        finally:
            self.assertEqual(0, job.wait(timeout=120))
        self.assertGreaterEqual(watched.stdout.count("findings_causes"), 2)
        self.assertIn("the program still runs", watched.stdout)
        self.assertIn(", complete", watched.stdout)
        self.assertIn("goes with the text", self.refrain("report", experiment, "--watch", "1", "--format", "json", code=1).stderr)

    def test_frames_of_a_language_runtime_are_one_line(self) -> None:
        script = self.directory / "deep.py"
        script.write_text("def f(n):\n    return f(n - 1) if n else sum(i * i for i in range(4000000))\nf(40)\n")
        outcome = self.measured(["/usr/bin/python3", script])
        self.assertEqual(0, outcome.code, outcome.stderr)
        folded = self.refrain("report", outcome.experiment, "--format", "json")
        deepest = max(len(of["path"]) for of in json.loads(folded.stdout)["callpaths"])
        names = {name for of in json.loads(folded.stdout)["callpaths"] for name in of["path"]}
        self.assertTrue(any(name.startswith("[python3") for name in names), names)
        self.assertFalse(any("_PyEval_EvalFrame" in name for name in names), names)
        apart = json.loads(self.refrain("report", outcome.experiment, "--fold", "none", "--format", "json").stdout)["callpaths"]
        self.assertGreater(max(len(of["path"]) for of in apart), deepest)
        self.assertAlmostEqual(sum(of["exclusive_s"] for of in apart), sum(of["exclusive_s"] for of in json.loads(folded.stdout)["callpaths"]), delta=1e-6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
