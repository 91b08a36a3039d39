"""A rule that never ends costs its findings and a notice, and nothing else."""

from __future__ import annotations

import ast
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command_line import SCRIPT, Shell

from trl_lint import budget
from trl_lint.checks.registry import declared_rules
from trl_lint.checks.rule import Rule, Site
from trl_lint.editors.flake8_plugin import findings as flake8_findings
from trl_lint.engine import Result, check
from trl_lint.finding import Finding, Location, Notice
from trl_lint.python.triage import triage_of
from trl_lint.settings import Settings
from trl_lint.sources import SourceFile
from trl_lint.workers import can_fork

HAS_TIMER = hasattr(__import__("signal"), "setitimer")
STOPPED = "work on it was cut short: rule TRL103 took more than 0.4 s"


def forever() -> None:
    while True:
        with suppress(Exception):  # as careless code does
            sum(range(1000))


def match_forever() -> None:
    re.search(r"(?:a|a)*b", "a" * 60)


def twice_as_long() -> None:
    """Raise at once, and swallow whatever stops it the first time."""
    try:
        forever()
    except BaseException:
        forever()


class Endless(Rule):
    """A rule that finds one thing, and then never ends."""

    code = "TRL103"
    triggers = (".arange",)

    def __init__(self, work: Callable[[], None] = forever) -> None:
        self.work = work

    def check_call(self, site: Site) -> Iterator[Finding]:
        yield self.finding(site.location, "found before")
        self.work()
        yield self.finding(site.location, "found behind")


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Put a rule that never ends beside the others."""

    def put(work: Callable[[], None] = forever) -> None:
        rules = [Endless(work), *(rule for rule in declared_rules() if rule.code != Endless.code)]
        monkeypatch.setattr("trl_lint.checker.declared_rules", lambda: rules)
        monkeypatch.setattr("trl_lint.checker.triage_of", triage_of.__wrapped__)
        monkeypatch.setattr("trl_lint.checker.RULE_SECONDS", 0.4)

    return put


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(
        SCRIPT + '\nfrom trl import GRPOConfig\n\nGRPOConfig(output_dir="o", max_grad_norm=0)\n'
    )
    return tmp_path / "train.py"


def looked_at(script: Path, jobs: int = 1) -> Result:
    return check([str(script.parent)], Settings(root=str(script.parent)), jobs=jobs)


def assert_stopped(result: Result, script: Path) -> None:
    assert result.notices == [Notice("budget", STOPPED, Location(str(script), 0, 0))]
    assert ("TRL103", "found before") in {(one.code, one.message) for one in result.findings}
    assert "found behind" not in {one.message for one in result.findings}
    assert "TRL601" in {one.code for one in result.findings}, "the other rules go on"
    assert result.problems == []


@pytest.mark.parametrize("work", [forever, twice_as_long])
def test_a_rule_that_never_ends_is_stopped(work, endless, script: Path):
    endless(work)
    assert_stopped(looked_at(script), script)


@pytest.mark.skipif(not HAS_TIMER, reason="this system has no timer that counts work")
def test_so_is_a_regular_expression_that_never_ends(endless, script: Path):
    endless(match_forever)
    assert_stopped(looked_at(script), script)


@pytest.mark.parametrize("work", [forever, twice_as_long])
def test_in_another_thread_as_well(work, endless, script: Path):
    endless(work)
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(looked_at(script)))
    thread.start()
    thread.join()
    assert_stopped(results[0], script)
    before = threading.active_count()
    assert before == len(threading.enumerate())
    assert all("_watch" not in one.name for one in threading.enumerate())


@pytest.mark.skipif(not can_fork(), reason="this system does not fork")
def test_in_each_of_several_processes(endless, script: Path):
    endless()
    for number in range(8):
        (script.parent / f"other{number}.py").write_text(SCRIPT)
    result = looked_at(script, jobs=3)
    assert [notice.message for notice in result.notices] == [STOPPED] * 9
    assert sum(one.message == "found before" for one in result.findings) == 9


def test_inside_flake8(endless, script: Path):
    endless()
    text = script.read_text()
    found = [message for _, _, message in flake8_findings(str(script), text, ast.parse(text))]
    assert any(message.startswith("TRL601") for message in found)
    assert not any("failed" in message for message in found)


def test_the_status_is_that_of_the_findings_and_nothing_is_kept(endless, sh: Shell):
    endless(forever)
    for _ in range(2):
        run = sh("--output-format", "json")
        assert run.status == 1 and run.codes == ["TRL103"]
        assert [one["message"] for one in json.loads(run.out)["notices"]] == [STOPPED]
    (sh.folder / "train.py").write_text("x = 1\n")
    assert sh().status == 0


def test_a_reader_that_never_ends(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def endless(file: SourceFile) -> None:
        if file.path.endswith("bad.yaml"):
            forever()

    monkeypatch.setattr("trl_lint.project.documents.read_document", endless)
    monkeypatch.setattr("trl_lint.project.readings.READER_SECONDS", 0.4)
    (tmp_path / "bad.yaml").write_text("learning_rate: 1\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    result = check([str(tmp_path)], Settings(root=str(tmp_path)))
    assert [one.code for one in result.findings] == ["TRL103"] and result.problems == []
    message = "work on it was cut short: reading it as a config took more than 0.4 s"
    assert result.notices == [Notice("budget", message, Location(str(tmp_path / "bad.yaml"), 0, 0))]


def test_a_run_that_is_over_looks_at_nothing_more(monkeypatch: pytest.MonkeyPatch, endless, script: Path):
    endless()
    (script.parent / "zero.py").write_text(SCRIPT)
    monkeypatch.setattr(budget, "RUN_SECONDS", 0.4)
    result = looked_at(script)
    assert [notice.location.path for notice in result.notices if notice.location] == [
        str(script), str(script.parent / "zero.py"),
    ]  # fmt: skip
    assert "the run took more than 0.4 s" in result.notices[1].message
    assert {one.location.path for one in result.findings} == {str(script)}


def test_what_is_left_out_of_a_file_is_told_in_one_notice():
    place = Location("a.py", 0, 0)
    others = Notice("skipped-file", "skipped", place)
    begin = "work on it was cut short: "
    found = budget.merged(
        [Notice("budget", f"{begin}rule B took", place), others, Notice("budget", f"{begin}rule A took", place)]
    )
    assert sorted(found) == sorted([Notice("budget", f"{begin}rule A took; rule B took", place), others])


def test_work_inside_does_not_count_for_what_is_around_it():
    def inner() -> None:
        with pytest.raises(budget.OverBudgetError):
            budget.within("inner", "a.py", 0.6, forever)

    with budget.watched():
        assert budget.within("outer", "b.py", 0.3, inner) is None


def test_somebody_elses_timer_is_left_alone(endless, script: Path):
    if not HAS_TIMER:
        pytest.skip("this system has no timer that counts work")
    import signal

    before = signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    try:
        endless()
        assert_stopped(looked_at(script), script)
        assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGVTALRM, before)
    looked_at(script)
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def in_c() -> None:
    """Work in C that lets no signal in, a second or more of it."""
    sum(range(80_000_000))


def test_time_in_c_counts_though_it_is_interrupted_only_when_it_returns():
    with budget.watched():
        with pytest.raises(budget.OverBudgetError):
            budget.within("rule", "a.py", 0.4, lambda: (in_c(), forever()))
        begun = time.process_time()
        with pytest.raises(budget.OverBudgetError):
            budget.within("rule", "a.py", 0.4, forever)
        assert time.process_time() - begun < 0.1, "it is not begun again"


def test_shared_work_has_seconds_of_its_own_by_question():
    with budget.watched():
        with pytest.raises(budget.OverBudgetError, match="pins took more"):
            budget.within("rule", "a.py", 60, lambda: budget.shared("pins", "/root", forever, 0.4))
        with pytest.raises(budget.OverBudgetError):
            budget.shared("pins", "/root", lambda: 1, 0.4)
        assert budget.shared("commands", "/root", lambda: 1) == 1
        assert budget.shared("pins", "/other", lambda: 1, 0.4) == 1


def test_pins_that_are_never_understood_leave_releases_unknown_and_end_with_2(
    monkeypatch: pytest.MonkeyPatch, sh: Shell
):
    monkeypatch.setattr("trl_lint.project.environment.READER_SECONDS", 0.4)
    asked: list[str] = []

    def endless(name: str, *_: object) -> None:
        asked.append(name)
        forever()

    monkeypatch.setattr("trl_lint.project.tiers._resolve", endless)
    (sh.folder / "requirements.txt").write_text("trl==0.20.0\n")
    for number in range(3):
        text = 'from trl import GRPOConfig\nGRPOConfig(output_dir="o", max_grad_norm=0, no_such=1)\n'
        (sh.folder / f"train{number}.py").write_text(text)
    run = sh("--output-format", "json", "--no-cache")
    assert run.status == 2 and "TRL301" not in run.codes and run.codes.count("TRL601") == 3
    assert len(asked) == 1, "nobody begins again"
    (error,) = json.loads(run.out)["errors"]
    assert error["path"] == "requirements.txt" and "nothing is known of the releases" in error["message"]


def test_a_limit_is_said_once_of_the_file_that_is_read():
    with budget.watched():
        work = lambda: [budget.limit(30, "loops more than {} deep were not read", None, at) for at in (7, 9)]  # noqa: E731
        budget.within("reading", "a.sh", 1, lambda: budget.shared("all", "/root", work))
        budget.limit(5, "nobody works on anything, {}")
        message = "work on it was cut short: loops more than 30 deep were not read"
        assert budget.taken_notes() == [Notice("budget", message, Location("a.sh", 7, 7))]
