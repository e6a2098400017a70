"""Tables from columns: data frames of pandas where it is installed, else lists of dictionaries.

Columns of numbers are taken without a copy where numpy is there.
"""

from __future__ import annotations

import importlib
from typing import Any, Iterable, Mapping, Sequence

Table = Any  # pandas.DataFrame or list[dict[str, Any]]


def module(name: str) -> Any:
    """An optional module, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def table(columns: Mapping[str, Any]) -> Table:
    """Columns of one length as a table."""
    pandas = module("pandas")
    if pandas is None:
        names = list(columns)
        return [dict(zip(names, row)) for row in zip(*columns.values())]
    numpy = module("numpy")
    # One frame of arrays that stay what they are: pandas would put numbers of one type together.
    return pandas.DataFrame({name: column if isinstance(column, list) else numpy.asarray(column) for name, column in columns.items()}, copy=False)


def table_of_rows(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Documents as a table: members of objects get names with points, as in additive.load_balance."""
    flat = [dict(_members(row, "")) for row in rows]
    pandas = module("pandas")
    return flat if pandas is None else pandas.DataFrame(flat)


def _members(row: Mapping[str, Any], above: str) -> Iterable[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _members(value, f"{above}{name}.")
        else:
            yield above + name, value


def pick(values: Sequence[Any], places: Any) -> Any:
    """The values at these places, without a loop where numpy is there."""
    numpy = module("numpy")
    if numpy is None or module("pandas") is None:
        return [values[place] for place in places]
    all_values = numpy.empty(len(values), dtype=object)
    all_values[:] = values
    return all_values[numpy.asarray(places)]


def pick_numbers(values: Sequence[int], places: Any) -> Any:
    """The same of whole numbers."""
    numpy = module("numpy")
    if numpy is None or module("pandas") is None:
        return [values[place] for place in places]
    return numpy.asarray(values, dtype=numpy.int64)[numpy.asarray(places)]
