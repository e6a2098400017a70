"""Readers of the formats that `refrain export` writes, after the formats' descriptions and with the standard library alone. Each gives
wall time in seconds by call path, a tuple of names."""

from __future__ import annotations

import gzip
import json
import re
import struct
import tarfile
import xml.etree.ElementTree as xml
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Iterator

CallPaths = dict[tuple[str, ...], float]


def cubex(path: Path) -> dict[str, dict[tuple[str, ...], list[float]]]:
    """By metric and call path, which begins with the program's, the values of locations; rules are those of pyCubexR."""
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive.getmembers()}  # type: ignore[union-attr]
    cube = xml.fromstring(files["anchor.xml"])
    regions = {region.get("id"): region.findtext("name") for region in cube.iter("region")}
    (root,) = cube.findall("program/cnode")
    (_,) = cube.findall("system/systemtreenode")
    paths: list[tuple[str, ...]] = []

    def add(node: xml.Element, above: tuple[str, ...]) -> None:
        assert int(node.get("id", "")) == len(paths), "ids are numbered depth first"
        paths.append((*above, regions[node.get("calleeId")] or ""))
        for child in node.findall("cnode"):
            add(child, paths[int(node.get("id", ""))])

    add(root, ())
    locations = [int(location.get("Id", "")) for location in cube.iter("location")]
    assert locations == list(range(len(locations)))
    topologies = cube.findall("system/topologies/cart")
    assert topologies, "there is the system's at least"
    for cart in topologies:
        sizes = [int(dimension.get("size", "")) for dimension in cart.findall("dim")]
        places = {int(of.get("locId", "")): tuple(map(int, (of.text or "").split())) for of in cart.findall("coord")}
        assert len(sizes) == int(cart.get("ndims", "")) and sorted(places) == locations and len(set(places.values())) == len(places)
        assert all(len(place) == len(sizes) and all(0 <= at < size for at, size in zip(place, sizes)) for place in places.values())
    metrics: dict[str, dict[tuple[str, ...], list[float]]] = {}
    for metric in cube.iter("metric"):
        assert metric.get("type") == "EXCLUSIVE" and metric.findtext("dtype") == "DOUBLE"
        index, data = files[f"{metric.get('id')}.index"], files[f"{metric.get('id')}.data"]
        head, one, _, kind, count = struct.unpack_from("<11sIHBI", index)
        assert (head, one, kind) == (b"CUBEX.INDEX", 1, 1) and count > 0 and len(index) == 22 + 4 * count
        rows = struct.unpack_from(f"<{count}I", index, 22)
        assert data[:10] == b"CUBEX.DATA" and len(data) == 10 + 8 * count * len(locations)
        values = struct.unpack_from(f"<{count * len(locations)}d", data, 10)
        metrics[metric.findtext("uniq_name") or ""] = {
            paths[row]: list(values[i * len(locations):(i + 1) * len(locations)]) for i, row in enumerate(rows)}
    for metric in cube.iter("metric"):
        own, *below = (sum(map(sum, metrics[of.findtext("uniq_name") or ""].values())) for of in (metric, *metric.findall("metric")))
        assert sum(below) <= own * (1 + 1e-9) + 1e-9, f"{metric.findtext('uniq_name')} has less than its parts"
    return metrics


def folded(path: Path) -> CallPaths:
    times: Counter[tuple[str, ...]] = Counter()
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"(.+) (\d+)", line)
        assert match, line
        times[tuple(match[1].split(";"))] += int(match[2])
    return {of: us * 1e-6 for of, us in times.items()}


def speedscope(path: Path) -> dict[str, CallPaths]:
    """By profile."""
    file = json.loads(path.read_text())
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in file["shared"]["frames"]]
    profiles = {}
    for profile in file["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"]) and min(profile["weights"]) > 0
        times: Counter[tuple[str, ...]] = Counter()
        for stack, weight in zip(profile["samples"], profile["weights"]):
            times[tuple(names[frame] for frame in stack)] += weight
        profiles[profile["name"]] = {of: ns * 1e-9 for of, ns in times.items()}
    return profiles


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data: bytes) -> dict[int, list[Any]]:
    """Of a message of Protocol Buffers."""
    found: dict[int, list[Any]] = defaultdict(list)
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
            found[tag >> 3].append(value)
        elif tag & 7 == 1:
            found[tag >> 3].append(struct.unpack_from("<Q", data, at)[0])
            at += 8
        else:
            assert tag & 7 == 2, tag
            size, at = varint(data, at)
            found[tag >> 3].append(data[at:at + size])
            at += size
    return found


def numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def pprof(path: Path) -> CallPaths:
    profile = fields(gzip.decompress(path.read_bytes()))
    strings = [text.decode() for text in profile[6]]
    assert strings[0] == ""
    types = [strings[fields(of)[1][0]] for of in profile[1]]
    assert types[-1] == "wall"
    function = {of[1][0]: strings[of[2][0]] for of in map(fields, profile[5])}
    location = {of[1][0]: function[fields(of[4][0])[1][0]] for of in map(fields, profile[4])}
    assert 0 not in location and len(location) == len(profile[4])
    times: Counter[tuple[str, ...]] = Counter()
    for sample in map(fields, profile[2]):
        values = list(numbers(sample[2][0]))
        assert len(values) == len(types)
        labels = {strings[label[1][0]]: strings[label[2][0]] for label in map(fields, sample[3])}
        assert list(labels) == ["rank", "thread"] and all(number.isdigit() for number in labels.values()), labels
        times[tuple(location[of] for of in reversed(list(numbers(sample[1][0]))))] += values[-1]
    return {of: ns * 1e-9 for of, ns in times.items()}


def hatchet(path: Path) -> tuple[CallPaths, CallPaths]:
    """Exclusive and inclusive times, sums over ranks."""
    file = json.loads(path.read_text())
    assert file["dataframe_indices"] == ["node", "rank"]
    (graph,) = file["graph"]
    above = {str(child): node for node, of in graph.items() for child in of["children"]}

    def path_of(node: str) -> tuple[str, ...]:
        names: list[str] = []
        at: str | None = node
        while at is not None:
            names.insert(0, graph[at]["data"]["name"])
            at = above.get(at)
        return tuple(names)

    exclusive: Counter[tuple[str, ...]] = Counter()
    inclusive: Counter[tuple[str, ...]] = Counter()
    for row in file["dataframe"]:
        names = path_of(str(row["node"]))
        assert set(file["exclusive_metrics"] + file["inclusive_metrics"]) <= set(row)
        exclusive[names] += row["time"]
        inclusive[names] += row["time (inc)"]
    return dict(exclusive), dict(inclusive)


def extrap(path: Path) -> dict[tuple[int, str, tuple[str, ...]], list[float]]:
    """By number of processes, metric and call path; a value of each run."""
    values: dict[tuple[int, str, tuple[str, ...]], list[float]] = defaultdict(list)
    for line in path.read_text().splitlines():
        of = json.loads(line)
        values[of["params"]["p"], of["metric"], tuple(of["callpath"].split("->"))].append(of["value"])
    return values


def callgrind(path: Path) -> dict[str, float]:
    """Own wall time by function; costs of calls stand behind the line of the call."""
    names: dict[str, str] = {}
    times: Counter[str] = Counter()
    function, is_call = "", False
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"(c?)fn=\((\d+)\)(?: (.*))?", line):
            names.setdefault(match[2], match[3])
            if not match[1]:
                function = names[match[2]]
        elif line.startswith("calls="):
            is_call = True
        elif match := re.fullmatch(r"0 (\d+) \d+", line):
            if not is_call:
                times[function] += int(match[1])
            is_call = False
    return {of: ns * 1e-9 for of, ns in times.items()}


def check_nesting(slices: list[tuple[str, str]]) -> Counter[str]:
    """Begins ("B") and ends ("E") of one track in their order; how many slices there are of each name."""
    names: Counter[str] = Counter()
    open_slices: list[str] = []
    for phase, name in slices:
        if phase == "B":
            open_slices.append(name)
            names[name] += 1
        else:
            assert open_slices, f"an end without a begin: {name}"
            assert name in ("", open_slices.pop()), name
    assert not open_slices, open_slices
    return names


class Timeline:
    """Slices of threads by rank and name, iterations, and messages from rank to rank."""

    def __init__(self) -> None:
        self.slices: dict[int, Counter[str]] = defaultdict(Counter)
        self.iterations: Counter[str] = Counter()
        self.messages: Counter[tuple[int, int]] = Counter()


