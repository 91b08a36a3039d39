"""What the user wants: `[tool.trl-lint]` or trl-lint.toml, with the command line on top.

A key that is unknown or has the wrong type is an error with its file and line: a setting that is silently ignored
costs more than one that is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trl_lint import tracked
from trl_lint.finding import Severity
from trl_lint.options import SETTINGS, option
from trl_lint.paths import Glob, Globs
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.selection import Selection, covers, is_selected
from trl_lint.settings_file import NOTHING_UNSAVED, Reader, SettingsError, Unsaved, own_table, shown, unreadable

# The names of ruff's configuration files, in its order of preference.
_OWN_FILES = (".trl-lint.toml", "trl-lint.toml")

DEFAULT_EXCLUDES = frozenset((
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".idea", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".trl_lint_cache", ".venv",
    "CVS", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules",
    "site-packages", "venv",
    # Records that Hydra, Lightning, MLflow and Ray keep of runs: nobody installs or starts anything from them.
    ".hydra", "lightning_logs", "mlartifacts", "mlruns", "ray_results",
))  # fmt: skip
# Those of wandb, and the checkpoints of transformers.
_RECORD = regex(r"(?:offline-)?run-\d{8}_\d{6}-\w+|checkpoint-\d+")


class PerFileIgnore(NamedTuple):
    """Rules that are off for the files a pattern names (or, negated with `!`, for all others)."""

    glob: Glob
    negated: bool
    selectors: tuple[str, ...]


# What the command line, or who runs the engine, says by the names of options. What is missing or None is not said: the
# configuration file decides. `ignore-noqa` is no option of ours: see `Settings`.
Said = Mapping[str, Any]
NOTHING: Said = {}


class Settings:
    """The settings of one run. `root` is the folder patterns are relative to, `config` the file they came from."""

    def __init__(
        self,
        root: str = "",
        config: str | None = None,
        layers: Sequence[Selection] = (),
        per_file_ignores: Sequence[PerFileIgnore] = (),
        exclude: Sequence[Glob] | None = None,
        extend_exclude: Sequence[Glob] = (),
        force_exclude: bool = False,
        targets: Mapping[str, str] | None = None,
        is_what_if: bool = False,
        baseline: str | None = None,
        output_format: str = "full",
        fix: bool = False,
        unsafe_fixes: bool = False,
        show_fixes: bool = False,
        respect_gitignore: bool = True,
        cache_dir: str | None = None,
        hints: bool = False,
        fail_on: Severity = "warning",
        respect_file_noqa: bool = True,
        ignore_noqa: bool = False,
        own: Mapping[type, tuple[Any, ...]] | None = None,
    ) -> None:
        self.root = root or os.getcwd()
        self.config = config
        self.layers = tuple(layers)
        self.per_file_ignores = tuple(per_file_ignores)
        self.exclude = None if exclude is None else tuple(exclude)
        self.extend_exclude = tuple(extend_exclude)
        self.force_exclude = force_exclude
        self.respect_gitignore = respect_gitignore
        self.ignore_noqa = ignore_noqa  # comments suppress nothing, and nothing is said about them
        self.targets = dict(targets or {})
        # Versions named on the command line ask "what if"; they say nothing about what the project carries today.
        self.is_what_if = is_what_if
        self.baseline = baseline
        self.output_format = output_format
        self.fix = fix
        self.unsafe_fixes = unsafe_fixes
        self.show_fixes = show_fixes
        self.cache_dir = cache_dir
        self.hints = hints
        self.fail_on = fail_on
        self.respect_file_noqa = respect_file_noqa
        self.own = own  # the rows of the files that `knowledge` names (`knowledge/own.py`), None for no file
        # Whether somebody reads or makes the edits of fixes; else their titles are enough.
        self.wants_edits = True
        self._selected: dict[str, bool] = {}
        self._ignoring = Globs([one.glob for one in self.per_file_ignores])
        self._excluding = Globs([*(self.exclude or ()), *self.extend_exclude])
        self._ignored: tuple[str, tuple[str, ...]] = "", ()

    def is_selected(self, code: str) -> bool:
        """Whether a rule is on, apart from the files it may be off for."""
        found = self._selected.get(code)
        if found is None:
            found = self._selected[code] = is_selected(code, self.layers)
        return found

    def is_enabled(self, code: str, path: str) -> bool:
        """Whether a rule is on for the file at an absolute path."""
        if not self.is_selected(code):
            return False
        return not self.per_file_ignores or not any(covers(selector, code) for selector in self._ignored_in(path))

    def _ignored_in(self, path: str) -> tuple[str, ...]:
        """What the settings ignore in a file; each pattern is held against it once."""
        known, ignored = self._ignored
        if known != path:
            named = set(self._ignoring.fitting(path))
            numbered = enumerate(self.per_file_ignores)
            fitting = (one for number, one in numbered if (number in named) != one.negated)
            ignored = tuple(dict.fromkeys(selector for one in fitting for selector in one.selectors))
            self._ignored = path, ignored
        return ignored

    def is_excluded(self, path: str) -> bool:
        """Whether a file or folder that was found (not named by the user) is to be left out, by its absolute path."""
        if self.exclude is None:
            name = os.path.basename(path)
            if name in DEFAULT_EXCLUDES or name.endswith(".egg-info") or _RECORD.fullmatch(name):
                return True
        return bool(self._excluding.fitting(path))


# -- finding and reading configuration files --------------------------------------------------------------------------


def settings_for(
    paths: Sequence[str], said: Said = NOTHING, config: str | None = None, isolated: bool = False
) -> list[tuple[Settings, list[str]]]:
    """Paths grouped by the settings that hold for them.

    Each path takes the nearest configuration file at or above it; configuration files further down a folder are not
    consulted. `config` names one file for all, `isolated` means none. Raises SettingsError.
    """
    groups: dict[str | None, list[str]] = {}
    for path in paths:
        found = None if isolated else config or find_config(_folder_of(os.path.abspath(path)))
        groups.setdefault(found, []).append(path)
    is_named = config is not None and not isolated
    return [(load(found, said, is_named=is_named), members) for found, members in groups.items()]


def _folder_of(path: str) -> str:
    return path if tracked.is_folder(path) else os.path.dirname(path)


def find_config(folder: str, unsaved: Unsaved = NOTHING_UNSAVED) -> str | None:
    """The configuration file for an absolute folder: the nearest one at or above it, None where there is none."""
    return _nearest_config(folder, unsaved) if unsaved else _config_on_disk(folder)


@tracked.remembered(1024)
def _config_on_disk(folder: str) -> str | None:
    return _nearest_config(folder, NOTHING_UNSAVED)


def _nearest_config(folder: str, unsaved: Unsaved) -> str | None:
    for name in _OWN_FILES:
        path = os.path.join(folder, name)
        if path in unsaved or tracked.is_file(path):
            return path
    path = os.path.join(folder, "pyproject.toml")
    try:
        data = unsaved[path] if path in unsaved else tracked.read(path)
    except OSError as error:
        if not tracked.is_gone(error) and tracked.is_file(path):
            raise SettingsError(unreadable(path, error)) from None  # it may hold settings
        data = b""
    # Nearly every pyproject.toml is somebody else's; only one that mentions the tool is parsed.
    if b"trl-lint" in data and own_table(path, data) is not None:
        return path
    parent = os.path.dirname(folder)
    return None if parent == folder else find_config(parent, unsaved)


def load(
    config: str | None, said: Said = NOTHING, unsaved: Unsaved = NOTHING_UNSAVED, is_named: bool = False
) -> Settings:
    """Settings from a configuration file (None for none) with the command line on top. Raises SettingsError.

    `is_named`: a person named the file, as opposed to one that was found.
    """
    written: Said = {}
    here = os.getcwd()
    root = here
    if config is not None:
        config = os.path.abspath(config)
        root = os.path.dirname(config)
        written = Reader(config, unsaved=unsaved, is_named=is_named).read()

    def settled(name: str) -> Any:
        """What the command line says, else the file, else what holds without either."""
        found = said.get(name)
        found = written.get(name) if found is None else found
        return option(name).otherwise if found is None else found

    places = ((said, here), (written, root))
    patterns = next((_globs(by["exclude"], base) for by, base in places if by.get("exclude") is not None), None)
    baseline = next((os.path.join(base, by["baseline"]) for by, base in places if by.get("baseline") is not None), None)
    ignores = said.get("per-file-ignores")
    if ignores is None:
        ignores = [per_file_ignore(one, codes, root) for one, codes in written.get("per-file-ignores", {}).items()]
    targets = said.get("target") or {}
    return Settings(
        root=root,
        config=config,
        layers=[_layer(written), _layer(said)],
        per_file_ignores=ignores,
        exclude=patterns,
        extend_exclude=[one for by, base in reversed(places) for one in _globs(by.get("extend-exclude") or (), base)],
        force_exclude=said.get("force-exclude", False),
        targets={**written.get("target", {}), **targets},
        is_what_if=bool(targets),
        baseline=baseline,
        cache_dir=written.get("cache-dir"),
        ignore_noqa=said.get("ignore-noqa", False),
        own=_own([os.path.join(root, path) for path in written.get("knowledge", ())]),
        **{one.attribute: settled(one.name) for one in SETTINGS.values() if one.setting in _SETTLED},
    )


def _own(paths: Sequence[str]) -> Mapping[type, tuple[Any, ...]] | None:
    if not paths:
        return None
    from trl_lint.knowledge import KnowledgeError
    from trl_lint.knowledge.own_files import read_own

    try:
        return read_own({path: shown(path) for path in map(os.path.normpath, paths)})
    except KnowledgeError as error:
        raise SettingsError(str(error)) from None


# Of these the command line replaces what the file says.
_SETTLED = ("boolean", "format", "level")


def _layer(said: Said) -> Selection:
    return Selection(said.get("select"), said.get("ignore") or (), said.get("extend-select") or ())


def _globs(patterns: Iterable[str], root: str) -> list[Glob]:
    if any(map(os.path.isabs, patterns)):
        tracked.note_place()
    return [Glob(pattern, root) for pattern in patterns]


def per_file_ignore(pattern: str, selectors: tuple[str, ...], root: str) -> PerFileIgnore:
    return PerFileIgnore(Glob(pattern.removeprefix("!"), root), pattern.startswith("!"), selectors)
