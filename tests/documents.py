"""Markdown as the tests use it: fenced blocks with names, and shell transcripts that are run.

A fence may name a file: ```` ```python title="train.py" ````. In README.md and docs/, every `console` block is a
transcript: `$ trl-lint …` or `$ flake8 …` followed by what it prints. It runs in a project made of the named blocks of
its section, or, where the section has none, in a copy of fixtures/demo. `python tests/documents.py` rewrites what is
shown, and the list of settings.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo"

_FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<content>.*?)^(?P=ticks)[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_TITLE = re.compile(r'title="([^"]+)"')
_COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)
_COMMAND_SCRIPT = """\
#!{python}
import sys
sys.path.insert(0, {root!r})
from {module} import main
sys.exit(main())
"""
# flake8 finds the plugin by the metadata of the installed package, and then its code in this checkout.
_COMMANDS = {"trl-lint": "trl_lint.__main__", "flake8": "flake8.main.cli"}
# What the tool prints where it is itself at fault: a rule that failed, a table that is malformed.
_BROKEN = ("TRL003", "a fault of trl-lint and of no file here")


class BrokenError(Exception):
    """A command of a page fails in a way that the page does not show."""


class Block(NamedTuple):
    """A fenced block: `section` is the text of the heading above it, `start` and `end` enclose the content."""

    language: str
    title: str
    content: str
    section: str
    start: int
    end: int


def blocks(text: str) -> list[Block]:
    fences = list(_FENCE.finditer(text))
    headings = [m for m in _HEADING.finditer(text) if not any(f.start() < m.start() < f.end() for f in fences)]
    found = []
    for fence in fences:
        above = [m[1] for m in headings if m.start() < fence.start()]
        title = _TITLE.search(fence["info"])
        language = fence["info"].split(maxsplit=1)[0] if fence["info"].strip() else ""
        start, end = fence.span("content")
        found.append(
            Block(language, title[1] if title else "", fence["content"], above[-1] if above else "", start, end)
        )
    return found


def headings(text: str, level: int = 2) -> list[str]:
    """The headings of one level, outside fenced blocks."""
    bare = _FENCE.sub("", text)
    return re.findall(rf"^{'#' * level} +(.+?) *$", bare, re.MULTILINE)


def lay_out(named: list[Block], folder: Path) -> Path:
    """Write blocks that name a file below a folder, as a project."""
    for block in named:
        path = folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.content, "utf-8", newline="")
    return folder


def pages() -> list[Path]:
    """README.md, CONTRIBUTING.md and the user guide, but for its translations."""
    guide = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "zh" not in path.relative_to(ROOT).parts]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *guide]


def translations() -> list[tuple[Path, Path]]:
    """Each page in Chinese with the English one."""
    docs = ROOT / "docs"
    found = [(path, ROOT / "README.md") for path in docs.glob("README.zh-CN.md")]
    found += [(path, docs / path.name) for path in sorted((docs / "zh").glob("*.md"))]
    rules = ROOT / "rules" / "pages"
    return found + [(path, next(rules.glob(f"{path.stem}-*"))) for path in sorted((docs / "zh" / "rules").glob("*"))]


def with_blocks_of(chinese: str, english: str) -> str:
    """A translated page with the code blocks that the English one has today; as it is where it has other ones."""
    here, there = blocks(chinese), blocks(english)
    if [block[:2] for block in here] != [block[:2] for block in there]:
        return chinese
    for old, new in zip(reversed(here), reversed(there), strict=True):
        chinese = chinese[: old.start] + new.content + chinese[old.end :]
    return chinese


def executed(text: str) -> str:
    """The same page with every transcript as it is today."""
    page = blocks(text)
    parts, last = [], 0
    for block in page:
        if block.language == "console":
            project = [b for b in page if b.section == block.section and b.title]
            parts += [text[last : block.start], _replay(block, project)]
            last = block.end
    return "".join([*parts, text[last:]])


def settings_example() -> str:
    """The settings with a value each, as docs/settings.md shows them: TOML."""
    from trl_lint.options import SETTINGS

    rows, tables = [], []
    for one in SETTINGS.values():
        if one.setting == "rules by pattern":
            tables += ["", f"[tool.trl-lint.{one.name}]", one.example]
        else:
            value, _, comment = one.example.partition("  # ")
            rows.append((f"{one.name} = {value}", comment))
    width = max(len(text) for text, comment in rows if comment)
    lines = [f"{text:<{width}}  # {comment}" if comment else text for text, comment in rows]
    return "\n".join(["[tool.trl-lint]", *lines, *tables, ""])


def with_settings(text: str) -> str:
    """The page of the settings with every one of them."""
    block = next(block for block in blocks(text) if block.language == "toml")
    return text[: block.start] + settings_example() + text[block.end :]


def with_known(text: str) -> str:
    """README.md with the frameworks and releases that the tables hold today."""
    from textwrap import fill

    from trl_lint.knowledge.releases import newest

    known = [f"{name} to {newest(package)}" for package, name in _SHOWN_PACKAGES.items()]
    frameworks, below = ", ".join(known[:_FRAMEWORKS]), ", ".join(known[_FRAMEWORKS:])
    said = fill(f"Rules and release histories for {frameworks}. Of what they stand on: {below}, and others.", 118)
    head, start, rest = text.partition("writes this -->\n")
    return f"{head}{start}{said}\n{rest[rest.index('<!-- end -->') :]}"


_SHOWN_PACKAGES = {
    "trl": "TRL", "verl": "verl", "axolotl": "axolotl", "llamafactory": "LLaMA-Factory", "ms-swift": "ms-swift",
    "openrlhf": "OpenRLHF", "unsloth": "Unsloth", "torchtune": "torchtune", "transformers": "transformers",
    "accelerate": "accelerate", "deepspeed": "DeepSpeed", "peft": "PEFT", "torch": "torch", "vllm": "vLLM",
}  # fmt: skip
_FRAMEWORKS = 8  # of these


def tool_folder(folder: Path) -> Path:
    """A folder with commands that run this checkout as an installed one would; `trl-lint` does so installed or not."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in _COMMANDS.items():
        command = folder / name
        command.write_text(_COMMAND_SCRIPT.format(python=sys.executable, root=str(ROOT), module=module), "utf-8")
        command.chmod(0o755)
    return folder


