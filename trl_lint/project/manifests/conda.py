"""conda environment files: match specifications, and the pip requirements nested in them."""

from __future__ import annotations

import re

from trl_lint.project.manifests.collected import Collected
from trl_lint.project.pins import Manifest, Pin
from trl_lint.project.repositories import package_at
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.nodes import Mapping, Scalar, Sequence
from trl_lint.sources.requirements import is_path_or_url, normalised
from trl_lint.sources.yaml import read_yaml

# conda's names of packages that PyPI calls otherwise.
_PYPI_NAMES = {"pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch", "huggingface_hub": "huggingface-hub"}
_SPEC = regex(
    r"(?:[\w./:-]+::)?(?P<name>[A-Za-z0-9_.-]+)"
    r"(?:\s*(?P<version>[=<>!~][^\[\s]*)|\s+(?P<number>\d[^\[\s]*)|)(?:\s+[^\[\s]+)?\s*(?:\[.*\])?$"
)


def read(file: SourceFile) -> Manifest | None:
    source = Source(file, "yaml")
    pins: list[Pin] = []
    collected = Collected(source)
    python = None
    for root in read_yaml(source):
        dependencies = root.get("dependencies") if isinstance(root, Mapping) else None
        if not isinstance(dependencies, Sequence):
            continue
        for item in dependencies.items:
            if isinstance(item, Mapping):
                _add_pip(item, collected)
            elif isinstance(item, Scalar) and isinstance(item.value, str):
                pin = _read_spec(source, item)
                if pin is not None and pin.package == "python":
                    python = pin.specifier or None
                elif pin is not None:
                    pins.append(pin)
    pins += collected.pins
    if not pins and not collected.problems:
        return None
    return Manifest(file.path, "conda", tuple(pins), python, tuple(collected.problems))


def _add_pip(item: Mapping, collected: Collected) -> None:
    nested = item.get("pip")
    if not isinstance(nested, Sequence):
        return
    for line in nested.items:
        if not isinstance(line, Scalar) or not isinstance(line.value, str):
            continue
        value = line.value.strip()
        inner = line.raw.find(value)
        if inner >= 0 and is_path_or_url(value) and "://" in value:
            place = collected.source.location(line.start + inner, line.start + inner + len(value))
            if package := package_at(value):
                collected.pins.append(Pin(package, "", place, "url", text=value, url=value))
            continue
        if inner < 0 or value.startswith(("-", ".", "/")) or "://" in value.split("@", 1)[0] or "$" in value:
            continue
        comment = re.search(r"\s#", value)
        end = inner + (comment.start() if comment else len(value))
        collected.add(line.start + inner, line.start + end, "requirement")


def _read_spec(source: Source, item: Scalar) -> Pin | None:
    text = str(item.value).strip()
    inner = item.raw.find(text)
    match = _SPEC.match(text)
    if match is None or inner < 0:
        return None
    name = match["name"]
    package = _PYPI_NAMES.get(name.lower(), normalised(name))
    specifier = conda_specifier(match["version"] or match["number"] or "")
    if specifier is None:
        return None
    start = item.start + inner
    place = None
    if match["version"] and "=" not in text[match.end("version") :]:
        place = source.location(start + match.start("version"), start + match.end("version"))
    return Pin(
        package=package,
        specifier=specifier,
        location=source.location(start, start + len(text)),
        kind="requirement",
        text=text,
        specifier_location=place,
    )


def conda_specifier(version: str) -> str | None:
    """A conda version as PEP 440: `=1.2` is fuzzy (==1.2.*), `=1.2.3=build` exact, `1.2|1.3` has no equivalent."""
    if not version:
        return ""
    if "|" in version:
        return None
    if version.startswith("==") or version[0] in "<>!~":
        return ",".join(part.strip() for part in version.split(",") if part.strip(" *"))
    parts = version.lstrip("=").split("=")
    release = parts[0].removesuffix(".*").removesuffix("*").rstrip(".")
    if not re.fullmatch(r"\d+(?:\.\d+)*(?:\.?(?:a|b|rc|post|dev)\d*)?", release):
        return "" if not release else None
    return f"=={release}" if len(parts) > 1 and parts[1] not in ("", "*") else f"=={release}.*"
