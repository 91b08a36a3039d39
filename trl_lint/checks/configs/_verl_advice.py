"""What a finding about a key that Hydra refuses says: what happened, what to write, and which releases there may be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from trl_lint import tracked
from trl_lint.checks.configs._hydra_advice import config_that_takes, is_read, near_keys
from trl_lint.checks.drift._wording import next_release, sentence
from trl_lint.checks.verdict import Verdict
from trl_lint.knowledge.histories import positions, releases
from trl_lint.knowledge.programs import config_of_engine, successors
from trl_lint.knowledge.remedies import remedy_in, with_own_in
from trl_lint.missing import ABSENT
from trl_lint.project import Project
from trl_lint.regexes import regex
from trl_lint.run.readers.hydra import Fault, Override, Tree, find
from trl_lint.run.readers.hydra_files import Program
from trl_lint.run.readers.verl import ENGINE, Own, VerlRun, composed, config_name, tree_in_release

_QUOTED = regex(r"`([^`]+)`")


def word_module(module: str, having: list[str], verdict: Verdict) -> str:
    remedy = remedy_in("module", "verl", module.removeprefix("verl."), {"verl": verdict.version})
    known = positions("verl")
    older = [version for version in having if known[version] < known[verdict.version]]
    if older:
        gone = next_release("verl", older[-1])
        return sentence(f"verl {gone} removed the module `{module}`", remedy, verdict.basis)
    came = having[0]
    return sentence(f"there is no module `{module}` before verl {came}", f"it needs verl>={came}", verdict.basis)


def word_refused(override: Override, fault: Fault, config: str, remedy: str, basis: str = "") -> str:
    """Say what Hydra refuses, and what to write. `config`: what has or lacks the key, in words."""
    key = override.key
    if fault == "append":
        return sentence(f"`+{key}` adds a key that {config} has already, and Hydra stops", f"write `++{key}`", basis)
    if fault == "delete":
        return sentence(f"`~{key}` deletes a key that {config} does not have, and Hydra stops", "", basis)
    return sentence(f"{config} has no key `{key}`, and Hydra stops", remedy, basis)


def own_remedy(key: str, own: Own, project: Project) -> str:
    """What to write for a key that the project's own configuration lacks, "" if nobody knows."""
    tree = own.tree
    if engine := _engine_with(key, _other_own_engines(own.program, project)):
        return engine
    above = find(tree, key.rpartition(".")[0]) if "." in key else ABSENT
    if above == {} or above is None or is_read(key, project):
        return f"`+{key}` adds it"
    return _meant(own, key)


def _meant(own: Own, key: str) -> str:
    """`did you mean `x`?`, but for a key that some release of verl has had: that one is no misspelling."""
    if successor := next((new for new in successors("verl", key) if find(own.tree, new) is not ABSENT), ""):
        return f"use `{successor}`"
    if _releases_with("ppo_trainer", key):
        # A fork keeps what it was forked from: only a key that it has is an advice for it.
        recorded = remedy_in("key", "ppo_trainer", key, {"verl": releases("verl")[-1]})
        return recorded if all(find(own.tree, name) is not ABSENT for name in _QUOTED.findall(recorded)) else ""
    near = near_keys(key, own.tree, frozenset(override.key for override in own.overrides))
    return f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else ""


def other_own_config(own: Own, refused: Mapping[int, Fault], project: Project) -> str:
    """The advice to use another config of the project, where one has every key that this one lacks."""
    program = own.program

    def compose(name: str) -> Tree | None:
        return composed(program._replace(config=name), own.chosen, project)

    name = config_that_takes(own.overrides, refused, program.config, program.folder, compose)
    return f"`--config-name {name}` has every key that this command needs" if name else ""


def word_release(run: VerlRun, override: Override, fault: Fault, remedy: str, verdict: Verdict) -> str:
    """Say what Hydra refuses in the releases in use: since when they lack the key, and what to write."""
    name, key = config_name(run, verdict.version), override.key
    config = f"the config `{name}` of verl"
    if fault != "override":
        return word_refused(override, fault, f"{config} {verdict.version}", "", verdict.basis)
    having = _releases_with(name, key)
    known = positions("verl")
    older = [version for version in having if known[version] < known[verdict.version]]
    remedy = with_own_in(remedy, "key", name, key, {"verl": verdict.version})
    if older:
        gone = next_release("verl", older[-1])
        return sentence(f"verl {gone} removed the key `{key}` of `{name}`, and Hydra stops", remedy, verdict.basis)
    since = f" before verl {having[0]}" if having else ""
    remedy = remedy or (f"it needs verl>={having[0]}" if having else "")
    return sentence(f"{config} has no key `{key}`{since}, and Hydra stops", remedy, verdict.basis)


def release_remedy(run: VerlRun, key: str, tree: Tree, version: str) -> str:
    successor = next((new for new in successors("verl", key) if find(tree, new) is not ABSENT), "")
    if successor:
        return f"use `{successor}`"
    if recorded := remedy_in("key", config_name(run, version), key, {"verl": version}):
        return recorded
    above = find(tree, key.rpartition(".")[0]) if "." in key else ABSENT
    if above == {} or above is None:
        return f"`+{key}` adds it"
    if engine := _engine_with(key, _other_engines(run, version)):
        return engine
    if _releases_with(config_name(run, version), key):
        return ""
    near = near_keys(key, tree, frozenset(override.key for override in run.overrides))
    return f"did you mean {' or '.join(f'`{name}`' for name in near)}?" if near else ""


def _releases_with(config: str, key: str) -> list[str]:
    return [version for version in releases("verl") if _has(config, version, key)]


def _engine_with(key: str, others: Iterator[tuple[str, Tree]]) -> str:
    """The advice to choose another engine, where the configuration of one has a key."""
    name = next((name for name, other in others if find(other, key) is not ABSENT), "")
    return f"`{name}` has it" if name else ""


def _other_engines(run: VerlRun, version: str) -> Iterator[tuple[str, Tree]]:
    """The configurations of the other engines, by what selects them."""
    current = config_name(run, version)
    for config in ("ppo_trainer", "ppo_megatron_trainer", "ppo_veomni_trainer", "ppo_torchtitan_trainer"):
        tree = tree_in_release(config, version) if current.startswith("ppo_") and config != current else None
        if tree is not None:
            name = str(tree.get(ENGINE, ""))
            is_engine = config_of_engine(name, version) == config
            yield f"{ENGINE}={name}" if is_engine else f"--config-name={config}", tree


def _other_own_engines(program: Program, project: Project) -> Iterator[tuple[str, Tree]]:
    folder = os.path.join(program.folder, ENGINE)
    for file in tracked.names(folder) if tracked.is_folder(folder) else ():
        name = file.removesuffix(".yaml")
        tree = composed(program, {ENGINE: name}, project)
        if tree is not None:
            yield f"{ENGINE}={name}", tree


def _has(config: str, version: str, key: str) -> bool:
    tree = tree_in_release(config, version)
    return tree is not None and find(tree, key) is not ABSENT
