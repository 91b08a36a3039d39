"""TRL765: what a loss or a collator of the project reads of a batch, and the trainer or the model does with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.project import Project
from trl_lint.python.guards import key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import loader, only, possible_lines
from trl_lint.run.trainer.running import possible_in, value_in

# Parameters of `forward` of the classes that the Auto classes below load, and names that are like them: read in all
# modeling files of 4.57.6.
_TAKEN = regex(
    r"(?:.*_(?:ids|id|mask|masks|values|embeds|embeddings|features|labels|label|states|positions|thw|sizes?|lengths?|index"
    r"|indices|outputs|attentions|weights|position|boxes|codes|logps)|labels?|input_.*|inputs?|output_.*|return_.*|use_.*"
    r"|decoder_.*|encoder_.*|pixel_.*|audio_.*|image_.*|video_.*|cache_.*|logits_to_keep|past_key_values|bbox|mems|langs"
    r"|is_impossible|next_sentence_label|start_positions|end_positions|num_items_in_batch|features|attention.*|position.*)"
)
# Their `forward` takes no other keywords before 5.0.0: read in 4.40.2, 4.44.2, 4.48.3, 4.51.3, 4.53.0, 4.55.4, 4.57.6,
# 5.0.0 and 5.9.0. ModernBERT and XLNet do.
_CLOSED = "<5.0.0"
_ENCODERS = regex(
    r"(?:[\w.-]+/)?(?:bert|roberta|xlm-roberta|distilbert|distilroberta|electra|deberta|albert|camembert|mpnet"
    r"|longformer)-.{1,80}"
)
_HEADS = frozenset({"AutoModelForSequenceClassification", "AutoModelForTokenClassification", "AutoModelForMaskedLM"})
_TEXTS = _HEADS | {"AutoModelForCausalLM", "AutoModelForSeq2SeqLM"}
_HF = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer"})
_LOADS = frozenset(
    {
        "get_train_dataloader", "_remove_unused_columns", "_get_collator_with_removed_columns",
        "_set_signature_columns_if_needed",
    }
)  # fmt: skip
_OWN = regex(r"self\.(?!tok|proc)\w+")
_OVERRIDDEN = ("compute_loss", "_batch_loss_metrics", "concatenated_forward", "prediction_step")
_MASKS = frozenset({"masked_fill", "masked_fill_", "where", "ignore_index", "attention_mask", "label_pad_token_id"})


class _Function(NamedTuple):
    node: FunctionNode
    module: PythonModule
    skipped: int  # `self`


class BatchKeys(TrainerRule):
    code = "TRL765"
    needles = (b"data_collator", b"compute_loss", b"Trainer(", b"_batch_loss_metrics", b"concatenated_forward")

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        yield from super().check_module(module, project)
        if any(name in module.text for name in _OVERRIDDEN):
            from trl_lint.checks.algorithm._batch_releases import columns_of_other_releases

            yield from columns_of_other_releases(module, project, self)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        yield from self._losses(call)
        collator = _function_of(only(call.given("data_collator"), None))
        if call.trainer in _HF and not _defined(call) & _LOADS:
            yield from first_found(
                call, lambda run: self._removed(call, collator, run) if collator else self._none_left(call, run)
            )
        if collator is not None:
            yield from self._unmasked(call, collator)

    def _losses(self, call: TrainerCall) -> Iterator[Finding]:
        """A column that a loss reads, and the model gets as well and does not take."""
        if call.trainer not in _HF:
            return
        name = _loaded(call)
        if name is None or not _takes_nothing_more(*name):
            return
        for cls in call.classes:
            found = _read_and_handed_on(cls)
            if found is None:
                continue
            key, place, handed = found
            verdict = judge_pins(call.environment, {"transformers": _CLOSED}, Level(self))
            if verdict is not None:
                message = (
                    f"the batch goes to the model with `{key}` in it, which {name[1]} does not take (TypeError): take "
                    f'it out where it is read, `inputs.pop("{key}")` ({verdict.scope})'
                )
                related = (handed._replace(message="the model gets the batch here"), call.location)
                yield self.finding(place, message, severity=verdict.severity, related=(*related, *verdict.related))

    def _none_left(self, call: TrainerCall, run: Run | None) -> Finding | None:
        """A dataset of which the trainer takes all columns away, since they are texts."""
        name = _loaded(call)
        datasets = columns_of(possible_in(call.given("train_dataset"), run)) if name and _reads_texts(name[0]) else ()
        if not datasets or not _takes_away(call, run):
            return None
        if not all(one.complete and one.names and not any(map(_may_be_taken, one.names)) for one in datasets):
            return None
        names = ", ".join(f"`{one}`" for one in list(datasets[0].names)[:4])
        message = (
            f"the model takes none of the columns of the dataset ({names}), and {call.name} takes away all others "
            "(ValueError: No columns in the dataset match): tokenize it, or set `remove_unused_columns=False` for a "
            "collator that does"
        )
        return self.finding(call.location, message)

    def _removed(self, call: TrainerCall, collator: _Function, run: Run | None) -> Finding | None:
        """A column that a collator reads, and that the trainer takes away before."""
        name = _loaded(call)
        if name is None or not _reads_texts(name[0]):
            return None
        if not _takes_away(call, run):
            return None
        found = next(((key, node) for key, node in _of_rows(collator) if not _may_be_taken(key)), None)
        if found is None:
            return None
        key, node = found
        message = (
            f"`{key}` is taken away before the collator reads it (KeyError): {call.name} keeps the columns that the "
            "model takes; set `remove_unused_columns=False`"
        )
        related = (call.location._replace(message="the trainer"),)
        return self.finding(collator.module.location(node), message, related=related)

    def _unmasked(self, call: TrainerCall, collator: _Function) -> Iterator[Finding]:
        """Labels that are the tokens of a padded batch, or are padded with a token."""
        batch = only(call.field("per_device_train_batch_size"), None)
        is_one = batch is not None and batch.kind != "absent" and value_in(batch, None) == 1
        if is_one or call.trainer.rpartition(".")[2] not in ("Trainer", "Seq2SeqTrainer", "SFTTrainer"):
            return
        node = _padded_labels(collator.node)
        if node is not None:
            message = (
                "the labels of padded places are tokens here: the model is trained to write padding; set them to -100 "
                "where the attention mask is 0"
            )
            related = (call.location._replace(message="the trainer"),)
            yield self.finding(collator.module.location(node), message, severity="warning", related=related)


def _takes_away(call: TrainerCall, run: Run | None) -> bool:
    kept = only(call.field("remove_unused_columns"), run)
    return kept is not None and (kept.kind == "absent" or value_in(kept, run) is True)


def _loaded(call: TrainerCall) -> tuple[str, str] | None:
    """The class and the id that a model is certainly loaded by."""
    found = set()
    for line in possible_lines(call.lines("model"), None):
        load = loader(line)
        name = only(load.argument("pretrained_model_name_or_path", 0), None) if load is not None else None
        value = value_in(name, None) if name is not None else None
        if load is None or not load.origin.startswith("transformers."):
            return None
        found.add((load.origin.split(".")[-2], value if isinstance(value, str) else ""))
    return found.pop() if len(found) == 1 else None


def _defined(call: TrainerCall) -> set[str]:
    nodes = [cls.node for cls in call.classes if isinstance(cls.node, ast.ClassDef)]
    return {one.name for node in nodes for one in node.body if isinstance(one, ast.FunctionDef)}


def _function_of(made: Made | None) -> _Function | None:
    """The function that collates: one of the project, or the `__call__` of an object of the project."""
    if made is None:
        return None
    node = made.node
    if made.kind == "function" and isinstance(node, ast.FunctionDef):
        return _Function(node, made.frame.module, 0)
    base = made.base
    if made.kind == "instance" and isinstance(base, Made) and isinstance(base.node, ast.ClassDef):
        body = [one for one in base.node.body if isinstance(one, ast.FunctionDef)]
        calls = [one for one in body if one.name in ("__call__", "torch_call")]
        return _Function(calls[0], base.frame.module, 1) if len(calls) == 1 else None
    return None


def _parameter(function: FunctionNode, position: int) -> str:
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    return names[position] if len(names) > position else ""


def _read_and_handed_on(cls: Made) -> tuple[str, Location, Location] | None:
    """A column that `compute_loss` of a class reads and leaves in the batch that it gives to the model."""
    node, module = cls.node, cls.frame.module
    body = [one for one in node.body if isinstance(one, ast.FunctionDef)] if isinstance(node, ast.ClassDef) else []
    function = next((one for one in body if one.name == "compute_loss"), None)
    inputs, model = (_parameter(function, 2), _parameter(function, 1)) if function is not None else ("", "")
    if function is None or not inputs or not model:
        return None
    inner = own_nodes(function)
    if any(isinstance(one, ast.Name) and one.id == inputs and isinstance(one.ctx, ast.Store) for one in inner):
        return None
    handed = next((one for one in inner if _is_handed(one, inputs, model)), None)
    if handed is None:
        return None
    taken = _taken_out(inner, inputs)
    for one in sorted((each for each in inner if isinstance(each, (ast.Subscript, ast.Call))), key=_place):
        key = _key_read(one, inputs)
        if key and key not in taken and taken is not _ALL and not _may_be_taken(key):
            return key, module.location(one), module.location(handed)
    return None


_ALL: frozenset[str] = frozenset({"*"})


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_handed(node: ast.AST, inputs: str, model: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id == model:
        return any(keyword.arg is None and key_of(keyword.value) == inputs for keyword in node.keywords)
    is_super = isinstance(node.func, ast.Attribute) and node.func.attr == "compute_loss"
    return is_super and any(key_of(value) == inputs for value in node.args)


def _key_read(node: ast.AST, inputs: str) -> str:
    """The column that an expression reads of the batch."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and key_of(node.value) == inputs:
        return node.slice.value if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) else ""
    return ""


