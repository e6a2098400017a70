#!/usr/bin/env python3
"""Writes an independent PMPI counter from a preprocessed mpi.h: one wrapper per function, which counts outermost calls.

    mpi_counter.py mpi.i counter.c

Knows nothing of Refrain's table. The counter writes "function visits" lines to COUNTER_FILE.<rank> at MPI_Finalize.
"""

import re
import sys

SKIPPED = re.compile(r"MPI_T_|.*_(c2f|f2c|c2f08|f082c|f2f08|f082f)$|"
                     r"MPI_(Wtime|Wtick|Pcontrol|Finalize|Aint_add|Aint_diff)$")

text = re.sub(r"(?m)^#.*$", "", open(sys.argv[1]).read())
text = re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)", "", text)
functions = {}
for name, parameters in re.findall(r"\bint\s+(MPIX?_\w+)\s*\(([^;{}]*?)\)\s*;", text):
    if not SKIPPED.match(name):
        functions[name] = re.sub(r"\s+", " ", parameters).strip()

with open(sys.argv[2], "w") as out:
    out.write("#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n")
    out.write(f"static long long visits[{len(functions) + 2}];\nstatic __thread int depth;\n")
    out.write("static const char* const names[] = {" + ", ".join(f'"{name}"' for name in functions) + "};\n")
    for i, (name, parameters) in enumerate(functions.items()):
        declared, passed = [], []
        for k, parameter in enumerate([] if parameters in ("", "void") else parameters.split(",")):
            parts = re.match(r"(.*?)(\w+)\s*((?:\[\d*\])*)\s*$", parameter.strip())
            declared.append(f"{parts[1]} p{k}{parts[3]}")
            passed.append(f"p{k}")
        out.write(f"int {name}({', '.join(declared) or 'void'}) {{ if (!depth++) visits[{i}]++; "
                  f"int r = P{name}({', '.join(passed)}); depth--; return r; }}\n")
    out.write(f"""
int MPI_Pcontrol(const int level, ...) {{ visits[{len(functions)}] += !depth; return PMPI_Pcontrol(level); }}
int MPI_Finalize(void) {{
  int rank;
  char path[4096];
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d", getenv("COUNTER_FILE"), rank);
  FILE* file = fopen(path, "w");
  for (int i = 0; i < {len(functions)}; ++i)
    if (visits[i]) fprintf(file, "%s %lld\\n", names[i], visits[i]);
  if (visits[{len(functions)}]) fprintf(file, "MPI_Pcontrol %lld\\n", visits[{len(functions)}]);
  fprintf(file, "MPI_Finalize 1\\n");
  fclose(file);
  return PMPI_Finalize();
}}
""")
