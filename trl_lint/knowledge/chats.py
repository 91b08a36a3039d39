"""How the chat templates of well-known models mark turns: `rules/models/chats.toml`."""

from __future__ import annotations

from functools import cache, lru_cache

from trl_lint.knowledge.models import model_of, original_of
from trl_lint.knowledge.rows import read_rows
from trl_lint.records import NamedTuple

_LONGEST_ID = 200  # the hub takes 96 characters


class Chat(NamedTuple):
    """One form of chats; the fields are explained in the table."""

    name: str
    ids: tuple[str, ...]
    tokens: frozenset[str]
    turn: str
    templates: tuple[str, ...]
    bare: tuple[str, ...] = ()
    begin: str = ""
    unsloth: frozenset[str] = frozenset()


class _Table(NamedTuple):
    evidence: tuple[str, ...]
    bare: tuple[str, ...]
    prefixed: tuple[str, ...]
    others: frozenset[str]
    chat: tuple[Chat, ...]


def chats() -> tuple[Chat, ...]:
    """All forms. Raises KnowledgeError if the table is malformed."""
    return _table().chat


@cache
def known_tokens() -> frozenset[str]:
    """Every token that some model is known to have."""
    return _table().others.union(*(chat.tokens for chat in chats()))


@lru_cache(maxsize=256)
def chat_of(identifier: str) -> Chat | None:
    """The form of a model by its id on the hub, that of a mirror too; None where it is not known."""
    return next((chat for chat in chats() if _fits(identifier, chat.ids)), None)


@lru_cache(maxsize=256)
def has_no_template(identifier: str) -> bool:
    """Whether the tokenizer of a model on the hub is known to have no chat template."""
    return _fits(identifier, _table().bare) or any(_fits(identifier, chat.bare) for chat in chats())


def is_instruct(identifier: str) -> bool:
    """Whether a model has been taught its template, as its row or its name says."""
    model = model_of(identifier)
    name = identifier.rpartition("/")[2].lower()
    is_named = name.endswith(("-it", "-chat")) or "-instruct" in name or "-chat-" in name or "-it-" in name
    return model.kind == "instruct" if model is not None else is_named


@lru_cache(maxsize=256)
def has_prefix(identifier: str) -> bool:
    """Whether the tokenizer of a model is known to put a blank in front of what it encodes."""
    return _fits(identifier, _table().prefixed)


def _fits(identifier: str, patterns: tuple[str, ...]) -> bool:
    import re

    name = original_of(identifier)
    return len(name) <= _LONGEST_ID and any(re.fullmatch(text, name) for text in patterns)


@cache
def _table() -> _Table:
    return read_rows("models/chats.toml", _Table)
