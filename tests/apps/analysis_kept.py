"""What a search has found is kept in the experiment: it is said again from there, and a search in memory says the same to the last byte, on a
machine that is busy, too."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from refrain_testing import BUILD, MPIS, PROGRAMS, REFRAIN, SOURCE, TestCase, clean_environment, mpiexec

NOBODY = 65534
POOLS = "pools-1.refrain"
VIEWS = ([], ["--format", "json"], ["--waits", "--format", "json"], ["--waits", "--callsites", "--format", "csv"], ["--mpi"], ["--communicators", "--format", "csv"],
         ["--findings"], ["--callpath-depth", "2", "--format", "json"], ["--locations", "--metric", "late_sender", "--format", "csv"])


def kept_in(experiment: Path) -> list[Path]:
    return sorted(experiment.glob("analysis-*.refrain"))


def can_read(program: Path, **options: Any) -> bool:
    try:
        return subprocess.run(["test", "-r", program], timeout=60, **options).returncode == 0
    except PermissionError:
        return False


class KeptAnalyses(TestCase):
    def run_of(self, *words: object, trace: str = "all") -> Path:
        outcome = self.measured(mpiexec(MPIS[0], 2, PROGRAMS / f"analyze_waits_{MPIS[0]}", *words), {"REFRAIN_TRACE": trace})
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def experiment(self) -> Path:
        return self.run_of("recv", 40, 0.002, self.directory / "times", "marked")

    def sample(self) -> Path:
        return self.run_of("recv", 3000, 0.0002, self.directory / "times", "marked", trace="sampled")

    def said(self, *words: object, code: int = 0, **options: Any) -> bytes:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, timeout=300, env=clean_environment(), **options)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout

    def pages(self, experiment: Path, **options: Any) -> list[bytes]:
        """What all views say."""
        return [self.said("report", experiment.name, *view, cwd=experiment.parent, **options) for view in VIEWS]

    def without_kept(self, experiment: Path) -> Path:
        """A copy in which nothing is kept, of the same name."""
        copy = Path(self.directory / "copy" / experiment.name)
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(experiment, copy, ignore=shutil.ignore_patterns("analysis-*", "pools-*"))
        return copy

    def test_a_run_keeps_what_was_found(self) -> None:
        for experiment in (self.experiment(), self.sample()):
            (kept,) = kept_in(experiment)
            before = kept.read_bytes()
            pages = self.pages(experiment)
            self.assertEqual(pages, self.pages(experiment), "the same once more")
            copy = self.without_kept(experiment)
            self.assertEqual(pages, self.pages(copy), "from memory")
            self.assertEqual([], kept_in(copy), "a report keeps nothing")
            self.said("analyze", copy)
            self.assertEqual([before], [path.read_bytes() for path in kept_in(copy)], "the search is the same, whoever makes it")
            self.assertEqual(self.said("analyze", experiment, "--format", "json"), self.said("analyze", copy, "--format", "json", "--again"))
            self.assertEqual(before, kept.read_bytes(), "it never changes")

    def test_a_busy_machine_changes_nothing(self) -> None:
        copy = self.without_kept(self.sample())
        quiet = self.said("report", copy, "--format", "json")

        def often_stopped() -> bytes:
            process = subprocess.Popen([REFRAIN, "report", copy, "--format", "json"], stdout=subprocess.PIPE, env=clean_environment())
            done = threading.Event()

            def stop_it() -> None:
                while not done.wait(0.02):
                    process.send_signal(signal.SIGSTOP)
                    time.sleep(0.1)
                    process.send_signal(signal.SIGCONT)

            stopper = threading.Thread(target=stop_it)
            stopper.start()
            try:
                out, _ = process.communicate(timeout=300)
            finally:
                done.set()
                stopper.join()
            self.assertEqual(0, process.returncode)
            return out

        self.assertEqual(quiet, often_stopped())
        slow = lambda: (os.nice(19), resource.setrlimit(resource.RLIMIT_CPU, (250, 250)))
        self.assertEqual(quiet, self.said("report", copy, "--format", "json", preexec_fn=slow))

    def let_others_read(self, experiment: Path) -> None:
        for path in (self.directory, experiment.parent, experiment):
            path.chmod(0o755)
        for path in experiment.iterdir():
            path.chmod(0o644)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_a_directory_of_others(self) -> None:
        experiment = self.experiment()
        pages = self.pages(experiment)
        copy = self.without_kept(experiment)
        self.let_others_read(copy)
        somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if not can_read(REFRAIN, **somebody) or not can_read(PROGRAMS / f"analyze_waits_{MPIS[0]}", **somebody):
            self.skipTest("others may not read the build")
        self.assertEqual(pages, self.pages(copy, **somebody))
        found = self.said("analyze", copy, "--format", "json", **somebody)
        self.assertEqual([], kept_in(copy))
        self.assertEqual(self.said("analyze", experiment, "--format", "json"), found)

    def test_damage_costs_a_search(self) -> None:
        """Whatever was done to the file: the same figures, and one line."""
        experiment = self.experiment()
        (kept,) = kept_in(experiment)
        good = kept.read_bytes()
        figures = {view: self.said("report", experiment, *view) for view in (("--waits", "--format", "csv"), ("--mpi", "--format", "csv"))}
        draw = random.Random(1)
        damaged = [b"", good[:10], good[: len(good) // 2], good + b"more"]
        for _ in range(12):
            text = bytearray(good)
            text[draw.randrange(len(text))] ^= 1 << draw.randrange(8)
            damaged.append(bytes(text))
        untold = 0
        for text in damaged:
            kept.write_bytes(text)
            for view, figure in figures.items():
                done = subprocess.run([REFRAIN, "report", experiment, *view], capture_output=True, timeout=300, env=clean_environment())
                self.assertEqual(figure, done.stdout)
                # A part that this page does not need may be damaged.
                untold += done.returncode == 0
                if done.returncode:
                    self.assertEqual((4, 1), (done.returncode, done.stderr.count(kept.name.encode())), done.stderr)
        self.assertLess(untold, len(damaged))
        self.said("analyze", experiment)
        self.assertEqual(good, kept.read_bytes(), "a search puts it right")

    def test_one_of_another_experiment_is_not_taken(self) -> None:
        first, second = self.experiment(), self.run_of("allreduce", 20, 0.001, self.directory / "times")
        figures = self.said("report", second, "--waits", "--format", "csv")
        (kept,) = kept_in(second)
        kept.write_bytes(kept_in(first)[0].read_bytes())
        self.assertEqual(figures, self.said("report", second, "--waits", "--format", "csv", code=4))

    def test_other_parameters_are_kept_beside_it(self) -> None:
        experiment = self.experiment()
        usual = self.said("analyze", experiment, "--format", "json")
        pages = self.pages(experiment)
        (first,) = kept_in(experiment)
        others = self.said("analyze", experiment, "--format", "json", "--frequent", "1e9")
        self.assertNotEqual(usual, others)
        self.assertEqual(2, len(kept_in(experiment)))
        for _ in range(2):
            self.assertEqual(usual, self.said("analyze", experiment, "--format", "json"))
            self.assertEqual(others, self.said("analyze", experiment, "--format", "json", "--frequent", "1e9"))
        self.assertEqual(pages, self.pages(experiment), "the usual ones are the default")
        # Part of a run is not kept.
        for part in (["--region", "MPI_Barrier"], ["--rank", "0"], ["--iteration", "3"], ["--time", "0:1"], ["--as-sampled", "64K"]):
            self.said("analyze", experiment, *part)
        self.assertEqual(2, len(kept_in(experiment)))

    def test_other_parameters_are_no_default(self) -> None:
        experiment = self.experiment()
        usual = [path.name for path in kept_in(experiment)]
        pages = self.pages(experiment)
        copy = self.without_kept(experiment)
        self.said("analyze", copy, "--frequent", "1e9")
        (others,) = [path.name for path in kept_in(copy)]
        self.assertNotEqual(usual, [others])
        self.assertEqual(pages, self.pages(copy), "found in memory")
        self.said("pack", copy, "-o", self.directory / "packed.tar")
        self.assertEqual(sorted([*usual, others]), [path.name for path in kept_in(copy)], "an archive has what its reports say")

    def test_again(self) -> None:
        """Replaces what is kept; of what was found before nothing stays."""
        experiment = self.experiment()
        (kept,) = kept_in(experiment)
        good, number = kept.read_bytes(), kept.stat().st_ino
        (experiment / "metrics.json").write_text("{}")
        self.said("analyze", experiment)
        self.assertEqual((number, True), (kept.stat().st_ino, (experiment / "metrics.json").exists()))
        self.said("analyze", experiment, "--again")
        self.assertEqual((good, False), (kept.read_bytes(), (experiment / "metrics.json").exists()))
        self.assertNotEqual(number, kept.stat().st_ino)

    def test_what_an_earlier_version_has_found_is_shown_as_that(self) -> None:
        copy = self.without_kept(self.experiment())
        metric = {"name": "late_sender", "parent": "p2p", "help": "", "is_sampled": False, "values": [[-1, 1, 0, 0.125]], "locations": [[1, 0, 0.125, 0]]}
        # How many call paths there are only the profile says: a file with another number belongs to another experiment.
        for paths in range(1000):
            (copy / "metrics.json").write_text(json.dumps({"version": 1, "paths": paths, "metrics": [metric]}))
            done = subprocess.run([REFRAIN, "report", copy, "--locations", "--metric", "late_sender", "--format", "csv"], capture_output=True, text=True,
                                  timeout=300, env=clean_environment())
            if done.returncode == 0:
                break
            self.assertIn("metrics.json", done.stderr)
        self.assertEqual((0, "refrain report: late_sender: analysed by 0.1.0; refrain analyze --again searches again\n"), (done.returncode, done.stderr))
        self.assertEqual(["0.125"], [row["late_sender_s"] for row in csv.DictReader(io.StringIO(done.stdout)) if row["rank"] == "1"])

    def test_damaged_events_are_not_kept(self) -> None:
        copy = self.without_kept(self.experiment())
        (events,) = copy.glob("events-1.refrain")
        events.write_bytes(events.read_bytes()[: events.stat().st_size // 2])
        self.said("analyze", copy, code=4)
        self.assertEqual([], kept_in(copy))

    def test_nothing_is_kept_of_a_job_that_runs(self) -> None:
        copy = self.without_kept(self.experiment())
        manifest = copy / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"state": "running"}))
        self.said("analyze", copy)
        self.said("report", copy)
        self.assertEqual([], kept_in(copy))

    def test_two_tools_at_once(self) -> None:
        experiment = self.experiment()
        (good,) = [path.read_bytes() for path in kept_in(experiment)]
        for _ in range(5):
            copy = self.without_kept(experiment)
            tools = [subprocess.Popen([REFRAIN, "analyze", copy, "--again"], stdout=subprocess.PIPE, env=clean_environment()) for _ in range(3)]
            said = {tool.communicate(timeout=300)[0] for tool in tools}
            self.assertEqual((1, {0}), (len(said), {tool.returncode for tool in tools}))
            self.assertEqual([good], [path.read_bytes() for path in kept_in(copy)])
            self.assertEqual([], list(copy.glob("*.new")))

    def test_one_iteration_is_the_same_with_kept_pools(self) -> None:
        experiment = self.experiment()
        kept = (experiment / POOLS).read_bytes()
        views = [["--iteration", number, *form] for number in ("0", "7") for form in ([], ["--format", "json"], ["--format", "csv"])]

        def pages(of: Path, *words: str) -> list[bytes]:
            return [self.said("report", of.name, *view, *words, cwd=of.parent) for view in views]

        before, of_one_rank = pages(experiment), pages(experiment, "--rank", "1")
        self.assertEqual(kept, (experiment / POOLS).read_bytes(), "it never changes")
        copy = self.without_kept(experiment)
        self.assertEqual(of_one_rank, pages(copy, "--rank", "1"))
        self.assertFalse((copy / POOLS).exists(), "nor are those of some ranks kept")
        self.said("report", copy, "--iteration", "40", code=1)
        self.assertFalse((copy / POOLS).exists(), "there is no such iteration")
        for _ in range(2):
            self.assertEqual(before, pages(copy))
            self.assertEqual(kept, (copy / POOLS).read_bytes(), "whoever finds them")
        (copy / POOLS).unlink()
        self.said("analyze", copy, "--again")
        self.assertEqual(kept, (copy / POOLS).read_bytes())
        (copy / POOLS).write_bytes(kept[:-1])
        self.said("report", copy, "--iteration", "7", code=4)
        self.assertEqual(kept, (copy / POOLS).read_bytes(), "what cannot be read is told once and found again")
        (copy / POOLS).write_bytes(kept[:-1])
        self.said("analyze", copy, "--again")
        self.assertEqual(kept, (copy / POOLS).read_bytes())
        for at in (len(kept) - 9, len(kept) - 1):
            (copy / POOLS).write_bytes(kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1:])
            self.said("report", copy, "--iteration", "7", code=4)
            self.said("report", copy, "--iteration", "7", code=4)
            self.said("analyze", copy, "--again")
            self.assertEqual(kept, (copy / POOLS).read_bytes())
        self.assertEqual(before, pages(copy))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_pools_of_others_are_found_in_memory(self) -> None:
        experiment = self.experiment()
        copy = self.without_kept(experiment)
        self.let_others_read(copy)
        somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        if not can_read(REFRAIN, **somebody):
            self.skipTest("others cannot read the build directory")
        words = ("report", experiment.name, "--iteration", "7", "--format", "json")
        self.assertEqual(self.said(*words, cwd=experiment.parent), self.said(*words, cwd=copy.parent, **somebody))
        self.assertFalse((copy / POOLS).exists())

    def test_threads_change_nothing(self) -> None:
        """Nor what is told of damage, and in which order."""
        experiment = self.directory / "many"
        subprocess.run([BUILD / "tests/bin/make_experiment", experiment, "--ranks", "60", "--paths", "40", "--clusters", "2", "--iterations", "40", "--threads", "2"],
                       check=True, capture_output=True, env=clean_environment())
        profile = experiment / "profile.refrain"
        good = profile.read_bytes()
        draw = random.Random(2)
        for damages in (0, 1, 20):
            data = bytearray(good)
            for _ in range(damages):
                data[draw.randrange(len(data) // 4, len(data))] ^= 16
            profile.write_bytes(data)
            for view in ([], ["--format", "json"], ["--locations", "--format", "csv"], ["--sizes"]):
                said = set()
                for threads in ("1", "2", "3", "16"):
                    done = subprocess.run([REFRAIN, "report", experiment, *view, "--threads", threads], capture_output=True, timeout=300, env=clean_environment())
                    self.assertIn(done.returncode, (0, 2, 4), done.stderr)
                    said.add((done.returncode, done.stdout, done.stderr))
                self.assertEqual(1, len(said), (damages, view))

    def test_threads_find_the_same_pools(self) -> None:
        experiment = self.directory / "long"
        subprocess.run([BUILD / "tests/bin/make_experiment", experiment, "--ranks", "40", "--paths", "20", "--clusters", "8", "--iterations", "2000"],
                       check=True, capture_output=True, env=clean_environment())
        said = set()
        for threads in ("1", "2", "5"):
            (experiment / POOLS).unlink(missing_ok=True)
            page = self.said("report", experiment, "--iteration", "1234", "--format", "json", "--threads", threads)
            said.add((page, (experiment / POOLS).read_bytes()))
        self.assertEqual(1, len(said))

    def test_experiments_of_earlier_versions(self) -> None:
        for golden in sorted((SOURCE / "tests/golden").iterdir()):
            if (golden / "manifest.json").exists():
                copy = self.without_kept(golden)
                page = self.said("report", copy, "--format", "json")
                self.assertEqual(page, self.said("report", copy, "--format", "json"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
