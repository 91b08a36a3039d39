"""Reading a settings file: every key known, every value of the right type, every mistake with its file and line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trl_lint import tracked
from trl_lint.finding import SEVERITIES
from trl_lint.options import SETTINGS, Setting
from trl_lint.paths import leads_below, relative_to, repository_around
from trl_lint.regexes import regex
from trl_lint.selection import SelectorError, read_selectors
from trl_lint.words import nearest

_TARGET = regex(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*={2,3}\s*(\S+)\s*\Z")


class SettingsError(Exception):
    """Settings that cannot be used; the text names file, line and key and is all the user needs."""


def shown(path: str) -> str:
    """A path as the user may have written it: relative below the working directory, else absolute."""
    relative = relative_to(path, os.getcwd())
    return path if relative.startswith("..") else relative


def unreadable(path: str, error: OSError) -> str:
    """What to say of a settings file that cannot be read."""
    text = f"{shown(path)}: {tracked.reason(error)}"
    return text if tracked.is_gone(error) else f"{text}; make it readable, or check with `--isolated`"


def own_table(path: str, data: bytes) -> dict[str, Any] | None:
    """The settings in a configuration file, None where a pyproject.toml has none. Raises SettingsError."""
    import tomli

    own = os.path.basename(path) != "pyproject.toml"
    try:
        table = tomli.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, numbers and brackets without end
        if not own and b"tool.trl-lint" not in data:
            return None  # broken, but no settings of ours in it: the engine reports the file if it is checked
        line = re.search(r"at line (\d+)", str(error))
        number = int(line[1]) if line else data.count(b"\n") + 1
        raise SettingsError(f"{shown(path)}:{number}: not valid TOML: {error}") from None
    if own:
        return table
    tool = table.get("tool")
    found = tool.get("trl-lint") if isinstance(tool, dict) else None
    if found is not None and not isinstance(found, dict):
        raise SettingsError(f"{shown(path)}: `tool.trl-lint` must be a table")
    return found


class _WrongError(Exception):
    """What is wrong with one value; the reader adds file, line and key."""


_MOST_EXTENDED = 8  # more are refused
# What files add to each other; any other setting of a file replaces that of the file it extends.
_ADDED = ("extend-select", "extend-exclude", "knowledge")
_MERGED = ("per-file-ignores", "target")
_PATHS = ("baseline", "cache-dir", "knowledge")

# What counts instead of what the disk holds, by absolute path.
Unsaved = Mapping[str, bytes]
NOTHING_UNSAVED: Unsaved = {}


class Reader:
    """One configuration file on its way to checked values. `above` are the files that extend it, the first first.

    `origins` tells of each setting that was read in which file it stands. `is_named`: a person named the file, which
    may then name files anywhere. Another one may have come with a repository, and names none outside of it.
    """

    def __init__(
        self, path: str, above: tuple[str, ...] = (), unsaved: Unsaved = NOTHING_UNSAVED, is_named: bool = False
    ) -> None:
        self.path = path
        self.above = above
        self.unsaved = unsaved
        self.is_named = is_named
        self.origins: dict[str, str] = {}
        try:
            self.data = unsaved[path] if path in unsaved else tracked.read(path)
        except OSError as error:
            raise SettingsError(unreadable(path, error)) from None

    def read(self) -> dict[str, Any]:
        """Every setting of the file and of those it extends, checked. Raises SettingsError at the first wrong one."""
        found: dict[str, Any] = {}
        for key, value in (own_table(self.path, self.data) or {}).items():
            if key not in SETTINGS:
                guess = nearest(key.replace("_", "-"), SETTINGS)
                hint = f"; did you mean `{guess}`?" if guess else ""
                raise SettingsError(f"{self._place(key)}: unknown setting `{key}`{hint}")
            try:
                found[key] = _READERS[SETTINGS[key].setting](value)
                self._check_places(key, found[key])
            except (_WrongError, SelectorError) as error:
                raise SettingsError(f"{self._place(key)}: `{key}`: {error}") from None
        extended = found.pop("extend", None)
        below = {} if extended is None else self._extended(extended)
        self.origins.update(dict.fromkeys(found, self.path))
        for key in _ADDED:
            if key in found and key in below:
                found[key] = (*below[key], *found[key])
        for key in _MERGED:
            if key in found and key in below:
                found[key] = {**below[key], **found[key]}
        return {**below, **found}

    def _extended(self, name: str) -> dict[str, Any]:
        """The settings of the file that this one extends. Patterns in it count from here, paths of files from there."""
        path = os.path.normpath(os.path.join(os.path.dirname(self.path), name))
        above = (*self.above, self.path)
        wrong = ""
        if path in above:
            wrong = "it extends itself"
        elif len(above) > _MOST_EXTENDED:
            wrong = f"more than {_MOST_EXTENDED} files extend each other"
        elif path not in self.unsaved and not tracked.is_file(path):
            wrong = f"no such file: {shown(path)}"
        if wrong:
            raise SettingsError(f"{self._place('extend')}: `extend`: {wrong}")
        reader = Reader(path, above, self.unsaved, self.is_named)
        if own_table(path, reader.data) is None:
            raise SettingsError(f"{self._place('extend')}: `extend`: {shown(path)} has no `[tool.trl-lint]`")
        found = reader.read()
        self.origins = reader.origins
        folder = os.path.dirname(path)
        return {key: _joined(folder, value) if key in _PATHS else value for key, value in found.items()}

    def _check_places(self, key: str, value: Any) -> None:
        """Refuse a file that a repository has no business with."""
        if self.is_named or key not in (*_PATHS, "extend"):
            return
        folder = os.path.dirname(self.path)
        root = repository_around(os.path.dirname((*self.above, self.path)[0]))
        for name in [value] if isinstance(value, str) else value:
            if root is not None and not leads_below(os.path.join(folder, name), root):
                told = "to allow that, name these settings with `--config`"
                raise _WrongError(f"`{name}` is outside of the repository; {told}")

    def _place(self, key: str) -> str:
        """File and line of a key; found by its text, because the TOML reader keeps no places."""
        text = self.data.decode("utf-8", "replace")
        start = 0
        if os.path.basename(self.path) == "pyproject.toml" and (table := re.search(r"tool\s*\.\s*\"?trl-lint", text)):
            start = table.start()
        name = re.escape(key)
        setting = re.compile(rf"^[^#\n]*?(?<![\w-])[\"']?{name}[\"']?\s*[=.\]]", re.MULTILINE)
        match = setting.search(text, _line_start(text, start))
        line = text.count("\n", 0, match.end() if match else start) + 1
        return f"{shown(self.path)}:{line}"


def _joined(folder: str, value: Any) -> Any:
    """A path, or several, as seen from a folder."""
    return os.path.join(folder, value) if isinstance(value, str) else tuple(os.path.join(folder, one) for one in value)


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _WrongError(f"expected a list of strings, not {_kind(value)}")
    return tuple(value)


def _string(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _WrongError(f"expected a string, not {_kind(value)}")
    return value


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise _WrongError(f"expected true or false, not {_kind(value)}")
    return value


def _selectors(value: object) -> tuple[str, ...]:
    return read_selectors(_strings(value))


def _per_file_ignores(value: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise _WrongError(f"expected a table of patterns with lists of rules, not {_kind(value)}")
    found = {}
    for pattern, selectors in value.items():
        try:
            found[pattern] = _selectors(selectors)
        except (_WrongError, SelectorError) as error:
            raise _WrongError(f"`{pattern}`: {error}") from None
    return found


def _targets(value: object) -> dict[str, str]:
    if isinstance(value, dict):
        if not all(isinstance(version, str) for version in value.values()):
            raise _WrongError('expected versions in quotes, such as trl = "1.16.0"')
        value = [f"{name}=={version}" for name, version in value.items()]
    elif not isinstance(value, list):
        raise _WrongError(f'expected {{trl = "1.16.0"}} or ["trl==1.16.0"], not {_kind(value)}')
    return read_targets(_strings(value))


def _output_format(value: object) -> str:
    from trl_lint.reports import FORMATS

    return _one_of(value, FORMATS)


def _level(value: object) -> str:
    return _one_of(value, SEVERITIES)


def _one_of(value: object, choices: Sequence[str]) -> str:
    if value not in choices:
        guess = nearest(str(value), choices)
        raise _WrongError(f"expected one of {', '.join(choices)}" + (f"; did you mean `{guess}`?" if guess else ""))
    return str(value)


def _kind(value: object) -> str:
    names = {bool: "a boolean", str: "a string", int: "an integer", float: "a float", list: "a list", dict: "a table"}
    return names.get(type(value), "a date") if value != "" else "an empty string"


_READERS: dict[Setting, Callable[[object], Any]] = {
    "boolean": _boolean,
    "file": _string,
    "files": _strings,
    "format": _output_format,
    "level": _level,
    "releases": _targets,
    "rules": _selectors,
    "rules by pattern": _per_file_ignores,
    "string": _string,
    "strings": _strings,
}


def read_targets(values: Iterable[str]) -> dict[str, str]:
    """`trl==1.16.0` and the like as normalised package name -> version. Raises SettingsError for anything else."""
    found = {}
    for value in values:
        match = _TARGET.match(value)
        if match is None:
            raise _TargetError(f"`{value}` is not of the form PACKAGE==VERSION, such as trl==1.16.0")
        from packaging.version import Version

        from trl_lint.knowledge.releases import installable, is_impossible
        from trl_lint.sources.requirements import normalised

        name = normalised(match[1])
        try:
            version = Version(match[2])
        except ValueError:  # an InvalidVersion, or a number with thousands of digits
            raise _TargetError(f"`{match[2]}` is not a version, in `{value}`") from None
        if is_impossible(name, version):
            before = [known for known in installable(name) if known < version] or installable(name)[:1]
            raise _TargetError(f"there is no release {version} of {name}; did you mean {before[-1]}?")
        found[name] = str(version)
    return found


class _TargetError(SettingsError, _WrongError):
    """A target that cannot be read, on the command line as in a file."""
