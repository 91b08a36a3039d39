"""Deprecations that are only announced in text: help texts, warnings, decorators.

The rule is strict on purpose. "`None` for `top_k` is deprecated" or "using `EvaluationStrategy` for `eval_strategy` is
deprecated" speak of a value, and a loose reading of such sentences gave thousands of wrong findings on trl's own tests.
So a sentence counts only if it begins with the name (or with "this parameter", or with "Deprecated" in its help text).

A successor is written as `name` when the text says no more than "use `name` instead", as `?name` when it adds
conditions, and as `?` when it names none: only the first kind is a rename that may be applied without thinking.
"""

from __future__ import annotations

import ast
import re

from trl_lint.knowledge.refresher.values import template
from trl_lint.python.default_text import last_name, read_string
from trl_lint.regexes import regex

NO_SUCCESSOR = "?"
_NOUN = r"(?:parameter|argument|option|field|attribute|keyword argument|flag|config|configuration)s?"
_HELP = regex(rf"(?:^|[.)\]]\s)\W{{0,60}}(?:deprecated\b|this {_NOUN} (?:is|has been) deprecated)", re.IGNORECASE)
_USE = r"(?:use(?: of)?|using|in fav(?:ou?)r of|replaced (?:by|with)|renamed to|prefer|alias (?:of|for))"
_QUOTED = r"[`'\"](?:--)?(?P<name>[A-Za-z_][\w.]*)[`'\"]"
_SUCCESSOR = regex(rf"\b{_USE}\s+(?:the\s+)?{_QUOTED}", re.IGNORECASE)
_PLAIN_END = regex(
    rf"(?:\s+{_NOUN})?(?:\s+instead|\s+is preferred)?\s*"
    r"(?:$|[.!](?:\s|$)|(?:and|,) will be removed|to (?:avoid|silence)|from now on)",
    re.IGNORECASE,
)
# "If you want to customize the packing length, use `max_length`" is advice for a purpose, not a rename.
_CONDITION = regex(r"\b(?:if|to|when|for|in order)\b", re.IGNORECASE)
_MOVED = regex(r"from\s+([\w.]+)\s+import\s+(\w+)")
_MOVED_PATH = regex(
    r"(?:moved to|use|import(?:ed)? from|located in|available (?:as|in))\s+[`'\"]((?:trl|transformers"
    r"|accelerate|peft|vllm)\.[\w.]+)[`'\"]",
    re.IGNORECASE,
)
_ANNOUNCEMENT = regex(rb"deprecat|is now located|moved to|will be removed")
_WARNERS = {"warn", "warning", "warning_once", "warn_once", "warning_advice", "warn_deprecated", "deprecate"}


class Announcements:
    """The lines of a module that speak of a deprecation: only functions around them need a closer look."""

    def __init__(self, source: bytes) -> None:
        self._lines = [i for i, line in enumerate(source.lower().split(b"\n"), 1) if _ANNOUNCEMENT.search(line)]

    def inside(self, node: ast.stmt) -> bool:
        return any(node.lineno <= line <= (node.end_lineno or node.lineno) for line in self._lines)


