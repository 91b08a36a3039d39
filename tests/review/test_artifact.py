"""The second of two workflows: a report by a stranger, perhaps, and a pull request that only the event names."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trl_lint.review import ReportError
from trl_lint.review.report import MAX_BYTES, read_file, read_report

FINDING: dict[str, Any] = {
    "code": "TRL103",
    "severity": "error",
    "message": "wrong",
    "path": "train.py",
    "start": {"line": 6, "column": 17},
    "end": {"line": 6, "column": 20},
    "related": [],
    "fix": None,
    "fingerprint": "0123456789abcdef:1",
}


def document(*findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "findings": list(findings), "errors": [], **more}


def read(*findings: dict[str, Any], **more: Any) -> Any:
    return read_report(json.dumps(document(*findings, **more)).encode(), "x.json")


def edit(**place: Any) -> dict[str, Any]:
    return {"path": "train.py", "start": {"line": 6, "column": 17}, "end": {"line": 6, "column": 20}, **place}


def test_a_report_is_read():
    fix = {"title": "Repair", "applicability": "safe", "edits": [edit(content="y")]}
    (found,) = read({**FINDING, "fix": fix, "related": [edit(message="here")]}, files={"train.py": ["0" * 40]}).findings
    assert found.place == ("train.py", 6, 17, 6, 20, None) and found.related[0][1] == "here"
    assert found.fix.changes[0].content == "y"


@pytest.mark.parametrize(
    "path",
    ["../train.py", "/etc/passwd", "a/../../b", "C:/x", "c:x", "..\\x", "\\\\host\\x", "..", ".", "a/.."],
)
def test_a_path_that_leaves_the_repository_is_left_out(path: str):
    assert read({**FINDING, "path": path}).findings == ()
    assert read({**FINDING, "related": [edit(path=path, message="x")]}).findings[0].related == ()
    fix = {"title": "x", "applicability": "safe", "edits": [edit(path=path, content="x")]}
    assert read({**FINDING, "fix": fix}).findings[0].fix is None
    assert read(files={path: ["0" * 40]}).blobs == {}


@pytest.mark.parametrize("path", ["", "a\nb", "a\0b", "\x1b[31m", "x" * 1001, 5, None, ["a"], "\ud800"])
def test_what_is_no_path_is_no_report(path: Any):
    with pytest.raises(ReportError, match="path"):
        read({**FINDING, "path": path})


def test_paths_are_made_plain():
    assert read({**FINDING, "path": "./a//b/../c.py"}).findings[0].place.path == "a/c.py"
    text = json.dumps(document({**FINDING, "path": "../x.py"}, {**FINDING, "path": "../../x.py"})).encode()
    assert [found.place.path for found in read_report(text, "r", "sub/").findings] == ["x.py"]


@pytest.mark.parametrize(
    "change",
    [
        {"code": "E501"}, {"code": "TRL103\n"}, {"code": 103}, {"severity": "fatal"}, {"severity": ["error"]},
        {"severity": {}}, {"message": None}, {"message": ["x"]}, {"start": None}, {"start": {"line": 0, "column": 1}},
        {"start": {"line": -1, "column": 1}}, {"start": {"line": True, "column": 1}},
        {"start": {"line": 1.5, "column": 1}},
        {"start": {"line": 10**12, "column": 1}}, {"end": {"line": 1, "column": 1}}, {"related": {}},
        {"related": [FINDING] * 201}, {"related": ["x"]}, {"fix": []}, {"fix": {"title": "x", "applicability": "sure"}},
        {"fix": {"title": 1, "applicability": "safe", "edits": []}}, {"fingerprint": "x --> y:1"},
        {"fingerprint": None},
        {"fix": {"title": "x", "applicability": "safe", "edits": [edit(content=5)]}},
        {"fix": {"title": "x", "applicability": "safe", "edits": [edit(content="x" * 100_001)]}},
    ],
)  # fmt: skip
def test_a_value_out_of_place_is_no_report(change: dict[str, Any]):
    with pytest.raises(ReportError) as caught:
        read({**FINDING, **change})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        b"", b"nonsense", b"[]", b"null", b'"x"', b"{}", b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe\x00",
        b"9" * 5_000,
        b'{"version": 2, "findings": [], "errors": []}', b'{"version": true, "findings": [], "errors": []}',
        b'{"version": 1, "findings": {}, "errors": []}', b'{"version": 1, "findings": []}',
        b'{"version": 1, "findings": [1], "errors": []}', b'{"version": 1, "findings": [], "errors": [{"path": 1}]}',
        b'{"version": 1, "findings": [], "errors": [], "files": []}',
        b'{"version": 1, "findings": [], "errors": [], "files": {"a": ["x"]}}',
        json.dumps(document(*[FINDING] * 10_001)).encode(),
    ],
    ids=lambda text: text[:30].decode("latin-1"),
)  # fmt: skip
def test_what_is_no_report(text: bytes):
    with pytest.raises(ReportError):
        read_report(text, "x.json")


def test_long_messages_are_cut():
    assert len(read({**FINDING, "message": "x" * 1_000_000}).findings[0].message) == 4_000


# -- files and archives -----------------------------------------------------------------------------------------------


def archive(*members: tuple[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members:
            made.writestr(name, content)
    return data.getvalue()


def refused(path: Path, why: str) -> None:
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(ReportError, match=why):
        read_file(str(path))
    assert sorted(path.parent.rglob("*")) == before


def test_an_archive_is_read_and_never_unpacked(tmp_path: Path):
    path = tmp_path / "artifact.zip"
    path.write_bytes(archive(("../../evil", b"x"), ("/etc/evil", b"x"), ("trl-lint.json", b"{}"), ("n.txt", b"x")))
    assert read_file(str(path)) == b"{}" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", ["../trl-lint.json", "/trl-lint.json", "sub/trl-lint.json", "trl-lint.json/", "TRL-LINT.JSON"]
)
def test_only_the_one_name_is_looked_at(tmp_path: Path, name: str):
    path = tmp_path / "artifact.zip"
    path.write_bytes(archive((name, b"{}")))
    refused(path, "no trl-lint.json at its top")


def test_a_bomb_is_not_unpacked(tmp_path: Path):
    path = tmp_path / "artifact.zip"
    path.write_bytes(archive(("trl-lint.json", b" " * (MAX_BYTES * 20))))
    assert path.stat().st_size < MAX_BYTES
    refused(path, "larger than 10 MB")


def damaged(data: bytes) -> list[bytes]:
    whole = archive(("trl-lint.json", data))
    method = bytearray(whole)
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):  # an unknown compression
        method[whole.index(mark) + (8 if mark[3] == 4 else 10)] = 99
    locked = bytearray(whole)
    for mark in (b"PK\x03\x04", b"PK\x01\x02"):  # a password
        locked[whole.index(mark) + (6 if mark[3] == 4 else 8)] |= 1
    content = bytearray(whole)
    content[45] ^= 0xFF
    return [b"PK", whole[:40], whole[:-30], bytes(method), bytes(locked), bytes(content), b"PK" + b"\0" * 100]


@pytest.mark.parametrize("number", range(7))
def test_a_damaged_archive(tmp_path: Path, number: int):
    path = tmp_path / "artifact.zip"
    path.write_bytes(damaged(os.urandom(300))[number])
    refused(path, "not an archive that can be read")


def test_a_huge_file(tmp_path: Path):
    path = tmp_path / "r.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    refused(path, "larger than 10 MB")


def test_what_is_no_file(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("{}")
    (tmp_path / "link").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "link", "cannot be read")
    refused(tmp_path / "pipe", "not a plain file")
    refused(tmp_path / "folder", "not a plain file|cannot be read")
    refused(tmp_path / "none", "no such file")


# -- posting ----------------------------------------------------------------------------------------------------------

HOSTILE = (
    '`x` <!-- trl-lint review "." summary 00000000 -->\n```suggestion\nowned\n```\n@everyone #1 https://evil.example '
    "<img src=x> [a](b) octo/train#3 GH-1 ``` `` \\` <details> :tada: $`x`$"
)


@pytest.fixture
def second(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """The job of the second workflow, for a report: nothing is checked out, and the event names no number."""
    pytest.importorskip("github", reason="PyGithub is in the extra `test`")
    pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")
    job = request.getfixturevalue("job")

    def run(path: Path, *options: str, **changes: Any) -> Any:
        hub = job.hub
        owner, _, _ = hub.origin.partition("/")
        source = {"full_name": hub.origin, "owner": {"login": owner}}
        started = {"event": "pull_request", "head_sha": hub.head, "head_branch": hub.branch, "head_repository": source}
        job.event(workflow_run={**started, "pull_requests": [], **changes})
        job.set(GITHUB_WORKSPACE=str(job.sh.folder))
        return job("--report", str(path), *options)

    run.job = job  # type: ignore[attr-defined]
    return run


def pushed(second: Any) -> tuple[Any, Path]:
    from review_job import script

    job = second.job
    job.push(train_py=script("one"))
    path = job.report()
    (job.sh.folder / "train.py").unlink()
    (job.sh.folder / "pyproject.toml").write_text("[tool.trl-lint]\nselect = [")  # read by nobody
    return job, path


def test_the_second_workflow_posts_what_the_first_found(second: Any):
    job, path = pushed(second)
    assert second(path).status == 1
    (thread,) = job.hub.open
    assert (thread["path"], thread["line"]) == ("train.py", 6)
    body = thread["comments"][0]["body"]
    assert "suggestion" not in body and "`trl-lint --fix` repairs this" in body  # what a stranger wrote gets no button
    zipped = path.with_suffix(".zip")
    zipped.write_bytes(archive(("trl-lint.json", path.read_bytes())))
    writes = len(job.hub.writes)
    assert second(zipped).status == 1 and len(job.hub.writes) == writes


RENAMED = 'from trl import SFTConfig\nSFTConfig("out", max_seq_length=512)\n'


@pytest.mark.parametrize("content", ["max_length", "evil()", "max_length=1, evil", "max\u202e_length"])
def test_of_what_a_stranger_wrote_a_known_rename_alone_gets_a_button(second: Any, content: str):
    job = second.job
    job.push(train_py=RENAMED, requirements_txt="trl==0.24.0\n")
    path = job.report("--select", "TRL301")
    report = json.loads(path.read_text())
    (found,) = report["findings"]
    assert found["fix"]["edits"][0]["content"] == "max_length"
    found["fix"]["edits"][0]["content"] = content
    path.write_text(json.dumps(report))
    second(path)
    (thread,) = job.hub.open
    assert ("```suggestion" in thread["comments"][0]["body"]) == (content == "max_length")


@pytest.mark.parametrize(
    "changes",
    [
        {"head_sha": "f" * 40},
        {"head_branch": "another"},
        {"head_repository": {"full_name": "stranger/other", "owner": {"login": "stranger"}}},
    ],
)
def test_an_event_about_another_commit_posts_nothing(second: Any, changes: dict[str, Any]):
    job, path = pushed(second)
    done = second(path, **changes)
    assert done.status == 1 and "nothing was posted" in done.err and not job.hub.writes


@pytest.mark.parametrize(
    "changes",
    [{"event": "push"}, {"head_sha": "x"}, {"head_sha": None}, {"head_branch": None}, {"head_repository": None}],
)
def test_an_event_that_says_too_little_is_an_error(second: Any, changes: dict[str, Any]):
    job, path = pushed(second)
    done = second(path, **changes)
    assert done.status == 2 and len(done.err.splitlines()) == 1 and not job.hub.writes


def test_numbers_and_commits_in_a_report_are_not_read(second: Any):
    job, path = pushed(second)
    report = json.loads(path.read_text())
    path.write_text(json.dumps({**report, "pull_request": 99, "number": 99, "head": "f" * 40, "repository": "a/b"}))
    second(path)
    assert len(job.hub.open) == 1 and all("99" not in one.path for one in job.hub.seen)


def test_hostile_texts_are_shown_and_do_nothing(second: Any):
    from trl_lint.review.markdown import read_mark

    job, path = pushed(second)
    report = json.loads(path.read_text())
    (found,) = report["findings"]
    found["message"] = HOSTILE
    found["fix"]["title"] = HOSTILE
    found["fix"]["edits"][0]["content"] = "````\n```\n" + HOSTILE + "\n"
    found["related"] = [edit(path="@ada/`x`.py", message=HOSTILE)]
    other = {**found, "path": "elsewhere`.py", "fingerprint": "0" * 16 + ":1"}
    path.write_text(json.dumps({**report, "findings": [found, other]}))
    second(path, "--all")
    (thread,), (summary,) = job.hub.open, job.hub.comments
    for body in (thread["comments"][0]["body"], summary["body"]):
        text, _, marker = body.rpartition("\n\n")
        assert not [line for line in text.split("\n") if line.startswith(("```", "<!--", "<img", "> "))]
        assert "<!--" not in text and "<img" not in text and "](b)" not in text and "://evil" not in text
        assert "@everyone" not in text and "train#3" not in text and " #1 " not in text and "GH-1" not in text
        assert read_mark(body) is not None and marker.startswith("<!-- trl-lint review")
    assert read_mark(summary["body"]).fingerprint == ""  # type: ignore[union-attr]
    second(path, "--all")
    assert len(job.hub.open) == 1 and len(job.hub.comments) == 1


def test_forged_fingerprints_touch_nothing_of_others(second: Any):
    """A stranger's report may name every fingerprint there is: at most it says what it could say anyway."""
    job, path = pushed(second)
    theirs = job.hub.thread("train.py", 6, 'Mine.\n\n<!-- trl-lint review "." finding 0123456789abcdef:1 00000000 -->')
    report = json.loads(path.read_text())
    report["findings"] += [{**FINDING}, {**FINDING}, {**FINDING, "message": "twice"}]
    path.write_text(json.dumps(report))
    second(path)
    assert len(job.hub.open) == 3 and len(theirs["comments"]) == 1 and theirs["comments"][0]["body"].startswith("Mine.")


def test_hundreds_of_findings_are_thirty_comments_and_a_summary(second: Any):
    job, path = pushed(second)
    report = json.loads(path.read_text())
    rows = [{**FINDING, "message": HOSTILE * 20, "fingerprint": f"{n:016x}:1"} for n in range(500)]
    path.write_text(json.dumps({**report, "findings": rows}))
    assert second(path).status == 1
    assert len(job.hub.open) == 30 and len(job.hub.comments[0]["body"]) <= 65_536


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}'])
def test_a_bad_report_is_one_line_and_posts_nothing(second: Any, text: str):
    job, path = pushed(second)
    path.write_text(text)
    done = second(path)
    assert done.status == 2 and len(done.err.splitlines()) == 1 and not job.hub.seen
