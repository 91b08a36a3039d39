"""TRL307 and TRL303 know the parameters of PyTorch's classes only, not those of Flax, TensorFlow and diffusers."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.selection import Selection
from trl_lint.settings import Settings

_SUFFIXES = ["AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "BertModel", "T5ForConditionalGeneration"]
OTHERS = [
    *(f"from transformers import {kind}{name} as M" for kind in ("Flax", "TF") for name in _SUFFIXES),
    "from transformers.models.bert import FlaxBertModel as M",
    "from transformers import AutoTokenizer as M",
    "from transformers import AutoConfig as M",
    "from diffusers import UNet2DConditionModel as M",
    "from diffusers import DiffusionPipeline as M",
    "from sentence_transformers import SentenceTransformerModel as M",
    "from own import MyModel as M",
]
TORCH = [f"from transformers import {name} as M" for name in (*_SUFFIXES[:2], "LlamaForCausalLM", "BertModel")]


def found(folder: Path, imported: str, pin: str, keyword: str) -> list[str]:
    (folder / "requirements.txt").write_text(f"transformers=={pin}\n")
    (folder / "own.py").write_text("class MyModel:\n    pass\n")
    (folder / "train.py").write_text(f'{imported}\n\nmodel = M.from_pretrained("gpt2", {keyword}=kind)\n')
    report = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL303", "TRL307"))]))
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(("pin", "keyword"), [("4.16.1", "dtype"), ("4.50.0", "dtype"), ("4.57.1", "torch_dtype")])
@pytest.mark.parametrize("imported", OTHERS)
def test_classes_with_parameters_of_their_own_are_left_alone(tmp_path: Path, imported: str, pin: str, keyword: str):
    assert found(tmp_path, imported, pin, keyword) == []


@pytest.mark.parametrize("imported", TORCH)
def test_classes_of_pytorch_are_judged(tmp_path: Path, imported: str):
    assert found(tmp_path, imported, "4.50.0", "dtype") == ["TRL307"]
    assert found(tmp_path, imported, "4.57.1", "torch_dtype") == ["TRL303"]
