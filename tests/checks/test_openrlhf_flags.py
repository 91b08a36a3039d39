"""Flags of real OpenRLHF commands: what is said about them is what argparse said (tests/oracle/openrlhf_flags.py)."""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path

import pytest

from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.programs import programs, successors
from trl_lint.missing import UNKNOWN
from trl_lint.run.readers.argparse_flags import Arguments, read_arguments, read_flag
from trl_lint.run.readers.openrlhf import flags_in_release
from trl_lint.sources.shell import Word

ORACLE = json.loads((Path(__file__).parents[1] / "oracle" / "openrlhf_flags.json").read_text(encoding="utf-8"))
FLAGS = {
    name: read_flag(name, text)
    for name, text in {
        "--lr": "1e-06 type=float",
        "--steps": "-1 type=int",
        "--name": "None type=str",
        "--kind": "'gae' type=str choices=['gae','rloo']",
        "--pair": "(0,1) type=float nargs=2",
        "--some": "[] type=str nargs=+",
        "--any": "[] type=str nargs=*",
        "--on": "False action=store_true",
        "--off": "True action=store_false",
        "--step.size": "1 type=int",
        "--other": "None type=Path",
    }.items()
}


def words(text: str) -> list[Word]:
    """Words at their places; `$x` is a hole, `$*` one of several words."""
    return [
        Word(None if "$" in part else part, part, at, at + len(part), part == "$*")
        for at, part in enumerate(text.split())
    ]


def read(text: str) -> Arguments:
    return read_arguments(words(text), FLAGS)


def test_the_oracle_has_seen_both_verdicts() -> None:
    unknown = [case for case in ORACLE["cases"] if case["verdict"].get("unknown")]
    assert len(ORACLE["cases"]) > 300
    assert 100 < len(unknown) < len(ORACLE["cases"]) - 100


def test_verdicts_of_argparse() -> None:
    """Every flag that argparse does not know, and no other; and no other fault where it is content."""
    for case in ORACLE["cases"]:
        flags = flags_in_release(case["program"], case["on"])
        if "program" in case["verdict"]:
            assert flags == {}, case["from"]
            continue
        assert flags, case["from"]
        given = [ORACLE["words"][number] for number in case["words"]]
        found = read_arguments([Word(word, word, 0, len(word)) for word in given], flags)
        unknown = [fault.flag for fault in found.faults if fault.kind == "unknown"]
        others = [fault for fault in found.faults if fault.kind != "unknown"]
        if "error" in case["verdict"]:
            assert others, (case["from"], case["on"], case["verdict"])
        else:
            assert (unknown, others) == (case["verdict"]["unknown"], []), (case["from"], case["on"])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("--lr 1e-6 --steps -1 --on", []),
        ("--lr=1e-6 --pair 0 -0.5 --some a b --any", []),
        ("--lr x", ["type"]),
        ("--steps 1.5", ["type"]),
        ("--kind grpo", ["choice"]),
        ("--kind $x --lr $y", []),
        ("--lr", ["missing"]),
        ("--lr --on", ["missing"]),
        ("--lr $*", []),
        ("--pair 1", ["missing"]),
        ("--some --on", ["missing"]),
        ("--on true", ["surplus"]),
        ("--on=true", ["surplus"]),
        ("--on ...", []),
        ("--lrr 1", ["unknown"]),
        ("--na x", []),  # an abbreviation
        ("--step 1", []),  # begins two flags: argparse stops, with words of its own
        ("--name=$x --other 5", []),
        ("-- --lrr", []),
        ("word --on", []),
    ],
)
def test_one_command(text: str, kinds: list[str]) -> None:
    assert [fault.kind for fault in read(text).faults] == kinds


def test_values() -> None:
    found = read("--lr=2 --na x --pair 1 2 --on --off --step.size $n $*")
    assert found.values == {
        "--lr": 2.0, "--name": "x", "--pair": [1.0, 2.0], "--on": True, "--off": False, "--step.size": UNKNOWN,
    }  # fmt: skip
    assert found.hidden
    assert not read("--on").hidden


def test_the_history_has_the_programs() -> None:
    known = releases("openrlhf")
    for module in programs("openrlhf"):
        assert any(flags_in_release(module, version) for version in known), module
    assert flags_in_release("openrlhf.cli.train_ppo", "0.11.2") == {}
    assert flags_in_release("openrlhf.cli.train_ppo", "99") is None


def test_successors_came_when_their_flags_went() -> None:
    """A row is true if some program lost the old flag in a release in which it got one of the new."""
    import tomli

    table = tomli.loads((Path(__file__).parents[2] / "rules/commands/openrlhf.toml").read_text(encoding="utf-8"))
    known = releases("openrlhf")
    histories = [[flags_in_release(module, version) or {} for version in known] for module in programs("openrlhf")]
    for row in table["rename"]:
        found = False
        for flags in histories:
            for before, after in itertools.pairwise(flags):
                gone = row["old"] in before and row["old"] not in after
                found = found or (gone and any(new in after for new in row["new"]))
        assert found, row


def test_successors_are_followed_over_several_releases() -> None:
    assert "--rollout.max_new_tokens" in successors("openrlhf", "--generate_max_len")
    assert "--ds.param_dtype" in successors("openrlhf", "--bf16")


def test_choices_of_a_history_can_be_read() -> None:
    flags = flags_in_release("openrlhf.cli.train_ppo_ray", "0.11.2")
    assert flags is not None
    assert flags["--algo.advantage.estimator"].choices[:2] == ("gae", "reinforce")
    assert ast.literal_eval("(0.9,0.95)") == flags["--actor.adam.betas"].default
