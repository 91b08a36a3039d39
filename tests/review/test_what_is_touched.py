"""A review is about what the pull request changes: what it says, what it fails for, and what it leaves out."""

from __future__ import annotations

import pytest

pytest.importorskip("github", reason="PyGithub is in the extra `test`")
pytest.importorskip("jsonschema", reason="jsonschema is in the extra `test`")

from github_server import Fault, GitHub
from review_job import HEAD, Job, script

TAIL = "\n" * 20 + "last = 1\n"
PINNED = "from trl import GRPOConfig\n\nconfig = GRPOConfig(output_dir='out', vllm_device='cuda:1')\n"


def test_findings_in_other_files_fail_nothing(job: Job, hub: GitHub):
    hub.base = {"old.py": script("a", "b").encode()}
    job.push(old_py=script("a", "b"), train_py="x = 1\n")
    done = job()
    assert done.status == 0 and not hub.threads and not hub.comments
    assert "2 findings that the pull request does not touch left out; `--all` has them" in done.err
    assert job("--all").status == 1 and "`old.py`" in hub.comments[0]["body"]


def test_findings_on_other_lines_of_a_changed_file_fail_nothing(job: Job, hub: GitHub):
    hub.base = {"train.py": (script("one") + TAIL).encode()}
    job.push(train_py=script("one") + TAIL + "more = 2\n")
    assert job().status == 0 and not hub.writes
    job.push(train_py=script("one") + TAIL + script("two").removeprefix(HEAD))
    assert job().status == 1
    assert [thread["line"] for thread in hub.open] == [32] and not hub.comments


def test_a_finding_that_rests_on_a_changed_line_is_of_this_pull_request(job: Job, hub: GitHub):
    """A new pin breaks a script that nobody touched."""
    hub.base = {"requirements.txt": b"torch==2.5.1\ntrl==0.15.2\n", "train.py": PINNED.encode()}
    job.push(requirements_txt="torch==2.5.1\ntrl==0.15.2\n", train_py=PINNED, other_py="x = 1\n")
    assert job().status == 0
    job.push(requirements_txt="torch==2.5.1\ntrl==0.18.0\n")
    assert job().status == 1
    (summary,) = hub.comments
    assert "**TRL301** (error) in [`train.py`, line 3](" in summary["body"]
    job.push(requirements_txt="torch==2.6.0\ntrl==0.15.2\n")
    assert job().status == 0 and "Nothing is left to say here." in summary["body"]


def test_what_is_gone_counts_for_the_lines_beside_it(job: Job, hub: GitHub):
    before = script("one").replace("    positions = ", "    # here\n    positions = ")
    hub.base = {"train.py": before.encode()}
    job.push(train_py=script("one"))
    assert job().status == 1 and len(hub.open) == 1


def test_a_file_that_does_not_parse_counts_wherever_it_is_told(job: Job, hub: GitHub):
    rows = "".join(f"    {number},\n" for number in range(20))
    hub.base = {"train.py": f"{HEAD}x = [\n{rows}]\n".encode()}
    job.push(train_py=f"{HEAD}x = [\n{rows}")
    assert job().status == 1 and "TRL001" in hub.comments[0]["body"] and "line 3" in hub.comments[0]["body"]


def test_a_file_that_is_gone_counts_where_it_is_named(job: Job, hub: GitHub):
    run = "#!/bin/bash\naccelerate launch --config_file configs/fsdp.yaml train.py\n"
    hub.base = {"run.sh": run.encode(), "train.py": b"x = 1\n", "configs/fsdp.yaml": b"distributed_type: FSDP\n"}
    job.push(**{"run.sh": run, "train_py": "x = 1\n", "configs/other.yaml": "distributed_type: FSDP\n"})
    assert job().status == 1 and "TRL504" in hub.comments[0]["body"]
    hub.base = {"run.sh": run.encode(), "train.py": b"x = 1\n"}
    assert job().status == 0


def test_a_thread_stays_while_its_finding_is_there(job: Job, hub: GitHub):
    """Also when the lines it is about are no longer those of the pull request, as after a change of its base."""
    job.push(train_py=script("one"))
    assert job().status == 1
    hub.base = {"train.py": script("one").encode()}
    job.push(train_py=script("one") + TAIL)
    done = job()
    assert done.status == 0 and len(hub.open) == 1 and "1 finding that the pull request does not touch" in done.err


def test_a_diff_that_is_not_shown_counts_as_a_whole(job: Job, hub: GitHub):
    long = "".join(f"value_{number} = {number}\n" for number in range(9_000))
    hub.base = {"train.py": (script("one") + long).encode()}
    job.push(train_py=script("one") + long.replace("value", "number"))
    assert job().status == 1 and "`train.py`, line 6" in hub.comments[0]["body"]


def test_annotations_are_only_for_what_is_touched(job: Job, hub: GitHub):
    hub.base = {"old.py": script("old").encode()}
    job.push(old_py=script("old"), train_py=script("one"))
    hub.may_write = False
    done = job()
    assert done.status == 1 and [line.split("file=")[1][:8] for line in done.out.splitlines()] == ["train.py"]
    assert len(job("--all").out.splitlines()) == 2


def test_the_summary_says_how_much_is_left_out(job: Job, hub: GitHub):
    hub.base = {"old.py": script("a", "b").encode()}
    job.push(old_py=script("a", "b"), train_py=script(*(f"f{number}" for number in range(33))))
    assert job().status == 1 and len(hub.open) == 30
    body = hub.comments[0]["body"]
    assert body.count("[`train.py`, line") == 3 and "old.py" not in body
    assert "2 findings that this pull request does not touch: `trl-lint review --all` has them." in body


