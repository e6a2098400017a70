"""`refrain report` of marked loops: what it must show of planted slow iterations and of a planted slow rank."""

from __future__ import annotations

import csv
import io
import json
import shutil
import statistics
import tempfile
import unittest
from pathlib import Path

from refrain_testing import BUILD, REFRAIN, SOURCE
from tools_exec import ToolsTest

STEPS, EVERY, PEAK_S, WORK_S = 300, 50, 0.020, 0.001

# Every 50th step each rank is in peak() for 20 ms; otherwise rank 0 works 1 ms and rank 1 works 3 ms. CPU time: others may
# use the machine meanwhile, and single iterations may take longer than planned.
PROGRAM = """
#include <mpi.h>
#include <refrain/refrain.h>
#include <stdio.h>
#include <time.h>
static double clock_s(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static double now(void) { return clock_s(CLOCK_THREAD_CPUTIME_ID); }
static volatile double x;
__attribute__((noinline)) static void work(double s) { double e = now() + s; while (now() < e) x += 1; }
__attribute__((noinline)) static void peak(double s) {
  double e = now() + s;
  int v;
  while (now() < e) x += 2;
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &v, MPI_STATUS_IGNORE); /* a class of its own: no cluster mixes peaks
                                                                            with other iterations */
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank;
  static char a[3000], b[3000];
  static double wall[STEPS]; /* of the work, by the program's own clock */
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  REFRAIN_LOOP_BEGIN("step");
  for (int i = 0; i < STEPS; ++i) {
    REFRAIN_ITERATION_BEGIN();
    double begin = clock_s(CLOCK_MONOTONIC);
    if (i % EVERY == EVERY - 1) peak(PEAK_S); else work(rank ? 3 * WORK_S : WORK_S);
    wall[i] = clock_s(CLOCK_MONOTONIC) - begin;
    MPI_Sendrecv(a, 1000 * (i % 3 + 1), MPI_BYTE, !rank, 0, b, 3000, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (i % 10 == 0) MPI_Barrier(MPI_COMM_WORLD);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  REFRAIN_LOOP_BEGIN("output");
  for (int i = 0; i < (rank ? 3 : 5); ++i) {
    REFRAIN_ITERATION_BEGIN();
    work(WORK_S);
    REFRAIN_ITERATION_END();
  }
  REFRAIN_LOOP_END();
  char name[4096];
  snprintf(name, sizeof name, "%s/work-%d", argv[1], rank); /* launchers mix the lines of two ranks */
  FILE *file = fopen(name, "w");
  for (int i = 0; i < STEPS; ++i) fprintf(file, "%d %d %.9f\\n", rank, i, wall[i]);
  fclose(file);
  MPI_Finalize();
  return 0;
}
"""


def is_peak(iteration: int) -> bool:
    return iteration % EVERY == EVERY - 1


class Measured(ToolsTest):
    """One measurement serves all tests."""

    experiment: Path | None = None
    work_s: dict[tuple[int, int], float] = {}  # of rank and iteration, as the program says: its wait for a core is in it
    without_loops: Path | None = None

    def setUp(self):
        super().setUp()
        if Measured.experiment is None:
            kept = Path(tempfile.mkdtemp(prefix="refrain-iterations-"))
            unittest.addModuleCleanup(shutil.rmtree, kept)
            # The programs stay, too: the names of their functions are found in them.
            source = self.file("steps.c", PROGRAM)
            steps = self.compile("mpicc.openmpi", source, kept / "steps", "-O2", "-g", f"-I{BUILD / 'include'}",
                                 f"-DSTEPS={STEPS}", f"-DEVERY={EVERY}", f"-DPEAK_S={PEAK_S}", f"-DWORK_S={WORK_S}")
            hello = self.compile("mpicc.openmpi", SOURCE / "tests/apps/tools_hello.c", kept / "hello")
            for name, program in (("exp", steps), ("none", hello)):
                done = self.start(REFRAIN, "run", "--", "mpirun.openmpi", "-n", "2", program, *([kept] if name == "exp" else []),
                                  REFRAIN_CLUSTERS="8",
                                  REFRAIN_SAMPLING_FREQUENCY="250", REFRAIN_EXPERIMENT_DIRECTORY=str(kept / name))
                self.assertEqual(done.returncode, 0, done.stderr)
                if name == "exp":
                    Measured.work_s = {(int(r), int(i)): float(s) for rank in (0, 1)
                                       for r, i, s in map(str.split, (kept / f"work-{rank}").read_text().splitlines())}
            Measured.experiment, Measured.without_loops = kept / "exp", kept / "none"

    def report(self, *options, experiment=None, **settings):
        return self.start(REFRAIN, "report", experiment or Measured.experiment, *options, **settings)

    def out(self, *options, **settings):
        done = self.report(*options, **settings)
        self.assertEqual((done.returncode, done.stderr), (0, ""), options)
        return done.stdout

    def text(self, *options, columns=100, lang="C"):
        return self.out(*options, COLUMNS=str(columns), LANG=lang, LC_ALL=lang)

    def rows(self, *options):
        return list(csv.DictReader(io.StringIO(self.out("--format", "csv", *options))))

    def json(self, *options, **settings):
        return json.loads(self.out("--format", "json", *options, **settings))

    def one_line(self, *options, experiment=None):
        done = self.report(*options, experiment=experiment)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("refrain report: "), lines[0])
        return lines[0]