def _taken_out(inner: list[ast.AST], inputs: str) -> frozenset[str]:
    """The columns that a function takes out of a batch; all of them where it may be any."""
    found: set[str] = set()
    for node in inner:
        if isinstance(node, ast.Delete):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and key_of(target.value) == inputs:
                    if not isinstance(target.slice, ast.Constant):
                        return _ALL
                    found.add(str(target.slice.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and key_of(node.func.value) == inputs:
            if node.func.attr not in ("pop", "popitem", "clear", "update"):
                continue
            first = node.args[0] if node.args else None
            if not isinstance(first, ast.Constant):
                return _ALL
            found.add(str(first.value))
    return frozenset(found)


def _of_rows(collator: _Function) -> Iterator[tuple[str, ast.expr]]:
    """The columns that a collator reads of each row, in the order of the text, outside of tests."""
    rows = _parameter(collator.node, collator.skipped)
    inner = own_nodes(collator.node)
    items: set[str] = set()
    for node in inner:
        if isinstance(node, (ast.For, ast.comprehension)) and key_of(node.iter) == rows:
            items |= {node.target.id} if isinstance(node.target, ast.Name) else set()
    read = [node for node in inner if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)]
    for node in sorted(read, key=_place):
        is_row = key_of(node.value) in items or key_of(node.value) == f"{rows}[]"
        key = node.slice.value if is_row and isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str) and not _is_asked(node, collator):
            yield key, node


