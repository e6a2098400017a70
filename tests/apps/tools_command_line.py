"""The command line of `refrain` itself: its help, its error lines, its manual pages and the shell's completion, all of which
follow one description."""

from __future__ import annotations

import re
import subprocess
import unittest
from functools import lru_cache

from refrain_testing import REFRAIN, SOURCE
from tools_exec import ToolsTest


@lru_cache(maxsize=None)
def help_of(*command: str) -> str:
    return subprocess.run([str(REFRAIN), *command, "--help"], capture_output=True, text=True, check=True).stdout


def section(text: str, name: str) -> list[str]:
    """First columns of a section of a help."""
    found = re.search(rf"^{name}:\n((?:  .*\n)+)", text, re.MULTILINE)
    return [line.strip() for line in found[1].splitlines() if re.match(r"  \S", line)] if found else []


def subcommands(*command: str) -> list[str]:
    return [line.split()[0] for line in section(help_of(*command), "Subcommands")]


def options(*command: str) -> dict[str, str]:
    """Long name of every option of a help: its type, "" for a flag."""
    found = {}
    for line in section(help_of(*command), "Options"):
        name = re.match(r"(?:-\w,)?(--[a-z-]+)(?: (\S+))?(?:  |$)", line)
        assert name, line
        found[name[1]] = name[2] or ""
    return found


def commands() -> list[tuple[str, ...]]:
    """Every command with everything below it."""
    found, open_ = [], [()]
    while open_:
        at = open_.pop()
        found.append(at)
        open_ += [(*at, name) for name in subcommands(*at)]
    return found


class WrongWords(ToolsTest):
    def one_line(self, *words: str) -> str:
        done = self.start(REFRAIN, *words)
        self.assertEqual((done.returncode, done.stdout), (1, ""), words)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stderr.rstrip("\n")

    def test_a_wrong_command_is_named_with_the_near_one(self):
        for words, wrong, near in ((("reprot", "x"), "reprot", "near it: report"), (("help",), "help", "near it: --help"),
                                   (("info", "confg"), "confg", "near it: config"), (("xyzzy",), "xyzzy", "")):
            line = self.one_line(*words)
            self.assertIn(f"there is no command {wrong}", line)
            self.assertIn(near, line)
            self.assertIn("--help)", line)
        self.assertNotIn("near it", self.one_line("xyzzy"))

    def test_a_wrong_option_is_named_with_the_near_one(self):
        self.assertIn("no option --itertions; near it: --iterations", self.one_line("report", "x", "--itertions"))
        self.assertIn("no option --versoin; near it: --version", self.one_line("--versoin"))
        self.assertIn("no option --formt=json; near it: --format", self.one_line("report", "x", "--formt=json"))

    def test_a_command_without_dashes_in_front_is_not_turned_round(self):
        for command in ("run", "exec"):
            line = self.one_line(command, "-n", "4", "./mini", "3")
            self.assertIn("no option -n; the command to measure stands behind --", line)
            self.assertNotIn("3 ./mini", line)

    def test_what_is_missing_is_listed(self):
        self.assertIn("one of config, mpi, names, metrics, version, build", self.one_line("info"))
        self.assertIn("one of run, exec, report,", self.one_line())
        self.assertIn("experiment is required", self.one_line("check"))

    def test_wrong_values_say_what_is_allowed(self):
        self.assertIn("--format: xml is none of text, json, csv", self.one_line("report", "x", "--format", "xml"))
        self.assertIn("--min-share: 200 is not a number from 0 to 100", self.one_line("report", "x", "--min-share", "200"))
        self.assertIn("--callpath-depth: 1x is not a number from 1 to", self.one_line("report", "x", "--callpath-depth", "1x"))