class Iterations(Measured):
    def test_rows_hold_every_iteration_of_every_rank_and_loop(self):
        rows = self.rows("--iterations")
        keys = [(r["loop"], int(r["rank"]), int(r["iteration"])) for r in rows]
        self.assertEqual(keys, [("step", r, i) for r in range(2) for i in range(STEPS)] +
                         [("output", 0, i) for i in range(5)] + [("output", 1, i) for i in range(3)])
        for r in rows:
            wall, parts = float(r["wall_s"]), sum(float(r[c]) for c in ("mpi_s", "user_s", "refrain_s"))
            self.assertAlmostEqual(wall, parts, delta=1e-9 + 1e-3 * float(r["refrain_s"]))

    def test_what_was_planted_is_there(self):
        rows = self.rows("--iterations", "--loop", "step")
        for r in rows:
            i, barrier = int(r["iteration"]), int(r["iteration"]) % 10 == 0
            self.assertEqual((int(r["bytes_sent"]), int(r["mpi_calls"])),
                             (1000 * (i % 3 + 1), 1 + barrier + is_peak(i)))
            least = PEAK_S if is_peak(i) else WORK_S * (3 if r["rank"] == "1" else 1)
            # Planted by the wall clock: ticks and Refrain's own work in it are part of what the program has waited for.
            self.assertGreaterEqual(float(r["user_s"]) + float(r["refrain_s"]), 0.99 * least)
        self.assertEqual(2 * STEPS, len(self.work_s))
        beyond = [float(r["user_s"]) - self.work_s[int(r["rank"]), int(r["iteration"])] for r in rows]
        self.assertLess(abs(statistics.median(beyond)), 0.1 * WORK_S, "user time is that of the program's clock")
        if self.slow_rank_is_slow():
            typical = [statistics.median(float(r["user_s"]) for r in rows if r["rank"] == str(rank)) for rank in (0, 1)]
            self.assertGreater(typical[1], 1.5 * typical[0], "the slow rank")

    def slow_rank_is_slow(self):
        """User time holds what the work has waited for a core, which can be any time and hide which rank is slow; the
        program's own clock says whether it has."""
        typical = [statistics.median(self.work_s[rank, i] for i in range(STEPS)) for rank in (0, 1)]
        return typical[1] > 2 * typical[0]

    def graph(self, metric, title):
        """Line below the title, rows of the graph from the top, text. A column is an iteration."""
        text = self.text("--iterations", "--loop", "step", "--metric", metric, columns=STEPS + 20)
        lines = text.splitlines()
        head = next(i for i, line in enumerate(lines) if line.startswith(f"loop step: 300 iterations on 2 ranks, {title}"))
        rows = [line[line.index("|") + 1:].ljust(STEPS) for line in lines if "|" in line]
        self.assertEqual(len(rows), 12 + 2, text)  # two of the map
        return lines[head + 1], rows[:12], text

    def test_the_graph_shows_the_slow_iterations(self):
        head, rows, text = self.graph("user", "user time")
        self.assertRegex(head, r"^least \S+ [mu]?s \(iteration \d+ of rank 0\), mean \S+ [mu]?s, largest \S+ [mu]?s ")
        slowest = [0.0] * STEPS
        for r in self.rows("--iterations", "--loop", "step"):
            slowest[int(r["iteration"])] = max(slowest[int(r["iteration"])], float(r["user_s"]))
        above = 13  # an iteration that was interrupted for long may lie wholly above the graph, where its only mark is then
        height = [above if rows[0][i] == "^" else max(12 - n for n, row in enumerate(rows) if row[i] in (":", "#")) for i in range(STEPS)]
        # One iteration that the machine interrupts for long can make all others flat, so what is a row apart counts.
        for i in range(1, STEPS):
            if slowest[i] - slowest[i - 1] > 1.01 * max(slowest) / 12:
                self.assertGreater(height[i], min(height[i - 1], above - 1), f"iteration {i} is slower than the one before it\n{text}")
        if max(slowest) < 2 * PEAK_S:  # nothing was interrupted for long
            peaks = range(EVERY - 1, STEPS, EVERY)
            higher = [height[i] > height[i - 1] for i in peaks]
            self.assertGreaterEqual(sum(higher), len(peaks) - 1, f"peaks are higher than what is before them\n{text}")

    def test_the_graph_draws_each_iteration(self):
        head, rows, text = self.graph("mpi_calls", "mpi_calls")
        self.assertIn("largest 2 (iteration 0 of rank 0)", head)
        for i in range(STEPS):
            places = [n for n, row in enumerate(rows) if row[i] != " "]
            two = is_peak(i) or i % 10 == 0
            self.assertIn(places, ([0],) if two else ([5], [6]), f"iteration {i}: at the top, or half way\n{text}")

    def test_the_map_shows_the_slow_rank(self):
        lines = self.text("--iterations", "--loop", "step", "--metric", "user", columns=STEPS + 20).splitlines()
        shades = ".:-=+*#@"
        darkness, peaks = [], []
        for rank in (0, 1):
            row = next(line for line in lines if line.strip().startswith(f"rank {rank} |"))
            places = row[row.index("|") + 1:].ljust(STEPS)
            self.assertEqual(len(places), STEPS)
            darkness.append([shades.index(p) for i, p in enumerate(places) if not is_peak(i)])
            peaks += [shades.index(p) for i, p in enumerate(places) if is_peak(i)]
        if self.slow_rank_is_slow():
            self.assertGreater(statistics.mean(darkness[1]), statistics.mean(darkness[0]))
        self.assertGreater(statistics.mean(peaks), statistics.mean(darkness[1]))

    def test_lines_fit_the_terminal_in_ascii_and_unicode(self):
        for columns in (40, 60, 80, 133):
            for options in (("--iterations",), ("--clusters",), ("--iterations", "--callpath", "peak")):
                text = self.text(*options, columns=columns)
                self.assertTrue(text.isascii())
                if columns >= 60:  # the least that tables need
                    self.assertLessEqual(max(map(len, text.splitlines())), columns, f"{options}\n{text}")
        self.assertIn("░", self.text("--iterations", lang="C.UTF-8"))

    def test_folded_columns_and_unequal_ranks_are_said(self):
        text = " ".join(self.text("--iterations").split())
        self.assertIn("A column is up to 4 iterations", text)
        self.assertIn("Each place is the largest value of up to 4 iterations.", text)
        self.assertIn("loop output: 5 iterations on 2 ranks, wall time", text)
        self.assertIn("Not all have as many iterations: rank 1 has 3.", text)

    def test_ranks_and_loops_are_chosen(self):
        self.assertEqual({(r["loop"], r["rank"]) for r in self.rows("--iterations", "--rank", "1", "--loop", "output")},
                         {("output", "1")})

    def test_json_has_series_of_equal_length(self):
        loops = self.json("--iterations")["loops"]
        self.assertEqual([(l["name"], l["iterations"]) for l in loops], [("step", STEPS), ("output", 5)])
        for location in loops[0]["per_location"]:
            self.assertEqual({len(location[name]) for name in ("cluster_of", "wall_s", "mpi_s", "bytes_sent", "user_s")},
                             {STEPS})
            self.assertEqual(location["bytes_sent"], [1000 * (i % 3 + 1) for i in range(STEPS)])
            self.assertLessEqual({"size", "class", "exemplar"}, location["clusters"][0].keys())
            for k, cluster in enumerate(location["clusters"]):
                members = [i for i, of in enumerate(location["cluster_of"]) if of == k]
                self.assertEqual((cluster["size"], cluster["first"], cluster["last"]),
                                 (len(members), members[0], members[-1]))
        self.assertEqual(self.json("--iterations", experiment=Measured.without_loops)["loops"], [])
        self.assertNotIn("loops", self.json())


