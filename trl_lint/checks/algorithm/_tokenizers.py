"""Whose tokenizer a trainer uses: of which model on the hub, if nothing else was done to it."""

from __future__ import annotations

from trl_lint.project.runs import Run
from trl_lint.project.trainercall import Line, TrainerCall, is_absent
from trl_lint.project.trainercall.models import is_name, loader, only, possible_lines
from trl_lint.project.trainercall.running import value_in


def tokenizer_name(call: TrainerCall, run: Run | None, harmless: frozenset[str]) -> str:
    """The id of the model whose tokenizer a trainer certainly uses; "" where that is not certain.

    `harmless`: attributes that may be set on it, where anything else that is done to it leaves the answer open. Without
    a tokenizer the trainer loads that of its model.
    """
    role = "model" if is_absent(call.given("processing_class")) else "processing_class"
    lines = possible_lines(call.lines(role), run)
    names = {_loaded_from(line, run, harmless if role != "model" else None) for line in lines}
    return names.pop() if len(names) == 1 else ""


def _loaded_from(line: Line, run: Run | None, harmless: frozenset[str] | None) -> str:
    if harmless is not None and any(one.kind != "set" or one.path not in harmless for one in line.changes):
        return ""
    load = loader(line)
    if load is None:
        value = value_in(line.made, run) if is_name(line.made) and harmless is None else None
        return value if isinstance(value, str) else ""
    name = only(load.argument("pretrained_model_name_or_path", 0), run)
    value = value_in(name, run) if name is not None else None
    return value if isinstance(value, str) else ""
