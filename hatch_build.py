"""Builds the compiled form of the package, if asked: `THINKWIRE_COMPILE=1 pip install .`

The modules that work per chunk and per request are compiled by mypyc, from the very source that is also the pure
package; the source goes along in the wheel, for tracebacks and as what every other module is. Modules that define
msgspec's structs stay interpreted: their classes are compiled already, by msgspec. Without a C compiler a pure wheel is
built, and said to be one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_STRUCT = re.compile(r"^class .*\bStruct\b", re.MULTILINE)
_BUILD = """
import sys
from mypyc.build import mypycify
from setuptools import setup
arguments = ["--config-file=pyproject.toml", *sys.argv[3:]]
modules = mypycify(arguments, opt_level="2", debug_level="0", group_name="thinkwire")
setup(name="thinkwire", package_dir={"": "src"}, packages=[], ext_modules=modules, script_args=sys.argv[1:3])
"""


class CompiledForm(BuildHookInterface[Any]):
    """What hatchling calls before it builds a wheel."""

    @property
    def _is_wanted(self) -> bool:
        return os.environ.get("THINKWIRE_COMPILE") == "1" and self.target_name == "wheel"

    def dependencies(self) -> list[str]:
        """What the types are checked against, and the compiler itself."""
        if not self._is_wanted:
            return []
        project = self.metadata.core.dependencies
        extras = self.metadata.core.optional_dependencies
        mypy = [name for name in extras["dev"] if name.startswith("mypy==")]
        return [*project, *extras["gateway"], *extras["otel"], *extras["valkey"], *mypy, "setuptools"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not self._is_wanted or version == "editable":
            return
        compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
        if os.name != "nt" and shutil.which(compiler) is None:
            self.app.display_warning(f"there is no C compiler ({compiler}): this wheel is pure Python")
            return
        self._folder = TemporaryDirectory(prefix="thinkwire-")  # lives until the wheel is written
        work = Path(self._folder.name)
        shutil.copytree(Path(self.root, "src"), work / "src", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        shutil.copy(Path(self.root, "pyproject.toml"), work)
        chosen = modules_of(work / "src" / "thinkwire", self.config["compiled"], self.config["interpreted"])
        modules = [str(path.relative_to(work)) for path in chosen]
        command = [sys.executable, "-c", _BUILD, "build_ext", "--inplace", *modules]
        subprocess.run(command, cwd=work, check=True)
        for path in sorted(work.glob("src/**/*" + sysconfig.get_config_var("EXT_SUFFIX"))):
            build_data["force_include"][str(path)] = str(path.relative_to(work / "src"))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def modules_of(package: Path, compiled: list[str], interpreted: list[str]) -> Iterator[Path]:
    """The modules to compile: those under these names that are not under the others."""
    out = [package / name for name in interpreted]
    for name in compiled:
        found = package.glob(name) if "*" in name else (package / name).rglob("*.py")
        for path in sorted(found):
            is_out = path.name == "__init__.py" or any(path.is_relative_to(folder) for folder in out)
            if not is_out and not _STRUCT.search(path.read_text(encoding="utf-8")):
                yield path
