"""Bring what `rules` tells of releases up to date:
`python -m trl_lint.knowledge.refresh all|releases|requirements|api|conditions|values|models|environment [PACKAGE…]`.

`releases` lists what the index has, `requirements` reads what the releases declare to require, `api` reads the archives
and writes the API histories, `api --verify` checks them (`trl_lint.knowledge.refresher`), `conditions` adds what new
releases refuse and warn about, `values` reads which texts their trainers know of a field, `models` what they state
about models, `environment` which variables they stopped reading, and `all` does all of it for the packages.

`contracts` reads what the packages import of each other (`rules/contracts`): all of them where none is named.

`bugs` looks for the faulty code of each row of `rules/bugs` in the archives, and writes its releases.

`changes PACKAGE [OLD NEW]` prints what a release refuses and warns about since an older one: the newest two.

A command for those who work on the tool; nothing else imports it. Where the index tells no dates, the date already in
the list is kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection
from functools import partial

from packaging.version import Version

from trl_lint.knowledge.refresher import (
    build,
    choices_build,
    conditions_build,
    models_build,
    requirements_build,
    variables_build,
)
from trl_lint.knowledge.refresher.listing import IndexFile, fetch, index_url, version_of
from trl_lint.knowledge.refresher.packages import PACKAGES as RECORDED
from trl_lint.knowledge.refresher.tables import write_tables
from trl_lint.knowledge.releases import Release, releases
from trl_lint.records import NamedTuple

PACKAGES = (
    "accelerate",
    "autoawq",
    "axolotl",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "flash-attn",
    "huggingface-hub",
    "liger-kernel",
    "llamafactory",
    "ms-swift",
    "numba",
    "numpy",
    "openrlhf",
    "peft",
    "pydantic",
    "ray",
    "safetensors",
    "tokenizers",
    "torch",
    "torchtune",
    "transformers",
    "trl",
    "unsloth",
    "unsloth-zoo",
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


def list_releases(package: str) -> str:
    """The text of the list of a package's releases. Raises OSError where the index cannot be read."""
    known = {release.version: release.date for release in releases(package)}
    return render(summarise(fetch(package, index_url()), known))


class Table(NamedTuple):
    """A folder of `rules` that is written from the index: what it tells, of which packages, and a package's text."""

    folder: str
    tells: str
    packages: Collection[str]
    text_of: Callable[[str], str]


# In the order in which they are written: the others are about releases that are listed.
TABLES = {
    table.folder: table
    for table in (
        Table("releases", "what the index has", PACKAGES, list_releases),
        Table("requirements", "what they require", requirements_build.SINCE, requirements_build.build),
        Table("api", "what the releases offer", RECORDED, build.build),
        Table("conditions", "what the releases refuse", conditions_build.RECORDED, conditions_build.build),
        Table("values", "which texts the releases know of a field", choices_build.SINCE, choices_build.build),
        Table("models", "what the releases state about models", models_build.SINCE, models_build.build),
        Table("environment", "which variables they stopped reading", variables_build.SINCE, variables_build.build),
    )
}


def refresh_all(packages: Collection[str]) -> int:
    """Write every table that there is of these packages. Returns 0, or 1 if the releases of one could not be read."""
    found = [
        write_tables(table.folder, [name for name in packages if name in table.packages], table.text_of)
        for table in TABLES.values()
    ]
    return max(found)


def verify_api(names: list[str], releases: dict[str, str]) -> int:
    from trl_lint.knowledge.refresher.verify import verify

    return verify(names, releases)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trl_lint.knowledge.refresh",
        description="Bring what is known of the releases up to date, from the index that pip is configured for.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    of_all = commands.add_parser("all", help="all of the following")
    of_all.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(PACKAGES))
    of_bugs = commands.add_parser("bugs", help="the releases of each row of rules/bugs, and rules/known_bugs")
    of_bugs.add_argument("packages", nargs="*", metavar="PACKAGE", help="all that have rows where none is given")
    of_bugs.add_argument("--index", action="store_true", help="write rules/known_bugs alone, without a network")
    of_bugs.add_argument(
        "--mine", nargs=2, metavar=("GIT_DIR", "TAG..TAG"), help="print candidates for rows of one package instead"
    )
    of_bugs.add_argument("--most", type=int, default=20, metavar="N", help="with --mine: how many (20)")
    of_bugs.add_argument("--anew", action="store_true", help="look in all archives again, not only for what is new")
    of_contracts = commands.add_parser("contracts", help="what they import of each other: rules/contracts")
    of_contracts.add_argument("packages", nargs="*", metavar="PACKAGE", help="all that are read where none is given")
    since = commands.add_parser("changes", help="print what a release refuses since an older one, of what is recorded")
    since.add_argument("package", choices=conditions_build.RECORDED)
    since.add_argument("releases", nargs="*", metavar="OLD NEW", help="the newest two where they are not given")
    for table in TABLES.values():
        one = commands.add_parser(table.folder, help=f"{table.tells}: rules/{table.folder}")
        one.add_argument("packages", nargs="*", metavar="PACKAGE", help=", ".join(table.packages))
        if table.folder == "api":
            one.add_argument(
                "--verify", action="store_true", help="write nothing; compare the histories with the archives"
            )
            one.add_argument(
                "--release",
                action="append",
                default=[],
                metavar="PACKAGE==VERSION",
                help="with --verify: import this release of trl, transformers or torch",
            )
        elif table.folder == "conditions":
            one.add_argument("--anew", action="store_true", help="read all releases again, not only new ones")
    return parser


