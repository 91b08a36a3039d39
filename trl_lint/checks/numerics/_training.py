"""What kind of training a call, a recipe or a command configures: reinforcement learning, preferences, or neither."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting

if TYPE_CHECKING:
    from trl_lint.knowledge.families import TrainingKind
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.run.runs import Run


_RL = ("GRPO", "RLOO", "PPO", "OnlineDPO", "NashMD", "XPO", "REINFORCE", "GSPO", "SDPO", "A2PO", "AsyncGRPO", "PAPO")
_PREFERENCE = ("DPO", "KTO", "ORPO", "CPO", "BCO", "AlignProp", "DDPO", "IterativeDPO")
_CLASS = regex(r"^(?P<stem>\w*?)(?:V\d+)?(?:Config|Arguments|Trainer)$")
_TRAINERS_IN_TEXT = regex(rf"\b(?:{'|'.join(_RL)})(?:V\d+)?(?:Config|Trainer)\b")
_PREFERENCE_IN_TEXT = regex(rf"\b(?:{'|'.join(_PREFERENCE)})(?:Config|Trainer)\b")

_RL_WORDS = regex(r"(?:^|[^a-z])(?:grpo|ppo|rloo|reinforce|rlhf|gspo|dapo|nash_?md|xpo|online_?dpo)(?:[^a-z]|$)", re.I)
_PREFERENCE_WORDS = regex(r"(?:^|[^a-z])(?:dpo|kto|orpo|cpo|simpo)(?:[^a-z]|$)", re.I)

# What hand-written policy optimisation talks about; two different words of it are asked for.
_LOOP_WORDS = (
    regex(r"\b(?:grpo|ppo|rloo|reinforce|rlhf)\b", re.I),
    regex(r"\badvantages?\b|\badv\b|_advantages?\b", re.I),
    regex(r"\b(?:old|ref|gen|new)_?(?:per_token_)?log_?p(?:rob)?s\b|\bvalue_?head\b|WithValueHead", re.I),
    regex(
        r"\bclip_?(?:range|param|eps\w*|ratio)\b|\bpolicy_loss\b|\bpg_loss\w*\b|\bkl_(?:coef|ctl|div|penalty)\b", re.I
    ),
)
_MODEL_PACKAGES = frozenset(
    {"transformers", "trl", "accelerate", "deepspeed", "peft", "vllm", "openrlhf", "trlx", "unsloth"}
)
_FRAMEWORK_ALIAS = frozenset({"trl", "transformers"})
_TRUE = frozenset({"true", "yes", "on", "1", "y", "t"})
_FALSE = frozenset({"false", "no", "off", "0", "n", "f"})


def kind_of_class(name: str) -> TrainingKind:
    """The kind of training of a config or trainer class: GRPOConfig -> "rl"."""
    match = _CLASS.match(name)
    stem = match["stem"] if match else name
    if stem in _RL:
        return "rl"
    return "preference" if stem in _PREFERENCE else "other"


def config_class(call: ast.Call, module: PythonModule) -> str | None:
    """The name of the TRL or transformers config class a call builds, also through a subclass written in the module."""
    return _config_class(call.func, module, 0)


def _config_class(func: ast.expr, module: PythonModule, depth: int) -> str | None:
    for origin in sorted(module.names.origins(func)):
        package, name = origin.partition(".")[0], origin.rpartition(".")[2]
        if package in _FRAMEWORK_ALIAS and name.endswith(("Config", "Arguments")):
            return name
    if depth < 3 and isinstance(func, ast.Name):
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == func.id:
                bases = (_config_class(base, module, depth + 1) for base in node.bases)
                return next((base for base in bases if base is not None), None)
    return None


@per_module
def kind_of_module(module: PythonModule) -> TrainingKind:
    """The kind of training a whole module is about, by the config and trainer classes it names."""
    return _kind_of_text(module.text)


def _kind_of_text(text: str) -> TrainingKind:
    if _TRAINERS_IN_TEXT.search(text):
        return "rl"
    return "preference" if _PREFERENCE_IN_TEXT.search(text) else "other"


@per_module
def is_policy_optimisation(module: PythonModule) -> bool:
    """Whether a module updates a language model's policy by hand: two kinds of words of it, and a model library."""
    is_known = bool(_MODEL_PACKAGES & module.names.modules())
    return is_known and sum(1 for words in _LOOP_WORDS if words.search(module.text)) >= 2


