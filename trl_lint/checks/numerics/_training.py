"""What kind of training a call, a recipe or a command configures: reinforcement learning, preferences, or neither."""

from __future__ import annotations

import ast
import re

from trl_lint.knowledge.families import TrainingKind
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.project import Project
from trl_lint.project.launch import Launch
from trl_lint.python.module import PythonModule
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run

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
    from trl_lint.run.method import kind_of_text

    return kind_of_text(module.text)


@per_module
def is_policy_optimisation(module: PythonModule) -> bool:
    """Whether a module updates a language model's policy by hand: two kinds of words of it, and a model library."""
    is_known = bool(_MODEL_PACKAGES & module.names.modules())
    return is_known and sum(1 for words in _LOOP_WORDS if words.search(module.text)) >= 2


def is_of_run(given: Setting, run: Run) -> bool:
    """Whether only a run shows what an option is for: a flag, a recipe of no kind by itself, a dict for a call."""
    if given.location is None:
        return False
    if given.origin == "recipe":
        from trl_lint.run.method import kind_of_recipe

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
