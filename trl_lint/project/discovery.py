"""Which files a run looks at: those the user names, and below named folders those that some reader understands."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress

from trl_lint import budget, tracked
from trl_lint.budget import SEARCH_SECONDS, OverBudgetError
from trl_lint.paths import MARKDOWN
from trl_lint.project.gitignore import chain_above, entered, is_ignored
from trl_lint.project.pins import kind_of
from trl_lint.regexes import regex
from trl_lint.settings import Settings

_SUFFIXES = (
    ".py", ".pyi", ".ipynb", ".yaml", ".yml", ".json", ".toml", *MARKDOWN,
    ".sh", ".bash", ".slurm", ".sbatch", ".dockerfile", ".zsh", ".pbs", ".lsf", ".qsub", ".sge", ".just",
)  # fmt: skip
# Scripts of other shells, of workflow engines and of services, and templates of scripts.
_WITH_COMMANDS = (
    ".bat", ".cmd", ".conf", ".csh", ".fish", ".groovy", ".hcl", ".j2", ".jinja", ".jinja2", ".job", ".ksh", ".nf",
    ".nomad", ".ps1", ".service", ".smk", ".sub", ".submit", ".tcsh", ".template", ".tmpl", ".tpl",
)  # fmt: skip
_NAMES = frozenset(
    (
        "Makefile", "makefile", "GNUmakefile", "Containerfile", "setup.cfg", "uv.lock", "poetry.lock", "justfile",
        "Justfile", ".justfile", "MLproject", "Pipfile", "Pipfile.lock", "tox.ini",
    )
)  # fmt: skip
_PREFIXED = regex(r"Dockerfile([._-].*)?\Z|.*\.py\.lock\Z", re.IGNORECASE)
# pip gives requirement files no fixed name; these are the ones people use.
_REQUIREMENTS = regex(r"require|constraint|reqs?\b", re.IGNORECASE)
_REQUIREMENT_FOLDERS = frozenset(("requirements", "requirement", "reqs", "constraints"))


def is_source(path: str) -> bool:
    """Whether some reader understands a file of this name."""
    folder, name = os.path.split(path)
    if name.endswith(_SUFFIXES) or name in _NAMES or _PREFIXED.match(name):
        return True
    if kind_of(path) in ("freeze", "definition", "readme"):
        return True
    if not name.endswith((".txt", ".in")):
        return False
    return (
        _REQUIREMENTS.search(name.rpartition(".")[0]) is not None
        or os.path.basename(folder).lower() in _REQUIREMENT_FOLDERS
    )


def may_start_something(name: str) -> bool:
    """Whether people write commands into a file of this name, which no reader of ours understands."""
    return name.endswith(_WITH_COMMANDS) or "." not in name


def collect(
    paths: Sequence[str], settings: Settings, overlays: Container[str] = (), others: list[str] | None = None
) -> tuple[list[tuple[str, bool]], list[tuple[str, str]]]:
    """The files to check as (absolute path, named by the user), sorted, and the named paths that are not there.

    `overlays` holds the absolute paths that exist as unsaved text only. A named file is always taken (unless
    `settings.force_exclude`). A folder that cannot be listed stands among the files, once: reading it fails with the
    reason, which is then reported like that of any other unreadable path. `others` gets the files in these folders that
    no reader understands, and into which people write commands.
    """
    found: dict[str, bool] = {}
    missing: list[tuple[str, str]] = []
    for name in paths:
        path = os.path.abspath(name)
        if path in overlays:
            if not (settings.force_exclude and _is_excluded_anywhere(path, settings)):
                found[path] = True
            continue
        try:
            mode = tracked.status(path).st_mode
        except (OSError, ValueError) as error:
            missing.append((path, _reason(error)))
            continue
        if settings.force_exclude and _is_excluded_anywhere(path, settings):
            continue
        if stat.S_ISDIR(mode):
            try:
                tracked.entries(path)
            except OSError as error:
                missing.append((path, f"cannot be listed: {_reason(error)}"))
                continue
            _take(path, settings, others, found)
        elif stat.S_ISREG(mode):
            found[path] = True
        else:
            missing.append((path, "not a file or a folder (use `-` for standard input)"))
    return sorted(found.items()), missing


def _take(folder: str, settings: Settings, others: list[str] | None, found: dict[str, bool]) -> None:
    """Add the files below a folder: those that are found in the time there is, and a failure if it was too short."""

    def work() -> None:
        for file in _walk(folder, settings, others):
            found.setdefault(file, False)

    try:
        budget.within("the search for files", folder, SEARCH_SECONDS, work)
    except OverBudgetError as error:
        budget.fail(folder, str(error))


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or directory"
    return tracked.reason(error) if isinstance(error, OSError) else str(error)


def _is_excluded_anywhere(path: str, settings: Settings) -> bool:
    """Whether a named path or a folder around it, up to the root of the settings, is to be left out."""
    while path != settings.root:
        if settings.is_excluded(path):
            return True
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return False


def is_left_out(path: str, settings: Settings) -> bool:
    """Whether a file that is not named is left out, by the settings or by git."""
    if _is_excluded_anywhere(path, settings):
        return True
    entries = next(iter(listings(os.path.dirname(path), settings)))[1] or ()
    return all(entry.path != path for entry in entries)


def listings(root: str, settings: Settings) -> Iterator[tuple[str, list[os.DirEntry[str]] | None]]:
    """A folder and every folder below it that neither the settings nor git leave out, each with what git leaves of
    what is in it; None if it cannot be listed.

    Symbolic links are not followed into folders, so there are no loops.
    """
    respects = settings.respect_gitignore
    waiting = [(root, chain_above(root) if respects else ())]
    while waiting:
        folder, chain = waiting.pop()
        try:
            entries = tracked.entries(folder)
        except OSError as error:
            tracked.note_unread(folder, error)
            yield folder, None
            continue
        if folder != root and any(entry.name == "pyvenv.cfg" for entry in entries):
            continue  # a virtual environment by any other name
        if respects:
            chain = entered(chain, folder, {entry.name for entry in entries})
        if chain:
            entries = [entry for entry in entries if not is_ignored(chain, entry.path, _is_folder(entry))]
        yield folder, entries
        for entry in entries:
            if _is_folder(entry) and not settings.is_excluded(entry.path):
                waiting.append((entry.path, chain))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with suppress(OSError):  # it vanished while we looked
        return entry.is_dir(follow_symlinks=False)
    return False


def _walk(root: str, settings: Settings, others: list[str] | None) -> Iterator[str]:
    """Every source file below a folder; `others` as in `collect`."""
    found: set[str] = set()
    links: list[str] = []
    for folder, entries in listings(root, settings):
        if entries is None:
            found.add(folder)
            yield folder
            continue
        for entry in entries:
            if not is_source(entry.path):
                if others is not None and may_start_something(entry.name) and not settings.is_excluded(entry.path):
                    others.append(entry.path)
                continue
            try:
                if entry.is_symlink():
                    if not settings.is_excluded(entry.path):
                        links.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and not settings.is_excluded(entry.path):
                    found.add(entry.path)
                    yield entry.path
            except OSError:  # it vanished while we looked
                continue
    if links:
        yield from _own_links(links, found, root)


def _own_links(links: list[str], found: set[str], root: str) -> Iterable[str]:
    """The linked files that belong to the tree and are not checked under their own name already."""
    inside = os.path.join(tracked.real(root), "")
    # There are no links between the root and what was found without following any.
    below = len(os.path.join(root, ""))
    seen = {inside + path[below:] for path in found}
    for link in sorted(links):
        target = tracked.real(link)
        if target.startswith(inside) and target not in seen and tracked.is_file(target):
            seen.add(target)
            yield link