def refresh_bugs(packages: list[str], index_alone: bool, anew: bool) -> int:
    """Write the releases of the rows of `rules/bugs`. Returns 0, 1 where a row is wrong, 2 where there is none."""
    from trl_lint.knowledge import KnowledgeError, bugs
    from trl_lint.knowledge.refresher import bugs_build

    if unknown := [name for name in packages if name not in bugs.packages()]:
        print(f"rules/bugs has no rows of {', '.join(unknown)}", file=sys.stderr)
        return 2
    try:
        if not index_alone:
            return bugs_build.refresh(packages or bugs.packages(), anew)
        bugs_build.write_index()
    except KnowledgeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def refresh_contracts(packages: list[str]) -> int:
    """Write what packages import of others. Returns 0, 1 where releases could not be read, 2 for another package."""
    import tarfile
    import zipfile

    from trl_lint.knowledge.refresher import contracts_build
    from trl_lint.knowledge.refresher.tables import write_table

    if unknown := [name for name in packages if name not in contracts_build.ON_TOP]:
        print(f"not read: {', '.join(unknown)} (known: {', '.join(contracts_build.ON_TOP)})", file=sys.stderr)
        return 2
    try:
        found = contracts_build.tables(packages or list(contracts_build.ON_TOP))
    except (OSError, zipfile.BadZipFile, tarfile.TarError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, text in found.items():
        write_table("contracts", name, text)
        print(f"contracts/{name}.txt: {len(text):,} characters")
    return 0


def print_changes(package: str, versions: list[str]) -> int:
    """Print what the second release says since the first. Returns 0, or 2 if they are not two that were read."""
    from trl_lint.knowledge.conditions import is_recorded, recorded_releases
    from trl_lint.knowledge.refresher.conditions_changes import changes

    old, *new = versions or recorded_releases(package)[-2:]
    if len(new) != 1 or not all(is_recorded(package, each) for each in (old, *new)):
        print(f"two releases of {package} that were read are asked for: {' '.join(versions)}", file=sys.stderr)
        return 2
    print(f"{package} {old} -> {new[0]}", *changes(package, old, new[0]), sep="\n")
    return 0


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
    asked = parser()
    args = asked.parse_args(arguments)
    if args.command == "changes":
        return print_changes(args.package, args.releases)
    if args.command == "bugs" and args.mine:
        from trl_lint.knowledge.refresher.bugs_mine import print_candidates

        if len(args.packages) != 1:
            asked.error("--mine takes one package")
        clone, span = args.mine
        return print_candidates(args.packages[0], clone, span, args.most)
    if args.command == "contracts":
        return refresh_contracts(args.packages)
    if args.command == "bugs":
        return refresh_bugs(args.packages, args.index, args.anew)
    known = PACKAGES if args.command == "all" else TABLES[args.command].packages
    names = args.packages or list(known)
    if unknown := [name for name in names if name not in known]:
        asked.error(f"no such package: {', '.join(unknown)} (known: {', '.join(known)})")
    if args.command == "all":
        return refresh_all(names)
    if args.command != "api" or not args.verify:
        if args.command == "api" and args.release:
            asked.error("--release needs --verify")
        text_of = TABLES[args.command].text_of
        if args.command == "conditions":
            text_of = partial(conditions_build.build, anew=args.anew)
        return write_tables(args.command, names, text_of)
    try:
        pins = read_pins(args.release)
    except ValueError as error:
        asked.error(str(error))
    return verify_api(names, pins)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
