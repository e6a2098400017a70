"""What the tests of the MPI adapter share: the environment of their runs, and counting what does not hold."""

from __future__ import annotations

import os
import sys
from typing import Any

ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader",
}


class Checks:
    """Counts and prints, so that one run shows everything that is wrong."""

    def __init__(self, name: str):
        self.name = name
        self.failures = 0

    def expect(self, good: bool, what: str) -> None:
        if not good:
            self.failures += 1
            print(f"{self.name}: {what}", file=sys.stderr)


def identities(rank: int, communicators: list[dict[str, Any]]) -> dict[int, tuple[Any, ...]]:
    """Of a rank's communicators, by id: what all members of one agree on, and of no other. Parents come first."""
    known: dict[int, tuple[Any, ...]] = {}
    for c in communicators:
        if c["id"] == 1:
            known[1] = ("self", c["ordinal"], rank)
        else:
            known[c["id"]] = (None if c["parent"] < 0 else known[c["parent"]], c["ordinal"], c["leader"])
    return known
