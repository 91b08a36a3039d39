"""How many processes a run has: the command line, then the config it names, as each launcher reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.launch import Launch, Variables
from trl_lint.run.effective import Setting, as_bool, of_document, of_flag
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word
from trl_lint.words import read_count

if TYPE_CHECKING:
    from trl_lint.knowledge.families import Ranks

_SINGLE = frozenset({"NO", False})


def read_processes(run: Run) -> Setting | Missing:
    """The number of training processes on all machines, and what says so; UNKNOWN where the texts do not tell."""
    launcher = run.launch.launcher
    if launcher == "accelerate":
        return _of_accelerate(run)
    if launcher == "trl":
        return _of_trl(run)
    if launcher == "torchrun":
        return _of_torchrun(run)
    if launcher == "deepspeed":
        return _of_deepspeed(run)
    if launcher == "python":
        return _of_python(run)
    program = run.launch.program
    if program is None or program.ranks is None or run.launch.subcommand not in program.ranks.subcommands:
        return UNKNOWN
    return _of_variables(run, program.ranks)


def _of_accelerate(run: Run) -> Setting | Missing:
    word = run.launch.options.get("--num_processes")
    if word is not None:
        return _setting(word, run)
    if any(option.several for option in run.launch.command.words[:3] if option.text is None):
        return UNKNOWN
    return _of_config(run)


def _of_config(run: Run) -> Setting | Missing:
    if run.accelerate is None:
        return UNKNOWN  # the machine may have a default config; without one the GPUs are counted
    kind = run.accelerate.value("distributed_type")
    said = of_document(run.accelerate, run.accelerate.definition.holds.processes, "accelerate")
    if isinstance(said, Setting) and kind in _SINGLE and "--multi_gpu" not in run.launch.options:
        return said._replace(value=1)  # a plain launch, whatever the number says
    return said if said is not ABSENT else UNKNOWN


def _of_trl(run: Run) -> Setting | Missing:
    """`trl grpo --num_processes 4`, the same key in the recipe, then the accelerate config that either names."""
    said = of_flag(run.launch, "num_processes")
    if said is ABSENT and run.recipe is not None:
        said = of_document(run.recipe, "num_processes")
    if isinstance(said, Setting):
        return said._replace(value=UNKNOWN if said.integer is None else said.integer)
    if said is not ABSENT:
        return UNKNOWN
    config = of_flag(run.launch, "accelerate_config")
    if config is ABSENT and run.recipe is not None:
        config = of_document(run.recipe, "accelerate_config")
    if not isinstance(config, Setting) or not isinstance(config.value, str):
        return UNKNOWN
    from trl_lint.knowledge.commands import builtin_config

    builtin = builtin_config(config.value)
    if builtin is not None and run.accelerate is None:
        return Setting(builtin, "accelerate", config.location)
    return _of_config(run)


def _of_torchrun(run: Run) -> Setting | Missing:
    options = run.launch.options
    nodes = options.get("--nnodes")
    per_node = options.get("--nproc_per_node")
    if per_node is None:
        hidden = any(word.text is None and word.several for word in run.launch.command.words)
        return UNKNOWN if hidden or nodes is not None else Setting(1, "launcher", None)
    setting = _setting(per_node, run)
    count = 1 if nodes is None else read_count(nodes.text)
    if setting.integer is None or count is None:
        return setting._replace(value=UNKNOWN)
    return setting._replace(value=setting.integer * count)


def _of_deepspeed(run: Run) -> Setting | Missing:
    options = run.launch.options
    if not options.keys().isdisjoint(("--num_nodes", "--hostfile", "-H", "--exclude", "-e")):
        return UNKNOWN
    word = options.get("--include", options.get("-i"))
    if word is not None:
        location = run.launch.source.location(word.start, word.end)
        count = len(run.launch.visible_gpus) if run.launch.visible_gpus else None
        return Setting(UNKNOWN if count is None else count, "launcher", location)
    word = options.get("--num_gpus")
    return _setting(word, run) if word is not None else UNKNOWN


def _of_python(run: Run) -> Setting | Missing:
    launch = run.launch
    if _may_start_several(launch) or "WORLD_SIZE" in launch.env:
        return UNKNOWN
    return Setting(1, "launcher", launch.source.location(launch.launcher_word.start, launch.launcher_word.end))


def _of_variables(run: Run, ranks: Ranks) -> Setting | Missing:
    """`NPROC_PER_NODE=4 NNODES=2` before a program that starts torchrun with them."""
    launch = run.launch
    named = set(launch.env.names())
    given = {name: word for name in ranks.variables if name in named and (word := launch.env.get(name)) is not None}
    if not named.isdisjoint(ranks.unless) or _may_start_several(launch):
        return UNKNOWN
    if len(given) < len(ranks.variables):
        if launch.env.is_partial:
            return UNKNOWN
        if ranks.in_configs and _may_set(ranks.in_configs, run):
            return UNKNOWN
    place = launch.source.location(launch.launcher_word.start, launch.launcher_word.end)
    machines = read_count(given[ranks.machines].text) if ranks.machines in given else 1
    visible = len(launch.visible_gpus) if launch.visible_gpus else None
    if ranks.switch and not _is_on(ranks.switch, launch.env):
        if visible is None or ranks.switch in given:
            return UNKNOWN
        if visible == 1:
            return Setting(1, "launcher", place)
    if ranks.processes in given:
        said = _setting(given[ranks.processes], run)
    elif ranks.switch:
        said = Setting(UNKNOWN if visible is None else visible, "launcher", place)
    elif not given and launch.visible_word is None:
        return UNKNOWN  # they are often set for all that a machine runs
    else:
        said = Setting(1, "launcher", place)
    if said.integer is None or machines is None:
        return said._replace(value=UNKNOWN)
    return said._replace(value=said.integer * machines)


def _may_start_several(launch: Launch) -> bool:
    from trl_lint.knowledge.wrappers import names_of_wrappers

    return not names_of_wrappers("several").isdisjoint(launch.wrappers)


def _may_set(block: str, run: Run) -> bool:
    """Whether the config file of a command may have a block of variables."""
    link = run.link("recipe")
    if link is None:
        return False
    if link.status != "exact":
        return True
    try:
        return run.project.files.holds(link.paths[0], block.encode())
    except (OSError, SourceError):
        return True


def _is_on(variable: str, env: Variables) -> bool:
    word = env.get(variable)
    return word is not None and as_bool(word.text or "") is True


def _setting(word: Word, run: Run) -> Setting:
    location = run.launch.source.location(word.start, word.end)
    number = read_count(word.text)
    return Setting(UNKNOWN if number is None else number, "launcher", location)
