"""Whole processes beside other linters, growth and large logs: what is measured, and that the page says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import fixing, growth, logs, machine, mix, oracle, parse, peers, plot, processes, report, targets
from benchmarks.rounds import Bounds, measure
from benchmarks.samples import write_long_script
from benchmarks.tools import PEERS, Command, Environment, commands, find_tools, flake8_with_dependencies
from trl_lint import engine
from trl_lint.settings import Settings

# -- processes ------------------------------------------------------------------------------------------------------


def test_cost_of_a_process(tmp_path: Path):
    cost = processes.run([sys.executable, "-c", "x = bytearray(60_000_000); print(7)"], str(tmp_path), keep_output=True)
    assert (cost.status, cost.output) == (0, b"7\n")
    assert cost.work > 0 and cost.wall > 0 and cost.memory > 60
    assert processes.run([sys.executable, "-c", "raise SystemExit(3)"], str(tmp_path)).status == 3


def test_process_that_takes_too_long_is_stopped_with_what_it_started(tmp_path: Path):
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    cost = processes.run([sys.executable, "-c", child], str(tmp_path), limit=0.5, keep_output=True)
    assert cost.status is None and 0.5 <= cost.wall < 30  # its child held the pipe open


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="the system does not tell")
def test_memory_of_all_processes_together(tmp_path: Path):
    big = "import time; x = bytearray(50_000_000); time.sleep(1.5)"
    both = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {big!r}]); {big}; p.wait()"
    assert processes.peak_memory([sys.executable, "-c", both], str(tmp_path)) > 95


# -- tools ----------------------------------------------------------------------------------------------------------

NEEDED = ["libcst", "packaging", "pyyaml", "tomli", "tree-sitter", "tree-sitter-bash"]


def made_environment(folder: Path, names: list[str], plugins: list[str]) -> Environment:
    folder.mkdir()
    for name in {*PEERS, "python"} & {*names, "python"}:
        (folder / name).touch()
    return Environment(str(folder / "python"), dict.fromkeys(names, "1.0"), plugins)


def test_tools_come_from_the_first_environment_that_has_them(tmp_path: Path):
    mixed = made_environment(tmp_path / "a", ["flake8", "torchfix"], ["flake8", "torchfix"])
    plain = made_environment(tmp_path / "b", ["flake8", "ruff", *NEEDED], ["flake8", "pyflakes"])
    found = find_tools([mixed, plain])
    assert {name: Path(tool.program).parent.name for name, tool in found.items()} == {
        "torchfix": "a",
        "flake8": "b",  # the other one would load TorchFix as well
        "ruff": "b",
    }
    other = flake8_with_dependencies([mixed, plain])
    assert other is not None and other.program == str(tmp_path / "b" / "flake8")
    installed = plain._replace(versions={**plain.versions, "trl-lint": "1"})
    assert flake8_with_dependencies([mixed, installed]) is None


def test_commands(tmp_path: Path):
    tools = find_tools([made_environment(tmp_path / "a", list(PEERS), [])])
    tree = {command.tool: command for command in commands(tools, ".", "/caches")}
    assert "--no-cache" in tree["trl-lint cold"].argv and "--no-cache" in tree["ruff cold"].argv
    assert tree["ruff warm"].is_warm and "/caches/ruff" in tree["ruff warm"].argv
    assert set(tree) - {"flake8 -j auto"} == {command.tool for command in commands(tools, "train.py", "/caches")}
    assert all(tool in tree or tool == "trl-lint warm" for t in targets.TARGETS[:12] for tool in (t.tool, t.other))


# -- rounds ---------------------------------------------------------------------------------------------------------


class Machine:
    """Runs commands that take as long as their name says; `status` by tool, and what was run in `log`."""

    def __init__(self, **statuses: int) -> None:
        self.log: list[str] = []
        self._statuses = statuses

    def __call__(self, command: Command, limit: float) -> processes.Cost:
        self.log.append(command.tool)
        seconds = float(command.argv[0])
        if seconds > limit:
            return processes.Cost(limit, limit, 1, None)
        return processes.Cost(seconds, seconds, 1, self._statuses.get(command.tool, 0))


def test_rounds_are_taken_in_turns_and_within_bounds():
    runner = Machine(broken=2, finds=1)
    takes = {"quick": 0.1, "finds": 0.2, "broken": 0.1, "slow": 6, "judged": 6, "hopeless": 100}
    found = measure([Command(t, (str(s),)) for t, s in takes.items()], runner, Bounds(5, 20, 50, {"judged"}))
    rows = {row.tool: row for row in found}
    assert {tool: len(row.walls) for tool, row in rows.items()} == {
        "quick": 5,  # without the first run
        "finds": 5,
        "slow": 3,
        "judged": 5,
        "hopeless": 1,
    }
    assert rows["hopeless"].is_bound and rows["hopeless"].wall == 50
    assert runner.log.count("quick") == 6 and runner.log.count("broken") == 1
    assert runner.log[6:10] == ["quick", "finds", "slow", "judged"]
    assert runner.log[10:12] == ["finds", "slow"]  # the second round starts with another


def test_ratios_are_judged():
    rows = [{"tool": t, "wall": w, "n": n, "is_bound": b} for t, w, n, b in (
        ("trl-lint cold", 2.0, 5, False), ("TorchFix", 50.0, 3, False), ("ruff cold", 0.1, 5, False),
        ("flake8 -j auto", 10.0, 1, True), ("trl-lint warm", 9.0, 1, True), ("ruff warm", 1.0, 5, False))]  # fmt: skip
    verdicts = {v.target.other: v for v in targets.judge({"subjects": {"trl": {"rows": rows}}})}
    assert set(verdicts) == {"TorchFix", "ruff cold", "flake8 -j auto"}  # what was stopped itself judges nothing
    assert verdicts["TorchFix"].ratio == 0.04 and not verdicts["TorchFix"].is_held and verdicts["TorchFix"].n == 3
    assert verdicts["flake8 -j auto"].is_bound and verdicts["flake8 -j auto"].is_held
    assert not verdicts["ruff cold"].is_held and not verdicts["ruff cold"].is_open
    (open_,) = targets.judge({"subjects": {"trl": {"rows": [rows[0], {**rows[3], "wall": 5.0}]}}})
    assert open_.is_open and open_.ratio == 0.4  # it may have taken long enough
    assert targets.tools_with_target("trl") >= {"TorchFix", "flake8 -j auto", "trl-lint warm"}


# -- what is measured -----------------------------------------------------------------------------------------------


def findings_in(folder: Path) -> list[str]:
    return [finding.code for finding in engine.check([str(folder)], Settings(str(folder))).findings]


def test_scripts(tmp_path: Path):
    clean, wrong = (Path(write_long_script(str(tmp_path / name), name == "wrong")) for name in ("clean", "wrong"))
    assert (findings_in(clean.parent), findings_in(wrong.parent)) == ([], ["TRL301"])
    assert parse.main("ast.parse", str(clean)) == 0


def test_projects_are_the_same_at_every_run_and_of_one_mix(tmp_path: Path):
    sizes = [mix.write_project(str(tmp_path / name), 200) for name in ("a", "b")]
    texts = [{p.relative_to(tmp_path / n): p.read_text() for p in (tmp_path / n).rglob("*.*")} for n in ("a", "b")]
    assert texts[0] == texts[1] and sizes[0] == sizes[1] == sum(len(t) for t in texts[0].values()) - 60
    assert len(texts[0]) == 201
    found = findings_in(tmp_path / "a")
    assert set(found) == {"TRL301"} and 1 <= len(found) <= 12
    for path in parse.python_files(str(tmp_path / "a")):
        compile(Path(path).read_text(), path, "exec")


def test_clean_project_is_clean(tmp_path: Path):
    mix.write_clean(str(tmp_path), 12)
    assert findings_in(tmp_path) == [] and len(parse.python_files(str(tmp_path))) == 12


def test_growth_is_judged_by_a_straight_line():
    straight = growth.growth_of([(n, 0.2 + 0.003 * n) for n in growth.SIZES])
    assert straight["start"] == pytest.approx(0.2) and straight["slope"] == pytest.approx(0.003)
    assert straight["off"] == 0 and straight["exponent"] == pytest.approx(1)
    bent = growth.growth_of([(n, 0.2 + 0.003 * n**1.3) for n in growth.SIZES])
    assert bent["off"] > targets.STRAIGHT


@pytest.mark.parametrize("kind", logs.KINDS, ids=lambda kind: kind.name)
def test_failure_is_found_in_a_log_of_every_kind(kind: logs.Kind, tmp_path: Path):
    path = tmp_path / "run.log"
    assert logs.write_log(str(path), kind, 300_000) == path.stat().st_size > 300_000
    assert logs.diagnose(str(path))["is_found"]


def test_logs_are_judged():
    good = {"bytes": 2_000_000_000, "seconds": 100.0, "memory": 100.0, "is_found": True}
    assert logs.is_held({"rows": [good]})
    for wrong in ({"seconds": 130.0}, {"memory": 201.0}, {"is_found": False}):
        assert not logs.is_held({"rows": [{**good, **wrong}]})


@pytest.mark.slow
def test_everything_runs_without_peers(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tree, output = tmp_path / "trl", tmp_path / "peers.json"
    write_long_script(str(tree), is_wrong=True)
    assert peers.main(["--rounds", "1", "--output", str(output), str(tree)]) in (0, 1)
    said = capsys.readouterr()
    assert "pylint: not in the environments named; left out" in said.err
    results = json.loads(output.read_text())
    assert said.out.strip() == report.peers_tables(results).strip()
    assert {"start", "clean script", "script with a finding", "fix", "trl"} == results["subjects"].keys()
    assert all(row["wall"] > 0 and row["n"] == 1 for found in results["subjects"].values() for row in found["rows"])
    assert str(tmp_path) not in output.read_text() and sys.executable not in output.read_text()


# -- the oracle -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_repairs_that_are_timed_are_made(tmp_path: Path):
    seconds, changed = fixing.time_fix(str(tmp_path / "fix"))
    assert seconds > 0 and changed == fixing.time_parse(str(tmp_path / "parse"))[1]


def test_oracle_agrees_and_would_notice(tmp_path: Path):
    write_long_script(str(tmp_path), is_wrong=True)
    fast, slow = (oracle.report(str(tmp_path), is_slow) for is_slow in (False, True))
    assert fast == slow and b"TRL301" in fast and oracle.differences(fast, slow) == []
    assert oracle.differences(fast, slow.replace(b"TRL301", b"TRL302"))
    # A filter that lets nothing through is what it is for: then the reports differ.
    narrow = "from trl_lint.python.triage import Triage; Triage.active = lambda *asked, **named: set()\n"
    code = narrow + "import sys; from trl_lint import cli; sys.exit(cli.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *oracle._OPTIONS, "."]
    blind = subprocess.run(command, cwd=tmp_path, env=processes.environment(), check=True, capture_output=True)
    assert oracle.differences(blind.stdout, slow)


def test_calls_are_found_by_their_places():
    found = oracle.calls_by_place("x = (f)(\n  g(1), ü(2))\n")
    assert sorted(found) == [(1, 4, 2, 13), (2, 2, 2, 6), (2, 8, 2, 12)]
    assert oracle.calls_by_place("x = (") == {}


# -- the page -------------------------------------------------------------------------------------------------------


def results_of_peers() -> dict[str, Any]:
    row = {"n": 5, "work": 1.0, "memory": 30.0, "is_bound": False}
    rows = [{**row, "tool": "trl-lint cold", "wall": 0.05}, {**row, "tool": "ruff cold", "wall": 0.01}]
    rows.append({**row, "tool": "TorchFix", "wall": 60.0, "is_bound": True, "n": 1})
    start = [{**row, "tool": "trl-lint --version", "wall": 0.015}, {**row, "tool": "python -c pass", "wall": 0.01}]
    subjects = {"start": {"rows": start}, "trl": {"files": 500, "bytes": 5_400_000, "rows": rows}}
    return {**machine.head(), "peers": {"ruff": "0.1"}, "subjects": subjects}


def test_tables_say_what_was_measured():
    text = report.peers_tables(results_of_peers())
    assert "| start | trl-lint --version | **1.5** | python -c pass | 2 | 5 | held |" in text
    assert "| trl | trl-lint cold | **< 0.000833** | TorchFix | 0.03 | 1 | held |" in text
    assert "| wall time | trl (500 files, 5.4 MB) |" in text
    assert "| ruff cold | 10.0 ms, 0.2 × (n 5) |" in text and "| TorchFix | > 60 s |" in text
    assert "| python -c pass | 10.0 ms | 5 |" in text and "ruff 0.1" in text


def test_drawings_are_svg():
    import xml.etree.ElementTree as ElementTree

    drawn = plot.peers_plot(results_of_peers())
    texts = [node.text for node in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"trl", "TorchFix", "> 60 s", "50 ms"} <= set(texts)
    rows = [{"files": n, "bytes": n, "wall": 0.1 + n / 1000, "memory": 40.0} for n in (100, 1000)]
    drawn = plot.growth_plot({**growth.growth_of([(row["files"], row["wall"]) for row in rows]), "rows": rows})
    assert len(list(ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}circle"))) == 2


def test_page_and_drawings_are_those_of_the_results():
    """`make bench-report` rewrites them."""
    page = Path(report.PAGE)
    assert report.with_results(page.read_text("utf-8")) == page.read_text("utf-8")
    for path, drawing in report.plots().items():
        assert Path(path).read_text("utf-8") == drawing


def test_stale_page_is_noticed():
    text = Path(report.PAGE).read_text("utf-8")
    begin = "<!-- growth: written by `make bench-report` -->\n"
    assert report.with_results(text.replace(begin, begin + "\nforged\n")) == text
    with pytest.raises(ValueError, match="no place for growth"):
        report.with_results(text.replace(begin, ""))
