"""Command lines and config files, and what the real parsers make of them: `python reader_lines.py OUT`.

The Python that runs it needs transformers, trl, hydra-core and omegaconf, and no torch: `pip install --no-deps` of
transformers 4.57.1, trl 0.24.0 and the other two, with what they import. The lines are drawn with a fixed seed.
`tests/run/test_readers.py` holds the readers of the tool against what is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNT = 300
FIELDS = {
    "beta": ("float", 0.1), "max_steps": ("int", 5), "run_name": ("str", "x"), "do_eval": ("bool", False),
    "group_by_length": ("bool", True), "learning_rate": ("float", 1e-6), "num_generations": ("int", 8),
    "output_dir": ("str", "out"), "max_length": ("int", 512), "report": ("str", "none"),
}  # fmt: skip
VALUES = {
    "float": ["0", "1", "0.5", "1e-5", "5e-6", "-1", "1.0e-4", "3", "1e5", "nan"],
    "int": ["0", "1", "16", "-1", "1024", "08", "1_000"],
    "str": ["a", "out/run", "none", "null", "True", "1", "0.5", "a-b", "no", "a=b", "1e-6"],
    "bool": ["true", "True", "false", "False", "1", "0", "yes", "no", "t", "off", "on"],
}
OVERRIDES = ["1", "0.5", "1e-6", "true", "null", "a", "'a b'", "a/b", "[1,2]", "-1", ".5", "1_000", "no"]
Found = dict[str, Any] | None


def script() -> str:
    fields = "\n".join(f"    {name}: {kind} = {value!r}" for name, (kind, value) in FIELDS.items())
    head = "from dataclasses import dataclass\nfrom trl import TrlParser\n\n\n@dataclass\nclass Options:\n"
    return f"{head}{fields}\n\n\n(options,) = TrlParser(Options).parse_args_and_config()\n"


def program() -> str:
    lines = ["import argparse", "parser = argparse.ArgumentParser()"]
    for name, (kind, value) in FIELDS.items():
        how = f"type={kind}, default={value!r}" if kind != "bool" else "action='store_true'"
        lines.append(f"parser.add_argument('--{name}', {how})")
    return "\n".join([*lines, "args = parser.parse_args()"]) + "\n"


def document(draw: random.Random) -> str:
    chosen = draw.sample(sorted(FIELDS), draw.randint(0, 5))
    return "".join(f"{name}: {draw.choice(VALUES[FIELDS[name][0]])}\n" for name in chosen)


def flags(draw: random.Random, switches: bool) -> list[str]:
    found: list[str] = []
    for _ in range(draw.randint(0, 6)):
        name = draw.choice(sorted(FIELDS))
        kind = FIELDS[name][0]
        value = draw.choice(VALUES[kind])
        shown = name.replace("_", "-") if not switches and draw.random() < 0.3 else name
        if draw.random() < 0.1:
            shown = shown[: draw.randint(3, len(shown))]
        if kind == "bool" and (switches or draw.random() < 0.4):
            found.append(f"--{'no_' if FIELDS[name][1] and not switches else ''}{shown}")
            continue
        found += [f"--{shown}={value}"] if draw.random() < 0.4 else [f"--{shown}", value]
    return found


def assignments(draw: random.Random) -> list[str]:
    names = draw.choices(sorted(FIELDS), k=draw.randint(0, 5))
    return [f"{name}={draw.choice(VALUES[FIELDS[name][0]])}" for name in names]


def overrides(draw: random.Random) -> list[str]:
    found = []
    for _ in range(draw.randint(0, 5)):
        block, key = draw.choice(["actor.", "data.", ""]), draw.choice(["lr", "steps", "name", "kept", "extra"])
        sign = draw.choice(["", "", "", "+", "++", "~"])
        value = draw.choice(
            ["1", "0.5", "1e-6", "true", "null", "a", "'a b'", "a/b", "[1,2]", "-1", ".5", "1_000", "no"]
        )
        found.append(f"{sign}{block}{key}" + ("" if sign == "~" else f"={value}"))
    return found


HYDRA = "actor:\n  lr: 1e-6\n  steps: 3\n  name: null\n  kept: true\ndata:\n  name: d\n  steps: ???\nlr: 2\nkept: no\n"


# -- the real parsers -------------------------------------------------------------------------------------------------


def of_trl(words: list[str], text: str) -> Found:
    from dataclasses import make_dataclass

    from trl.scripts.utils import TrlParser

    kinds = {"float": float, "int": int, "str": str, "bool": bool}
    options = make_dataclass("Options", [(name, kinds[kind], value) for name, (kind, value) in FIELDS.items()])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cfg.yaml")
        path.write_text(text)
        config = ["--config", str(path)] if text else []
        (found,) = TrlParser(options).parse_args_and_config([*config, *words])
    return vars(found)


def of_argparse(words: list[str], text: str) -> Found:
    parser = argparse.ArgumentParser()
    kinds = {"float": float, "int": int, "str": str}
    for name, (kind, value) in FIELDS.items():
        if kind == "bool":
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=kinds[kind], default=value)
    return vars(parser.parse_args(words))


def of_omegaconf(words: list[str], text: str) -> Found:
    """hparams/parser.py, `read_args` of LLaMA-Factory 0.9.3."""
    import yaml
    from omegaconf import OmegaConf

    override = OmegaConf.from_cli(words)
    found: Any = OmegaConf.to_container(OmegaConf.merge(yaml.safe_load(text) or {}, override))
    return dict(found)


def of_hydra(words: list[str], text: str) -> Found:
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.yaml").write_text(text)
        with initialize_config_dir(folder, version_base=None):
            found: Any = OmegaConf.to_container(compose("config", overrides=words))
    flat: dict[str, Any] = {}
    for key, value in found.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{inner}": each for inner, each in value.items()})
        else:
            flat[key] = value
    return flat


Draw = Callable[[random.Random], tuple[list[str], str]]
PARSERS: dict[str, tuple[Draw, Callable[[list[str], str], Found]]] = {
    "trl": (lambda draw: (flags(draw, False), document(draw) if draw.random() < 0.7 else ""), of_trl),
    "argparse": (lambda draw: (flags(draw, True), ""), of_argparse),
    "llamafactory": (lambda draw: (assignments(draw), document(draw)), of_omegaconf),
    "hydra": (lambda draw: (overrides(draw), HYDRA), of_hydra),
}


def cases(name: str) -> list[dict[str, Any]]:
    draw, parse = PARSERS[name]
    source = random.Random(f"20261128 {name}")
    found = []
    for _ in range(COUNT):
        words, text = draw(source)
        values: Found = None
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            try:
                values = parse(words, text)
            except (SystemExit, Exception):  # refused
                values = None
        kept = {key: str(value) if value != value else value for key, value in values.items()} if values else values
        found.append({"words": words, "text": "" if name == "hydra" else text, "values": kept})
    return found


if __name__ == "__main__":
    for each in PARSERS:
        rows = ",\n".join(json.dumps(case) for case in cases(each))
        Path(sys.argv[1], f"{each}.json").write_text(f"[\n{rows}\n]\n")
        print(each, rows.count('"values": null'), "refused")
