#!/usr/bin/env python3
"""Writes the MPI wrappers of one MPI library from functions.table and the prototypes in its mpi.h; or, from functions.table
alone, the table of functions for the offline half.

    generate.py --table functions.table --mpi NAME --preprocessed mpi.i --output DIRECTORY
    generate.py --table functions.table --output DIRECTORY

Prototypes come from mpi.h as the compiler sees it, meaning comes from the table; the two are joined by position. The build
ends with a message that names the function if a declared function has no row, or if a row has another number of parameters
or a parameter of a kind that its C type cannot have.

Written into DIRECTORY:
    regions.hpp, regions.cpp   region ids and facts about each, the same for every MPI: all rows of the table
    next.hpp, next.cpp         the next definition of each function: one pointer each, resolved at the first call
    wrappers_K.cpp             the wrappers, in `FILES` translation units of about equal size
    profiling_K.cpp            the wrappers of the PMPI_ names, which Fortran libraries call (fortran.hpp)
    fortran_symbols.inc        the spellings of every Fortran function (fortran_symbols.hpp)
    coverage.inc               every declared function, its class, and the reason if it is not wrapped
or
    mpi_functions.inc          every row of the table, for format/mpi_functions.cpp
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

FILES = 4
# The kind of request that the non-blocking functions of a class begin, unless their effect tells.
REQUEST_KINDS = {"collective": "Collective", "barrier": "Collective", "rma": "OneSided"}
# The effect of functions that begin and end MPI (lifecycle.hpp).
BY_HAND = "Written"
# Classes of functions whose order on a rank identifies messages, operations, communicators or windows; and effects in
# these classes that are exempt.
IN_ORDER = ("send", "receive", "sendrecv", "probe", "request", "request_start", "wait", "test", "barrier", "communicator", "window",
            "rma_sync")
NOT_IN_ORDER = ("-", "CommunicatorNamed", "WindowNamed", "AccessStarted", "AccessCompleted", "ExposurePosted", "ExposureAwaited",
                "ExposureTested", "WindowSynchronized", "TargetLocked", "TargetUnlocked", "TargetSynchronized")
# Words in the column WAITS for waiting that durations of calls do not show.
WITHOUT_DURATIONS = ("-", "others", "window", "job")
# The functions that make up most calls of most programs. Their wrappers are placed together, next to what they call
# (platform/hot.hpp). There are so few that they take three pages.
FREQUENT = {"MPI_" + name for name in (
    "Send Isend Ssend Recv Irecv Sendrecv Iprobe Test Testall Testany Testsome Wait Waitall Waitany Waitsome "
    "Barrier Bcast Reduce Allreduce Allgather Alltoall").split()}
# Results of these functions in a process without MPI. A library that can do without MPI calls them if their weak
# symbols are defined, as they are with a preloaded runtime.
WITHOUT_MPI = {"MPI_Initialized": "*flag = 0", "MPI_Finalized": "*flag = 0"}

# C types that a parameter of a kind may have, without const, stars and brackets.
C_TYPES = {
    "buffer": {"void"}, "pointer": {"void"}, "extra_state": {"void"}, "attribute": {"void"},
    "count": {"int", "MPI_Count"}, "displacement": {"int", "MPI_Count", "MPI_Aint"},
    "int": {"int", "MPI_Count", "MPI_Aint"},
    "rank": {"int"}, "tag": {"int"}, "index": {"int"}, "logical": {"int"}, "keyval": {"int"},
    "address": {"MPI_Aint", "MPI_Count"}, "offset": {"MPI_Offset"},
    "string": {"char"}, "strings": {"char"}, "string_lists": {"char"}, "arguments": {"char"},
    "status": {"MPI_Status"}, "comm": {"MPI_Comm"}, "group": {"MPI_Group"}, "datatype": {"MPI_Datatype"},
    "op": {"MPI_Op"},
    "request": {"MPI_Request"}, "message": {"MPI_Message"}, "errhandler": {"MPI_Errhandler"}, "info": {"MPI_Info"},
    "window": {"MPI_Win"}, "file": {"MPI_File"}, "session": {"MPI_Session"},
    "grequest_class": {"MPIX_Grequest_class"}, "function": None,  # any ..._function or ..._function_c
}


# The names of a Fortran function, by that of the C function without "_c": {mpi} is "mpi" or "mpix", {name} what
# follows. Fortran compilers add one or two underscores. The module mpi_f08 has functions of its own where they differ,
# with TS 29113 descriptors ("ts") and for the large counts of the C functions "_c". MPI's libraries also have the names
# that a compiler makes if told so: without underscores, in small or capital letters. These are not wrapped: C programs
# have variables of such names (mpi_comm_rank), and a library's accesses to its own variable would find our function.
# Calls by these names are recognised by the PMPI_ functions that MPI's library calls (fortran.hpp).
PLAIN_SPELLINGS = ("{mpi}_{name}_", "{mpi}_{name}__", "p{mpi}_{name}_", "p{mpi}_{name}__")
FORTRAN_SPELLINGS = {
    "openmpi": (*PLAIN_SPELLINGS, "{mpi}_{name}_f08_", "p{mpi}_{name}_f08_"),
    "mpich": (*PLAIN_SPELLINGS, "{mpi}_{name}_f08_", "{mpi}_{name}_f08ts_", "p{mpi}r_{name}_f08_", "p{mpi}r_{name}_f08ts_"),
}
LARGE_FORTRAN_SPELLINGS = {
    "openmpi": (),
    "mpich": ("{mpi}_{name}_f08_large_", "{mpi}_{name}_f08ts_large_", "p{mpi}r_{name}_f08_large_", "p{mpi}r_{name}_f08ts_large_"),
}
# Functions that return memory have a second form for TYPE(C_PTR).
FORTRAN_POINTER_FORMS = ("Alloc_mem", "Win_allocate", "Win_allocate_shared", "Win_shared_query")
OTHER_FORTRAN_SPELLINGS = {
    "openmpi": {"MPI_Buffer_detach": ("ompi_buffer_detach_f08", "pompi_buffer_detach_f08")},
    "mpich": {f"MPIX_{name}": (f"mpi_{name.lower()}_f08_", f"pmpir_{name.lower()}_f08_")
              for name in ("Delete_error_class", "Delete_error_code", "Delete_error_string")},
}


class Mismatch(Exception):
    """The table and mpi.h do not agree; the text names the function."""


@dataclass
class Parameter:
    name: str
    direction: str  # ":", ">" or "<>"
    kind: str
    length: str | None


@dataclass
class Row:
    name: str
    operation: str  # the class
    waits: str
    effect: str
    parameters: list[Parameter]


@dataclass
class Table:
    rows: list[Row] = field(default_factory=list)
    prefixes: list[Row] = field(default_factory=list)  # rows that end in '*'
    effects: dict[str, list[str]] = field(default_factory=dict)
    traffic: dict[str, list[str]] = field(default_factory=dict)  # shape of a collective operation, and "own_stays"
    reasons: dict[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Row | None:
        by_name = {row.name: row for row in self.rows}
        if name in by_name:
            return by_name[name]
        return next((row for row in self.prefixes if name.startswith(row.name)), None)


@dataclass
class Prototype:
    result: str
    parameters: list[str]  # C declarations without a name: "const int", "MPI_Request[]"


def names_of(pattern: str) -> list[str]:
    """The names that a row stands for: {A,B} is one of these, [_c] is "_c" or nothing."""
    match = re.search(r"\{([\w,]*)\}|\[_c\]", pattern)
    if not match:
        return [pattern]
    choices = ["", "_c"] if match[1] is None else match[1].split(",")
    return [name for choice in choices for name in names_of(pattern[:match.start()] + choice + pattern[match.end():])]


def forms_of(row: Row) -> list[Row]:
    """The forms of a collective operation. Preparing one may have to wait for other ranks, too."""
    name, large, _ = row.name.removeprefix("MPI_").partition("[_c]")
    request, info = Parameter("request", ">", "request", None), Parameter("info", ":", "info", None)
    begun = replace(row, name=f"MPI_I{name[0].lower()}{name[1:]}{large}", waits="-", parameters=[*row.parameters, request])
    prepared = replace(row, name=f"MPI_{name}_init{large}", waits="others", parameters=[*row.parameters, info, request])
    return [row, begun, prepared, replace(prepared, name=f"MPIX_{name}_init")]  # the last is Open MPI's, in mpi-ext.h


def parse_table(text: str) -> Table:
    table = Table()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if words[0] in ("effect", "traffic"):
            names, _, meaning = line.partition(":")
            for name in names.split()[1:]:
                (table.effects if words[0] == "effect" else table.traffic)[name] = meaning.split()
            continue
        if words[0] == "reason":
            table.reasons[words[1]] = " ".join(words[2:])
            continue
        if len(words) < 4:
            raise Mismatch(f"functions.table:{number}: a row needs a name, a class, what it waits for, and an effect")
        parameters = []
        for word in words[4:]:
            match = re.fullmatch(r"(\w+)(<>|>|:)(\w+)(?:\[([\w,*]+)\])?", word)
            if not match or match[3] not in C_TYPES:
                raise Mismatch(f"functions.table:{number}: {words[0]}: cannot read the parameter '{word}'")
            parameters.append(Parameter(*match.groups()))
        name, operation, waits, effect = words[:4]
        if operation == "unwrapped":
            if effect not in table.reasons:
                raise Mismatch(f"functions.table:{number}: {name}: '{effect}' is not a reason")
        elif effect in table.traffic:
            if "comm" not in {parameter.name for parameter in parameters}:
                raise Mismatch(f"functions.table:{number}: {name}: {effect} needs comm")
        elif effect not in ("-", BY_HAND):
            known = {parameter.name for parameter in parameters}
            missing = [want for want in table.effects.get(effect, ["(a known effect)"]) if want not in known]
            if missing:
                raise Mismatch(f"functions.table:{number}: {name}: {effect} needs {', '.join(missing)}")
        row = Row(name, operation, waits, effect, parameters)
        if name.endswith("*"):
            table.prefixes.append(replace(row, name=name[:-1]))
            continue
        for form in forms_of(row) if effect in table.traffic else [row]:
            for each in names_of(form.name):
                if any(known.name == each for known in table.rows):
                    raise Mismatch(f"functions.table:{number}: {each} has two rows")
                table.rows.append(replace(form, name=each))
    return table


def without_attributes(text: str) -> str:
    """Removes every __attribute__((...)), whose parentheses may nest."""
    kept = []
    while (match := re.search(r"__attribute__\s*\(", text)) is not None:
        kept.append(text[: match.start()])
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[end:]
    return "".join(kept) + text


def parse_prototypes(preprocessed: str) -> dict[str, Prototype]:
    text = "\n".join(line for line in preprocessed.splitlines() if not line.startswith("#"))
    text = re.sub(r"\s+", " ", without_attributes(text))
    prototypes = {}
    for declaration in text.split(";"):
        declaration = declaration.split("}")[-1].strip()
        match = re.fullmatch(r"(?!typedef)(?:extern )?([\w *]+?)\b(MPIX?_\w+) ?\((.*)\)", declaration)
        if not match:
            continue
        result, name, inside = match[1].strip(), match[2], match[3].strip()
        words = [] if inside in ("void", "") else [word.strip() for word in inside.split(",") if word.strip() != "..."]
        parameters = []
        for word in words:
            parts = re.fullmatch(r"(.*?[\s*])?(\w+)?((?:\s*\[\d*\])*)", word)
            before, last, brackets = (parts[1] or "").strip(), parts[2] or "", parts[3].replace(" ", "")
            unnamed = not before or before in ("const", "unsigned", "struct")
            parameters.append((f"{before} {last}".strip() if unnamed else before) + brackets)
        prototypes[name] = Prototype(result, parameters)
    return prototypes


def check(row: Row, prototype: Prototype) -> None:
    """Raises Mismatch unless the row describes this prototype."""
    if row.operation == "unwrapped":
        return
    if prototype.result != "int":
        raise Mismatch(f"{row.name} returns {prototype.result}: only functions that return int can be wrapped")
    if len(row.parameters) != len(prototype.parameters):
        raise Mismatch(
            f"{row.name} has {len(prototype.parameters)} parameters in mpi.h "
            f"and {len(row.parameters)} in functions.table")
    for parameter, c_type in zip(row.parameters, prototype.parameters):
        base = re.sub(r"\bconst\b|[*\[\]0-9]+(?!\w)", " ", c_type).strip()
        base = re.sub(r"\s+", " ", base)
        allowed = C_TYPES[parameter.kind]
        if parameter.name == "argc":
            allowed = {"int"}
        good = base in allowed if allowed is not None else "function" in base
        indirect = "*" in c_type or "[" in c_type
        if parameter.direction != ":" and not indirect:
            good = False
        if parameter.length and not indirect:
            good = False
        if not good:
            raise Mismatch(f"{row.name}: parameter '{parameter.name}' is '{c_type}' in mpi.h, "
                           f"which cannot be the '{parameter.direction}{parameter.kind}' of functions.table")


def declared(c_type: str, name: str) -> str:
    before, bracket, after = c_type.partition("[")
    return f"{before}{'' if before.endswith('*') else ' '}{name}{bracket}{after}"


def signature(row: Row, prototype: Prototype) -> str:
    pairs = zip(row.parameters, prototype.parameters)
    return ", ".join(declared(c_type, parameter.name) for parameter, c_type in pairs)


def arguments(row: Row) -> str:
    return ", ".join(parameter.name for parameter in row.parameters)


def collective(row: Row, table: Table) -> str:
    """The expression that makes the object of a collective operation (traffic.hpp)."""
    names = {parameter.name for parameter in row.parameters}

    def first(*wanted: str) -> str | None:
        return next((name for name in wanted if name in names), None)

    def pieces(side: str) -> str:
        counts, types = first(side + "counts", side + "count", "count"), first(side + "types", side + "type", "datatype")
        return f"Pieces{{{counts}, {types}}}" if counts and types else "Pieces{}"

    shape, *more = table.traffic[row.effect]
    buffer = first("recvbuf" if shape == "FromRoot" else "sendbuf")
    stays = "true" if more else f"in_place({buffer})" if buffer and shape != "Neighbors" else "false"
    root = "root" if "root" in names else "without_root"
    return f"Collective{{Shape::{shape}, {stays}, {pieces('send')}, {pieces('recv')}, {root}, comm}}"


def effect_of(row: Row, table: Table) -> str:
    """The expression that makes the effect object."""
    taken = table.effects.get(row.effect, [])
    is_collective = row.effect in table.traffic
    expression = (collective(row, table) if is_collective else
                  "Visited{}" if row.effect == "-" else f"{row.effect}{{{', '.join(taken)}}}")
    names = {parameter.name: parameter for parameter in row.parameters}
    begins = "request" in names and names["request"].direction == ">" and "request" not in taken
    if is_collective:
        if begins and "info" in names:
            return f"Prepared{{{expression}, request}}"
        expression = f"Counted{{{expression}}}"
    kind = next((kind for start, kind in REQUEST_KINDS.items() if row.operation.startswith(start)), "Generalized")
    return f"Begun{{{expression}, request, Kind::{kind}}}" if begins else expression


def wrapper(row: Row, prototype: Prototype, table: Table, name: str) -> str:
    """The wrapper of a function by its MPI_ or PMPI_ name."""
    call = f"next.{name}({arguments(row)})"
    pass_through = ("" if name == row.name else
                    f"  if (!is_call_of_program(region::{row.name}, __builtin_return_address(0))) return {call};\n")
    if row.effect == BY_HAND:
        body = f"  return call_lifecycle(region::{row.name}, calling_registers(), [&] {{ return {call}; }});\n"
    else:
        body = (f"  auto effect = {effect_of(row, table)};\n"
                f"  return measured(region::{row.name}, [&] {{ run_before(effect); }},\n"
                f"                  [&] {{ return {call}; }},\n"
                f"                  [&](MpiCall& call, int result) {{ effect.after(call, result); }});\n")
    return (
        f"{'REFRAIN_HOT_CODE_OF_WRAPPERS ' if name in FREQUENT else ''}"
        f"REFRAIN_EXPORT int {name}({signature(row, prototype) or 'void'}) {{\n"
        f"{pass_through}{body}}}\n")


HEAD = "// Generated by adapters/mpi/calls/generate.py from adapters/mpi/calls/functions.table and mpi.h.\n"
NAMESPACE = "namespace refrain::adapters::mpi {\n"
END = "}  // namespace refrain::adapters::mpi\n"


def regions_header(wrapped: list[Row]) -> str:
    ids = "".join(f"inline constexpr measurement::RegionId {row.name}{{{i}}};\n" for i, row in enumerate(wrapped))
    return (HEAD + '#pragma once\n#include "measurement/location.hpp"\n' + NAMESPACE +
            "/// Ids of the wrapped MPI functions, the same for every MPI.\nnamespace region {\n" + ids +
            f"}}  // namespace region\ninline constexpr unsigned region_count = {len(wrapped)};\n"
            "extern const char* const region_names[region_count];\n"
            "/// Whether their order on a rank identifies messages, operations, communicators or windows.\n"
            "extern const bool regions_in_order[region_count];\n"
            "/// Whether their durations show how long processes wait for each other.\n"
            "extern const bool regions_waited_in[region_count];\n" + END)


def is_in_order(row: Row) -> bool:
    return (row.operation in IN_ORDER or row.operation.startswith("collective")) and row.effect not in NOT_IN_ORDER


def regions_source(wrapped: list[Row]) -> str:
    names = "".join(f'    "{row.name}",\n' for row in wrapped)
    in_order = "".join(f"    {str(is_in_order(row)).lower()},\n" for row in wrapped)
    waited_in = "".join(f"    {str(row.waits not in WITHOUT_DURATIONS).lower()},\n" for row in wrapped)
    return (HEAD + '#include "regions.hpp"\n' + NAMESPACE + f"const char* const region_names[] = {{\n{names}}};\n" +
            f"const bool regions_in_order[] = {{\n{in_order}}};\n" +
            f"const bool regions_waited_in[] = {{\n{waited_in}}};\n" + END)


def next_header(functions: list[tuple[Row, Prototype]]) -> str:
    members = "".join(f"  Next<decltype(&::{row.name})> {name};\n" for row, _ in functions for name in (row.name, "P" + row.name))
    return (HEAD + '#pragma once\n#include "adapters/mpi/calls/next_call.hpp"\n#include "platform/hot.hpp"\n' + NAMESPACE +
            "/// The next definition of every function, after ours.\nstruct NextCalls {\n" + members +
            "};\nREFRAIN_OF_THIS_LIBRARY extern NextCalls next;\n" + END)


def next_source(functions: list[tuple[Row, Prototype]]) -> str:
    stubs, entries = [], []
    for row, prototype in functions:
        types = signature(row, prototype)
        for name in (row.name, "P" + row.name):
            missing = f'end_without_function("{name}")'
            if row.name in WITHOUT_MPI:
                missing = f"{{ {WITHOUT_MPI[row.name]}; return MPI_SUCCESS; }}"
            stubs.append(
                f"int first_{name}({types or 'void'}) {{\n"
                f'  if (!next.{name}.resolve("{name}")) {missing};\n'
                f"  return next.{name}({arguments(row)});\n}}\n")
            entries.append(f"    {{first_{name}}},\n")
    return (HEAD + '#include "adapters/mpi/missing.hpp"\n#include "next.hpp"\n' + NAMESPACE + "namespace {\n" +
            "".join(stubs) + "}  // namespace\n" +
            "constinit NextCalls next{\n" + "".join(entries) + "};\n" + END)


def wrappers_source(part: list[tuple[Row, Prototype]], table: Table, prefix: str) -> str:
    body = "".join("\n" + wrapper(row, prototype, table, prefix + row.name) for row, prototype in part)
    return (HEAD + '#include "adapters/mpi/calls/effects.hpp"\n#include "adapters/mpi/calls/fortran.hpp"\n'
            '#include "adapters/mpi/lifecycle.hpp"\n#include "measurement/mpi_call.hpp"\n#include "next.hpp"\n'
            '#include "platform/hot.hpp"\n#include "regions.hpp"\n\nusing namespace refrain::adapters::mpi;\nusing refrain::measurement::measured;\n'
            'using refrain::measurement::calling_registers;\n'
            'using refrain::measurement::MpiCall;\nusing refrain::events::Kind;\n\nextern "C" {\n' + body + '\n}  // extern "C"\n')


def fortran_names(mpi: str, name: str) -> list[str]:
    large = name.endswith("_c")
    prefix, _, rest = name.removesuffix("_c").partition("_")
    rests = [rest] + ([rest + "_cptr"] if rest in FORTRAN_POINTER_FORMS else [])
    spellings = (LARGE_FORTRAN_SPELLINGS if large else FORTRAN_SPELLINGS).get(mpi, ())
    found = [spelling.format(mpi=prefix.lower(), name=each.lower()) for each in rests for spelling in spellings]
    return found + list(OTHER_FORTRAN_SPELLINGS.get(mpi, {}).get(name, ()))


def fortran_words(row: Row) -> int:
    """The most words of arguments that a Fortran function has on the stack, rounded up to an even number: six arguments are
    in registers, IERROR comes last, then the lengths of its strings."""
    strings = sum(parameter.kind in ("string", "strings", "string_lists", "arguments") for parameter in row.parameters)
    return max(0, (len(row.parameters) + 1 + strings - 6 + 1) // 2 * 2)


def fortran_symbols(mpi: str, rows: list[Row]) -> str:
    """For all rows: a Fortran library may have functions that mpi.h no longer declares."""
    lines, offset = [], 0
    for row in rows:
        for name in fortran_names(mpi, row.name):
            lines.append(f'REFRAIN_FORTRAN_SYMBOL("{name}", {len(lines)}, {row.name}, {fortran_words(row)}, {offset})\n')
            offset += len(name) + 1
    return HEAD + "".join(lines)


def coverage(mpi: str, prototypes: dict[str, Prototype], table: Table) -> str:
    lines = []
    for name in sorted(prototypes):
        row = table.find(name)
        reason = table.reasons[row.effect] if row.operation == "unwrapped" else ""
        lines.append(f'{{"{mpi}", "{name}", "{row.operation}", "{reason}"}},\n')
    return HEAD + "".join(lines)


def form(row: Row) -> str:
    names = {parameter.name: parameter.direction for parameter in row.parameters}
    if names.get("request") != ">":
        return "Blocking"
    return "Persistent" if row.operation == "request" or "info" in names and row.operation.startswith(("collective", "barrier")) \
        else "NonBlocking"


def mpi_functions(table: Table) -> str:
    """Rows in the order of their names in small letters."""
    rows = [f'MPI_FUNCTION("{row.name}", {row.operation}, {form(row)}, {"nobody" if row.waits == "-" else row.waits}, '
            f'"{row.effect}")\n' for row in sorted(table.rows, key=lambda row: row.name.lower())]
    reasons = [f'MPI_REASON("{name}", "{text}")\n' for name, text in table.reasons.items()]
    return "// Generated by adapters/mpi/calls/generate.py from adapters/mpi/calls/functions.table.\n" + "".join(rows + reasons)


def write(path: Path, text: str) -> None:
    """Writes a file unless it is unchanged: its time stays, so nothing is compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--mpi")
    parser.add_argument("--preprocessed", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()

    try:
        table = parse_table(options.table.read_text())
        if options.mpi is None:
            options.output.mkdir(parents=True, exist_ok=True)
            write(options.output / "mpi_functions.inc", mpi_functions(table))
            return 0
        prototypes = parse_prototypes(options.preprocessed.read_text())
        if "MPI_Init" not in prototypes:
            raise Mismatch(f"{options.preprocessed} declares no MPI_Init: not a preprocessed mpi.h")
        missing = [name for name in sorted(prototypes) if table.find(name) is None]
        if missing:
            raise Mismatch("declared in mpi.h, but without a row in functions.table: " + ", ".join(missing))
        rows = [row for row in table.rows if row.operation != "unwrapped"]
        # MPI_Pcontrol has any number of arguments.
        functions = [(row, prototypes[row.name]) for row in rows if row.name in prototypes and row.operation != "control"]
        for row, prototype in functions:
            check(row, prototype)
    except Mismatch as error:
        print(f"generate.py: {options.mpi or 'functions.table'}: {error}", file=sys.stderr)
        return 1

    options.output.mkdir(parents=True, exist_ok=True)
    write(options.output / "regions.hpp", regions_header(rows))
    write(options.output / "regions.cpp", regions_source(rows))
    write(options.output / "next.hpp", next_header(functions))
    write(options.output / "next.cpp", next_source(functions))
    share = -(-len(functions) // FILES)
    for i in range(FILES):
        part = functions[i * share : (i + 1) * share]
        write(options.output / f"wrappers_{i}.cpp", wrappers_source(part, table, ""))
        write(options.output / f"profiling_{i}.cpp", wrappers_source(part, table, "P"))
    write(options.output / "fortran_symbols.inc", fortran_symbols(options.mpi, rows))
    write(options.output / "coverage.inc", coverage(options.mpi, prototypes, table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
