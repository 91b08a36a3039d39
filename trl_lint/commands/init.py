"""`trl-lint init`: settings, a hook for pre-commit and a job for CI, where a repository has none. It asks nothing.

What is there stays as it is, but for text that is added. What cannot be added safely is said instead.
"""

from __future__ import annotations

import argparse
import os
import sys
from difflib import unified_diff
from typing import Any

from trl_lint import __version__
from trl_lint.commands import UsageError
from trl_lint.paths import is_below, relative_to, repository_around
from trl_lint.records import NamedTuple
from trl_lint.reports import visible
from trl_lint.streams import say

_VENDORED = ("third_party", "third-party", "vendor", "external", "submodules")
_REPOSITORY = "https://github.com/trl-lint/trl-lint"
HOOK = f"""\
- repo: {_REPOSITORY}
  rev: v{__version__}
  hooks:
    - id: trl-lint
"""
# As docs/ci.md shows them; a test compares.
WORKFLOW = f"""\
name: trl-lint
on: [pull_request]
permissions:
  contents: read
jobs:
  trl-lint:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with:
          persist-credentials: false
      - uses: trl-lint/trl-lint@v{__version__} # zizmor: ignore[unpinned-uses] put the hash of the release here
"""
GITLAB_JOB = f"""\
trl-lint:
  image: python:3.13-slim
  before_script:
    - apt-get update && apt-get install --yes --no-install-recommends git
    - pip install 'trl-lint @ git+{_REPOSITORY}@v{__version__}'
  script:
    - trl-lint --no-fix --output-format gitlab --output-file gl-code-quality-report.json
  cache:
    key: trl-lint-$CI_COMMIT_REF_SLUG
    fallback_keys: [trl-lint-$CI_DEFAULT_BRANCH]
    paths: [.trl_lint_cache]
    when: always
  artifacts:
    when: always
    reports:
      codequality: gl-code-quality-report.json
"""


class Step(NamedTuple):
    """What becomes of one file: its new text, or None where it stays as it is, for the reason in `note`."""

    path: str
    old: str | None
    new: str | None
    note: str = ""


def run(args: argparse.Namespace) -> int:
    """Set a repository up; the exit status: 0, or 2 where a file could not be written. Raises UsageError."""
    if not os.path.isdir(args.path):
        raise UsageError(f"no such folder: `{visible(args.path)}`")
    folder = os.path.abspath(args.path)
    root = repository_around(folder) or folder
    failed = False
    for step in steps(root):
        shown = visible(relative_to(step.path, os.getcwd()))
        if step.new is None:
            say(f"{shown}: {step.note}", to="stdout")
        elif args.dry_run:
            old = [] if step.old is None else step.old.splitlines(keepends=True)
            sys.stdout.writelines(
                unified_diff(old, step.new.splitlines(keepends=True), "/dev/null" if not old else shown, shown)
            )
        else:
            problem = _write(step, root)
            failed = failed or bool(problem)
            say(f"{shown}: {problem or ('written' if step.old is None else 'added to')}", to="stdout")
    return 2 if failed else 0


def steps(root: str) -> list[Step]:
    """What a repository needs, file by file."""
    has_git = os.path.lexists(os.path.join(root, ".git"))
    return [_settings(root), *([_hook(root), *_job(root)] if has_git else [])]


def _settings(root: str) -> Step:
    from trl_lint.settings import find_config
    from trl_lint.settings_file import SettingsError

    path = os.path.join(root, "pyproject.toml")
    try:
        known = find_config(root)
    except SettingsError as error:
        return Step(path, None, None, str(error))
    if known is not None:
        return Step(known, None, None, "has settings already")
    lines = ['fail-on = "warning"  # or "error", which lets warnings pass']
    if found := [name for name in _VENDORED if os.path.isdir(os.path.join(root, name))]:
        names = ", ".join(f'"{name}"' for name in found)
        lines.append(f"extend-exclude = [{names}]  # code of others")
    text = "\n".join([*lines, ""])
    old = _read(path)
    if old is not None:
        new = f"{old.rstrip()}\n\n[tool.trl-lint]\n{text}"
        if _is_toml_with(new):
            return Step(path, old, new)
    return Step(os.path.join(root, "trl-lint.toml"), None, text)


