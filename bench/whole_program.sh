#!/bin/bash
# The figures of whole programs: see whole_program.py.
exec python3 "$(dirname "$0")/whole_program.py" "${1:-build}"
