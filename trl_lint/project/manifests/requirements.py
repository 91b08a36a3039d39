"""requirements.txt and constraints files, with the files they include."""

from __future__ import annotations

import os

from trl_lint import budget, tracked
from trl_lint.project.links import is_own_file
from trl_lint.project.manifests.collected import pin_of
from trl_lint.project.pins import Kind, Link, Manifest, Pin
from trl_lint.project.repositories import at_index
from trl_lint.regexes import regex
from trl_lint.sources import Files, Source, SourceError, SourceFile
from trl_lint.sources.requirements import RequirementsText, read_requirements
from trl_lint.sources.text import refuse_large

# Deeper nesting of `-r` than this is a loop that renames itself (a symlink), not a project.
MAX_DEPTH = 10
# `name=version=build` and a pin of the interpreter stand in files for conda only.
_CONDA_LINE = regex(r"[\w.-]+=[\w.!+]+=[\w.]*|python\s*=.*")
_DAY = regex(r"\b20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])\b")
# A mistyped requirement has few words (`vllm = 0.7.2`), a sentence more.
_SLIP_WORDS = 3


def read(file: SourceFile, files: Files, kind: str) -> Manifest | None:
    """The pins of a requirements file and of all it includes. A file that includes itself is read once."""
    nul = file.text.find("\0")
    if nul >= 0:
        raise SourceError("not a text file: it holds a NUL byte", nul)
    text = read_requirements(file.text)
    if not looks_like_requirements(file, text):
        return None
    source = Source(file, "requirements")
    pins: list[Pin] = []
    links: list[Link] = []
    declared: Kind = "constraint" if kind == "constraints" else "requirement"
    _collect(source, text, files, declared, pins, links, {file.path}, 0)
    problems = tuple((source.location(start, end), message) for start, end, message in text.problems)
    if not pins and not problems and not links:
        return None
    return Manifest(file.path, kind, tuple(pins), problems=problems, links=tuple(links))


def looks_like_requirements(file: SourceFile, text: RequirementsText) -> bool:
    """Whether a file is meant for pip. Most of its lines must be readable, unless it is named `requirements*.txt`.

    What most often shares that name and is not for pip: prose about requirements, and lists that conda reads.
    """
    if len(text.problems) <= (len(text.requirements) + len(text.includes)) // 2:
        return True
    if not os.path.basename(file.path).lower().startswith("requirements"):
        return False
    refused = [file.text[start:end] for start, end, _ in text.problems]
    if any(_CONDA_LINE.fullmatch(line) for line in refused):
        return False
    return 2 * sum(len(line.split()) > _SLIP_WORDS for line in refused) <= len(refused)


def _dated(text: str, end: int) -> str:
    """The day that the comment behind a requirement gives."""
    stop = text.find("\n", end)
    _, _, comment = text[end : stop if stop >= 0 else len(text)].partition("#")
    return match[0] if (match := _DAY.search(comment)) else ""


def _collect(
    source: Source,
    text: RequirementsText,
    files: Files,
    kind: Kind,
    pins: list[Pin],
    links: list[Link],
    seen: set[str],
    depth: int,
) -> None:
    for requirement in text.requirements:
        pin = pin_of(source, requirement, kind)
        dated = _dated(source.text, requirement.end) if pin.url else ""
        pins.append(at_index(pin._replace(dated=dated), "".join(text.indexes[:1])))
    for folder in text.folders:
        place = source.location(folder.start, folder.end)
        # pip looks for it from where it is started; most people start it beside the file.
        path = os.path.join(os.path.dirname(source.path), folder.path)
        links.append(Link(path, "", "project", place, folder.extras))
    if depth == MAX_DEPTH:
        return
    for include in text.includes:
        path = os.path.normpath(os.path.join(os.path.dirname(source.path), include.path))
        if path in seen or "://" in include.path:
            continue
        seen.add(path)
        if tracked.is_file(path) and not is_own_file(path, source.path):
            budget.note(source.path, f"`{include.path}` is outside of this repository, so it was not read")
            continue
        try:
            file = files.get(path)
            refuse_large(len(file.data))
            included = read_requirements(file.text)
        except (OSError, SourceError):
            continue  # made by a build step, perhaps; a broken file is reported where it is checked itself
        inner: Kind = "constraint" if include.is_constraint else kind
        _collect(Source(file, "requirements"), included, files, inner, pins, links, seen, depth + 1)
