"""Where the program of a command begins: the interpreter or one of `rules/families`, behind what people put in front;
and what stands behind it, by name.

Which options of these wrappers take a value follows their manuals.
Option names are compared with `_` for `-`, as accelerate and torchrun accept both.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.shell import Word
from trl_lint.words import words as names

PYTHON = regex(r"python(?:\d(?:\.\d+)*)?(?:\.exe)?\Z")
# Names of variables and parameters that hold several options: `$EXTRA_ARGS`, `"$@"`.
SET_HOLE = regex(r"arg|opt|flag|extra|param|@|\*", re.IGNORECASE)


# Where installed commands stand.
_BIN = frozenset({"bin", "Scripts"})


class Wrapper(NamedTuple):
    """A program that runs the rest of its words: its subcommand, the options that take a value, leading arguments."""

    subcommand: tuple[str, ...] = ()  # several names for one word are joined by "|"
    with_value: frozenset[str] = frozenset()
    arguments: int = 0
    separator: bool = False  # the program to run stands behind `--`


_MPI = names(
    "-n -np --np -H --host -hosts --hostfile -machinefile -x -map-by --map-by -bind-to --bind-to -ppn -wdir"
    " -mca --mca -genv -env"
)
_TWO_VALUES = names("-mca --mca -genv -env")

_CONTAINER = Wrapper(
    ("exec|run",), names("-B --bind --env --env-file -H --home --pwd --workdir -W --overlay --mount --network"), 1
)

CONTAINERS = frozenset({"docker", "nvidia-docker", "podman"})
# docker/cli, cli/command/container/opts.go; podman takes the same.
_DOCKER = Wrapper(
    ("run",),
    names(
        "-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --blkio-weight --cap-add --cap-drop"
        " --cgroup-parent --cgroupns --cidfile --cpu-period --cpu-quota --cpu-shares --cpus --cpuset-cpus --cpuset-mems"
        " --detach-keys --device --device-cgroup-rule --dns --dns-option --dns-search --domainname --entrypoint --env"
        " --env-file --expose --gpus --group-add --health-cmd --health-interval --health-retries --health-timeout"
        " --hostname --ip --ip6 --ipc --label --label-file --link --log-driver --log-opt --mac-address --memory"
        " --memory-reservation --memory-swap --memory-swappiness --mount --name --net --network --network-alias"
        " --oom-score-adj --pid --pids-limit --platform --publish --pull --restart --runtime --security-opt --shm-size"
        " --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit --user --userns --uts --volume"
        " --volume-driver --volumes-from --workdir"
    ),
    1,
)

WRAPPERS: dict[str, Wrapper] = {
    "apptainer": _CONTAINER,
    "command": Wrapper(),
    "conda": Wrapper(("run",), names("-n --name -p --prefix --cwd")),
    "exec": Wrapper((), names("-a")),
    "docker": _DOCKER,
    "env": Wrapper((), names("-u --unset -C --chdir")),
    "ionice": Wrapper((), names("-c --class -n --classdata")),
    "mamba": Wrapper(("run",), names("-n --name -p --prefix --cwd")),
    "micromamba": Wrapper(("run",), names("-n --name -p --prefix --cwd")),
    "mpiexec": Wrapper((), _MPI),
    "mpirun": Wrapper((), _MPI),
    "nice": Wrapper((), names("-n --adjustment")),
    "nohup": Wrapper(),
    "nvidia-docker": _DOCKER,
    "nsys": Wrapper(("profile",), names("-o --output -t --trace -w -c -y -d")),
    "numactl": Wrapper((), names("-C --physcpubind -N --cpunodebind -m --membind -i --interleave -p --preferred")),
    "pdm": Wrapper(("run",)),
    "pipenv": Wrapper(("run",)),
    "pixi": Wrapper(("run",), names("-e --environment --manifest-path")),
    "podman": _DOCKER,
    "poetry": Wrapper(("run",)),
    "ray": Wrapper(("job", "submit"), separator=True),
    "setsid": Wrapper(),
    "singularity": _CONTAINER,
    "srun": Wrapper(
        (),
        names(
            "-A -c -C -d -D -e -i -J -m -M -n -N -o -p -q -r -t -w -x --account --chdir --container-image"
            " --container-mounts --container-name --container-workdir --cpu-bind --cpus-per-gpu --cpus-per-task"
            " --error --export --gpu-bind --gpus --gpus-per-node --gpus-per-task --gres --input --jobid --job-name"
            " --kill-on-bad-exit --mem --mem-per-cpu --mem-per-gpu --mpi --nodelist --nodes --ntasks"
            " --ntasks-per-node --output --partition --qos --relative --signal --time --wait"
        ),
    ),
    "stdbuf": Wrapper((), names("-i -o -e --input --output --error")),
    "sudo": Wrapper((), names("-u --user -g --group")),
    "taskset": Wrapper((), frozenset(), 1),
    "time": Wrapper((), names("-f -o --format --output")),
    "timeout": Wrapper((), names("-k --kill-after -s --signal"), 1),
    "uv": Wrapper(
        ("run",),
        names(
            "--with --with-editable --with-requirements --python -p --extra --group --only-group --no-group --index"
            " --index-url --default-index --extra-index-url --find-links -f --env-file --project --directory"
            " --package --cache-dir --config-file --index-strategy --prerelease --resolution --link-mode"
            " --exclude-newer --torch-backend"
        ),
    ),
}  # fmt: skip

# Options of the interpreter: these take a value as the next word.
PYTHON_WITH_VALUE = names("-W -X --check-hash-based-pycs")


def basename(word: Word) -> str:
    return os.path.basename(word.text) if word.text else ""


def option_name(text: str) -> str:
    """`--nproc-per-node=2` and `--nproc_per_node` are the same option."""
    name = text.partition("=")[0]
    return name[:2] + name[2:].replace("-", "_")


def is_launcher(words: Sequence[Word], index: int) -> bool:
    """Whether a launcher with its subcommand stands at `index`."""
    name = basename(words[index])
    if PYTHON.match(name):
        return True
    from trl_lint.knowledge.families import programs

    program = programs().get(name)
    if program is None or not _is_installed(words[index].text or ""):
        return False
    following = tuple(word.text for word in words[index + 1 : index + 1 + len(program.words)])
    return following == program.words


def _is_installed(name: str) -> bool:
    """Whether a command is named as one that is installed: `run`, `~/venv/bin/run`, and not `./run`."""
    folder = os.path.dirname(name)
    return not folder or (os.path.basename(folder) in _BIN and folder.removeprefix("./") not in _BIN)


class Peeled(NamedTuple):
    """What is left of a command when its wrappers are taken off; `words[program]` is the program itself."""

    program: int
    wrappers: tuple[str, ...]
    assignments: tuple[tuple[str, Word], ...]
    clean: bool  # the environment of the script does not reach the program


def peel(words: Sequence[Word]) -> Peeled | None:
    """Take `nohup`, `env A=1`, `srun -n 1`, `uv run` … off the front. None if nothing is left to be understood."""
    index = 0
    wrappers: list[str] = []
    assignments: list[tuple[str, Word]] = []
    clean = False
    while index < len(words):
        name = basename(words[index])
        wrapper = _wrapper(words, index, name)
        if wrapper is None:
            return Peeled(index, tuple(wrappers), tuple(assignments), clean)
        wrappers.append(name)
        clean = clean or name in ("sudo", "ray") or wrapper is _DOCKER
        index += 1 + len(wrapper.subcommand)
        skipped = wrapper.arguments
        while index < len(words):
            if wrapper.arguments and not skipped:
                break  # its own options end before its argument does
            text = words[index].text
            if wrapper is _DOCKER and text is not None and text.startswith("--entrypoint"):
                return None
            if wrapper.separator:
                index += 1
                if text == "--":
                    break
                continue
            if text is None:
                if skipped:
                    skipped -= 1
                elif not words[index].several and not words[index].raw.startswith("-"):
                    return None
                index += 1  # options that nobody knows
            elif text == "--":
                index += 1
                break
            elif text.startswith("-") and len(text) > 1:
                clean = clean or (name == "env" and text in ("-i", "-", "--ignore-environment"))
                if wrapper is _DOCKER and text in ("-e", "--env") and index + 1 < len(words):
                    assignments += _given_by_name(words[index + 1])
                index += 1 + (text in wrapper.with_value) + (text in _TWO_VALUES)
            elif name in ("env", "sudo") and re.match(r"[A-Za-z_]\w*=", text):
                assignments.append(_assignment(words[index]))
                index += 1
            elif skipped:
                skipped -= 1
                index += 1
            else:
                break
    return None


def _wrapper(words: Sequence[Word], index: int, name: str) -> Wrapper | None:
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    following = [word.text for word in words[index + 1 : index + 1 + len(wrapper.subcommand)]]
    matches = [text in names.split("|") for text, names in zip(following, wrapper.subcommand, strict=False)]
    return wrapper if all(matches) and len(matches) == len(wrapper.subcommand) else None


def _given_by_name(word: Word) -> list[tuple[str, Word]]:
    """What `-e NAME=value` sets in a container. `-e NAME` hands on what nobody knows here."""
    name = (word.text if word.text is not None else word.raw).partition("=")[0].strip("\"'")
    if not name.isidentifier():
        return []
    return [_assignment(word) if word.text is not None and "=" in word.text else (name, word._replace(text=None))]


def _assignment(word: Word) -> tuple[str, Word]:
    name, _, value = (word.text or "").partition("=")
    offset = len(name) + 1 if word.raw.startswith(name + "=") else 0
    return name, word._replace(text=value, raw=word.raw[offset:], start=word.start + offset)


# -- what stands behind the program -----------------------------------------------------------------------------------


class Flags(NamedTuple):
    """The arguments of a program by name, the last of each; `absent` is the answer for other names."""

    args: tuple[Word, ...]
    given: dict[str, Word]
    absent: Missing


def read_flags(args: tuple[Word, ...]) -> Flags:
    """Read the words behind a program once, for all who ask: `--x v` and `--x=v` give v, a bare `--x` gives itself."""
    given: dict[str, Word] = {}
    for index, word in enumerate(args):
        text = word.text
        if text is None:
            name, equals, _ = word.raw.partition("=")
            if equals:
                given[name] = word
            continue
        name, equals, _ = text.partition("=")
        if equals:
            given[name] = tail_of(word, len(name) + 1)
        value = args[index + 1] if index + 1 < len(args) else None
        given[text] = word if value is None or (value.text or "").startswith("--") else value
    return Flags(args, given, UNKNOWN if _may_hide(args) else ABSENT)


def _may_hide(args: tuple[Word, ...]) -> bool:
    for index, word in enumerate(args):
        if word.text is None and word.several:
            before = args[index - 1].text if index else None
            # `--lr $LR` is an option with its value; `--lr 1 $REST` may be anything, and so may "$@".
            if before is None or not before.startswith("-") or "=" in before or SET_HOLE.search(word.raw):
                return True
    return False


def tail_of(word: Word, offset: int) -> Word:
    """The part of a word behind `--name=`."""
    text = word.text or ""
    if word.raw[:offset] != text[:offset]:
        return word._replace(text=text[offset:])
    return word._replace(text=text[offset:], raw=word.raw[offset:], start=word.start + offset)
