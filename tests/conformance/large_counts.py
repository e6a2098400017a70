#!/usr/bin/env python3
"""Writes a header that calls every function of functions.table that has one by its form with large counts.

    large_counts.py functions.table HEADER

The form must be declared by mpi.h, so this is for an MPI that has all of them (MPI 4).
"""

import sys
from pathlib import Path

table, header = map(Path, sys.argv[1:])
sys.path.insert(0, str(table.parent))
from generate import parse_table  # noqa: E402: it lies beside the table

parameters = {row.name: row.parameters for row in parse_table(table.read_text()).rows}
names = [name for name, own in parameters.items() if parameters.get(name + "_c") == own]
names = [name for name in names if name not in ("MPI_Register_datarep", "MPI_Op_create")]  # other callbacks
header.write_text("#pragma once\n" + "".join(f"#define {name} {name}_c\n" for name in names))
