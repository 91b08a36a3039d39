"""Files in memory, findings in them, and the reports about those."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from documents import ROOT

from trl_lint.finding import Finding, Location, Severity
from trl_lint.reports import Report, write
from trl_lint.sources.files import Files


class Project:
    """Files in memory below /p, and findings in them by the text they are at."""

    def __init__(self, **texts: str) -> None:
        self.texts = {name.replace("_", "."): text for name, text in texts.items()}

    def place(self, name: str, needle: str, message: str = "") -> Location:
        start = self.texts[name].index(needle)
        return Location(f"/p/{name}", start, start + len(needle), message)

    def report(self, *findings: Finding, **options: object) -> Report:
        overlays = {f"/p/{name}": text.encode() for name, text in self.texts.items()}
        return Report(findings, [], Files(overlays), "/p", **options)  # type: ignore[arg-type]


def finding(place: Location, message: str = "This is wrong", severity: Severity = "error", **more: object) -> Finding:
    return Finding("TRL999", message, place, severity, **more)  # type: ignore[arg-type]


def text_of(report: Report, name: str = "full") -> str:
    stream = io.StringIO()
    write(name, report._replace(summary=False), stream)
    return stream.getvalue()


def assert_valid(document: object, name: str) -> None:
    """Hold a document against one of the schemas that others have published; `jsonschema` is in the extra `test`."""
    jsonschema = pytest.importorskip("jsonschema")
    schema: dict[str, Any] = json.loads(Path(ROOT, "tests", "schemas", name).read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    assert [f"{list(e.path)}: {e.message}" for e in validator(schema).iter_errors(document)] == []


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4}, indent=1)
