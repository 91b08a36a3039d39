"""Whose tokenizer a trainer uses: of which model on the hub, if nothing else was done to it."""

from __future__ import annotations

import ast

from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall, is_absent
from trl_lint.run.trainer.models import is_handed_on, is_name, loader, only, possible_lines
from trl_lint.run.trainer.running import value_in

# What may be set on a tokenizer, and it ends texts, and renders chats, as that of its model does.
HARMLESS = frozenset({"pad_token", "pad_token_id", "padding_side", "truncation_side", "model_max_length"})


def tokenizer_name(call: TrainerCall, run: Run | None, harmless: frozenset[str]) -> str:
    """The id of the model whose tokenizer a trainer certainly uses; "" where that is not certain.

    `harmless`: attributes that may be set on it, where anything else that is done to it leaves the answer open. Without
    a tokenizer the trainer loads that of its model.
    """
    if is_absent(call.given("processing_class")):
        return loaded_name(call.lines("model"), run, None)
    return loaded_name(call.lines("processing_class"), run, harmless)


def loaded_name(lines: tuple[Line, ...], run: Run | None, harmless: frozenset[str] | None) -> str:
    """The id that all lines of a tokenizer (with `harmless` None: a model) are loaded by; "" where none is certain."""
    names = {_loaded_from(line, run, harmless) for line in possible_lines(lines, run)}
    return names.pop() if len(names) == 1 else ""


# What a tokenizer may be loaded with that leaves its tokens and its template as they are.
_PLAIN = frozenset(
    {
        "pretrained_model_name_or_path", "add_bos_token", "add_eos_token", "attn_implementation", "cache_dir",
        "device_map", "dtype", "local_files_only", "low_cpu_mem_usage", "max_length", "model_max_length",
        "padding_side", "quantization_config", "token", "torch_dtype", "truncation_side", "trust_remote_code",
        "use_auth_token", "use_cache", "use_fast",
    }
)  # fmt: skip


def _is_plain(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and all(keyword.arg in _PLAIN for keyword in node.keywords)


def _loaded_from(line: Line, run: Run | None, harmless: frozenset[str] | None) -> str:
    if harmless is not None and any(one.kind != "set" or one.path not in harmless for one in line.changes):
        return ""
    if is_handed_on(line.steps):
        return ""
    load = loader(line)
    if load is not None and not _is_plain(load.node):
        return ""
    if load is None:
        value = value_in(line.made, run) if is_name(line.made) and harmless is None else None
        return value if isinstance(value, str) else ""
    name = only(load.argument("pretrained_model_name_or_path", 0), run)
    value = value_in(name, run) if name is not None else None
    return value if isinstance(value, str) else ""
