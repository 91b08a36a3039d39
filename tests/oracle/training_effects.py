"""Asks the libraries whether what some rules say of a training is so: on a CPU, with a model of one layer.

`trainer_objects.py` asks whether a trainer can be made. Here the run goes on: is a row of the embeddings the same after
a step, which labels are left, what of a text is there, does an example see the one before it. The answers are data
(`training_effects.json`): `tests/checks/test_training_effects.py` holds them against the releases that the rules name
and needs no library. Run this again to add claims or releases:

    pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu
    pip install trl==1.16.0 transformers==5.23.0 peft     # then with trl==0.19.1 and transformers==4.52.4
    python tests/oracle/training_effects.py
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANSWERS = Path(__file__).parent / "training_effects.json"
PACKAGES = ("trl", "transformers", "peft")
_WORDS = ["<pad>", "<eos>", "<unk>", "<step>", *(f"w{at}" for at in range(28))]


def era() -> str:
    return " ".join(f"{name}=={importlib.metadata.version(name)}" for name in PACKAGES)


def main() -> None:
    answers = json.loads(ANSWERS.read_text("utf-8")) if ANSWERS.exists() else {}
    mine = answers[era()] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, ask in CLAIMS.items():
            try:
                mine[name] = ask()
            except (ImportError, TypeError, ValueError) as error:  # not in this release
                mine[name] = f"{type(error).__name__}: {str(error)[:90]}"
            print(f"{mine[name]!s:8} {name}")
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")


# -- small things ---------------------------------------------------------------------------------------------------


def tokenizer(pad: str = "<pad>") -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: at for at, word in enumerate(_WORDS)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<eos>", unk_token="<unk>", pad_token=pad, model_max_length=4096
    )


def model(attention: str = "sdpa") -> Any:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(_WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=4096, attn_implementation=attention, pad_token_id=0,
    )  # fmt: skip
    return Qwen2ForCausalLM(config).eval()


def sft(rows: list[dict[str, Any]], pad: str = "<pad>", **fields: Any) -> Any:
    """A trainer of TRL with its dataset prepared."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    args = SFTConfig(output_dir="out", report_to="none", use_cpu=True, bf16=False, **fields)
    return SFTTrainer(model=model(), args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer(pad))


def first_batch(trainer: Any) -> Any:
    return next(iter(trainer.get_train_dataloader()))


def row_moves(**settings: Any) -> bool:
    """Whether a step with LoRA on the attention changes the row of a token that was added to the vocabulary."""
    import torch
    from peft import LoraConfig, get_peft_model

    words, base = tokenizer(), model()
    words.add_tokens(["<new>"])
    base.resize_token_embeddings(len(words))
    base.get_input_embeddings().weight.data.normal_()
    new = words.convert_tokens_to_ids("<new>")
    given = {name: [new] if value == "new" else value for name, value in settings.items()}
    wrapped = get_peft_model(base, LoraConfig(target_modules=["q_proj", "v_proj"], **given))

    def row() -> Any:
        with torch.no_grad():
            return wrapped.get_input_embeddings()(torch.tensor([new])).clone()

    before = row()
    trained = [one for one in wrapped.parameters() if one.requires_grad]
    ids = torch.tensor([[4, new, 5, 6]])
    for _ in range(2):
        wrapped(input_ids=ids, labels=ids).loss.backward()
        torch.optim.SGD(trained, lr=1.0).step()
    return not torch.equal(before, row())


def end_is_learnt(pad: str) -> bool:
    """Whether the collator of transformers leaves the end of text in the labels."""
    from transformers import DataCollatorForLanguageModeling

    words = tokenizer(pad)
    batch = DataCollatorForLanguageModeling(words, mlm=False)([words("w1 w2 <eos>"), words("w3 <eos>")])
    return bool((batch["labels"] == words.eos_token_id).any())


def end_is_learnt_by_sft() -> bool:
    """The same of the collator that SFTTrainer makes by itself."""
    batch = first_batch(sft([{"text": "w1 w2 <eos>"}, {"text": "w3 <eos>"}], pad="<eos>"))
    return bool((batch["labels"] == 1).any())


