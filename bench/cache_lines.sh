#!/bin/bash
# Counts the cache lines that a call, a sample and the end of an iteration touch: see cache_lines.py.
exec python3 "$(dirname "$0")/cache_lines.py" "${1:-build}"
