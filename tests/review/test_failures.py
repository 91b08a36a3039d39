"""What goes wrong on the way: refusals, broken answers, limits. Nothing is posted twice, and the token stays unseen."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

pytest.importorskip("github", reason="PyGithub is in the extra `test`")
pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")

from documents import ROOT
from github_server import NUMBER, TOKEN, Fault, GitHub
from review_job import Job, script

from trl_lint.review import github

NAMES = [f"f{number}" for number in range(5)]


def names(hub: GitHub) -> list[str]:
    """The function that each open thread is in; every finding has its own."""
    text = hub.files["train.py"].decode().split("\n")
    return [re.findall(r"def (\w+)", "\n".join(text[: one["line"]]))[-1] for one in hub.open]


def test_a_comment_that_github_refuses_keeps_none_of_the_others_back(job: Job, hub: GitHub):
    job.push(train_py=script(*NAMES))
    hub.refuse = lambda comment: comment["line"] == 16
    done = job()
    assert done.status == 1 and sorted(names(hub)) == ["f0", "f1", "f3", "f4"]
    assert "train.py:16: GitHub takes the request for invalid" in done.err
    assert hub.comments[0]["body"].count("**TRL103**") == 1 and "`train.py`, line 16" in hub.comments[0]["body"]


def test_refused_comments_leave_the_limit_as_it_is(job: Job, hub: GitHub):
    job.push(train_py=script(*(f"f{number}" for number in range(33))))
    hub.refuse = lambda comment: comment["line"] == 16
    job()
    assert len(hub.open) == 29 and hub.comments[0]["body"].count("[`train.py`, line") == 4


def test_when_all_are_refused_all_are_in_the_summary(job: Job, hub: GitHub):
    job.push(train_py=script(*NAMES))
    hub.refuse = lambda comment: True
    assert job().status == 1
    assert not hub.threads and hub.comments[0]["body"].count("[`train.py`, line") == 5


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["500 Server Error", "502 Bad Gateway", "timeout", "reset"])
@pytest.mark.parametrize("where", ["/reviews", "/issues/7/comments"])
def test_a_write_without_an_answer_is_done_once(job: Job, hub: GitHub, kind: str, when: str, where: str):
    """Whether it was done or not cannot be told, so the pull request is looked at."""
    hub.base = {"old.py": script("old").encode()}
    job.push(train_py=script("one", "two"), old_py=script("old"))
    hub.faults = [Fault(where, kind, when)]
    done = job("--all")
    assert done.status == 1, done.err
    assert sorted(names(hub)) == ["one", "two"] and len(hub.comments) == 1


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["500 Server Error", "timeout"])
def test_a_second_run_completes_what_the_first_could_not(job: Job, hub: GitHub, kind: str, when: str):
    hub.base = {"old.py": script("old").encode()}
    job.push(train_py=script("one", "two"), old_py=script("old"))
    # Every attempt to write the summary fails, in the last one after it was written, perhaps.
    hub.faults = [Fault("/issues/7/comments", kind) for _ in range(2)] + [Fault("/issues/7/comments", kind, when)]
    done = job("--all")
    assert done.status == 2 and "Another run posts what is missing, and nothing twice" in done.err
    assert "so far: 1 new" not in done.err and "2 new comments" in done.err
    assert job("--all").status == 1
    assert sorted(names(hub)) == ["one", "two"] and len(hub.comments) == 1
    writes = len(hub.writes)
    assert job("--all").status == 1 and len(hub.writes) == writes


def test_reads_are_repeated(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    hub.faults = [Fault("/files", "500 Server Error", method="GET"), Fault("/pulls/7", "502 x", method="GET")]
    assert job().status == 1 and names(hub) == ["one"]


def test_a_server_that_is_not_there(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job.set(GITHUB_API_URL="http://127.0.0.1:9")
    done = job()
    assert done.status == 2 and "127.0.0.1 does not answer" in done.err and len(done.err.splitlines()) == 1


# -- the token --------------------------------------------------------------------------------------------------------


def test_an_expired_token_is_one_message(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    hub.token = "another"
    done = job()
    assert done.status == 2 and done.out == ""
    assert done.err == (
        "trl-lint: GitHub does not accept the token: it may have expired or been revoked (Bad credentials, 401)\n"
    )


def test_no_token(job: Job, monkeypatch: pytest.MonkeyPatch):
    job.push(train_py=script("one"))
    monkeypatch.delenv("GITHUB_TOKEN")
    done = job()
    assert done.status == 2 and done.err.startswith("trl-lint: the review needs a token in GITHUB_TOKEN\n")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422, 500, 503])
def test_a_server_that_repeats_the_token_is_not_believed(job: Job, hub: GitHub, status: int):
    job.push(train_py=script("one"))
    hub.echo = True
    hub.faults = [Fault("/reviews", f"{status} no", headers={}) for _ in range(9)]
    done = job("--fallback", "none")  # Job looks for the token in everything that was printed
    assert "***" in done.err or status in (500, 503)


@pytest.mark.parametrize("debug", ["", "1"])
def test_no_traceback_has_the_token(job: Job, hub: GitHub, debug: str):
    """Also where the library logs, and where we are asked for a traceback."""
    job.push(train_py=script("one"))
    hub.faults = [Fault("/graphql", "reset") for _ in range(9)]
    hub.echo = True
    job.set(TRL_LINT_DEBUG=debug, PYTHONPATH=str(ROOT), PYTHONDEVMODE="1")
    script_text = (
        "import logging, sys\nfrom trl_lint.review import posting\nposting.SETTLING = 0\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "from trl_lint.cli import main\nsys.exit(main(['review']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script_text], capture_output=True, text=True, cwd=job.sh.folder)
    assert done.returncode == 2 and TOKEN not in done.stdout + done.stderr
    assert "does not answer" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("token", ["ghs_\u2026", "a b", "a\nb"])
def test_what_is_no_token_is_not_sent(job: Job, hub: GitHub, token: str):
    job.push(train_py=script("one"))
    job.set(GITHUB_TOKEN=token)
    done = job()
    assert done.status == 2 and token not in done.err and not hub.seen


@pytest.mark.parametrize(
    "url",
    ["http://github.example.com", "ftp://localhost", "github.example.com", "https://", "https://a@b", "https://x/?y=1",
     "https://x:port/"],
)  # fmt: skip
def test_an_address_that_gets_no_token(job: Job, hub: GitHub, url: str):
    job.push(train_py=script("one"))
    assert job("--api-url", url).status == 2 and not hub.seen


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_a_token_that_may_not_write_leads_to_annotations(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    hub.may_write = False
    done = job()
    assert done.status == 1 and not hub.threads
    (line,) = done.out.splitlines()
    assert line.startswith("::error title=TRL103 (tensor-without-device),file=train.py,line=6,col=17,endLine=6,")
    assert done.err.startswith("trl-lint: GitHub refuses this to the token: Resource not accessible by integration")
    assert job("--fallback", "none").out == ""
    as_report = job.sh("--output-format", "github").out
    assert done.out == as_report


def test_no_line_of_a_library_is_printed(job: Job, hub: GitHub):
    """In a process of its own: the test runner has a handler for whatever is logged, and so would hide it."""
    job.push(train_py=script("one"))
    hub.may_write = False
    hub.faults = [Fault("/pulls/7", "502 Bad Gateway", method="GET")]
    job.set(PYTHONPATH=str(ROOT))
    quick = "from trl_lint.review import github\ngithub.BACKOFF = github.BETWEEN_WRITES = 0\n"
    code = f"import sys\n{quick}from trl_lint.cli import main\nsys.exit(main(['review']))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=job.sh.folder)
    assert done.returncode == 1 and len(done.stdout.splitlines()) == 1
    assert [line.partition(": ")[0] for line in done.stderr.splitlines()] == ["trl-lint"]


def test_a_pull_request_that_is_hidden_leads_to_annotations(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job.event(pull_request={"number": NUMBER + 1, "head": {"sha": hub.head}})
    done = job()
    assert done.status == 1 and done.out.startswith("::error ") and "404" in done.err


# -- limits -----------------------------------------------------------------------------------------------------------


def test_writes_keep_their_distance(job: Job, hub: GitHub, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(github, "BETWEEN_WRITES", 0.3)
    hub.base = {"old.py": script("old").encode()}
    job.push(train_py=script("one"), old_py=script("old"))
    job("--all")
    first, second = (one.at for one in hub.writes)
    assert second - first >= 0.29


def test_the_distance_is_what_github_asks_for():
    assert github.BETWEEN_WRITES >= 1 and github.AFTER_TOO_MANY >= 60


def test_too_many_requests_are_waited_out(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    text = "403 You have exceeded a secondary rate limit."
    hub.faults = [
        Fault("/reviews", text, headers={"Retry-After": "1"}),
        Fault("/reviews", text),
        Fault("/reviews", "429 Too Many Requests", headers={"Retry-After": "1"}),
    ]
    start = time.monotonic()
    assert job().status == 1 and names(hub) == ["one"]
    assert time.monotonic() - start >= 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/reviews", "403 You have exceeded a secondary rate limit.", headers={"Retry-After": "3600"}),
        Fault("/reviews", "403 API rate limit exceeded for installation.",
              headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4000000000"}),
        Fault("/files", "403 API rate limit exceeded for installation.", method="GET"),
    ],
)  # fmt: skip
def test_no_job_waits_for_an_hour(job: Job, hub: GitHub, fault: Fault):
    job.push(train_py=script("one"))
    hub.faults = [fault]
    start = time.monotonic()
    done = job()
    assert done.status == 2 and "GitHub takes no more requests for now" in done.err and done.out == ""
    assert time.monotonic() - start < 10
    assert job().status == 1 and names(hub) == ["one"]


def test_a_limit_that_does_not_end_is_no_refusal(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    hub.faults = [Fault("/reviews", "403 You have exceeded a secondary rate limit.") for _ in range(9)]
    done = job()
    assert done.status == 2 and done.out == "" and "no more requests" in done.err


def test_three_thousand_files(job: Job, hub: GitHub):
    """The API lists no more; what stands in others is in the summary."""
    files = {f"data/f{number:04}.txt": b"x\n" for number in range(3_100)}
    job.push(zz_py=script("one"), aa_py=script("two"))
    hub.push({**files, "zz.py": script("one").encode(), "aa.py": script("two").encode()})
    job.event(pull_request={"number": NUMBER, "head": {"sha": hub.head}})
    assert job().status == 1
    assert [one["path"] for one in hub.open] == ["aa.py"] and "`zz.py`, line 6" in hub.comments[0]["body"]
    assert sum(one.path.endswith("/files") for one in hub.seen) == 30


def test_hundreds_of_threads_and_comments_are_read(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    for number in range(130):
        hub.thread("train.py", 1, f"{number}")
        hub.say(f"{number}")
    job()
    assert len(hub.threads) == 131
    job()
    assert len(hub.threads) == 131


def test_a_long_summary_is_cut_where_github_would_refuse_it(job: Job, hub: GitHub):
    hub.base = {"old.py": script(*(f"f{n}" for n in range(600))).encode()}
    job.push(old_py=script(*(f"f{n}" for n in range(600))))
    assert job("--all").status == 1
    body = hub.comments[0]["body"]
    assert 55_000 < len(body) <= 65_536 and " more; the log of the run has them all\n\n</details>" in body


def test_enterprise_has_its_own_addresses(job: Job, quick: None):
    server = GitHub("/api/v3")
    try:
        job.hub = server
        job.push(train_py=script("one"))
        assert job("--api-url", server.url + "/").status == 1
        assert names(server) == ["one"] and {one.path for one in server.seen if "graphql" in one.path} == {
            "/api/graphql"
        }
    finally:
        server.close()
    assert server.violations == []