def sees_the_one_before(**fields: Any) -> bool:
    """Whether the logits of a packed example change with the example that stands before it, without flash attention."""
    import torch

    found = []
    for first in ("w1 w2 w3", "w7 w8 w9"):
        settings = {"per_device_train_batch_size": 2, "max_length": 16, **fields}
        trainer = sft([{"text": first}, {"text": "w4 w5 w6"}], **settings)
        # In the order of the rows, whatever the sampler makes of it.
        batch = trainer.data_collator([trainer.train_dataset[at] for at in range(len(trainer.train_dataset))])
        passed = {name: batch[name] for name in ("input_ids", "attention_mask", "position_ids") if name in batch}
        row, column = (batch["input_ids"] == _WORDS.index("w5")).nonzero()[0].tolist()
        with torch.no_grad():
            found.append(model()(**passed, use_cache=False).logits[row, column])  # as the trainer does
    return not torch.allclose(*found, atol=1e-6)


def hidden_by_ddp() -> str:
    """What a model of transformers with an adapter has and DistributedDataParallel around it has not."""
    import torch
    from peft import LoraConfig, get_peft_model

    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        inner = get_peft_model(model(), LoraConfig(target_modules=["q_proj"]))
        outer = torch.nn.parallel.DistributedDataParallel(inner)
        names = {*dir(inner), *dir(inner.get_base_model()), "config", "generation_config", "lm_head"}
        public = (name for name in sorted(names) if not name.startswith("_"))
        return " ".join(name for name in public if hasattr(inner, name) and not hasattr(outer, name))
    finally:
        torch.distributed.destroy_process_group()


def prompts_are_learnt() -> bool:
    """Whether `completion_only_loss` masks nothing of rows that are texts."""
    batch = first_batch(sft([{"text": "w1 w2 w3"}] * 2, completion_only_loss=True))
    return bool((batch["labels"] != -100).all())


def length_by_default() -> int:
    """How much SFTTrainer leaves of a text of 3000 tokens whose tokenizer is for 4096, where nobody gives a length."""
    trainer = sft([{"text": " ".join(["w1"] * 3000)}], per_device_train_batch_size=1)
    return int(first_batch(trainer)["input_ids"].shape[1])


def stops_with_arguments_of_transformers() -> str:
    """What DPOTrainer says of `TrainingArguments`."""
    from datasets import Dataset
    from transformers import TrainingArguments
    from trl import DPOTrainer

    rows = Dataset.from_list([{"prompt": "w1", "chosen": "w2", "rejected": "w3"}])
    args = TrainingArguments(output_dir="out", report_to="none", use_cpu=True)
    try:
        DPOTrainer(model=model(), ref_model=model(), args=args, train_dataset=rows, processing_class=tokenizer())
    except AttributeError as error:
        return str(error)
    return ""


CLAIMS: dict[str, Callable[[], Any]] = {
    "TRL123 hidden": hidden_by_ddp,
    "TRL724 moves": row_moves,
    "TRL724 moves, modules_to_save": lambda: row_moves(modules_to_save=["embed_tokens"]),
    "TRL724 moves, trainable_token_indices": lambda: row_moves(trainable_token_indices="new"),
    "TRL727 learnt, pad is the end": lambda: end_is_learnt("<eos>"),
    "TRL727 learnt, another pad": lambda: end_is_learnt("<pad>"),
    "TRL727 learnt by SFTTrainer, pad is the end": end_is_learnt_by_sft,
    "TRL728 sees, packing": lambda: sees_the_one_before(packing=True),
    "TRL728 sees, packing, wrapped": lambda: sees_the_one_before(packing=True, packing_strategy="wrapped"),
    "TRL728 sees, padding_free": lambda: sees_the_one_before(padding_free=True, max_length=None),
    "TRL728 sees, padded": lambda: sees_the_one_before(),
    "TRL733 prompts are learnt": prompts_are_learnt,
    "TRL736 length": length_by_default,
    "TRL737 says": stops_with_arguments_of_transformers,
}


if __name__ == "__main__":
    main()
