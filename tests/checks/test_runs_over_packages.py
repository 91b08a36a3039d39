"""A run is that of a module that its script imports over a package which hands the name on."""

from __future__ import annotations

from pathlib import Path

import pytest
from laid_out import lay_out

from trl_lint.checks._runs import runs_of

_FILES = {"lib/core/loop.py": "class T: ...\n", "run.sh": "accelerate launch train.py\n", "README.md": "# x\n"}
_HANDED = {"lib/__init__.py": "from .core import T\n", "lib/core/__init__.py": "from .loop import T\n"}


def is_run(folder: Path, script: str, files: dict[str, str]) -> bool:
    project = lay_out(folder, {**_FILES, **files, "train.py": script})
    return bool(runs_of(str(folder / "lib/core/loop.py"), project))


@pytest.mark.parametrize(
    "script", ["from lib.core.loop import T\n", "from lib.core import T\n", "from lib import T\n", "import lib\n"]
)
def test_a_name_that_packages_hand_on_is_followed(tmp_path: Path, script: str):
    assert is_run(tmp_path, script, _HANDED)


@pytest.mark.parametrize("script", ["from lib import T\n", "from lib.core import T\n", "import lib.core\n"])
@pytest.mark.parametrize("inner", ["", "from .other import T\n", "import os\n", "# from .loop import T\n"])
def test_a_package_that_imports_something_else_hands_nothing_on(tmp_path: Path, script: str, inner: str):
    assert not is_run(tmp_path, script, {**_HANDED, "lib/core/__init__.py": inner})


@pytest.mark.parametrize("script", ["from other import T\n", "import os\n", "print('lib')\n"])
def test_a_script_that_imports_something_else_is_no_run_of_it(tmp_path: Path, script: str):
    assert not is_run(tmp_path, script, _HANDED)
