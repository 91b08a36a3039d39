"""Answer with what the real argument classes of ms-swift say of commands: run by a Python that has the release.

python swift_probe.py < commands.json > answers.json

A command is a list, `["rlhf", "--rlhf_type", "grpo", …]`. Every model it names is a folder with the config of a small
one, for nothing can be downloaded. That bf16 needs a GPU is not asked, nor whether deepspeed is installed. Of each
command the answer is null, or the text of the exception; what argparse says counts as one.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import os
import sys
import tempfile
from typing import Any

PLACES = {
    "sft": ("swift.arguments:SftArguments", "swift.llm.argument:TrainArguments"),
    "pt": ("swift.arguments:PretrainArguments", "swift.llm.argument:TrainArguments"),
    "rlhf": ("swift.arguments:RLHFArguments", "swift.llm.argument:RLHFArguments"),
}
MODELS = ("--model", "--ref_model", "--reward_model", "--teacher_model")
CONFIG = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 8, "intermediate_size": 8,
    "num_attention_heads": 2, "num_hidden_layers": 1, "num_key_value_heads": 2, "vocab_size": 64,
    "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
}  # fmt: skip


def class_of(command: str) -> Any:
    for place in PLACES[command]:
        module, _, name = place.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(module), name)
    raise SystemExit(f"no class for {command}")


def quiet_about_machine() -> None:
    """Have transformers believe in a GPU, and ms-swift in deepspeed."""
    import transformers.training_args as arguments

    for name in ("is_torch_bf16_gpu_available", "is_torch_tf32_available"):
        if hasattr(arguments, name):
            setattr(arguments, name, lambda: True)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("swift.") and "require_version" in vars(module):
            module.require_version = lambda *given, **named: None  # type: ignore[attr-defined]


def with_model(words: list[str], folder: str) -> list[str]:
    """The command with the folder in the place of every model."""
    return [folder if number and words[number - 1] in MODELS else word for number, word in enumerate(words)]


def answer(parse: Any, made: Any, words: list[str]) -> str | None:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            rest = parse(made, words)[1]
    except SystemExit:
        return f"SystemExit: {said.getvalue().strip()[-300:]}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:2000]
    return f"ValueError: remaining_argv: {rest}" if rest else None


def main() -> None:
    os.environ.update({"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""})
    commands = json.load(sys.stdin)
    folder = os.path.join(tempfile.mkdtemp(), "Qwen2.5-0.5B-Instruct")
    os.makedirs(folder)
    os.chdir(os.path.dirname(folder))
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as stream:
        json.dump(CONFIG, stream)
    parse = importlib.import_module("swift.utils").parse_args
    classes = {command: class_of(command) for command in {each[0] for each in commands}}
    quiet_about_machine()
    logging.disable(logging.CRITICAL)
    answers = [answer(parse, classes[words[0]], with_model(words[1:], folder)) for words in commands]
    print()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
