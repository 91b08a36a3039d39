"""Declared requirements of a release, from the metadata in its archive."""

from __future__ import annotations

import re
from email.parser import HeaderParser

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from trl_lint.knowledge.refresher.index import Contents
from trl_lint.regexes import regex

ANY = "*"
_DEVELOPMENT_EXTRAS = {
    "agents", "all", "benchmark", "dev", "dev-dependencies", "dev-tensorflow", "dev-torch", "docs", "docs-specific",
    "docs_specific", "modelcreation", "quality", "rich", "test", "test-dev", "test-fp8", "test-prod", "test-trackers",
    "test_dev", "test_fp8", "test_integrations", "test_prod", "test_trackers", "testing", "tests",
}  # fmt: skip
_EXTRA = regex(r"""(?:\(\s*)?\bextra\s*==\s*['"]([^'"]+)['"]\s*\)?""")


def read_requirements(contents: Contents, tracked: frozenset[str]) -> dict[str, str]:
    """`name` or `name[extra]` -> specifier; several lines for one name are joined.

    A part that holds only under a marker is written `specifier;marker`, parts are separated by ` & `. `python` is
    Requires-Python. Of what an extra brings only the `tracked` packages are kept, and nothing of the extras for
    developers. Extras of the required package stand before the specifier: `[cli]>=1.0`.
    """
    path = next((name for name in contents.members if name.endswith(".dist-info/METADATA") or name == "PKG-INFO"), "")
    if not path:
        return {}
    header = HeaderParser().parsestr(contents.members[path][1].decode("utf-8", "replace"))
    found: dict[str, list[str]] = {}
    for line in header.get_all("Requires-Dist") or []:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = str(requirement.marker or "")
        extras = _EXTRA.findall(marker)
        rest = re.sub(r"^\s*and\s+|(?<!\s)\s+and\s*$", "", _EXTRA.sub("", marker)).strip()
        text = ("[" + ",".join(sorted(requirement.extras)) + "]" if requirement.extras else "") + (
            str(requirement.specifier) or ("@" if requirement.url else ANY)
        )
        name = canonicalize_name(requirement.name)
        if extras and name not in tracked:
            continue
        # Two extras joined with `or` are rare: the requirement belongs to each.
        for extra in extras or [""]:
            if extra in _DEVELOPMENT_EXTRAS:
                continue
            key = name + (f"[{canonicalize_name(extra)}]" if extra else "")
            found.setdefault(key, []).append(f"{text};{rest}" if rest else text)
    facts = {name: _join(parts) for name, parts in sorted(found.items())}
    if header.get("Requires-Python"):
        facts["python"] = str(header["Requires-Python"]).replace(" ", "")
    return facts


def _join(parts: list[str]) -> str:
    """`>=1.0` and `!=1.2` are one specifier; parts with a marker stay apart."""
    plain = sorted({part for part in parts if ";" not in part and part != ANY and not part.startswith("[")})
    others = sorted({part for part in parts if ";" in part or part.startswith("[")})
    if not plain and not others:
        return ANY
    return " & ".join([*([",".join(plain)] if plain else []), *others]).replace("|", "¦")
