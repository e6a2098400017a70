"""Finds the shell commands of a Markdown document, and the outputs that it shows.

A block is indented by four spaces or stands between fences. Comments directly above it, which readers do not see, say what to do with it:

    <!-- run -->                        its commands run, in the order of the document, all in one shell
    <!-- run OLD=NEW ... -->            ... with these words of the text replaced; quotes as in a shell
    <!-- run usage -->                  ... what stands in [brackets] is left out
    <!-- prepare: COMMAND -->           runs before the block; readers are told in words, or it only stands in for their program
    <!-- check: COMMAND -->             runs after the block; fails when what the text says about the results is not so
    <!-- output -->                     the block shows the output of the command before it

In a block with lines that begin with "$ " these are the commands, and what follows each is its output, compare.py has the rule. In other
blocks each line is a command, without what stands behind two spaces and "#". A line that ends with a backslash goes on.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

SOURCE_LANGUAGES = {"c", "cpp", "fortran", "cmake", "python"}  # other tests or the document itself compile or run them
DIAGRAM = ""  # a fence without a language


@dataclass
class Command:
    line: int                   # in the document, from 1
    text: str                   # as it is shown
    output: list[str] = field(default_factory=list)
    output_line: int = 0        # of its first line
    replaced: dict[str, str] = field(default_factory=dict)
    usage: bool = False

    def to_run(self) -> str:
        text = re.sub(r"\s*\[[^]]*\]", "", self.text) if self.usage else self.text
        for old, new in self.replaced.items():
            text = re.sub(rf"(?<![\w./-]){re.escape(old)}(?![\w/-])", lambda _: new, text)
        return text


@dataclass
class Block:
    line: int
    lines: list[str]
    marks: list[str]            # texts of the comments above it
    language: str | None        # of a fence; None: indented

    @property
    def commands(self) -> list[Command]:
        found: list[Command] = []
        dollars = any(line.startswith("$ ") for line in self.lines)
        going_on = False
        for number, line in enumerate(self.lines, self.line):
            if going_on:
                found[-1].text += "\n" + line
            elif dollars and not line.startswith("$ "):
                if found:
                    found[-1].output_line = found[-1].output_line or number
                    found[-1].output.append(line)
                continue
            elif line.strip():
                text = line.removeprefix("$ ")
                found.append(Command(number, text if dollars else re.sub(r"\s{2,}#.*", "", text)))
            going_on = line.endswith("\\")
        return found


def blocks_of(text: str) -> list[Block]:
    lines = text.split("\n")
    found: list[Block] = []
    marks: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if comment := re.fullmatch(r"<!-- (.*) -->", line):
            marks.append(comment[1])
        elif line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            found.append(Block(at + 2, lines[at + 1:end], marks, line[3:]))
            marks, at = [], end
        elif line.startswith("    ") and (at == 0 or not lines[at - 1].strip() or lines[at - 1].startswith("<!--")):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            shown = [shown_line[4:] for shown_line in lines[at:end]]
            while not shown[-1].strip():
                shown.pop()
            found.append(Block(at + 1, shown, marks, None))
            marks, at = [], end - 1
        elif line.strip():
            marks = []
        at += 1
    return found


def hidden_commands(block: Block, kind: str) -> list[Command]:
    """`kind` is prepare or check."""
    return [Command(block.line, mark.removeprefix(f"{kind}: ")) for mark in block.marks if mark.startswith(f"{kind}: ")]


def marked_commands(block: Block) -> list[Command] | None:
    """What is to be run of a block; None when it is not marked."""
    run = [mark for mark in block.marks if mark == "run" or mark.startswith("run ")]
    if not run:
        return None
    words = shlex.split(run[0])[1:]
    commands = block.commands
    for command in commands:
        command.usage = "usage" in words
        command.replaced = dict(word.split("=", 1) for word in words if "=" in word)
    return commands


def document(path: Path) -> list[Block]:
    return blocks_of(path.read_text())