class CallPaths(Measured):
    def test_exact_paths_are_reconstructed_exactly(self):
        for r in self.rows("--iterations", "--loop", "step", "--callpath", "MPI_Sendrecv", "--metric", "bytes_sent"):
            self.assertEqual(r["callpath_bytes_sent"], r["bytes_sent"])

    def test_a_sampled_function_is_found_in_its_iterations(self):
        rows = self.rows("--iterations", "--loop", "step", "--callpath", "main/step/peak")
        inside = statistics.mean(float(r["callpath_wall_s"]) for r in rows if is_peak(int(r["iteration"])))
        outside = statistics.mean(float(r["callpath_wall_s"]) for r in rows if not is_peak(int(r["iteration"])))
        self.assertGreater(inside, PEAK_S / 3)
        self.assertLess(outside, inside / 4)
        for r in rows:
            self.assertLessEqual(float(r["callpath_wall_s"]), float(r["wall_s"]) * (1 + 1e-9))

    def test_the_text_says_that_it_is_reconstructed(self):
        text = " ".join(self.text("--iterations", "--loop", "step", "--callpath", "peak").split())
        self.assertIn("wall time in peak", text)
        self.assertRegex(text, r"Reconstructed from \d+ clusters")
        self.assertNotIn("Reconstructed", self.text("--iterations"))

    def test_json_names_the_call_path(self):
        location = self.json("--iterations", "--loop", "step", "--callpath", "peak", "--metric", "user")["loops"][0]["per_location"][0]
        self.assertEqual((location["callpath"]["wanted"], len(location["callpath"]["user_s"])), ("peak", STEPS))