def _is_toml_with(text: str) -> bool:
    import tomli

    try:
        return "trl-lint" in tomli.loads(text)["tool"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _hook(root: str) -> Step:
    path = os.path.join(root, ".pre-commit-config.yaml")
    old = _read(path)
    if old is None:
        if os.path.lexists(path):
            return Step(path, None, None, "cannot be read")
        return Step(path, None, f"repos:\n{_indented(HOOK, '  ')}")
    if "trl-lint" in old:
        return Step(path, None, None, "has the hook already")
    lines = old.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if line.rstrip() == "repos:"), None)
    first = next((line for line in lines[(at or 0) + 1 :] if line.lstrip().startswith("- ")), None)
    if at is not None and first is not None:
        indent = first[: len(first) - len(first.lstrip())]
        new = "".join([*lines[: at + 1], _indented(HOOK, indent), *lines[at + 1 :]])
        before = _events(old)
        begin = next((number + 2 for number, event in enumerate(before) if "repos" in event), 0)  # behind `[`
        if begin and _events(new) == [*before[:begin], *_events(HOOK)[_HEAD:-_TAIL], *before[begin:]]:
            return Step(path, old, new)
    return Step(path, None, None, f"add this to its `repos`:\n{HOOK}")


def _job(root: str) -> list[Step]:
    gitlab = os.path.join(root, ".gitlab-ci.yml")
    config = _read(os.path.join(root, ".git", "config")) or ""
    found = []
    if os.path.isdir(os.path.join(root, ".github")) or "github.com" in config:
        found.append(_workflow(root))
    if (old := _read(gitlab)) is not None:
        found.append(_gitlab(gitlab, old))
    elif "gitlab" in config:
        found.append(Step(gitlab, None, GITLAB_JOB))
    if not found:
        found.append(Step(root, None, None, "no CI of GitHub or GitLab found; docs/ci.md tells how others take it"))
    return found


def _workflow(root: str) -> Step:
    folder = os.path.join(root, ".github", "workflows")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    for name in names:
        path = os.path.join(folder, name)
        if name == "trl-lint.yml" or "trl-lint" in (_read(path) or ""):
            return Step(path, None, None, "has a job already")
    return Step(os.path.join(folder, "trl-lint.yml"), None, WORKFLOW)


def _gitlab(path: str, old: str) -> Step:
    if "trl-lint" in old:
        return Step(path, None, None, "has a job already")
    if (stages := _stages(old)) is not None:
        stage = "" if "test" in stages else f"  stage: {stages[0]}\n"
        head, rest = GITLAB_JOB.split("\n", 1)
        job = f"{head}\n{stage}{rest}"
        new = f"{old.rstrip()}\n\n{job}"
        before = _events(old)
        if _events(new) == [*before[:-_TAIL], *_events(job)[_HEAD:-_TAIL], *before[-_TAIL:]]:
            return Step(path, old, new)
    return Step(path, None, None, f"add this job:\n{GITLAB_JOB}")


def _stages(text: str) -> list[str] | None:
    """The stages of a pipeline, of GitLab if it names none; None where they cannot be told."""
    from trl_lint.sources import Source, SourceFile
    from trl_lint.sources.nodes import Mapping, Scalar, Sequence
    from trl_lint.sources.text import SourceError
    from trl_lint.sources.yaml import read_yaml

    try:
        documents = read_yaml(Source(SourceFile("", text.encode()), "yaml"))
    except SourceError:
        return None
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        return None
    stages = documents[0].get("stages")
    if stages is None:
        return ["test"]
    found = [one.value for one in stages.items if isinstance(one, Scalar)] if isinstance(stages, Sequence) else []
    return [one for one in found if isinstance(one, str)] or None


# The events around what a document's own list or mapping holds.
_HEAD = 3
_TAIL = 3


def _events(text: str) -> list[tuple[object, ...]]:
    """A text as the events of YAML, none where it is not YAML.

    Compared in place of values, which a few lines of aliases make endless.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    names = ("value", "anchor", "tag", "implicit")
    try:
        return [
            (type(event), *(getattr(event, name, None) for name in names)) for event in yaml.parse(text, Loader=loader)
        ]
    except (yaml.YAMLError, ValueError, RecursionError):
        return []


def _indented(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in text.splitlines())


_MOST = 1_000_000  # bytes of a file that somebody wrote


def _read(path: str) -> str | None:
    """The text of a file, None where there is none, or none that may be added to: a link leads elsewhere."""
    try:
        if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > _MOST:
            return None
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def _write(step: Step, root: str) -> str:
    """Write one file of a repository; what went wrong, "" for nothing."""
    from trl_lint.tracked import reason
    from trl_lint.writing import write_together

    if not is_below(os.path.realpath(step.path), os.path.realpath(root)):
        return "not written: a link leads out of the repository"
    new = step.new or ""
    if step.old is not None and step.old.count("\r\n") == step.old.count("\n"):
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    data = new.encode()
    try:
        if step.old is None:
            os.makedirs(os.path.dirname(step.path), exist_ok=True)
            with open(step.path, "xb") as stream:  # never through a link, never over a file
                stream.write(data)
            return ""
    except OSError as error:
        return reason(error)
    failed = write_together({step.path: data}, {step.path: step.old.encode()}, [{step.path}])
    return failed.get(step.path, "")
