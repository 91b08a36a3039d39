"""What releases state about models and their data, for `rules/models`: layers of the families, default targets of
adapters, chat templates, and the columns that a trainer keeps.

`transformers`, symbols `family NAME` (a folder of `transformers/models`)
    `NAME layer` a class of `_no_split_modules`; `NAME adapted` an attribute that holds a layer to which an adapter can
    be added; `NAME parameter` one that holds a bare parameter; `@open +`: it builds models of other families.
`peft`, symbol `targets`
    `MODEL_TYPE NAME,NAME` the modules that LoRA adapts where the config names none; `/…/` is a pattern of their paths.
`trl`, symbol `templates`
    `NAME +` a chat template that is shipped; `NAME generation` one that marks what the assistant says.
`trl`, symbols `columns TRAINER`
    `NAME kept` a column that the trainer names in `_set_signature_columns_if_needed`.
"""

from __future__ import annotations

import ast
import re

from trl_lint.knowledge.refresher.index import Facts, Members
from trl_lint.knowledge.refresher.modeling import Modeling, family_of, generates_text, read_modeling
from trl_lint.knowledge.refresher.release import PRESENT
from trl_lint.knowledge.refresher.trees import tree_of

Memo = dict[tuple[str, int, int], object]

_TARGETS = "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING"
_TARGET_FILES = ("peft/utils/constants.py", "peft/utils/other.py")
_TEMPLATE_FILE = re.compile(r"trl/chat_templates/(\w+)\.jinja")
_TEMPLATE_NAME = re.compile(r"(\w{1,80})_chat_template")
_TEMPLATE_MODULE = "trl/chat_template_utils.py"
_GENERATION = re.compile(r"\{%-?\s*generation\s*-?%\}")
_TRAINER_FILE = re.compile(r"trl/(trainer|experimental/\w+)/\w+_trainer\.py")
_KEEPER = "_set_signature_columns_if_needed"


def is_wanted(package: str, path: str) -> bool:
    """Whether a file of an archive is read."""
    if package == "transformers":
        return family_of(path) != ""
    if package == "peft":
        return path in _TARGET_FILES
    return path == _TEMPLATE_MODULE or bool(_TEMPLATE_FILE.fullmatch(path) or _TRAINER_FILE.fullmatch(path))


def model_facts(package: str, members: Members, memo: Memo) -> Facts:
    """The facts of one release. `memo` keeps files that were read for another release: most do not change."""
    if package == "transformers":
        return _families(members, memo)
    if package == "peft":
        return _targets(members)
    return _templates(members) | _columns(members)


def _families(members: Members, memo: Memo) -> Facts:
    found: dict[str, list[Modeling]] = {}
    for path, (crc, source) in sorted(members.items()):
        key = (path, crc, len(source))
        if key not in memo:
            memo[key] = read_modeling(source)
        modeling = memo[key]
        if isinstance(modeling, Modeling):
            found.setdefault(family_of(path), []).append(modeling)
    return {f"family {name}": _family(files) for name, files in found.items() if any(map(generates_text, files))}


def _family(files: list[Modeling]) -> dict[str, str]:
    facts = {PRESENT: PRESENT}
    if any(file.open for file in files):
        facts["@open"] = PRESENT
    for kind, names in (
        ("parameter", [file.parameters for file in files]),
        ("adapted", [file.named for file in files]),
        ("layer", [file.layers for file in files]),
    ):
        facts |= dict.fromkeys(sorted(frozenset[str]().union(*names)), kind)
    return facts


def _targets(members: Members) -> Facts:
    for path in _TARGET_FILES:
        tree = tree_of(members, path)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.Assign) and _names(node) == [_TARGETS]:
                table = ast.literal_eval(node.value)
                return {"targets": {PRESENT: PRESENT, **{name: _written(table[name]) for name in table}}}
    return {}


def _written(names: list[str] | str) -> str:
    """Names as they stand in the history; a text is a regular expression that whole paths must match."""
    return f"/{names}/".replace("|", "\\x7c") if isinstance(names, str) else ",".join(names)


def _templates(members: Members) -> Facts:
    files = filter(None, map(_TEMPLATE_FILE.fullmatch, sorted(members)))
    texts = {found[1]: members[found[0]][1].decode() for found in files}
    tree = tree_of(members, _TEMPLATE_MODULE)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for name in filter(None, map(_TEMPLATE_NAME.fullmatch, _names(node))):
                texts[name[1]] = node.value.value
    marks = {name: "generation" if _GENERATION.search(text) else PRESENT for name, text in texts.items()}
    return {"templates": {PRESENT: PRESENT, **marks}} if marks else {}


def _columns(members: Members) -> Facts:
    found: Facts = {}
    for path in sorted(filter(_TRAINER_FILE.fullmatch, members)):
        tree = tree_of(members, path)
        for cls in tree.body if tree is not None else ():
            kept = _kept(cls) if isinstance(cls, ast.ClassDef) else set()
            if isinstance(cls, ast.ClassDef) and kept:
                found[f"columns {cls.name}"] = {PRESENT: PRESENT, **dict.fromkeys(sorted(kept), "kept")}
    return found


def _kept(cls: ast.ClassDef) -> set[str]:
    """The columns that the trainer names where it says which ones it keeps."""
    bodies = [item for item in cls.body if isinstance(item, ast.FunctionDef) and item.name == _KEEPER]
    return {
        item.value
        for body in bodies
        for node in ast.walk(body)
        if isinstance(node, ast.List)
        for item in node.elts
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    }


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]
