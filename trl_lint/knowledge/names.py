"""What a name is in given releases: present with its definition, ABSENT (proved) or UNKNOWN. See
`trl_lint.knowledge.api`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from trl_lint.knowledge.histories import Block, Changes, block, positions, value_at
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.regexes import regex

_MODEL_NAME = regex(
    r"(?:Config|Model|Tokenizer|TokenizerFast|Processor|ProcessorFast|Extractor|Backbone|For[A-Z]\w{1,80})$"
)


def knows(package: str, version: object) -> bool:
    """Whether the API of a release is recorded."""
    return str(version) in positions(package)


@lru_cache(maxsize=16384)
def exports(module: str, name: str, version: object) -> str | Missing:
    """What a name in a module is in a release of the module's package.

    Returns the reference it is bound to (`module:Name`, `other.module:` for a module; the name in the asked module
    itself for constants and values of unknown origin), ABSENT or UNKNOWN.
    """
    package = module.partition(".")[0]
    at = positions(package).get(str(version))
    if at is None:
        return UNKNOWN
    table = block(package, f"module {module}")
    if table is None or not table.exists(at):
        if _is_module(module, at):
            return UNKNOWN
        # A module that was read in other releases is not in the archive of this one.
        return _existing(module, at) if table is None else ABSENT
    changes = table.changes(name)
    value = value_at(changes, at)
    if value is not None:
        return absolute(module, name, value)
    if _is_module(f"{module}.{name}", at):
        return f"{module}.{name}:"
    if name.startswith("_"):
        return UNKNOWN  # private names are not recorded
    if table.value("@open", at) is not None:
        return _gone_at_its_source(module, name, changes, at, version)
    if not changes and _existing(f"{module}.{name}", at) is UNKNOWN:
        return UNKNOWN  # it may be a module, nor are modules deeper than the list goes recorded
    # A name that was ever at home in this module is fully recorded. Others may be there by an import of the module's
    # own.
    outside = block(package, "outside")
    return UNKNOWN if not changes and outside is not None and outside.changes(name) else ABSENT


def _existing(module: str, at: int) -> Missing:
    """ABSENT if the release is known not to have a module, else UNKNOWN."""
    package = module.partition(".")[0]
    listed = block(package, "modules")
    if listed is None or any(part.startswith("_") for part in module.split(".")):
        return UNKNOWN
    relative = module[len(package) :]
    if listed.value(relative or package, at) is not None or relative.count(".") >= int(listed.value("@depth", at) or 0):
        return UNKNOWN
    if any(f"{relative}.".startswith(f"{prefix}.") for prefix in (listed.value("@unlisted", at) or "").split()):
        return UNKNOWN
    return ABSENT


def _is_module(module: str, at: int) -> bool:
    package, _, rest = module.partition(".")
    listed = block(package, "modules")
    return listed is not None and listed.value(f".{rest}" if rest else package, at) is not None


def has_module(module: str, version: object) -> bool | None:
    """Whether a release has a module; None where that is not known. Of a package that is read in part, this holds for
    modules beside those that are started.
    """
    at = positions(module.partition(".")[0]).get(str(version))
    if at is None:
        return None
    return True if _is_module(module, at) else False if _existing(module, at) is ABSENT else None


def first_missing(module: str, version: object) -> str:
    """The outermost module of a dotted name that a release does not have, "" where it has all, or nobody knows."""
    package, *rest = module.split(".")
    listed, at = block(package, "modules"), positions(package).get(str(version))
    if listed is None or at is None or package in (listed.value("@unlisted", at) or "").split():
        return ""
    names = (".".join((package, *rest[:count])) for count in range(1, len(rest) + 1))
    return next((name for name in names if has_module(name, version) is False), "")


def modules_beside(module: str, version: object) -> list[str]:
    """The last names of the modules of a release in the package of a module."""
    package = module.partition(".")[0]
    listed, at = block(package, "modules"), positions(package).get(str(version))
    if listed is None or at is None:
        return []
    beside = f"{module[len(package) :].rpartition('.')[0]}."
    names = [name.removeprefix(beside) for name in listed.values(at) if name.startswith(beside)]
    return [name for name in names if "." not in name]


def absolute(module: str, name: str, value: str) -> str:
    """`.trainer.utils` -> `trl.trainer.utils:name`, `.` -> the asked module, `.core:` -> `trl.core:`."""
    if value in ("~", "."):
        return f"{module}:{name}"
    home, colon, original = value.partition(":")
    if home == ".":
        home = module
    elif home.startswith("."):
        home = module.partition(".")[0] + home
    return f"{home}:{original if colon else name}"


def _gone_at_its_source(module: str, name: str, changes: Changes, at: int, version: object) -> Missing:
    """A table that is not complete proves nothing, but the module the name came from does if that one is complete."""
    before = [value for position, value in changes if position <= at and value != "-"]
    if not before:
        return UNKNOWN
    home, _, original = absolute(module, name, before[-1]).partition(":")
    # The part of the table that is not known lists the models. BitNetConfig went from a read module to one of those;
    # what is an Auto class stays among the Auto classes, which are read.
    if _MODEL_NAME.search(name) and ".auto." not in home:
        return UNKNOWN
    is_elsewhere = home != module and original and home.partition(".")[0] == module.partition(".")[0]
    return ABSENT if is_elsewhere and exports(home, original, version) is ABSENT else UNKNOWN


def resolve(dotted: str, versions: Mapping[str, object]) -> str | Missing:
    """The definition a dotted name leads to: `trl.GRPOConfig` -> `trl.trainer.grpo_config:GRPOConfig`.

    A module gives `module:`; what follows a class stays behind it (`…:GRPOConfig.from_dict`).
    """
    module, *parts = dotted.split(".")
    if not knows(module, versions.get(module)):
        return UNKNOWN
    for count, part in enumerate(parts, 1):
        version = versions[module.partition(".")[0]]
        found = exports(module, part, version)
        if isinstance(found, Missing):
            return ABSENT if count < len(parts) and _has_gone(f"{module}.{part}", version) else found
        if count < len(parts) and _is_hidden_module(f"{module}.{part}", parts[count], version):
            found = f"{module}.{part}:"
        if not found.endswith(":"):
            target = follow(found, versions)
            return target if isinstance(target, Missing) else ".".join([target, *parts[count:]])
        module = found[:-1]
        package = module.partition(".")[0]
        if not knows(package, versions.get(package)):
            return UNKNOWN
    return f"{module}:"


def _has_gone(module: str, version: object) -> bool:
    """Whether a module that other releases have is not in the archive of this one."""
    package = module.partition(".")[0]
    table = block(package, f"module {module}")
    at = positions(package)[str(version)]
    if table is None or table.exists(at) or _is_module(module, at):
        return False
    from trl_lint.knowledge.module_aliases import is_alias

    return not is_alias(module, str(version))


def _is_hidden_module(module: str, name: str, version: object) -> bool:
    """Whether a longer name goes through a module that `from .main import main` hides behind a function."""
    at = positions(module.partition(".")[0])[str(version)]
    return _is_module(module, at) and exports(module, name, version) is not ABSENT


def follow(reference: str, versions: Mapping[str, object]) -> str | Missing:
    """The definition behind a reference, across packages: `transformers:TrainingArguments` -> `….training_args:…`."""
    seen: set[str] = set()
    while reference not in seen:
        seen.add(reference)
        module, _, name = reference.partition(":")
        package = module.partition(".")[0]
        at = positions(package).get(str(versions.get(package)))
        if at is None:
            return UNKNOWN
        if definition(reference, at) is not None:
            return reference
        found = exports(module, name, versions[package])
        if isinstance(found, Missing):
            return found
        reference = found
    return reference


@lru_cache(maxsize=16384)
def definition(reference: str, at: int) -> Block | None:
    package = reference.partition(":")[0].partition(".")[0]
    for kind in ("class", "def"):
        found = block(package, f"{kind} {reference}")
        if found is not None and found.exists(at):
            return found
    return None
