"""Unsloth that a helper or an importer of a module imports: its configs take what TRL's no longer do."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

SFT = "from trl import SFTConfig\nSFTConfig(output_dir='o', max_seq_length=8)\n"
TOP = "from unsloth import FastLanguageModel\ndef load():\n    return FastLanguageModel\n"
LAZY = "def load():\n    from unsloth import FastLanguageModel\n    return FastLanguageModel\ndef other():\n    pass\n"
THROUGH = "def _inner():\n    import unsloth\ndef load():\n    return _inner()\ndef other():\n    pass\n"
HANDED_ON = {"lib/__init__.py": "from .load import load\nb = 1\n"}

PATCHED = {
    "star": ("from common import *\n", {"common.py": TOP}),
    "module": ("import common\n", {"common.py": TOP}),
    "renamed": ("import common as c\n", {"common.py": TOP}),
    "name": ("from common import load\n", {"common.py": TOP}),
    "another name, at the top": ("from common import unrelated\n", {"common.py": TOP + "unrelated = 1\n"}),
    "a try": ("import common\n", {"common.py": "try:\n    import unsloth\nexcept ImportError:\n    pass\n"}),
    "in a function": ("from common import load\n", {"common.py": LAZY}),
    "in a function, by the module": ("import common\n", {"common.py": LAZY}),
    "in a function of a function": ("from common import load\n", {"common.py": THROUGH}),
    "five functions deep": (
        "from common import f0\n",
        {
            "common.py": "".join(f"def f{n}():\n    return f{n + 1}()\n" for n in range(5))
            + "def f5():\n    import unsloth\n"
        },
    ),
    "in a class": ("from common import L\n", {"common.py": "class L:\n    def f(self):\n        import unsloth\n"}),
    "a package": ("from lib.load import load\n", {"lib/load.py": LAZY, "lib/__init__.py": ""}),
    "handed on by a package": (
        "from lib import load\n",
        {"lib/__init__.py": "from .load import load\n", "lib/load.py": LAZY},
    ),
    "a module of a package": ("from lib import load\n", {"lib/__init__.py": "", "lib/load.py": TOP}),
    "a helper of a helper": ("import a\n", {"a.py": "import unsloth_utils\n", "unsloth_utils.py": TOP}),
    "called at once": ("import a\n", {"a.py": "def f():\n    import unsloth\nf()\n"}),
    "circle": ("import a\n", {"a.py": "import b  # unsloth\n", "b.py": "import a\nimport unsloth\n"}),
}
NOT_PATCHED = {
    "no helper": ("", {}),
    "not imported": ("", {"common.py": TOP}),
    "another function": ("from common import other\n", {"common.py": LAZY}),
    "another function beside the one that calls": ("from common import other\n", {"common.py": THROUGH}),
    "the word alone": ("import common\n", {"common.py": "# faster than unsloth\nNAME = 'unsloth/Qwen3-4B'\n"}),
    "a namesake": ("import common\n", {"common.py": "import unsloth_tools\n"}),
    "an own module of that name": ("import a\n", {"a.py": "from .unsloth import x\n", "unsloth.py": "x = 1\n"}),
    "not handed on": ("from lib import b\n", {**HANDED_ON, "lib/load.py": LAZY}),
    "in a function of a helper of a helper": (
        "from a import g\n", {"a.py": "from unsloth_utils import load\ndef g(): pass\n", "unsloth_utils.py": LAZY}
    ),
    "another package": ("import wandb\nimport common\n", {"common.py": "import transformers\n"}),
    "does not parse": ("import common\n", {"common.py": "import unsloth\ndef (:\n"}),
    "a folder without it": ("import pkg\n", {"pkg/__init__.py": "", "pkg/x.py": TOP}),
    "circle": ("import a\n", {"a.py": "import b  # unsloth\n", "b.py": "import a  # unsloth\n"}),
}  # fmt: skip


# Programs that import `lib/trainer.py`, which makes the config and knows nothing of Unsloth.
FIRST = "from unsloth import FastLanguageModel\n"
AFTER = {
    "below it": {"main.py": FIRST + "from lib.trainer import build\n"},
    "below it, by the module": {"main.py": FIRST + "import lib.trainer\n"},
    "below it, from the package": {"main.py": FIRST + "from lib import trainer\n"},
    "relative": {"lib/__main__.py": FIRST + "from .trainer import build\n"},
    "in a function": {"main.py": FIRST + "def main():\n    from lib.trainer import build\n"},
    "in a function above it": {"main.py": "def main():\n    from lib.trainer import build\n" + FIRST + "main()\n"},
    "both in a function": {"main.py": "def main():\n    import unsloth\n    from lib.trainer import build\n"},
    "in two functions, one below it": {
        "main.py": "def one():\n    import unsloth\n    import lib.trainer\ndef two():\n    import lib.trainer\n"
    },
    "under a try": {"main.py": "try:\n    import unsloth\nexcept ImportError:\n    pass\nimport lib.trainer\n"},
    "by a module between": {"main.py": FIRST + "import lib.run\n", "lib/run.py": "from .trainer import build\n"},
    "its package": {"lib/__init__.py": "import unsloth\n", "main.py": "import lib.trainer\n"},
    "a helper first": {"main.py": "from load import load\nimport lib.trainer\n", "load.py": TOP},
    "a helper of a helper first": {
        "main.py": "import a\nimport lib.trainer\n", "a.py": "import load  # unsloth\n", "load.py": TOP
    },
    "one program of two": {"main.py": FIRST + "import lib.trainer\n", "plain.py": "import lib.trainer\n"},
}  # fmt: skip
NOT_AFTER = {
    "above it": {"main.py": "from lib.trainer import build\n" + FIRST},
    "above it, both in a function": {"main.py": "def main():\n    import lib.trainer\n    import unsloth\n"},
    "not imported": {"main.py": FIRST},
    "in another function": {"main.py": "def a():\n    import unsloth\ndef b():\n    import lib.trainer\n"},
    "in a function, and it below": {"main.py": "def one():\n    import unsloth\nfrom lib.trainer import build\n"},
    "a function that imports it when it is called": {
        "main.py": "from load import load\nfrom lib.trainer import build\nload()\n", "load.py": LAZY
    },
    "such a function, for another command": {
        "cli.py": "def a():\n    from load import load\ndef b():\n    from lib.trainer import build\n", "load.py": LAZY
    },
    "another module": {"main.py": FIRST + "import lib.other\n", "lib/other.py": ""},
    "a test": {"tests/test_it.py": FIRST + "import lib.trainer\n"},
    "by nobody who knows Unsloth": {"main.py": "import lib.trainer\n", "serve.py": FIRST},
    "the word alone": {"main.py": "# import unsloth\nimport lib.trainer\n"},
    "a helper after it": {"main.py": "import lib.trainer\nimport load\n", "load.py": TOP},
    "a helper with a function for it": {"main.py": "from load import other\nimport lib.trainer\n", "load.py": LAZY},
    "an own module of that name": {"unsloth.py": "x = 1\n", "main.py": "import unsloth\nimport lib.trainer\n"},
    "does not parse": {"main.py": FIRST + "def (:\nimport lib.trainer\n"},
}  # fmt: skip


def written(folder: Path, files: dict[str, str]):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def codes(folder: Path, files: dict[str, str]) -> list[str]:
    written(folder, files)
    report = check([str(folder / "train.py")], Settings(str(folder)))
    return [finding.code for finding in report.findings if finding.code == "TRL301"]


def project(first: str, files: dict[str, str]) -> dict[str, str]:
    return {"requirements.txt": "trl==1.0.0\n", "train.py": first + SFT, **files}


@pytest.mark.parametrize("case", PATCHED)
def test_a_helper_patches(tmp_path: Path, case: str):
    assert codes(tmp_path, project(*PATCHED[case])) == []


@pytest.mark.parametrize("case", NOT_PATCHED)
def test_a_helper_that_does_not_patch(tmp_path: Path, case: str):
    assert codes(tmp_path, project(*NOT_PATCHED[case])) == ["TRL301"]


def arguments_in_lib(folder: Path, files: dict[str, str]) -> list[str]:
    made = "def build():\n    return SFTConfig(output_dir='o', max_seq_length=8)\n"
    given = {"requirements.txt": "trl==1.0.0\n", "lib/__init__.py": "", **files}
    written(folder, {**given, "lib/trainer.py": "from trl import SFTConfig\n" + made})
    report = check([str(folder)], Settings(str(folder)))
    return [finding.code for finding in report.findings if finding.code in ("TRL301", "TRL003")]


@pytest.mark.parametrize("case", AFTER)
def test_who_imports_it_patches(tmp_path: Path, case: str):
    assert arguments_in_lib(tmp_path, AFTER[case]) == []


@pytest.mark.parametrize("case", NOT_AFTER)
def test_who_imports_it_does_not_patch(tmp_path: Path, case: str):
    assert arguments_in_lib(tmp_path, NOT_AFTER[case]) == ["TRL301"]


@pytest.mark.parametrize("made", ["TrainingArguments", "Seq2SeqTrainingArguments", "Own"])
def test_the_arguments_of_transformers_stay_as_they_are(tmp_path: Path, made: str):
    own = "class Own(TrainingArguments):\n    pass\n"
    text = f"{FIRST}from transformers import Seq2SeqTrainingArguments, TrainingArguments\n{own}"
    written(tmp_path, {"requirements.txt": "transformers==5.0.0\n"})
    assert codes(tmp_path, {"train.py": text + f"{made}(output_dir='o', evaluation_strategy='no')\n"}) == ["TRL301"]


@pytest.mark.parametrize("made", ["SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "RewardConfig"])
def test_the_configs_of_trl_do_not(tmp_path: Path, made: str):
    text = f"{FIRST}from trl import {made}\n{made}(output_dir='o', evaluation_strategy='no')\n"
    assert codes(tmp_path, {"requirements.txt": "trl==1.0.0\ntransformers==5.0.0\n", "train.py": text}) == []


def test_a_helper_of_many_files_is_followed_in_little_time(tmp_path: Path):
    files = {f"m{n}.py": "".join(f"import m{k}  # unsloth\n" for k in range(30)) for n in range(30)}
    assert codes(tmp_path, project("import m0\n", files)) == ["TRL301"]


def test_where_the_search_ends_is_said(tmp_path: Path):
    chain = {f"m{n}.py": f"import m{n + 1}  # unsloth\n" for n in range(7)} | {"m7.py": TOP}
    for name, text in {**chain, "train.py": "import m0\n" + SFT}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    notices = [notice.message for notice in check([str(tmp_path)], Settings()).notices]
    assert any("imports were not asked for unsloth" in message for message in notices), notices
