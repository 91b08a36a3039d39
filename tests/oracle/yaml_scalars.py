"""What the real loaders of config files make of YAML scalars in fields of several types: `yaml_scalars.json`.

    PYTHON tests/oracle/yaml_scalars.py SOURCES > tests/oracle/yaml_scalars.json

PYTHON has PyYAML, omegaconf, ruamel.yaml, pydantic, torch, transformers and trl; `made_with` tells the releases.
SOURCES holds unpacked wheels: trl-0.8.6, trl-0.9.6, transformers-4.44.2, llamafactory-0.9.2, llamafactory-0.9.5,
ms_swift-4.6.0. Of a release that is not installed the module that parses is run as it stands.

An answer is `[type, text]` of what a field holds, or `[exception]`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import io
import json
import sys
import tempfile
import types
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

FORMS = [
    "no", "No", "NO", "off", "Off", "n", "N", "y", "yes", "Yes", "on", "ON", "true", "True", "TRUE", "false",
    "False", "tRUE", "null", "Null", "~", "none", "None", "nan", ".nan", "inf", ".inf", "-.inf", "0", "1", "-1",
    "+1", "007", "017", "08", "0o17", "0x1F", "0b11", "1_000", "1,000", "12:30", "1:30:00", "1.", ".5", "0.5",
    "-0.5", "1.0", "2.0", "1_0.5", "1e-6", "1E-6", "1e6", "1e+6", "5e3", "1.5e3", "1.5e+3", "1.0e-6", "1.e-6",
    ".5e-3", ".5e3", "-1e-6", "+1e-6", "1e400", "1e", "e5", "1.2.3", "2024-01-01", "2024-01-01 10:00:00",
    '"no"', "'1e-6'", '"1"', "'true'", "!!float 1e-6", "!!str no", "!!int '3'", "steps", "auto", "all", "=",
    "0.1e1_0", "1e-6 # small", "012.5", "-0", "0x", "1__0",
]  # fmt: skip
TYPES = ("any", "str", "int", "float", "bool", "strategy")


class Strategy(str, Enum):
    """As transformers spells one (utils/generic.py, `ExplicitEnum`)."""

    NO = "no"
    STEPS = "steps"

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"{value} is not a valid {cls.__name__}")


@dataclasses.dataclass
class Fields:
    """One field of each type, without a default that argparse would try."""

    str: str = dataclasses.field(default="x")
    int: int = dataclasses.field(default=0)
    float: float = dataclasses.field(default=0.5)
    bool: bool = dataclasses.field(default=False)
    strategy: str = dataclasses.field(default="no")

    def __post_init__(self) -> None:
        self.strategy = Strategy(self.strategy)


Fields.__annotations__ = {"str": str, "int": int, "float": float, "bool": bool, "strategy": str}
for _each in dataclasses.fields(Fields):
    _each.type = Fields.__annotations__[_each.name]

Load = Callable[[Path, str], Any]


def told(value: Any) -> list[str]:
    if isinstance(value, Enum):
        return ["strategy", str(value.value)]
    return [type(value).__name__, str(value)]


def answers(load: Load, names: tuple[str, ...], folder: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for name in names:
        for form in FORMS:
            path = folder / "config.yaml"
            path.write_text(f"{name}: {form}\n", "utf-8")
            try:
                with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                    answer = told(load(path, name))
            except SystemExit:
                answer = ["argparse"]
            except Exception as error:
                answer = [type(error).__name__]
            found.setdefault(name, {})[form] = answer
    return found


def module_at(path: Path, name: str, **given: Any) -> types.ModuleType:
    """A module of a release, run alone."""
    module = types.ModuleType(name)
    module.__dict__.update(__file__=str(path), **given)
    sys.modules[name] = module
    exec(compile(path.read_text("utf-8"), str(path), "exec"), module.__dict__)
    return module


def part_of(path: Path, *names: str, **given: Any) -> dict[str, Any]:
    """Some functions of a module whose imports are as large as torch."""
    import ast

    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", "") in names]
    space: dict[str, Any] = {**given}
    exec(compile(tree, str(path), "exec"), space)
    return space


def of_yaml(path: Path, name: str) -> Any:
    import yaml

    return yaml.safe_load(path.read_text("utf-8"))[name]


def of_omegaconf(path: Path, name: str) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(OmegaConf.load(path))[name]  # type: ignore[index, call-overload]


def of_ruamel(path: Path, name: str) -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe", pure=True).load(path)[name]


def of_trl_parser(parser: Any) -> Load:
    def load(path: Path, name: str) -> Any:
        sys.argv = ["train.py", "--config", str(path)]
        return getattr(parser(Fields).parse_args_and_config()[0], name)

    return load


def of_yaml_file(parser: Any) -> Load:
    return lambda path, name: getattr(parser(Fields).parse_yaml_file(str(path))[0], name)


def of_llamafactory(file: Path) -> Load:
    import yaml
    from omegaconf import OmegaConf
    from transformers import HfArgumentParser

    read = part_of(
        file, "read_args", sys=sys, Path=Path, yaml=yaml, json=json, OmegaConf=OmegaConf, Any=Any, Union=Any,
        Optional=Any, Dict=dict, List=list,
    )["read_args"]  # fmt: skip

    def load(path: Path, name: str) -> Any:
        sys.argv = ["llamafactory-cli", str(path)]
        return getattr(HfArgumentParser(Fields).parse_dict(read())[0], name)

    return load


def of_swift(file: Path) -> Load:
    import os

    import yaml
    from transformers import HfArgumentParser

    read = part_of(file, "parse_yaml_args", yaml=yaml, json=json, os=os, logger=None)["parse_yaml_args"]

    def load(path: Path, name: str) -> Any:
        words = [str(path)]
        read(words)
        return getattr(HfArgumentParser(Fields).parse_args_into_dataclasses(words)[0], name)

    return load


def of_pydantic(path: Path, name: str) -> Any:
    """As axolotl: `yaml.safe_load`, then a model of pydantic (utils/schemas/config.py)."""
    from pydantic import create_model

    model = create_model("Model", **{each.name: (each.type | None, None) for each in dataclasses.fields(Fields)})  # type: ignore[call-overload, operator]
    import yaml

    return getattr(model(**yaml.safe_load(path.read_text("utf-8"))), name)


def main() -> None:
    sources = Path(sys.argv[1])
    import transformers
    from transformers import HfArgumentParser
    from trl import TrlParser  # type: ignore[import-not-found]

    older = sources / "transformers-4.44.2" / "transformers" / "hf_argparser.py"
    trl_8 = module_at(sources / "trl-0.8.6" / "trl" / "commands" / "cli_utils.py", "trl_8")
    trl_9 = module_at(sources / "trl-0.9.6" / "trl" / "commands" / "cli_utils.py", "trl_9")
    typed = TYPES[1:]
    loaders: dict[str, tuple[Load, tuple[str, ...]]] = {
        "PyYAML": (of_yaml, TYPES[:1]),
        "OmegaConf": (of_omegaconf, TYPES[:1]),
        "ruamel.yaml": (of_ruamel, TYPES[:1]),
        "TrlParser trl 1.16.0": (of_trl_parser(TrlParser), typed),
        "TrlParser trl 0.9.6": (of_trl_parser(trl_9.TrlParser), typed),
        "TrlParser trl 0.8.6": (of_trl_parser(trl_8.TrlParser), typed),
        "parse_yaml_file transformers 5.23.0": (of_yaml_file(HfArgumentParser), typed),
        "parse_yaml_file transformers 4.44.2": (
            of_yaml_file(module_at(older, "hf_argparser_4_44").HfArgumentParser),
            typed,
        ),
        "LLaMA-Factory 0.9.2": (
            of_llamafactory(sources / "llamafactory-0.9.2" / "llamafactory" / "hparams" / "parser.py"),
            typed,
        ),
        "LLaMA-Factory 0.9.5": (
            of_llamafactory(sources / "llamafactory-0.9.5" / "llamafactory" / "hparams" / "parser.py"),
            typed,
        ),
        "ms-swift 4.6.0": (of_swift(sources / "ms_swift-4.6.0" / "swift" / "cli" / "main.py"), typed),
        "axolotl (pydantic)": (of_pydantic, typed[:-1]),
    }
    packages = ("PyYAML", "omegaconf", "ruamel.yaml", "pydantic", "transformers", "trl")
    with tempfile.TemporaryDirectory() as folder:
        found = {name: answers(load, names, Path(folder)) for name, (load, names) in loaders.items()}
    assert transformers
    made = {
        "made_with": {name: importlib.metadata.version(name) for name in packages},
        "forms": FORMS,
        "loaders": found,
    }
    print(json.dumps(made, indent=None, separators=(",", ":")).replace('},"', '},\n"'))


if __name__ == "__main__":
    main()
