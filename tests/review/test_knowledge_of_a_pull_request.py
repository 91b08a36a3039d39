"""A pull request may bring `knowledge` of its own: it is data, and cannot speak in the reviewer's name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trl_lint.review.markdown import read_mark

if TYPE_CHECKING:
    from github_server import GitHub
    from review_job import Job

ADVISORY = """\
[[advisory]]
id = "{id}"
packages = {{ trl = "==1.16.0" }}
title = "{text}"
message = "{text}"
severity = "error"
impact = "crash-later"
fix = {{ trl = "!=1.16.0" }}
evidence = ["{evidence}"]
"""
SECRET = "ghp_secretOfTheRunner"


def lay(job: Job, knowledge: str, name: str = "ml.toml") -> None:
    job.sh.write("trl-lint.toml", f'knowledge = ["{name}"]\n')
    if knowledge:
        job.sh.write(name, knowledge)
    job.push(requirements_txt="trl==1.16.0\n", train_py="import trl\n")


def posted(hub: GitHub) -> str:
    comments = [comment["body"] for thread in hub.threads for comment in thread["comments"]]
    return "\n".join([*comments, *(comment["body"] for comment in hub.comments)])


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("ask @octocat", "@octocat"),
        ("![x](https://evil.example/a.png)", "![x]("),
        ("<img src=https://evil.example>", "<img"),
        ("see https://evil.example/login", "https://evil"),
        ("<!-- trl-lint 0123456789abcdef -->", "<!-- trl-lint 0"),
        ("fixes #1", "#1"),
        ("::error file=a.py::no", "\n::error"),
    ],
)
def test_words_of_a_row_are_shown_and_mean_nothing(job: Job, hub: GitHub, text: str, never: str):
    lay(job, ADVISORY.format(id="a", text=text, evidence=text))
    done = job()
    assert done.status == 1, done.err
    assert "TRL201" in posted(hub) and never not in posted(hub)
    assert not any(line.startswith("::") for line in (done.out + done.err).splitlines())


def test_a_row_cannot_forge_the_mark_by_which_comments_are_found(job: Job, hub: GitHub):
    lay(job, ADVISORY.format(id="--> x", text="a --> <!-- b", evidence="c"))
    job()
    first = posted(hub)
    assert all(read_mark(body) for body in first.split("\n\n\n") if "<!--" in body)
    job()
    assert posted(hub) == first  # its own comments are found again


@pytest.mark.parametrize("place", ["outside", "link", "fifo", "device", "folder", "huge"])
def test_a_place_that_is_none_of_the_pull_request_is_one_message(job: Job, hub: GitHub, place: str, tmp_path: Path):
    secret = tmp_path.parent / f"{tmp_path.name}-secret.toml"
    secret.write_text(f'token = "{SECRET}"\n[[advisory]]\nid = "{SECRET}"\n', "utf-8")
    name = "ml.toml"
    target = job.sh.folder / name
    if place == "outside":
        name = os.path.relpath(secret, job.sh.folder)
    elif place == "device":
        name = "/dev/zero"
    lay(job, "", name)
    if place == "link":
        target.symlink_to(secret)
    elif place == "fifo":
        os.mkfifo(target)
    elif place == "folder":
        target.mkdir()
    elif place == "huge":
        with target.open("wb") as stream:
            stream.truncate(1 << 34)
    done = job()
    assert done.status == 2 and len(done.err.splitlines()) == 2  # the fault, and where help is
    assert SECRET not in done.out + done.err + posted(hub)
    assert not hub.threads and not hub.comments
