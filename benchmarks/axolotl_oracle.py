"""Whether axolotl refuses what we say that it refuses.

    python -m benchmarks.axolotl_oracle --python ENV/bin/python --sources SRC --examples EXAMPLES --release 0.10.0

changes a few keys of axolotl's own examples at random, makes the real model of the release of each
(`tests/oracle/axolotl_probe.py`) and judges them by the recorded conditions. A refusal that we state of a config that
the model takes is false. `--keep FILE` keeps some of the answers as data for `tests/knowledge/test_axolotl_oracle.py`.
"""

from __future__ import annotations

import argparse
import ast
import glob
import json
import os
import random
import subprocess
import sys
from collections import Counter
from typing import Any

import yaml

from trl_lint.checks.configs._command_world import block_of
from trl_lint.checks.configs._program_refusals import Reading, Settings, refused_in
from trl_lint.knowledge.condition_language import UNKNOWN, Block, parse
from trl_lint.knowledge.conditions import conditions_of
from trl_lint.knowledge.families import arguments_of_kind
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.nodes import Mapping
from trl_lint.sources.trees import read_trees

PROBE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "oracle", "axolotl_probe.py")
KEPT = 12  # of those that the model takes, and of those that a validator refuses
_MOST_CHANGES = 6


def stated(config: dict[str, Any], version: str) -> list[str]:
    """The sentences by which we say that a release refuses a config."""
    text = yaml.safe_dump(config)
    root = read_trees(Source(SourceFile("config.yml", text.encode()), "yaml"))[0]
    whole = block_of(root) if isinstance(root, Mapping) else None
    arguments = arguments_of_kind("axolotl")
    if whole is None or arguments is None:
        return []
    block = Block("", {**whole, **dict.fromkeys(arguments.sets, UNKNOWN)})
    settings = Settings(block, (Reading("train", block),), absent=None)
    return [found.condition.sentence for found in refused_in("axolotl", version, settings) if not found.crashes]


def values_of(version: str) -> dict[str, list[Any]]:
    """The keys that conditions mention, each with values around the constants beside it."""
    found: dict[str, list[Any]] = {}
    for condition in conditions_of("axolotl", "train", version):
        tree = parse(condition.condition)
        if tree is None:
            continue
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in ("root", "_")}
        names |= {
            str(node.args[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
            and isinstance(node.func.value, ast.Name) and node.func.value.id == "root"
            and isinstance(node.args[0], ast.Constant)
        }  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
                for other in ast.walk(node.comparators[0]):
                    if isinstance(other, ast.Constant):
                        found.setdefault(node.left.id, []).append(other.value)
        for name in names:
            found.setdefault(name, []).extend([True, False, None])
    left_out = ("capabilities", "env_capabilities", "datasets", "list", "dict", "str", "int", "float", "base_model")
    return {name: values for name, values in found.items() if name not in left_out and name.isidentifier()}


def changed(base: dict[str, Any], values: dict[str, list[Any]], chance: random.Random) -> dict[str, Any]:
    """A config with a few keys set or taken away."""
    found = json.loads(json.dumps(base, default=str))
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        name = chance.choice(sorted(values))
        if chance.random() < 0.2:
            found.pop(name, None)
        else:
            found[name] = chance.choice([*values[name], chance.choice([1, 2, 8, 0.5, "x", True, ["a"], {"a": 1}])])
    return found


def read_examples(folder: str) -> list[dict[str, Any]]:
    """The training configs of a folder."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.y*ml"), recursive=True)):
        with open(path, encoding="utf-8") as stream:
            data = yaml.safe_load(stream)
        if isinstance(data, dict) and "base_model" in data and ("datasets" in data or "pretraining_dataset" in data):
            found.append(data)
    return found


def asked(python: str, sources: str, configs: list[dict[str, Any]]) -> list[str | None]:
    """What the real model says of configs."""
    done = subprocess.run(
        [python, PROBE, sources], input=json.dumps(configs, default=str), capture_output=True, text=True, check=True
    )
    answers: list[str | None] = json.loads(done.stdout[done.stdout.index("[") :])
    return answers


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sources", required=True)
    parser.add_argument("--examples", required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default="")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args(argv)
    chance = random.Random(args.seed)
    examples = read_examples(args.examples)
    values = values_of(args.release)
    configs = [*examples, *(changed(chance.choice(examples), values, chance) for _ in range(args.number))]
    answers = asked(args.python, args.sources, configs)
    counted: Counter[str] = Counter()
    kept = []
    for number, (config, answer) in enumerate(zip(configs, answers, strict=True)):
        ours = stated(config, args.release)
        kind = ("refused" if answer else "accepted") + (" and stated" if ours else "")
        counted[("example " if number < len(examples) else "") + kind] += 1
        if args.v and ours and not answer:
            print("FALSE", ours, json.dumps(config, default=str)[:1500])
        if args.v and answer and not ours:
            print("missed", " ".join(answer.split())[:240])
        kept.append({"config": config, "answer": answer and " ".join(answer.split())[:160]})
    print(f"axolotl {args.release}: " + ", ".join(f"{name} {number}" for name, number in sorted(counted.items())))
    if args.keep:
        with open(args.keep, "w", encoding="utf-8") as stream:
            taken = [case for case in kept if case["answer"] is None]
            refused = [case for case in kept if case["answer"] and "Value error, " in case["answer"]]
            some = [*chance.sample(taken, KEPT), *chance.sample(refused, KEPT)]
            json.dump({"release": args.release, "cases": some}, stream, separators=(",", ":"), default=str)
    return 1 if counted["accepted and stated"] + counted["example accepted and stated"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
