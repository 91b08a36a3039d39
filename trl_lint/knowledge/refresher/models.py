"""What releases state about models and their data, for `rules/models`: layers of the families, default targets of
adapters, chat templates, and the columns that a trainer keeps.

`transformers`, symbol `types`
    `NAME +` a `model_type` that `AutoConfig` knows; left out where every release that was read knows it, and for parts
    of models (`_PART`).
`vllm`, symbol `architectures`
    `NAME +` a class of a model that vLLM has for generation, as `squashed` writes it; left out as above.
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
from collections.abc import Callable, Iterator

from trl_lint.knowledge.architectures import squashed
from trl_lint.knowledge.refresher.history import Symbol
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
# `CONFIG_MAPPING_NAMES`: in the first until 5.x, in the second since.
_TYPE_FILES = ("transformers/models/auto/configuration_auto.py", "transformers/models/auto/auto_mappings.py")
_TYPES = "CONFIG_MAPPING_NAMES"
# Configs of parts, which no checkpoint has by itself.
_PART = re.compile(
    r"\w{1,60}[_-](vision_encoder|audio_encoder|decoder|qformer|talker|thinker|code_predictor|token2wav|vq\w*|"
    r"(text|image|multimodal|vision|audio)_model|vit|hifigan|assistant|adapter)(_\w{1,40})?"
)
_REGISTRY_FILES = tuple(f"vllm/model_executor/models/{name}.py" for name in ("registry", "__init__"))
_REGISTRY = re.compile(
    r"(_TEXT)?_GENERATION_MODELS|_(CONDITIONAL_GENERATION|MULTIMODAL|TRANSFORMERS|TRANSFORMERS_SUPPORTED|"
    r"TRANSFORMERS_BACKEND|FALLBACK)_MODELS|_FALLBACK_MODEL"
)
# Symbols of which what all releases have is left out.
_ONLY_NEWS = ("types", "architectures")


def is_wanted(package: str, path: str) -> bool:
    """Whether a file of an archive is read."""
    if package == "transformers":
        return family_of(path) != "" or path in _TYPE_FILES
    if package == "vllm":
        return path in _REGISTRY_FILES
    if package == "peft":
        return path in _TARGET_FILES
    return path == _TEMPLATE_MODULE or bool(_TEMPLATE_FILE.fullmatch(path) or _TRAINER_FILE.fullmatch(path))


def model_facts(package: str, members: Members, memo: Memo) -> Facts:
    """The facts of one release. `memo` keeps files that were read for another release: most do not change."""
    if package == "transformers":
        return _types(members) | _families(members, memo)
    if package == "vllm":
        return _architectures(members)
    if package == "peft":
        return _targets(members)
    return _templates(members) | _columns(members)


def without_constants(history: dict[str, Symbol]) -> dict[str, Symbol]:
    """A history without the types and classes that every release that was read has: nothing can be wrong with them."""
    return {
        name: found._replace(
            facts={fact: line for fact, line in found.facts.items() if line.changes != found.life.changes}
        )
        if name in _ONLY_NEWS
        else found
        for name, found in history.items()
    }


def _types(members: Members) -> Facts:
    found = [name for path in _TYPE_FILES for name in _keys(members, path, _TYPES.__eq__)]
    kept = [name for name in found if not _PART.fullmatch(name)]
    return {"types": {PRESENT: PRESENT, **dict.fromkeys(kept, PRESENT)}} if kept else {}


def _architectures(members: Members) -> Facts:
    found = [
        name
        for path in _REGISTRY_FILES
        for name in _keys(members, path, lambda table: _REGISTRY.fullmatch(table) is not None)
    ]
    return {"architectures": {PRESENT: PRESENT, **dict.fromkeys(map(squashed, found), PRESENT)}} if found else {}


def _keys(members: Members, path: str, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """The keys of tables in the body of a module: dicts, and the pairs of an `OrderedDict`."""
    tree = tree_of(members, path)
    for node in tree.body if tree is not None else ():
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or not any(map(is_wanted, _names(node))):
            continue
        pairs = [item for each in ast.walk(node) if isinstance(each, ast.List) for item in each.elts]
        keys = [pair.elts[0] for pair in pairs if isinstance(pair, ast.Tuple) and len(pair.elts) == 2]
        if isinstance(node.value, ast.Dict):
            keys = [key for key in node.value.keys if key is not None]
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))


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


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]
