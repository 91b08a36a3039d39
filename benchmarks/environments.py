"""Write what an installer would have taken on the day of each TRL release: `python -m benchmarks.environments --write`.

For each tag of a clone of TRL: the newest transformers, accelerate, peft, vllm and deepspeed that were out on that day
and that this release of TRL accepts. Days are upload times as the package index states them; what TRL accepts is in
`rules/requirements`. The result is kept as data, so that a measurement needs no network.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

from packaging.version import Version

from benchmarks.trees import clone_of, tags_of
from trl_lint.knowledge.refresher.listing import fetch, index_url, version_of
from trl_lint.knowledge.releases import parse_specifier
from trl_lint.knowledge.requirements import declared_facts

PACKAGES = ("transformers", "accelerate", "peft", "vllm", "deepspeed")
FILE = Path(__file__).with_name("trl-environments.txt")


class Environment(NamedTuple):
    """A release of TRL and what was installed beside it; `versions` by package, trl included."""

    tag: str
    day: str
    versions: dict[str, str]


def read_environments(path: Path = FILE) -> list[Environment]:
    """The recorded environments, oldest release first."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            tag, day, *pins = line.split()
            found.append(Environment(tag, day, dict(pin.split("==") for pin in pins)))
    return found


def upload_days(package: str) -> dict[Version, str]:
    """When each final release that is not yanked reached the index. Raises OSError where it cannot be asked."""
    days: dict[Version, str] = {}
    for file in fetch(package, index_url()):
        version = version_of(file.name)
        if version is None or version.is_prerelease or file.yanked or not file.uploaded:
            continue
        days[version] = min(file.uploaded, days.get(version, file.uploaded))
    return days


def accepted(trl: str, package: str) -> list[str]:
    """What a release of TRL asks of a package: itself, else one of its extras."""
    found = declared_facts("trl", trl)
    if found is None:
        return []
    own = [text for name, text in found.items() if name == package]
    extra = [text for name, text in found.items() if name.startswith(f"{package}[")]
    return [text.partition(";")[0].strip() for text in own or extra]


def newest(days: dict[Version, str], day: str, specifiers: list[str]) -> Version | None:
    """The newest release of a day that all specifiers accept."""
    sets = [parse_specifier(text) for text in specifiers if text not in ("", "*")]
    fitting = [v for v, out in days.items() if out <= day and all(s is None or s.contains(v) for s in sets)]
    return max(fitting, default=None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--since", default="0.8.0", help="the first release")
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name} instead of printing")
    args = parser.parse_args()
    clone = clone_of(args.mirror, "huggingface/trl")
    days = {package: upload_days(package) for package in ("trl", *PACKAGES)}
    lines = ["# tag, day of the release, and the newest releases out on that day which it accepts"]
    for tag in tags_of(clone, args.since):
        version = Version(tag.removeprefix("v"))
        day = days["trl"].get(version)
        if day is None:
            print(f"{tag}: not on the index", file=sys.stderr)
            continue
        pins = [f"trl=={version}"]
        for package in PACKAGES:
            found = newest(days[package], day, accepted(str(version), package))
            if found is not None:
                pins.append(f"{package}=={found}")
        lines.append(" ".join([tag, day, *pins]))
    text = "\n".join(lines) + "\n"
    if args.write:
        FILE.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
