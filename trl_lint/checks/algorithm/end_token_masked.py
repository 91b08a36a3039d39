"""TRL727: the token that ends a text is the pad token, too, and the collator takes it out of the labels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.algorithm._tokenizers import HARMLESS, loaded_name, tokenizer_name
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Level, Verdict, judge_pins
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.models import habit_of
from trl_lint.memos import per_module
from trl_lint.project.modules import modules_around
from trl_lint.python.guards import key_of, last_name
from trl_lint.python.module import PythonModule, mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall, is_absent
from trl_lint.run.trainer.lines import lines_of
from trl_lint.run.trainer.made import Change
from trl_lint.run.trainer.models import is_handed_on, only, possible_lines
from trl_lint.run.trainer.running import holds_in, value_in

# SFTTrainer makes transformers' collator, which sets all labels that are the pad token to -100: read in 0.9.6, 0.12.2,
# 0.15.2 and 0.16.0. 0.16.1 has one of its own, which goes by the lengths.
_MASKS = ">=0.7.0,<0.16.1"
# That collator given by hand, to these: read in transformers 4.30.2, 4.46.3, 4.52.4, 4.53.0 and 5.15.0.
_COLLATOR = "DataCollatorForLanguageModeling"
_TAKING = frozenset({"trl.SFTTrainer", "transformers.Seq2SeqTrainer", "transformers.Trainer"})
_SETS_PAD = ("pad_token", "add_special_tokens")

# What sets a collator or another end of text, or asks for rows without padding; beside a collator that is given, what
# sets another pad token.
_OTHERWISE = regex(r"data_collator|DataCollator|padding_free|eos_token(?:_id)?\s{0,4}=[^=]")
_OTHER_TOKENS = regex(r"eos_token(?:_id)?\s{0,4}=[^=]|['\"]pad_token['\"]|pad_token=")
_TELLING = frozenset(
    {
        "debug", "endswith", "error", "find", "index", "info", "log", "partition", "print", "removesuffix", "replace",
        "rfind", "rpartition", "rsplit", "rstrip", "split", "strip", "warning",
    }
)  # fmt: skip


class EndTokenMasked(TrainerRule):
    code = "TRL727"
    words = (b"SFTTrainer", b"DataCollatorForLanguageModeling")
    needles = (b"eos_token",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer not in _TAKING or call.own is not None or is_unsloth(call.module):
            return
        given = call.given("data_collator")
        around = modules_around(call.module, b"eos_token", call.project)
        ends = [(module, node) for module in around if (node := appended_end(module)) is not None]
        if not ends:
            return
        end = ends[0][0].location(ends[0][1], "the end of text in the data")
        if not is_absent(given):
            if not mentions(call.module, _OTHER_TOKENS) and _sets_the_end_alone(call.module):
                yield from first_found(call, lambda run: self._in_collator(call, end, run))
        elif call.trainer == "trl.SFTTrainer" and not mentions(call.module, _OTHERWISE):
            yield from first_found(call, lambda run: self._in_run(call, end, run))

    def _in_run(self, call: TrainerCall, end: Location, run: Run | None) -> Finding | None:
        place = _same_token(call, run)
        if place is None:
            return None
        verdict = judge_pins(call.environment, {"trl": _MASKS}, Level(self))
        return None if verdict is None else self._finding(call, end, place, verdict)

    def _in_collator(self, call: TrainerCall, end: Location, run: Run | None) -> Finding | None:
        """A collator of transformers that is given by hand, whatever the releases."""
        made = only(call.given("data_collator"), run)
        if (
            made is None
            or made.kind != "call"
            or made.name != _COLLATOR
            or made.origin.partition(".")[0] != "transformers"
        ):
            return None
        mlm = only(made.argument("mlm", 1), run)
        if made.changes or mlm is None or value_in(mlm, run) is not False:
            return None
        lines = lines_of(made.argument("tokenizer", 0))
        place = _all_set_to_end(lines, run, habit_of(loaded_name(lines, run, HARMLESS)).pad == "none")
        return None if place is None else self._finding(call, end, place, None)

    def _finding(self, call: TrainerCall, end: Location, place: Location, verdict: Verdict | None) -> Finding:
        message = (
            f"the pad token is the end of text, too, and the collator of this {call.name} leaves every pad token out "
            "of the loss: the model never learns the `eos_token` that the script puts behind the examples; take "
            "another `pad_token`"
        )
        related = (end, call.location)
        if verdict is None:
            return self.finding(place, message, related=related)
        return self.finding(
            place, f"{message} ({verdict.scope})", severity=verdict.severity, related=(*related, *verdict.related)
        )


def _same_token(call: TrainerCall, run: Run | None) -> Location | None:
    """Where the end of text certainly becomes the pad token of the trainer's tokenizer; None where it may not."""
    has_none = habit_of(tokenizer_name(call, run, HARMLESS)).pad == "none"
    if is_absent(call.given("processing_class")):
        return call.module.location(call.call.func) if has_none else None  # the trainer sets it so
    return _all_set_to_end(call.lines("processing_class"), run, has_none)