def warning_text(node: ast.stmt) -> str:
    """The template of the message a statement warns with, "" for other statements."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return ""
    call = node.value
    if last_name(call.func) not in _WARNERS or not call.args:
        return ""
    return template(call.args[0]) or ""


def successor(text: str, old: str = "") -> str:
    """What a deprecation text announces as the successor of a parameter `old`."""
    for found in _SUCCESSOR.finditer(text):
        name = found["name"].rpartition(".")[2]
        if name != old:  # "Using `old` is deprecated"
            before = re.split(r"[.!]\s", text[: found.start()])[-1]
            is_plain = _PLAIN_END.match(text, found.end()) and not _CONDITION.search(before)
            return name if is_plain else f"?{name}"
    return NO_SUCCESSOR


def help_deprecation(text: str) -> str:
    """The successor if a help text says that its parameter is deprecated, else ""."""
    return successor(text) if _HELP.search(text) else ""


def is_about(text: str, name: str) -> bool:
    """Whether a sentence of a warning begins with the parameter and says that it is deprecated."""
    subject = (
        rf"(?:^|\. )\W{{0,20}}(?:(?:note that|the|using|use of|passing|setting|{_NOUN}|an?) ){{0,8}}"
        rf"[`'\"]?(?:\w{{1,60}}\.){{0,6}}(?:--)?{re.escape(name)}(?:=\S{{0,60}})?[`'\"]?"
        rf"(?:\s+(?:in|of|for|to)\s+(?:the\s+)?[`'\"]?[A-Z]\w+(?:\.\w+)*[`'\"]?)?(?:\s+{_NOUN})?"
        r"(?:\s+(?:is|are|was|has been|have been|will be|to)\b[^.]{0,40}?|\s+)?\bdeprecated"
    )
    return re.search(subject, " ".join(text.split()), re.IGNORECASE) is not None


def warned_parameters(body: list[ast.stmt], names: set[str] | None) -> dict[str, str]:
    """Parameters whose use a function warns about: `if self.x is not None: warnings.warn("`x` is deprecated …")`.

    `names` limits the parameters looked for; None takes all. Returns name -> successor. Only conditions that mean "was
    given" count.
    """
    found: dict[str, str] = {}
    for node in body:
        for branch in ast.walk(node):
            if not isinstance(branch, ast.If):
                continue
            given = _given_names(branch.test)
            given = given if names is None else given & names
            for text in filter(None, map(warning_text, branch.body)):
                for name in sorted(given):
                    if is_about(text, name):
                        found.setdefault(name, successor(text, name))
    return found


def _given_names(test: ast.expr) -> set[str]:
    """Names `x` for which a condition holds only if x was given: `x is not None`, `self.x`, `x != "auto"`, `"x" in
    kwargs`.
    """
    if isinstance(test, ast.BoolOp):
        return set().union(*map(_given_names, test.values))
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if isinstance(test.ops[0], (ast.IsNot, ast.NotEq, ast.Gt)):
            return {last_name(test.left)} - {""}
        return {read_string(test.left)} - {""} if isinstance(test.ops[0], ast.In) else set()
    return {last_name(test)} - {""}


def moved(body: list[ast.stmt]) -> str:
    """Where a class or function that warns on every use has gone: `module:Name`, `?`, or "" if it does not warn.

    Only statements that always run count.
    """
    for node in body:
        text = " ".join(warning_text(node).split())
        if re.search(r"deprecated|is now located|has been moved|moved to|will be removed", text, re.IGNORECASE):
            return moved_to(text)
    return ""


def moved_to(text: str) -> str:
    found = _MOVED.search(text)
    if found:
        return f"{found[1]}:{found[2]}"
    path = _MOVED_PATH.search(text)
    if path and "." in path[1]:
        module, _, name = path[1].rpartition(".")
        return f"{module}:{name}" if name[:1].isupper() or "_" in name else path[1]
    return successor(text)


def decorated_renames(decorators: list[ast.expr]) -> dict[str, str]:
    """Names that `@deprecate_kwarg` accepts beside the signature (transformers.utils.deprecation): old -> successor."""
    found: dict[str, str] = {}
    for node in decorators:
        if isinstance(node, ast.Call) and last_name(node.func) == "deprecate_kwarg" and node.args:
            given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            # deprecate_kwarg(old_name, version, new_name=None, …)
            new = given.get("new_name", node.args[2] if len(node.args) > 2 else None)
            old = read_string(node.args[0])
            if old:
                found[old] = read_string(new) or NO_SUCCESSOR
    return found


def decorated_arguments(decorators: list[ast.expr]) -> dict[str, str]:
    """Parameters that `@_deprecate_arguments` (huggingface_hub) warns about: name -> successor."""
    found: dict[str, str] = {}
    for node in decorators:
        if isinstance(node, ast.Call) and last_name(node.func) == "_deprecate_arguments":
            given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
            names = given.get("deprecated_args")
            if isinstance(names, (ast.List, ast.Set, ast.Tuple)):
                text = template(given["custom_message"]) if "custom_message" in given else None
                found.update({read_string(item): successor(text or "") for item in names.elts if read_string(item)})
    return found
