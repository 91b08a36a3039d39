"""What an import that is tried covers: itself, and the code that runs where it failed; no call of what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.project.roots import starting_in
from trl_lint.selection import Selection
from trl_lint.settings import Settings

# trl 1.16.0: `SFTTrainer` and `SFTConfig` are there, `tokenizer` of `SFTTrainer` went with 0.16, `PPOConfig` with 0.29.
CALL = "trainer = SFTTrainer(model=model, args=args, tokenizer=tok)"
TRY = "from trl import SFTTrainer"
OTHER = "from trl import SFTConfig"
OLD = "from trl import PPOConfig"


def tried(imports: str, handler: str, error: str = "ImportError", also: str = "pass", before: str = "") -> str:
    return f"{before}try:\n    {imports}\n    {also}\nexcept {error}:\n    {handler}\n"


def inside(test: str, body: str, otherwise: str = "pass") -> str:
    return f"if {test}:\n    {body}\nelse:\n    {otherwise}\n"


def broken() -> Iterator[tuple[str, str]]:
    for value in ("None", "Any", "object", "False", "typing.Any", "..."):
        yield f"= {value}", f"import typing\nfrom typing import Any\n{tried(TRY, f'SFTTrainer = {value}')}{CALL}\n"
    yield "None before", f"SFTTrainer = None\n{tried(TRY, 'pass')}{CALL}\n"
    yield "annotated", f"{tried(TRY, 'SFTTrainer: object = None')}{CALL}\n"
    yield "stub class", f"{tried(TRY, 'class SFTTrainer: pass')}{CALL}\n"
    yield "stub function", f"{tried(TRY, 'def SFTTrainer(*a, **k): raise ImportError')}{CALL}\n"
    yield "other import", f"{tried(OTHER, 'SFTConfig = None')}{TRY}\n{CALL}\n"
    for last in ("raise", "raise ImportError('pip install trl')", "raise e", "sys.exit('pip install trl')"):
        yield last, f"import sys\n{tried(TRY, last, 'ImportError as e')}{CALL}\n"
        yield f"call, {last}", f"import sys\n{TRY}\n{tried(CALL, last, 'Exception as e')}"
    flag = tried(TRY, "HAS_TRL = False", also="HAS_TRL = True")
    yield "flag", flag + inside("HAS_TRL", CALL)
    yield "flag, else", flag + inside("not HAS_TRL", "print('pip install trl')", CALL)
    yield "flag, left", f"{flag}def main():\n    if not HAS_TRL:\n        return\n    {CALL}\n"
    yield "flag, error", f"{flag}def main():\n    if not HAS_TRL:\n        raise RuntimeError('trl')\n    {CALL}\n"
    yield "flag, assert", f"{flag}assert HAS_TRL, 'pip install trl'\n{CALL}\n"
    yield "flag and more", flag + inside("HAS_TRL and args.sft", CALL)
    yield "flag, expression", f"{flag}trainer = {CALL[10:]} if HAS_TRL else None\n"
    yield (
        "flag before",
        tried(TRY, "pass", also="TRL_AVAILABLE = True", before="TRL_AVAILABLE = False\n")
        + inside("TRL_AVAILABLE", CALL),
    )
    none = tried(TRY, "SFTTrainer = None")
    yield "not None", none + inside("SFTTrainer is not None", CALL)
    yield "None, error", f"{none}if SFTTrainer is None:\n    raise ImportError('trl')\n{CALL}\n"
    yield (
        "two flags",
        flag + tried(OTHER, "HAS_CONFIG = False", also="HAS_CONFIG = True") + inside("HAS_TRL and HAS_CONFIG", CALL),
    )


def fine() -> Iterator[tuple[str, str]]:
    good = "trainer = SFTTrainer(model=model, args=args, processing_class=tok)"
    flag = tried(TRY, "HAS_TRL = False", also="HAS_TRL = True")
    config = tried(OTHER, "SFTConfig = None")
    old = tried(OLD, "PPOConfig = None")
    yield "nothing wrong", f"{tried(TRY, 'SFTTrainer = None')}{good}\n"
    yield "nothing wrong behind a flag", flag + inside("HAS_TRL", good)
    # What stands where the import fails is the way of other releases.
    yield "in the handler", f"{TRY}\n{tried(OTHER, CALL)}"
    yield "behind None", f"{TRY}\n{config}" + inside("SFTConfig is None", CALL)
    yield "else of not None", f"{TRY}\n{config}" + inside("SFTConfig is not None", good, CALL)
    yield "else of the name", f"{TRY}\n{config}" + inside("SFTConfig", good, CALL)
    yield "else of a flag", f"{TRY}\n{tried(OTHER, 'NEW = False', also='NEW = True')}" + inside("NEW", good, CALL)
    yield "not flag", f"{TRY}\n{tried(OTHER, 'NEW = False', also='NEW = True')}" + inside("not NEW", CALL)
    yield (
        "left before",
        (f"{TRY}\n{config}def f():\n    if SFTConfig is not None:\n        return 1\n    return {CALL[10:]}\n"),
    )
    yield "expression", f"{TRY}\n{config}t = {good[10:]} if SFTConfig else {CALL[10:]}\n"
    yield "or", f"{TRY}\n{config}if SFTConfig is None or old:\n    {CALL}\n"
    yield "not and", f"{TRY}\n{config}if not (SFTConfig and new):\n    {CALL}\n"
    yield "assert None", f"{TRY}\n{config}assert SFTConfig is None\n{CALL}\n"
    # What was tried is not there in the newest release, so that nothing behind it runs.
    yield "old", f"{TRY}\n{old}" + inside("PPOConfig is not None", CALL)
    yield "old flag", f"{TRY}\n{tried(OLD, 'HAS_PPO = False', also='HAS_PPO = True')}" + inside("HAS_PPO", CALL)
    yield "old name", f"{TRY}\n{old}" + inside("PPOConfig", CALL)
    yield "old, and", f"{TRY}\n{old}" + inside("PPOConfig and args.ppo", CALL)
    yield "old, left", f"{TRY}\n{old}def f():\n    if PPOConfig is None:\n        return\n    {CALL}\n"
    yield "old module", f"{TRY}\n{tried('import trl.core', 'OLD = False', also='OLD = True')}" + inside("OLD", CALL)
    # A trial that is more than imports, or a name that gets something else.
    checked = "assert trl.__version__ < '0.16'\n    HAS_TRL = True"
    yield (
        "checks the release",
        tried("import trl\n    " + TRY, "HAS_TRL = False", also=checked) + inside("HAS_TRL", CALL),
    )
    yield "flag from elsewhere", f"{flag}HAS_TRL = old_trl()\n" + inside("HAS_TRL", CALL)
    yield "flag of two trials", flag + tried(OTHER, "HAS_TRL = False", also="HAS_TRL = True") + inside("HAS_TRL", CALL)
    yield "another class", f"{tried(TRY, 'from mine import SFTTrainer')}{CALL}\n"
    yield "own class", f"{tried(TRY, 'SFTTrainer = MyTrainer')}{CALL}\n"
    yield (
        "own definition",
        (
            "try:\n    from trl import SFTTrainer\nexcept ImportError:\n    class SFTTrainer:\n"
            f"        def __init__(self, **more):\n            self.more = more\n{CALL}\n"
        ),
    )
    yield "own class later", f"{tried(TRY, 'SFTTrainer = None')}if mine:\n    SFTTrainer = MyTrainer\n{CALL}\n"
    yield "parameter", f"{tried(TRY, 'SFTTrainer = None')}def f(SFTTrainer):\n    {CALL}\n"
    yield "loop", f"{tried(TRY, 'SFTTrainer = None')}for SFTTrainer in trainers:\n    {CALL}\n"
    # Handlers that lead on.
    for handler in ("pass", "print(e)", "return None", "continue", "raise Fallback(e)", "raise unittest.SkipTest(e)"):
        body = tried(CALL, handler, "Exception as e").replace("\n", "\n        ")
        yield f"call, {handler}", f"import unittest\n{TRY}\ndef f():\n    for x in y:\n        {body}\n"
    yield "skip", f"import pytest\n{TRY}\n{tried(CALL, 'pytest.skip()', 'TypeError')}"
    yield (
        "one of two leads on",
        (f"{TRY}\ntry:\n    {CALL}\nexcept TypeError:\n    old = True\nexcept ImportError:\n    raise\n"),
    )
    yield "raises in a branch", f"{TRY}\n{tried(CALL, 'if strict: raise', 'TypeError')}"


def findings(folder: Path, text: str, pin: str = "trl==1.16.0") -> list[str]:
    (folder / "requirements.txt").write_text(f"{pin}\ntransformers==5.23.0\n")
    (folder / "train.py").write_text(text)
    with starting_in([str(folder)]):
        result = check([str(folder)], Settings(str(folder), layers=[Selection(select=("TRL301", "TRL001"))]))
    assert not result.problems
    return [finding.message for finding in result.findings]


BROKEN, FINE = dict(broken()), dict(fine())


@pytest.mark.parametrize("name", BROKEN)
def test_a_call_is_judged_where_the_import_went_well(name: str, tmp_path: Path) -> None:
    found = findings(tmp_path, BROKEN[name])
    assert len(found) == 1 and "`tokenizer`" in found[0], BROKEN[name]


@pytest.mark.parametrize("name", FINE)
def test_other_ways_stay_silent(name: str, tmp_path: Path) -> None:
    assert findings(tmp_path, FINE[name]) == [], FINE[name]


@pytest.mark.parametrize(("handler", "is_told"), [("PPOConfig = None", False), ("raise", True), ("exit(1)", True)])
def test_an_import_is_covered_where_the_program_goes_on(handler: str, is_told: bool, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("trl==1.16.0\n")
    (tmp_path / "train.py").write_text(tried(OLD, handler))
    with starting_in([str(tmp_path)]):
        result = check([str(tmp_path)], Settings(str(tmp_path), layers=[Selection(select=("TRL302",))]))
    assert bool(result.findings) is is_told


def test_there_are_more_fine_forms() -> None:
    assert len(FINE) > len(BROKEN)