class Help(ToolsTest):
    def test_nothing_is_shown_that_only_the_parser_understands(self):
        for command in commands():
            text = help_of(*command)
            for raw in ("TEXT", "INT", "FLOAT", "UINT", "REQUIRED", "{", "Needs:", "Excludes:", " in ["):
                self.assertNotIn(raw, text, command)

    def test_all_metrics_of_iterations_are_listed(self):
        text = " ".join(help_of("report").split())
        for name in ("wall", "mpi", "user", "cpu", "off_cpu", "waited_for_core", "blocked", "off_cpu_mpi", "refrain", "mpi_calls", "messages_sent", "bytes_sent", "messages_received",
                     "bytes_received", "messages_completed", "bytes_completed", "bytes_read", "bytes_written", "samples",
                     "samples_mpi", "ticks_without_sample"):
            self.assertRegex(text, rf"--metric NAME With --iterations:[^.]*\b{name}, ")
        self.assertIn("or one of REFRAIN_METRICS", text)

    def test_metrics_that_are_listed_for_a_view_are_those_that_it_accepts(self):
        text = " ".join(help_of("report").split())
        for view, more in (("--iterations", ("--loop", "timestep")), ("--iterations --callpath", ("MPI_Send", "--loop", "timestep")),
                           ("--locations", ())):
            listed = text.partition(f"ith {view}: ")[2].partition(", or one of REFRAIN_METRICS")[0].split(", ")
            self.assertGreater(len(listed), 5, view)
            for metric in ("cpu", "not_on_cpu", "waited_for_core", "blocked", "mpi_point_to_point", *listed):
                done = self.start(REFRAIN, "report", SOURCE / "tests/golden/profile-1.10", *view.split(), *more, "--metric", metric,
                                  "--format", "csv")
                self.assertEqual(done.returncode == 0, metric in listed, f"{view} --metric {metric}: {done.stderr}")

    def test_exit_codes_are_in_the_first_manual_page_and_the_help(self):
        codes = re.findall(r"constexpr int \w+ = (\d+);", (SOURCE / "tools/exit_codes.hpp").read_text())
        self.assertIn("4", codes)
        help_text = help_of().partition("Exit codes:")[2].partition("refrain run")[0]
        page = (SOURCE / "docs/man/refrain.1").read_text().partition(".SH EXIT STATUS")[2].partition(".SH ENVIRONMENT")[0]
        for code in codes:
            self.assertRegex(help_text, rf"\b{code}\b")
            self.assertRegex(page, rf"(?m)^\.BR? .*\b{code}\b")

    def test_values_of_choices_and_defaults_are_shown(self):
        self.assertEqual(options("report")["--format"], "text|json|csv|markdown")
        self.assertIn("(default: text)", help_of("report"))
        self.assertEqual(options("report")["--flat"], "")

    def test_every_command_has_a_manual_page_with_all_its_options(self):
        for command in subcommands():
            if command == "completion":
                continue  # a paragraph of refrain(1)
            page = (SOURCE / f"docs/man/refrain-{command}.1").read_text().replace("\\", "")
            wanted = {option for at in commands() if at[:1] == (command,) for option in options(*at)}
            self.assertEqual(set(), {option for option in wanted - {"--help"} if option not in page}, command)
            for below in subcommands(command):
                self.assertRegex(page, rf"(?m)^\.B {below}$")

    def test_the_first_manual_page_has_every_command(self):
        page = (SOURCE / "docs/man/refrain.1").read_text().replace("\\", "")
        synopsis = page.split(".SH DESCRIPTION")[0]
        for command in subcommands():
            self.assertRegex(synopsis, rf"refrain {command}\b")
        for below in subcommands("info"):
            self.assertRegex(synopsis, rf"(?m)^\.B (refrain info )?{below}$")


class Completion(ToolsTest):
    """The generated script in a real bash."""

    def offered(self, *words: str) -> list[str]:
        """What bash offers for the last of these words."""
        script = f"""source <({REFRAIN} completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _refrain; printf '%s\\n' "${{COMPREPLY[@]}}"\n"""
        done = self.start("bash", "--norc", "-c", script, "bash", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return [word for word in done.stdout.splitlines() if word]

    def test_it_offers_what_the_help_lists(self):
        for command in commands():
            self.assertEqual(set(self.offered("refrain", *command, "-")), set(options(*command)), command)
            if subcommands(*command):
                self.assertEqual(self.offered("refrain", *command, ""), subcommands(*command))

    def test_it_offers_the_values_of_every_choice(self):
        tried = 0
        for command in commands():
            for option, kind in options(*command).items():
                if "|" in kind:
                    tried += 1
                    for words in ((option, ""), (option, "="), (option, "=", "")):
                        self.assertEqual(self.offered("refrain", *command, *words), kind.split("|"), (command, words))
        self.assertGreaterEqual(tried, 4)
        self.assertEqual(self.offered("refrain", "report", "exp", "--metric", "bytes_s"), ["bytes_sent"])
        self.assertEqual(self.offered("refrain", "report", "exp", "--rank", ""), [])
        self.assertEqual(self.offered("refrain-export", "--regions", "call"), ["callpath"])

    def test_it_offers_directories_files_and_commands_where_they_belong(self):
        (self.directory / "exp-1").mkdir()
        self.file("exp.txt", "")
        self.assertEqual(self.offered("refrain", "report", "exp"), ["exp-1"])
        self.assertEqual(sorted(self.offered("refrain", "report", "exp-1", "-o", "exp")), ["exp-1", "exp.txt"])
        self.assertEqual(sorted(self.offered("refrain", "doctor", "exp")), ["exp-1", "exp.txt"])
        self.assertIn("mpirun.openmpi", self.offered("refrain", "run", "--", "mpirun.open"))
        self.assertEqual(self.offered("refrain", "run", "--", "env", "exp.t"), ["exp.txt"])
        self.assertEqual(self.offered("refrain", "run", "--", "./app", "--for"), [])


if __name__ == "__main__":
    unittest.main()
