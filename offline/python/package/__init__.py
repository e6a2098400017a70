"""Refrain measures long-running MPI programs; this package reads what it has measured.

    import refrain
    run = refrain.open("experiment")
    run.table("callpaths", by="rank", metrics=["wall", "mpi"])

Tables are data frames where pandas is installed, else lists of dictionaries. Events are in refrain.trace, patterns of
your own in refrain.patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    from .run import Node, ReadError, Run, UsageError

__all__ = ["Node", "ReadError", "Run", "UsageError", "open"]


def open(path: str | os.PathLike[str]) -> Run:
    """An experiment, a directory or what `refrain pack` has made of it, as a Run. Raises ReadError, which is an OSError."""
    from .run import Run

    return Run(path)


def __getattr__(name: str) -> Any:
    # Loaded when they are needed: refrain.trace and refrain.patterns do without.
    if name in __all__:
        from . import run

        return getattr(run, name)
    raise AttributeError(f"module 'refrain' has no attribute {name!r}")
