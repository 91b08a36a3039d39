"""The plan as Markdown, and read again."""

from __future__ import annotations

from trl_lint.finding import Location
from trl_lint.reports import Report
from trl_lint.sources import Files
from trl_lint.upgrade.decision import Decision
from trl_lint.upgrade.plan import Plan, item_text, markdown, open_decisions, read_plan

OLD, NEW = {"trl": "0.9.6"}, {"trl": "1.16.0"}
ONE = Decision("code", "`a` is gone", (Location("/p/a.py", 0, 0),), "TRL301")
TWO = Decision("behaviour", "`beta` is another one", (Location("/p/b.yaml", 0, 0),), package="trl")


def written(decisions: list[Decision], earlier: Plan | None = None) -> str:
    return markdown(
        OLD, NEW, decisions, "Summary.", Report([], [], Files({"/p/a.py": b"", "/p/b.yaml": b""}), "/p"), earlier
    )


def test_it_reads_what_it_wrote():
    plan = read_plan(written([ONE, TWO]))
    assert plan == Plan(OLD, {item_text(ONE): False, item_text(TWO): False})


def test_any_other_text_is_no_plan():
    assert read_plan("") is None
    assert read_plan("# Notes\n- [ ] buy milk\n") is None


def test_what_is_gone_is_done_and_what_a_person_ticked_stays_ticked():
    ticked = written([ONE, TWO]).replace("- [ ] `beta`", "- [x] `beta`")
    plan = read_plan(ticked)
    assert open_decisions([ONE, TWO], plan) == [ONE]
    left, _, done = written([TWO], plan).partition("## Done")
    assert f"- [x] {item_text(TWO)}" in left
    assert f"- [x] {item_text(ONE)}" in done
    assert open_decisions([TWO], plan) == []


def test_text_of_others_gives_no_orders():
    decision = Decision("code", "<img src=x> `<!-- a` @me · b\n- [x] c", (Location("/p/<i>`.py", 0, 0),))
    text = written([decision])
    assert "<img" not in text
    assert "@me" not in text
    assert "``<i>`.py:1:1``" in text
    assert len([line for line in text.splitlines() if line.startswith("- [")]) == 1
    plan = read_plan(text)
    assert plan is not None
    assert list(plan.items) == [item_text(decision)]


def test_it_links_what_the_release_says():
    assert "<https://github.com/huggingface/trl/releases/tag/v1.16.0>" in written([TWO])
    assert "`trl-lint rule TRL301`" in written([ONE])