# -- what was done ----------------------------------------------------------------------------------------------------


def counts(job: Job, *options: str) -> str:
    (line,) = (line for line in job(*options).err.splitlines() if "#7: " in line)
    return line.partition("#7: ")[2]


def test_what_was_done_is_counted(job: Job, hub: GitHub):
    hub.base = {"old.py": script("old").encode()}
    job.push(old_py=script("old"), train_py=script("one", "two"))
    assert counts(job) == "2 new comments, 0 resolved, 0 rewritten"
    assert counts(job, "--all") == "0 new comments, 0 resolved, 0 rewritten, new summary"
    assert counts(job, "--all") == "0 new comments, 0 resolved, 0 rewritten"
    job.push(train_py=script("one", "two", above="# a\n"))
    assert counts(job, "--all") == "0 new comments, 0 resolved, 2 rewritten"
    job.push(train_py="x = 1\n", old_py="x = 1\n")
    assert counts(job, "--all") == "0 new comments, 2 resolved, 0 rewritten, rewritten summary"
    job.push(train_py=script("one"))
    text = counts(job, "--all")
    assert text == "0 new comments, 0 resolved, 1 rewritten, 1 opened again, rewritten summary"


def test_a_summary_that_is_written_in_a_second_attempt_is_new(job: Job, hub: GitHub):
    hub.base = {"old.py": script("old").encode()}
    job.push(old_py=script("old"), train_py=script("one"))
    hub.faults = [Fault("/issues/7/comments", "500 Server Error")]
    assert counts(job, "--all") == "1 new comment, 0 resolved, 0 rewritten, new summary"


# -- links ------------------------------------------------------------------------------------------------------------


def test_places_are_links_to_the_commit(job: Job, hub: GitHub):
    job.push(**{"a b/train_py": script("one"), "notes.md": "```sh\nCUDA_VISIBLE_DEVICES=0,0 python x.py\n```\n"})
    job()
    address = f"https://github.com/octo/train/blob/{hub.head}/a%20b/train.py"
    assert f"- [`a b/train.py`, line 7]({address}#L7): the two meet here" in hub.open[0]["comments"][0]["body"]


def test_a_new_commit_alone_rewrites_nothing(job: Job, hub: GitHub):
    job.push(train_py=script("one"))
    job()
    first, writes = hub.head, len(hub.writes)
    job.push(other_py="x = 1\n")
    job()
    assert hub.head != first and len(hub.writes) == writes and first in hub.open[0]["comments"][0]["body"]


# -- what was not judged, one cause, levels ---------------------------------------------------------------------------


def test_what_was_not_judged_stands_in_the_summary(job: Job, hub: GitHub):
    job.push(requirements_txt="trl==99.0\n", train_py="from trl import Nonsense\n")
    assert job().status == 0
    (summary,) = hub.comments
    assert "What was not judged:" in summary["body"] and "[`requirements.txt`, line 1](" in summary["body"]
    assert "trl 99.0 is newer than this trl" in summary["body"]
    job.push(requirements_txt="trl==1.16.0\n", train_py="from trl import GRPOConfig\n")
    assert job().status == 0 and "not judged" not in summary["body"]


def test_one_cause_is_one_line_of_the_summary(job: Job, hub: GitHub):
    hub.base = {"old.py": script("a", "b", "c").encode()}
    job.push(old_py=script("a", "b", "c"), train_py="x = 1\n")
    assert job("--all").status == 1
    (summary,) = hub.comments
    assert summary["body"].count("**TRL103**") == 1 and "and 2 more places: [`old.py`, line " in summary["body"]


def test_the_level_that_fails_a_review(job: Job, hub: GitHub):
    job.push(requirements_txt="trl==1.16.0\n", train_py="from trl import GRPOConfig\nGRPOConfig(torch_dtype=1)\n")
    assert job("--fail-on", "error").status == 1
    job.push(requirements_txt="trl>=0.29\n", train_py="from trl import GRPOConfig\nGRPOConfig(group_by_length=True)\n")
    assert [job("--fail-on", level).status for level in ("error", "warning", "info")] == [0, 1, 1]
    job.push(**{"trl-lint.toml": "fail-on = 'error'\n"})
    assert job().status == 0


def test_the_summary_links_the_page(job: Job, hub: GitHub, monkeypatch: pytest.MonkeyPatch):
    job.push(train_py="x = 1\n")
    assert job("--page", "https://ci.example/7").status == 0 and not hub.comments, "nothing to tell, nothing to link"
    job.push(train_py=script("one"))
    run = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "octo/train", "GITHUB_RUN_ID": "7"}
    job.set(**run)
    assert job("--page", "run").status == 1
    (summary,) = hub.comments
    assert "pages to download](https://github.com/octo/train/actions/runs/7)" in summary["body"]
    job.push(train_py="x = 1\n")
    assert job("--page", "run").status == 0 and "Nothing is left to say here." in summary["body"]
    monkeypatch.delenv("GITHUB_RUN_ID")
    assert job("--page", "run").status == 2


@pytest.mark.parametrize("page", ["javascript:alert(1)", "https://x) [y](https://z", "here", "https://x\n"])
def test_a_page_is_an_address(job: Job, page: str):
    done = job("--page", page)
    assert done.status == 2 and "an address that begins with https://" in done.err
