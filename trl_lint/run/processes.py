"""How many processes a run has, on how many machines: what each launcher reads, else what Ray is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project.launch import Launch, Variables
from trl_lint.project.launchers import read_flags
from trl_lint.run.config import Workers, times
from trl_lint.run.effective import Setting, as_bool, of_document, of_flag
from trl_lint.run.runs import Run
from trl_lint.sources import SourceError
from trl_lint.sources.shell import Word
from trl_lint.words import read_count

if TYPE_CHECKING:
    from trl_lint.knowledge.families import Inner, Ranks

_SINGLE = frozenset({"NO", False})
_HOSTS = ("--hostfile", "-H")


def read_workers(run: Run) -> tuple[Workers, ...]:
    """The processes of a run by what they do, the trainer first; those of the launcher where it starts them itself."""
    return run.asked_of_ray or (Workers("trainer", _read_processes(run), _read_nodes(run)),)


def _read_processes(run: Run) -> Setting | Missing:
    """The number of training processes on all machines, and what says so; UNKNOWN where the texts do not tell."""
    launcher, program = run.launch.launcher, run.launch.program
    if launcher == "accelerate":
        return _of_accelerate(run, run.launch.options)
    if launcher == "trl":
        return _of_trl(run)
    if launcher == "torchrun":
        return _of_torchrun(run, run.launch.options)
    if launcher == "deepspeed":
        return _of_deepspeed(run)
    if launcher == "python":
        return _of_python(run)
    if program is None:
        return UNKNOWN
    if program.inner is not None and run.launch.subcommand in program.inner.subcommands:
        return _of_inner(run, program.inner)
    if program.ranks is None or run.launch.subcommand not in program.ranks.subcommands:
        return UNKNOWN
    return _of_variables(run, program.ranks)


def _read_nodes(run: Run) -> Setting | Missing:
    """The number of machines a run is spread over; UNKNOWN where the texts do not tell."""
    launch, program = run.launch, run.launch.program
    inner = program.inner if program is not None else None
    options = launch.options if inner is None else _inner_options(launch)
    if not options.keys().isdisjoint(_HOSTS):
        return UNKNOWN
    for option in ("--num_machines", "--nnodes", "--num_nodes"):
        if (word := options.get(option)) is not None:
            return _setting(word, run)
    if launch.launcher == "trl":
        said = _flag_or_recipe(run, "num_machines")
        if said is not ABSENT:
            return said
    ranks = program.ranks if program is not None else None
    given = launch.env.get(ranks.machines) if ranks is not None else None
    if given is not None:
        return _setting(given, run)
    said = of_document(run.accelerate, "num_machines", "accelerate") if run.accelerate is not None else ABSENT
    if not isinstance(said, Setting) or said.value is None:
        return Setting(1, "launcher", None) if said is ABSENT or isinstance(said, Setting) else UNKNOWN
    return said if said.integer is not None else UNKNOWN


# -- by launcher --------------------------------------------------------------------------------------------------


def _inner_options(launch: Launch) -> Mapping[str, Word]:
    """The options that a program hands to the launcher which it calls: those behind `--`."""
    texts = [word.text for word in launch.args]
    given = read_flags(launch.args[texts.index("--") + 1 :]).given if "--" in texts else {}
    return {f"--{name[2:].replace('-', '_')}": word for name, word in given.items() if name.startswith("--")}


def _of_inner(run: Run, inner: Inner) -> Setting | Missing:
    """`axolotl train CONFIG --launcher torchrun -- --nproc_per_node 8`."""
    launch, options = run.launch, _inner_options(run.launch)
    named = of_flag(launch, inner.option)
    if any(of_flag(launch, name) is not ABSENT for name in inner.unless):
        return UNKNOWN
    launcher = inner.usual if named is ABSENT else named.value if isinstance(named, Setting) else ""
    if inner.plain and launch.flag(inner.plain) is not ABSENT:
        launcher = "python"
    if launcher == "torchrun":
        return _of_torchrun(run, options)
    if launcher == "python":
        return _of_python(run)
    if launcher != "accelerate":
        return UNKNOWN
    said = of_flag(launch, inner.processes)
    if "--num_processes" not in options and isinstance(said, Setting):
        return said._replace(value=UNKNOWN if said.integer is None else said.integer)
    return _of_accelerate(run, options) if said is ABSENT or "--num_processes" in options else UNKNOWN


def _of_accelerate(run: Run, options: Mapping[str, Word]) -> Setting | Missing:
    word = options.get("--num_processes")
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
    said = _flag_or_recipe(run, "num_processes")
    if isinstance(said, Setting):
        return said._replace(value=UNKNOWN if said.integer is None else said.integer)
    if said is not ABSENT:
        return UNKNOWN
    config = _flag_or_recipe(run, "accelerate_config")
    if not isinstance(config, Setting) or not isinstance(config.value, str):
        return UNKNOWN
    from trl_lint.knowledge.commands import builtin_config

    builtin = builtin_config(config.value)
    if builtin is not None and run.accelerate is None:
        return Setting(builtin, "accelerate", config.location)
    return _of_config(run)


def _flag_or_recipe(run: Run, name: str) -> Setting | Missing:
    said = of_flag(run.launch, name)
    return of_document(run.recipe, name) if said is ABSENT and run.recipe is not None else said


def _of_torchrun(run: Run, options: Mapping[str, Word]) -> Setting | Missing:
    nodes = options.get("--nnodes")
    per_node = options.get("--nproc_per_node")
    if per_node is None:
        hidden = any(word.text is None and word.several for word in run.launch.command.words)
        return UNKNOWN if hidden or nodes is not None else Setting(1, "launcher", None)
    return _spread(_setting(per_node, run), 1 if nodes is None else read_count(nodes.text))


def _spread(each: Setting, machines: int | None) -> Setting:
    """Processes of which each machine has so many."""
    found = times(each, Setting(UNKNOWN if machines is None else machines, "launcher", None))
    return found if isinstance(found, Setting) else each._replace(value=UNKNOWN)


def _of_deepspeed(run: Run) -> Setting | Missing:
    options = run.launch.options
    if not options.keys().isdisjoint(("--num_nodes", *_HOSTS, "--exclude", "-e")):
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
    if _may_start_several(launch) or "WORLD_SIZE" in launch.env or _may_ask_ray(run):
        return UNKNOWN
    return Setting(1, "launcher", launch.source.location(launch.launcher_word.start, launch.launcher_word.end))


def _may_ask_ray(run: Run) -> bool:
    """Whether the program has Ray start its processes."""
    if run.launch.script_path is None:
        held = run.config.held("processes")
        return held is not None and bool(held.names)  # one of its programs that is not known
    try:
        return run.project.files.holds(run.launch.script_path, b"ray.init", b"ray.remote")
    except (OSError, SourceError):
        return True


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
    return _spread(said, machines)


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
