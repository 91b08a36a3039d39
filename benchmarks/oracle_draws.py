"""Random settings for the oracle, with values drawn around the constants in conditions."""

from __future__ import annotations

import ast
import random
from typing import Any

from benchmarks.oracle_worlds import Fields, class_of, is_arithmetic, refusing, settings_in
from trl_lint.knowledge.condition_language import parse

# What a program refuses to begin without.
NEEDED: dict[str, dict[str, Any]] = {
    "verl": {
        **dict.fromkeys(
            (
                "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
                "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
                "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
                "critic.ppo_micro_batch_size_per_gpu",
            ),
            2,
        ),
        "actor_rollout_ref.rollout.name": "vllm",
    },
    "openrlhf": {
        **dict.fromkeys(
            ("pretrain", "reward_pretrain", "actor.model_name_or_path", "reward.model_name_or_path"), "a/model"
        ),
        **dict.fromkeys(("vllm_num_engines", "vllm.num_engines"), 8),
    },
}
# Numbers that batch sizes and GPUs have.
_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64, 128, 256, 1000, 1024)


def draw(
    asked: str, versions: dict[str, str], fields: Fields, count: int, seed: str, counts: bool = False
) -> list[dict[str, Any]]:
    """Random configs of one to four fields that occur in conditions, with values around the constants there.

    `counts`: of up to six numbers and switches that occur in arithmetic, with values that batches and machines have.
    """
    package, name = class_of(asked)
    base = {key: value for key, value in NEEDED.get(package, {}).items() if key in fields and not name}
    constants: dict[str, dict[str, Any]] = {}
    for condition, world in refusing(asked, versions, base, fields):
        tree = parse(condition.condition)
        if tree is None or (counts and not is_arithmetic(condition)):
            continue
        found = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
        for field in settings_in(condition, world):
            if field in fields and not field.endswith("_target_") and not (counts and fields[field][1] == "str"):
                constants.setdefault(field, {}).update((repr(value), value) for value in found)
    chance = random.Random(seed)
    needed = [field for field, told in fields.items() if told[2:]]
    configs = []
    for _ in range(count):
        chosen = chance.sample(sorted(constants), min(len(constants), chance.randint(1, 6 if counts else 4)))
        config = {key: value for key, value in base.items() if counts or chance.random() < 0.95}
        for field in chosen:
            value = (_count if counts else _value)(chance, list(constants[field].values()), *fields[field][:2])
            config[field] = value if package != "openrlhf" else _flag(chance, value, *fields[field][:2])
        for field in needed:
            if field not in config:
                config[field] = _value(chance, list(constants.get(field, {}).values()), *fields[field][:2])
        if "output_dir" in fields:
            config.setdefault("output_dir", "out")
        if "use_cpu" in fields and chance.random() < 0.9:
            config["use_cpu"] = True
        configs.append(config)
    return configs


def _value(chance: random.Random, pool: list[Any], default: Any, annotation: str) -> Any:
    numbers = [value for value in pool if isinstance(value, (int, float)) and not isinstance(value, bool)]
    pool = [*pool, *(value + 1 for value in numbers), *(value - 1 for value in numbers)]
    pool += [None, "bogus", 0, -1, True, False, 0.5, 1, 2, 3, 4]
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        pool += [default * 2, default + 1]
    if chance.random() < 0.6:  # of its own type
        same = [value for value in pool if type(value).__name__ in annotation and value is not None]
        pool = same or pool
    return chance.choice(pool)


def _count(chance: random.Random, pool: list[Any], default: Any, annotation: str) -> Any:
    """A value for arithmetic: a number, mostly a power of two; what is not set mostly stays so."""
    if annotation == "bool":
        return chance.random() < 0.3
    if annotation == "NoneType" and chance.random() < 0.9:
        return None
    return chance.choice(_COUNTS if chance.random() < 0.3 else (1, 2, 4, 8, default or 16))


def _flag(chance: random.Random, value: Any, default: Any, annotation: str) -> Any:
    """A value as a flag of its type can have it: argparse takes no other."""
    if annotation == "list":
        return [chance.choice((0.0, 0.5, 1.0)) for _ in range(2)]
    if annotation == "bool":
        return chance.random() < 0.5
    if annotation in ("int", "float"):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        number = value if is_number else chance.choice(_COUNTS)
        return int(number) if annotation == "int" else float(number)
    return str(value)