class Clusters(Measured):
    def test_a_cluster_of_peaks_is_set_apart_by_its_function(self):
        loop = self.json("--iterations", "--clusters", "--loop", "step")["loops"][0]
        for location in loop["per_location"]:
            blamed = set()
            for i in range(EVERY - 1, STEPS, EVERY):
                apart = location["clusters"][location["cluster_of"][i]]["apart"]
                blamed |= {name for difference in apart for name in difference["path"]}
            self.assertIn("peak", blamed, location["clusters"])
        self.assertRegex(self.text("--clusters", "--loop", "step", columns=140), r" in .*peak")

    def test_tables_are_the_clusters(self):
        of = {int(r["iteration"]): int(r["cluster"]) for r in self.rows("--iterations", "--loop", "step", "--rank", "0")}
        table = self.rows("--clusters", "--loop", "step", "--rank", "0")
        self.assertEqual(sum(int(r["size"]) for r in table), STEPS)
        self.assertAlmostEqual(sum(float(r["wall_share"]) for r in table), 1, places=6)
        for r in table:
            self.assertEqual(of[int(r["exemplar"])], int(r["cluster"]))
            # The mean is one of times that were rounded to nanoseconds.
            self.assertLessEqual(float(r["min_wall_s"]), float(r["mean_wall_s"]) + 1e-9)
            self.assertLessEqual(float(r["mean_wall_s"]), float(r["max_wall_s"]) + 1e-9)
        barrier = [{i % 10 == 0 for i, c in of.items() if c == int(r["cluster"])} for r in table]
        self.assertTrue(all(len(kinds) == 1 for kinds in barrier), "a cluster mixes classes")
        text = self.text("--clusters", "--loop", "step", "--rank", "0", columns=120)
        self.assertIn("exemplar", text)
        self.assertEqual(sum(line.split()[:2] == [r["cluster"], r["size"]] for line in text.splitlines() for r in table),
                         len(table))


