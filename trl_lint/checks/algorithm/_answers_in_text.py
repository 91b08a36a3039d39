"""Where the code that looks for the answers in a text never finds them: parts and templates of another form."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.algorithm._reward_functions import function_named
from trl_lint.checks.algorithm._turn_marks import foreign_token
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Location
from trl_lint.knowledge.chats import Chat, chat_of, chats, has_prefix
from trl_lint.project.modules import modules_around
from trl_lint.python.guards import last_name
from trl_lint.python.module import mentions
from trl_lint.regexes import regex
from trl_lint.run.runs import Run
from trl_lint.run.text import HOLE, Text, written_by
from trl_lint.run.trainer import TrainerCall, is_absent, trainer_calls
from trl_lint.run.trainer.entries import given
from trl_lint.run.trainer.made import Made
from trl_lint.run.trainer.models import loader, only, possible_lines
from trl_lint.run.trainer.running import value_in

# What gives a tokenizer another template, or more tokens.
_OTHERWISE = regex(
    r"chat_template\s{0,4}=|setup_chat_format|clone_chat_template|add_special_tokens\s{0,3}\(|add_tokens\s{0,3}\("
    r"|additional_special_tokens"
)
COLLATOR = "DataCollatorForCompletionOnlyLM"
UNSLOTH = "train_on_responses_only"
_SET = "get_chat_template"
_SHORT = 6  # characters of a text that tell it from others


def unfound_answers(call: TrainerCall, rule: Rule) -> Iterator[Finding]:
    """The parts and templates of a trainer that never occur in its texts."""
    yield from _parts(call, rule)
    for made in call.given("data_collator"):
        if made.kind == "call" and made.name == COLLATOR:
            yield from _template(call, made, rule)


def _parts(call: TrainerCall, rule: Rule) -> Iterator[Finding]:
    """The parts by which Unsloth finds the answers in the text."""
    module = call.module
    calls = [one for one in module.calls if last_name(one.func) == UNSLOTH]
    if len(calls) != 1 or len(trainer_calls(module, call.project)) != 1:
        return
    chat, model = _chat(call)
    if chat is None:
        return
    frame = call.frame.resolver.frame_at(calls[0], call.frame)
    for position, name in ((2, "response_part"), (1, "instruction_part")):
        part = only(given(call.frame.resolver, calls[0], frame, name, position), None)
        value = value_in(part, None) if part is not None else None
        token = foreign_token(value, chat) if isinstance(value, str) else ""
        if part is not None and token:
            yield _of_another(part, name, token, model, chat, rule)
            return


def _of_another(part: Made, name: str, token: str, model: str, chat: Chat, rule: Rule) -> Finding:
    message = (
        f"`{name}` never occurs: `{token}` is of another template, and that of {model} writes `{chat.turn}`, so "
        "that every label is -100 and nothing is learnt"
    )
    return rule.finding(part.location, message)


def _template(call: TrainerCall, collator: Made, rule: Rule) -> Iterator[Finding]:
    """The template by which TRL's collator finds the answers in the text."""
    part = only(collator.argument("response_template", 0), None)
    value = value_in(part, None) if part is not None else None
    if part is None or not isinstance(value, str) or len(value.strip()) < _SHORT:
        return
    place = part.location
    writer = only(call.given("formatting_func"), None)
    if writer is not None and writer.kind == "function":
        yield from _against(value, place, _written(writer), _model(call), rule)
        return
    chat, model = _chat(call)
    token = foreign_token(value, chat) if chat is not None else ""
    if chat is not None and token and _renders(call):
        yield _of_another(part, "response_template", token, model, chat, rule)
    elif is_absent(call.given("formatting_func")):
        yield from _against(value, place, _mapped(call), _model(call), rule)


