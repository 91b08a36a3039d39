"""TRL737: a trainer of TRL is given training arguments that lack what it reads first."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import TrainerRule, first_found, place_for, seen_at
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import judge, level_in
from trl_lint.finding import Finding, Fix
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.presence import points_of_parameter
from trl_lint.knowledge.trainer_arguments import field_read_by, fields_read
from trl_lint.run.runs import Run
from trl_lint.run.trainer import TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import is_handed_on, only


class ArgumentsOfAnotherTrainer(TrainerRule):
    code = "TRL737"
    words = (
        b"BCOTrainer", b"CPOTrainer", b"DPOTrainer", b"GRPOTrainer", b"KTOTrainer", b"ORPOTrainer", b"OnlineDPOTrainer",
        b"PRMTrainer", b"RLOOTrainer", b"RewardTrainer",
    )  # fmt: skip
    needles = (b"TrainingArguments", b"SFTConfig")

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.own is None and call.trainer.startswith("trl.") and not is_unsloth(call.module):
            yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        made = only(call.given("args"), run)
        known = call.environment.choices
        if made is None or made.kind != "call" or not _is_config(made) or "trl" not in known or is_handed_on((made,)):
            return None
        fields = {row.field for row in fields_read() if row.trainer == call.name}
        if not all(only(call.field(name), run) is not None for name in fields):
            return None
        if any(one.kind != "absent" for name in fields for one in call.field(name)):
            return None  # it is set on the object
        points = {"trl": frozenset(range(len(releases("trl"))))}  # which field is read differs from one to the next
        for name in fields:
            for package, found in points_of_parameter(made.origin, name).items():
                points[package] = points.get(package, frozenset()) | found

        def has_field(versions: dict[str, str]) -> bool | None:
            name = field_read_by(call.name, versions["trl"])
            return _has(made.origin, name, versions) if name else True

        verdict = judge(known, points, has_field, level_in(self, run), "trl")
        if verdict is None:
            return None
        name = field_read_by(call.name, verdict.version)
        own = f"{call.name.removesuffix('Trainer')}Config"
        message = (
            f"{call.name} reads `{name}` of its arguments, which `{made.name}` does not have, and stops: make them "
            f"with `{own}` ({verdict.scope})"
        )
        related = (*seen_at(call, made, "the arguments"), *verdict.related)
        return self.finding(
            place_for(call, made), message, severity=verdict.severity, related=related, fix=_edit_class(call, made, own)
        )


def _edit_class(call: TrainerCall, made: Made, own: str) -> Fix | None:
    """Make the arguments with the config of the trainer; unsafe, since it has other defaults than `TrainingArguments`.

    Withheld where they are made in another file, or another trainer gets them.
    """
    from trl_lint.checks.drift._config_class import PLAIN, edit_class, goes_to_one
    from trl_lint.checks.drift._objects import construction

    given = next((keyword.value for keyword in call.call.keywords if keyword.arg == "args"), None)
    built = construction(given, call.module) if given is not None else None
    if built is None or given is None or built is not made.node or made.origin not in PLAIN:
        return None
    if built is not given and not goes_to_one(call.call, given, call.module):
        return None
    known = call.environment.choices
    edits = edit_class(call.call.func, built.func, own, known, call.module)
    return Fix(f"Make them with `{own}`", "unsafe", edits) if edits else None


def _is_config(made: Made) -> bool:
    return made.origin.startswith(("transformers.", "trl.")) and made.name.endswith(("TrainingArguments", "Config"))


def _has(dotted: str, name: str, versions: dict[str, str]) -> bool | None:
    """Whether a class of training arguments has a field; None where that is not known."""
    found = resolve(dotted, versions)
    known = signature(found, versions) if isinstance(found, str) else None
    if known is None or known.open or not known.parameters:
        return None
    return name in known.parameters


rule = ArgumentsOfAnotherTrainer()
