"""TRL601: gradient clipping is switched off, or was never there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.numerics._training import (
    config_class,
    is_of_run,
    is_off,
    is_policy_optimisation,
    kind_of_module,
    written_as,
)
from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Edit, Finding, Fix, Location, Severity
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT
from trl_lint.paths import is_test_file
from trl_lint.python.guards import calls_by_function, key_of, last_name
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.values import argument
from trl_lint.regexes import regex
from trl_lint.run.effective import Setting

if TYPE_CHECKING:
    from trl_lint.knowledge.families import TrainingKind
    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.run.runs import Run

# Any of these in the code of a module means that clipping was thought of, by whatever name.
_CLIPS = regex(
    r"clip_?grad|grad(?:ient)?s?_?(?:norm_?)?clip|clip_by_(?:global_)?norm|clip_master_grads|clip_norm", re.I
)
_COMMENT = regex(r"(?m)(?:^|\s)#.*$")
_TITLE = "Clip to the usual norm: `{}`"


class GradientClippingOff(Rule):
    code = "TRL601"
    triggers = ("(max_grad_norm=)", ".backward", "deepspeed.initialize", ".clip_grad_norm_")
    needles = (b"max_grad_norm=", b"max_grad_norm =", b".backward(", b"deepspeed.initialize", b".clip_grad_norm_(")
    holding = ("clipping",)
    runs = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        name = last_name(site.call.func)
        if any(keyword.arg == "max_grad_norm" for keyword in site.call.keywords):
            yield from self._check_config(site)
        elif name == "backward":
            yield from self._check_loop(site)
        elif name == "initialize":
            yield from self._check_deepspeed(site)
        elif name == "clip_grad_norm_":
            yield from self._check_clip(site)

    # -- a config in Python ------------------------------------------------------------------------------------------

    def _check_config(self, site: Site) -> Iterator[Finding]:
        module = site.module
        keyword = next(keyword for keyword in site.call.keywords if keyword.arg == "max_grad_norm")
        value = module.value(keyword.value)
        name = config_class(site.call, module)
        if name is None or not is_off(value):
            return
        from trl_lint.run.method import kind_of_class

        severity = severity_of(kind_of_class(name), kind_of_module(module), module.names.modules())
        if severity is None:
            return
        transformers = site.project.environment(module.path).package("transformers")
        raises = value is None and transformers.source != "assumed" and transformers.holds(">=5.3.0") == "all"
        from trl_lint.python.islands import rewrite, with_keyword

        edit = rewrite(site, site.call, lambda call: with_keyword(call, "max_grad_norm", "1.0"))
        yield self.finding(
            module.location(keyword),
            word_none() if raises else word_off(f"max_grad_norm={value}"),
            severity="error" if raises else severity,
            fix=Fix(_TITLE.format("max_grad_norm=1.0"), "unsafe", (edit,)) if edit is not None else None,
        )

    # -- a loop written by hand --------------------------------------------------------------------------------------

    def _check_loop(self, site: Site) -> Iterator[Finding]:
        module = site.module
        step = read_step(site)
        if step is None or takes_optimizer(site.call) or clips(module) or is_test_file(module.path):
            return
        if not is_policy_optimisation(module):
            return
        from trl_lint.checks.numerics._deepspeed_clipping import deepspeed_clips
        from trl_lint.checks.numerics._scalars import moves_scalars

        if moves_scalars(step, module):
            return
        if is_of_accelerator(site.call) and deepspeed_clips(module.path, site.project):
            return
        yield self.finding(
            site.location,
            f"the gradients of this backward pass reach `{module.segment(step.func)}()` unclipped, and one bad batch "
            "of samples can blow up the policy",
            severity="warning",
            related=(module.location(step, "the step is taken here"),),
        )

    def _check_clip(self, site: Site) -> Iterator[Finding]:
        """`accelerator.clip_grad_norm_` of a loop whose steps DeepSpeed takes: it clips nothing."""
        module = site.module
        if not is_of_accelerator(site.call) or is_test_file(module.path):
            return
        from trl_lint.checks.numerics._deepspeed_clipping import deepspeed_leaves_unclipped

        verdict = deepspeed_leaves_unclipped(module.path, site.project)
        if verdict is not None:
            yield self.finding(
                site.location,
                "this clips nothing under DeepSpeed, which clips by its own config alone, and that has no "
                f"`gradient_clipping` ({verdict.scope})",
                severity=verdict.severity,
                related=verdict.related,
            )

    # -- an inline DeepSpeed config ----------------------------------------------------------------------------------

    def _check_deepspeed(self, site: Site) -> Iterator[Finding]:
        module, call = site.module, site.call
        trains = any(argument(call, name) is not ABSENT for name in ("model_parameters", "optimizer"))
        if (
            not trains
            or ".backward(" not in module.text
            or not is_policy_optimisation(module)
            or is_test_file(module.path)
        ):
            return
        from trl_lint.checks.numerics._deepspeed_clipping import (
            clips_dict,
            constant_text,
            edit_dict,
            never_clips,
            read_dict,
        )

        found = read_dict(site)
        if found is None or clips_dict(*found, module):
            return
        place, config = found
        pairs = zip(config.keys, config.values, strict=True)
        given = next((value for key, value in pairs if constant_text(key) == "gradient_clipping"), None)
        severity: Severity = "warning"
        scope = ""
        related: tuple[Location, ...] = ()
        if given is not None:
            if not is_off(module.value(given)):
                return
            edit: Edit | None = module.source.edit(*module.span(given), "1.0")
        else:
            verdict = never_clips(site.project.environment(module.path), "warning")
            if verdict is None:
                return
            severity, scope, related = verdict.severity, f" ({verdict.scope})", verdict.related
            edit = edit_dict(site, config)
        text = '"gradient_clipping": 1.0'
        yield self.finding(
            module.location(given if given is not None else place),
            "this DeepSpeed config clips no gradients: DeepSpeed clips only where `gradient_clipping` is positive"
            f"{scope}",
            severity=severity,
            related=(module.location(call, "the engine that trains with it"), *related),
            fix=Fix(_TITLE.format(text), "unsafe", (edit,)) if edit is not None else None,
        )

    # -- documents and commands --------------------------------------------------------------------------------------

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.run.method import kind_of_recipe
        from trl_lint.sources.nodes import Scalar

        root = document.mapping
        name = document.definition.holds.clipping
        from trl_lint.checks._runs import after_commands

        is_engine = not document.definition.recipe  # what it trains is said elsewhere
        entry = root.entry(name) if root is not None else None
        if entry is None or not isinstance(entry.value, Scalar) or not is_off(entry.value.value):
            return
        if is_engine:
            if not is_rl_project(document.source.path, project) or is_refused(document, project):
                return
        elif kind_of_recipe(document) == "other":
            return
        elif after_commands("warning", (name,), document, project) is None:
            return  # every launch sets it
        if entry.value.value is None and is_engine:
            return
        start, end = entry.value.start, entry.value.end
        fix = None
        if not entry.value.alias and end > start:
            fix = Fix(_TITLE.format(f"{name}: 1.0"), "unsafe", (document.source.edit(start, end, "1.0"),))
        yield self.finding(
            document.place(entry),
            word_off(f"{name}: {entry.value.raw}".rstrip(": ")),
            severity="warning",
            fix=fix,
        )

    def check_run(self, run: Run) -> Iterator[Finding]:
        if run.is_launched:
            yield from self._check_command(run)
        yield from self._check_engine(run)

    def _check_command(self, run: Run) -> Iterator[Finding]:
        """The norm that a command gives, by whatever name its framework has for it."""
        config = run.config
        given = config.given_setting("clipping")
        if not isinstance(given, Setting) or given.location is None or not is_of_run(given, run):
            return  # a file and a script are judged by themselves
        if given.number is None or not is_off(given.number) or run.kind == "other":
            return
        held = config.held("clipping")
        words = written_as(config.option("clipping"), given, run)
        stops = held is not None and held.zero == "no-gradient"
        if stops and given.number < 0:
            return
        yield self.finding(given.location, (word_nothing if stops else word_off)(words), severity="warning")

    def _check_engine(self, run: Run) -> Iterator[Finding]:
        """A DeepSpeed config that does not clip as the arguments of the trainer say."""
        from trl_lint.checks._trainers import is_compared

        if not is_compared(run) or (run.deepspeed is None and run.accelerate is None):
            return
        from trl_lint.checks.numerics._deepspeed_clipping import unclipped
        from trl_lint.run.method import kind_of_class, kind_of_command

        kind = kind_of_class(run.arguments_class.rpartition(".")[2])
        kinds = (kind, kind_of_command(run))
        highest = severity_of(*kinds, {run.arguments_class.partition(".")[0]})
        for found in unclipped(run, highest, run.launch.is_documentation):
            yield self.finding(
                found.location, found.message, severity=found.severity, related=found.related, fix=found.fix
            )


def is_refused(document: Document, project: Project) -> bool:
    """Whether a run stops at the value, because its arguments have another one: TRL404 tells of that pair."""
    from trl_lint.checks.configs._deepspeed_match import mismatches, runs_compared_with

    return any(
        pair.key == "gradient_clipping"
        for run in runs_compared_with(document, project)
        for pair in mismatches(run, run.choices[run.arguments_class.partition(".")[0]].newest)
    )


# -- reading ---------------------------------------------------------------------------------------------------------


def severity_of(kind: TrainingKind, module_kind: TrainingKind, packages: set[str]) -> Severity | None:
    """How loud to be: RL and preference training warns, other training in a TRL file informs, the rest is silent."""
    if kind != "other" or module_kind != "other":
        return "warning"
    return "info" if "trl" in packages else None


def word_off(what: str) -> str:
    return f"`{what}` switches gradient clipping off: one bad batch of samples can blow up the policy"


def word_nothing(what: str) -> str:
    return f"`{what}` multiplies every gradient by 0, so that nothing is learned"


def word_none() -> str:
    return "`max_grad_norm=None` fails at the first step: transformers 5.3 and later compare it with 0"


def read_step(site: Site) -> ast.Call | None:
    """The optimizer step that follows this backward pass in the same function, if this is its first backward pass.

    A DeepSpeed engine (`engine.backward`, `engine.step`) clips by its config, which is judged where it is written.
    """
    module, call = site.module, site.call
    passes, steps = _passes_and_steps(module.function(call), module)
    if next(iter(passes), call) is not call:
        return None
    later = [step for step in steps if step.lineno > call.lineno]
    if any(receiver_of(step) == receiver_of(call) for step in later):
        return None
    return next((step for step in later if is_optimizer_step(step)), None)


@per_module
def _passes_and_steps(function: FunctionNode | None, module: PythonModule) -> tuple[list[ast.Call], list[ast.Call]]:
    """The backward passes and the steps of a function, in the order of the text."""
    inside = [call for call in calls_by_function(module).get(function, ()) if isinstance(call.func, ast.Attribute)]
    passes, steps = ([call for call in inside if last_name(call) == name] for name in ("backward", "step"))
    return passes, steps


def receiver_of(call: ast.Call) -> str:
    return key_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def is_optimizer_step(step: ast.Call) -> bool:
    """`optimizer.step()`, or `scaler.step(optimizer)`; a scheduler's step is none."""
    receiver = last_name(step.func.value) if isinstance(step.func, ast.Attribute) else ""
    names = [receiver, *(last_name(arg) for arg in step.args[:1])]
    return any(re.search(r"opt(?:im|$|_)", name, re.I) and "sched" not in name.lower() for name in names)


def takes_optimizer(call: ast.Call) -> bool:
    """`booster.backward(loss, optimizer)`: a plugin of ColossalAI clips, by the `max_norm` it was made with."""
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords if keyword.arg == "optimizer")]
    return any(re.search(r"opt(?:im|$|_)", last_name(arg), re.I) for arg in given)


def is_of_accelerator(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and "accel" in last_name(call.func.value).lower()


@per_module
def clips(module: PythonModule) -> bool:
    """Whether the code of a module clips, by a call, a helper or an argument; comments do not count."""
    return _CLIPS.search(_COMMENT.sub("", module.text)) is not None


def is_rl_project(path: str, project: Project) -> bool:
    """Whether the project depends on a library for policy optimisation."""
    environment = project.environment(path)
    return any(environment.package(name).pins for name in ("trl", "openrlhf", "verl"))


rule = GradientClippingOff()