def _against(template: str, place: Location, texts: tuple[Text, ...], model: str, rule: Rule) -> Iterator[Finding]:
    """What the texts that a script writes say of a template."""
    long = [text for text in texts if len(text.text.replace(HOLE, "").strip()) >= _SHORT]
    if not long or any("apply_chat_template" in text.module.text for text in texts):
        return
    holding = [text for text in long if template in text.text]
    shown = (long[0].module.location(long[0].node, "the text"),)
    if not holding and not any(template.strip() in text.text for text in long):
        like = next((text for text in long if _is_like(template, text.text)), None)
        if like is None:
            return
        message = (
            f"`response_template` never occurs in the texts that the script writes: {template!r} is in none of "
            "them, so that every label is -100 and nothing is learnt"
        )
        yield rule.finding(place, message, related=(like.module.location(like.node, "the text"),))
    elif template.endswith(" ") and not template.endswith("  ") and not _ends_apart(template, holding):
        message = (
            "`response_template` ends with a blank, which the tokenizer joins to the word behind it: the template "
            "is not found, every label is -100 and nothing is learnt; leave the blank to the answer"
        )
        yield rule.finding(place, message, related=shown)
    elif holding and has_prefix(model) and _is_behind_line(template, holding):
        message = (
            f"`response_template` is not found: the tokenizer of {model} gives {template.strip()!r} other tokens "
            "behind a line end than alone, so that every label is -100 and nothing is learnt; give it the ids of "
            'tokenizer.encode("\\n" + template, add_special_tokens=False)[2:]'
        )
        yield rule.finding(place, message, related=shown)
    elif not holding:
        message = (
            f"`response_template` never occurs in the texts that the script writes: the blanks and line ends around "
            f"{template.strip()!r} differ there, so that every label may be -100"
        )
        yield rule.finding(place, message, related=shown)


def _is_like(template: str, text: str) -> bool:
    """Whether a text has marks of the kind of a template: the same first letters, `###` or a bracket."""
    first = template.strip()[:3]
    return bool(first) and first in text


def _ends_apart(template: str, texts: list[Text]) -> bool:
    """Whether something else than an answer, which begins with a letter, follows a template in some text."""
    behind = [text.text.partition(template)[2][:1] for text in texts]
    return not behind or any(one != HOLE and not one.isalnum() for one in behind)


def _is_behind_line(template: str, texts: list[Text]) -> bool:
    """Whether a template stands right behind the end of a line in all texts, and begins with none itself."""
    before = [text.text.partition(template)[0][-1:] for text in texts]
    return not template[:1].isspace() and all(one == "\n" for one in before)


def _written(writer: Made) -> tuple[Text, ...]:
    node = writer.node
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return ()
    return written_by(node, writer.frame.module, writer.frame.resolver.project)


def _mapped(call: TrainerCall) -> tuple[Text, ...]:
    """The texts that the functions write with which the script, or a module that it imports, maps datasets."""
    found: list[Text] = []
    for module in modules_around(call.module, b".map(", call.project):
        for one in module.calls:
            if last_name(one.func) != "map" or not isinstance(one.func, ast.Attribute) or not one.args:
                continue
            given_to = one.args[0].func if isinstance(one.args[0], ast.Call) else one.args[0]
            if isinstance(given_to, ast.Lambda):
                found += written_by(given_to, module, call.project)
            elif (writer := function_named(module, given_to, call.project)) is not None:
                found += written_by(writer[1], writer[0], call.project)
    return tuple(found)


def _renders(call: TrainerCall) -> bool:
    """Whether the script renders its texts with the template of the tokenizer, and writes none itself."""
    return any(last_name(one.func) == "apply_chat_template" for one in call.module.calls)


def _chat(call: TrainerCall) -> tuple[Chat | None, str]:
    """The form of the chats that a trainer's tokenizer renders, and whose that is."""
    module = call.module
    sets = [one for one in module.calls if last_name(one.func) == _SET]
    if len(sets) == 1:
        frame = call.frame.resolver.frame_at(sets[0], call.frame)
        name = only(given(call.frame.resolver, sets[0], frame, "chat_template", 1), None)
        value = value_in(name, None) if name is not None else None
        chat = next((one for one in chats() if value in one.unsloth), None)
        return chat, f"`{_SET}` ({value})"
    if sets or mentions(module, _OTHERWISE):
        return None, ""
    name_of = _model(call)
    return (chat_of(name_of), name_of) if name_of else (None, "")


def _model(call: TrainerCall) -> str:
    """The id of the model whose tokenizer a trainer uses, as far as its model tells."""
    names = {_loaded(line.source, loader(line), None) for line in possible_lines(call.lines("model"), None)}
    return names.pop() if len(names) == 1 else ""


def _loaded(source: Made, load: Made | None, run: Run | None) -> str:
    """The id that a model is loaded by."""
    made: Made | None = source
    if load is not None:
        by_name = load.argument("model_name", None)
        made = only(load.argument("pretrained_model_name_or_path", 0) if is_absent(by_name) else by_name, run)
    value = value_in(made, run) if made is not None else None
    return value if isinstance(value, str) else ""
