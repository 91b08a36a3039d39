"""Asks the libraries themselves what becomes of the scripts in the fixtures of rules about what trainers are given.

The answers are data (`trainer_objects.json`): `tests/checks/test_trainer_objects.py` compares them with what trl-lint
says and needs no library. Run this again only to add rules or to move to other releases:

    pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
    pip install trl==0.29.1 transformers==4.57.6 peft==0.18.1    # then with trl==1.16.0, with trl==0.24.0, and with
    python tests/oracle/trainer_objects.py                       # trl==0.15.2 and transformers==4.49.0

Each `train.py` is run as it stands, without a GPU and without a network. Models on the hub are one layer with a
vocabulary of some words, their tokenizers know these words, have a pad token only where the real ones do, and a chat
template without marks; datasets are four rows. Nothing is trained: what counts is whether the trainer is made, and of
GRPO whether prompts can be made a batch, and a gradient comes back through the checkpoints that it is asked for.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
ANSWERS = HERE / "trainer_objects.json"
CODES = ("TRL723", "TRL725", "TRL726", "TRL729", "TRL731", "TRL732", "TRL734")
CASES = (  # of rules that judge more than objects
    "TRL403/bad_trainer_two_adapters", "TRL403/bad_trainer_reference_from_a_helper",
    "TRL403/ok_trainer_adapter_of_one_branch", "TRL403/ok_trainer_two_adapters_of_0_26",
    "TRL403/ok_trainer_two_models_of_one_helper",
)  # fmt: skip
PACKAGES = ("trl", "transformers", "peft")
_KINDS = {
    "none": re.compile(r"gpt2|llama", re.IGNORECASE),
    "marked": re.compile(r"SmolLM3"),
}
_WORDS = ["<pad>", "<eos>", "<unk>", "a", "b", "c", "user", "assistant"]
_TURN = "{{ m['role'] }} {{ m['content'] }} "
_PLAIN = "{% for m in messages %}" + _TURN + "{% endfor %}"
_WITH_MARKS = (
    "{% for m in messages %}{{ m['role'] }} {% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }} "
    "{% endgeneration %}{% else %}{{ m['content'] }} {% endif %}{% endfor %}"
)


def cases() -> list[str]:
    """The folders of fixtures that are asked about."""
    found = [f"{code}/{path.name}" for code in CODES for path in sorted((FIXTURES / code).iterdir())]
    return [*found, *CASES]


def era() -> str:
    return " ".join(f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES)


def main() -> None:
    answers = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    mine = answers[era()] = {}
    with tempfile.TemporaryDirectory() as folder:
        stand_in(Path(folder))
        for case in cases():
            verdict, said = ask(FIXTURES / case, folder) if can_be_asked(case) else ("unknown", "another template")
            mine[case] = {"verdict": verdict, "said": said}
            print(f"{verdict:8} {case}: {said}")
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


def can_be_asked(case: str) -> bool:
    """Whether the stand-ins will do: from 1.1.0 on TRL compares chat templates with those that models really have."""
    import trl

    return not case.startswith("TRL725") or not (Path(trl.__file__).parent / "chat_templates").exists()


def ask(project: Path, folder: str) -> tuple[str, str]:
    """(refuses, takes or unknown, the first words of what was said). Anything but a judgement is unknown."""
    os.chdir(folder)
    sys.argv = ["train.py"]
    sys.path.insert(0, str(project))
    try:
        runpy.run_path(str(project / "train.py"), run_name="__main__")
    except (ValueError, RuntimeError, NotImplementedError, AttributeError) as error:
        return "refuses", f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"
    except (Exception, SystemExit) as error:
        return "unknown", f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"
    finally:
        sys.path.remove(str(project))
        for name in ("tools",):
            sys.modules.pop(name, None)
    return "takes", ""


def stand_in(folder: Path) -> None:
    """Put small models, tokenizers and datasets in the place of those on the hub, and nothing in that of training."""
    import datasets
    import transformers

    paths = _checkpoints(folder)

    def local(name: Any) -> Any:
        if not isinstance(name, str) or os.path.isdir(name):
            return name
        kinds = (kind for kind, pattern in _KINDS.items() if pattern.search(name))
        return str(paths[next(kinds, "plain")])

    holders = [transformers.AutoConfig, transformers.AutoTokenizer, transformers.AutoProcessor]
    holders += [transformers.PreTrainedModel, transformers.models.auto.auto_factory._BaseAutoModelClass]
    for holder in holders:
        _redirect(holder, local)
    datasets.load_dataset = _load_dataset
    transformers.Trainer.train = _first_batch
    _without_gpu(transformers.TrainingArguments)


def _without_gpu(arguments: Any) -> None:
    original = arguments.__post_init__

    def on_the_cpu(self: Any) -> None:
        self.use_cpu, self.report_to = True, "none"
        original(self)

    arguments.__post_init__ = on_the_cpu


def _redirect(holder: Any, local: Any) -> None:
    original = holder.from_pretrained.__func__

    def from_pretrained(cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        return original(cls, local(name), *args, **kwargs)

    holder.from_pretrained = classmethod(from_pretrained)


def _checkpoints(folder: Path) -> dict[str, Path]:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(_WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    config = Qwen2Config(
        vocab_size=len(_WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    found = {}
    for kind in ("plain", *_KINDS):
        pad = {} if kind == "none" else {"pad_token": "<pad>"}
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", unk_token="<unk>", **pad)
        tokenizer.chat_template = _WITH_MARKS if kind == "marked" else _PLAIN
        path = found[kind] = folder / kind
        tokenizer.save_pretrained(path)
        Qwen2ForCausalLM(config).save_pretrained(path)
    return found


def _load_dataset(name: str, *args: Any, split: Any = None, streaming: bool = False, **kwargs: Any) -> Any:
    from datasets import Dataset, DatasetDict, IterableDatasetDict

    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    rows: dict[str, Any] = {"text": "a b c"}
    if "Capybara" in name:
        rows = {"messages": turns}
    elif "ultrafeedback" in name:
        rows = {"chosen": turns, "rejected": turns}
    elif "tldr" in name:
        rows = {"prompt": "a b", "completion": "c"}
    elif "c4" in name:
        rows |= {"url": "a", "timestamp": "b"}
    data: Any = Dataset.from_list([rows] * 4)
    data = data.to_iterable_dataset() if streaming else data
    holder = IterableDatasetDict if streaming else DatasetDict
    return data if split is not None else holder({"train": data})


def _first_batch(trainer: Any, *args: Any, **kwargs: Any) -> None:
    """What GRPO does first with its prompts, and a gradient as training would take it."""
    if type(trainer).__name__ != "GRPOTrainer":
        return
    batch = trainer.processing_class(["a", "a b"], return_tensors="pt", padding=True, padding_side="left")
    model, arguments = trainer.model, trainer.args
    if arguments.gradient_checkpointing:
        model.train()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=arguments.gradient_checkpointing_kwargs)
        model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.sum().backward()


if __name__ == "__main__":
    main()
