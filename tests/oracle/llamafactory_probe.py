"""Answer with what the real `get_train_args` of LLaMA-Factory says of configs: run by a Python that has transformers.

python llamafactory_probe.py SOURCES < configs.json > answers.json

`SOURCES` is the folder that holds the package `llamafactory` of one release. Packages that are as large as torch are
stood in for by modules in which every class is empty, and next to all that transformers does when its own arguments
are made is left out. Of each config the answer is null, or the text of the exception.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import types
from typing import Any

from stood_in import package_at, stand_in

STOOD_IN = ("torch", "accelerate", "peft", "trl", "datasets", "deepspeed", "torch_npu")


def evaluate_by_strategy(self: Any) -> None:
    """The one thing that transformers does with its arguments and LLaMA-Factory asks for (training_args.py, 4.57)."""
    self.do_eval = self.do_eval or self.eval_strategy not in ("no", None)


def read_parser(sources: str) -> types.ModuleType:
    """The module of a release that parses and checks."""
    import transformers
    import transformers.training_args as arguments
    from transformers.training_args_seq2seq import Seq2SeqTrainingArguments

    transformers.Seq2SeqTrainingArguments = Seq2SeqTrainingArguments

    stand_in(*STOOD_IN)
    given = arguments.TrainingArguments
    given.__post_init__ = Seq2SeqTrainingArguments.__post_init__ = evaluate_by_strategy
    for name, value in (("should_log", False), ("parallel_mode", arguments.ParallelMode.DISTRIBUTED), ("world_size", 2),
                        ("process_index", 0), ("device", "cpu"), ("local_process_index", 0)):  # fmt: skip
        setattr(given, name, value)
    package_at("llamafactory", os.path.join(sources, "llamafactory"))
    os.environ["DISABLE_VERSION_CHECK"] = "1"
    found: types.ModuleType = importlib.import_module("llamafactory.hparams.parser")
    found.is_deepspeed_zero3_enabled = lambda: False  # type: ignore[attr-defined]
    found.is_torch_bf16_gpu_available = lambda: True  # type: ignore[attr-defined]
    found._check_extra_dependencies = lambda *given: None  # type: ignore[attr-defined]
    transformers.set_seed = lambda seed: None
    return found


def main() -> None:
    parser = read_parser(sys.argv[1])
    configs, answers = json.load(sys.stdin), []
    for config in configs:
        try:
            parser.get_train_args(config)
        except Exception as error:
            # What needs torch comes after all that is looked at.
            done = "requires the PyTorch library" in str(error)
            answers.append(None if done else f"{type(error).__name__}: {error}"[:2000])
        else:
            answers.append(None)
    print()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