def _is_asked(node: ast.AST, collator: _Function) -> bool:
    """Whether a test or a `try` stands around an expression."""
    for parent in collator.module.ancestors(node):
        if parent is collator.node:
            return False
        if isinstance(parent, (ast.If, ast.IfExp, ast.Try)):
            return True
    return True


def _padded_labels(function: FunctionNode) -> ast.expr | None:
    """The expression by which a function makes labels that are tokens where the batch is padded."""
    inner = own_nodes(function)
    words = {node.attr for node in inner if isinstance(node, ast.Attribute)}
    words |= {node.value for node in inner if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    words |= {keyword.arg for node in inner if isinstance(node, ast.Call) for keyword in node.keywords if keyword.arg}
    negated = [node.operand for node in inner if isinstance(node, ast.UnaryOp)]
    numbers = {node.value for node in negated if isinstance(node, ast.Constant)}
    pads = any(
        isinstance(node, ast.Call)
        and any(keyword.arg == "padding" and _is_padding(keyword.value) for keyword in node.keywords)
        for node in inner
    )
    if 100 in numbers or words & (_MASKS - {"attention_mask"}):
        return None
    calls = {key_of(node.func) for node in inner if isinstance(node, ast.Call)}
    if any(_OWN.fullmatch(name) or name.endswith(("mask", "labels")) for name in calls):
        return None  # who knows what else is done to them
    for node in inner:
        value = _copied(_labels_value(node))
        if isinstance(value, ast.Name):
            made = [one.value for one in inner if isinstance(one, ast.Assign) and key_of(one.targets[0]) == value.id]
            value = _copied(made[0]) if len(made) == 1 else None
        if pads and isinstance(value, (ast.Subscript, ast.Attribute)) and _is_input_ids(value):
            return value
        if isinstance(value, ast.Call) and last_name(value.func) == "pad_sequence":
            padding = next((one.value for one in value.keywords if one.arg == "padding_value"), None)
            if padding is None or key_of(padding).endswith(("pad_token_id", "eos_token_id")) or _is_zero(padding):
                return value
    return None


def _copied(value: ast.expr | None) -> ast.expr | None:
    """What `value.clone()` is a copy of."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in ("clone", "copy", "detach"):
            return value
        value = value.func.value
    return value


def _is_padding(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value in (True, "longest", "max_length")


def _is_zero(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == 0


def _is_input_ids(value: ast.expr) -> bool:
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Constant) and value.slice.value == "input_ids"
    return isinstance(value, ast.Attribute) and value.attr == "input_ids"


def _labels_value(node: ast.AST) -> ast.expr | None:
    """What a statement gives the name `labels` in a batch."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            return node.value if target.slice.value == "labels" else None
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return next((value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "labels"), None)
    return None


def _may_be_taken(name: str) -> bool:
    """Whether a model may take a column of this name."""
    return _TAKEN.fullmatch(name) is not None


def _takes_nothing_more(loader: str, identifier: str) -> bool:
    """Whether the model that an Auto class loads is known to refuse columns that it has no parameter for."""
    return loader in _HEADS and _ENCODERS.fullmatch(identifier) is not None


def _reads_texts(loader: str) -> bool:
    """Whether the models of an Auto class take tokens, and no texts or messages."""
    return loader in _TEXTS


rule = BatchKeys()
