"""The explorer in real browsers: page/test/browser, with pages of experiments that are made here. Without npm's packages, or
without a browser, its tests are skipped by name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from refrain_testing import BUILD, EXAMPLES, PROGRAMS, REFRAIN, SOURCE, TestCase, clean_environment, mpirun

BROWSERS = {"chrome": shutil.which("chromium") or shutil.which("google-chrome"), "firefox": shutil.which("firefox-esr") or shutil.which("firefox")}
# Names that could end a script, a line, a cell of a table or a comment, turn the direction of text, or be a formula.
HOSTILE = ["</script><img src=x onerror='window.ran=1'>", "\u2028\u2029<!--<script>]]>", "a\x00b\x1b[31m\r\n\tc", "\u202eabc\u2066\ufffe", "=1+1,\"x\"", "x" * 10_000,
           "${1} $& \\u003c &lt; %3Cb%3E", "\U0001d54f" * 400, "__proto__", "0"]
PACKAGES = SOURCE / "page" / "node_modules" / "puppeteer-core"


class Browsers(TestCase):
    def pages(self) -> Path:
        """Pages, and for each the reports that it must agree with."""
        pages = self.directory / "pages"
        pages.mkdir()
        for name, command in {"drift": (EXAMPLES / "drift", "--steps", 200), "stencil": (EXAMPLES / "stencil", "--steps", 60),
                              "wave": (EXAMPLES / "wave",), "particles": (EXAMPLES / "particles", "--steps", 40),
                              "even": (EXAMPLES / "stencil", "--steps", 60, "--imbalance", 0),
                              "names": (PROGRAMS / "view_names_openmpi",)}.items():
            outcome = self.measured(mpirun(2, *command))
            self.assertEqual(0, outcome.code, outcome.stderr)
            assert outcome.experiment
            outcome.experiment.rename(self.directory / name)
            self.save_report(pages / f"{name}.json", name)
            for rank in (0, 1):
                self.save_report(pages / f"{name}.{rank}.json", name, "--rank", str(rank))
            self.view(pages / f"{name}.html", name)
        self.view(pages / "two.html", "stencil", "even")
        # Rows by the thousand: trees keep those alone in the document that are to be seen, and the map has levels.
        subprocess.run([str(BUILD / "tests/bin/make_experiment"), str(self.directory / "many"), "--ranks", "1100", "--paths", "20", "--clusters", "2",
                        "--iterations", "400"], check=True, capture_output=True)
        self.view(pages / "many.html", "many")
        self.save_report(pages / "many.json", "many")
        (self.directory / "hostile").write_text(json.dumps({
            "columns": ["path", "mpi.rank", "sum#time.duration"], "column_metadata": [{"is_value": False}, {"is_value": True}, {"is_value": True}],
            "nodes": [{"label": "main", "column": "path"}, *({"label": name, "column": "path", "parent": 0} for name in HOSTILE)],
            "data": [[1 + i, rank, 2.0**i] for i in range(len(HOSTILE)) for rank in (0, 1)], "cali.caliper.version": "2.9.0"}))
        self.view(pages / "hostile.html", "hostile")
        self.view(pages / "three.html", "stencil", "even", "drift")
        for golden in sorted((SOURCE / "tests/golden").iterdir()):
            self.view(pages / f"golden-{golden.name}.html", str(golden))
        return pages

    def save_report(self, file: Path, name: str, *options: str) -> None:
        done = subprocess.run([str(REFRAIN), "report", str(self.directory / name), "--format", "json", *options], capture_output=True,
                              env=clean_environment(), check=True)
        file.write_bytes(done.stdout)

    def view(self, page: Path, *names: str) -> None:
        done = subprocess.run([str(REFRAIN), "view", *(str(self.directory / name) for name in names), "-o", str(page)], capture_output=True, text=True,
                              env=clean_environment())
        if "has no page" in done.stderr:
            self.skipTest("refrain view: this build has no page (npm, scripts/build)")
        self.assertEqual(0, done.returncode, done.stderr)

    def in_browser(self, browser: str) -> None:
        if not BROWSERS[browser]:
            self.skipTest(f"page.{browser}: the browser is not installed (chromium, firefox-esr)")
        if not PACKAGES.is_dir():
            self.skipTest(f"page.{browser}: page/node_modules has no puppeteer-core (npm ci in page/)")
        environment = os.environ | {"BROWSER": browser, "BROWSER_PATH": str(BROWSERS[browser]), "PAGES": str(self.pages())}
        done = subprocess.run(["node", "--test", "--test-reporter=spec", *map(str, sorted((SOURCE / "page/test/browser").glob("*.test.mjs")))], cwd=SOURCE / "page",
                              capture_output=True, text=True, env=environment, timeout=900)
        self.assertEqual(0, done.returncode, done.stdout[-5000:] + done.stderr[-2000:])

    def test_chromium(self) -> None:
        self.in_browser("chrome")

    def test_firefox(self) -> None:
        self.in_browser("firefox")


if __name__ == "__main__":
    unittest.main(verbosity=2)