def chrome(path: Path) -> Timeline:
    timeline = Timeline()
    tracks: dict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    last: dict[tuple[int, int], float] = defaultdict(lambda: float("-inf"))
    sent: dict[int, int] = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        assert isinstance(event["name"], str) and event["ph"]
        track = event["pid"], event["tid"]
        if event["ph"] in "BE":
            assert event["ts"] >= last[track]
            last[track] = event["ts"]
            tracks[track].append((event["ph"], event["name"]))
        elif event["ph"] == "X":
            assert event["dur"] >= 0
            timeline.iterations[event["name"]] += 1
        elif event["ph"] == "s":
            sent[event["id"]] = event["pid"]
        elif event["ph"] == "f":
            timeline.messages[sent[event["id"]], event["pid"]] += 1
    for (rank, _), slices in tracks.items():
        timeline.slices[rank] += check_nesting(slices)
    return timeline


def paraver(path: Path) -> Timeline:
    """Names of values are in the .pcf beside it, places in the .row."""
    names: dict[int, dict[int, str]] = defaultdict(dict)
    types: list[int] = []
    section = ""
    for line in path.with_suffix(".pcf").read_text().splitlines():
        words = line.split(None, 2)
        if line in ("EVENT_TYPE", "STATES", "VALUES"):
            section = line
            types = [] if line == "EVENT_TYPE" else types
        elif section == "EVENT_TYPE" and len(words) == 3:
            types.append(int(words[1]))
        elif section == "VALUES" and len(line.split(None, 1)) == 2:
            value, name = line.split(None, 1)
            for of in types:
                names[of][int(value)] = name
    places = [line.removeprefix("RANK ").split(".") for line in path.with_suffix(".row").read_text().splitlines() if line.startswith("RANK ")]
    rank_of_task = list(dict.fromkeys(int(rank) for rank, _ in places))
    head, *lines = path.read_text().splitlines()
    match = re.fullmatch(r"#Paraver \(\d\d/\d\d/\d{4} at \d\d:\d\d\):(\d+)_ns:(\d+)\(([\d,]+)\):1:(\d+)\(([\d:,]+)\)", head)
    assert match, head
    assert sum(map(int, match[3].split(","))) == len(places) and int(match[4]) == len(rank_of_task) == len(match[5].split(","))
    timeline = Timeline()
    last = 0
    ends: dict[int, int] = defaultdict(int)
    for line in lines:
        fields_of = list(map(int, line.split(":")))
        assert last <= fields_of[5] <= int(match[1]), line
        last = fields_of[5]
        rank = rank_of_task[fields_of[3] - 1]
        if fields_of[0] == 1:
            assert ends[fields_of[1]] <= fields_of[5] < fields_of[6], f"states do not overlap: {line}"
            ends[fields_of[1]] = fields_of[6]
        elif fields_of[0] == 2 and fields_of[7] > 0:
            if fields_of[6] == 84210840:
                timeline.iterations[f"step {fields_of[7] - 1}"] += 1
            else:
                timeline.slices[rank][names[fields_of[6]][fields_of[7]]] += 1
        elif fields_of[0] == 3:
            assert fields_of[13] > 0, line
            timeline.messages[rank, rank_of_task[fields_of[9] - 1]] += 1
    return timeline


def perfetto(path: Path) -> Timeline:
    timeline = Timeline()
    names: dict[int, str] = {}
    parents: dict[int, int] = {}
    events: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    flows: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for packet in map(fields, fields(path.read_bytes())[1]):
        assert packet[10] == [1]
        if packet[60]:
            track = fields(packet[60][0])
            names[track[1][0]] = track[2][0].decode()
            parents[track[1][0]] = (track[5] or [0])[0]
            continue
        event = fields(packet[11][0])
        track_id, kind, name = event[11][0], event[9][0], (event[23] or [b""])[0].decode()
        assert track_id in names, "tracks are described before their events"
        if kind in (1, 2):
            events[track_id].append((packet[8][0], "BE"[kind - 1], name))
        for side, field in enumerate((47, 48)):
            for flow in event[field]:
                flows[flow][side] = parents[track_id]
    rank = {track: int(name.removeprefix("rank ")) for track, name in names.items() if parents[track] == 0}
    for track_id, of in events.items():
        # As trace_processor sorts them.
        slices = check_nesting([(phase, name) for _, phase, name in sorted(of, key=lambda event: event[0])])
        if names[track_id].startswith("iterations of "):
            timeline.iterations += slices
        else:
            timeline.slices[rank[parents[track_id]]] += slices
    for begin, end in flows.values():
        timeline.messages[rank[begin], rank[end]] += 1
    return timeline
