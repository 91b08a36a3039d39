"""Whether axolotl and LLaMA-Factory refuse what we say that they refuse.

    python -m benchmarks.commands_oracle axolotl --python ENV/bin/python --sources SRC --examples DIR --release 0.10.0

changes a few keys of the framework's own examples at random, hands each to the real code of the release
(`tests/oracle/axolotl_probe.py`, `llamafactory_probe.py`) and judges it by the recorded conditions. A refusal that we
state of a config that the code takes is false. `--keep FILE` keeps some of the answers as data for
`tests/knowledge/test_commands_oracle.py`.
"""

from __future__ import annotations

import glob
import json
import os
import random
import sys
from typing import Any

import yaml

from benchmarks.oracle_commands import Case, asked, keep, options, told
from benchmarks.oracle_worlds import compared
from trl_lint.checks.configs._command_beside import OfRelease, is_ill_typed
from trl_lint.checks.configs._command_world import block_of
from trl_lint.checks.configs._program_refusals import Reading, Settings, refused_in
from trl_lint.knowledge.command_keys import keys_of
from trl_lint.knowledge.condition_language import UNKNOWN, Block
from trl_lint.knowledge.families import arguments_of_kind
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.nodes import Mapping
from trl_lint.sources.trees import read_trees

# Keys that a training config of the framework has, and those that are not changed: they hide the rest, or need files.
NEEDED = {"axolotl": ("base_model",), "llamafactory": ("model_name_or_path", "stage")}
LEFT_OUT = {
    "axolotl": ("capabilities", "env_capabilities", "datasets", "base_model"),
    "llamafactory": ("deepspeed", "model_name_or_path", "output_dir"),
}
BY_A_CHECK = {"axolotl": "Value error, ", "llamafactory": "ValueError: "}
KEPT = 12  # of those that the model takes, and of those that a validator refuses
_MOST_CHANGES = 6


def stated(package: str, config: dict[str, Any], version: str) -> list[str]:
    """The sentences by which we say that a release refuses a config."""
    text = yaml.safe_dump(config)
    root = read_trees(Source(SourceFile("config.yml", text.encode()), "yaml"))[0]
    whole = block_of(root) if isinstance(root, Mapping) else None
    arguments = arguments_of_kind(package)
    if whole is None or arguments is None:
        return []
    block = Block("", {**whole, **dict.fromkeys(arguments.sets, UNKNOWN)})
    beside = OfRelease(block, package, "train", version, "", {"zero3": False})
    settings = Settings(block, (Reading("train", block),), absent=None, beside=beside)
    crashes = is_ill_typed(package, "train", version)
    refused = refused_in(package, version, settings)
    return [found.condition.sentence for found in refused if not found.crashes or crashes(found)]


def values_of(package: str, version: str) -> dict[str, list[Any]]:
    """The keys that conditions mention, each with values around the constants beside it."""
    asked_of = compared(package, "train", version)
    found = {name: [*values, True, False, None] for name, values in asked_of.items()}
    keys = keys_of(package, "train", version)
    known = keys.own if keys is not None else frozenset()
    return {name: values for name, values in found.items() if name in known and name not in LEFT_OUT[package]}


def changed(base: dict[str, Any], values: dict[str, list[Any]], chance: random.Random) -> dict[str, Any]:
    """A config with a few keys set or taken away."""
    found: dict[str, Any] = json.loads(json.dumps(base, default=str))
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        name = chance.choice(sorted(values))
        if chance.random() < 0.2:
            found.pop(name, None)
        else:
            found[name] = chance.choice([*values[name], chance.choice([1, 2, 8, 0.5, "x", True, ["a"], {"a": 1}])])
    return found


def read_examples(folder: str, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    """The training configs of a folder."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.y*ml"), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            data = yaml.safe_load(stream)
        if isinstance(data, dict) and all(key in data for key in needed):
            found.append(data)
    return found


def main(argv: list[str]) -> int:
    parser = options(__doc__, 300)
    parser.add_argument("package", choices=sorted(NEEDED))
    parser.add_argument("--sources", required=True)
    args = parser.parse_args(argv)
    chance = random.Random(args.seed)
    examples = read_examples(args.examples, NEEDED[args.package])
    values = values_of(args.package, args.release)
    configs = [*examples, *(changed(chance.choice(examples), values, chance) for _ in range(args.number))]
    answers = asked(args.python, f"{args.package}_probe.py", configs, args.sources)
    cases = [
        Case(config, answer, stated(args.package, config, args.release), number < len(examples))
        for number, (config, answer) in enumerate(zip(configs, answers, strict=True))
    ]
    if args.keep:
        taken = [case for case in cases if case.answer is None]
        refused = [case for case in cases if case.answer and BY_A_CHECK[args.package] in case.answer]
        head = {"package": args.package, "release": args.release}
        keep(args.keep, head, "config", (taken, refused), KEPT, args.seed)
    return told(f"{args.package} {args.release}", cases, args.v)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
