"""docs/trl-lint.schema.json, the JSON Schema of the settings, in the form that SchemaStore takes.

`python tests/settings_schema.py` writes it from `trl_lint/options.py` (so does `make docs`).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from documents import ROOT

SCHEMA = ROOT / "docs" / "trl-lint.schema.json"


def schema() -> dict[str, Any]:
    from trl_lint.finding import SEVERITIES
    from trl_lint.options import SETTINGS
    from trl_lint.reports import FORMATS

    strings = {"type": "array", "items": {"type": "string"}}
    rules = {"type": "array", "items": {"$ref": "#/definitions/rule"}}
    text = {"type": "string", "minLength": 1}
    kinds: dict[str, dict[str, Any]] = {
        "boolean": {"type": "boolean"},
        "string": text,
        "file": text,
        "strings": strings,
        "files": strings,
        "rules": rules,
        "rules by pattern": {"type": "object", "additionalProperties": rules},
        "releases": {"anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, strings]},
        "format": {"type": "string", "enum": list(FORMATS)},
        "level": {"type": "string", "enum": list(SEVERITIES)},
    }
    properties = {}
    for name, one in sorted(SETTINGS.items()):
        said = {"description": one.help.format(formats="the form of the report"), **kinds[one.setting]}
        properties[name] = said if one.otherwise is None else {**said, "default": one.otherwise}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://json.schemastore.org/trl-lint.json",
        "title": "trl-lint",
        "description": "Settings of trl-lint: trl-lint.toml, .trl-lint.toml, or [tool.trl-lint] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "definitions": {
            "rule": {
                "description": "A rule (TRL101), a topic (TRL1), TRL for the default rules, or ALL",
                "type": "string",
                "pattern": "^(ALL|TRL[0-9]{0,3}|.*,.*)$",
            }
        },
        "properties": properties,
    }


def written() -> str:
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    SCHEMA.write_text(written(), "utf-8")
