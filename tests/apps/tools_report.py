"""`refrain report` on the command line: its options, exit codes, files and error lines."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from refrain_testing import REFRAIN, SOURCE
from tools_exec import ToolsTest


# Three calls of one function, each long enough for many samples.
ALONE = """#include <time.h>
static volatile double x;
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) void work(void) { double e = cpu() + 0.5; while (cpu() < e) for (int i = 0; i < 100000; ++i) x += 1; }
int main(void) { work(); x += 1; work(); x += 1; work(); x += 1; return 0; }
"""


# Half a second each of user code and of polling, and a sleep.
POLLS = """#include <mpi.h>
#include <time.h>
static volatile double x;
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(int argc, char** argv) {
  int flag;
  MPI_Init(&argc, &argv);
  for (double e = cpu() + 0.5; cpu() < e;) for (int i = 0; i < 100000; ++i) x += 1;
  for (double e = cpu() + 0.6; cpu() < e;) for (int i = 0; i < 100; ++i)
    MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  struct timespec t = {0, 300000000};
  nanosleep(&t, NULL);
  MPI_Finalize();
  return 0;
}
"""


class Report(ToolsTest):
    experiment: Path | None = None  # measured once, copied for each test

    def setUp(self):
        super().setUp()
        if Report.experiment is None:
            kept = Path(tempfile.mkdtemp(prefix="refrain-report-"))
            self.addClassCleanup(shutil.rmtree, kept)
            Report.experiment = kept / "exp"
            program = self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", "hello")
            done = self.start(REFRAIN, "run", "--", "mpirun.openmpi", "-n", "3", program,
                              REFRAIN_EXPERIMENT_DIRECTORY=str(Report.experiment))
            self.assertEqual(done.returncode, 0, done.stderr)
        shutil.copytree(Report.experiment, self.directory / "exp")

    def report(self, *options):
        return self.start(REFRAIN, "report", *options)

    def locations(self, *options):
        done = self.report("exp", "--format", "json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [location["rank"] for location in json.loads(done.stdout)["locations"]]

    def one_line(self, code, *options):
        """The one line on stderr of a request that cannot be fulfilled."""
        done = self.report(*options)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("refrain report: "), lines[0])
        return lines[0]

    def test_ranks_are_chosen_by_lists_and_ranges(self):
        self.assertEqual(self.locations(), [0, 1, 2])
        self.assertEqual(self.locations("--rank", "1"), [1])
        self.assertEqual(self.locations("--rank", "0,2"), [0, 2])
        self.assertEqual(self.locations("--rank", "0", "--rank", "1-2"), [0, 1, 2])

    def test_the_manual_page_has_every_option(self):
        page = (SOURCE / "docs/man/refrain-report.1").read_text().replace("\\", "")
        options = set(re.findall(r"--[a-z-]+", self.report("--help").stdout)) - {"--help"}
        self.assertIn("--windows", options)
        self.assertEqual(set(), {option for option in options if option not in page})

    def test_a_program_without_mpi_is_one_process(self):
        program = self.compile("gcc", self.file("alone.c", ALONE), "alone", "-O1")
        done = self.start(REFRAIN, "run", "--experiment", "alone-exp", "--", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.report("alone-exp").stdout
        self.assertIn("1 process without MPI", text)
        self.assertIn("per tick", text)
        self.assertNotIn("uncertain", text, "without MPI the clocks tell it all")
        for wrong in ("rank", "per MPI call"):
            self.assertNotIn(wrong, text.split("call path")[0])

    def test_sleep_beside_calls_that_poll_is_blocked_time_of_user_code(self):
        """0.3 s of it. By the clocks of the whole run it might be in MPI as well."""
        program = self.compile("mpicc.openmpi", self.file("polls.c", POLLS), "polls", "-O1")
        done = self.start(REFRAIN, "run", "--experiment", "polls-exp", "--", "mpirun.openmpi", "-n", "1", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        totals = json.loads(self.report("polls-exp", "--format", "json").stdout)["totals"]
        self.assertEqual(totals["not_on_cpu_high_s"], totals["not_on_cpu_low_s"])
        self.assertGreater(totals["blocked_s"], 0.299)
        self.assertLess(totals["blocked_s"], 0.45)
        text = self.report("polls-exp").stdout
        self.assertRegex(text, r"(?m)^ blocked +[34]\d\d ms ")
        self.assertNotIn("not on CPU", text)

    def test_callsites_without_debug_information_are_told_apart(self):
        program = self.compile("gcc", self.file("alone.c", ALONE), "alone", "-O1")
        done = self.start(REFRAIN, "run", "--experiment", "alone-exp", "--frequency", "250", "--", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        sites = re.findall(r" main  \[(alone\+0x[0-9a-f]+)\]", self.report("alone-exp", "--callsites").stdout)
        self.assertEqual((len(sites), len(set(sites))), (3, 3))
        paths = json.loads(self.report("alone-exp", "--callsites", "--format", "json").stdout)["callpaths"]
        self.assertLessEqual(set(sites), {f"alone+0x{path['offset']:x}" for path in paths})

    def test_windows_that_are_not_there(self):
        self.assertIn("no windows", self.one_line(1, "exp", "--windows"))
        self.assertIn("--flat excludes --windows", self.one_line(1, "exp", "--windows", "--flat"))

    def test_a_rank_that_is_not_there_is_named(self):
        self.assertIn("3", self.one_line(1, "exp", "--rank", "3"))
        self.assertIn("2147483647", self.one_line(1, "exp", "--rank", "2147483647"))
        for wrong in ("x", "2-1", "-1", "1-", ""):
            self.assertIn("--rank", self.one_line(1, "exp", f"--rank={wrong}"))

    def test_every_format_names_the_mpi_functions(self):
        self.assertIn("MPI_Init", self.report("exp", "--min-share", "0").stdout)
        paths = json.loads(self.report("exp", "--format", "json").stdout)["callpaths"]
        self.assertTrue(any(path["path"][-1] == "MPI_Init" and path["visits"] == 3 for path in paths))
        rows = list(csv.DictReader(io.StringIO(self.report("exp", "--format", "csv").stdout)))
        self.assertEqual(len(rows), len(paths))

    def test_a_file_receives_the_report_and_a_failure_leaves_none(self):
        done = self.report("exp", "--format", "json", "--output", "out.json")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(json.loads((self.directory / "out.json").read_text())["experiment"]["ranks"], 3)
        self.one_line(1, "exp", "--rank", "7", "--output", "none.json")
        self.assertFalse((self.directory / "none.json").exists())
        self.assertIn("no/such/file", self.one_line(1, "exp", "--output", "no/such/file"))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_is_said(self):
        self.assertIn("/dev/full", self.one_line(1, "exp", "--output", "/dev/full"))

    def test_wrong_usage_is_one_line_that_says_what_is_allowed(self):
        self.assertIn("json", self.one_line(1, "exp", "--format", "xml"))
        self.assertIn("--callpath-depth", self.one_line(1, "exp", "--callpath-depth", "0"))
        self.assertIn("third", self.one_line(1, "exp", "exp", "third"))
        self.assertIn("--no-such", self.one_line(1, "exp", "--no-such"))

    def test_what_is_no_experiment_has_its_own_exit_code(self):
        self.assertIn("missing", self.one_line(2, "missing"))
        (self.directory / "exp" / "profile.refrain").write_bytes(b"not a profile")
        self.assertIn("profile.refrain", self.one_line(2, "exp"))


if __name__ == "__main__":
    unittest.main()
