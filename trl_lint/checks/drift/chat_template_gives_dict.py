"""TRL308: the result of `apply_chat_template` is used as a list of ids, which transformers 5 gives as a dict."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.drift._calls import is_patched, is_unsloth
from trl_lint.checks.rule import Rule, Site
from trl_lint.checks.verdict import Level, judge_pins
from trl_lint.finding import Finding
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.project.stack import environment_at
from trl_lint.python.guards import bindings, last_name
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.python.values import argument

# Attributes of tensors and lists that a BatchEncoding has not.
_OF_TENSORS = frozenset({"shape", "size", "dim", "ndim", "tolist", "unsqueeze", "squeeze", "append", "extend", "numel"})
_TENSORS = frozenset({"tensor", "LongTensor", "as_tensor", "IntTensor"})
_IDS = frozenset({"input_ids", "inputs"})


class ChatTemplateGivesDict(Rule):
    code = "TRL308"
    triggers = (".apply_chat_template",)

    def check_call(self, site: Site) -> Iterator[Finding]:
        call, module = site.call, site.module
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if owner is None or "tokenizer" not in last_name(owner).lower() or _is_rewritten(module):
            return
        tokenize = argument(call, "tokenize", 5)
        if argument(call, "return_dict", 10) is not ABSENT or not (
            tokenize is ABSENT or module.value(tokenize) is True
        ):
            return
        use = _use_as_list(call, module)
        if use is None:
            return
        environment = environment_at(module, call, site.project, "transformers")
        is_mild = not (isinstance(owner, ast.Name) and _is_tokenizer(owner.id, module))
        verdict = environment and judge_pins(environment, {"transformers": ">=5.0.0"}, Level(self, is_mild))
        if verdict:
            yield self.finding(
                module.location(use),
                f"`{_shown(use, module)}` takes what `apply_chat_template` gives for ids, and transformers 5 gives a "
                f'dict: pass `return_dict=False`, or take `["input_ids"]` ({verdict.scope})',
                severity=verdict.severity,
                related=(module.location(call, "the call"), *verdict.related),
            )


def _shown(node: ast.AST, module: PythonModule) -> str:
    text = " ".join(module.segment(node).split())
    return text if len(text) <= 60 else text[:57] + "…"


@per_module
def _is_rewritten(module: PythonModule) -> bool:
    """Whether the module uses what changes the classes of transformers or trl, or defines the method itself.

    A double of a tokenizer gives what its own method returns, and any object of such a module may be one.
    """
    defined = any(one.name == "apply_chat_template" for one in module.of(ast.FunctionDef))
    return defined or is_unsloth(module) or is_patched(module)


@per_module
def _is_tokenizer(name: str, module: PythonModule) -> bool:
    """Whether a name is bound to nothing but tokenizers in the module."""
    values = bindings(module).get(name, [])
    return bool(values) and all(
        isinstance(value, ast.Call)
        and any(origin.endswith("Tokenizer.from_pretrained") for origin in module.names.origins(value.func))
        for value in values
    )


def _use_as_list(call: ast.Call, module: PythonModule) -> ast.AST | None:
    """A place that can only use a list or a tensor; None where there is none, or the kinds are told apart."""
    direct = _wrong_use(call, module)
    if direct is not None:
        return direct
    parent = module.parents.get(_moved(call, module))
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return None
    found = _used(targets[0].id, module).get(scopes(module).scope(call))
    if found is None or found.stores != 1 or any(_is_careful(node, module) for node in found.loads):
        return None
    wrong = (_wrong_use(node, module) for node in sorted(found.loads, key=_place))
    return next((node for node in wrong if node is not None), None)


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


class _Used:
    """How a name is used in one scope: how often it is bound, and where it is read."""

    def __init__(self) -> None:
        self.stores = 0
        self.loads: list[ast.Name] = []


@per_module
def _used(name: str, module: PythonModule) -> dict[ast.AST, _Used]:
    """How a name is used, by scope: each place is looked at once, however many calls are of that name."""
    table = scopes(module)
    found: dict[ast.AST, _Used] = {}
    for node in module.named(name):
        used = found.setdefault(table.scope(node), _Used())
        if isinstance(node.ctx, ast.Store):
            used.stores += 1
        elif isinstance(node.ctx, ast.Load):
            used.loads.append(node)
    return found


def _is_careful(node: ast.Name, module: PythonModule) -> bool:
    """Whether the code knows of the dict: `x["input_ids"]`, `x.input_ids`, `isinstance(x, …)`, `**x`."""
    parent = module.parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return isinstance(parent.slice, ast.Constant) and isinstance(parent.slice.value, str)
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("input_ids", "attention_mask", "keys", "items")
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in ("isinstance", "hasattr", "getattr", "type")
    return isinstance(parent, (ast.keyword, ast.Dict)) and getattr(parent, "arg", "") is None


def _moved(node: ast.expr, module: PythonModule) -> ast.expr:
    """The call of `.to(…)` on it; a BatchEncoding has that method, and gives itself back."""
    parent = module.parents.get(node)
    around = module.parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr == "to" else None
    return around if isinstance(around, ast.Call) and around.func is parent else node


def _wrong_use(node: ast.expr, module: PythonModule) -> ast.AST | None:
    """The expression around it that needs a list or a tensor."""
    node = _moved(node, module)
    parent = module.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return parent if parent.attr in _OF_TENSORS else None
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add):
        return parent
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        name = last_name(parent.func)
        is_len = isinstance(parent.func, ast.Name) and name == "len"
        is_method = isinstance(parent.func, ast.Attribute) and name in ("generate", "decode")
        return parent if is_len or is_method or name in _TENSORS else None
    if isinstance(parent, ast.keyword) and parent.arg in _IDS:
        around = module.parents.get(parent)
        is_generate = isinstance(around, ast.Call) and last_name(around.func) == "generate"
        return around if is_generate else None
    if isinstance(parent, ast.Dict):
        keys = [key for key, value in zip(parent.keys, parent.values, strict=True) if value is node]
        is_ids = any(isinstance(key, ast.Constant) and key.value == "input_ids" for key in keys)
        return node if is_ids else None
    return None


rule = ChatTemplateGivesDict()
