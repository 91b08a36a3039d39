"""Compose files: the commands of services, with their `environment:` and the GPUs that are reserved for them.

Compose fills in `$X` and `${X}` itself, from the shell that starts it, and no shell reads a `command:` (compose-spec,
"command", "interpolation"). GPUs are reserved under `deploy.resources.reservations.devices`, or under `gpus`
(compose-spec, deploy.md and 05-services.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from trl_lint.regexes import regex
from trl_lint.sources import Source
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, find, value_of
from trl_lint.sources.shell import Command, read_commands
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import Word

_NAME = regex(r"(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml")
_FILLED_IN = regex(r"\$\$?(?:\{[^{}]*\}|\w+)?")
_VARIABLE = regex(r"([A-Za-z_]\w*)(?:=(.*))?")
_DEVICES = "NVIDIA_VISIBLE_DEVICES"


def is_compose(path: str) -> bool:
    """Whether a file is a compose file by its name: `compose.yaml`, `docker-compose.gpu.yml`."""
    return _NAME.fullmatch(os.path.basename(path)) is not None


def service_commands(source: Source) -> list[Command]:
    """The commands of all services, in order. The words around each, `outer`, are `docker compose` and the GPUs that
    the service gets, as `docker run` takes them. Raises SourceError if the file is not YAML.
    """
    from trl_lint.sources.yaml import read_yaml

    found: list[Command] = []
    for root in read_yaml(source):
        services = find(root, "services")
        for entry in services.entries if isinstance(services, Mapping) else ():
            if isinstance(entry.value, Mapping):
                found.extend(_of_service(entry.value, source.text))
    return found


def _of_service(service: Mapping, text: str) -> Iterator[Command]:
    given = [node for node in (service.get("entrypoint"), service.get("command")) if node is not None]
    if len(given) != 1:
        return  # the words of the one are arguments of the other
    state = State()
    state.change_directory(None)
    for name, word in _environment(service.get("environment"), text):
        state.set(name, word, True)
    front = (Word("docker", "docker", 0, 0), Word("compose", "compose", 0, 0), *_gpus(service, text))
    for command in _commands(given[0], state, text):
        command.outer = (*front, *command.outer)
        yield command


def _commands(node: Node, state: State, text: str) -> list[Command]:
    if isinstance(node, Scalar):
        if not isinstance(node.value, str) or node.alias:
            return []
        from trl_lint.sources.workflow import script_of, without

        script = without(_FILLED_IN, script_of(text, node))
        return read_commands(script.text, script, state, original=text)
    if not isinstance(node, Sequence) or not node.items or node.alias:
        return []
    from trl_lint.sources.dockerfile import shell_of

    words = tuple(_word(value_of(item), item, text) for item in node.items)
    command = Command(words, state.view(), None, words[0].start, words[-1].end)
    command.exec_form = True
    return [command, *shell_of(command, state, text)]


def _word(value: object, node: Node, text: str) -> Word:
    """A value as a program gets it; not known where Compose fills something in, or YAML may read another value."""
    raw = text[node.start : node.end]
    if isinstance(node, Scalar) and not isinstance(value, str) and raw.isdecimal():
        value = raw
    return Word(value if isinstance(value, str) and "$" not in value else None, raw, node.start, node.end)


def _environment(node: Node | None, text: str) -> Iterator[tuple[str, Word]]:
    """The variables of a service: a block, or a list of `NAME=value`."""
    if isinstance(node, Mapping):
        for entry in node.entries:
            yield str(entry.key.value), _word(value_of(entry.value), entry.value, text)
    for item in node.items if isinstance(node, Sequence) else ():
        match = _VARIABLE.fullmatch(str(value_of(item)))
        if match is not None:
            yield match[1], _word(match[2], item, text)  # without a value it is that of the shell


def _gpus(service: Mapping, text: str) -> Iterator[Word]:
    """The GPUs of a service as options of `docker run`, none where the file does not tell how many there are."""
    if service.get("extends") is not None:
        return
    for name, word in _environment(service.get("environment"), text):
        if name == _DEVICES and word.text is not None:
            yield word._replace(text="-e")
            yield word._replace(text=f"{name}={word.text}")
    lists = (find(service, "deploy.resources.reservations.devices"), service.get("gpus"))
    requests = [each for one in lists if isinstance(one, Sequence) for each in one.items]
    if len(requests) != 1 or not isinstance(requests[0], Mapping):
        return
    request = requests[0]
    if value_of(request.get("driver")) not in (None, "nvidia"):
        return
    count, ids = request.get("count"), request.get("device_ids")
    if ids is not None and count is None and isinstance(ids, Sequence) and ids.items:
        names = [str(value_of(item)) for item in ids.items]
        if not any("$" in name or "," in name or name == "all" for name in names):
            yield Word(f"--gpus={len(set(names))}", text[ids.start : ids.end], ids.start, ids.end)
    elif isinstance(count, Scalar) and ids is None and str(count.value).isdecimal():
        yield Word(f"--gpus={count.value}", count.raw, count.start, count.end)
