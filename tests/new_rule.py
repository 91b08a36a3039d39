"""A rule to begin with: `make rule CODE=TRL606 NAME=padding-side-right` (`python tests/new_rule.py CODE NAME`).

Writes the module, the page, a fixture that fires and two that do not, the promise of the page and a line of the change
log. All of it works, and reports calls of a function that does not exist. Each place that is yours says FILL IN or
names that function, and `tests/test_rules_complete.py` fails with those places until none is left.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "FILL IN"
PLACEHOLDER = "torch.fill_in"
# What tells of one rule whether it is complete, in seconds.
TESTS = (
    ".venv/bin/python -m pytest -n0 tests/test_fixtures.py tests/test_promises.py tests/test_rules_complete.py "
    '-k "{code} or rules_complete"'
)
TOPICS = {
    "1": "distribution", "2": "pins", "3": "drift", "4": "configs", "5": "launch", "6": "numerics", "7": "algorithm",
    "8": "inference",
}  # fmt: skip

MODULE = '''"""{code}: FILL IN: what is wrong, in one line."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.rule import Rule, Site
from trl_lint.finding import Finding


class {class_name}(Rule):
    code = "{code}"
    triggers = ("torch.fill_in",)  # FILL IN: what the rule asks for; `trl_lint/checks/rule.py` lists the kinds

    def check_call(self, site: Site) -> Iterator[Finding]:
        # FILL IN: when it is certainly wrong; of what is unknown nothing is said
        yield self.finding(site.location, "FILL IN: what happens, and why")


rule = {class_name}()
'''
PAGE = """+++
code = "{code}"
title = "FILL IN: the fault as a headline"
severity = "warning"
impact = "silent"
fix = "none"
since = "{version}"
versions = []
symptoms = "none"
references = []
+++
## What it does

Reports a call of `torch.fill_in`.

## Why is this bad?

FILL IN: what happens to the run, and where that was seen.

## Versions

FILL IN: the releases for which it holds, from their sources.

## Example

```python title="train.py"
{bad}```

## Use instead

```python title="train.py"
{good}```

## Fix safety

There is no fix: FILL IN: why not.
"""
PROMISE = """## Reports a call of `torch.fill_in`

```python title="train.py"
{bad}```
"""
BAD = "import torch\n\ntorch.fill_in()\n"
GOOD = "import torch\n\ntorch.zeros(1)\n"
FIXTURES = {
    "bad_fill_in": BAD.replace("()\n", "()  # expect: {code}\n") + "# FILL IN: real code that is wrong\n",
    "ok_fill_in_what_is_right": GOOD + "# FILL IN: the same code, put right\n",
    "ok_fill_in_what_looks_like_it": "import torch\n\nfill_in = torch.zeros\n# FILL IN: real code that looks wrong\n",
}


class WrongError(Exception):
    """What cannot be written, in one sentence."""


def write_rule(code: str, name: str, root: Path = ROOT) -> list[Path]:
    """Write a rule to begin with; the files. Raises WrongError for a code or a name that is none, or is taken."""
    from trl_lint import __version__

    if not re.fullmatch(r"TRL[1-8]\d\d", code):
        raise WrongError(f"{code!r} is no code: TRL and three digits, the first of which is the topic, from 1 to 8")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise WrongError(f"{name!r} is no name: small letters, with hyphens between the words")
    pages = root / "rules" / "pages"
    taken = [*pages.glob(f"{code}-*.md"), *pages.glob(f"*-{name}.md")]
    if taken:
        raise WrongError(f"there is {taken[0].name} already")
    words = {
        "code": code,
        "class_name": "".join(part.capitalize() for part in name.split("-")),
        "version": re.sub(r"[^\d.].*", "", __version__),
        "bad": BAD,
        "good": GOOD,
    }
    texts = {
        root / "trl_lint" / "checks" / TOPICS[code[3]] / f"{name.replace('-', '_')}.py": MODULE,
        pages / f"{code}-{name}.md": PAGE,
        root / "tests" / "promises" / f"{code}.md": PROMISE,
        **{root / "fixtures" / code / case / "train.py": text for case, text in FIXTURES.items()},
    }
    log = root / "CHANGELOG.md"
    changed = with_line(log.read_text("utf-8"), code)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(**words), "utf-8")
    log.write_text(changed, "utf-8")
    return [*texts, log]


def with_line(log: str, code: str) -> str:
    """The change log with a line for a rule, behind those of the codes before it. Raises WrongError without any."""
    lines = log.splitlines(keepends=True)
    before = [
        number for number, line in enumerate(lines) if (found := re.match(r"\* (TRL\d+)", line)) and found[1] < code
    ]
    if not before:
        raise WrongError("CHANGELOG.md has no line of a rule to put this one behind")
    place = before[-1] + 1
    while place < len(lines) and lines[place].startswith("  "):
        place += 1
    return "".join([*lines[:place], f"* {code}: FILL IN: what it finds\n", *lines[place:]])


def to_fill_in(root: Path) -> list[str]:
    """The places that are still to be written, as `path:line: what`."""
    folders = ("trl_lint/checks", "rules/pages", "tests/promises", "fixtures")
    files = [path for folder in folders for path in sorted((root / folder).rglob("*")) if path.suffix in (".py", ".md")]
    return [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in (*files, root / "CHANGELOG.md")
        if any(mark.encode() in data for data in [path.read_bytes()] for mark in (MARK, PLACEHOLDER))
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if MARK in line or PLACEHOLDER in line
    ]


def main(argv: Sequence[str]) -> int:
    try:
        if len(argv) != 2:
            raise WrongError("make rule CODE=TRL606 NAME=some-name")
        for path in write_rule(*argv):
            print(path.relative_to(ROOT))
    except WrongError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"Each of these says {MARK} where something is yours. After that, `make docs`, and this says what is left:")
    print(TESTS.format(code=argv[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
