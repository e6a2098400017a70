"""What `refrain export` writes, as programs of others read it: speedscope of npm in a browser, pprof of Go, and the compiler of Protocol
Buffers. One that is not installed is skipped by name."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import unittest
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from export_files import Exports, ExportsOfProfile
from export_readers import CallPaths, check_nesting
from refrain_testing import SOURCE, clean_environment

WITNESSES = SOURCE / "tests" / "witnesses"
PUPPETEER = SOURCE / "page" / "node_modules" / "puppeteer-core"


def evented(profile: dict[str, Any], frames: list[dict[str, Any]]) -> tuple[CallPaths, Counter[str]]:
    """Own time by call path in the profile's unit, and how often each frame was opened."""
    times: Counter[tuple[str, ...]] = Counter()
    opened: Counter[str] = Counter()
    stack: list[str] = []
    last = profile["startValue"]
    for event in profile["events"]:
        times[tuple(stack)] += event["at"] - last
        last = event["at"]
        name = frames[event["frame"]]["name"]
        if event["type"] == "O":
            stack.append(name)
            opened[name] += 1
        elif stack.pop() != name:
            raise AssertionError(f"{name} is not the last one that was opened")
    del times[()]
    return dict(times), opened


class Speedscope(ExportsOfProfile):
    measured_with = {"REFRAIN_TRACE": "all"}

    def read(self, *files: Path) -> list[dict[str, Any]]:
        """What speedscope saves of what it has loaded."""
        browser, npm = shutil.which("chromium"), shutil.which("npm")
        if not browser or not npm:
            self.skipTest("speedscope: chromium or npm is not installed")
        if not PUPPETEER.is_dir():
            self.skipTest("speedscope: page/node_modules has no puppeteer-core (npm ci in page/)")
        installed = self.directory / "npm"
        installed.mkdir()
        for name in ("package.json", "package-lock.json"):
            shutil.copy(WITNESSES / name, installed)
        done = subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=installed, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            self.skipTest(f"speedscope: npm cannot install it: {done.stderr[-300:]}")
        done = subprocess.run(["node", str(WITNESSES / "speedscope.mjs"), str(installed / "node_modules" / "speedscope"), *map(str, files)], capture_output=True,
                              text=True, env=os.environ | {"BROWSER_PATH": browser}, timeout=300)
        self.assertEqual(0, done.returncode, done.stderr[-2000:])
        return json.loads(done.stdout)

    def test_it_reads_what_the_report_has(self) -> None:
        """In files with the endings that the formats have; the program tells callgrind's by a name's beginning."""
        directory = self.directory / "files"
        directory.mkdir()
        files = []
        for format, name in (("speedscope", "a.speedscope.json"), ("folded", "a.folded"), ("pprof", "a.pb.gz"), ("callgrind", "callgrind.a"), ("chrome", "a.trace.json")):
            files.append(directory / name)
            self.refrain("export", self.experiment, "--format", format, "-o", files[-1])
        own, folded, pprof, callgrind, chrome = self.read(*files)

        self.assertEqual(["all ranks", "rank 0", "rank 1"], [profile["name"] for profile in own["profiles"]])
        self.assertEqual({"nanoseconds"}, {profile["unit"] for profile in own["profiles"]})
        self.assertEqual(0, own["activeProfileIndex"])
        found = [{path: ns * 1e-9 for path, ns in evented(profile, own["shared"]["frames"])[0].items()} for profile in own["profiles"]]
        self.check(found[0], "speedscope")
        for rank in (0, 1):
            wall = sum(of["wall_s"] for of in self.of.locations if of["rank"] == rank)
            self.assertAlmostEqual(wall, sum(found[1 + rank].values()), delta=1e-4 * self.wall)

        for file, seconds in ((folded, 1e-6), (pprof, 1e-9)):
            (profile,) = file["profiles"]
            self.check({path: value * seconds for path, value in evented(profile, file["shared"]["frames"])[0].items()}, profile["name"])
        self.assertAlmostEqual(self.wall, callgrind["profiles"][0]["endValue"] * 1e-9, delta=1e-3 * self.wall)
        for rank in (0, 1):
            opened: Counter[str] = Counter()
            for profile in chrome["profiles"]:
                if profile["name"].startswith(f"rank {rank} ") and "iterations of" not in profile["name"]:
                    opened += evented(profile, chrome["shared"]["frames"])[1]
            self.assertEqual((60, 6, 1), tuple(opened[of] for of in ("MPI_Sendrecv", "MPI_Barrier", "step")), rank)


