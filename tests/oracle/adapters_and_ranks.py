"""What adapters do in real trainers, for TRL732, TRL752 and TRL812: asked of a model of two layers on the CPU.

    PYTHON tests/oracle/adapters_and_ranks.py frozen | frozen-checkpointed | patched
    PYTHON -m torch.distributed.run --nproc_per_node 2 tests/oracle/adapters_and_ranks.py ddp | ddp-explicit | ddp-false
        | ddp-not-looking

Answers of transformers 4.57.1, torch 2.13.0, accelerate 1.15.0 and peft 0.21.2 on 28 November 2026:

    frozen                 RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
    frozen-checkpointed    ran, nothing changed
    patched                8 tensors are saved; none with peft 0.15.2
    ddp, ddp-explicit      RuntimeError: Expected to mark a variable ready only once
    ddp-false              ran
    ddp-not-looking        ran
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any


def tiny() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    return LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=2, num_key_value_heads=2))


def trained(model: Any, folder: str, **given: Any) -> str:
    """Two steps of training: whether they ran, and whether any weight changed."""
    import torch
    from transformers import Trainer, TrainingArguments

    rows = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(16)]
    args = TrainingArguments(folder, max_steps=2, use_cpu=True, report_to="none", save_strategy="no", **given)
    before = [weight.clone() for weight in model.parameters()]
    try:
        Trainer(model, args, train_dataset=rows).train()
    except RuntimeError as error:
        return f"RuntimeError: {str(error)[:90]}"
    changed = any(bool((a != b).any()) for a, b in zip(before, model.parameters(), strict=True))
    return f"ran, {'something' if changed else 'nothing'} changed"


def ask(question: str, folder: str) -> str:
    from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict

    adapter = LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    base = tiny()
    if question.startswith("ddp") or question == "frozen-checkpointed":
        base.enable_input_require_grads()
    model = get_peft_model(base, adapter)
    if question == "patched":
        whole = model.state_dict
        model.state_dict = lambda *given, **named: get_peft_model_state_dict(model, whole())
        model.save_pretrained(folder)
        from safetensors.torch import load_file

        return f"{len(load_file(Path(folder, 'adapter_model.safetensors')))} tensors are saved"
    if question.startswith("frozen"):
        model.save_pretrained(folder)
        other = tiny()
        if question == "frozen-checkpointed":
            other.enable_input_require_grads()
        loaded = PeftModel.from_pretrained(other, folder)
        return trained(loaded, folder, gradient_checkpointing=question == "frozen-checkpointed")
    given: dict[str, Any] = {"gradient_checkpointing": True}
    if question in ("ddp-explicit", "ddp-not-looking"):
        given["gradient_checkpointing_kwargs"] = {"use_reentrant": True}
    if question == "ddp-false":
        given["gradient_checkpointing_kwargs"] = {"use_reentrant": False}
    if question == "ddp-not-looking":
        given["ddp_find_unused_parameters"] = False
    return trained(model, folder, **given)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(sys.argv[1], ask(sys.argv[1], place))