class Parts(Measured):
    def test_an_iteration_is_a_call_tree_whose_times_add_up(self):
        for i in (EVERY - 1, 100, 101):
            tree = self.json("--iteration", i, "--loop", "step")
            rows = [r for r in self.rows("--iterations", "--loop", "step") if int(r["iteration"]) == i]
            wall = sum(float(r["wall_s"]) for r in rows)
            self.assertAlmostEqual(tree["totals"]["wall_s"], wall, delta=1e-9)
            self.assertAlmostEqual(sum(c["exclusive_s"] for c in tree["callpaths"]), wall, delta=1e-9)
            self.assertAlmostEqual(tree["totals"]["mpi_s"], sum(float(r["mpi_s"]) for r in rows), delta=1e-9)
            sent = [c for c in tree["callpaths"] if c["path"][-1] == "MPI_Sendrecv"]
            self.assertEqual((sum(c["visits"] for c in sent), sum(c["bytes_sent"] for c in sent)),
                             (2, 2000 * (i % 3 + 1)))
            self.assertEqual(any(c["path"][-1] == "MPI_Barrier" for c in tree["callpaths"]), i % 10 == 0)
        self.assertEqual([l["rank"] for l in self.json("--iteration", 3, "--loop", "step", "--rank", 1)["locations"]], [1])

    def test_parts_of_a_complete_experiment_are_complete(self):
        """Also a part that not every rank has: a cluster is one rank's, and rank 1 made fewer outputs."""
        for options in (("--cluster", 0, "--loop", "step"), ("--cluster", 0, "--loop", "step", "--rank", 1),
                        ("--iteration", 4, "--loop", "output"), ("--iteration", 4, "--loop", "step")):
            experiment = self.json(*options)["experiment"]
            self.assertEqual((experiment["state"], experiment["missing_ranks"]), ("complete", []), options)
            text = self.text(*options)
            self.assertNotIn("incomplete", text)
            self.assertNotIn("warning", text)

    def test_a_slow_iteration_shows_its_function(self):
        tree = self.json("--iteration", EVERY - 1, "--loop", "step")["callpaths"]
        inclusive = {c["path"][-1]: c["inclusive_s"] for c in tree}
        self.assertGreater(inclusive.get("peak", 0), PEAK_S / 2)

    def test_texts_say_what_they_are(self):
        text = " ".join(self.text("--iteration", "101", "--loop", "step").split())
        self.assertIn("iteration 101 of loop step Wall time, MPI time, calls and bytes are exact.", text)
        self.assertIn("MPI_Sendrecv", text)
        self.assertIn("iteration 4 of loop output, which rank 1 did not reach",
                      self.text("--iteration", "4", "--loop", "output"))
        text = " ".join(self.text("--cluster", "0", "--loop", "step").split())
        self.assertIn("cluster 0 of loop step on rank 0:", text)
        self.assertIn("Every rank has clusters of its own: --rank chooses another.", text)

    def test_a_cluster_is_the_sum_of_its_iterations(self):
        for row in self.rows("--clusters", "--loop", "step", "--rank", "1"):
            tree = self.json("--cluster", row["cluster"], "--loop", "step", "--rank", "1")
            size = int(row["size"])
            self.assertAlmostEqual(tree["totals"]["wall_s"], size * float(row["mean_wall_s"]), delta=1e-8)
            self.assertEqual(sum(c["visits"] for c in tree["callpaths"] if c["path"][-1] == "MPI_Sendrecv"), size)

    def test_tables_too(self):
        rows = self.rows("--iteration", "0", "--loop", "step")
        self.assertTrue(any(row["path"].endswith(";MPI_Barrier") for row in rows))

    def test_estimates_are_marked(self):
        def precisions(*options):
            rows = [row for row in self.rows(*options) if row["kind"] != "other"]
            return {(row["kind"] == "mpi", row["precision"]) for row in rows}

        self.assertEqual({(True, "exact"), (False, "sampled")}, precisions())
        self.assertEqual({(True, "exact"), (False, "sampled")}, precisions("--cluster", "0", "--loop", "step"))
        # At most 8 clusters for 300 iterations: most of them share one.
        shared = next(i for i in range(STEPS) if self.json("--iteration", i, "--loop", "step")["experiment"]["reconstructed"])
        self.assertEqual({(True, "reconstructed"), (False, "sampled")}, precisions("--iteration", shared, "--loop", "step"))


