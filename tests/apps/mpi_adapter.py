#!/usr/bin/env python3
"""What the MPI adapter records of mpi_conformance.c is its arithmetic truth, and what an independent counter saw.

    mpi_adapter.py NAME PROGRAM RECORDER COUNTER MPIEXEC LATE PLUGIN

LATE loads PLUGIN, which is PROGRAM and brings MPI with it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from mpi_checks import ENVIRONMENT, Checks, identities

name, program, recorder, counter, mpiexec, late, plugin = sys.argv[1:]
checks = Checks(name)
expect = checks.expect


def run(ranks: int, directory: Path, preload: str = "", command: tuple[str, ...] = (program,), **variables: str) -> str:
    """The program's output."""
    (directory / "file").unlink(missing_ok=True)
    command = [mpiexec, "-n", str(ranks), "env", *([f"LD_PRELOAD={preload}"] if preload else []), *command]
    done = subprocess.run(command, env=ENVIRONMENT | {"CONFORMANCE_FILE": str(directory / "file")} | variables,
                          capture_output=True, text=True, timeout=240)
    expect(done.returncode == 0, f"{ranks} ranks, preload '{preload}': exit {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def lines(path: Path) -> dict[str, list[int]]:
    return {words[0]: [int(word) for word in words[1:]] for words in map(str.split, path.read_text().splitlines())}


def record_is_the_truth(where: str, truth_path: Path, record_path: Path) -> None:
    truth, record = lines(truth_path), json.loads(record_path.read_text())["functions"]
    for function in sorted(truth.keys() | record.keys()):
        expect(truth.get(function) == record.get(function),
               f"{where}: {function}: recorded {record.get(function)}, truth {truth.get(function)}")


def counter_saw_the_truth(where: str, truth_path: Path, count_path: Path) -> None:
    truth = {function: row[0] for function, row in lines(truth_path).items()}
    counts = {function: row[0] for function, row in lines(count_path).items()}
    expect(truth == counts, f"{where}: the counter saw other calls: {sorted(set(truth.items()) ^ set(counts.items()))}")


def same_communicators(records: list[list[dict]]) -> None:
    """Records that two ranks give one identity have the same members, and every communicator has one."""
    known = [identities(rank, own) for rank, own in enumerate(records)]
    for rank, own in enumerate(records):
        expect(len(set(known[rank].values())) == len(own), f"rank {rank}: two communicators with one identity")
    for rank, own in enumerate(records):
        for record in own:
            identity = known[rank][record["id"]]
            expect(record["members"][record["rank"]] == rank, f"rank {rank} is not itself in {record}")
            expect(len(record["members"]) == record["size"] + record["remote_size"],
                   f"wrong number of members: {record}")
            for member in record["members"]:
                theirs = [r for r in records[member] if known[member][r["id"]] == identity]
                expect(len(theirs) == 1 and sorted(theirs[0]["members"]) == sorted(record["members"]),
                       f"rank {rank} and rank {member} do not agree on {record}")
                if record["remote_size"] == 0 and theirs:
                    expect(theirs[0]["members"] == record["members"], f"order of members differs: {record}")


for ranks in (2, 4):
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        plain = run(ranks, directory, TRUTH_FILE="")
        truth_file, record_file, count_file = directory / "truth", directory / "record", directory / "count"
        measured = run(ranks, directory, recorder, TRUTH_FILE=str(truth_file), RECORDER_FILE=str(record_file))
        expect(plain != "" and plain == measured, f"{ranks} ranks: output differs:\n{plain}\n{measured}")
        records = []
        for rank in range(ranks):
            record = json.loads(Path(f"{record_file}.{rank}").read_text())
            records.append(record["communicators"])
            record_is_the_truth(f"rank {rank} of {ranks}", Path(f"{truth_file}.{rank}"), Path(f"{record_file}.{rank}"))
            expect(record["unmatched"] == [0, 0], f"completed, but not where it was begun: {record['unmatched']}")
            expect(record["requests"] == 0, f"rank {rank}: {record['requests']} requests are left in the table")
            expect(record["peers"], f"rank {rank}: the exchange between peers failed")
        same_communicators(records)
        expect(any(c["name"] == "conformance" for c in records[0]), "MPI_Comm_set_name is not recorded")

        # The counter knows visits only; polling calls vary from run to run, so it is compared
        # with that run's own truth.
        run(ranks, directory, counter, TRUTH_FILE=str(truth_file), COUNTER_FILE=str(count_file))
        for rank in range(ranks):
            counter_saw_the_truth(f"rank {rank} of {ranks}", Path(f"{truth_file}.{rank}"), Path(f"{count_file}.{rank}"))

        # A peer that never answers: the deadline passes, and the program ends as ever.
        expect(run(ranks, directory, recorder, RECORDER_FILE=str(record_file), RECORDER_DEADLINE="1") == plain,
               "output differs after a deadline")
        expect(json.loads(Path(f"{record_file}.0").read_text())["peers"], "the deadline of a receive was not kept")

with tempfile.TemporaryDirectory() as scratch:
    directory = Path(scratch)
    truth_file, record_file, count_file = directory / "truth", directory / "record", directory / "count"
    files = {"TRUTH_FILE": str(truth_file), "RECORDER_FILE": str(record_file), "COUNTER_FILE": str(count_file)}
    plain = run(2, directory)
    # Another tool that has taken PMPI, in front and behind it.
    for preload in (f"{recorder}:{counter}", f"{counter}:{recorder}"):
        for path in directory.glob("record.*"):
            path.unlink()
        expect(run(2, directory, preload, **files) == plain, f"output differs with {preload}")
        for rank in range(2):
            counter_saw_the_truth(f"rank {rank}, {preload}", Path(f"{truth_file}.{rank}"), Path(f"{count_file}.{rank}"))
            record_is_the_truth(f"rank {rank}, {preload}", Path(f"{truth_file}.{rank}"), Path(f"{record_file}.{rank}"))
    # MPI that comes late and locally.
    for path in directory.glob("record.*"):
        path.unlink()
    expect(run(2, directory, command=(late, plugin)) == plain, "output of the late program differs")
    expect(run(2, directory, recorder, (late, plugin), **files) == plain,
           "output of the late program differs when measured")
    for rank in range(2):
        record_is_the_truth(f"rank {rank}, late", Path(f"{truth_file}.{rank}"), Path(f"{record_file}.{rank}"))

sys.exit(checks.failures > 0)
