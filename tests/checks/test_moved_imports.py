"""Where a name went: proved by an announcement, by one release that had it in both places, or by a renamed file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from trl_lint.checks.drift._imports import announced_home, edit_import, shared_homes, target_of
from trl_lint.checks.drift._renamed_names import renamed
from trl_lint.engine import check
from trl_lint.fixes.apply import edited
from trl_lint.project.packages import Package
from trl_lint.project.stack import Choice
from trl_lint.python.module import PythonModule
from trl_lint.selection import Selection
from trl_lint.settings import Settings
from trl_lint.sources import Source, SourceFile


def choice(*releases: str) -> Choice:
    return Choice(Package("trl"), releases, True, False, False)


def test_announced():
    assert announced_home("trl", "ORPOTrainer") == "trl.experimental.orpo"
    assert announced_home("trl", "PPOv2Trainer") == "", "it announced another name"
    assert target_of("trl", "ORPOTrainer", choice("1.0.0", "1.12.0")) == "trl.experimental.orpo"


def test_shared():
    assert shared_homes("trl", "is_vllm_available", "1.12.0") == ["trl.import_utils"]
    assert target_of("trl.commands.cli_utils", "TrlParser", choice("0.20.0")) == "trl"


def test_renamed_file():
    assert target_of("trl.extras.vllm_client", "VLLMClient", choice("1.0.0")) == "trl.generation.vllm_client"


def test_nowhere():
    assert target_of("trl", "PPOTrainer", choice("1.16.0")) == "", "gone for good"
    assert target_of("trl", "GRPOTrainer", choice("1.16.0")) == "", "still there"
    assert target_of("trl", "NoSuchThing", choice("1.16.0")) == ""
    assert target_of("trl", "ORPOTrainer", choice("0.20.0", "1.0.0")) == "", "0.20.0 has it nowhere else"


REWRITTEN = {
    "from trl import ORPOTrainer\n": "from trl.experimental.orpo import ORPOTrainer\n",
    "from trl import ORPOTrainer as T  # c\n": "from trl.experimental.orpo import ORPOTrainer as T  # c\n",
    "from trl import ORPOTrainer, A": "from trl import A\nfrom trl.experimental.orpo import ORPOTrainer",
    "if x:\n    from trl import A, ORPOTrainer, B\n": (
        "if x:\n    from trl import A, B\n    from trl.experimental.orpo import ORPOTrainer\n"
    ),
    "from trl import (A, ORPOTrainer)  # c\n": (
        "from trl import (A)  # c\nfrom trl.experimental.orpo import ORPOTrainer\n"
    ),
    "from trl import (\r\n    A,\r\n    ORPOTrainer  # c\r\n)\r\nx\r\n": (
        "from trl import (\r\n    A,\r\n)\r\nfrom trl.experimental.orpo import ORPOTrainer  # c\r\nx\r\n"
    ),
    "from trl import (\n    ORPOTrainer, ORPOConfig\n)\n": (
        "from trl.experimental.orpo import (\n    ORPOTrainer, ORPOConfig\n)\n"
    ),
}
REWRITTEN["from trl import (A,  # c\n    ORPOTrainer, B)\n"] = (
    "from trl import (A,  # c\n    B)\nfrom trl.experimental.orpo import ORPOTrainer\n"
)
KEPT = (
    "from trl import A, ORPOTrainer; x = 1\n",
    "x = 1; from trl import A, ORPOTrainer\n",
    "from trl import A, \\\n    ORPOTrainer\n",
    "from .trl import ORPOTrainer\n",
    "import trl.ORPOTrainer\n",
)


def rewrite(text: str) -> str | None:
    module = PythonModule(Source(SourceFile("/p/train.py", text.encode()), "python"))
    (node,) = module.imports
    fix = edit_import(node, "trl.ORPOTrainer", choice("1.0.0"), module)
    if fix is None:
        return None
    ast.parse(after := edited(text, sorted(fix.edits, key=lambda edit: edit.start)))
    return after


@pytest.mark.parametrize(("before", "after"), REWRITTEN.items())
def test_rewritten(before: str, after: str):
    assert rewrite(before) == after


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str):
    assert rewrite(text) is None


def test_a_name_of_a_module_that_is_not_read_is_told_with_the_release_that_dropped_it(tmp_path: Path):
    """The lists of transformers had `load_tool` from 4.29 to 4.51; the module that defines it is in no history."""
    (tmp_path / "requirements.txt").write_text("transformers>=4.31.0\n")
    (tmp_path / "train.py").write_text("from transformers import load_tool\n")
    report = check([str(tmp_path)], Settings(str(tmp_path), layers=[Selection(select=("TRL302",))]))
    (finding,) = report.findings
    assert finding.message.startswith("transformers 4.52.0 removed `load_tool` from `transformers` (")


def test_a_new_name_of_the_same_class():
    """Proved by the release: the old class is derived from the new one, and adds nothing."""
    assert renamed("trl", "PPOv2Config", choice("0.13.0", "0.20.0")) == ("PPOConfig", True)
    assert renamed("trl", "DPOScriptArguments", choice("1.16.0")) == ("ScriptArguments", True)


def test_a_new_name_by_a_remedy():
    found = Choice(Package("transformers"), ("5.1.0",), True, False, False)
    assert renamed("transformers", "AutoModelForVision2Seq", found) == ("AutoModelForImageTextToText", False)


def test_no_new_name():
    assert renamed("trl", "PPOv2Config", choice("0.11.4", "0.20.0")) is None, "0.11 has another PPOConfig"
    assert renamed("trl", "PPOv2Config", choice("1.16.0")) is None, "gone as well"
    assert renamed("trl", "ORPOTrainer", choice("1.16.0")) is None, "the same name elsewhere"
    assert renamed("trl", "GRPOTrainer", choice("1.16.0")) is None
    assert renamed("trl", "NoSuchThing", choice("1.16.0")) is None
