"""A pull request over several pushes: what is posted, what is left alone, what is resolved."""

from __future__ import annotations

import json
import re

import pytest

pytest.importorskip("github", reason="PyGithub is in the extra `test`")
pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")

from github_server import BOT, REPOSITORY, GitHub
from review_job import HEAD, Job, script

from trl_lint.review import markdown

FIX = "    positions = torch.arange(sequences.size(1), device=sequences.device).unsqueeze(0)"


def lines(hub: GitHub) -> list[tuple[str, int]]:
    return [(thread["path"], thread["line"]) for thread in hub.open]


def bare(body: str) -> str:
    """A comment without the numbers of lines and the commits of links, and without its marker."""
    return re.sub(r"line \d+|#L\d+|/blob/[0-9a-f]{40}/", "", body.rpartition("\n")[0])


def test_a_comment_with_a_suggestion(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    done = job()
    assert done.status == 1 and done.out == ""
    (thread,) = hub.open
    assert (thread["path"], thread["line"]) == ("train.py", 6)
    body = thread["comments"][0]["body"]
    assert body.startswith("**TRL103** (error): ") and f"```suggestion\n{FIX}\n```" in body
    assert re.search(r'<!-- trl-lint review "\." finding [0-9a-f]{16}:1 [0-9a-f]{8} -->$', body)
    assert f"{REPOSITORY}#7: 1 new comment" in done.err and not hub.comments


def test_three_pushes(job: Job, hub: GitHub):
    """The table in benchmarks/notebook.md."""
    job.push(train_py=script("one", "two"))
    assert job().status == 1 and lines(hub) == [("train.py", 6), ("train.py", 11)]
    first, second = hub.threads
    job.push(train_py=script("one", "two", above="# A comment\n# above.\n"))  # moved
    texts = [one["comments"][0]["body"] for one in hub.threads]
    assert job().status == 1 and lines(hub) == [("train.py", 8), ("train.py", 13)]
    # The comments name other lines, which moved, too; nothing else of them is new.
    assert {(one.method, one.path.split("/")[-2]) for one in hub.writes[1:]} == {("PATCH", "comments")}
    assert [bare(one["comments"][0]["body"]) for one in hub.threads] == list(map(bare, texts))
    fixed = script("one", "two").replace("size(1))", "size(1), device=sequences.device)", 1)
    job.push(train_py=fixed)  # one repaired, by force
    assert job().status == 1 and first["resolved_by"] == BOT and second["resolved_by"] is None
    assert len(hub.threads) == 2
    job.push(train_py=fixed + script("three").removeprefix(HEAD))  # one added
    assert job().status == 1 and lines(hub) == [("train.py", 11), ("train.py", 16)]
    assert len(hub.threads) == 3 and not hub.comments
    writes = len(hub.writes)
    assert job().status == 1 and len(hub.writes) == writes


def test_a_thread_with_a_reply_is_left_open(job: Job, hub: GitHub):
    job.push(train_py=script("one", "two"))
    job()
    hub.reply(hub.threads[0])
    job.push(train_py="x = 1\n")
    assert job().status == 0
    assert [one["resolved_by"] for one in hub.threads] == [None, BOT]


def test_our_own_reply_is_nobody_s(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    hub.reply(hub.threads[0], author=BOT)
    job.push(train_py="x = 1\n")
    job()
    assert not hub.open


def test_what_somebody_resolved_is_not_said_again(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    hub.threads[0]["resolved_by"] = "ada"
    job.push(train_py=script("one", above="#\n"))
    assert job().status == 1
    assert len(hub.threads) == 1 and hub.threads[0]["resolved_by"] == "ada" and not hub.comments


def test_what_we_resolved_and_is_back_is_opened_again(job: Job, hub: GitHub):
    for text in (script("one"), "x = 1\n", script("one")):
        job.push(train_py=text)
        job()
    assert len(hub.threads) == 1 and len(hub.open) == 1
    # Its lines were gone in between, so GitHub hides it; the summary says where it is.
    (summary,) = hub.comments
    assert "Still there" in summary["body"] and "([comment](https://github.com/" in summary["body"]


def test_a_message_that_changed_is_rewritten_in_place(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    comment = hub.threads[0]["comments"][0]
    right = comment["body"]
    comment["body"] = markdown.marked("An older message.", ".", markdown.read_mark(right).fingerprint)  # type: ignore[union-attr]
    job()
    assert comment["body"] == right and len(hub.threads) == 1


def test_a_file_that_cannot_be_parsed_resolves_nothing(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    job.push(train_py=script("one") + "\ndef broken(:\n")
    job()
    assert hub.threads[0]["resolved_by"] is None
    assert any("TRL001" in one["comments"][0]["body"] for one in hub.open)


def test_an_incomplete_run_resolves_nothing_and_fails(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    job.push(train_py="x = 1\n", other_py="\xff".encode("latin-1").decode("latin-1"))
    path = job.report()
    document = json.loads(path.read_text())
    document["errors"] = [{"path": "other.py", "message": "cannot be read"}]
    path.write_text(json.dumps(document))
    assert job("--report", str(path)).status == 2
    assert hub.threads[0]["resolved_by"] is None


def test_a_token_that_may_not_resolve_says_so_in_the_comment(job: Job, hub: GitHub):
    hub.may_resolve = False
    job.push(train_py=script("one", "two"))
    job()
    job.push(train_py="x = 1\n")
    done = job()
    assert done.status == 0 and done.err.count("contents: write") == 1
    assert all("no longer finds" in one["comments"][0]["body"] for one in hub.open) and len(hub.open) == 2
    patches = [one for one in hub.writes if one.method == "PATCH"]
    job()
    assert [one for one in hub.writes if one.method == "PATCH"] == patches
    job.push(train_py=script("one", "two"))
    job()
    assert not any("no longer finds" in one["comments"][0]["body"] for one in hub.open) and len(hub.open) == 2


def test_the_rest_is_one_summary_edited_in_place(job: Job, hub: GitHub):
    hub.base = {"old.py": script("old").encode()}
    job.push(old_py=script("old"), train_py=script("one"))
    assert job("--all").status == 1
    (summary,) = hub.comments
    assert (
        "1 finding in files that this pull request does not change" in summary["body"] and "`old.py`" in summary["body"]
    )
    job.push(old_py="x = 1\n")
    job("--all")
    assert [one["id"] for one in hub.comments] == [summary["id"]]
    assert "Nothing is left to say here." in summary["body"]


def test_thirty_comments_and_no_more(job: Job, hub: GitHub):
    names = [f"f{number}" for number in range(37)]
    job.push(train_py=script(*names))
    job()
    assert len(hub.open) == 30 and hub.comments[0]["body"].count("[`train.py`, line") == 7
    writes = len(hub.writes)
    job()
    assert len(hub.writes) == writes


def test_only_lines_of_the_diff_get_comments(job: Job, hub: GitHub):
    tail = "\n" * 20 + "last = 1\n"
    hub.base = {"train.py": (script("one") + tail).encode()}
    job.push(train_py=script("one") + tail + "more = 2\n")
    job("--all")
    assert not hub.threads and "`train.py`, line 6" in hub.comments[0]["body"]
    assert "in files of this pull request" in hub.comments[0]["body"]


def test_several_reviews_of_one_pull_request(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job("--name", "a")
    job("--name", "b", "--ignore", "TRL103")
    job("--name", "b")
    assert len(hub.open) == 2
    job("--name", "a", "--ignore", "TRL103")
    assert ['"b"' in one["comments"][0]["body"] for one in hub.open] == [True]


def test_a_forged_marker_is_nothing(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    body = hub.threads[0]["comments"][0]["body"]
    hub.threads.clear()
    forged = hub.thread("train.py", 6, body, "mallory")
    hub.say(markdown.marked("### trl-lint", "."), "mallory")
    job()
    assert len(hub.threads) == 2 and hub.threads[1]["comments"][0]["author"] == BOT
    job.push(train_py="x = 1\n")
    job()
    assert forged["resolved_by"] is None and [one["author"] for one in hub.comments] == ["mallory"]
    # Also where our account only quotes it: the marker has to be the last line.
    hub.thread("train.py", 1, f"> {body}\n\nLook at that.", BOT)
    job()
    assert hub.threads[-1]["resolved_by"] is None


def test_a_dry_run_prints_what_would_be_sent(job: Job, hub: GitHub):
    hub.base = {"old.py": script("old").encode()}
    job.push(train_py=script("one"), old_py=script("old"))
    done = job("--dry-run", "--all")
    assert done.status == 1 and not hub.writes
    job("--all")
    told = [(one["method"], one["url"], one["body"]) for one in json.loads(done.out)]
    assert told == [(one.method, f"{hub.url}{one.path}", one.body) for one in hub.writes] and len(told) == 2
    job.push(train_py="x = 1\n")
    told = [(one["method"], one["url"], one["body"]) for one in json.loads(job("--dry-run", "--all").out)]
    seen = len(hub.writes)
    job("--all")
    assert told == [(one.method, f"{hub.url}{one.path}", one.body) for one in hub.writes[seen:]]


def test_a_checkout_in_another_state_marks_no_line(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job.sh.write("train.py", script("one", above="#\n"))  # such as the merge commit of `pull_request`
    done = job()
    assert "another state" in done.err and not hub.threads and "`train.py`, line 7" in hub.comments[0]["body"]


def test_windows_line_ends_in_the_checkout_are_no_other_state(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job.sh.write("train.py", script("one").replace("\n", "\r\n"))
    job()
    assert lines(hub) == [("train.py", 6)]


def test_a_pull_request_that_has_moved_on_is_left_alone(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    event = job.event_path.read_text()
    job.push(train_py=script("one", "two"))
    job.event_path.write_text(event)
    done = job()
    assert done.status == 1 and "nothing was posted" in done.err and not hub.writes


@pytest.mark.parametrize("folder", ["sub", "a b"])
def test_paths_count_from_the_checkout(job: Job, hub: GitHub, folder: str, monkeypatch: pytest.MonkeyPatch):
    job.push(**{f"{folder}/train_py": script("one")})
    monkeypatch.chdir(job.sh.folder / folder)
    job()
    assert lines(hub) == [(f"{folder}/train.py", 6)]
    assert f'review ". {folder}" finding' in hub.open[0]["comments"][0]["body"]
    monkeypatch.chdir(job.sh.folder)
    report = job.sh.folder / ".git" / "r.json"
    monkeypatch.chdir(job.sh.folder / folder)
    job.sh("--output-format", "json", "--output-file", str(report))
    monkeypatch.chdir(job.sh.folder)
    writes = len(hub.writes)
    job("--report", str(report), "--prefix", folder)
    assert len(hub.writes) == writes
