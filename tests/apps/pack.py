"""`refrain pack`: every command says of the one file what it says of the directory."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import EXAMPLES, REFRAIN, SOURCE, TestCase, clean_environment, mpirun


class Pack(TestCase):
    def refrain(self, *words: Any, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([str(REFRAIN), *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=120,
                              cwd=cwd or self.directory)
        self.assertEqual(code, done.returncode, done.stderr + done.stdout)
        return done

    def stencil(self, *words: object) -> Path:
        outcome = self.measured(mpirun(4, EXAMPLES / "stencil", "--steps", 60, *words))
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def golden(self, name: str) -> Path:
        """A copy: what is known of an experiment is kept in it before it is packed."""
        return Path(shutil.copytree(SOURCE / "tests/golden" / name, self.directory / name))

    def packed(self, experiment: Path, *words: object) -> Path:
        self.refrain("pack", experiment, *words)
        return self.directory / (experiment.name + ".tar")

    def same(self, experiment: Path, packed: Path, *words: Any) -> None:
        """The output is that of the directory, but for its name."""
        before = self.refrain(words[0], experiment, *words[1:])
        after = self.refrain(words[0], packed, *words[1:])
        self.assertEqual((before.stdout, before.stderr),
                         (after.stdout.replace(str(packed), str(experiment)), after.stderr.replace(str(packed), str(experiment))))

    def test_all_commands_open_it_as_the_directory(self) -> None:
        experiment = self.with_late_senders()
        packed = self.packed(experiment)
        for words in (("report", "--format", "json"), ("report", "--iterations", "--format", "json"), ("report", "--waits", "--format", "csv"),
                      ("events", "--format", "csv", "--to", "0.1"), ("analyze", "--format", "json"), ("properties", "--format", "csv"),
                      ("query", "SELECT SUM(value) FROM value")):
            with self.subTest(words):
                self.same(experiment, packed, *words)

    def test_it_is_recognised_as_the_same_run(self) -> None:
        experiment = self.stencil()
        packed = self.packed(experiment)
        self.refrain("db", "add", experiment)
        self.assertIn("was in the database already", self.refrain("db", "add", packed).stdout)

    def test_it_is_an_archive_of_tar_in_both_directions(self) -> None:
        experiment = self.stencil()
        packed = self.packed(experiment)
        unpacked = self.directory / "unpacked"
        with tarfile.open(packed) as archive:
            self.assertEqual(sorted(f"{experiment.name}/{path.name}" for path in experiment.iterdir()), sorted(archive.getnames()))
            archive.extractall(unpacked)
        for path in experiment.iterdir():
            self.assertEqual(path.read_bytes(), (unpacked / experiment.name / path.name).read_bytes(), path.name)
        # tar's own archives will do, whatever else they hold.
        by_tar = self.directory / "by-tar.tar"
        subprocess.run(["tar", "-cf", by_tar, "-C", experiment.parent, experiment.name], check=True)
        self.same(experiment, by_tar, "report", "--format", "json")

    def test_equal_experiments_give_equal_bytes(self) -> None:
        experiment = self.stencil()
        first = self.packed(experiment).read_bytes()
        for path in experiment.iterdir():
            os.utime(path, (1, 1))
        self.assertEqual(first, self.packed(experiment).read_bytes())

    def test_without_events_waits_and_findings_stay(self) -> None:
        experiment = self.with_late_senders()
        whole = self.packed(experiment)
        size = whole.stat().st_size
        whole.unlink()
        packed = self.packed(experiment, "--without-events")
        self.assertLess(packed.stat().st_size, size)
        with tarfile.open(packed) as archive:
            self.assertEqual([], [name for name in archive.getnames() if "/events-" in name])
        self.same(experiment, packed, "report", "--format", "json")

    def test_anonymous_files_have_the_same_numbers_and_no_names(self) -> None:
        experiment = self.with_late_senders()
        packed = self.packed(experiment, "--anonymous")
        before, after = (json.loads(self.refrain("report", path, "--format", "json").stdout) for path in (experiment, packed))
        times = lambda report: sorted((round(call["exclusive_s"], 9), call["visits"], round(call.get("wait_s") or 0, 9)) for call in report["callpaths"])
        self.assertEqual(times(before), times(after))
        self.assertEqual([location["rank"] for location in before["locations"]], [location["rank"] for location in after["locations"]])
        self.assertEqual([finding["rule"] for finding in before["findings"]], [finding["rule"] for finding in after["findings"]])
        mpi = lambda report: sorted(call["path"][-1] for call in report["callpaths"] if call["kind"] == "mpi")
        self.assertEqual(mpi(before), mpi(after))
        names = lambda report: {name for call in report["callpaths"] for name in call["path"]}
        own = {"work_for", "one_step"} & names(before)
        self.assertGreater(len(own), 0)
        self.assertEqual(set(), own & names(after))
        self.assertTrue(any(name.startswith("function_") for name in names(after)))
        # Neither what is shown nor what is stored has the names of the program and the machine, or a path.
        shown = [self.refrain(*words).stdout.replace(str(packed), "")
                 for words in (("report", packed, "--format", "json"), ("info", "names", packed), ("events", packed, "--to", "0.1"))]
        with tarfile.open(packed) as archive:
            stored = [archive.extractfile(member).read().decode("latin-1") for member in archive.getmembers()]
        host = json.loads((experiment / "manifest.json").read_text())["host"]
        for text in shown:
            self.assertNotRegex(text, rf"(?<!\w){re.escape(host)}(?!\w)")
        for text in shown + stored:
            self.assertNotIn("analyze_waits", text)
            self.assertNotIn(str(self.directory), text)

    def test_a_damaged_experiment_is_not_called_anonymous(self) -> None:
        experiment = self.stencil()
        path = experiment / "profile.refrain"
        data = bytearray(path.read_bytes())
        data[int.from_bytes(data[72:80], "little") + 9] ^= 16  # the block of rank 0 (docs/file-format.md)
        path.write_bytes(data)
        target = self.directory / "out.tar"
        self.refrain("pack", experiment, "--anonymous", "-o", target, code=2)
        self.assertFalse(target.exists())

    def test_nothing_is_written_below_it(self) -> None:
        experiment = self.stencil()
        for kept in experiment.glob("analysis-*.refrain"):
            kept.unlink()
        packed = self.directory / "by-tar.tar"
        subprocess.run(["tar", "-cf", packed, "-C", experiment.parent, experiment.name], check=True)
        before = packed.read_bytes()
        self.same(experiment, packed, "report", "--format", "json")
        self.refrain("analyze", packed)
        self.assertEqual(before, packed.read_bytes())

    def test_what_is_missing_or_cut_is_said(self) -> None:
        packed = self.packed(self.stencil())
        data = packed.read_bytes()
        packed.write_bytes(data[:len(data) // 2])
        done = subprocess.run([str(REFRAIN), "report", str(packed)], capture_output=True, text=True, env=clean_environment(), timeout=120)
        self.assertIn(done.returncode, (2, 4), done.stderr)
        self.assertNotEqual("", done.stdout + done.stderr)
        self.assertEqual(1, len(self.refrain("pack", "not-there", code=2).stderr.splitlines()))
        target = self.directory / "none" / "x.tar"
        done = self.refrain("pack", self.golden("profile-1.10"), "-o", target, code=1)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)
        self.assertIn("x.tar", done.stderr)

    def test_standard_output_has_the_bytes_of_the_file(self) -> None:
        experiment = self.golden("profile-1.10")
        packed = self.packed(experiment)
        done = subprocess.run([str(REFRAIN), "pack", str(experiment), "-o", "-"], capture_output=True, env=clean_environment(), timeout=120)
        self.assertEqual((0, packed.read_bytes()), (done.returncode, done.stdout))

    def test_old_experiments_can_be_packed(self) -> None:
        for path in sorted((SOURCE / "tests/golden").glob("profile-*")):
            with self.subTest(path.name):
                golden = self.golden(path.name)
                packed = self.packed(golden)
                totals = [json.loads(self.refrain("report", path, "--format", "json").stdout)["totals"] for path in (golden, packed)]
                self.assertEqual(*totals)


if __name__ == "__main__":
    unittest.main(verbosity=2)
