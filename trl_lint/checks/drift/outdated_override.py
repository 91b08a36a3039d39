"""TRL305: an overridden method of a trainer whose signature does not fit what the release in use calls it with."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import partial

from trl_lint.checks.drift._wording import sentence
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import judge
from trl_lint.finding import Finding
from trl_lint.knowledge.api import facts, follow, resolve
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import points_of_name
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.stack import Choices, choices_at
from trl_lint.python.guards import key_of
from trl_lint.python.module import FunctionNode, PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.records import NamedTuple

# Methods of trainers of trl that call what they override: read in eight releases from 0.12.2 to 1.16.0.
_HAND_ON = {
    "training_step": (
        "SFTTrainer",
        "DPOTrainer",
        "RewardTrainer",
        "KTOTrainer",
        "GRPOTrainer",
        "RLOOTrainer",
        "GKDTrainer",
    ),
    "get_train_dataloader": ("DPOTrainer", "KTOTrainer", "BCOTrainer"),
}
_HARMLESS_DECORATORS = frozenset({"override", "wraps", "torch.no_grad", "no_grad", "typing.override"})


class Hook(NamedTuple):
    """How `transformers.Trainer` calls a method of its own in the releases of `versions`.

    `positional`: how many arguments come by position; `keyword`: one that comes by name. `callers`: the methods that
    call it; whoever overrides one of these calls it as they like.
    """

    method: str
    versions: str
    positional: int
    keyword: str
    callers: tuple[str, ...]
    since: str


# Read in trainer.py of 4.45.2, 4.46.0, 4.46.3, 4.47.0, 4.47.1, 4.48.0 to 4.48.3, 4.49.0, 4.50.0, 4.51.0, 4.52.1,
# 4.52.4, 5.0.0 and 5.23.0. In 4.47.0 and 4.48.0 `num_items_in_batch` is only passed for models that do not take it.
_LOOPS = ("_inner_training_loop", "_run_epoch", "train")
HOOKS = (
    Hook(
        "compute_loss",
        ">=4.46.0,!=4.47.0,!=4.48.0",
        2,
        "num_items_in_batch",
        ("training_step",),
        "4.46.0",
    ),
    Hook("training_step", ">=4.46.0", 3, "num_items_in_batch", _LOOPS, "4.46.0"),
    Hook("log", ">=4.47.0", 2, "start_time", ("_maybe_log_save_evaluate",), "4.47.0"),
    Hook("_get_train_sampler", ">=4.52.0", 1, "train_dataset", ("get_train_dataloader", "_get_dataloader"), "4.52.0"),
    Hook("_save_checkpoint", "<4.47.0", 2, "metrics", ("_maybe_log_save_evaluate",), ""),
    Hook(
        "_maybe_log_save_evaluate",
        ">=4.47.0",
        7,
        "start_time",
        _LOOPS,
        "4.47.0",
    ),
    Hook(
        "_maybe_log_save_evaluate",
        ">=4.51.0",
        7,
        "learning_rate",
        _LOOPS,
        "4.51.0",
    ),
)
_BY_NAME = ("compute_loss", "_save_checkpoint")


class OutdatedOverride(Rule):
    code = "TRL305"
    imports = ("trl", "transformers")
    fences = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        for cls in module.classes:
            methods = {s.name: s for s in cls.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))}
            hooks = [hook for hook in HOOKS if hook.method in methods and not accepts(methods[hook.method], hook)]
            hooks = [hook for hook in hooks if is_called(methods[hook.method], cls, module)]
            if not hooks:
                continue
            from trl_lint.checks.drift._derived import trainer_of

            trainer = trainer_of(cls, module, project)
            if trainer is None or not trainer.dotted:
                continue
            known = choices_at(module, methods[hooks[0].method], project, "transformers")
            if known is None:
                continue
            told: set[str] = set()
            for hook in hooks:
                if not trainer.defined.isdisjoint(hook.callers):
                    continue
                base = trainer.dotted if hook.method not in trainer.between else ""
                finding = self._judge(cls, methods[hook.method], hook, trainer.dotted, base, known, module)
                if finding is not None and hook.method not in told:
                    told.add(hook.method)
                    yield finding

    def _judge(
        self,
        cls: ast.ClassDef,
        method: FunctionNode,
        hook: Hook,
        dotted: str,
        base: str,
        known: Choices,
        module: PythonModule,
    ) -> Finding | None:
        if is_guarded(module, method) or "transformers" not in known:
            return None
        if hook.callers == _LOOPS and calls_itself(cls, hook.method):
            return None  # a training loop of its own
        points = {**points_of_name(dotted), "transformers": frozenset(range(len(releases("transformers"))))}
        if any(package not in known for package in points):
            return None
        verdict = judge(known, points, partial(fits, dotted, hook), self, "transformers")
        if verdict is None or verdict.package != "transformers":
            return None
        since = f"since transformers {hook.since}" if hook.since else "before transformers 4.47.0"
        message = sentence(
            f"`{cls.name}.{hook.method}` does not take `{hook.keyword}`, which `Trainer` passes {since}",
            f"add `{hook.keyword}` to its parameters",
            verdict.basis,
        )
        from trl_lint.checks.drift._override_fixes import edit_signature

        return self.finding(
            module.name_location(method),
            message,
            severity=verdict.severity,
            related=verdict.related,
            fix=edit_signature(method, hook.keyword, hook.positional, base, known, module),
            pin=verdict.pin,
        )


def accepts(method: FunctionNode, hook: Hook) -> bool:
    """Whether a method can be called the way the hook is; what a decorator makes of it is not known."""
    if any(key_of(d) not in _HARMLESS_DECORATORS for d in method.decorator_list if not isinstance(d, ast.Call)):
        return True
    if any(key_of(d.func) not in _HARMLESS_DECORATORS for d in method.decorator_list if isinstance(d, ast.Call)):
        return True
    given = method.args
    positional = len(given.posonlyargs) + len(given.args) - 1
    if given.vararg is None and positional < hook.positional:
        return False
    if hook.method in _BY_NAME or hook.keyword == "learning_rate":
        names = {a.arg for a in (*given.args, *given.kwonlyargs)}
        return given.kwarg is not None or hook.keyword in names
    return True


def is_called(method: FunctionNode, cls: ast.ClassDef, module: PythonModule) -> bool:
    """Whether what the class defines is what a trainer calls: neither taken back, nor put in place, nor left open."""
    taken = [name for each in cls.body if isinstance(each, ast.Delete) for name in each.targets]
    if any(isinstance(name, ast.Name) and name.id == method.name for name in taken):
        return False
    if any(isinstance(node.ctx, ast.Store) and node.attr == method.name for node in module.of(ast.Attribute)):
        return False
    last = method.body[-1]
    raised = last.exc.func if isinstance(last, ast.Raise) and isinstance(last.exc, ast.Call) else None
    raised = raised or (last.exc if isinstance(last, ast.Raise) else None)
    return raised is None or key_of(raised) != "NotImplementedError"


def calls_itself(cls: ast.ClassDef, method: str) -> bool:
    """Whether a class calls one of its methods."""
    return any(isinstance(node, ast.Call) and key_of(node.func) == f"self.{method}" for node in ast.walk(cls))


def fits(dotted: str, hook: Hook, versions: dict[str, str]) -> bool | None:
    """False where the trainer with these versions calls the hook in its own way, None if it is not a Trainer there."""
    if not holds(hook.versions, versions["transformers"]):
        return True
    defined = methods_before_trainer(dotted, versions)
    if defined is None:
        return None
    return not defined.isdisjoint(hook.callers)


def methods_before_trainer(dotted: str, versions: dict[str, str]) -> frozenset[str] | None:
    """The methods that classes between a name and `transformers.Trainer` define; None if it does not lead there."""
    found = resolve(dotted, versions)
    methods: set[str] = set()
    for _ in range(8):
        if isinstance(found, Missing) or ":" not in found:
            return None
        symbol = follow(found, versions)
        if isinstance(symbol, Missing):
            return None
        if symbol == "transformers.trainer:Trainer":
            return frozenset(methods)
        package = symbol.partition(":")[0].partition(".")[0]
        known = facts(package, f"class {symbol}", versions.get(package))
        if isinstance(known, Missing):
            return None
        name = symbol.partition(":")[2]
        methods |= {key[1:] for key in known if key.startswith(".") and name not in _HAND_ON.get(key[1:], ())}
        bases = [base for base in known.get("@bases", "").split() if base != "?"]
        found = next(iter(_trainers_first(bases)), "")
    return None


def _trainers_first(bases: Sequence[str]) -> list[str]:
    return sorted(bases, key=lambda base: not base.endswith("Trainer"))


rule = OutdatedOverride()