def kind_of_recipe(document: Document) -> TrainingKind:
    """The kind of training of a YAML recipe, by the key that says it, or by the keys that only one kind has."""
    method = document.definition.method
    if document.mapping is None or method is None:
        return "other"
    said = document.value(method.key) if method.key else None
    keys = document.mapping.keys()
    if said in method.rl or not method.rl_keys.isdisjoint(keys):
        return "rl"
    if said in method.preference or not method.preference_keys.isdisjoint(keys):
        return "preference"
    return method.rest if isinstance(said, str) else "other"


def kind_of_launch(launch: Launch, project: Project) -> TrainingKind:
    """The kind of training a command starts: `trl grpo`, the classes its script names, else the name of the script."""
    if launch.launcher == "trl":
        names = [launch.subcommand or ""]
    else:
        if launch.script_path is not None:
            try:
                kind = _kind_of_text(project.files.get(launch.script_path).data.decode("utf-8", "replace"))
            except OSError:
                kind = "other"
            if kind != "other":
                return kind
        names = [launch.script.text or "" if launch.script is not None else "", launch.module or ""]
    text = " ".join(names)
    if _RL_WORDS.search(text):
        return "rl"
    return "preference" if _PREFERENCE_WORDS.search(text) else "other"


def kind_of_run(run: Run) -> TrainingKind:
    """The kind of training of a run, by the option of its framework that says it, else by what its command starts."""
    return run.config.kind() or kind_of_launch(run.launch, run.project)


def is_of_run(given: Setting, run: Run) -> bool:
    """Whether only a run shows what an option is for: a flag, a recipe of no kind by itself, a dict for a call."""
    if given.location is None:
        return False
    if given.origin == "recipe":
        return run.recipe is not None and kind_of_recipe(run.recipe) == "other"
    if given.origin == "script":
        script = run.script
        return script is not None and given in (script.spread or {}).values()
    return given.origin == "flag"


def written_as(name: str, given: Setting, run: Run) -> str:
    """An option as it stands where it is set."""
    if given.location is None or given.origin == "script":
        return f"{name}={given.value}"
    shown = run.project.files.get(given.location.path).text[given.location.start : given.location.end]
    return shown if shown.startswith("--") or "=" in shown or ":" in shown else f"--{name} {shown}"


def is_off(value: object) -> bool:
    """Whether the trainers take a value for "no clipping": None, zero, negative (`max_grad_norm > 0` is their test)."""
    return value is None or (isinstance(value, (int, float)) and not value > 0)


def bool_flag(launch: Launch, *names: str) -> bool | None:
    """A boolean flag as HfArgumentParser reads it: absent is False, alone is True; None if nobody can tell."""
    for name in names:
        value = launch.flag(name)
        if value is ABSENT:
            continue
        if value is UNKNOWN:
            return None
        text = getattr(value, "text", None)
        if text is None:
            return None
        lowered = text.lower()
        if lowered in _FALSE:
            return False
        return True if lowered in _TRUE or not text or text.startswith("--") else None
    return False


def reads_training_arguments(launch: Launch, project: Project) -> bool:
    """Whether the script of a launch parses its flags into the dataclasses of transformers and TRL."""
    if launch.launcher == "trl":
        return True
    if launch.script_path is None:
        return False
    try:
        return project.files.holds(launch.script_path, b"HfArgumentParser", b"TrlParser")
    except OSError:
        return False