class WrongRequests(Measured):
    def test_a_metric_that_is_not_there_names_those_that_are(self):
        line = self.one_line("--iterations", "--metric", "weather")
        for name in ("weather", "wall", "mpi", "user", "cpu", "mpi_calls", "bytes_sent"):
            self.assertIn(name, line)
        self.assertIn("bytes_sent", self.one_line("--iterations", "--callpath", "peak", "--metric", "cpu"))

    def test_a_call_path_that_is_not_there_names_near_ones(self):
        self.assertIn("peak", self.one_line("--iterations", "--callpath", "main/paek"))
        self.assertIn("MPI_Sendrecv", self.one_line("--iterations", "--callpath", "MPI_Sendrcv"))

    def test_loops_iterations_and_clusters_that_are_not_there(self):
        self.assertIn("step, output", self.one_line("--iterations", "--loop", "setup"))
        self.assertIn("300 iterations", self.one_line("--iteration", "300", "--loop", "step"))
        self.assertIn("clusters", self.one_line("--cluster", "1000", "--loop", "step"))
        self.assertIn("--loop", self.one_line("--iteration", "0"))
        self.assertIn("step, output", self.one_line("--cluster", "0"))

    def test_options_that_would_change_nothing_are_refused(self):
        for option, of, options in (
                ("--flat", "call paths, which --iterations does not show", ("--iterations", "--flat")),
                ("--flat", "call paths, which --clusters does not show", ("--clusters", "--flat", "--format", "csv")),
                ("--callsites", "call paths, which --windows does not show", ("--windows", "--callsites")),
                ("--callsites", "--flat does not keep", ("--flat", "--callsites")),
                ("--callpath", "goes with --iterations or --locations", ("--flat", "--callpath", "peak")),
                ("--callpath-depth", "call paths, which --iterations", ("--iterations", "--callpath-depth", "3")),
                ("--min-share", "only text folds", ("--min-share", "1", "--format", "csv")),
                ("--min-share", "only text folds", ("--min-share", "0.5", "--format", "json")),
                ("--min-share", "call paths, which --iterations", ("--iterations", "--min-share", "1")),
                ("--loop", "goes with --iterations", ("--loop", "step")),
                ("--loop", "goes with --iterations", ("--loop", "nosuch"))):
            line = self.one_line(*options)
            self.assertIn(f"refrain report: {option}: ", line)
            self.assertIn(of, line)
        # JSON has a member for each.
        both = self.json("--iterations", "--flat")
        self.assertTrue(both["loops"] and both["functions"])

    def test_threads_that_are_not_there(self):
        for view in ("--iterations", "--locations"):
            self.assertIn("--thread 7: no thread of this number", self.one_line(view, "--thread", "7"))

    def test_numbers_may_be_written_as_reports_print_them(self):
        self.assertIn("--iteration 1000: ", self.one_line("--iteration", "1,000", "--loop", "step"))
        self.assertIn("--cluster 1234567: ", self.one_line("--cluster", "1,234,567", "--loop", "step"))
        for wrong in ("1,00", ",100", "1,0000", "1,,000", "1.000"):
            self.assertIn("a number, counted from 0", self.one_line("--iteration", wrong, "--loop", "step"))

    def test_an_experiment_without_loops_says_so(self):
        for options in (("--iterations",), ("--clusters",), ("--iteration", "0"), ("--cluster", "0"),
                        ("--iterations", "--format", "csv")):
            line = self.one_line(*options, experiment=Measured.without_loops)
            self.assertIn("no loop is marked", line)
            self.assertIn("REFRAIN_LOOP_BEGIN", line)

    def test_options_that_make_no_sense(self):
        self.assertIn("--iterations", self.one_line("--metric", "mpi"))
        self.assertIn("--iterations", self.one_line("--callpath", "peak"))
        for other in (("--cluster", "1"), ("--iterations",), ("--clusters",)):
            self.assertIn("excludes", self.one_line("--iteration", "1", *other))
        for wrong in ("-1", "x", "1.5", "99999999999999999999"):
            self.assertIn(wrong, self.one_line(f"--iteration={wrong}"))
        self.assertIn("csv", self.one_line("--iterations", "--clusters", "--format", "csv"))


if __name__ == "__main__":
    unittest.main()
