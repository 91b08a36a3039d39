"""Keys of configuration files and command-line flags, per release, in the form of the other facts.

`flags NAME`: `--flag DEFAULT key=value…` (type, choices, action, nargs, dest, required). `config NAME`: `dotted.key
DEFAULT`. Sources: `add_argument` calls of accelerate's launcher and OpenRLHF's scripts; accelerate's ClusterConfig;
DeepSpeed's constants and pydantic models; the composed YAML files that verl ships since 0.5.0 (before: its plain ones).
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from trl_lint.knowledge.refresher.serve_flags import serve_flags
from trl_lint.knowledge.refresher.trees import tree_of
from trl_lint.python.default_text import encode, encode_node, read_string
from trl_lint.python.flags import read_flags
from trl_lint.regexes import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    import yaml

    from trl_lint.knowledge.refresher.extract import Class, Module
    from trl_lint.knowledge.refresher.index import Contents, Facts

# Blocks of accelerate's YAML whose keys are flags: block -> (variable of the argument group, prefix that the key
# drops).
_ACCELERATE_BLOCKS = {
    "fsdp_config": ("fsdp_args", "fsdp_"),
    "deepspeed_config": ("deepspeed_args", ""),
    "megatron_lm_config": ("megatron_lm_args", ""),
    "fp8_config": ("fp8_args", "fp8_"),
    "mpirun_config": ("mpirun_args", ""),
    "parallelism_config": ("parallelism_config_args", ""),
    "dynamo_config": ("resource_args", "dynamo_"),
}
# Sections of a DeepSpeed configuration that are pydantic models.
_DEEPSPEED_MODELS = {
    "zero_optimization": "DeepSpeedZeroConfig",
    "zero_optimization.offload_param": "DeepSpeedZeroOffloadParamConfig",
    "zero_optimization.offload_optimizer": "DeepSpeedZeroOffloadOptimizerConfig",
    "fp16": "DeepSpeedFP16Config",
    "bf16": "DeepSpeedBF16Config",
    "comms_logger": "CommsConfig",
    "tensorboard": "TensorBoardConfig",
    "wandb": "WandbConfig",
    "csv_monitor": "CSVConfig",
    "comet": "CometConfig",
    "hybrid_engine": "HybridEngineConfig",
    "compile": "CompileConfig",
    "tensor_parallel": "TPTrainingConfig",
    "zenflow": "ZenFlowConfig",
}
_DEEPSPEED_CONFIG = regex(r"deepspeed\.(?:[\w.]+\.)?(?:config|precision_config|constants)")


def config_facts(package: str, contents: Contents, modules: Mapping[str, Module]) -> Facts:
    """The `config` and `flags` symbols of one release of a package."""
    if package == "accelerate":
        return _accelerate(contents, modules)
    if package == "deepspeed":
        return _deepspeed(contents, modules)
    if package == "openrlhf":
        return _openrlhf(contents)
    if package == "vllm":
        return serve_flags(contents)
    return _verl(contents) if package == "verl" else {}


def _accelerate(contents: Contents, modules: Mapping[str, Module]) -> Facts:
    facts: Facts = {}
    launcher = tree_of(contents.members, "accelerate/commands/launch.py")
    groups: dict[str, dict[str, str]] = {}
    if launcher is not None:
        flags = read_flags(launcher) or []
        facts["flags accelerate.launch"] = {flag.name: flag.text for flag in flags}
        for flag in flags:
            groups.setdefault(flag.group, {})[flag.name.lstrip("-")] = flag.text.split(" ")[0]
    declared = modules.get("accelerate.commands.config.config_args")
    classes = declared.classes if declared else {}
    for name, symbol in (("ClusterConfig", "accelerate"), ("SageMakerConfig", "accelerate.sagemaker")):
        keys = {
            field.name: field.value
            for base in ("BaseConfig", name)
            if base in classes
            for field in classes[base].fields
        }
        for block, (group, prefix) in _ACCELERATE_BLOCKS.items():
            if block in keys and name == "ClusterConfig":
                found = {key: text for key, text in groups.get(group, {}).items() if key.startswith(prefix)}
                keys.update((f"{block}.{key[len(prefix) :]}", text) for key, text in found.items())
        if keys:
            facts[f"config {symbol}"] = keys
    return facts


def _openrlhf(contents: Contents) -> Facts:
    facts: Facts = {}
    for path in sorted(contents.members):
        found = re.fullmatch(r"openrlhf/cli/(\w+)\.py", path)
        tree = tree_of(contents.members, path) if found else None
        if found and tree is not None:
            flags = {flag.name: flag.text for flag in read_flags(tree) or ()}
            if flags:
                facts[f"flags openrlhf.cli.{found[1]}"] = flags
    return facts


def _deepspeed(contents: Contents, modules: Mapping[str, Module]) -> Facts:
    """The JSON keys: constants that the configuration modules look up, and the fields of the pydantic models."""
    trees = {
        name: tree
        for name in sorted(modules)
        if _DEEPSPEED_CONFIG.fullmatch(name)
        and (tree := tree_of(contents.members, name.replace(".", "/") + ".py")) is not None
    }
    constants: dict[str, ast.expr] = {}
    for tree in trees.values():
        # Some names are first given a text for the documentation: the last assignment counts.
        own = {
            n.targets[0].id: n.value
            for n in tree.body
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        }
        constants = {**own, **constants}
    keys: dict[str, str] = {}
    for tree in trees.values():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                _looked_up(function, constants, keys)
    classes = {name: found for module in modules.values() for name, found in module.classes.items()}
    for section, model in _DEEPSPEED_MODELS.items():
        if model in classes:
            keys.setdefault(section, "{}")
            keys.update(_model_keys(section, classes[model], classes))
    return {"config deepspeed": keys} if keys else {}


def _model_keys(section: str, model: Class, classes: Mapping[str, Class]) -> dict[str, str]:
    keys: dict[str, str] = {}
    for base in model.bases:
        name = base.rpartition(":")[2]
        if name in classes and name != "DeepSpeedConfigModel":
            keys.update(_model_keys(section, classes[name], classes))
    for field in model.fields:
        for name in (field.name, *field.aliases):
            keys[f"{section}.{name}"] = field.value
        if field.deprecated:
            keys[f"!{section}.{field.name}"] = field.deprecated
    return keys


_UNTOLD = "`?`"


def _looked_up(function: ast.FunctionDef, constants: dict[str, ast.expr], keys: dict[str, str]) -> None:
    """Keys that a function takes out of the configuration: `get_scalar_param(param_dict, KEY, DEFAULT)`, `KEY in
    param_dict`,
    `param_dict[KEY]`, `param_dict.get(KEY, …)`; and one level deeper behind `param_dict[KEY]`."""
    names = dict(constants)
    arguments = function.args
    for argument, default in zip(reversed(arguments.args), reversed(arguments.defaults), strict=False):
        names[argument.arg] = constants.get(default.id, default) if isinstance(default, ast.Name) else default

    def key_of(node: ast.expr) -> str:
        return read_string(names.get(node.id) if isinstance(node, ast.Name) else node)

    def path_of(node: ast.expr) -> str | None:
        """The dotted way into the configuration, None for other dicts."""
        if isinstance(node, ast.Name) and node.id in ("param_dict", "ds_config"):
            return ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
            return path_of(node.func.value)
        if isinstance(node, ast.Subscript):
            outer, key = path_of(node.value), key_of(node.slice)
            return None if outer is None or not key else f"{outer}{key}."
        return None

    def note(outer: str | None, key: str, default: str) -> None:
        if outer is not None and re.fullmatch(r"[\w.-]+", key) and keys.get(f"{outer}{key}", _UNTOLD) == _UNTOLD:
            keys[f"{outer}{key}"] = default

    for node in ast.walk(function):
        if isinstance(node, ast.Call) and len(node.args) >= 2 and not isinstance(node.func, ast.Attribute):
            text = encode_node(node.args[2], names) if len(node.args) > 2 else _UNTOLD
            note(path_of(node.args[0]), key_of(node.args[1]), text)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            text = encode_node(node.args[1], names) if len(node.args) > 1 else "None"
            note(path_of(node.func.value), key_of(node.args[0]), text)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            note(path_of(node.comparators[0]), key_of(node.left), _UNTOLD)
        elif isinstance(node, ast.Subscript):
            note(path_of(node.value), key_of(node.slice), _UNTOLD)


def _verl(contents: Contents) -> Facts:
    facts: Facts = {}
    for path in sorted(contents.members):
        found = re.fullmatch(r"verl/trainer/config/(_generated_)?(\w+)\.ya?ml", path)
        if not found:
            continue
        keys = flatten_yaml(contents.members[path][1])
        # A file that is put together from others (`defaults:`) says little on its own; the generated one says it all.
        if keys and not any(key.partition(".")[0] == "defaults" for key in keys):
            facts[f"config {found[2]}"] = keys
    base = facts.get("config ppo_trainer", {})
    for symbol, keys in facts.items():
        if symbol.startswith("config ppo_") and symbol != "config ppo_trainer" and base:
            facts[symbol] = {"@like": "ppo_trainer", **_difference(keys, base)}
    return facts


def _difference(keys: dict[str, str], base: dict[str, str]) -> dict[str, str]:
    """What a variant has otherwise than the base; `none` stands for a key it has not, and for everything below it."""
    changed = {key: text for key, text in keys.items() if base.get(key) != text}
    known = {".".join(key.split(".")[:depth]) for key in keys for depth in range(1, key.count(".") + 2)}
    missing: set[str] = set()
    for key in base:
        parts = key.split(".")
        prefixes = (".".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        missing.update(prefix for prefix in [next((p for p in prefixes if p not in known), "")] if prefix)
    return {**changed, **dict.fromkeys(missing, "none")}


def flatten_yaml(source: bytes) -> dict[str, str]:
    """Dotted key -> default of a YAML mapping; a key with keys below it is not told of its own. Nothing is
    constructed: the nodes are read. Empty for other documents.
    """
    import yaml

    try:
        root = yaml.compose(source.decode("utf-8"), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}
    keys: dict[str, str] = {}
    if isinstance(root, yaml.MappingNode):
        _flatten(root, "", keys)
    return keys


def _flatten(node: yaml.MappingNode, prefix: str, keys: dict[str, str]) -> None:
    import yaml

    for key, value in node.value:
        name = f"{prefix}{key.value}"
        if " " in name or "," in name:
            continue
        if isinstance(value, yaml.MappingNode) and value.value:
            _flatten(value, f"{name}.", keys)
        else:
            keys[name] = _yaml_value(value)


def _yaml_value(node: yaml.Node) -> str:
    import yaml

    if isinstance(node, yaml.ScalarNode):
        kind = node.tag.rpartition(":")[2]
        if "${" in node.value:
            return "`${…}`"  # taken from another key
        if kind == "str":
            return encode(node.value)
        text = str(node.value)
        return {"null": "None", "bool": text.lower().capitalize()}.get(kind, text or "None")
    if isinstance(node, yaml.SequenceNode):
        return f"[{', '.join(map(_yaml_value, node.value))}]"[:120].replace("|", "¦")
    return "{}"
