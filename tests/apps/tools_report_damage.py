"""`refrain report` of damaged experiments: what is said where, the exit status, and that the rest is shown.
And requests that cannot be fulfilled."""

from __future__ import annotations

import csv
import io
import json
import shutil
import struct
import tempfile
import unittest
from pathlib import Path

from refrain_testing import BUILD, REFRAIN
from tools_exec import ToolsTest

RANKS = 40
MANY = ["--ranks", RANKS, "--paths", 30, "--clusters", 4, "--iterations", 1200, "--threads", 1]
FORMATS = ("text", "json", "csv")
RANK, LOCATIONS, LOOPS, ITERATIONS, TOTALS, REGIONS, PATHS = 16, 17, 20, 21, 28, 4, 6
RANK_TABLE, ENTRY = 64, 32


def block_of(data: bytes, rank: int | None) -> int:
    """Where the block of a rank begins; of None, that of the definitions (docs/file-format.md)."""
    return struct.unpack_from("<Q", data, 40 if rank is None else RANK_TABLE + ENTRY * rank + 8)[0]


def section_of(data: bytes, rank: int | None, wanted: int, at: int | None = None) -> int:
    """A byte of the contents of a section, by default in the middle."""
    block = block_of(data, rank)
    for i in range(struct.unpack_from("<I", data, block)[0]):
        kind, _, _, offset, size = struct.unpack_from("<IHHQQ", data, block + 8 + 40 * i)
        if kind == wanted:
            return block + offset + (size // 2 if at is None else at)
    raise AssertionError(f"there is no section {wanted}")


class DamagedReport(ToolsTest):
    kept: Path | None = None  # made once, copied for each test

    def setUp(self):
        super().setUp()
        if DamagedReport.kept is None:
            kept = Path(tempfile.mkdtemp(prefix="refrain-damage-"))
            self.addClassCleanup(shutil.rmtree, kept)
            for name, options in (("exp", MANY), ("one", ["--ranks", 1, *MANY[2:]])):
                done = self.start(BUILD / "tests" / "bin" / "make_experiment", kept / name, *options)
                self.assertEqual(0, done.returncode, done.stderr)
            DamagedReport.kept = kept
        for name in ("exp", "one"):
            shutil.copytree(DamagedReport.kept / name, self.directory / name)

    def report(self, *options):
        return self.start(REFRAIN, "report", *options)

    def flip(self, at, experiment="exp"):
        """`at`: a place, or what makes one of the file's bytes."""
        path = self.directory / experiment / "profile.refrain"
        data = bytearray(path.read_bytes())
        data[at(data) if callable(at) else at] ^= 16
        path.write_bytes(data)

    def document(self, *options, code=0):
        done = self.report("exp", "--format", "json", *options)
        self.assertEqual(code, done.returncode, done.stderr)
        return json.loads(done.stdout), done.stderr

    def one_line(self, code, *options):
        """The one line on stderr of a request that cannot be fulfilled."""
        done = self.report(*options)
        self.assertEqual((code, ""), (done.returncode, done.stdout), done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(1, len(lines), done.stderr)
        self.assertTrue(lines[0].startswith("refrain report: "), lines[0])
        return lines[0]

    # Damage.

    def test_one_bad_rank_of_many_costs_itself(self):
        before, _ = self.document()
        self.assertEqual([], before["damage"])
        self.flip(lambda data: block_of(data, 7) + 9)
        after, errors = self.document(code=4)
        self.assertEqual([7], after["experiment"]["missing_ranks"])
        self.assertEqual([row for row in before["locations"] if row["rank"] != 7], after["locations"])
        self.assertEqual(1, len(after["damage"]))
        for part in ("exp/profile.refrain: at byte ", "rank 7", "; rank 7 is missing"):
            self.assertIn(part, after["damage"][0])
        self.assertEqual(f"refrain report: {after['damage'][0]}\n", errors)

        text = self.report("exp")
        self.assertEqual((4, ""), (text.returncode, text.stderr), "the text says it itself")
        self.assertIn("rank 7 is missing", " ".join(text.stdout.split()))
        self.assertIn("user code", text.stdout)
        table = self.report("exp", "--format", "csv", "--locations")
        self.assertEqual((4, errors), (table.returncode, table.stderr))
        rows = list(csv.DictReader(io.StringIO(table.stdout)))
        self.assertEqual([rank for rank in range(RANKS) if rank != 7], [int(row["rank"]) for row in rows])
        for other in ((), ("--flat",), ("--iterations", "--rank", "6,7,8"), ("--iteration", "5")):
            for name in FORMATS:
                done = self.report("exp", "--format", name, *other)
                self.assertEqual(4, done.returncode, (other, name, done.stderr))
                self.assertGreater(len(done.stdout), 100)

    def test_ranks_that_are_not_asked_for_are_not_missed(self):
        self.flip(lambda data: block_of(data, 7) + 9)
        document, errors = self.document("--rank", "6,8")
        self.assertEqual(([], ""), (document["damage"], errors))

    def test_many_bad_ranks_are_few_lines(self):
        for rank in range(3, 23):
            self.flip(lambda data, rank=rank: block_of(data, rank) + 9)
        document, errors = self.document(code=4)
        self.assertEqual(20, len(document["damage"]))
        lines = errors.splitlines()
        self.assertEqual(6, len(lines), errors)
        self.assertEqual("refrain report: and 15 more parts are damaged", lines[-1])

    def test_totals_that_are_damaged_are_made_of_the_units(self):
        before, _ = self.document()
        self.flip(lambda data: section_of(data, 3, TOTALS))
        after, _ = self.document(code=4)
        self.assertIn("the totals of rank 3 are those of its units", after["damage"][0])
        self.assertEqual(before["locations"], after["locations"])
        self.assertEqual(before["totals"], after["totals"])

    def test_units_that_are_damaged_leave_the_run(self):
        before, _ = self.document()
        self.flip(lambda data: section_of(data, 3, LOCATIONS))
        after, _ = self.document()
        self.assertEqual(before, after, "nobody has read the units")
        part, _ = self.document("--iteration", "5", code=4)
        self.assertIn("what call paths of rank 3 have in iterations and clusters is missing", part["damage"][0])
        self.assertEqual(RANKS, len(part["locations"]))

    def test_call_paths_of_iterations_whose_clusters_are_damaged_are_gaps(self):
        wanted = ("--iterations", "--callpath", "MPI_Allreduce", "--metric", "mpi_calls")
        before, _ = self.document(*wanted)
        self.flip(lambda data: section_of(data, 3, LOCATIONS))
        after, _ = self.document(*wanted, code=4)
        locations = [(b, a) for b, a in zip(before["loops"][0]["per_location"], after["loops"][0]["per_location"])]
        self.assertEqual(RANKS, len(locations))
        for b, a in locations:
            self.assertEqual(b["wall_s"], a["wall_s"], "an iteration's own values are in its log")
            if a["rank"] == 3:
                self.assertEqual([None] * len(b["wall_s"]), a["callpath"]["mpi_calls"])
            else:
                self.assertEqual(b["callpath"]["mpi_calls"], a["callpath"]["mpi_calls"])
        rows = list(csv.DictReader(io.StringIO(self.report("exp", *wanted, "--format", "csv").stdout)))
        self.assertEqual({True}, {(row["callpath_mpi_calls"] == "") == (row["rank"] == "3") for row in rows})
        text = " ".join(self.report("exp", *wanted).stdout.split())
        self.assertIn("the clusters of 1,200 iterations could not be read: their call paths are not known", text)
        alone = " ".join(self.report("exp", *wanted, "--rank", "3").stdout.split())
        self.assertIn("call paths of its iterations are not known", alone)

    def test_iterations_that_are_damaged_are_a_gap(self):
        self.flip(lambda data: section_of(data, 3, ITERATIONS, 50))
        for name in FORMATS:
            done = self.report("exp", "--iterations", "--rank", "3", "--format", name)
            self.assertEqual(4, done.returncode, done.stderr)
            said = done.stdout if name == "text" else done.stderr
            self.assertIn("missing", said)
            self.assertIn("at byte", said)
        self.assertEqual(0, self.report("exp", "--iterations", "--rank", "4").returncode)
        self.assertEqual(0, self.report("exp").returncode, "the run does not need them")

    def test_names_that_are_damaged_leave_the_numbers(self):
        before, _ = self.document()
        self.flip(lambda data: section_of(data, None, REGIONS))
        after, _ = self.document(code=4)
        self.assertIn("have no names", after["damage"][0])
        self.assertEqual(before["locations"], after["locations"])

    def test_a_request_for_what_damage_has_cost_names_it(self):
        self.flip(lambda data: section_of(data, 3, LOOPS))
        done = self.report("exp", "--cluster", "1", "--rank", "3")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        lines = done.stderr.splitlines()
        self.assertEqual(2, len(lines), done.stderr)
        self.assertIn("the iterations of rank 3 are missing", lines[0])

    def test_a_file_receives_what_is_left(self):
        self.flip(lambda data: block_of(data, 7) + 9)
        for name in FORMATS:
            done = self.report("exp", "--format", name, "-o", "out")
            self.assertEqual((4, ""), (done.returncode, done.stdout))
            self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
            self.assertIn("rank 7 is missing", done.stderr)
            written = (self.directory / "out").read_text()
            self.assertGreater(len(written), 100)
            if name == "json":
                self.assertEqual(1, len(json.loads(written)["damage"]))

    def test_a_manifest_that_is_damaged_or_missing_costs_what_it_says(self):
        before, _ = self.document()
        manifest = self.directory / "exp" / "manifest.json"
        text = manifest.read_text()
        for bad in (text[:40], "", None):
            manifest.unlink()
            if bad is not None:
                manifest.write_text(bad)
            after, errors = self.document(code=4)
            self.assertIn("exp/manifest.json: ", errors)
            self.assertIn("the command, its settings and when it ran are not known", errors)
            self.assertEqual(before["callpaths"], after["callpaths"])
            manifest.write_text(text)
        for name in FORMATS:
            self.assertEqual(0, self.report("exp", "--format", name).returncode)

    # Nothing to show.

    def test_nothing_left_is_an_exit_status_of_its_own(self):
        for at in (30, lambda data: section_of(data, None, PATHS), lambda data: block_of(data, None) + 9):
            self.flip(at)
            self.assertIn("exp/profile.refrain: at byte ", self.one_line(2, "exp"))
            self.flip(at)
        self.assertEqual(0, self.report("exp").returncode)

    def test_when_no_rank_can_be_read_nothing_is_left(self):
        for at in (lambda data: block_of(data, 0) + 9, lambda data: section_of(data, 0, RANK), RANK_TABLE + 3):
            self.flip(at, "one")
            for name in FORMATS:
                self.assertIn("rank 0 is missing", self.one_line(2, "one", "--format", name, "-o", "none"))
                self.assertFalse((self.directory / "none").exists())
            self.flip(at, "one")
        self.flip(lambda data: block_of(data, 7) + 9)
        self.assertIn("rank 7 is missing", self.one_line(2, "exp", "--rank", "7"))

    def test_a_newer_format_is_refused(self):
        path = self.directory / "exp" / "profile.refrain"
        data = bytearray(path.read_bytes())
        data[12] = 2
        path.write_bytes(data)
        self.assertIn("written by a newer Refrain (format 2.", self.one_line(2, "exp"))
        data[12] = 1
        path.write_bytes(data)
        manifest = self.directory / "exp" / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 2}))
        self.assertIn("written by a newer Refrain (format 2", self.one_line(2, "exp"))

    # Requests.

    def test_locations_in_every_format(self):
        text = self.report("exp", "--locations")
        self.assertEqual((0, ""), (text.returncode, text.stderr))
        rows = list(csv.DictReader(io.StringIO(self.report("exp", "--locations", "--format", "csv").stdout)))
        document, _ = self.document("--locations")
        self.assertEqual(RANKS, len(rows))
        self.assertEqual(RANKS, len(document["by_location"]))
        for row, member, location in zip(rows, document["by_location"], document["locations"]):
            self.assertEqual(int(row["rank"]), member["rank"])
            self.assertAlmostEqual(float(row["wall_s"]), location["wall_s"], delta=1e-6 * location["wall_s"])
            self.assertAlmostEqual(member["mpi_s"], location["mpi_s"], delta=1e-6 * location["wall_s"])
        part = list(csv.DictReader(io.StringIO(self.report(
            "exp", "--locations", "--metric", "visits", "--callpath", "MPI_Allreduce", "--format", "csv").stdout)))
        visits = sum(path["visits"] for path in document["callpaths"] if path["path"][-1] == "MPI_Allreduce")
        self.assertGreater(visits, 0)
        self.assertEqual(visits, sum(int(row["visits"]) for row in part))

    def test_wrong_names_are_one_clear_line(self):
        for name in FORMATS:
            for view in ("--locations", "--iterations"):
                line = self.one_line(1, "exp", view, "--format", name, "--metric", "nosuch")
                self.assertIn("--metric nosuch: ", line)
                self.assertIn("mpi", line, "which ones there are")
                self.assertIn("--callpath main/nosuch: ",
                              self.one_line(1, "exp", view, "--format", name, "--callpath", "main/nosuch"))
            loop = self.one_line(1, "exp", "--iterations", "--format", name, "--loop", "nosuch")
            self.assertIn("--loop nosuch: ", loop)

    def test_options_that_would_change_nothing_are_refused(self):
        for options in (("--metric", "mpi"), ("--metric", "mpi", "--flat"), ("--callpath", "main"),
                        ("--callpath", "main", "--flat"), ("--loop", "timestep"),
                        ("--callsites", "--flat"), ("--callsites", "--locations"), ("--min-share", "1", "--locations"),
                        ("--min-share", "1", "--format", "csv"), ("--min-share", "1", "--format", "json"),
                        ("--loop", "timestep", "--locations"), ("--flat", "--locations"), ("--flat", "--windows"),
                        ("--flat", "--iterations"), ("--iterations", "--iteration", "3"),
                        ("--iteration", "3", "--cluster", "1"),
                        ("--format", "csv", "--iterations", "--clusters", "--flat"),
                        ("--metric", "mpi", "--clusters"), ("--callpath", "main", "--iteration", "3")):
            with self.subTest(options=options):
                line = self.one_line(1, "exp", *options)
                self.assertTrue(any(option in line for option in options if option.startswith("--")), line)

    def test_a_number_may_be_written_as_it_is_shown(self):
        plain, _ = self.document("--iteration", "1100", "--rank", "2")
        self.assertEqual(plain, self.document("--iteration", "1,100", "--rank", "2")[0])
        for number in ("1,200", "1200"):
            self.assertIn("1,200", self.one_line(1, "exp", "--iteration", number), "how many there are")
        self.assertIn("counted from 0", self.one_line(1, "exp", "--iteration", "x"))


if __name__ == "__main__":
    unittest.main()
