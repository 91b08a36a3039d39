"""Marks of turns that are spelt as no token of the model is: `<|start_header|>` between `<|start_header_id|>`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from trl_lint.finding import Location
from trl_lint.knowledge.chats import Chat, chat_of, chats, is_instruct, known_tokens
from trl_lint.project import Project
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.text import Text, texts_in

_MARK = regex(r"<\|?/?[A-Za-z_]{3,40}\|?>")
# Whoever adds tokens may call them as they like.
_ADDS = regex(r"add_special_tokens\s{0,3}\(|add_tokens|additional_special_tokens|AddedToken|modules_to_save")
_SHORT = 5  # letters; of less two may be other words
_NEAR = 2  # letters that differ


class Misspelt(NamedTuple):
    """A mark that no model has, the token that is meant, and the text it stands in."""

    mark: str
    meant: str
    text: Text

    @property
    def message(self) -> str:
        return f"no token is called `{self.mark}`: the model reads it letter by letter; `{self.meant}` is meant"

    @property
    def place(self) -> Location:
        """Where the mark stands in the source of its text, the whole text where it is put together."""
        module = self.text.module
        start, end = module.span(self.text.node)
        at = module.text.find(self.mark, start, end)
        return module.source.location(at, at + len(self.mark)) if at >= 0 else module.location(self.text.node)


def misspelt_marks(module: PythonModule, around: tuple[PythonModule, ...], project: Project) -> Iterator[Misspelt]:
    """The marks in texts of a script, and of modules that it imports, that are nearly tokens of the same text."""
    if any(_ADDS.search(one.text) for one in (module, *around)):
        return
    for home in around:
        for text in texts_in(home.tree, home, project):
            if isinstance(text.node, ast.Name):
                continue  # told where it is written
            for mark in dict.fromkeys(_MARK.findall(text.text)) if "<" in text.text else ():
                meant = _meant(mark, text.text)
                if meant:
                    yield Misspelt(mark, meant, text)


def _meant(mark: str, text: str) -> str:
    """The token of a model, others of which stand in a text, that a mark is nearly; "" for none."""
    if mark in known_tokens():
        return ""
    for chat in chats():
        if not any(token in text for token in chat.tokens if len(_name(token)) >= _SHORT):
            continue
        like = [token for token in sorted(chat.tokens) if _is_like(mark, token)]
        if like:
            return min(like, key=lambda token: _differ(_name(mark), _name(token)))
    return ""


@lru_cache(maxsize=1024)
def _is_like(mark: str, token: str) -> bool:
    said, meant = _name(mark), _name(token)
    if len(meant) < _SHORT or not token.startswith("<"):
        return False
    if said == meant or (len(said) >= 8 and meant.startswith(f"{said}_")):
        return True
    return len(said) > 3 and _differ(said.replace("_", ""), meant.replace("_", "")) <= _NEAR


def _name(token: str) -> str:
    return token.strip("<>|/").lower()


def _differ(one: str, other: str) -> int:
    """How many letters have to be changed, added or left out."""
    before = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        row = [number]
        for at, wanted in enumerate(other, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (letter != wanted)))
        before = row
    return before[-1]


def foreign_token(text: str, chat: Chat) -> str:
    """A token of other chats in a text that has none of this one; "" where there is none."""
    if any(token in text for token in chat.tokens):
        return ""
    return next((token for other in chats() for token in sorted(other.tokens) if token in text), "")


def of_another_family(name: object, model: object) -> str:
    """What is wrong with a template of a framework for a model that has been taught another; "" for nothing."""
    if not isinstance(name, str) or not isinstance(model, str) or not is_instruct(model):
        return ""
    own, written = chat_of(model), next((chat for chat in chats() if name in chat.templates), None)
    if own is None or written is None or own is written:
        return ""
    return (
        f"`{name}` writes `{written.turn}`, with which no turn begins for {model}: its own begin with `{own.turn}`; "
        f"take a template of its family, such as `{own.templates[0]}`"
    )