class Pprof(ExportsOfProfile):
    def test_go_reads_what_the_report_has(self) -> None:
        go = shutil.which("go")
        if not go:
            self.skipTest("pprof: go is not installed (golang-go)")
        file = self.export("pprof", self.experiment)
        environment = clean_environment({"HOME": str(self.directory), "PPROF_TMPDIR": str(self.directory), "GOTOOLCHAIN": "local"})
        done = subprocess.run([go, "tool", "pprof", "-raw", "-symbolize=none", str(file)], capture_output=True, text=True, env=environment, timeout=300, cwd=self.directory)
        self.assertEqual(0, done.returncode, done.stderr)
        lines = iter(done.stdout.splitlines())
        self.assertIn("Samples:", lines)
        types = next(lines).split()
        self.assertEqual(("visits/count", "wall/nanoseconds"), (types[0], types[-1].removesuffix("[dflt]")))
        samples: list[tuple[list[int], list[str]]] = []
        by_rank: Counter[str] = Counter()
        for line in lines:
            if line == "Locations":
                break
            if match := re.fullmatch(r"([ \d]+): ([\d ]*)", line):
                samples.append((list(map(int, match[1].split())), match[2].split()))
                self.assertEqual(len(types), len(samples[-1][0]), line)
            else:
                labels = re.fullmatch(r" +rank:\[(\d+)\] thread:\[\d+\]", line)
                assert labels, f"each sample has both labels: {line}"
                by_rank[labels[1]] += samples[-1][0][-1]
        names = {}
        for line in lines:
            if match := re.fullmatch(r" *(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(.*) \S*:\d+(?::\d+)? s=\d+", line):
                names[match[1]] = match[2]
        times: Counter[tuple[str, ...]] = Counter()
        for values, stack in samples:
            times[tuple(names[at] for at in reversed(stack))] += values[-1]
        self.check({path: ns * 1e-9 for path, ns in times.items()}, "pprof")
        for rank in (0, 1):
            wall = sum(of["wall_s"] for of in self.of.locations if of["rank"] == rank)
            self.assertAlmostEqual(wall, by_rank[str(rank)] * 1e-9, delta=1e-4 * self.wall)


def message(lines: list[str], at: int = 0) -> tuple[dict[str, list[Any]], int]:
    """A message in the text format of Protocol Buffers, and the line behind it."""
    fields: dict[str, list[Any]] = defaultdict(list)
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        if line == "}":
            break
        if line.endswith(" {"):
            inner, at = message(lines, at)
            fields[line.removesuffix(" {")].append(inner)
        else:
            name, value = line.split(": ", 1)
            fields[name].append(ast.literal_eval(value) if value[0] in '"0123456789' else value)
    return fields, at


class Perfetto(Exports):
    def test_protoc_reads_slices_that_nest(self) -> None:
        protoc = shutil.which("protoc")
        if not protoc:
            self.skipTest("perfetto: protoc is not installed (protobuf-compiler)")
        file = self.export("perfetto", self.steps(REFRAIN_TRACE="all"))
        done = subprocess.run([protoc, f"--proto_path={WITNESSES}", "--decode=Trace", "perfetto.proto"], stdin=file.open("rb"), capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(0, done.returncode, done.stderr)
        unknown = re.search(r"^ *\d+[:\s]", done.stdout, re.MULTILINE)
        self.assertIsNone(unknown, "a field that Perfetto does not have")
        tracks: dict[int, dict[str, list[Any]]] = {}
        slices: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        flows: dict[str, Counter[int]] = {"flow_ids": Counter(), "terminating_flow_ids": Counter()}
        for packet in message(done.stdout.splitlines())[0]["packet"]:
            self.assertEqual([1], packet["trusted_packet_sequence_id"])
            for track in packet["track_descriptor"]:
                tracks[track["uuid"][0]] = track
            for event in packet["track_event"]:
                kind = event["type"][0]
                if kind in ("TYPE_SLICE_BEGIN", "TYPE_SLICE_END"):
                    slices[event["track_uuid"][0]].append((packet["timestamp"][0], "B" if kind.endswith("BEGIN") else "E", (event["name"] or [""])[0]))
                for side, numbers in flows.items():
                    numbers.update(event[side])
        self.assertLessEqual(set(slices), set(tracks))
        by_rank: dict[str, Counter[str]] = defaultdict(Counter)
        for number, of in slices.items():
            names = check_nesting([(phase, name) for _, phase, name in sorted(of, key=lambda event: event[0])])
            if not tracks[number]["name"][0].startswith("iterations of "):
                by_rank[tracks[tracks[number]["parent_uuid"][0]]["name"][0]] += names
        for rank in ("rank 0", "rank 1"):
            self.assertEqual((60, 6, 1), tuple(by_rank[rank][of] for of in ("MPI_Sendrecv", "MPI_Barrier", "step")), rank)
        self.assertEqual(flows["flow_ids"], flows["terminating_flow_ids"])
        self.assertEqual((120, {1}), (len(flows["flow_ids"]), set(flows["flow_ids"].values())))


if __name__ == "__main__":
    unittest.main()
