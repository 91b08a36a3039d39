"""Bring `rules/releases`, `rules/api`, `rules/conditions`, `rules/values` and `rules/models` up to date:
`python -m trl_lint.knowledge.refresh releases|api|conditions|values|models [PACKAGE…]`.

`releases` lists what the index has, `api` reads the archives and writes the API histories, `api --verify` checks them
(`trl_lint.knowledge.refresher`), `conditions` adds what new releases refuse and warn about, `values` reads which texts
their trainers know of a field, and `models` what they state about models.

A command for those who work on the tool; nothing else imports it. Where the index tells no dates, the date already in
the list is kept.
"""

from __future__ import annotations

import argparse
import os
import sys

from packaging.version import Version

from trl_lint.knowledge import rules_dir
from trl_lint.knowledge.refresher.listing import IndexFile, fetch, index_url, version_of
from trl_lint.knowledge.releases import Release, releases

PACKAGES = (
    "accelerate",
    "axolotl",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "flash-attn",
    "huggingface-hub",
    "liger-kernel",
    "llamafactory",
    "ms-swift",
    "numpy",
    "openrlhf",
    "peft",
    "pydantic",
    "ray",
    "torch",
    "transformers",
    "trl",
    "unsloth",
    "verl",
    "vllm",
)


def summarise(files: list[IndexFile], known: dict[str, str]) -> list[Release]:
    """One release per version, oldest first: yanked if all its files are, dated by its first file (else as `known`)."""
    by_version: dict[Version, list[IndexFile]] = {}
    for file in files:
        version = version_of(file.name)
        if version is not None:
            by_version.setdefault(version, []).append(file)
    found = []
    for version in sorted(by_version):
        of_version = by_version[version]
        dates = sorted(file.uploaded for file in of_version if file.uploaded)
        date = dates[0] if dates else known.get(str(version), "")
        found.append(Release(str(version), date, all(file.yanked for file in of_version)))
    return found


def render(found: list[Release]) -> str:
    """The text of a list: one release a line."""
    return "".join(" ".join([r.version, *[r.date] * bool(r.date), *["yanked"] * r.yanked]) + "\n" for r in found)


def refresh_releases(packages: list[str]) -> int:
    url = index_url()
    failed = 0
    for package in packages:
        try:
            files = fetch(package, url)
        except (OSError, ValueError, KeyError) as error:
            print(f"{package}: {error}", file=sys.stderr)
            failed += 1
            continue
        known = {release.version: release.date for release in releases(package)}
        found = summarise(files, known)
        path = os.path.join(rules_dir(), "releases", f"{package}.txt")
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(render(found))
        newest = found[-1].version if found else "none"
        print(f"{package}: {len(found)} releases, newest {newest}")
    return 1 if failed else 0


def refresh_api(names: list[str]) -> int:
    from trl_lint.knowledge.refresher.build import refresh_api as write_histories

    return write_histories(names)


def refresh_models(names: list[str], asked: argparse.ArgumentParser) -> int:
    from trl_lint.knowledge.refresher.models_build import RECORDED
    from trl_lint.knowledge.refresher.models_build import refresh_models as write_models

    if unknown := [name for name in names if name not in RECORDED]:
        asked.error(f"no such package: {', '.join(unknown)} (known: {', '.join(RECORDED)})")
    return write_models(names or list(RECORDED))


def refresh_conditions(names: list[str], anew: bool, asked: argparse.ArgumentParser) -> int:
    from trl_lint.knowledge.refresher.conditions_build import RECORDED
    from trl_lint.knowledge.refresher.conditions_build import refresh_conditions as write_conditions

    if unknown := [name for name in names if name not in RECORDED]:
        asked.error(f"no such package: {', '.join(unknown)} (known: {', '.join(RECORDED)})")
    return write_conditions(names or list(RECORDED), anew)


def refresh_values(names: list[str], asked: argparse.ArgumentParser) -> int:
    from trl_lint.knowledge.refresher.choices_build import SINCE
    from trl_lint.knowledge.refresher.choices_build import refresh_values as write_values

    if unknown := [name for name in names if name not in SINCE]:
        asked.error(f"no such package: {', '.join(unknown)} (known: {', '.join(SINCE)})")
    return write_values(names or list(SINCE))


def verify_api(names: list[str], releases: dict[str, str]) -> int:
    from trl_lint.knowledge.refresher.verify import verify

    return verify(names, releases)


def parser() -> argparse.ArgumentParser:
    from trl_lint.knowledge.refresher.choices_build import SINCE as WITH_VALUES
    from trl_lint.knowledge.refresher.conditions_build import RECORDED as WITH_CONDITIONS
    from trl_lint.knowledge.refresher.models_build import RECORDED as WITH_MODELS
    from trl_lint.knowledge.refresher.packages import PACKAGES as RECORDED

    parser = argparse.ArgumentParser(
        prog="python -m trl_lint.knowledge.refresh",
        description="Bring the lists of releases (`releases`), the API histories (`api`), what releases refuse "
        "(`conditions`), which texts they know of a field (`values`) or what they state about models (`models`) up to "
        "date.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("releases", help="what the index has")
    listing.add_argument("packages", nargs="*", metavar="PACKAGE", default=list(PACKAGES))
    api = commands.add_parser("api", help="what the releases offer, read from their archives")
    api.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(RECORDED))
    api.add_argument("--verify", action="store_true", help="write nothing; compare the histories with the archives")
    api.add_argument(
        "--release",
        action="append",
        default=[],
        metavar="PACKAGE==VERSION",
        help="with --verify: import this release of trl, transformers or torch",
    )
    conditions = commands.add_parser("conditions", help="what the releases refuse, read from their archives")
    conditions.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(WITH_CONDITIONS))
    conditions.add_argument("--anew", action="store_true", help="read all releases again, not only new ones")
    values = commands.add_parser("values", help="which texts the releases know of a field, read from their archives")
    values.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(WITH_VALUES))
    models = commands.add_parser("models", help="what the releases state about models, read from their archives")
    models.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(WITH_MODELS))
    return parser


def read_pins(values: list[str]) -> dict[str, str]:
    """`trl==0.24.0` as {"trl": "0.24.0"}. Raises ValueError."""
    from trl_lint.knowledge.histories import positions

    found = {}
    for value in values:
        name, equal, version = value.partition("==")
        if name not in ("trl", "transformers", "torch") or not equal or not version:
            raise ValueError(f"--release: `{value}` is not of the form trl==VERSION, transformers==… or torch==…")
        if name != "torch" and version not in positions(name):
            raise ValueError(f"--release: {name} {version} is not in the history")
        found[name] = version
    return found


def main(arguments: list[str]) -> int:
    from trl_lint.knowledge.refresher.packages import PACKAGES as RECORDED

    asked = parser()
    args = asked.parse_args(arguments)
    if args.command == "releases":
        return refresh_releases(args.packages)
    if args.command == "conditions":
        return refresh_conditions(args.packages, args.anew, asked)
    if args.command == "values":
        return refresh_values(args.packages, asked)
    if args.command == "models":
        return refresh_models(args.packages, asked)
    names = args.packages or list(RECORDED)
    if unknown := [name for name in names if name not in RECORDED]:
        asked.error(f"no such package: {', '.join(unknown)} (known: {', '.join(RECORDED)})")
    if not args.verify:
        if args.release:
            asked.error("--release needs --verify")
        return refresh_api(names)
    try:
        pins = read_pins(args.release)
    except ValueError as error:
        asked.error(str(error))
    return verify_api(names, pins)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
