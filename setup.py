"""The package of Python by itself, as `python3 -m pip install --no-build-isolation --no-index .` installs it: CMake builds its modules.

REFRAIN_BUILD names a directory in which CMake has built Refrain already, for the same interpreter.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
MODULES = ("trace", "_run")


class BuildWithCMake(build_ext):
    def run(self) -> None:
        build = Path(os.environ.get("REFRAIN_BUILD", self.build_temp)).resolve()
        if "REFRAIN_BUILD" not in os.environ:
            build.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DPYTHON_EXECUTABLE={sys.executable}"], check=True)
            subprocess.run(["cmake", "--build", build, "--target", "refrain_python", "refrain_python_run"], check=True)
        package = Path(self.build_lib) / "refrain"
        package.mkdir(parents=True, exist_ok=True)
        for module in MODULES:
            built = [path for path in build.rglob(f"python/refrain/{module}.*.so") if build / "tests" not in path.parents]
            if not built:
                raise SystemExit(f"{build} has no module refrain.{module}: is pybind11-dev installed?")
            shutil.copy2(built[0], package)


def version() -> str:
    found = re.search(r"project\(\s*\w+\s+VERSION\s+([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.IGNORECASE)
    return found[1] if found else "0"


setup(
    name="refrain",
    version=version(),
    description="Reads what Refrain has measured of MPI programs",
    python_requires=">=3.9",
    packages=["refrain"],
    package_dir={"refrain": "offline/python/package"},
    package_data={"refrain": ["*.pyi", "py.typed"]},
    ext_modules=[Extension(f"refrain.{module}", []) for module in MODULES],
    cmdclass={"build_ext": BuildWithCMake},
)
