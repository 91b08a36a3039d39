"""Checks of the histories against their sources: `python -m trl_lint.knowledge.refresh api --verify [PACKAGE…]`.

1. A sample of releases is extracted again and every fact compared with what the reader gives back for that release.
2. One release of trl, with its dependencies, is installed in a scratch environment and imported: the names of its
   public modules and the parameters and defaults of its classes and functions are compared with `inspect`.

The second check is the only place where a foreign package is installed, and never one that is being linted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from typing import Any

from packaging.version import Version

from trl_lint.knowledge import api, histories
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.packages import PACKAGES
from trl_lint.knowledge.refresher.release import BORROWED, PRESENT, release_facts
from trl_lint.missing import ABSENT, UNKNOWN, Missing

_SAMPLE = 5
_COUNTED = (
    "callables", "open", "parameters", "missing", "invented", "required", "defaults", "differing", "names", "unknown",
    "lost",
)  # fmt: skip
# What is imported and looked at where nothing else is asked for, and the CPU build of torch that suits it.
_TRL = "1.16.0"
_IMPORTED = {"trl": _TRL, "transformers": "5.23.0", "torch": "2.13.0"}


def verify(names: list[str], pins: Mapping[str, str] | None = None) -> int:
    """Run the checks and print the figures. Returns 1 if anything differs.

    `pins`: the releases of trl, transformers and torch to import. An older trl wants a transformers of its day to be
    told: few of them name an upper bound.
    """
    failed = False
    for name in names:
        failed = not verify_sample(name) or failed
    if "trl" in names:
        failed = not verify_imported({"trl": _TRL, **pins} if pins else _IMPORTED) or failed
    return 1 if failed else 0


def verify_sample(name: str) -> bool:
    """Extract a few releases again and compare them, fact by fact, with the written history."""
    package = PACKAGES[name]
    archives = index.archives(name, Version(package.since))
    step = max(1, len(archives) // _SAMPLE)
    facts, differing = 0, []
    for archive in archives[::-step]:
        at = histories.positions(name).get(str(archive.version))
        if at is None:
            differing.append(f"{archive.version}: not in the history")
            continue
        found = release_facts(package, index.read(archive, package.is_wanted), {})
        for symbol, values in found.items():
            if symbol in ("outside", "messages"):
                continue
            block = histories.block(name, symbol)
            read = block.values(at) if block is not None else {}
            for fact, value in values.items():
                facts += 1
                # A name that a module only borrows is told in `outside` unless it was once at home there.
                expected = value.lstrip(BORROWED).replace("\\x7c", "|")
                if fact != PRESENT and read.get(fact, expected if value.startswith(BORROWED) else None) != expected:
                    differing.append(f"{archive.version} {symbol} {fact}: {value!r} read as {read.get(fact)!r}")
            invented = set(read) - set(values)
            differing += [f"{archive.version} {symbol} {fact}: not in the release" for fact in sorted(invented)]
    print(f"{name}: {facts:,} facts of {len(archives[::-step])} releases compared, {len(differing)} differ")
    for line in differing[:20]:
        print(f"  {line}")
    return not differing


def verify_imported(pins: Mapping[str, str]) -> bool:
    """Install one trl in a scratch environment and compare with what Python sees."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = os.path.join(folder, "Scripts" if os.name == "nt" else "bin", "python")
        extras = {"trl": "trl[peft]"}
        packages = [f"{extras.get(name, name)}=={version}" for name, version in pins.items()]
        subprocess.run([python, "-m", "pip", "install", "-q", "torch", *packages], check=True)
        command = [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"]
        listed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        versions = {entry["name"]: entry["version"] for entry in listed if entry["name"] in ("trl", "transformers")}
        print(", ".join(f"{name} {version}" for name, version in sorted(versions.items())))
        probe = os.path.join(os.path.dirname(__file__), "probe.py")
        answer = subprocess.run([python, probe, "trl"], check=True, capture_output=True, text=True).stdout
    return compare(json.loads(answer.splitlines()[-1]), versions)


def compare(seen: dict[str, Any], versions: dict[str, str]) -> bool:
    """Compare `{"callables": {name: {parameter: default or null}}, "names": {module: […]}}` with the histories."""
    counts = dict.fromkeys(_COUNTED, 0)
    notes: list[str] = []
    for name, callable_ in sorted(seen["callables"].items()):
        target = api.resolve(name, versions)
        if isinstance(target, Missing):
            counts["unknown" if target is UNKNOWN else "lost"] += 1
            continue
        signature = api.signature(target, versions)
        counts["callables"] += 1
        if signature.open:
            counts["open"] += 1
            if not callable_["kwargs"]:
                notes.append(f"{name}: open, but takes only {len(callable_['parameters'])} parameters")
        parameters = callable_["parameters"]
        counts["parameters"] += len(parameters)
        missing = set(parameters) - set(signature.parameters)
        if not signature.open:
            counts["missing"] += len(missing)
            notes += [f"{name}: {parameter} missing" for parameter in sorted(missing)]
        if not callable_["kwargs"]:
            # A decorator that takes an old name is not seen by `inspect`, which looks behind it.
            known = {name for name, parameter in signature.parameters.items() if not parameter.deprecated}
            invented = known - set(parameters)
            counts["invented"] += len(invented)
            notes += [f"{name}: {parameter} invented" for parameter in sorted(invented)]
        for parameter in set(parameters) & set(signature.parameters):
            expected = signature.parameters[parameter]
            default = parameters[parameter]
            if expected.required != (default == "*"):
                counts["required"] += 1
                notes.append(f"{name}: {parameter} required {expected.required}, but {default}")
            elif expected.default and expected.default[0] != "`" and default != "?":
                counts["defaults"] += 1
                if expected.default != default:
                    counts["differing"] += 1
                    notes.append(f"{name}: {parameter} {expected.default}, but {default}")
    for module, names in sorted(seen["names"].items()):
        for name in names:
            counts["names"] += 1
            found = api.exports(module, name, versions[module.partition(".")[0]])
            counts["unknown"] += found is UNKNOWN
            if found is ABSENT:
                counts["lost"] += 1
                notes.append(f"{module}.{name}: importable, but held absent")
    print(", ".join(f"{key} {value:,}" for key, value in counts.items()))
    for note in notes[:40]:
        print(f"  {note}", file=sys.stderr)
    return not any(counts[key] for key in ("missing", "invented", "required", "differing", "lost"))
