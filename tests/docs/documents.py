"""Every command that the documents show is run as it stands there, and what they show of its output is what comes out.

    documents.py               the quick documents and the rules
    documents.py --long        the others, which measure for minutes
    documents.py --update FILE measures, and writes the outputs that FILE shows into it; for a quiet machine

blocks.py says how documents are marked, compare.py what counts as the same.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "apps"))
from blocks import (DIAGRAM, SOURCE_LANGUAGES, Block, Command, blocks_of, document, hidden_commands,  # noqa: E402
                    marked_commands)
from compare import compare, has_tree, tree_lines  # noqa: E402
from refrain_testing import BUILD, SOURCE, clean_environment  # noqa: E402

LONG = {"docs/tutorial.md", "docs/iterations.md"}

# What is not run: document, the first words of a command or of a block that is no command, and why. One that fits nothing is an error.
NOT_RUN = [
    ("README.md", "scripts/demo", "installs packages, builds, and runs for minutes; it is run by hand"),
    ("README.md", "scripts/test", "it is what runs this"),
    ("README.md", "scripts/build", "builds the tree that is under test"),
    ("README.md", "cmake --install", "apps.tools_install runs it"),
    ("README.md", "srun", "there is no Slurm here; apps.tools_exec runs the same under other launchers"),
    ("README.md", "REFRAIN_ITERATION_AT=", "apps.iterations_programs runs it; LAMMPS takes long"),
    ("CONTRIBUTING.md", "scripts/", "builds and tests the tree that is under test"),
    ("docs/architecture.md", "wall =", "a formula"),
    ("docs/mpi.md", "MPI_Pcontrol(", "calls in C; apps.mpi_control makes them"),
    ("docs/iterations.md", "scripts/build", "builds the tree that is under test"),
    ("docs/iterations.md", "REFRAIN_ITERATION_AT=", "apps.iterations_programs runs it; LAMMPS takes long"),
    ("docs/tutorial.md", "scripts/build", "builds the tree that is under test"),
    ("docs/explorer.md", "refrain view", "apps.view runs it, where the build has the page"),
    ("README.md", "refrain view", "apps.view runs it, where the build has the page"),
]


def documents() -> list[str]:
    found = list(SOURCE.glob("*.md")) + list(SOURCE.glob("docs/*.md")) + list(SOURCE.glob("examples/**/*.md"))
    return sorted(str(path.relative_to(SOURCE)) for path in found)


def reason_not_to_run(name: str, text: str) -> tuple[str, str, str] | None:
    return next((row for row in NOT_RUN if row[0] == name and text.startswith(row[1])), None)


def is_shell(block: Block) -> bool:
    return block.language not in SOURCE_LANGUAGES | {DIAGRAM}


def commands_to_run(name: str, blocks: list[Block]) -> list[Command]:
    found: list[Command] = []
    for block in blocks:
        found += hidden_commands(block, "prepare")
        if "output" in block.marks and found:
            found[-1].output, found[-1].output_line = block.lines, block.line
        found += [command for command in marked_commands(block) or [] if not reason_not_to_run(name, command.text)]
        found += hidden_commands(block, "check")
    return found


class Session:
    """Runs the commands of one document in one shell, in a directory that looks like the root of the sources."""

    def __init__(self, timeout: float):
        self.timeout = timeout
        self.root = Path(tempfile.mkdtemp(prefix="refrain-documents-"))
        (self.root / "build").symlink_to(BUILD)
        for name in ("docs", "examples", "scripts", "tests"):
            (self.root / name).symlink_to(SOURCE / name)
        self.results = self.root / ".results"
        self.results.mkdir()

    def close(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, commands: list[Command]) -> list[tuple[str, str]]:
        """Standard output and standard error of each; the last one is the first that failed. What a document tells to export is not there before."""
        script = ["run() {", "  eval \"$2\" >.results/$1.out 2>.results/$1.err </dev/null || { echo $? >.results/$1.failed; exit 1; }", "}"]
        for number, command in enumerate(commands):
            script.append(f"run {number} {self.quoted(command.to_run())}")
            if has_tree(command.output):
                script.append(f"run {number}.unfolded {self.quoted(command.to_run() + ' --min-share 0')}")
        env = clean_environment({"COLUMNS": "150", "LC_ALL": "C.UTF-8", "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"})
        env.pop("OMP_WAIT_POLICY")
        exported = re.findall(r"\b(OMPI_\w+)=", " ".join(command.text for command in commands if command.text.startswith("export ")))
        for name in exported:
            env.pop(name, None)
        subprocess.run(["bash", "--norc", "-c", "\n".join(script)], cwd=self.root, env=env, timeout=self.timeout)
        results = []
        for number in range(len(commands)):
            if not (self.results / f"{number}.out").exists():
                break
            results.append(((self.results / f"{number}.out").read_text(), (self.results / f"{number}.err").read_text()))
        return results

    def failed(self, number: int) -> bool:
        return (self.results / f"{number}.failed").exists()

    def unfolded(self, number: int) -> list[str] | None:
        path = self.results / f"{number}.unfolded.out"
        return path.read_text().splitlines() if path.exists() else None

    @staticmethod
    def quoted(text: str) -> str:
        return "'" + text.replace("'", "'\\''") + "'"


def faults_of(name: str, timeout: float) -> list[str]:
    commands = commands_to_run(name, document(SOURCE / name))
    session = Session(timeout)
    try:
        results = session.run(commands)
        faults = []
        for number, (command, (out, err)) in enumerate(zip(commands, results)):
            where = f"{name}:{command.line}: {command.text}"
            if session.failed(number):
                faults.append(f"{where}\n  failed: {err or out}")
            elif command.output:
                faults += [f"{where}\n  {fault}\n--- output\n{out}"
                           for fault in compare(command.output, out.splitlines(), session.unfolded(number))]
        if len(results) < len(commands) and not faults:
            faults.append(f"{name}: only {len(results)} of {len(commands)} commands were run")
        return faults
    finally:
        session.close()


class Documents(unittest.TestCase):
    maxDiff = None

    def run_document(self, name: str, timeout: float) -> None:
        faults = faults_of(name, timeout)
        self.assertEqual([], faults, "\n".join(faults))


def add_test(name: str, timeout: float) -> None:
    def test(self: Documents) -> None:
        self.run_document(name, timeout)
    setattr(Documents, "test_" + re.sub(r"\W", "_", name), test)


class Blocks(unittest.TestCase):
    def test_every_block_is_run_or_is_in_the_table(self):
        used = set()
        for name in documents():
            for block in document(SOURCE / name):
                if not is_shell(block) or "output" in block.marks:
                    continue
                marked = marked_commands(block) is not None
                for command in block.commands:
                    row = reason_not_to_run(name, command.text)
                    used.add(row)
                    self.assertTrue(marked or row, f"{name}:{command.line}: neither marked nor in the table: {command.text}")
        self.assertEqual(set(), set(NOT_RUN) - used, "these fit nothing any more")

    def test_languages_are_known(self):
        for name in documents():
            for block in document(SOURCE / name):
                self.assertIn(block.language, SOURCE_LANGUAGES | {DIAGRAM, "sh", None}, f"{name}:{block.line}")

    def test_commands_within_sentences_exist(self):
        """They are not run, but their subcommands and options are those of the help."""
        def help_of(*words: str) -> str:
            return subprocess.run([BUILD / "bin/refrain", *words, "--help"], capture_output=True, text=True).stdout

        helps = {(): help_of()}
        seen = 0
        for name in documents():
            text = (SOURCE / name).read_text()
            for code in re.findall(r"`(refrain [^`]+)`", re.sub(r"(?ms)^```.*?^```|^    .*?$", "", text)):
                words, at = code.split()[1:], ()
                if "--" in words:
                    words = words[:words.index("--")]
                while words and re.search(rf"(?m)^  {re.escape(words[0])} ", helps[at].partition("Subcommands:")[2]):
                    at = (*at, words.pop(0))
                    helps.setdefault(at, help_of(*at))
                self.assertTrue(at or words[0].startswith(("--", "...")), f"{name}: {code}")
                for option in re.findall(r"(?<![\w-])--[a-z-]+", " ".join(words)):
                    self.assertRegex(helps[at], rf"(?m)^  (-\w,)?{option}\b", f"{name}: {code}")
                if at == ("report",) and "--metric" in words[:-1]:
                    metrics = " ".join(helps[at].partition("--metric")[2].partition("\n  --")[0].split())
                    self.assertRegex(metrics, rf"\b{words[words.index('--metric') + 1]}, ", f"{name}: {code}")
                seen += 1
        self.assertGreater(seen, 20)

    def test_commands_that_read_archives_are_named(self):
        text = (SOURCE / "docs/events.md").read_text().partition("## Archives of other tools")[2].partition("\n## ")[0]
        reads = set()
        for command in ("report", "events", "analyze", "export"):
            shown = subprocess.run([BUILD / "bin/refrain", command, "--help"], capture_output=True, text=True).stdout
            reads |= {command} if "OTF2 archive" in shown else set()
        self.assertEqual(reads, set(re.findall(r"`refrain (\w+)`", text)))

    def test_files_of_the_source_exist(self):
        """A name in capitals stands for many."""
        folders = "|".join(sorted(re.escape(path.name) for path in SOURCE.iterdir() if path.is_dir() and path.name[0] != "."))
        seen = 0
        for name in documents():
            for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", (SOURCE / name).read_text()):
                if not re.search(r"[A-Z]{4}", path):
                    self.assertTrue((SOURCE / path).exists(), f"{name}: {path}")
                    seen += 1
        self.assertGreater(seen, 50)

    def test_the_demo_shows_its_hot_spot_by_a_metric_in_which_it_is_seen(self):
        demo = (SOURCE / "scripts/demo").read_text()
        self.assertEqual(re.findall(r'report drift --iterations(.*)', demo), [" --metric %s\\n' $metric", " --metric $metric"])
        self.assertEqual(re.findall(r"\bmetric=(\w+)", demo), ["user", "cpu"])

    def test_marks_are_understood(self):
        for name in documents():
            text = (SOURCE / name).read_text()
            marks = [mark for block in document(SOURCE / name) for mark in block.marks]
            # page/test/browser/tutorial.test.mjs does what those for a browser say.
            self.assertEqual(len(re.findall(r"(?m)^<!-- (?!browser: )", text)), len(marks), f"{name}: a comment that is above no block")
            for mark in marks:
                self.assertRegex(mark, r"^(run( .*)?|output|(prepare|check): .*)$", name)

    def test_commands_and_outputs_are_found(self):
        blocks = blocks_of("Text\n\n<!-- prepare: touch x -->\n<!-- run a=b -->\n\n    $ cat a \\\n      x  # y\n    out 1\n\n    more\n    $ true\n\nText\n\n"
                           "    not marked\n\n<!-- run usage -->\n\n    app [--option N]   # all\n\n<!-- output -->\n\n    out 2\n")
        self.assertEqual([marked_commands(block) is None for block in blocks], [False, True, False, True])
        commands = commands_to_run("", blocks)
        self.assertEqual([command.to_run() for command in commands], ["touch x", "cat b \\\n  x  # y", "true", "app"])
        self.assertEqual([command.output for command in commands], [[], ["out 1", "", "more"], [], ["out 2"]])


TREE = """\
 incl %  excl %      time   MPI calls     bytes  call path
   90.0     5.0    9.00 s         100   1.0 MiB  main
   60.0    60.0    6.00 s         100   1.0 MiB  ├ exchange > MPI_Send
   25.0    25.0    2.50 s                        └ solve  [a.c:3]
    5.0     5.0    0.50 s                        (no sample)
