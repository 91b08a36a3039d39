"""What git ignores, against git itself on generated trees."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from trl_lint.project.discovery import collect
from trl_lint.project.gitignore import read_pattern
from trl_lint.settings import Settings

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")

# Few names, so that patterns meet files. All files are ones that some reader understands.
FOLDERS = ("a", "b", "ab", "a-c")
FILES = ("a.py", "b.py", "ab.py", "a b.py", "[a].py", "c.md", "-.py")
PATHS = tuple(
    "/".join((*folders, file))
    for folders in ((), ("a",), ("b",), ("a", "b"), ("ab", "a"), ("a-c",), ("a", "b", "a"))
    for file in FILES
)

pieces = st.sampled_from(
    ["a", "b", "c", "ab", ".py", ".md", "*", "**", "***", "?", "/", "/**", "**/", "a/", "[a]", "[!a]", "[^b]", "[a-c]",
     "[c-a]", "[]a]", "[a", "[[:alpha:]]", "[[:digit:]-]", "[[:nope:]]", "[[:]", "[a-\\]", "\\*", "\\[", "\\", "\\/",
     "-", " ", "\\ ", "!", "#", "\\#", "\\!", "\t"]
)  # fmt: skip
whole = st.sampled_from(["", "#a.py", "!a.py", "/a/", "*", "!a/"])
lines = st.lists(pieces, min_size=1, max_size=6).map("".join) | whole
ends = st.sampled_from(["\n", "\r\n"])
ignores = st.lists(lines, max_size=5)
sites = st.dictionaries(st.sampled_from(["", "a", "a/b", "b", ".git/info"]), ignores, min_size=1, max_size=3)


def environment() -> dict[str, str]:
    """git without the settings of whoever runs the tests."""
    none = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "XDG_CONFIG_HOME": "/nowhere"}
    return {**os.environ, **none}


@pytest.fixture(scope="module")
def repository():
    with TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True, env=environment())
        for path in PATHS:
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("", "utf-8")
        yield Path(folder).resolve()


def kept_by_git(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "check-ignore", "--no-index", "--stdin", "-z"]
    asked = "\0".join(PATHS)
    told = subprocess.run(command, input=asked, capture_output=True, text=True, env=environment(), check=False)
    assert told.returncode in (0, 1), told.stderr
    return sorted(set(PATHS) - set(told.stdout.split("\0")))


def kept_by_us(root: Path, *below: str) -> list[str]:
    files, missing = collect([str(root / path) for path in below] or [str(root)], Settings(str(root), exclude=()))
    assert missing == []
    return sorted(
        path for path in (os.path.relpath(file, root).replace(os.sep, "/") for file, _ in files) if path[:5] != ".git/"
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=sites, end=ends)
@example(written={"": ["*", "!*/", "!*.py", "a/b/"]}, end="\n")
@example(written={"": ["a/**/a.py", "**/b", "b/**"], "a": ["!b"]}, end="\n")
@example(written={"": ["/a.py", "ab/a", "c.md  ", "a\\ b.py\\ "]}, end="\r\n")
@example(written={".git/info": ["a.py"], "a": ["!a.py"]}, end="\n")
@example(written={"": ["\ufeffa.py"]}, end="\n")
@example(written={"": ["/a[!b]a.py", "a[^x]b/"]}, end="\n")
@example(written={"": ["a**/a", "*b*b*b*b*", "!a*.*p*y"]}, end="\n")
def test_the_same_files_are_kept(repository: Path, written: dict[str, list[str]], end: str):
    places = []
    try:
        for folder, patterns in written.items():
            place = repository / folder / ("exclude" if folder == ".git/info" else ".gitignore")
            place.parent.mkdir(exist_ok=True)
            place.write_bytes("".join(pattern + end for pattern in patterns).encode())
            places.append(place)
        expected = kept_by_git(repository)
        assert kept_by_us(repository) == expected
        # The same holds for a part of the tree, as far as git enters it.
        if any(path.startswith("a/b/") for path in expected):
            assert kept_by_us(repository, "a/b") == [path for path in expected if path.startswith("a/b/")]
    finally:
        for place in places:
            place.unlink()


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py").replace("gitignore", ".gitignore")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def names(root: Path, *below: str, **options: bool) -> list[str]:
    files, _ = collect([str(root / path) for path in below] or [str(root)], Settings(str(root), **options))
    return [os.path.relpath(path, root).replace(os.sep, "/") for path, _ in files]


def test_it_can_be_switched_off_and_named_files_are_always_checked(tmp_path: Path):
    write(tmp_path, gitignore="out\nb.py\n", a_py="", b_py="", out__c_py="")
    assert names(tmp_path) == ["a.py"]
    assert names(tmp_path, respect_gitignore=False) == ["a.py", "b.py", "out/c.py"]
    assert names(tmp_path, "b.py", "out") == ["b.py", "out/c.py"]


def test_a_repository_inside_another_has_rules_of_its_own(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    write(tmp_path, gitignore="b.py\n", inner__a_py="", inner__b_py="", inner__c_py="")
    subprocess.run(["git", "init", "-q", tmp_path / "inner"], check=True, env=environment())
    (tmp_path / "inner/.git/info").mkdir(exist_ok=True)
    (tmp_path / "inner/.git/info/exclude").write_text("c.py\n", "utf-8")
    assert names(tmp_path) == ["inner/a.py", "inner/b.py"]


def test_a_worktree_has_the_excludes_of_its_repository(tmp_path: Path):
    git = ["git", "-C", str(tmp_path / "main"), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run(["git", "init", "-q", tmp_path / "main"], check=True, env=environment())
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True, env=environment())
    subprocess.run([*git, "worktree", "add", "-q", "../tree"], check=True, env=environment(), capture_output=True)
    (tmp_path / "main/.git/info").mkdir(exist_ok=True)
    (tmp_path / "main/.git/info/exclude").write_text("b.py\n", "utf-8")
    write(tmp_path / "tree", a_py="", b_py="")
    assert names(tmp_path / "tree") == ["a.py"]


def test_what_cannot_be_read_ignores_nothing(tmp_path: Path):
    write(tmp_path, a_py="", b_py="")
    (tmp_path / "elsewhere").write_text("a.py\n", "utf-8")
    (tmp_path / ".gitignore").symlink_to("elsewhere")  # git does not follow it either
    (tmp_path / ".git").write_text("gitdir: /nowhere\n", "utf-8")
    assert names(tmp_path) == ["a.py", "b.py"]
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").mkdir()
    assert names(tmp_path) == ["a.py", "b.py"]
    (tmp_path / ".gitignore").rmdir()
    (tmp_path / ".gitignore").write_bytes(b"\xff\x00\n[\nb.py\n")
    assert names(tmp_path) == ["a.py"]


def test_a_link_out_of_the_tree_is_not_followed(tmp_path: Path):
    write(tmp_path, inside__a_py="", outside__b_py="")
    (tmp_path / "inside/b.py").symlink_to("../outside/b.py")
    (tmp_path / "inside/folder").symlink_to("../outside")
    assert names(tmp_path, "inside") == ["inside/a.py"]


@pytest.mark.parametrize("line", ["", "#", "   ", "!", "/", "a\\", "[", "[a", "[[:alpha:", "[[:nope:]]"])
def test_lines_that_match_nothing(line: str):
    assert read_pattern(line) is None
