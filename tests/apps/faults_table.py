"""docs/faults.md: its rows are numbered, and every test that they name exists and is registered."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
TESTS = SOURCE / "tests"
LEAST = 40  # rows


def rows() -> list[tuple[int, str]]:
    text = (SOURCE / "docs" / "faults.md").read_text()
    return [(int(number), tests) for number, tests in re.findall(r"(?m)^\| (\d+) \| .* \| ([^|]*) \|$", text)]


def has_test(file: Path, name: str) -> bool:
    text = file.read_text()
    suite, _, test = name.partition(".")
    if file.suffix == ".py":
        body = re.search(rf"(?ms)^class {suite}\(.*?(?=^class |\Z)", text)
        return body is not None and f"    def {test}(" in body[0]
    return re.search(rf"(?m)^TEST(_F)?\({suite}, {test}\)", text) is not None


class FaultsTable(unittest.TestCase):
    def test_it_has_every_fault_once(self) -> None:
        numbers = [number for number, _ in rows()]
        self.assertEqual(list(range(1, len(numbers) + 1)), numbers)
        self.assertGreaterEqual(len(numbers), LEAST)

    def test_every_test_exists_and_is_registered(self) -> None:
        registered = "\n".join(path.read_text() for path in TESTS.glob("*/*.cmake"))
        for number, tests in rows():
            named = re.findall(r"`([^`:]+)(?:: ([^`]+))?`", tests)
            with self.subTest(fault=number):
                self.assertTrue(named, tests)
            for file, name in named:
                with self.subTest(fault=number, file=file, test=name):
                    path = TESTS / file
                    self.assertTrue(path.is_file())
                    self.assertRegex(registered, rf"\b{path.stem}\b")
                    self.assertTrue(not name or has_test(path, name), name)

    def test_it_would_notice_what_is_not_there(self) -> None:
        this = Path(__file__)
        self.assertTrue(has_test(this, "FaultsTable.test_it_has_every_fault_once"))
        self.assertFalse(has_test(this, "FaultsTable.test_it_has_no_such_test"))
        self.assertFalse(has_test(this, "Faults.test_it_has_every_fault_once"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
