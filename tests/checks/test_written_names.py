"""Imports that are put together with others, and names that are written down where a package no longer has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.fixes.apply import by_path, edited
from trl_lint.knowledge.remedies import remedies
from trl_lint.selection import Selection
from trl_lint.settings import Settings

TEMPLATE = next(row.written for row in remedies() if row.names == ("SIMPLE_CHAT_TEMPLATE",))
ASKS = "from trl import setup_chat_format as f\n"


def rewrite(text: str, folder: Path) -> str:
    """The text after the first round of fixes; as it was where there are none."""
    (folder / "requirements.txt").write_text("trl==1.16.0\ntransformers==5.23.0\n")
    (folder / "train.py").write_text(text)
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL302",))]))
    edits = by_path(edit for finding in report.findings if finding.fix for edit in finding.fix.edits)
    return edited(text, edits.get(str(folder / "train.py"), ()))


REWRITTEN = {
    # into an import that is there, in order where that has one
    "from trl import ORPOTrainer, SFTTrainer\nfrom trl.experimental.orpo import ORPOConfig\n": (
        "from trl import SFTTrainer\nfrom trl.experimental.orpo import ORPOConfig, ORPOTrainer\n"
    ),
    "from trl.commands.cli_utils import SFTScriptArguments, TrlParser\nfrom trl import SFTConfig\nSFTScriptArguments": (
        "from trl import ScriptArguments, SFTConfig, TrlParser\nScriptArguments"
    ),
    "from trl.experimental.orpo import (\n    ORPOTrainer,\n)\nfrom trl import ORPOConfig, SFTTrainer\n": (
        "from trl.experimental.orpo import (\n    ORPOConfig,\n    ORPOTrainer,\n)\nfrom trl import SFTTrainer\n"
    ),
    "from trl import ORPOConfig\nfrom trl.experimental.orpo import ORPOConfig as C, ORPOConfig\n": (
        "from trl.experimental.orpo import ORPOConfig as C, ORPOConfig\n"
    ),
    # not where something runs in between, and not below the top
    "from trl import ORPOConfig, A\nx()\nfrom trl.experimental.orpo import B": (
        "from trl import A\nfrom trl.experimental.orpo import ORPOConfig\nx()\nfrom trl.experimental.orpo import B"
    ),
    "from trl.experimental.orpo import *\nfrom trl import ORPOConfig\n": (
        "from trl.experimental.orpo import *\nfrom trl.experimental.orpo import ORPOConfig\n"
    ),
    "def f():\n    from trl import ORPOConfig, CPOConfig\n": (
        "def f():\n    from trl.experimental.cpo import CPOConfig\n    from trl.experimental.orpo import ORPOConfig\n"
    ),
    # the new name is imported already
    "from transformers import AutoModelForImageTextToText, AutoModelForVision2Seq\n[AutoModelForVision2Seq]\n": (
        "from transformers import AutoModelForImageTextToText\n[AutoModelForImageTextToText]\n"
    ),
    # written down behind the imports
    "from trl.trainer.utils import SIMPLE_CHAT_TEMPLATE\nimport os\n\nSIMPLE_CHAT_TEMPLATE\n": (
        f"import os\n\n{TEMPLATE}\n\nSIMPLE_CHAT_TEMPLATE\n"
    ),
    "from trl.import_utils import is_npu_available, is_peft_available\nx": (
        "from trl.import_utils import is_peft_available\nfrom accelerate.utils import is_npu_available\nx"
    ),
    "from trl import setup_chat_format\nm, t = setup_chat_format(tokenizer=t(1), model=m)\n": (
        'from trl import clone_chat_template\nm, t = clone_chat_template(m, t(1), "Qwen/Qwen3-0.6B")[:2]\n'
    ),
}
REWRITTEN["from trl import setup_chat_format\nsetup_chat_format(m, t, format='chatml')\n"] = (
    'from trl import clone_chat_template\nclone_chat_template(m, t, "Qwen/Qwen3-0.6B")[:2]\n'
)
REWRITTEN["import trl\nx = trl.ORPOConfig, trl.ORPOConfig\n"] = (
    "import trl\nimport trl.experimental.orpo\nx = trl.experimental.orpo.ORPOConfig, trl.experimental.orpo.ORPOConfig\n"
)
KEPT = (
    "import trl as t\nt.ORPOConfig\n",
    "import os, trl\ntrl.ORPOConfig\n",
    "def f():\n    import trl\n    return trl.ORPOConfig\n",
    "import trl; x = 1\ntrl.ORPOConfig\n",
    "import trl\ntrl = x\ntrl.ORPOConfig\n",
    ASKS,
    ASKS.replace(" as f", "") + "setup_chat_format(m, t, resize_to_multiple_of=64)\n",
    ASKS.replace(" as f", "") + "setup_chat_format(*both)\n",
    ASKS.replace(" as f", "") + "setup_chat_format(m, tokenizer=t, **more)\n",
    ASKS.replace(" as f", "") + "f = setup_chat_format\n",
    ASKS.replace(" as f", "") + "clone_chat_template = 1\nsetup_chat_format(m, t)\n",
    ASKS.replace(" as f", "") + "__all__ = ['setup_chat_format']\n",
    ASKS.replace(" as f", "") + "def setup_chat_format(): pass\n",
    "def f():\n    from trl.trainer.utils import SIMPLE_CHAT_TEMPLATE\n",
    "from trl.trainer.utils import SIMPLE_CHAT_TEMPLATE as T\n",
    "from trl.trainer.utils import SIMPLE_CHAT_TEMPLATE\nSIMPLE_CHAT_TEMPLATE = 1\n",
    "from trl.trainer.utils import A, SIMPLE_CHAT_TEMPLATE\nimport os; x = 1\n",
    "from transformers import AutoModelForVision2Seq\nfrom x import AutoModelForImageTextToText\n",
    "from transformers import AutoModelForVision2Seq\nAutoModelForVision2Seq\n"
    "from transformers import AutoModelForImageTextToText\n",
    "from trl.commands.cli_utils import ChatArguments, TrlParser\n",
)


@pytest.mark.parametrize(("before", "after"), REWRITTEN.items())
def test_rewritten(before: str, after: str, tmp_path: Path):
    assert rewrite(before, tmp_path) == after


@pytest.mark.parametrize("text", KEPT)
def test_kept(text: str, tmp_path: Path):
    assert rewrite(text, tmp_path) == text