"""


class Rules(unittest.TestCase):
    def same(self, expected: str, actual: str) -> bool:
        return compare(expected.splitlines(), actual.splitlines()) == []

    def test_times_may_differ_counts_may_not(self):
        self.assertTrue(self.same("took 1.23 s, 45.6 %, 7 calls", "took  99 ms, 3.0 %, 7 calls"))
        self.assertFalse(self.same("took 1.23 s, 7 calls", "took 1.23 s, 8 calls"))
        self.assertFalse(self.same("took 1.23 s", "took 1.23 KiB"))
        self.assertFalse(self.same("sum=1.25", "sum=1.26"))
        self.assertTrue(self.same("sum=...", "sum=1.26"))

    def test_lines_are_all_there_but_for_dots(self):
        self.assertFalse(self.same("a\nc", "a\nb\nc"))
        self.assertTrue(self.same("a\n...\nc", "a\nb\nb\nc"))
        self.assertTrue(self.same("a\n...", "a\nb"))
        self.assertFalse(self.same("a", "a\nb"))
        self.assertFalse(self.same("a\nb", "a"))

    def test_trees_are_compared_by_path(self):
        self.assertTrue(self.same(TREE, TREE))
        lines = TREE.splitlines()
        other_order = "\n".join(lines[:2] + ["   55.0    55.0    2.50 s                        ├ solve",
                                             "   30.0    10.0    6.00 s         100   1.0 MiB  └ exchange",
                                             "   20.0    20.0    6.00 s         100   1.0 MiB    └ MPI_Send"])
        self.assertTrue(self.same(TREE, other_order))
        self.assertFalse(self.same(TREE, TREE.replace("  100   1.0 MiB  ├ exchange", "  101   1.0 MiB  ├ exchange")))
        self.assertFalse(self.same(TREE, TREE.replace("1.0 MiB  ├ exchange", "2.0 MiB  ├ exchange")))
        self.assertFalse(self.same(TREE, TREE.replace("MPI_Send", "MPI_Recv")))
        self.assertFalse(self.same(TREE, TREE.replace("solve", "other")))
        self.assertFalse(self.same(TREE.replace(lines[3] + "\n", ""), TREE), "a large path that is not shown")
        self.assertTrue(self.same(TREE, TREE.replace(lines[4] + "\n", "")), "pseudo paths come and go")
        for remark in ("  [4 visits, 17.5 s]", "  [4 visits, 17.5 s, 1.48 s w…"):
            self.assertTrue(self.same(TREE, TREE.replace(lines[2], lines[2] + remark)), "what a line has in brackets may be cut")
        moved = TREE.replace("├ exchange", "└ exchange").replace("└ solve", "  └ solve")
        self.assertFalse(self.same(TREE, moved), "below another path")


def update(name: str) -> None:
    """Writes the outputs that a document shows anew: call trees, and outputs of which nothing is left out."""
    path = SOURCE / name
    commands = commands_to_run(name, document(path))
    session = Session(3600)
    try:
        results = session.run(commands)
    finally:
        session.close()
    lines = path.read_text().split("\n")
    for command, (out, _) in reversed(list(zip(commands, results))):
        shown, real = command.output, out.rstrip("\n").splitlines()
        first = command.output_line - 1
        if has_tree(shown):
            begin, size = tree_lines(shown)
            there, there_size = tree_lines(real)
            first, real = first + begin, real[there:there + there_size]
        elif shown and not any("..." in line or "…" in line for line in shown):
            size = len(shown)
        else:
            continue
        lines[first:first + size] = [f"    {line}".rstrip() for line in real]
    path.write_text("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--update"]:
        update(sys.argv[2])
        sys.exit(0)
    long = "--long" in sys.argv
    if long:
        sys.argv.remove("--long")
        del Blocks, Rules
    for one in documents():
        if (one in LONG) == long:
            add_test(one, 1800 if long else 240)
    unittest.main()
