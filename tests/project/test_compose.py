"""Compose files: the commands of services stand where they are written, and have the GPUs of their service."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.wrappers import files_of_name
from trl_lint.project.carried import with_carried
from trl_lint.project.containers import gpus_of_container
from trl_lint.project.wrapped import held_in
from trl_lint.sources import SourceFile
from trl_lint.sources.shell import Command


def commands_of(text: str) -> list[Command]:
    held = held_in(SourceFile("/p/compose.yaml", text.encode()))
    return with_carried((command for each in held for command in each.commands), text)


def read(service: str) -> list[Command]:
    return commands_of(f"services:\n  a:\n    image: é\n{service}")


def gpus_of(service: str) -> int | None:
    found = gpus_of_container(read(f"    command: python a.py\n{service}")[0].outer)
    return len(found[0]) if found is not None else None


@pytest.mark.parametrize(
    "service",
    [
        "    command: python a.py --x\n",
        '    command: "python a.py --x"\n',
        "    command: [python, a.py, --x]\n",
        "    command:\n      - python\n      - a.py\n      - --x\n",
        "    entrypoint: >-\n      python a.py\n      --x\n",
        "    command: bash -c 'python a.py --x'\n",
        '    command: ["bash", "-c", "python a.py --x"]\n',
    ],
)
def test_places(service: str):
    text = f"services:\n  a:\n    image: é\n{service}"
    command = read(service)[-1]
    assert [word.text for word in command.words] == ["python", "a.py", "--x"]
    assert [text[word.start : word.end] for word in command.words] == ["python", "a.py", "--x"]


def test_what_compose_fills_in_is_not_known():
    for service in (
        "    command: python a.py $A\n",
        "    command: [python, a.py, '${A:-1}']\n",
        "    command: a b $$A\n",
    ):
        assert [word.text for word in read(service)[0].words][2] is None


def test_variables():
    env = read("    command: python a.py\n    environment: {A: 1, B: '0,1', C: $X}\n")[0].env
    assert [env[name].text for name in "ABC"] == ["1", "0,1", None]
    env = read("    command: python a.py\n    environment: [A=1, 'B=0,1', C]\n")[0].env
    assert [env[name].text for name in "ABC"] == ["1", "0,1", None]


@pytest.mark.parametrize(
    ("service", "gpus"),
    [
        ("    gpus: [{count: 2}]\n", 2),
        ("    gpus: [{device_ids: ['0', '3', '3']}]\n", 2),
        ("    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 4}]}}}\n", 4),
        ("    environment: {NVIDIA_VISIBLE_DEVICES: '0,1,2'}\n", 3),
        ("    gpus: all\n", None),
        ("    gpus: [{count: all}]\n", None),
        ("    gpus: [{count: $N}]\n", None),
        ("    gpus: [{device_ids: [all]}]\n", None),
        ("    gpus: [{count: 2, driver: amd}]\n", None),
        ("    gpus: [{count: 2}, {count: 1}]\n", None),
        ("    gpus: [{count: 2}]\n    extends: {service: b}\n", None),
        ("", None),
    ],
)
def test_gpus(service: str, gpus: int | None):
    assert gpus_of(service) == gpus


def test_no_commands():
    assert read("    build: .\n") == []
    assert commands_of("- command: a\n") == []


def test_the_words_of_a_command_follow_those_of_the_entrypoint():
    (command,) = read("    entrypoint: [python, a.py]\n    command: [--x]\n")
    assert [word.text for word in command.words] == ["python", "a.py", "--x"]


def test_names():
    names = ("compose.yml", "docker-compose.yaml", "docker-compose.gpu.yml", "compose-dev.yaml")
    assert all(any(kind.name == "compose" for kind in files_of_name(f"/p/{name}")) for name in names)
    others = [
        kind.name for name in ("composer.yml", "a-compose.txt", "decompose.yml") for kind in files_of_name(f"/p/{name}")
    ]
    assert "compose" not in others
