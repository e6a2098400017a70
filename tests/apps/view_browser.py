"""The explorer in real browsers: page/test/browser, with pages of experiments that are made here. Without npm's packages, or
without a browser, its tests are skipped by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest
from pathlib import Path

from refrain_testing import EXAMPLES, PROGRAMS, REFRAIN, SOURCE, TestCase, clean_environment, mpirun

BROWSERS = {"chrome": shutil.which("chromium") or shutil.which("google-chrome"), "firefox": shutil.which("firefox-esr") or shutil.which("firefox")}
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
            for target, options in {f"{name}.json": (), f"{name}.0.json": ("--rank", "0"), f"{name}.1.json": ("--rank", "1")}.items():
                done = subprocess.run([str(REFRAIN), "report", str(self.directory / name), "--format", "json", *options], capture_output=True,
                                      env=clean_environment(), check=True)
                (pages / target).write_bytes(done.stdout)
            self.view(pages / f"{name}.html", name)
        self.view(pages / "two.html", "stencil", "even")
        self.view(pages / "three.html", "stencil", "even", "drift")
        for golden in sorted((SOURCE / "tests/golden").iterdir()):
            self.view(pages / f"golden-{golden.name}.html", str(golden))
        return pages

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
        done = subprocess.run(["node", "--test", *map(str, sorted((SOURCE / "page/test/browser").glob("*.test.mjs")))], cwd=SOURCE / "page",
                              capture_output=True, text=True, env=environment, timeout=600)
        self.assertEqual(0, done.returncode, done.stdout[-5000:] + done.stderr[-2000:])

    def test_chromium(self) -> None:
        self.in_browser("chrome")

    def test_firefox(self) -> None:
        self.in_browser("firefox")


if __name__ == "__main__":
    unittest.main(verbosity=2)
