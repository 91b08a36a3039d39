"""Workflows: the commands of `run:` steps stand where they are written."""

from __future__ import annotations

import pytest

from trl_lint.knowledge.wrappers import files_of_name
from trl_lint.project.wrapped import held_in
from trl_lint.sources import SourceFile
from trl_lint.sources.shell import Command

HEAD = "jobs:\n  train:\n    steps:\n"


def read(text: str) -> list[Command]:
    held = held_in(SourceFile("/p/.github/workflows/a.yml", text.encode()))
    return [command for each in held for command in each.commands]


@pytest.mark.parametrize(
    "step",
    [
        "      - run: python é.py --x\n",
        "      - run: 'python é.py --x'\n",
        '      - run: "python é.py --x"\n',
        "      - run: |\n          python é.py \\\n            --x\n",
        "      - run: |-\n          python é.py --x\n",
        "      - run: |\n\n          python é.py --x\n\n",
        "      - run: >\n          python é.py\n          --x\n",
        "      - run: >-\n          python é.py\n          --x\n\n          echo\n",
        "      - name: a\n        run: |+\n          python é.py --x\n\n\n      - uses: b\n",
    ],
)
def test_places(step: str):
    text = HEAD + step
    command = read(text)[0]
    assert [word.text for word in command.words] == ["python", "é.py", "--x"]
    assert [text[word.start : word.end] for word in command.words] == ["python", "é.py", "--x"]


def test_escapes_have_places():
    text = HEAD + '      - run: "python \\"a.py\\" \\x41"\n'
    (command,) = read(text)
    assert [word.text for word in command.words] == ["python", "a.py", "A"]
    assert {text[word.start : word.end] for word in command.words} == {'"python \\"a.py\\" \\x41"'}
    text = HEAD + '      - run: "python \\"a.py\\""\n'
    (command,) = read(text)
    assert [text[word.start : word.end] for word in command.words] == ["python", '\\"a.py\\"']


def test_expressions_are_holes():
    (command,) = read(HEAD + "      - run: python a.py ${{ matrix.x }} --y=${{ inputs.y }}\n")
    assert [word.text for word in command.words] == ["python", "a.py", None, None]


def test_variables_and_folder_come_from_every_level():
    text = """\
env: {A: "1", B: 0,1}
defaults: {run: {working-directory: one}}
jobs:
  t:
    env: {B: "2", C: "${{ x }}", D: 1_0}
    steps:
      - run: python a.py $A $B $C $D
      - run: python b.py
        working-directory: ./two/
"""
    first, second = read(text)
    assert [word.text for word in first.words[2:]] == ["1", "2", None, None]
    assert (first.directory, second.directory) == ("one", "two")
    assert first.env.exported("A")


def test_only_posix_shells_are_read():
    text = (
        HEAD + "      - shell: pwsh\n        run: python a.py\n      - shell: bash -el {0}\n        run: python b.py\n"
    )
    assert [command.words[1].text for command in read(text)] == ["b.py"]


@pytest.mark.parametrize("text", ["", "a: 1", "jobs: 1", "jobs: {a: 1}", HEAD, HEAD + "      - run:\n", "- run: x"])
def test_other_yaml_has_no_commands(text: str):
    assert read(text) == []


def test_by_its_place():
    def is_workflow(path: str) -> bool:
        return any(kind.name == "github workflow" for kind in files_of_name(path))

    assert is_workflow("/p/.github/workflows/ci.yaml")
    assert not is_workflow("/p/workflows/ci.yaml")
    assert not is_workflow("/p/.github/workflows/ci.json")