def _all_set_to_end(lines: tuple[Line, ...], run: Run | None, has_none: bool) -> Location | None:
    found = [_set_to_end(line, run, has_none) for line in possible_lines(lines, run)]
    return found[0] if found and None not in found else None


@per_module
def _sets_the_end_alone(module: PythonModule) -> bool:
    """Whether no statement makes anything but the end of text the pad token of anything."""
    pairs = [(target, node.value) for node in module.of(ast.Assign) for target in node.targets]
    return all(
        _is_end(value)
        for target, value in pairs
        if isinstance(target, ast.Attribute) and target.attr in ("pad_token", "pad_token_id")
    )


def _set_to_end(line: Line, run: Run | None, has_none: bool) -> Location | None:
    sets = [one for one in line.changes if one.kind == "other" or one.path.startswith(_SETS_PAD)]
    if is_handed_on(line.steps) or not sets or sets[-1].kind != "set" or not _is_end(sets[-1].value):
        return None
    last = sets[-1]
    is_sure = not last.under or holds_in(last.under, run) is True or (has_none and _asks_for_none(last))
    return last.location if is_sure else None


def _is_end(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("eos_token", "eos_token_id")


def _asks_for_none(change: Change) -> bool:
    """Whether it stands under nothing but the question whether there is a pad token."""
    if len(change.under) != 1:
        return False
    test, truth = change.under[0].test, change.under[0].truth
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        is_none = isinstance(test.ops[0], (ast.Is, ast.Eq)) and test.comparators[0].value is None
        test, truth = test.left, not truth if is_none else truth
    return isinstance(test, ast.Attribute) and test.attr in ("pad_token", "pad_token_id") and not truth


@per_module
def appended_end(module: PythonModule) -> ast.expr | None:
    """The first place where the end of text is joined to other text; None where the data may do without."""
    names = {key_of(target) for node in module.of(ast.Assign) if _is_text_end(node.value) for target in node.targets}
    joined = (node for kind in (ast.BinOp, ast.FormattedValue) for node in module.of(kind) if _joins(node, names))
    found = [node for node in joined if not _is_told(node, module) and not _is_unused(node, module)]
    return min(found, key=lambda node: (node.lineno, node.col_offset), default=None)


def _is_told(node: ast.expr, module: PythonModule) -> bool:
    """Whether a text is written out, compared or raised, and no part of an example."""
    for parent in module.ancestors(node):
        if isinstance(parent, (ast.Raise, ast.Assert, ast.Compare)):
            return True
        if isinstance(parent, ast.Call) and last_name(parent.func) in _TELLING:
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False


def _is_unused(node: ast.expr, module: PythonModule) -> bool:
    """Whether a text only gets a name, which is told as above wherever it is read in the same function."""
    statement = module.statement(node)
    if not isinstance(statement, ast.Assign) or not all(isinstance(one, ast.Name) for one in statement.targets):
        return False
    if any(isinstance(parent, (ast.Dict, ast.Lambda, ast.ListComp)) for parent in module.ancestors(node)):
        return False
    around = module.function(node)
    named = (use for one in statement.targets if isinstance(one, ast.Name) for use in module.named(one.id))
    uses = [use for use in named if isinstance(use.ctx, ast.Load) and module.function(use) is around]
    return all(_is_told(use, module) for use in uses)


def _joins(node: ast.expr, names: set[str]) -> bool:
    parts: tuple[ast.expr, ...] = ()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = (node.left, node.right)
    elif isinstance(node, ast.FormattedValue):
        parts = (node.value,)
    return any(_is_text_end(part) or (isinstance(part, ast.Name) and part.id in names) for part in parts)


def _is_text_end(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "eos_token"


rule = EndTokenMasked()
