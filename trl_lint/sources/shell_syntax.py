"""What can be said about a stretch of shell without a state: offsets, flattened lists, names it may assign."""

from __future__ import annotations

import os.path
from collections.abc import Sequence

from tree_sitter import Node

from trl_lint.regexes import regex
from trl_lint.sources.shell_options import LONGEST_ARRAY, appended_options
from trl_lint.sources.shell_values import HOLE, Array, Word
from trl_lint.sources.simple_commands import Command

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_LEAVING = (b"exit", b"return", b"break", b"continue")
_SCHEDULERS = frozenset({"sbatch", "qsub", "bsub"})
_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch")
# Programs that run the rest of their words; only behind them `bash -c` is a command and not an argument.
_RUNNERS = frozenset(
    (
        "apptainer", "chrt", "conda", "docker", "enroot", "env", "exec", "flock", "ionice", "kubectl", "mamba",
        "micromamba", "mpiexec", "mpirun", "nice", "nohup", "numactl", "pixi", "podman", "poetry", "ray", "setsid",
        "singularity", "srun", "ssh", "stdbuf", "sudo", "time", "timeout", "uv", "xargs",
    )
)  # fmt: skip

NAME = regex(r"[A-Za-z_]\w*")
# Both bounds keep a long line from being read again from every place of it.
_ASSIGNED = regex(r"(?<!\w)([A-Za-z_]\w*)(?:\[[^\]\n]{0,500}\])?(?:\+\+|--|[-+*/%|&^]?=)")
_NAMING = regex(
    r"\b(read|mapfile|readarray|getopts|unset|printf|let|export|declare|local|typeset|for|select)\b([^\n;|&]*)"
)
_KEEPING = frozenset({"export", "declare", "local", "typeset"})
OPENS_ANYTHING = regex(r"(?:^|[\n;&|({]|\bthen|\bdo|\belse)[ \t]*(?:source|\.|eval)\s")
# `$1` to `$9`: those of a script in its functions are others.
ARGUMENTS = frozenset("123456789")
CHANGES_DIRECTORY = regex(r"\b(?:cd|pushd|popd)\b")


def assigned_in(text: str) -> set[str]:
    """Every name a stretch of shell may assign (rather too many than too few)."""
    names = {match[1] for match in _ASSIGNED.finditer(text)}
    for match in _NAMING.finditer(text):
        names.update(NAME.findall(match[2]))
    return names


def assigned_again(text: str) -> set[str]:
    """Every name that a script may assign more than once."""
    once: set[str] = set()
    again: set[str] = set()
    for match in _ASSIGNED.finditer(text):
        (again if match[1] in once else once).add(match[1])
    for match in _NAMING.finditer(text):
        if match[1] not in _KEEPING:
            again.update(NAME.findall(match[2]))
    return again


def script_word(words: Sequence[Word]) -> int | None:
    """The index of the word that holds a script: behind `bash -c`, `ssh host`, or the first of those of `eval`."""
    first = os.path.basename(words[0].text or "")
    if first == "eval":
        return 1 if len(words) > 1 else None
    if first == "ssh" and len(words) > 2 and any(c.isspace() for c in words[-1].raw):
        return len(words) - 1
    if first not in _SHELLS and first not in _RUNNERS:
        return None
    for index, word in enumerate(words):
        if os.path.basename(word.text or "") in _SHELLS:
            for offset, option in enumerate(words[index + 1 :], index + 1):
                text = option.text or ""
                if not text.startswith("-"):
                    return None
                if not text.startswith("--") and text.endswith("c"):
                    return offset + 1 if offset + 1 < len(words) else None
            return None
    return None


def is_fed_to_shell(command: Command) -> bool:
    """Whether the here-document of a command is a shell script: `bash <<EOF`, `sbatch <<EOF`, `cat > run.sh <<EOF`."""
    words = [word.text for word in command.words]
    first = os.path.basename(words[0] or "")
    if first in _SHELLS or first in _SCHEDULERS:
        options = [text for text in words[1:] if text is None or not text.startswith("-")]
        return first in _SCHEDULERS or not options
    written = [redirect.target.text or "" for redirect in command.redirects if redirect.operator in (">", ">>", ">|")]
    if first == "tee":
        written += [text or "" for text in words[1:]]
    return first in ("cat", "tee") and any(text.endswith(_SCRIPTS) for text in written)


def leaves(nodes: Sequence[Node]) -> bool:
    """Whether a branch ends the script, the function or the round, so that nothing behind it sees its values."""
    named = [node for node in nodes if node.is_named and node.type != "comment"]
    if not named or named[-1].type != "command":
        return False
    name = named[-1].child_by_field_name("name")
    return name is not None and name.text in _LEAVING


def is_ampersand(nodes: Sequence[Node], index: int) -> bool:
    return index < len(nodes) and nodes[index].type == "&"


def is_broken(nodes: Sequence[Node], index: int) -> bool:
    return 0 <= index < len(nodes) and nodes[index].type == "ERROR"


def flatten(node: Node) -> tuple[list[Node], list[str]]:
    """`a && b || c` is nested to the left, as deep as it is long: turn it into a row without recursion."""
    operands: list[Node] = []
    operators: list[str] = []
    while node.type == "list" and node.child_count >= 3:
        left, operator, right = node.children[0], node.children[1].type, node.children[-1]
        operands.append(right)
        operators.append(operator)
        node = left
    operands.append(node)
    return operands[::-1], operators[::-1]


def appended(old: Word | Array | None, new: Word | Array) -> Word | Array:
    """The value of `NAME+=new`."""
    if isinstance(old, Array) and isinstance(new, Array) and len(old.items) + len(new.items) <= LONGEST_ARRAY:
        return Array(old.items + new.items)
    if isinstance(old, Word) and isinstance(new, Word) and old.text is not None and new.text is not None:
        return new._replace(text=old.text + new.text)
    if (isinstance(old, Word) and old.options) or (isinstance(new, Word) and new.options):
        several = appended_options(old, new)
        if several is not None:
            return several if len(several.options) > 1 else several._replace(template=_appended_template(old, new))
    place = new if isinstance(new, Word) else Word(None, "", 0, 0)
    return Word(None, place.raw, place.start, place.end, True, _appended_template(old, new))


def _appended_template(old: Word | Array | None, new: Word | Array) -> str:
    """What is known of a text to which another one is added; "" where that is nothing."""
    if not isinstance(old, Word) or not isinstance(new, Word):
        return ""
    texts = [(word.template or HOLE) if word.text is None else word.text for word in (old, new)]
    return "".join(texts) if any(text not in ("", HOLE) for text in texts) else ""


def printed_path(words: list[str | None], directory: str | None) -> str | None:
    """What the usual idioms for paths print: `dirname X`, `realpath X`, `basename X`, `pwd`."""
    known = [word for word in words if word is not None]
    if len(known) != len(words) or not known:
        return None
    program, arguments = known[0], [word for word in known[1:] if word not in ("--", "-f", "-P", "-e", "-m")]
    if program == "pwd" and not arguments:
        return directory if directory is not None and directory.startswith("/") else None
    if len(arguments) != 1:
        return None
    path = arguments[0]
    if program == "dirname":
        return os.path.dirname(path) or "."
    if program == "basename":
        return os.path.basename(path)
    if program in ("realpath", "readlink") and path.startswith("/"):
        return os.path.normpath(path)
    return None
