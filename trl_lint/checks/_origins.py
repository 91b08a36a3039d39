"""Where a file that is not in the repository may come from: written by a script, fetched, ignored by git."""

from __future__ import annotations

import fnmatch
import os
import re

from trl_lint import budget, tracked
from trl_lint.project import Project
from trl_lint.regexes import regex

# Programs that bring files, or whole trees of them, from elsewhere.
_FETCHES_A_TREE = regex(
    r"\bgit[ \t]+(?:clone|submodule|checkout|worktree)\b|\b(?:unzip|untar|gdown|rsync|scp|aria2c|svn)\b"
    r"|\btar[ \t]+-?\w*x"
    r"|\b(?:huggingface-cli|hf|modelscope)[ \t]+download\b|\bsnapshot_download\b|^[ \t]*repository:",
    re.MULTILINE,
)
_CLONES = regex(r"\bgit[ \t]+clone\b([^\n;&]*)")
_WRITES = (
    r"(?:>{1,2}|\b(?:tee|touch|cp|mv|ln|wget|curl|envsubst|install|jq|yq|sed|accelerate[ \t]{1,9}config)\b"
    r"[^\n|;&]{0,300}?"
    r"|--?(?:o|O|output\w{0,40}|out|save\w{0,40}|dump\w{0,40})[ =]|\bopen\()[ \t]{0,9}[\"']?[^\s\"'|;&]{0,60}"
)
# What a tutorial says before it shows what to put into a file.
_TELLS = (
    r"(?i:creat|writ|\bsav(?:e|ing)|\badd|\bput|\bnew\b|\bcall(?:ed)?\b|\bnamed?\b|copy|paste|generat|following"
    r"|content)"
)
_LARGEST = 1_000_000


def comes_from_elsewhere(text: str, name: str) -> bool:
    """Whether the text of a file writes, copies or downloads a file of this name, or brings trees of files along."""
    base = re.escape(os.path.basename(name))
    return _FETCHES_A_TREE.search(text) is not None or re.search(_WRITES + base, text) is not None


def is_told_to_be_made(text: str, name: str) -> bool:
    """Whether a document tells its reader to write the file: the name stands near such words."""
    base = os.path.basename(name)
    for match in re.finditer(re.escape(base), text):
        line = text.rfind("\n", 0, match.start()) + 1
        before = text[max(line, match.start() - 150) : match.start()]
        after = text[match.end() : match.end() + 60].split("\n", 1)[0]
        is_command = re.search(r"(?:python|accelerate|torchrun|trl|deepspeed|bash)\b[^`]{0,150}\Z", before) is not None
        if not is_command and re.search(_TELLS, before + " " + after):
            return True
        stands_alone = not re.search(r"\w\s+\S*\Z", before) and re.fullmatch(r"[`*\"'): \t]*", after)
        if stands_alone or before.lstrip().startswith(("```", "~~~", "# ")) or "title=" in before:
            return True  # the name stands over the contents
    return False


def is_another_project(text: str, project: Project) -> bool:
    """Whether a document leads its reader into a clone of another repository."""
    names = {os.path.basename(project.root).lower(), *(m.project for m in project.manifests if m.project)}
    ends = (match[1].rstrip(" \t\"'`").removesuffix(".git") for match in _CLONES.finditer(text))
    found = [name for end in ends if (name := re.split(r"[^\w.-]", end)[-1])]
    for name in found:
        tracked.note_name(name)
    return any(re.sub(r"[-_.]+", "-", name).lower() not in {re.sub(r"[-_.]+", "-", n) for n in names} for name in found)


def is_ignored(path: str, root: str) -> bool:
    """Whether a .gitignore of the repository names the path, as far as its patterns are simple ones."""
    folder = root
    parts = os.path.relpath(path, root).split(os.sep)
    for index in range(len(parts)):
        patterns = _patterns(os.path.join(folder, ".gitignore"))
        rest = parts[index:]
        if any(_matches(pattern, rest) for pattern in patterns):
            return True
        folder = os.path.join(folder, parts[index])
    return False


def _patterns(path: str) -> list[str]:
    try:
        lines = tracked.read_text(path)[:_LARGEST].splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines if line.strip() and not line.startswith(("#", "!"))]


def _matches(pattern: str, parts: list[str]) -> bool:
    stripped = pattern.rstrip("/")
    if "/" not in stripped:
        names = parts[:-1] if pattern.endswith("/") else parts
        return any(fnmatch.fnmatchcase(name, stripped) for name in names)
    stripped = stripped.lstrip("/")
    return any(fnmatch.fnmatchcase("/".join(parts[:end]), stripped) for end in range(1, len(parts) + 1))


def is_mentioned(name: str, project: Project) -> bool:
    """Whether Python code or a script of the project holds the name: it may write the file."""
    wanted = os.fsencode(os.path.basename(name))
    for path in project.paths:
        if path.endswith((".py", ".sh", ".ipynb")) or os.path.basename(path) == "Makefile":
            try:
                if tracked.is_larger(path, _LARGEST):
                    budget.limit(_LARGEST, "it has more than {} bytes, and was not searched for files it writes", path)
                elif _writes(project, path, wanted):
                    return True
            except OSError:
                continue
    return False


def _writes(project: Project, path: str, wanted: bytes) -> bool:
    if not project.files.holds(path, wanted):
        return False
    text = project.files.get(path).data.decode("utf-8", "replace")
    return comes_from_elsewhere(text, wanted.decode()) or re.search(r"\bdump|\.write|write_text", text) is not None
