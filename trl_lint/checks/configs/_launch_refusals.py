"""What `accelerate launch` refuses of its own options before it reads any file (`_validate_launch_command`)."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.configs._asserts import Problem, places
from trl_lint.checks.configs._program_refusals import Reading, Settings, broken
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.condition_language import UNKNOWN, Block
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.run.effective import as_number

# Options that are false where they are not given. Read in accelerate/commands/launch.py, 0.20.0 to 1.15.0.
_SWITCHES = ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "use_parallelism_config")


def refused_options(launch: Launch, rule: Rule, project: Project) -> Iterator[Problem]:
    """The options of a command that the releases in use do not take together."""
    if launch.launcher != "accelerate" or launch.hides_options() or launch.command.errors:
        return
    words = {name.lstrip("-"): word for name, word in launch.options.items() if name.startswith("--")}
    if words.keys().isdisjoint(_SWITCHES):
        return
    block = Block("", dict.fromkeys(_SWITCHES, False))
    for name, word in words.items():
        is_switch = word.text is not None and word.text.startswith("--")
        number = as_number(word.text) if word.text is not None else None
        block[name] = True if is_switch else UNKNOWN if number is None else number
    settings = Settings(block, (Reading("launch", block),))
    choices = project.environment(launch.source.path).choices
    level = Level(rule, launch.is_mild, of_code=False)
    for found in broken(
        "accelerate", choices, lambda version: settings, words, level, "accelerate", crashes=lambda refused: False
    ):
        location, beside = places(found.keys, words, launch)
        yield Problem(location, found.message, found.verdict.severity, (*beside, *found.verdict.related))
