"""A number at which something is left out is said by `budget.limit` or `budget.note`, or explained where it stands.

`NOT_YET` are those that were there before this was asked for: nothing may be added.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1] / "trl_lint"
LIMIT = re.compile(
    r"^(_?(?:MOST|MAX|MAXIMUM|DEEP|DEEPEST|LONGEST|LARGEST)(?:_[A-Z_]+)?|_?[A-Z_]+_DEEP) = [\d_<( ]", re.MULTILINE
)
# What only shows things, and what only those use who work on the tool.
SHOWING = ("reports/", "editors/", "commands/", "knowledge/refresher/", "causes.py", "words.py", "diagnose/", "cache/")

NOT_YET = {
    "checks/_origins.py: _LARGEST",
    "checks/agreement.py: _MOST_LABELS",
    "checks/algorithm/adapter_target_not_in_model.py: _MOST_SHOWN",
    "checks/algorithm/dataset_column_missing.py: _MOST_SHOWN",
    "checks/configs/_hydra_advice.py: _MOST_CONFIGS",
    "checks/configs/_hydra_advice.py: _MOST_NEAR",
    "checks/configs/_trainer_given.py: _DEEP",
    "checks/configs/_trainer_given.py: _MOST",
    "checks/distribution/_accelerators.py: _CALLERS_DEEP",
    "checks/distribution/_callers.py: _CALLERS_DEEP",
    "checks/distribution/_callers.py: _MOST_ASKED",
    "checks/distribution/_callers.py: _MOST_NAMES",
    "checks/distribution/_callers.py: _MOST_PARSED",
    "checks/distribution/_cuda_guards.py: _MOST_STEPS",
    "checks/distribution/_fsdp.py: _SYMBOLS_DEEP",
    "checks/drift/_checkpoints.py: _MOST_SAVED",
    "checks/drift/_checkpoints.py: _MOST_VALUES",
    "checks/drift/_checkpoints.py: _NAMES_DEEP",
    "checks/drift/_derived.py: _BASES_DEEP",
    "checks/pins/_closure.py: _MOST_COUNTED",
    "checks/pins/_installations.py: _MOST_REPORTED",
    "checks/pins/_together.py: _MOST_ALIKE",
    "checks/pins/_together.py: _MOST_KEPT",
    "knowledge/condition_language.py: _LARGEST_TEXT",
    "knowledge/own_files.py: MOST_BYTES",
    "knowledge/own_files.py: MOST_FILES",
    "knowledge/resolver.py: _MOST_DEPTH",
    "project/callers.py: _MOST_FILES",
    "project/candidates.py: _LONGEST",
    "project/candidates.py: _MOST_PARTS",
    "project/carried.py: _DEEPEST",
    "project/columns/__init__.py: _DEEP",
    "project/columns/files.py: MOST_BYTES",
    "project/columns/files.py: _MOST_ROWS",
    "project/columns/returned.py: _DEEP",
    "project/demands.py: _DEEP",
    "project/demands.py: _LONGEST",
    "project/demands.py: _MOST_STEPS",
    "project/links.py: _MOST_CANDIDATES",
    "project/manifests/clones.py: _LONGEST_PATH",
    "project/parsers.py: _DEEP",
    "project/resolution.py: _MOST_KEPT",
    "project/resolution.py: _MOST_PYTHON",
    "project/sequences.py: _MOST_ALTERNATIVES",
    "project/templates.py: _LONGEST_LINE",
    "project/trainercall/changes.py: _MOST_CHANGES",
    "project/trainercall/lines.py: _LONGEST",
    "project/trainercall/lines.py: _MOST_LINES",
    "project/trainercall/parameters.py: _MOST_ASKED",
    "project/trainercall/parameters.py: _MOST_FUNCTIONS",
    "project/trainercall/resolver.py: MOST_OPTIONS",
    "project/trainercall/resolver.py: _DEEP",
    "project/trainercall/running.py: _DEEP",
    "python/algebra.py: _MOST_DEEP",
    "python/dataflow/device_across_calls.py: MOST_CALLS_DEEP",
    "python/dataflow/dtype.py: _MOST_STEPS",
    "python/dataflow/flow.py: _MOST_TERMS",
    "python/dataflow/gradient.py: _MOST_STEPS",
    "python/dataflow/gradient_calls.py: _MOST_CALLS_DEEP",
    "python/dataflow/places.py: _MOST_MEMBERS",
    "python/default_text.py: _LONGEST_EXPRESSION",
    "python/default_text.py: _LONGEST_LITERAL",
    "python/guards.py: _CALLERS_DEEP",
    "python/names.py: _MOST_STEPS",
    "python/newer_syntax.py: _MOST_CHARACTERS",
    "python/newer_syntax.py: _MOST_NESTED",
    "python/version_tests.py: _MOST_VALUES",
    "python/version_tests.py: _NAMES_DEEP",
    "review/github.py: LONGEST_WAIT",
    "review/markdown.py: _MAX_RELATED",
    "review/plan.py: MAX_COMMENTS",
    "review/report.py: MAX_BYTES",
    "review/report.py: _MAX_CONTENT",
    "review/report.py: _MAX_FINDINGS",
    "review/report.py: _MAX_LINE",
    "review/report.py: _MAX_PATH",
    "review/report.py: _MAX_TEXT",
    "review/suggestion.py: _MAX_CHARACTERS",
    "run/readers/hydra_files.py: _DEEPEST",
    "settings_file.py: _MOST_EXTENDED",
    "sources/shell_fragments.py: _LONGEST_WORD",
    "sources/shell_options.py: _LARGEST",
    "sources/shell_parse.py: _MOST_KEPT",
    "sources/text.py: MAX_BYTES",
    "upgrade/plan.py: MOST_PLACES",
    "workers.py: _MOST",
    "workers.py: _MOST_RUNS",
}


def unsaid() -> set[str]:
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for match in LIMIT.finditer(text):
            number = text.count("\n", 0, match.start())
            is_explained = "#" in lines[number] or (number and lines[number - 1].startswith("#"))
            is_said = re.search(rf"budget\.(?:limit|note)\([^)]*\b{match[1]}\b", text, re.DOTALL) is not None
            if not (is_explained or is_said or name.startswith(SHOWING)):
                found.add(f"{name}: {match[1]}")
    return found


def test_every_limit_is_said_or_explained():
    assert sorted(unsaid() - NOT_YET) == [], "say it with `budget.limit`, or why nothing is lost in a comment"
