"""The export of 20 million events: python3-otf2 opens it and counts as many; time and memory of the export are printed, and the
memory does not grow with the events."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

from events import MPIS, EventsTest, launched
from refrain_testing import REFRAIN, clean_environment, python_with_otf2

MESSAGES = 3_400_000  # of two ranks; each is entered, left, and sent or received on one of them
MEGABYTE = 1 << 20

# Events of one location, by kind.
COUNT = """
import collections, gc, json, sys
import otf2
gc.disable()  # there are no cycles to be found, and it takes as long as the reading
counts = collections.Counter()
with otf2.reader.open(sys.argv[1], batch_events=10000) as trace:
    location = list(trace.definitions.locations)[int(sys.argv[2])]
    for _, event in trace.events([location]):
        counts[type(event).__name__] += 1
print(json.dumps(counts))
"""


PYTHON = python_with_otf2()


class Many(EventsTest):
    def export(self, experiment: Path, directory: Path) -> tuple[int, float, int]:
        """Events that were written, seconds, and the most bytes that were resident."""
        begin = time.monotonic()
        with subprocess.Popen([REFRAIN, "export", experiment, "-o", directory], env=clean_environment(), text=True,
                              stdout=subprocess.PIPE) as running:
            said = running.stdout.read()
            _, status, usage = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, running.returncode)
        return int(re.search(r": (\d+) events of 2 locations", said)[1]), time.monotonic() - begin, usage.ru_maxrss * 1024

    def traced_many(self, messages: int) -> Path:
        outcome = self.measured(launched(MPIS[0], 2, "events_many", messages), {"REFRAIN_TRACE": "all"}, timeout=300)
        self.assertEqual(0, outcome.code, outcome.stderr)
        return outcome.experiment

    @unittest.skipIf(PYTHON is None, "python3-otf2 is not there")
    def test_twenty_million_events(self) -> None:
        few, _, memory_of_few = self.export(self.traced_many(MESSAGES // 10), self.directory / "few")
        experiment, archive = self.traced_many(MESSAGES), self.directory / "many"
        many, seconds, memory_of_many = self.export(experiment, archive)
        print(f"{many} events exported in {seconds:.1f} s ({many / seconds / 1e6:.1f} million per second), at most "
              f"{memory_of_many / MEGABYTE:.0f} MiB; of {few} events {memory_of_few / MEGABYTE:.0f} MiB")
        self.assertGreater(many, 20_000_000)
        self.assertLess(few, many / 9)
        self.assertLess(memory_of_many, memory_of_few + 8 * MEGABYTE)
        begin = time.monotonic()
        counts: Counter[str] = Counter()
        readers = [subprocess.Popen([PYTHON, "-c", COUNT, archive / "traces.otf2", str(location)], stdout=subprocess.PIPE, text=True)
                   for location in (0, 1)]
        for reader in readers:
            counts.update(json.loads(reader.communicate(timeout=3000)[0]))
            self.assertEqual(0, reader.returncode)
        print(f"python3-otf2 has counted them in {time.monotonic() - begin:.0f} s")
        self.assertEqual(many, sum(counts.values()))
        self.assertEqual((MESSAGES, MESSAGES), (counts["MpiSend"], counts["MpiRecv"]))
        self.assertEqual(counts["Enter"], counts["Leave"])
        # A call is one record, and has two events; the others have one each, or, as the end of a thread, none.
        records = sum(rank["events"] for rank in self.summary(experiment)["by_rank"])
        self.assertAlmostEqual(records, many - counts["Enter"], delta=20)
        shutil.rmtree(archive)


if __name__ == "__main__":
    unittest.main()
