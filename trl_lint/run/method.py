"""What a run trains with: its method by name, and its kind: reinforcement learning, preferences, or neither."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trl_lint.coverage import UNMAPPED
from trl_lint.knowledge.families import TrainingKind
from trl_lint.missing import ABSENT
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.runs import Run

if TYPE_CHECKING:
    from trl_lint.project.documents import Document

_RL = ("GRPO", "RLOO", "PPO", "OnlineDPO", "NashMD", "XPO", "REINFORCE", "GSPO", "SDPO", "A2PO", "AsyncGRPO", "PAPO")
_PREFERENCE = ("DPO", "KTO", "ORPO", "CPO", "BCO", "AlignProp", "DDPO", "IterativeDPO")
_CLASS = regex(r"^(?P<stem>\w*?)(?:V\d+)?(?:Config|Arguments|Trainer)$")
_TRAINERS_IN_TEXT = regex(rf"\b(?:{'|'.join(_RL)})(?:V\d+)?(?:Config|Trainer)\b")
_PREFERENCE_IN_TEXT = regex(rf"\b(?:{'|'.join(_PREFERENCE)})(?:Config|Trainer)\b")

_RL_WORDS = regex(r"(?:^|[^a-z])(?:grpo|ppo|rloo|reinforce|rlhf|gspo|dapo|nash_?md|xpo|online_?dpo)(?:[^a-z]|$)", re.I)
_PREFERENCE_WORDS = regex(r"(?:^|[^a-z])(?:dpo|kto|orpo|cpo|simpo)(?:[^a-z]|$)", re.I)
_PROGRAM = regex(r"(?:train|main)_([a-z]{2,12})(?:_ray)?")
# Subcommands that are called after what they do, and classes that are not.
_COMMANDS = frozenset({"cpo", "dpo", "gkd", "grpo", "kto", "orpo", "ppo", "pt", "reward", "rloo", "sft", "simpo"})
_NO_METHOD = frozenset({"Training", "Seq2SeqTraining", "Script", "Model"})


def kind_of_class(name: str) -> TrainingKind:
    """The kind of training of a config or trainer class: GRPOConfig -> "rl"."""
    stem = _stem_of(name)
    if stem in _RL:
        return "rl"
    return "preference" if stem in _PREFERENCE else "other"


def _stem_of(name: str) -> str:
    match = _CLASS.match(name)
    return match["stem"] if match else name


def kind_of_text(text: str) -> TrainingKind:
    """The kind of training that a script is about, by the config and trainer classes it names."""
    if _TRAINERS_IN_TEXT.search(text):
        return "rl"
    return "preference" if _PREFERENCE_IN_TEXT.search(text) else "other"


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


def kind_of(run: Run) -> TrainingKind:
    """By the option of its framework that says it, else `trl grpo`, the classes its script names, the script's name."""
    return run.config.kind() or kind_of_command(run)


def kind_of_command(run: Run) -> TrainingKind:
    """The kind of training of a run by what its command starts."""
    launch = run.launch
    if launch.launcher == "trl":
        names = [launch.subcommand or ""]
    else:
        if launch.script_path is not None:
            try:
                data = run.project.files.get(launch.script_path).data
            except OSError:
                data = b""
            if (kind := kind_of_text(data.decode("utf-8", "replace"))) != "other":
                return kind
        names = [launch.script.text or "" if launch.script is not None else "", launch.module or ""]
    text = " ".join(names)
    if _RL_WORDS.search(text):
        return "rl"
    return "preference" if _PREFERENCE_WORDS.search(text) else "other"


def method_of(run: Run) -> str:
    """The method of a run as its framework calls it: grpo, dpo, sft; "" where nothing says it.

    The option for it, else the subcommand (`trl grpo`), the class of the arguments, the name of the program
    (`openrlhf.cli.train_dpo`).
    """
    said = run.config.setting("method")
    if run.launch.subcommand in _COMMANDS and run.config.given_setting("method") is ABSENT:
        return str(run.launch.subcommand)
    if isinstance(said, Setting):
        if isinstance(said.value, str) and said.value not in ("", "None", "null"):
            return said.value
        if said.value is not None:
            return ""  # one that nobody knows
    elif isinstance(said, Unknown) and said.reason is not UNMAPPED:
        return ""
    stem = _stem_of(run.arguments_class.rpartition(".")[2])
    if stem and stem not in _NO_METHOD:
        return stem.lower()
    found = _PROGRAM.fullmatch((run.launch.module or "").rpartition(".")[2])
    return found[1] if found is not None and run.framework != "other" else ""
