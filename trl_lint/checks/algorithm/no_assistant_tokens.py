"""TRL725: `assistant_only_loss` finds no tokens of the assistant: the chat template marks none, or there is no chat."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._trainer_rule import FieldTrainerRule, also_at, first_found, said_at
from trl_lint.checks.algorithm._tokenizers import HARMLESS, tokenizer_name
from trl_lint.checks.drift._calls import is_unsloth
from trl_lint.checks.verdict import Verdict, judge_releases, level_in
from trl_lint.finding import Finding
from trl_lint.knowledge.architectures import has_training_template
from trl_lint.knowledge.models import habit_of
from trl_lint.knowledge.ranges import holds
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.columns import columns_of
from trl_lint.run.runs import Run
from trl_lint.run.trainer import Line, TrainerCall
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import only
from trl_lint.run.trainer.running import is_on, possible_in, value_in

# From here on SFTTrainer takes a template with marks of its own in the place of one that it knows, and refuses all
# others without. Read in 0.29.1, 1.0.0, 1.1.0, 1.9.2 and 1.16.0.
_REPLACED = "1.1.0"
_FIRST = "0.19.0"  # the field is there, and examples without assistant tokens are refused
# Columns that may hold a chat (`is_conversational`, and `conversations`, which are converted before).
_CHATS = ("messages", "prompt", "completion", "chosen", "rejected", "conversations", "input_ids")
# Those of data that is tokenised already, and of pairs, for which 0.20.0 to 0.23.1 do not look at the marks.
_PREPARED = ("input_ids", "completion")
_TAKES_PREPARED = ">=0.20.0,<0.24.0"
_ON_HUB = regex(r"\w[\w.-]*/[\w.-]+")
# What may bring a chat template, or data that is prepared already.
_OTHER_TEMPLATE = regex(
    r"chat_template\s{0,4}=|chat_template_path|setup_chat_format|clone_chat_template|get_chat_template|skip_prepare"
)
# What may be set on a tokenizer without another template.
_HARMLESS = HARMLESS | {"eos_token", "add_eos_token"}


# Fields that bring another template, or data that is prepared already.
_ELSEWHERE = ("chat_template_path", "dataset_kwargs")


class NoAssistantTokens(FieldTrainerRule):
    code = "TRL725"
    words = (b"SFTTrainer",)
    needles = (b"assistant_only_loss",)
    fields = ("assistant_only_loss",)

    def check_trainer(self, call: TrainerCall) -> Iterator[Finding]:
        if call.trainer != "trl.SFTTrainer" or call.own is not None or is_unsloth(call.module):
            return
        yield from first_found(call, lambda run: self._in_run(call, run))

    def _in_run(self, call: TrainerCall, run: Run | None) -> Finding | None:
        switch = only(call.field("assistant_only_loss"), run)
        if switch is None or not is_on(switch, run):
            return None
        return self._without_chat(call, switch, run) or self._without_marks(call, switch, run)

    def _judged(
        self, call: TrainerCall, template: str, run: Run | None, may_be_prepared: bool = False
    ) -> Verdict | None:
        """The releases that stop; `template`: that of the tokenizer, "" where it is the data that they refuse.

        `may_be_prepared`: the data may be tokenised already.
        """
        from packaging.version import Version

        chosen = call.environment.choices.get("trl")
        if chosen is None:
            return None

        def is_bad(release: str) -> bool:
            if Version(release) < Version(_FIRST) or (may_be_prepared and holds(_TAKES_PREPARED, release)):
                return False
            if not template or Version(release) < Version(_REPLACED):
                return True
            return has_training_template(template, release) is False

        return judge_releases(chosen, is_bad, level_in(self, run))

    def _without_chat(self, call: TrainerCall, switch: Made, run: Run | None) -> Finding | None:
        datasets = columns_of(possible_in(call.given("train_dataset"), run))
        if not datasets or not all(one.complete and all(one.lacks(name) for name in _CHATS) for one in datasets):
            return None
        verdict = self._judged(call, "", run)
        if verdict is None:
            return None
        names = list(dict.fromkeys(f"`{name}`" for one in datasets for name in one.names))
        message = (
            f"`assistant_only_loss` needs messages, and the dataset has {', '.join(names[:4])} alone: the trainer "
            f"stops with a ValueError; give it a column `messages`, or leave the option out ({verdict.scope})"
        )
        begun = tuple(one.places[0]._replace(message="the dataset begins here") for one in datasets if one.places)
        return self._finding(call, switch, run, message, verdict)._replace(
            related=(*begun, call.location, *verdict.related)
        )

    def _without_marks(self, call: TrainerCall, switch: Made, run: Run | None) -> Finding | None:
        datasets = columns_of(possible_in(call.given("train_dataset"), run))
        if mentions(call.module, _OTHER_TEMPLATE) or any(name in one.names for one in datasets for name in _PREPARED):
            return None
        if not all(is_off(call, name, run) for name in _ELSEWHERE):
            return None
        named = tokenizer_name(call, run, _HARMLESS)
        template = habit_of(named).template if named else ""
        may_be_prepared = any(map(_may_be_prepared, call.lines("train_dataset")))
        verdict = self._judged(call, template, run, may_be_prepared) if template else None
        if verdict is None:
            return None
        message = (
            f"the chat template of {named} does not mark what the assistant says (`{{% generation %}}`), and this "
            "release has none to put in its place: the trainer stops, because `assistant_only_loss` finds nothing to "
            f"learn from; give the tokenizer a template with the marks ({verdict.scope})"
        )
        return self._finding(call, switch, run, message, verdict)

    def _finding(self, call: TrainerCall, switch: Made, run: Run | None, message: str, verdict: Verdict) -> Finding:
        place = said_at(call, switch, run)
        related = (*also_at(call, place), *verdict.related)
        return self.finding(place, message, severity=verdict.severity, related=related)


def _may_be_prepared(line: Line) -> bool:
    """Whether a dataset may be one that a project has saved before: of those on the hub people train on the text."""
    source = line.source
    if source.name != "load_dataset":
        return not source.origin.startswith("datasets.Dataset.from_")
    names = [made.value for made in source.argument("path", 0)]
    return not all(isinstance(name, str) and _ON_HUB.fullmatch(name) for name in names)


def is_off(call: TrainerCall, name: str, run: Run | None) -> bool:
    """Whether a field of the arguments certainly is not given, or is None."""
    made = only(call.field(name), run)
    return made is not None and (made.is_nothing or value_in(made, run) is None)


rule = NoAssistantTokens()
