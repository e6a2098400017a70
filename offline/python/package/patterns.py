"""Patterns of `refrain analyze` that are written in Python: subclasses of Pattern in a module that --plugin names."""

from __future__ import annotations

from typing import Any


class Pattern:
    """A pattern of inefficiency.

    A method `TYPE_callback` gets every event of that type (refrain.trace): enter, exit, send, recv, ... . One whose type is
    that of a compound event gets that: call, receiving, sending, late_sender, late_receiver, collective,
    window_wait, idle_threads. Each event is a dictionary.
    """

    name = ""  # that of the class, in small letters with underscores, unless it is set
    parent = "mpi"  # the pattern of which this one is a part
    title = ""

    trace: Any  # refrain.trace.EventTrace of the events that are searched
    settings: dict[str, str]  # --set NAME=VALUE

    def add(self, event: dict[str, Any], seconds: float = 0, *, ns: int | None = None) -> None:
        """So much of the time, seconds or nanoseconds, at the event's call path and location. Of a compound event never
        more than its call."""
        self._add(event, round(seconds * 1e9) if ns is None else ns)

    def wrapup(self) -> None:
        """After the last event."""

    def confidence(self) -> float:
        """From 0, it says nothing, to 1."""
        return 1

    def severity(self) -> float | None:
        """In seconds; None: what was added."""
        return None

    def results(self) -> list[str]:
        """What there is to say beside the severity."""
        return []

    _add: Any
