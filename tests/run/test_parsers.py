"""Which dataclasses a script hands to its parser, looked up by import."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from trl_lint.knowledge.api import releases, resolve
from trl_lint.knowledge.commands import command_classes, has_command, table, unknown_name
from trl_lint.project import Project
from trl_lint.run.parsers import ScriptParser, parser_in
from trl_lint.settings import Settings
from trl_lint.sources import Files


def parser_of(folder: Path, **files: str) -> ScriptParser | None:
    (folder / ".git").mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    script = folder / f"{next(iter(files)).replace('__', '/')}.py"
    return parser_in(str(script), Project(str(folder), Files({}), Settings()))


def test_classes_are_found_through_imports(tmp_path: Path):
    found = parser_of(
        tmp_path,
        src__demo__train="""
            from trl import TrlParser, ModelConfig
            from .configs import TrainConfig
            KINDS = (TrainConfig, ModelConfig)
            args = TrlParser(KINDS).parse_args_and_config()
        """,
        src__demo__configs="""
            from dataclasses import dataclass
            from trl import GRPOConfig
            from demo.base import Base
            @dataclass
            class TrainConfig(GRPOConfig, Base):
                mine: int = 0
        """,
        src__demo__base="""
            from dataclasses import dataclass
            @dataclass
            class Base:
                shared: int = 0
        """,
    )
    assert found is not None
    assert (set(found.fields.own), found.fields.bases) == ({"mine", "shared"}, ("trl.GRPOConfig", "trl.ModelConfig"))
    assert (found.kind, found.reads_files, found.passes_keys, found.passes_flags) == ("trl", True, False, False)


@pytest.mark.parametrize(
    ("call", "passes"),
    [
        ("parse_args_and_config()", (False, False)),
        ("parse_args_and_config(fail_with_unknown_args=False)", (True, False)),
        ("parse_args_and_config(fail_with_unknown_args=True)", (False, False)),
        ("parse_args_and_config(fail_with_unknown_args=STRICT)", (True, False)),
        ("parse_args_and_config(return_remaining_strings=True)", (True, True)),
        ("parse_args_into_dataclasses(return_remaining_strings=False)", (False, False)),
    ],
)
def test_what_a_parser_passes_over(tmp_path: Path, call: str, passes: tuple[bool, bool]):
    text = f"from trl import TrlParser, SFTConfig\nSTRICT = input()\nTrlParser(SFTConfig).{call}\n"
    found = parser_of(tmp_path, train=text)
    assert found is not None
    assert (found.passes_keys, found.passes_flags) == passes


@pytest.mark.parametrize(
    "text",
    [
        "from trl import SFTConfig\n",
        "from trl import TrlParser, SFTConfig\nparser = TrlParser(SFTConfig)\n",
        "from trl import TrlParser, SFTConfig\nTrlParser(SFTConfig).parse_args_and_config(**how)\n",
        "from trl import TrlParser, SFTConfig\nTrlParser(SFTConfig, **how).parse_args_and_config()\n",
        "from trl import TrlParser\nfrom other import Config\nTrlParser(Config).parse_args_and_config()\n",
        "from trl import TrlParser\nTrlParser(classes()).parse_args_and_config()\n",
        "from other import TrlParser\nfrom trl import SFTConfig\nTrlParser(SFTConfig).parse_args_and_config()\n",
        "import sys\nfrom trl import TrlParser, SFTConfig\nsys.argv = sys.argv[:1]\n"
        "TrlParser(SFTConfig).parse_args_and_config()\n",
        "import sys\nfrom trl import TrlParser, SFTConfig\nsys.argv.append('--x')\n"
        "TrlParser(SFTConfig).parse_args_and_config()\n",
        "from trl import TrlParser, SFTConfig\nfor flag in flags:\n    parser.add_argument(flag)\n"
        "TrlParser(SFTConfig).parse_args_and_config()\n",
        "from trl import TrlParser, SFTConfig, DPOConfig\nTrlParser(SFTConfig).parse_args_and_config()\n"
        "TrlParser(DPOConfig).parse_args_and_config()\n",
        "from trl import TrlParser, SFTConfig, DPOConfig\nkinds = SFTConfig\nif x:\n    kinds = DPOConfig\n"
        "TrlParser(kinds).parse_args_and_config()\n",
    ],
)
def test_what_is_not_understood_is_no_parser(tmp_path: Path, text: str):
    assert parser_of(tmp_path, train=text) is None


def test_a_circle_of_imports_ends(tmp_path: Path):
    script = "from trl import TrlParser\nfrom one import Config\nTrlParser(Config).parse_args_and_config()\n"
    assert parser_of(tmp_path, train=script, one="from two import Config\n", two="from one import Config\n") is None


def test_the_commands_of_trl_name_classes_that_exist():
    newest = {package: releases(package)[-1] for package in ("trl", "transformers")}
    for row in table().command:
        assert has_command(row.name, newest["trl"])
        for dotted in command_classes(row.name):
            assert resolve(dotted, newest), dotted


def test_what_becomes_of_unknown_names():
    assert unknown_name("TrlParser", "", "keys", "0.12.2") == "fails"
    assert unknown_name("TrlParser", "", "keys", "0.18.2") == "ignored"
    assert unknown_name("TrlParser", "", "keys", "0.19.0") == "fails"
    assert unknown_name("TrlParser", "", "keys", "0.8.6") is None
    assert unknown_name("trl", "grpo", "flags", "0.28.0") == "ignored"
    assert unknown_name("trl", "sft", "flags", "0.28.0") == "fails"
    assert unknown_name("trl", "grpo", "keys", "0.29.0") == "fails"
