"""The kept findings of fixtures and public trees: what is carried on, and what may not change without a decision."""

from __future__ import annotations

from benchmarks.golden import OURS, RESULT, VERDICTS, Line, changes, faults, judged, lines_of, read_lines
from benchmarks.projects import read_projects

OLD = Line("owner/name", "train.py", "12", "TRL301", "error", "SFTConfig max_seq_length")


def test_every_kept_line_has_a_verdict_and_a_tree_that_is_listed():
    from benchmarks.golden import LIST

    listed = {repository for repository, _ in read_projects(LIST)}
    known = read_lines()
    assert len(listed) >= 12
    assert {line.repository for line in known} == {OURS, *listed}
    assert set(known.values()) <= set(VERDICTS)
    assert not any(line.startswith("#") for line in RESULT.read_text("utf-8").splitlines())


def test_every_error_and_warning_of_a_public_tree_was_read():
    assert not [line for line, verdict in read_lines().items() if verdict == "unjudged" and line.level != "info"]


def test_a_finding_that_moves_or_changes_its_level_keeps_its_verdict():
    moved = OLD._replace(line="14", level="warning")
    assert judged([moved], {OLD: "false"}) == {moved: "false"}
    assert list(changes({OLD: "false"}, {moved: "false"})) == ["- " + OLD.text("false"), "+ " + moved.text("false")]


def test_a_true_line_may_not_go_and_a_false_or_unread_one_may_not_come():
    other = OLD._replace(path="other.py")
    assert faults({OLD: "true"}, {}) == [f"lost: {OLD.text('true')}"]
    assert faults({OLD: "false"}, {}) == []
    assert faults({}, {other: "unjudged"}) == [f"new: {other.text('unjudged')}"]
    assert faults({}, {other: "true"}) == []
    assert faults({OLD: "true"}, {OLD._replace(line="3"): "true"}) == []


def test_a_line_survives_writing_and_names_no_text_of_the_tree():
    finding = {
        "code": "TRL301",
        "path": "a|b.py",
        "severity": "error",
        "message": "`SFTConfig` has no `x y`: secret text",
        "start": {"line": 3, "column": 1, "cell": 2},
    }
    (line,) = lines_of("owner/name", [finding])
    assert line.text("true") == "true | owner/name | a/b.py:2/3 | TRL301 | error | SFTConfig x y"
