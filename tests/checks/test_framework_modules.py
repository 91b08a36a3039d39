"""Imports of modules that a framework no longer has, or not yet, of which only the modules are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.finding import Finding
from trl_lint.selection import Selection
from trl_lint.settings import Settings

GONE = ["swift.llm", "swift.llm.argument", "swift.plugin", "swift.plugin.orm"]  # until ms-swift 3.12.6
NEW = ["swift.arguments", "swift.pipelines", "swift.template"]  # since 4.0.0
KEPT = ["swift.trainers", "swift.utils", "swift.tuners", "swift.hub", "swift.utils.no_such_module_is_recorded"]
FORMS = [
    "import {}\n",
    "from {} import thing\n",
    "import os, {} as s\n",
    "def main():\n    from {} import (\n        a, b)\n",
]


def found(root: Path, files: dict[str, str]) -> list[Finding]:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return check([str(root)], Settings(str(root), layers=[Selection(select=("TRL302",))])).findings


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("module", GONE)
@pytest.mark.parametrize(
    ("pin", "levels"),
    [
        ("ms-swift==4.6.0", ["error"]),
        ("ms-swift>=4.0", ["error"]),
        ("ms-swift>=3.1.0", ["warning"]),  # the newest release has it no longer
        ("ms_swift[llm]>=3.1.0", ["warning"]),
        ("ms-swift", ["warning"]),
        ("ms-swift==3.12.6", []),
        ("ms-swift>=3.1.0,<4", []),
        ("ms-swift~=3.8", []),
    ],
)
def test_a_module_that_is_gone(tmp_path, form, module, pin, levels):
    told = found(tmp_path, {"requirements.txt": f"{pin}\n", "train.py": form.format(module)})
    assert [finding.severity for finding in told] == levels
    part = ".".join(module.split(".")[:2])
    assert all(f"ms-swift 4.0.0 removed the module `{part}`: pin ms-swift<4.0.0" in f.message for f in told)


@pytest.mark.parametrize("module", NEW)
@pytest.mark.parametrize(("pin", "levels"), [("==3.12.6", ["error"]), (">=3.1", ["info"]), ("==4.6.0", []), ("", [])])
def test_a_module_that_is_not_there_yet(tmp_path, module, pin, levels):
    told = found(tmp_path, {"requirements.txt": f"ms-swift{pin}\n", "train.py": f"from {module} import a\n"})
    assert [finding.severity for finding in told] == levels
    assert all(f"there is no module `{module}` before ms-swift 4.0.0" in finding.message for finding in told)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("module", [*KEPT, "swift.common.utils", "swift.proxy", "swiftly.llm", "notswift.plugin"])
@pytest.mark.parametrize("pin", ["ms-swift==4.6.0", "ms-swift>=3.1", "ms-swift==3.1.0"])
def test_what_is_there_or_of_others(tmp_path, form, module, pin):
    assert found(tmp_path, {"requirements.txt": f"{pin}\n", "train.py": form.format(module)}) == []


@pytest.mark.parametrize(
    "files",
    [
        {"train.py": "try:\n    from swift.llm import a\nexcept ImportError:\n    a = None\n"},
        {"train.py": "from .swift.llm import a\n"},
        {"train.py": "from swift import llm\n"},  # a name that may be an attribute
        {"train.py": "'''\nfrom swift.llm import a\n'''\nimport swift\n"},
        {"train.py": "from swift.llm import a\n", "swift/__init__.py": "", "swift/llm.py": ""},
        {"sub/train.py": "from swift.llm import a\n", "ms/swift/__init__.py": "", "setup.py": "name = 'x'\n"},
        {"train.py": "# from swift.llm import a\n"},
    ],
)
def test_what_is_guarded_or_a_copy(tmp_path, files):
    assert found(tmp_path, {"requirements.txt": "ms-swift==4.6.0\n", **files}) == []
