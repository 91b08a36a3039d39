"""TRL762: a text begins with the begin token already, and the tokenizer puts another one in front of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found
from trl_lint.checks.algorithm._reward_functions import made_once
from trl_lint.checks.algorithm._tokenizers import HARMLESS, loaded_name, tokenizer_name
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.finding import Finding
from trl_lint.knowledge.chats import chat_of
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.python.guards import last_name
from trl_lint.python.module import PythonModule, mentions
from trl_lint.python.values import argument
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.runs import Run
from trl_lint.run.text import text_of
from trl_lint.run.trainer import TrainerCall, is_absent
from trl_lint.run.trainer.lines import lines_of
from trl_lint.run.trainer.models import is_off, only
from trl_lint.run.trainer.resolver import resolver_of
from trl_lint.run.trainer.running import possible_in, value_in

_RENDERS = "apply_chat_template"
# Whatever of this a script does, the tokenizer, its template or the text may be another one.
_OTHERWISE = regex(
    r"chat_template\s{0,4}=|setup_chat_format|clone_chat_template|get_chat_template|add_bos_token|removeprefix|lstrip"
    r"|\.replace\(\s{0,4}(?:tokenizer\.bos_token|tok\.bos_token|['\"]<)|bos_token\s{0,4}=[^=]"
)
_METHODS = frozenset({"encode", "encode_plus", "batch_encode_plus", "__call__"})
_MESSAGES = ("messages", "prompt", "completion", "chosen", "conversations")


class BeginTwice(TrainerRule):
    code = "TRL762"
    needles = (b"apply_chat_template", b"bos_token", b"<s>", b"<bos>", b"<|begin_of_text|>")

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        if not mentions(module, _OTHERWISE):
            yield from self._tokenised(module, project)
            yield from super().check_module(module, project)

    def _tokenised(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        """Calls of a tokenizer on a text that begins so."""
        for call in module.calls:
            tokenizer = _tokenizer(call)
            text = argument(call, "text", 0)
            if tokenizer is None or not isinstance(text, ast.expr) or _looks(call):
                continue
            whose = _begun_by(text, call, module)
            start = "" if whose is not None else (text_of(text, module, project) or "")
            if whose is None and not start.startswith("<"):
                continue
            name = _name_of(tokenizer, module, project)
            chat = chat_of(name) if name else None
            if chat is None or not chat.begin or not (whose is not None or start.startswith(chat.begin)):
                continue
            if isinstance(whose, ast.expr) and _name_of(whose, module, project) != name:
                continue
            message = (
                f"the text begins with the BOS token `{chat.begin}`, and the tokenizer of {name} puts another in "
                "front: give `add_special_tokens=False`"
            )
            yield self.finding(module.location(call.func), message, related=(module.location(text, "the text"),))

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer != "trl.SFTTrainer" or call.own is not None or is_unsloth(call.module):
            return
        if all(is_absent(call.given(name)) for name in ("formatting_func", "data_collator")):
            yield from first_found(call, lambda run: self._in_trainer(call, run))

    def _in_trainer(self, call: TrainerCall, run: Run | None) -> Finding | None:
        """A column of texts that begin so, which the trainer gives to the tokenizer."""
        field = only(call.field("dataset_text_field"), run)
        column = value_in(field, run) if field is not None else None
        column = "text" if field is not None and field.kind == "absent" else column
        text = _columns(call.module).get(column) if isinstance(column, str) else None
        if text is None or not is_off(call.field("dataset_kwargs"), run):
            return None
        name = tokenizer_name(call, run, HARMLESS)
        chat = chat_of(name) if name else None
        if chat is None or not chat.begin or not _begins(text, chat.begin, call.module, call.project):
            return None
        datasets = columns_of(possible_in(call.given("train_dataset"), run))
        if not datasets or not all(all(one.lacks(role) for role in _MESSAGES) for one in datasets):
            return None
        if not all(column in one.certain for one in datasets):
            return None
        message = (
            f"the texts begin with the BOS token `{chat.begin}`, and SFTTrainer lets the tokenizer of {name} put "
            "another in front: give it the messages, or take the token off the texts"
        )
        return self.finding(
            call.module.location(text), message, related=(call.location._replace(message="the trainer"),)
        )


def _tokenizer(call: ast.Call) -> ast.expr | None:
    """What a call asks for the tokens of its first argument, if it may be a tokenizer."""
    func = call.func
    if isinstance(func, ast.Name):
        return func if "tok" in func.id.lower() else None
    if isinstance(func, ast.Attribute) and func.attr in _METHODS:
        return func.value
    return func if isinstance(func, ast.Attribute) and "tok" in func.attr.lower() else None


def _looks(call: ast.Call) -> bool:
    """Whether a call may say by itself that nothing is put in front."""
    return argument(call, "add_special_tokens") is not ABSENT


def _begun_by(text: ast.expr, use: ast.AST, module: PythonModule) -> ast.expr | bool | None:
    """The tokenizer whose template wrote a text, True where it is put behind a `bos_token`; None for neither."""
    if isinstance(text, ast.Name):
        function = module.function(use)
        made = made_once(function, text.id) if function is not None else None
        return _begun_by(made, use, module) if made is not None and not isinstance(made, ast.Name) else None
    if isinstance(text, ast.Subscript) and isinstance(text.slice, ast.Constant):
        made = _columns(module).get(text.slice.value)
        return _begun_by(made, made, module) if made is not None and not isinstance(made, ast.Subscript) else None
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute) and text.func.attr == _RENDERS:
        return text.func.value if module.value(_keyword(text, "tokenize")) is False else None
    first: ast.expr = text
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add):
        first = first.left
    if isinstance(first, ast.JoinedStr) and first.values:
        head = first.values[0]
        first = head.value if isinstance(head, ast.FormattedValue) else head
    return True if isinstance(first, ast.Attribute) and first.attr == "bos_token" else None


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _begins(text: ast.expr, begin: str, module: PythonModule, project: Project) -> bool:
    if _begun_by(text, text, module) is not None:
        return True
    return (text_of(text, module, project) or "").startswith(begin)


def _name_of(tokenizer: ast.expr, module: PythonModule, project: Project) -> str:
    resolver = resolver_of(module, project)
    resolver.refill()
    options = resolver.options(tokenizer, resolver.frame_at(tokenizer, resolver.frame(module)))
    return loaded_name(lines_of(options), None, HARMLESS)


@per_module
def _columns(module: PythonModule) -> dict[object, ast.expr]:
    """What functions that a dataset is mapped with put into a column, where one place of the module does."""
    found: dict[object, list[ast.expr]] = {}
    for node in module.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.setdefault(key.value, []).append(value)
    for assign in module.of(ast.Assign):
        for target in assign.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                found.setdefault(target.slice.value, []).append(assign.value)
    is_mapped = any(last_name(call.func) == "map" for call in module.calls)
    return {key: values[0] for key, values in found.items() if len(values) == 1} if is_mapped else {}


rule = BeginTwice()
