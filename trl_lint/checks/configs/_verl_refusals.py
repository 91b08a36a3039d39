"""What the releases of verl refuse of a command: the world of its settings, and the classes that are made of them.

Since 0.6.0 `validate_config` (verl/utils/config.py) and the workers make a dataclass of a block with `_target_`, and
of each such block in it before: of the actor, the rollout and the model in every run, of the critic where there is one
(`omega_conf_to_dataclass` in verl/workers/fsdp_workers.py and engine_workers.py, 0.6.0 to 0.9.1).

Since 0.9.0 main_ppo.py makes a RayPPOTrainer only without `trainer.use_v1`, which is on by default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trl_lint.checks.configs._asserts import Problem, is_release, places
from trl_lint.checks.configs._program_refusals import Reading, Settings, broken
from trl_lint.checks.verdict import Level
from trl_lint.knowledge.condition_language import UNKNOWN as NOT_KNOWN
from trl_lint.knowledge.condition_language import Block
from trl_lint.knowledge.programs import table
from trl_lint.knowledge.ranges import holds
from trl_lint.missing import ABSENT, UNKNOWN
from trl_lint.run.readers.hydra import MISSING, Tree, find
from trl_lint.run.readers.verl import VerlRun

_TRAINER, _VALIDATION = "RayPPOTrainer", "validate_config"
_MADE = ("actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model")
_MADE_SINCE = ">=0.6.0"


def refusals(run: VerlRun, code: str, level: Level, is_mild: bool) -> Iterator[Problem]:
    """What verl refuses at start in the releases in use, as far as it belongs to a rule (TRL402: of one setting)."""
    if run.own is not None and not is_release(run.choices, "verl"):
        return
    words = {override.key: override.word for override in run.overrides}

    def settings_in(version: str) -> Settings | None:
        return settings_of(run, version, is_mild)

    written = [*words, *run.over_keys]
    for found in broken("verl", run.choices, settings_in, written, level, "verl"):
        if code == ("TRL402" if len(found.keys) == 1 else "TRL403"):
            location, beside = places(found.keys, words, run.launch, message=found.message)
            related = (*beside, *run.places_over(found.keys), *found.verdict.related)
            yield Problem(location, found.message, found.verdict.severity, related)


def settings_of(run: VerlRun, version: str, is_mild: bool) -> Settings | None:
    """The settings of a command in a release; None where they are not known or Hydra refuses the command.

    `is_mild`: arguments from outside may give what the command does not.
    """
    tree = run.composed(version)
    if tree is None:
        return None
    given = frozenset(override.key for override in run.overrides) | run.over_keys
    return settings_from(tree, version, given, is_mild)


def settings_from(tree: Tree, version: str, given: frozenset[str], is_open: bool = False) -> Settings:
    """The settings of a composed tree, of which the keys of `given` were overridden."""
    same = _follow(tree, version, given)
    whole = _block("", tree, given, is_open)
    readings = [Reading(_VALIDATION, whole)]
    if find(tree, "trainer.use_v1") in (ABSENT, None, False):
        readings.insert(0, Reading(_TRAINER, whole))
    if holds(_MADE_SINCE, version):
        for path in _MADE:
            readings += _made_of(_at(whole, path), ())
        readings += _made_of(_at(whole, "critic"), reasons) if (reasons := _reasons_for_critic(tree)) else []
    return Settings(whole, tuple(readings), same)


def _follow(tree: Tree, version: str, given: frozenset[str]) -> dict[str, str]:
    """Give settings that take the value of another one that value."""
    same: dict[str, str] = {}
    for row in table("verl").follows:
        if holds(row.releases, version) and find(tree, row.key) is UNKNOWN and not _is_given(row.key, given):
            above, _, name = row.key.rpartition(".")
            value = find(tree, row.of)
            if not isinstance(value, (dict, list)):
                find(tree, above)[name] = value
                same[row.key] = row.of
    return same


def _is_given(key: str, given: frozenset[str]) -> bool:
    parts = key.split(".")
    return any(".".join(parts[:end]) in given for end in range(1, len(parts) + 1))


def _block(path: str, tree: Tree, given: frozenset[str], is_open: bool) -> Block:
    found: dict[str, object] = {}
    for name, value in tree.items():
        key = f"{path}.{name}".lstrip(".")
        if isinstance(value, dict):
            found[name] = _block(key, value, given, is_open)
        elif isinstance(value, list) or value is MISSING or value is UNKNOWN or isinstance(value, type(UNKNOWN)):
            found[name] = NOT_KNOWN
        else:
            found[name] = NOT_KNOWN if is_open and value is None and not _is_given(key, given) else value
    return Block(path, found)


def _reasons_for_critic(tree: Tree) -> tuple[str, ...]:
    """The keys that ask for a critic (`need_critic` of verl/trainer/ppo/utils.py, 0.6.0 to 0.9.1), if it is certain."""
    enabled = find(tree, "critic.enable")
    if isinstance(enabled, (bool, int, float, str)) and enabled:  # the source asks for `bool(config.critic.enable)`
        return ("critic.enable",)
    is_asked = enabled is None and find(tree, "algorithm.adv_estimator") == "gae"
    return ("algorithm.adv_estimator",) if is_asked else ()


def _at(whole: Block, path: str) -> object:
    value: object = whole
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _made_of(block: object, because: tuple[str, ...]) -> list[Reading]:
    """The classes made of a block and, before it, of the blocks in it."""
    if not isinstance(block, Block):
        return []
    found = [reading for each in block.values() for reading in _made_of(each, because)]
    target = block.get("_target_")
    if isinstance(target, str):
        found.append(Reading(target.rpartition(".")[2], block, because))
    return found