def _replay(block: Block, project: list[Block]) -> str:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "project")
        if project:
            lay_out(project, folder)
        else:
            shutil.copytree(DEMO, folder)
        path = f"{tool_folder(Path(scratch, 'bin'))}{os.pathsep}{os.environ['PATH']}"
        return "".join(_transcript(block.content, folder, path))


def _transcript(content: str, folder: Path, path: str) -> Iterator[str]:
    for command in _COMMAND.findall(content):
        if command.split()[0] not in _COMMANDS:
            raise ValueError(f"only {' and '.join(_COMMANDS)} are run in a console block; use sh for {command!r}")
        environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"}
        for name in ("FORCE_COLOR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
            environment.pop(name, None)
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=60,
        )
        if any(sign in done.stdout and sign not in content for sign in _BROKEN):
            raise BrokenError(f"`{command}` fails, and so no page is rewritten:\n{done.stdout}")
        yield f"$ {command}\n"
        yield from (f"{line.rstrip()}\n" for line in done.stdout.splitlines())


_GENERATED = {"settings.md": with_settings, "README.md": with_known}


def main() -> int:
    """Rewrite the pages whose transcripts or settings are others today: all of them, or none where the tool fails."""
    texts = {page: page.read_text("utf-8") for page in pages()}
    try:
        found = {page: executed(text) for page, text in texts.items()}
    except BrokenError as error:
        print(error, file=sys.stderr)
        return 1
    for page, text in found.items():
        new = _GENERATED.get(page.name, str)(text)
        if new != texts[page]:
            page.write_text(new, "utf-8")
            print(f"rewrote {page.relative_to(ROOT)}")
    for page, english in translations():
        text = page.read_text("utf-8")
        page.write_text(with_blocks_of(text, english.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
