"""Spelling and readability of all prose that people are given: `make prose`.

Spelling is codespell's, but for the words of website/words.txt. The grade is that of Flesch and Kincaid (textstat):
about years of school. Sentences of more than 30 words are listed with their place, and there may be no more of them
than website/prose.json records for each part. Code, tables and links are no words of a sentence. With `--write` what is
measured is recorded.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "website" / "prose.json"
LONGEST = 30
PARTS = {
    "guide": ["README.md", "SECURITY.md", "docs/*.md", "docs/stories/*.md"],
    "contributing": ["CONTRIBUTING.md"],
    "rule pages": ["rules/pages/*.md"],
    "change log": ["CHANGELOG.md"],
}
# What is measured stands there in tables and short notes, for those who look a figure up.
LEFT_OUT = {"validation.md", "benchmarks.md", "README.zh-CN.md", "rules.md"}
_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_FACTS = re.compile(r"\A(?:---\n.*?\n---\n|\+\+\+\n.*?\n\+\+\+\n)", re.DOTALL)
_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`*\"(\[])")


def pages(part: str) -> list[Path]:
    found = [path for pattern in PARTS[part] for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path.name not in LEFT_OUT]


def paragraphs(text: str) -> Iterator[str]:
    """The prose of a page: no code, no tables, no headings; an item of a list is a paragraph."""
    bare = _FENCE.sub("\n\n", _FACTS.sub("", text))
    bare = re.sub(r"<!--.*?-->", "\n", bare, flags=re.DOTALL)
    bare = re.sub(r"^(?:#|\||!\[).*$", "\n", bare, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", bare):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
        plain = re.sub(r"^(?:[*-]|\d+\.) +", "", plain)
        if len(plain.split()) > 3:
            yield plain


def sentences(text: str) -> Iterator[str]:
    for paragraph in paragraphs(text):
        yield from _END.split(paragraph)


def words(sentence: str) -> int:
    """The words of a sentence; a piece of code is one, whatever it holds, and so is a list of them."""
    told = re.sub(r"`[^`]*`(?:(?:,| and| or)+ `[^`]*`)*", "code", sentence)
    return len([word for word in told.split() if re.search(r"\w", word)])


def long_sentences(part: str) -> list[tuple[str, int, str]]:
    found = []
    for path in pages(part):
        counted = ((words(sentence), sentence) for sentence in sentences(path.read_text("utf-8")))
        found += [(path.relative_to(ROOT).as_posix(), count, text) for count, text in counted if count > LONGEST]
    return found


def grade(part: str) -> float:
    import textstat

    told = (sentence for path in pages(part) for sentence in sentences(path.read_text("utf-8")))
    text = " ".join(f"{sentence.rstrip(' .:;')}." for sentence in told)
    return float(textstat.flesch_kincaid_grade(re.sub(r"`[^`]*`", "code", text)))


def main() -> int:
    warnings.simplefilter("ignore")
    told = [str(path) for part in PARTS for path in pages(part)]
    others = [str(path) for path in (ROOT / "docs").glob("*.md") if path.name in LEFT_OUT - {"README.zh-CN.md"}]
    command = [sys.executable, "-m", "codespell_lib", "--ignore-words", str(ROOT / "website" / "words.txt")]
    misspelt = subprocess.run([*command, *told, *others], stdout=subprocess.PIPE, encoding="utf-8").stdout
    print(misspelt, end="")
    recorded = json.loads(RECORDED.read_text("utf-8"))
    too_many, measured = False, {}
    for part in PARTS:
        found = long_sentences(part)
        is_worse = len(found) > recorded["parts"][part]["long"]
        too_many = too_many or is_worse
        if is_worse or "--list" in sys.argv:
            print("\n".join(f"{path}: {count} words: {text}" for path, count, text in found))
        total = sum(1 for path in pages(part) for _ in sentences(path.read_text("utf-8")))
        measured[part] = {"pages": len(pages(part)), "grade": grade(part), "sentences": total, "long": len(found)}
        print(f"{part}: {measured[part]}")
    if "--write" in sys.argv:
        today = {"date": date.today().isoformat(), "parts": measured}
        RECORDED.write_text(json.dumps(today, indent=1) + "\n", "utf-8")
        return 0
    return 1 if misspelt or too_many else 0


if __name__ == "__main__":
    sys.exit(main())
