"""What the bytes of a file say about tensors on the CPU: enough to spare most files their tree.

Each answer is True where nothing is certain. False stands for what the analysis could never find anything in, as people
write code: an imported helper that is called with a blank before its dot or bracket (`u .f (x)`) is overlooked.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from trl_lint import looks
from trl_lint.checks.distribution._device import is_about_accelerators, is_followed_file, is_named_by_design
from trl_lint.project.modules import is_of_project, known_file, may_hold_modules
from trl_lint.python.dataflow.torch_facts import DATA_FACTORIES, FACTORIES
from trl_lint.python.imports import Imported, imports_in
from trl_lint.python.triage import GAP
from trl_lint.regexes import regex
from trl_lint.sources import SourceError

if TYPE_CHECKING:
    from trl_lint.project import Project
    from trl_lint.sources import SourceFile

_NAMES = "|".join(sorted(FACTORIES | DATA_FACTORIES)).encode()
_GAP = GAP.encode()
_PLAIN = rb"""[^()"'#]*"""  # no brackets, and nothing that may hide some


def _brackets(inside: bytes) -> bytes:
    return rb"\(" + _PLAIN + rb"(?:" + inside + _PLAIN + rb")*\)"


_BRACKETS = _brackets(_brackets(rb"\(" + _PLAIN + rb"\)"))
_FACTORY = regex(rb"\." + _GAP + rb"(?:" + _NAMES + rb")\b")
_CALLED = regex(_GAP + rb"\(")
# The arguments of a call that says where its tensor goes. A name, which may hold None, is the group.
_PLACED = regex(
    rb"\s*\(" + _PLAIN + rb"(?:" + _BRACKETS + _PLAIN + rb")*?"
    rb"(?<![\w.])device\s*=\s*(?:[A-Za-z_]\w*\s*[.(]|[\"']|(?!None\b)([A-Za-z_]\w*)\b)"
)
# A call whose result goes to a device at once, so that nothing meets it before.
_MOVED = regex(
    rb"\s*" + _brackets(_BRACKETS) + rb"\s*\.(?:cuda\(|"
    rb"to\(\s*(?:device\s*=\s*)?(?:(?:\w+\.)*device\s*[,)]|[\"']))"
)
_WORD = regex(rb"\b(?:" + _NAMES + rb")" + _GAP + rb"[(\[]")
_PREFIX = bytes(c for c in range(256) if c > 127 or chr(c).isalnum() or chr(c) in "_.")
_DEFINED = regex(rb"\bdef[\s\\]+([\w\x80-\xff]+)")
_DEF = regex(rb"^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


def may_concern(file: SourceFile, project: Project) -> bool:
    """Whether a tensor without a device, made in a file or by a helper that it imports, may meet another there."""
    return makes_strays(file, project) or (is_about_accelerators(file.data) and imports_makers(file, project))


# -- factories --------------------------------------------------------------------------------------------------------


def makes_strays(file: SourceFile, project: Project) -> bool:
    """Whether a factory of torch may be called without a device, or under another name, where that is no design."""
    key = ("strays", file.path)
    if key not in project.memo:
        project.memo[key] = is_about_accelerators(file.data) and _makes_strays(file)
    return bool(project.memo[key])


def _makes_strays(file: SourceFile) -> bool:
    data = file.data
    if any(one.module.startswith("torch") and one.name in FACTORIES | DATA_FACTORIES for one in imports_in(data)):
        return True
    strays = (match.start() for match in _FACTORY.finditer(data) if _is_stray(data, match))
    if is_named_by_design(os.path.basename(file.path)):
        return any(_may_be_in_init(data, start) for start in strays)
    return next(strays, None) is not None


def _is_stray(data: bytes, match: re.Match[bytes]) -> bool:
    end = match.end()
    before = data[max(0, match.start() - 200) : match.start()]
    if _is_shown(data, match.start()) or _is_of_other(before, data) or _is_parameter(before, data):
        return False
    placed = _PLACED.match(data, end)
    if placed is not None:
        return placed[1] is not None and _may_be_none(placed[1], data, match.start())
    if _CALLED.match(data, end) is not None:
        return _MOVED.match(data, end) is None
    # No call, unless a name is bound to it. Most of these are annotations.
    return before.rstrip(_PREFIX).rstrip(b" \t")[-1:] in (b"", b"=", b"(", b"\\", b"\n", b"\r")


def _is_shown(data: bytes, at: int) -> bool:
    """Whether a place is in the example of a docstring: no line of code begins like that."""
    start = data.rfind(b"\n", 0, at) + 1
    return data[start:at].lstrip().startswith(b">>>")


def _is_of_other(before: bytes, data: bytes) -> bool:
    """Whether what stands before a factory's name is imported from elsewhere, as in `np.zeros`, and nothing else."""
    root = before[len(before.rstrip(_PREFIX)) :].partition(b".")[0].decode("utf-8", "replace")
    if root == "torch":
        return False
    origins = [(one.module or one.name).partition(".")[0] for one in imports_in(data) if one.bound == root]
    if not origins or "torch" in origins:
        return False
    return re.search(rb"\b" + re.escape(root.encode()) + rb"\b" + _GAP + rb"[:=]", data) is None


def _is_parameter(before: bytes, data: bytes) -> bool:
    """Whether a tensor goes into `nn.Parameter(…)` at once, which lives where its module does."""
    prefix = before[len(before.rstrip(_PREFIX)) :]
    if not before.removesuffix(prefix).rstrip().endswith(b"nn.Parameter("):
        return False
    origins = {one.module or one.name for one in imports_in(data) if one.bound == "nn"}
    return origins <= {"torch", "torch.nn"}


def _may_be_none(name: bytes, data: bytes, at: int) -> bool:
    """Whether a parameter of this name, of a function around a place, may have None as its default."""
    annotation = rb"(?::[^=#]{0,200}(?:#[^\n]{0,100}\n[^=#]{0,100}){0,2})?"
    pattern = regex(rb"\b" + name + rb"\b" + _GAP + annotation + rb"=" + _GAP + rb"None\b")
    return any(pattern.search(data, start, at) is not None for start, _ in _around(data, at)[:1])


def _may_be_in_init(data: bytes, at: int) -> bool:
    return any(name == b"__init__" for _, name in _around(data, at))


def _around(data: bytes, at: int) -> list[tuple[int, bytes]]:
    """Where the functions begin that may be around a place, with their names, by what their lines are indented by."""
    around: list[tuple[int, int, bytes]] = []
    for match in _DEF.finditer(data, 0, at):
        indent = len(match[1])
        while around and around[-1][0] >= indent:
            around.pop()
        around.append((indent, match.start(), match[2]))
    return [(start, name) for _, start, name in around]


# -- helpers of other modules -----------------------------------------------------------------------------------------


def imports_makers(file: SourceFile, project: Project) -> bool:
    """Whether a file imports a function of the project that makes tensors without a device, or a module with one."""
    key = ("imports makers", file.path)
    if key not in project.memo:
        project.memo[key] = any(_brings_maker(one, file, project) for one in imports_in(file.data))
    return bool(project.memo[key])


def _brings_maker(one: Imported, file: SourceFile, project: Project) -> bool:
    data, bound = file.data, one.bound.encode()
    if not is_of_project(one.module or one.name, file.path, project):
        return False
    if not one.module:
        # `import a.b` is used as `a.b.f`, and for `a` alone as well.
        parts = one.name.split(".")
        names = [".".join(parts[: count + 1]) for count in range(len(parts))]
        return any(_uses_maker_of(name, file, project) for name in names)
    home = known_file(one.module, file.path, project)
    if home is not None and home != file.path:
        looks.note_use(home, by=file.path)
        if _is_offered(home, one.name, project) and bound + b"(" in data:
            return True
    if home is not None and not may_hold_modules(home, project):
        return False
    inner = f"{one.module}{'' if one.module.endswith('.') else '.'}{one.name}"
    return bound + b"." in data and _uses_maker_of(inner, file, project)


def _uses_maker_of(dotted: str, file: SourceFile, project: Project) -> bool:
    """Whether a file writes the name of a maker behind a dot, which a module offers that it imports."""
    home = known_file(dotted, file.path, project)
    if home is None or home == file.path:
        return False
    looks.note_use(home, by=file.path)
    names = _defined(home, project) | (_imports_of(home, project).keys() if _is_package(home) else frozenset())
    return any(f".{name}(".encode() in file.data and _is_offered(home, name, project) for name in names)


def _is_offered(home: str, name: str, project: Project) -> bool:
    """Whether a module has a maker of this name, or is a package that imports one under it."""
    if is_maker(home, name, project):
        return True
    if not _is_package(home):
        return False
    for one in _imports_of(home, project).get(name, ()):
        origin = known_file(one.module, home, project)
        if origin is not None and origin != home:
            looks.note_use(origin, by=home)
            if is_maker(origin, one.name, project):
                return True
    return False


def _is_package(path: str) -> bool:
    return os.path.basename(path) == "__init__.py"


def _imports_of(path: str, project: Project) -> dict[str, list[Imported]]:
    """What a file imports from modules, by the names that it is bound to."""
    key = ("imports by name", path)
    if key not in project.memo:
        table: dict[str, list[Imported]] = {}
        with suppress(OSError, SourceError):
            for one in imports_in(project.files.own(path).data):
                if one.module:
                    table.setdefault(one.bound, []).append(one)
        project.memo[key] = table
    return cast("dict[str, list[Imported]]", project.memo[key])


def is_maker(path: str, name: str, project: Project) -> bool:
    """Whether a function at the top of a file, or one that it calls there, makes a tensor without a device."""
    key = ("maker", path, name)
    if key not in project.memo:
        project.memo[key] = name in _defined(path, project) and _is_maker(path, name, project)
    return bool(project.memo[key])


def _is_maker(path: str, name: str, project: Project) -> bool:
    from trl_lint.checks.distribution._device_imports import maker_in

    with suppress(OSError, SourceError):
        return maker_in(project.module_in(path, by=path), name) is not None
    return True


def _defined(path: str, project: Project) -> frozenset[str]:
    """The functions of a file that may make tensors: none where it calls no factory, or is not to be believed."""
    key = ("defined beside factories", path)
    if key not in project.memo:
        found: frozenset[str] = frozenset()
        with suppress(OSError, SourceError):
            data = project.files.own(path).data
            if is_followed_file(path, data) and _WORD.search(data) is not None:
                found = frozenset(name.decode("utf-8", "replace") for name in _DEFINED.findall(data))
        project.memo[key] = found
    return cast("frozenset[str]", project.memo[key])
