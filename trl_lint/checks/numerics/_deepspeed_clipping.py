"""Whether DeepSpeed clips gradients: by its config alone, whatever a trainer or a loop asks for.

transformers writes `max_grad_norm` into a DeepSpeed config only where that says "auto" (`fill_match` of
integrations/deepspeed.py, read in 4.30 to 5.23; before 4.6 it filled the gap), and `Accelerator.clip_grad_norm_`
returns the norm without clipping (accelerate 0.12 to 1.15). DeepSpeed's own default is 0, no clipping, and 1.0 from
0.19.3 on (`GRADIENT_CLIPPING_DEFAULT`, runtime/constants.py, read in 0.9 to 0.19.8). An accelerate config that
describes DeepSpeed itself counts as "auto" from accelerate 0.30 on, and as nothing before (utils/dataclasses.py).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks._runs import runs_of
from trl_lint.checks.numerics._training import is_off
from trl_lint.checks.rule import Site
from trl_lint.checks.verdict import Level, Verdict, judge_pins
from trl_lint.finding import Edit, Fix, Location, Severity
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.islands import rewrite
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import run_of

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.environment import Environment
    from trl_lint.project.launches import Launch
    from trl_lint.run.runs import Run

_WITHOUT_DEFAULT = {"deepspeed": "<0.19.3"}
_LEAVES_IT_OUT = {**_WITHOUT_DEFAULT, "accelerate": "<0.30"}
_DEFAULT = 1.0  # from 0.19.3 on


class Unclipped(NamedTuple):
    """A DeepSpeed config of a run that does not clip as its training arguments say, at the place that is to change."""

    location: Location
    message: str
    severity: Severity
    related: tuple[Location, ...]
    fix: Fix | None


class Place(NamedTuple):
    """Where a config of DeepSpeed has no `gradient_clipping`; `is_inline`: it stands in that of accelerate."""

    document: Document
    location: Location
    is_inline: bool


def never_clips(environment: Environment, level: Level | Severity, is_inline: bool = False) -> Verdict | None:
    """How certain it is that a DeepSpeed config without the key clips nothing; None where it clips, or may well.

    `is_inline`: the config stands in that of accelerate, whose release counts as well. Where nothing pins DeepSpeed,
    but other packages are held at old releases, it is a hint.
    """
    from trl_lint.checks.verdict import describe
    from trl_lint.project.stack import has_old_neighbour

    conditions = _LEAVES_IT_OUT if is_inline else _WITHOUT_DEFAULT
    found = judge_pins(environment, conditions, level)
    if found is not None:
        return None if found.only_old else found
    package = environment.package("deepspeed")
    if is_inline or package.source != "assumed" or package.pins or not has_old_neighbour(environment, "deepspeed"):
        return None
    return Verdict("info", f"before deepspeed 0.19.3; {describe(package, '<0.19.3')}", ())


# -- runs of a trainer -----------------------------------------------------------------------------------------------


def unclipped(run: Run, highest: Severity | None, is_shown: bool) -> Iterator[Unclipped]:
    """The DeepSpeed config of a run that clips otherwise than `max_grad_norm` says.

    `highest`: how severe it is that nothing is clipped, None where that is a matter of what somebody asked for.
    """
    asked = run.config.at(run.choices.newest(("trl", "transformers"))).final("max_grad_norm")
    wanted = asked.number if isinstance(asked, Setting) else None
    if isinstance(asked, Setting) and (asked.value is None or (wanted is not None and is_off(wanted))):
        return
    if run.script is not None and "gradient_clipping" in run.script.module.text:
        return  # the script may write it
    place = place_without_key(run)
    if place is None:
        return
    written = isinstance(asked, Setting) and asked.location is not None and wanted is not None
    where = (run.launch.location._replace(message="the run"),) if run.launch.launcher else ()
    ours: tuple[Location, ...] = ()
    if isinstance(asked, Setting) and asked.location is not None:
        ours = (asked.location._replace(message="what it should clip to"),)
    if written and wanted != _DEFAULT and not place.is_inline:
        severity = Level("warning", is_shown).severity
        said = (
            f"`max_grad_norm` {wanted:g} has no effect: this DeepSpeed config has no `gradient_clipping`, and without "
            'it DeepSpeed clips nothing before 0.19.3 and to 1.0 since; write "auto"'
        )
        yield Unclipped(place.location, said, severity, (*ours, *where), _filled_in(place.document))
        return
    level = highest or ("warning" if written else "info")
    verdict = never_clips(run.environment, Level(level, is_shown), place.is_inline)
    if verdict is None:
        return
    advice = "`gradient_clipping: 1.0`" if place.is_inline else '`"gradient_clipping": "auto"`'
    said = (
        "this DeepSpeed config clips no gradients, whatever `max_grad_norm` is: the trainer leaves clipping to "
        f"DeepSpeed, which wants it written here; write {advice} ({verdict.scope})"
    )
    fix = None if place.is_inline else _filled_in(place.document)
    yield Unclipped(place.location, said, verdict.severity, (*ours, *where, *verdict.related), fix)


def place_without_key(run: Run) -> Place | None:
    """The config that the trainer of a run gives DeepSpeed, if it has no `gradient_clipping`."""
    said = run.config.given("deepspeed")
    is_named = run.link("deepspeed") is not None or (isinstance(said, Setting) and said.value is not None)
    if is_named:
        return _in_json(run.deepspeed) if run.deepspeed is not None else None
    return in_accelerate(run) if said is ABSENT else None


def in_accelerate(run: Run) -> Place | None:
    """The config that accelerate gives DeepSpeed, its own or the file that it names, if it has no such key."""
    from trl_lint.run.runs import read_quietly
    from trl_lint.sources.nodes import Mapping

    config = run.accelerate
    if config is None or config.value("distributed_type") != "DEEPSPEED" or run.launch.hides_options():
        return None
    options = ("--gradient_clipping", "--deepspeed_config_file")
    if not run.launch.options.keys().isdisjoint(options):
        return None
    named = config.value(config.definition.holds.deepspeed)
    if isinstance(named, str):
        path = run.launch.file_named(named)
        document = read_quietly(path, run.project, "deepspeed") if path is not None else None
        return _in_json(document) if document is not None else None
    entry = config.mapping.entry("deepspeed_config") if config.mapping is not None else None
    if named is not None or entry is None or not isinstance(entry.value, Mapping) or entry.value.merged:
        return None
    if not entry.value.keys().isdisjoint(("gradient_clipping", "deepspeed_config_file")):
        return None
    return Place(config, config.source.location(entry.key.start, entry.key.end), True)


def _in_json(document: Document) -> Place | None:
    root = document.mapping
    if root is None or root.merged or not root.entries or root.entry("gradient_clipping") is not None:
        return None
    return Place(document, document.place(root.entries[0]), False)


def _filled_in(document: Document) -> Fix | None:
    """Write `"gradient_clipping": "auto"` in front of the other keys, on a line of its own if they have one."""
    root = document.mapping
    if document.source.language != "json" or root is None or not root.entries:
        return None
    first = root.entries[0].key.start
    space = document.source.text[root.start + 1 : first]
    if space.strip():
        return None  # a comment: DeepSpeed reads some
    edit = document.source.edit(first, first, f'"gradient_clipping": "auto",{space or " "}')
    return Fix('Clip to `max_grad_norm`: `"gradient_clipping": "auto"`', "unsafe", (edit,))


# -- loops written by hand -------------------------------------------------------------------------------------------


@per_project
def deepspeed_clips(path: str, project: Project) -> bool:
    """Whether every known run of a file hands the backward pass to DeepSpeed with a config that clips."""
    runs = runs_of(path, project)
    return bool(runs) and all(_run_clips(run, project) for run in runs)


@per_project
def deepspeed_leaves_unclipped(path: str, project: Project) -> Verdict | None:
    """How certain it is that DeepSpeed takes the step in every known run of a file, and clips nothing."""
    runs = runs_of(path, project)
    found: list[Verdict] = []
    for launch in runs:
        run = run_of(launch, project)
        if launch.is_documentation or not _is_of_accelerate(run):
            return None
        place = in_accelerate(run)
        verdict = never_clips(run.environment, "warning", place.is_inline) if place is not None else None
        if place is None or verdict is None:
            return None
        shown = place.location._replace(message="the config that DeepSpeed clips by")
        found.append(verdict._replace(related=(shown, *verdict.related)))
    return found[0] if found else None


def _run_clips(launch: Launch, project: Project) -> bool:
    from trl_lint.sources.nodes import find, value_of

    run = run_of(launch, project)
    if not _is_of_accelerate(run):
        return False
    config = run.configs.accelerate.block("deepspeed_config")
    file = config.given("deepspeed_config_file")
    if isinstance(file, Setting) and isinstance(
        file.value, str
    ):  # what clips stands in that file, and the key here would be refused
        names = {os.path.basename(file.value)}
        roots = [d.root for d in project.documents("deepspeed") if os.path.basename(d.path) in names]
        nodes = [find(root, "gradient_clipping") for root in roots]
        if any(node is not None and not is_off(value_of(node)) for node in nodes):
            return True
        return None in nodes and _has_default(run.environment, ("deepspeed",))
    said = config.given("gradient_clipping")
    if not isinstance(said, Setting):  # "auto" is 1.0 for a loop (`_prepare_deepspeed`)
        return _has_default(run.environment, ("accelerate",)) or _has_default(run.environment, ("deepspeed",))
    return not is_off(said.value)


def _is_of_accelerate(run: Run) -> bool:
    kind = run.configs.accelerate.given("distributed_type")
    return run.accelerate is not None and isinstance(kind, Setting) and kind.value == "DEEPSPEED"


def _has_default(environment: Environment, packages: tuple[str, ...]) -> bool:
    """Whether no release of these packages that may be in use leaves clipping out."""
    return all(environment.package(name).holds(_LEAVES_IT_OUT[name]) == "none" for name in packages)


def read_dict(site: Site) -> tuple[ast.expr, ast.Dict] | None:
    """The dict that a `deepspeed.initialize` is configured with, and the place it is best shown at."""
    config = argument(site.call, "config", 7)
    if config is ABSENT:
        config = argument(site.call, "config_params", 8)
    if isinstance(config, ast.Dict):
        return config, config
    if not isinstance(config, ast.Name):
        return None
    values = bindings(site.module).get(config.id, [])
    if len(values) != 1 or not isinstance(values[0], ast.Dict) or not site.module.names.is_literal_only(config.id):
        return None
    target = site.module.parents.get(values[0])
    shown = target.targets[0] if isinstance(target, ast.Assign) else config
    return shown, values[0]


def clips_dict(place: ast.expr, config: ast.Dict, module: PythonModule) -> bool:
    """Whether a config dict may clip after all: it takes in other dicts, or is changed after it was written."""
    if any(key is None or constant_text(key) is None for key in config.keys):
        return True
    name = key_of(place)
    if not name:
        return False
    if any("gradient_clipping" in ast.unparse(value) for value in bindings(module).get(f"{name}[]", ())):
        return True
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and key_of(node.value) == name:
            if constant_text(node.slice) in (None, "gradient_clipping"):
                return True
        elif isinstance(node, ast.Call):
            func = node.func
            if isinstance(func, ast.Attribute) and key_of(func.value) == name and func.attr in ("update", "setdefault"):
                return True
            # Handed to a helper that may fill it in; `deepspeed.initialize` itself reads only.
            if last_name(func) not in ("initialize", "print", "dumps", "dump", "len", "init") and any(
                key_of(arg) == name for arg in node.args
            ):
                return True
    return False


def edit_dict(site: Site, config: ast.Dict) -> Edit | None:
    """Put the key in front of the others, on a line of its own if they have one."""

    def change(node: cst.Dict) -> cst.Dict:
        import libcst as cst

        space = node.lbrace.whitespace_after
        if isinstance(space, cst.ParenthesizedWhitespace):
            comma = cst.Comma(whitespace_after=space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[]))
        else:
            comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        key = cst.DictElement(cst.SimpleString('"gradient_clipping"'), cst.Float("1.0"), comma=comma)
        return node.with_changes(elements=[key, *node.elements])

    return rewrite(site, config, change) if config.keys else None


def constant_text(node: ast.expr | None) -> str | None:
    """The text that a key of a dict is, None where it is anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
