"""`refrain-export`: what several processes write together is what one writes alone, whatever goes wrong with one of them;
accesses to files as events of OTF2."""

from __future__ import annotations

import shutil
import subprocess
import time
import unittest
from collections import defaultdict
from pathlib import Path
from typing import Any

from events import MPIS, EventsTest, launched
from events_archives import otf2_print
from refrain_testing import BUILD, OPEN_MPI_ENVIRONMENT, PROGRAMS, Done, clean_environment, finish, mpiexec, mpirun

EXPORT = BUILD / "bin" / "refrain-export"


def lines_of_refrain(stderr: str) -> list[str]:
    return sorted(line for line in stderr.splitlines() if line.startswith("refrain"))


class ExportTest(EventsTest):
    def place(self, rank: int, size: int) -> dict[str, str]:
        return clean_environment({"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(size)})

    def start(self, rank: int, size: int, *words: Any) -> subprocess.Popen[str]:
        return subprocess.Popen([EXPORT, *map(str, words)], env=self.place(rank, size), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=self.directory)

    def together(self, size: int, *words: Any) -> list[Done]:
        """As a launcher starts them."""
        return finish([self.start(rank, size, *words) for rank in range(size)])

    def check_nothing_is_left(self, directory: Path) -> None:
        self.assertEqual([], list(directory.parent.glob(directory.name + "*")))

    def check_same(self, alone: Path, together: Path) -> None:
        self.assertFalse(Path(str(together) + ".processes").exists())
        names = lambda of: sorted(str(path.relative_to(of)) for path in of.rglob("*"))
        self.assertEqual(names(alone), names(together))
        # Names and sizes of all records; then, since long texts take minutes to be compared in words, whether they are equal.
        for options in (["-G"], []):
            one, other = ([line for line in otf2_print(*options, directory / "traces.otf2") if str(directory) not in line]
                          for directory in (alone, together))
            self.assertGreater(len(one), 20)
            self.assertTrue(one == other, next((pair for pair in zip(one, other) if pair[0] != pair[1]), "lengths differ"))


class Together(ExportTest):
    def compare(self, experiment: Path, sizes: tuple[int, ...], *options: Any) -> None:
        alone = self.directory / "alone"
        self.tool("export", experiment, "-o", alone, *options)
        alone_says = self.tool_output(experiment, options)
        for size in sizes:
            with self.subTest(size=size, options=options):
                directory = self.directory / f"by-{size}"
                done = self.together(size, experiment, "-o", directory, *options)
                self.assertEqual([0] * size, [code for code, _, _ in done], done)
                self.assertEqual([alone_says] + [("", "")] * (size - 1),
                                 [(out.replace(str(directory), "D"), err) for _, out, err in done])
                self.check_same(alone, directory)
                shutil.rmtree(directory)
        shutil.rmtree(alone)

    def tool_output(self, experiment: Path, options: tuple[Any, ...]) -> tuple[str, str]:
        directory = self.directory / "again"
        out = self.tool("export", experiment, "-o", directory, *options)
        shutil.rmtree(directory)
        return out.replace(str(directory), "D"), self.stderr

    def test_the_same_archive(self) -> None:
        experiment = self.traced(launched(MPIS[0], 2, "mpi_control", "threads")).experiment
        self.compare(experiment, (2, 3, 40))
        experiment = self.traced(mpirun(3, PROGRAMS / "iterations_loop", "30", "500")).experiment
        self.compare(experiment, (2,), "--rank", "1,2")
        self.compare(experiment, (2, 3), "--regions", "callpath")

    def test_by_any_number_of_threads(self) -> None:
        experiment = self.traced(launched(MPIS[0], 2, "mpi_control", "threads")).experiment
        archives = []
        for threads in (1, 4):
            directory = self.directory / f"threads-{threads}"
            subprocess.run([EXPORT, experiment, "-o", directory], env=clean_environment({"REFRAIN_THREADS": str(threads)}), check=True,
                           capture_output=True, timeout=60)
            # traces.otf2 has an identifier that each archive has for itself.
            archives.append({path.relative_to(directory): path.read_bytes() for path in directory.rglob("*")
                             if path.is_file() and path.name != "traces.otf2"})
        self.assertGreater(len(archives[0]), 4)
        self.assertEqual(sorted(archives[0]), sorted(archives[1]))
        self.assertEqual([], [path for path, contents in archives[0].items() if contents != archives[1][path]])

    def test_by_the_launchers(self) -> None:
        experiment = self.traced(launched(MPIS[0], 2, "events_few")).experiment
        alone = self.directory / "alone"
        self.tool("export", experiment, "-o", alone)
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                directory = self.directory / f"by-{mpi}"
                done = self.plain(mpiexec(mpi, 3, EXPORT, experiment, "--format", "otf2", "-o", directory))
                self.assertEqual((0, ""), (done.code, done.stderr))
                self.assertEqual(1, len(done.stdout.splitlines()))
                self.check_same(alone, directory)
        # One process under a launcher, and none.
        for name, command in (("one", mpiexec(MPIS[0], 1, EXPORT)), ("none", [EXPORT])):
            self.assertEqual(0, self.plain([*command, experiment, "-o", self.directory / name]).code)
            self.check_same(alone, self.directory / name)

    def test_damage_is_told_once_and_costs_as_much(self) -> None:
        experiment = self.traced(launched(MPIS[0], 2, "mpi_control", "requests", 1000), {"REFRAIN_TRACE_MEMORY": "32K"}).experiment
        part = experiment / "events-1.refrain"
        contents = bytearray(part.read_bytes())
        for place in (len(contents) // 3, len(contents) // 2):
            contents[place] ^= 1
        part.write_bytes(contents)
        alone, directory = self.directory / "alone", self.directory / "together"
        self.tool("export", experiment, "-o", alone, code=4)
        wanted = lines_of_refrain(self.stderr)
        self.assertGreater(len(wanted), 1)
        for size in (2, 3):
            done = self.together(size, experiment, "-o", directory)
            self.assertEqual([4] + [0] * (size - 1), [code for code, _, _ in done], done)
            self.assertEqual(wanted, lines_of_refrain("".join(err for _, _, err in done)))
            self.check_same(alone, directory)
            shutil.rmtree(directory)
        for mpi in MPIS:
            done = self.plain(mpiexec(mpi, 2, EXPORT, experiment, "-o", directory))
            self.assertEqual((4, wanted), (done.code, lines_of_refrain(done.stderr)), done.stderr)
            self.check_same(alone, directory)
            shutil.rmtree(directory)


class Trouble(ExportTest):
    def setUp(self) -> None:
        super().setUp()
        self.experiment = self.traced(launched(MPIS[0], 2, "events_few")).experiment
        self.output = self.directory / "output"
        self.meeting = self.directory / "output.processes"

    def words(self, patience: int = 100) -> list[Any]:
        return [self.experiment, "-o", self.output, "--patience", patience]

    def told(self, done: Done, code: int, pattern: str) -> None:
        self.assertEqual((code, ""), done[:2], done)
        self.assertRegex(done[2], f"^refrain export: {pattern}\n$")

    def wait_for(self, name: str, begin: str) -> str:
        """The first word of that line of a process's file."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                lines = (self.meeting / name).read_text().splitlines()
            except FileNotFoundError:
                lines = []
            for line in lines:
                if line.startswith(begin + " "):
                    return line.split()[1]
            time.sleep(0.01)
        self.fail(f"no {begin} of process {name}")

    def test_one_that_is_never_started(self) -> None:
        self.told(finish([self.start(0, 2, *self.words(1))])[0], 1, "process 1 of 2 has not been heard of for 1 s")
        self.check_nothing_is_left(self.output)
        self.told(finish([self.start(1, 2, *self.words(1))])[0], 1, "process 0 of 2 has not been heard of for 1 s")

    def test_one_that_dies_in_the_middle(self) -> None:
        """This test plays the part of the one that dies: it is there at the begin, and says nothing from then on."""
        first = self.start(0, 2, *self.words(10))
        name = self.wait_for("0", "refrain")
        (self.meeting / "1").write_text(f"refrain 1234\nto {name}\n")
        self.told(finish([first])[0], 1, "process 1 of 2 has not been heard of for 10 s")
        self.check_nothing_is_left(self.output)

    def test_the_first_one_dies(self) -> None:
        other = self.start(1, 2, *self.words(10))
        name = self.wait_for("1", "refrain")
        (self.meeting / "0").write_text(f"refrain 1234\nseen {name}\n")
        self.told(finish([other])[0], 1, "process 0 of 2 has not been heard of for 10 s")

    def test_another_job_is_at_it(self) -> None:
        """It has made the output, and its processes talk: nothing of that is touched."""
        self.output.mkdir()
        self.meeting.mkdir()
        for name in "01":
            (self.meeting / name).write_text(f"refrain {name}{name}\n")
        first, other = self.together(2, *self.words())
        self.assertEqual((1, "", f"refrain export: {self.output} exists; nothing is overwritten\n"), first)
        self.assertEqual((0, "", ""), other)
        self.assertEqual([f"refrain {name}{name}\n" for name in "01"], [(self.meeting / name).read_text() for name in "01"])
        self.assertEqual([], list(self.output.iterdir()))

    def test_other_files_in_the_meeting_place_stay(self) -> None:
        self.meeting.mkdir()
        (self.meeting / "mine").write_text("mine")
        done = self.together(2, *self.words())
        self.assertEqual([(0, ""), (0, "")], [(code, err) for code, _, err in done])
        self.assertEqual([self.meeting / "mine"], list(self.meeting.iterdir()))

    def test_directories_above_the_output(self) -> None:
        self.output = self.directory / "new" / "too" / "output"
        done = self.together(2, *self.words())
        self.assertEqual([(0, ""), (0, "")], [(code, err) for code, _, err in done])
        self.assertEqual([self.output], list(self.output.parent.iterdir()))

    def test_files_of_a_job_that_was_killed(self) -> None:
        self.meeting.mkdir()
        (self.meeting / "0").write_text("refrain 1\nseen 2\nsay x\nend 1\\nold\n")
        (self.meeting / "1").write_text("refrain 2\nto 1\nsay 0 0 7 1 9\nend 2\\nold\n")
        done = self.together(2, *self.words())
        self.assertEqual([(0, ""), (0, "")], [(code, err) for code, _, err in done])
        self.tool("export", self.experiment, "-o", self.directory / "alone")
        self.check_same(self.directory / "alone", self.output)

    def test_one_that_fails(self) -> None:
        missing = self.directory / "missing"
        first = self.start(0, 3, *self.words())
        others = [self.start(1, 3, *self.words()), self.start(2, 3, missing, "-o", self.output)]
        done = finish([first, *others])
        self.told(done[0], 2, f".*{missing}.*")
        self.assertEqual([(0, "", "")] * 2, done[1:])
        self.check_nothing_is_left(self.output)

    def test_the_first_one_fails(self) -> None:
        self.output.mkdir()
        done = self.together(3, *self.words())
        self.told(done[0], 1, ".*exists; nothing is overwritten")
        self.assertEqual([(0, "", "")] * 2, done[1:])
        self.assertEqual([], list(self.output.iterdir()))
        self.assertFalse(self.meeting.exists())

    def test_different_experiments(self) -> None:
        other = self.traced(mpirun(4, PROGRAMS / "iterations_loop", "10", "100")).experiment
        first = self.start(0, 2, other, "-o", self.output)
        done = finish([first, self.start(1, 2, *self.words())])
        self.told(done[0], 1, "the processes do not read the same experiment")
        self.check_nothing_is_left(self.output)

    def test_a_batch_script_is_alone(self) -> None:
        """Slurm gives a script a place in its job, too."""
        env = clean_environment({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"})
        done = subprocess.run([EXPORT, self.experiment, "-o", self.output], env=env, capture_output=True, timeout=60)
        self.assertEqual((0, b""), (done.returncode, done.stderr))


class Files(ExportTest):
    def of_files(self, directory: Path) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        numbers: dict[str, dict[str, str]] = defaultdict(dict)
        for line in otf2_print(directory / "traces.otf2"):
            if not line.startswith(("IO_", "ENTER", "LEAVE")):
                continue
            kind, location, _, rest = line.split(None, 3)
            if kind in ("ENTER", "LEAVE"):
                if "MPI_File_" in rest or "MPI_Wait" in rest:
                    found[location].append(f"{kind} {rest.split(chr(34))[1]}")
                continue
            self.assertIn('Handle: "files of MPI-IO" <0>', rest)
            fields = dict(field.split(": ", 1) for field in rest.split(", "))
            mine = numbers[location]
            number = mine.setdefault(fields["Matching Id"], f"#{len(mine) + 1}")
            words = [fields[name] for name in ("Mode", "Operation Flags", "Bytes Request", "Bytes Result") if name in fields]
            found[location].append(" ".join([kind, number, *words]))
        return found

    def call(self, name: str, *within: str) -> list[str]:
        return [f"ENTER {name}", *within, f"LEAVE {name}"]

    def test_each_access(self) -> None:
        for mpi in MPIS:
            with self.subTest(mpi=mpi):
                outcome = self.traced(launched(mpi, 2, "events_files", self.directory / f"data-{mpi}"))
                archive = self.directory / f"files-{mpi}"
                self.tool("export", outcome.experiment, "-o", archive)
                self.assertEqual("", self.stderr)
                whole = lambda n, what, flags, size: (f"IO_OPERATION_BEGIN {n} {what} {flags} {size}", f"IO_OPERATION_COMPLETE {n} {size}")
                begun = lambda n, what: (f"IO_OPERATION_BEGIN {n} {what} {{NON_BLOCKING}} 0", f"IO_OPERATION_ISSUED {n}")
                wanted = {
                    str(rank): self.call("MPI_File_open")
                    + self.call("MPI_File_write_at", *whole("#1", "WRITE", "NONE", 100 + rank))
                    + self.call("MPI_File_write_at_all", *whole("#2", "WRITE", "{COLLECTIVE}", 50))
                    + self.call("MPI_File_iwrite_at", *begun("#3", "WRITE"))
                    + self.call("MPI_File_iwrite_at", *begun("#4", "WRITE"))
                    + self.call("MPI_Wait", "IO_OPERATION_COMPLETE #4 40") + self.call("MPI_Wait", "IO_OPERATION_COMPLETE #3 30")
                    + self.call("MPI_File_iread_at", *begun("#5", "READ")) + self.call("MPI_Wait", "IO_OPERATION_COMPLETE #5 70")
                    + self.call("MPI_File_read_at", *whole("#6", "READ", "NONE", 20)) + self.call("MPI_File_close")
                    for rank in (0, 1)}
                self.assertEqual(wanted, self.of_files(archive))
                self.check_read_back(outcome.experiment, archive)

    def test_metrics_that_are_read_at_the_end_of_a_call_are_no_begin_of_it(self) -> None:
        outcome = self.traced(launched(MPIS[0], 1, "events_files", self.directory / "data"), {"REFRAIN_METRICS": "ru_minflt"})
        self.tool("export", outcome.experiment, "-o", self.directory / "archive")
        entered, durations, kinds = 0, [], set()
        for line in otf2_print(self.directory / "archive" / "traces.otf2"):
            kind, *rest = line.split() or [""]
            if len(rest) < 2 or not rest[1].isdigit():
                continue
            kinds.add(kind)
            if kind == "ENTER":
                entered = int(rest[1])
            elif kind == "IO_OPERATION_BEGIN":
                durations.append(int(rest[1]) - entered)
        self.assertIn("METRIC", kinds)
        self.assertEqual([0] * 6, durations)

    def check_read_back(self, experiment: Path, archive: Path) -> None:
        """By this project's own reader, which shows a whole access as its begin and its end."""
        def accesses(path: Path) -> list[tuple[str, ...]]:
            rows = [row for row in self.events(path) if row["event"].split("_")[0] in ("read", "write")]
            self.assertEqual("", self.stderr)
            ends = [row for row in rows if not row["event"].endswith("_begun")]
            return sorted((row["rank"], row["event"].split("_")[0], row["region"], row["bytes_sent"], row["bytes_received"]) for row in ends)
        native = accesses(experiment)
        self.assertEqual(12, len(native))
        self.assertEqual(native, accesses(archive))


if __name__ == "__main__":
    unittest.main()
