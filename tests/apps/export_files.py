"""`refrain export` in the formats of other tools: what independent readers (export_readers.py) find in the files is what the report and the
events have."""

from __future__ import annotations

import json
import shutil
import sqlite3
import struct
import subprocess
import tarfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Callable

import export_readers as readers
from export_readers import CallPaths
from refrain_testing import MPIS, PROGRAMS, REFRAIN, SOURCE, Report, TestCase, clean_environment, mpiexec

MPI = MPIS[0]
REAL_PROFILE = SOURCE.parent / "shared" / "traces" / "10_scorep_mpi_tags" / "profile.cubex"
READERS_OF_EVENTS = (("chrome", readers.chrome), ("perfetto", readers.perfetto), ("paraver", readers.paraver))
OF_PROFILES = ("cubex", "speedscope", "folded", "pprof", "hatchet", "extrap", "callgrind")


class Exports(TestCase):
    def refrain(self, *words: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([REFRAIN, *map(str, words)], capture_output=True, text=True, env=clean_environment(), timeout=120, cwd=self.directory)
        self.assertEqual(code, done.returncode, f"{words}: {done.stderr}")
        return done

    def steps(self, ranks: int = 2, **environment: str) -> Path:
        outcome = self.measured(mpiexec(MPI, ranks, PROGRAMS / f"marked_steps_{MPI}", 60, 2000), {"REFRAIN_SAMPLING_FREQUENCY": "1000", **environment})
        self.assertEqual(0, outcome.code, outcome.stderr)
        assert outcome.experiment
        return outcome.experiment

    def export(self, format: str, *words: Any) -> Path:
        for file in self.directory.glob("out.*"):
            file.unlink()
        file = self.directory / f"out.{format}"
        self.refrain("export", *words, "--format", format, "-o", file)
        return file


class ExportsOfProfile(Exports):
    """Exports of an experiment, beside its report."""

    measured_with: dict[str, str] = {}

    def setUp(self) -> None:
        super().setUp()
        self.experiment = self.steps(**self.measured_with)
        self.of = Report(self.experiment)
        self.exclusive: CallPaths = defaultdict(float)
        for row in self.of.callpaths:
            self.exclusive[tuple(row["path"])] += row["exclusive_s"]
        self.wall = self.of.totals["wall_s"]

    def check(self, found: CallPaths, what: str) -> None:
        """Times below a microsecond may be left out or rounded."""
        self.assertAlmostEqual(self.wall, sum(found.values()), delta=1e-4 * self.wall, msg=what)
        for path in {*found, *self.exclusive}:
            self.assertAlmostEqual(self.exclusive.get(path, 0), found.get(path, 0), delta=2e-6, msg=f"{what}: {path}")


class Profiles(ExportsOfProfile):
    def test_cubex(self) -> None:
        metrics = readers.cubex(self.export("cubex", self.experiment))
        times = metrics["time"]
        self.check({path[1:]: sum(values) for path, values in times.items()}, "cubex")
        self.assertEqual({len(self.of.locations)}, {len(values) for values in times.values()})
        for wall, location in zip(map(sum, zip(*times.values())), self.of.locations):
            self.assertAlmostEqual(location["wall_s"], wall, delta=1e-6 * wall)
        mpi = sum(sum(values) for values in metrics["mpi"].values())
        self.assertAlmostEqual(self.of.totals["mpi_s"], mpi, delta=1e-6 * self.wall)
        self.assertEqual(2 * 60, sum(sum(values) for path, values in metrics["visits"].items() if path[-1] == "MPI_Sendrecv"))
        self.assertEqual(2 * 60 * 800, sum(sum(values) for values in metrics["bytes_sent"].values()))
        waits = [name for name in metrics if name in ("mpi_latesender", "mpi_barrier_wait", "mpi_wait_nxn")]
        self.assertNotEqual([], waits, list(metrics))
        for name in waits:
            for path, values in metrics[name].items():
                for value, time in zip(values, metrics["mpi"][path]):
                    self.assertTrue(0 <= value <= time + 1e-9, (name, path, value, time))

    def test_time_in_mpi_is_there_once_when_it_is_read_again(self) -> None:
        sql = "SELECT SUM(v.value) AS s FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = 'mpi'"
        file = self.export("cubex", self.experiment)
        once = sum(sum(values) for values in readers.cubex(file)["mpi"].values())
        found = json.loads(self.refrain("query", file, sql, "--format", "json").stdout)["rows"][0]["s"]
        self.assertAlmostEqual(once, found, delta=1e-9 * once)

    def test_one_iteration(self) -> None:
        """Its calls and times are those of the iteration; waiting in it is not known."""
        loop = Report(self.experiment, "--iterations").data["loops"][0]
        metrics = readers.cubex(self.export("cubex", self.experiment, "--iteration", 12))
        sends = [path for path in metrics["visits"] if path[-1] == "MPI_Sendrecv"]
        self.assertEqual([1.0, 1.0], [sum(of) for of in zip(*(metrics["visits"][path] for path in sends))])
        self.assertEqual([], [name for name in metrics if name.startswith("mpi_late") or name == "mpi_wait_nxn"])
        wall = sum(of["wall_s"][12] for of in loop["per_location"])
        self.assertAlmostEqual(wall, sum(map(sum, metrics["time"].values())), delta=1e-3 * wall)
        named = self.export("folded", self.experiment, "--iteration", 12, "--loop", "step")
        self.assertAlmostEqual(wall, sum(readers.folded(named).values()), delta=1e-2 * wall)

    def test_cubex_can_be_put_into_a_database(self) -> None:
        """The reader of profiles of Score-P takes it."""
        file = self.directory / "out.cubex"
        self.refrain("export", self.experiment, "--format", "cubex", "-o", file)
        self.refrain("db", "add", file)

    def test_waits_of_analyze_are_those_of_cubex(self) -> None:
        experiment = self.with_late_senders()
        self.refrain("analyze", experiment)
        found = readers.cubex(self.export("cubex", experiment))["mpi_latesender"]
        # Of 40 messages each second one is sent 5 ms late, or has its receiver late.
        self.assertGreater(sum(map(sum, found.values())), 0.05)

    def test_speedscope(self) -> None:
        profiles = readers.speedscope(self.export("speedscope", self.experiment))
        self.assertEqual(["all ranks", "rank 0", "rank 1"], list(profiles))
        self.check(profiles["all ranks"], "speedscope")
        wall = sum(of["wall_s"] for of in self.of.locations if of["rank"] == 1)
        self.assertAlmostEqual(wall, sum(profiles["rank 1"].values()), delta=1e-4 * self.wall)

    def test_folded_pprof_and_hatchet(self) -> None:
        self.check(readers.folded(self.export("folded", self.experiment)), "folded")
        self.check(readers.pprof(self.export("pprof", self.experiment)), "pprof")
        exclusive, inclusive = readers.hatchet(self.export("hatchet", self.experiment))
        self.check(exclusive, "hatchet")
        wanted: CallPaths = defaultdict(float)
        for row in self.of.callpaths:
            wanted[tuple(row["path"])] += row["inclusive_s"]
        for path, seconds in wanted.items():
            if path:
                self.assertAlmostEqual(seconds, inclusive[path], delta=2e-6, msg=str(path))

    def test_callgrind_has_functions(self) -> None:
        by_function: Counter[str] = Counter()
        for path, seconds in self.exclusive.items():
            if path:
                by_function[path[-1]] += seconds
        found = readers.callgrind(self.export("callgrind", self.experiment))
        for function, seconds in by_function.items():
            self.assertAlmostEqual(seconds, found.get(function, 0), delta=2e-6, msg=function)

    def test_extrap_takes_several_runs(self) -> None:
        values = readers.extrap(self.export("extrap", self.experiment, self.steps(1)))
        send = next(of[2] for of in values if of[1] == "visits" and of[2][-1] == "MPI_Sendrecv")
        self.assertEqual(([60], [60]), (values[2, "visits", send], values[1, "visits", send]))
        (waiting,), (transfer,), (mpi,) = (values[2, metric, send] for metric in ("waiting", "transfer", "mpi"))
        self.assertAlmostEqual(mpi, waiting + transfer, delta=1e-9)
        self.assertEqual({"MPI"}, {of[2][-1].split("_")[0] for of in values if of[1] == "visits"})
        self.refrain("export", self.experiment, self.experiment, "--format", "folded", code=1)

    def test_talp_has_the_efficiencies_of_the_report(self) -> None:
        file = json.loads(self.export("talp", self.experiment).read_text())
        self.assertEqual(["Global", "step"], list(file["Application"]))
        self.assertEqual({"numCpus": 2, "numNodes": 1, "numMpiRanks": 2}, file["resources"])
        run, loop = Report(self.experiment, "--efficiency").data["efficiencies"]
        for of, region in ((run, file["Application"]["Global"]), (loop, file["Application"]["step"])):
            self.assertAlmostEqual(of["elapsed_s"], region["elapsedTime"] * 1e-9, delta=1e-8)
            for theirs, ours in (("parallelEfficiency", "parallel"), ("mpiLoadBalance", "load_balance"), ("mpiCommunicationEfficiency", "communication"),
                                 ("mpiLoadBalanceOut", "load_balance_across_machines"), ("mpiLoadBalanceIn", "load_balance_within_machines")):
                self.assertAlmostEqual(of[ours], region[theirs], delta=1e-9, msg=theirs)
            # As TALP defines it.
            self.assertAlmostEqual(region["usefulTime"] / 2 / region["elapsedTime"], region["parallelEfficiency"], delta=1e-6)

    def test_talp_of_several_runs_is_a_file_of_each(self) -> None:
        alone = self.steps(1)
        self.refrain("export", self.experiment, alone, "--format", "talp")
        for experiment, ranks in ((self.experiment, 2), (alone, 1)):
            file = json.loads((self.directory / f"{experiment.name}.talp.json").read_text())
            self.assertEqual(ranks, file["resources"]["numMpiRanks"])
        self.assertIn("a file of each", self.refrain("export", self.experiment, alone, "--format", "talp", "-o", "x", code=1).stderr)
        self.assertIn("named twice", self.refrain("export", alone, alone, "--format", "talp", code=1).stderr)

    def test_talp_of_a_rank_that_is_left_has_the_sums_of_this_rank(self) -> None:
        damaged = Path(shutil.copytree(self.experiment, self.directory / "one-rank-left"))
        path = damaged / "profile.refrain"
        data = bytearray(path.read_bytes())
        data[int.from_bytes(data[72:80], "little") + 9] ^= 16  # the block of rank 0 (docs/file-format.md)
        path.write_bytes(data)
        target = self.directory / "one-rank-left.json"
        done = self.refrain("export", damaged, "--format", "talp", "-o", target, code=4)
        self.assertIn("of 1 of 2 ranks", done.stderr)
        file = json.loads(target.read_text())
        self.assertEqual(1, file["resources"]["numMpiRanks"])
        for region in file["Application"].values():
            self.assertEqual(1, region["numMpiRanks"])
            self.assertAlmostEqual(region["usefulTime"] / region["elapsedTime"], region["parallelEfficiency"], delta=1e-6)
            self.assertLessEqual(region["usefulTime"] + region["mpiTime"], region["elapsedTime"] * (1 + 1e-6))

    def test_files_have_names_and_are_not_overwritten(self) -> None:
        done = self.refrain("export", self.experiment, "--format", "folded")
        file = self.directory / f"{self.experiment.name}.folded"
        self.assertTrue(done.stdout.startswith(f"{file.name}: "), done.stdout)
        self.assertIn("folded has no place for", done.stderr)
        before = file.read_bytes()
        self.assertIn("exists", self.refrain("export", self.experiment, "--format", "folded", code=1).stderr)
        self.assertEqual(before, file.read_bytes())
        self.assertEqual(before.decode(), self.refrain("export", self.experiment, "--format", "folded", "-o", "-").stdout)
        self.assertEqual([], list(self.directory.glob("*.part")))

    def test_options_that_a_format_does_not_take(self) -> None:
        for words in (("folded", "--rank", "0"), ("talp", "--rank", "0"), ("talp", "--iteration", "3"), ("cubex", "--from", "1"), ("otf2", "--until", "1"), ("otf2", "--iteration", "3"), ("pprof", "--loop", "step"), ("folded", "--iteration", "60"), ("folded", "--iteration", "3", "--loop", "none"), ("chrome", "--regions", "callpath"), ("otf2", "-o", "-")):
            stderr = self.refrain("export", self.experiment, "--format", *words, code=1).stderr
            self.assertEqual(1, stderr.count("\n"), stderr)
        self.assertIn("nonsense", self.refrain("export", self.experiment, "--format", "nonsense", code=1).stderr)


class Timelines(Exports):
    def test_slices_are_calls_and_flows_are_messages(self) -> None:
        experiment = self.steps(REFRAIN_TRACE="all")
        for format, read in READERS_OF_EVENTS:
            found = read(self.export(format, experiment))
            for rank in (0, 1):
                self.assertEqual((60, 6, 1), tuple(found.slices[rank][of] for of in ("MPI_Sendrecv", "MPI_Barrier", "step")), format)
            self.assertEqual({(0, 1): 60, (1, 0): 60}, dict(found.messages), format)
            self.assertEqual({f"step {i}": 2 for i in range(60)}, dict(found.iterations), format)

    def is_cut(self, after: Callable[[float], readers.Timeline]) -> bool:
        """Some time cuts the calls in two: it is looked for by halving."""
        low, high = 0.0, 60.0
        for _ in range(24):
            middle = (low + high) / 2
            calls = after(middle).slices[0]["MPI_Sendrecv"]
            if 0 < calls < 60:
                return True
            low, high = (middle, high) if calls else (low, middle)
        return False

    def test_a_part_of_the_time_and_of_the_ranks(self) -> None:
        experiment = self.steps(REFRAIN_TRACE="all")
        for format, read in READERS_OF_EVENTS:
            self.assertTrue(self.is_cut(lambda at: read(self.export(format, experiment, "--from", f"{at:.4f}", "--until", "1e12"))), format)
            one = read(self.export(format, experiment, "--rank", "1"))
            self.assertEqual({1}, set(one.slices))
            self.assertEqual(60, one.slices[1]["MPI_Sendrecv"])
            iteration = read(self.export(format, experiment, "--iteration", "20"))
            self.assertEqual({"step 20": 2}, dict(iteration.iterations), format)
            self.assertEqual({"MPI_Sendrecv": 1, "MPI_Barrier": 1}, dict(iteration.slices[0]), format)
            self.assertEqual({(0, 1): 1, (1, 0): 1}, dict(iteration.messages), format)
            done = self.refrain("export", experiment, "--format", format, "-o", "none", "--iteration", "60", code=1)
            self.assertEqual("refrain export: no events of iteration 60 were kept\n", done.stderr)
            self.assertEqual([], list(self.directory.glob("none*")))

    def test_experiments_without_events(self) -> None:
        experiment = self.steps(REFRAIN_TRACE="off")
        for format, _ in READERS_OF_EVENTS:
            self.assertIn("no events", self.refrain("export", experiment, "--format", format, code=1).stderr)
        for format in OF_PROFILES:
            self.export(format, experiment)


class OfOthers(Exports):
    @unittest.skipUnless(REAL_PROFILE.is_file(), f"{REAL_PROFILE} is not there")
    def test_values_of_a_real_profile_are_those_of_the_file(self) -> None:
        """Of Score-P, ten ranks: its metrics are decoded here by hand."""
        with tarfile.open(REAL_PROFILE) as archive:
            def values(metric: int, kind: str) -> dict[int, tuple[Any, ...]]:
                index, data = (archive.extractfile(f"{metric}.{part}").read() for part in ("index", "data"))  # type: ignore[union-attr]
                (count,) = struct.unpack_from("<I", index, 18)
                rows = struct.unpack_from(f"<{count}I", index, 22)
                return {row: struct.unpack_from(f"<10{kind}", data, 10 + 80 * i) for i, row in enumerate(rows)}

            # Inclusive times of the three roots, whose trees have 3, 2 and 9 call paths.
            wall = sum(sum(values(1, "d")[root]) for root in (0, 3, 5))
            visits, sent = (sum(map(sum, values(metric, "Q").values())) for metric in (0, 8))
        self.refrain("db", "add", REAL_PROFILE, "--program", "tags", "--version", "1")
        with sqlite3.connect(self.directory / "refrain.sqlite") as database:
            found = database.execute('select sum("Excl"), sum("BytesSent") from "PathTiming"').fetchone()
        self.assertAlmostEqual(wall, found[0], delta=1e-9 * wall)
        self.assertEqual(sent, found[1])
        # "PathTiming" has visits of calls of MPI alone.
        statement = "SELECT SUM(v.value) FROM value v JOIN metric m ON v.metric = m.id WHERE m.name = 'visits'"
        self.assertEqual(visits, float(self.refrain("query", REAL_PROFILE, statement, "--format", "csv").stdout.split()[-1]))

    def test_profiles_of_caliper_and_tau_become_runs_of_a_database(self) -> None:
        caliper = self.directory / "caliper.json"
        caliper.write_text(json.dumps({
            "data": [[0, 0, 1.0], [1, 0, 2.0], [0, 1, 1.5], [1, 1, 1.5]], "columns": ["path", "mpi.rank", "sum#time.duration"],
            "column_metadata": [{"is_value": False}, {"is_value": True}, {"is_value": True}],
            "nodes": [{"label": "main", "column": "path"}, {"label": "MPI_Barrier", "column": "path", "parent": 0}]}))
        tau = self.directory / "tau"
        tau.mkdir()
        for rank, us in enumerate((3_000_000, 1_000_000)):
            (tau / f"profile.{rank}.0.0").write_text(
                '2 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n'
                f'"main" 1 1 {us} 4000000 0 GROUP="TAU_USER"\n"main => MPI_Barrier()" 1 0 {4_000_000 - us} {4_000_000 - us} 0 GROUP="TAU_CALLPATH"\n')
        self.refrain("db", "add", caliper, tau, "--program", "app", "--version", "1")
        runs = json.loads(self.refrain("db", "list", "--format", "json").stdout)["runs"]
        self.assertEqual([2, 2], [run["processes"] for run in runs])
        table = json.loads(self.refrain("scaling", "--efficiency", "--format", "json").stdout)["regions"][0]["by_processes"][0]
        self.assertEqual(2, table["runs"])
        # Of Caliper (1 + 1.5) / 2 / 3, of TAU (3 + 1) / 2 / 4.
        self.assertAlmostEqual((2.5 / 6 + 0.5) / 2, table["parallel"], delta=1e-9)
        broken = self.directory / "broken.json"
        broken.write_text('{"data": []}')
        self.assertEqual(1, self.refrain("db", "add", broken, code=2).stderr.count("\n"))


if __name__ == "__main__":
    unittest.main()
