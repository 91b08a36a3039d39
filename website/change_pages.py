"""What changed in each release, as pages of the site: one for each minor release of a package, written from the
histories when the site is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from trl_lint.knowledge.histories import releases
from trl_lint.knowledge.releases import releases as listed
from trl_lint.records import NamedTuple
from website.changes import Change, changes, refusals, shown_default, still_in, whole

TITLES = {
    "trl": "TRL", "transformers": "transformers", "accelerate": "accelerate", "peft": "PEFT", "vllm": "vLLM",
}  # fmt: skip
_SIGNS = {"+": "new", "-": "gone", "~": "on other conditions"}


class ChangePage(NamedTuple):
    """A page of the site: its path below docs/, its title and its Markdown."""

    path: str
    title: str
    text: str


def change_pages() -> Iterator[ChangePage]:
    """The list of all packages, and a page for each of their minor releases that has something to tell."""
    lists = ["# What changed in which release\n", _INTRODUCTION]
    for package, title in TITLES.items():
        rows = []
        for minor, of_minor in reversed(_minors(package).items()):
            told = [text for release in of_minor if (text := _release_text(package, release))]
            if told:
                path = f"changes/{package}-{minor}.md"
                heading = f"What changed in {title} {minor}"
                yield ChangePage(path, heading, "\n".join([f"# {heading}\n", *told]))
                rows.append(_row(package, minor, of_minor))
        lists += [
            f"## {title}\n",
            "| release | date | arguments | defaults | names |",
            "|---|---|---|---|---|",
        ]
        lists += [*rows, ""]
    yield ChangePage("changes/index.md", "What changed", "\n".join(lists))


_INTRODUCTION = """\
Which arguments, defaults and names came and went with each release, and what it refuses or warns about since then.
These pages are written from the [histories](../api-histories.md) by which trl-lint judges a project. Each release was
read as it was published. Private names are left out, and so is what no history holds.

To move a project from one release to another, see [Upgrade](../upgrade.md).
"""


def _minors(package: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for release in releases(package)[1:]:
        found.setdefault(".".join(release.split(".")[:2]), []).append(release)
    return found


def _row(package: str, minor: str, of_minor: list[str]) -> str:
    told = [change for release in of_minor for change in changes(package)[release]]
    arguments = [change for change in told if change.kind == "argument"]
    moved = [change for change in arguments if change.before is not None and change.after is not None]
    names = {(change.name, change.after is None) for change in told if change.kind == "name"}
    counts = f"{len(arguments) - len(moved)} | {len(moved)} | {len(names)}"
    return f"| [{minor}]({package}-{minor}.md) | {_dates(package).get(of_minor[0], '')} | {counts} |"


def _dates(package: str) -> dict[str, str]:
    return {release.version: release.date for release in listed(package)}


def _release_text(package: str, release: str) -> str:
    """What a release has otherwise than the one before, "" if that is nothing."""
    told = changes(package)[release]
    arguments = [change for change in told if change.kind == "argument"]
    parts = [
        _table("Defaults that changed", "| of | argument | was | is | what that does |", _defaults(arguments)),
        _table("Arguments that went", "| of | argument | what to do |", _gone(arguments)),
        _list("Arguments that came", _by_owner(arguments, lambda c: c.before is None, _with_default)),
        _table("Names that went", "| name | was in | what to do |", _names_gone(package, release, told)),
        _list("Names that came", _names_come(told)),
        _list("Modules", _modules(package, release)),
        _list("Refused and warned about", _refused(package, release)),
        _list("Methods", _methods(told)),
        _list("Requirements", _requirements(told)),
    ]
    text = "".join(parts)
    if not text:
        return ""
    before = releases(package)[releases(package).index(release) - 1]
    date = _dates(package).get(release, "")
    return f"## {release}\n\n{f'Released {date}. ' if date else ''}What it has otherwise than {before}.\n\n{text}"


def _defaults(arguments: list[Change]) -> Iterator[str]:
    for change in arguments:
        if change.before is not None and change.after is not None:
            was, now = _code(shown_default(change.before)), _code(shown_default(change.after))
            yield f"| {_owner(change.owner)} | {_code(change.name)} | {was} | {now} | {_cell(change.note)} |"


def _gone(arguments: list[Change]) -> Iterator[str]:
    gone = (change for change in arguments if change.after is None)
    yield from (f"| {_owner(each.owner)} | {_code(each.name)} | {_cell(each.note)} |" for each in gone)


def _by_owner(told: list[Change], is_meant: Callable[[Change], bool], show: Callable[[Change], str]) -> Iterator[str]:
    owners = dict.fromkeys(change.owner for change in told if is_meant(change))
    for owner in owners:
        shown = (show(change) for change in told if change.owner == owner and is_meant(change))
        yield f"* {_owner(owner)}: {', '.join(shown)}"


def _with_default(change: Change) -> str:
    value = shown_default(change.after)
    return _code(change.name if value in ("required", "?") else f"{change.name}={value}")


def _shortest(told: list[Change], is_gone: bool) -> dict[str, Change]:
    """Of each name that came, or went, the change in the shortest module: its other homes say the same."""
    found: dict[str, Change] = {}
    meant = (change for change in told if change.kind == "name" and (change.after is None) is is_gone)
    for change in sorted(meant, key=lambda change: (change.owner.count("."), change.owner)):
        found.setdefault(change.name, change)
    return found


def _names_gone(package: str, release: str, told: list[Change]) -> Iterator[str]:
    for name, change in _shortest(told, True).items():
        homes = still_in(package, name, release)
        do = change.note or (f"still in `{homes[0]}`" if homes else "")
        yield f"| {_code(name)} | {_code(change.owner)} | {_cell(do)} |"


def _names_come(told: list[Change]) -> Iterator[str]:
    found = _shortest(told, False).values()
    for module in dict.fromkeys(change.owner for change in found):
        yield f"* {_code(module)}: {', '.join(_code(change.name) for change in found if change.owner == module)}"


def _modules(package: str, release: str) -> Iterator[str]:
    told = whole(package).get(release, [])
    for word, is_gone in (("came", False), ("went", True)):
        names = sorted(change.name for change in told if (change.after is None) is is_gone)
        if names:
            yield f"* {word}: {', '.join(map(_code, names))}"


def _refused(package: str, release: str) -> Iterator[str]:
    for line in refusals(package, release):
        sign, _, text = line.partition(" ")
        who, _, sentence = text.partition(": ")
        if who.endswith((" refuses", " warns")):  # what a class that came or went says is not told sentence by sentence
            yield f"* {_SIGNS[sign]}: {who}: {_code(sentence)}"


def _methods(told: list[Change]) -> Iterator[str]:
    methods = [change for change in told if change.kind == "method"]
    for word, is_meant in (
        ("came", lambda change: change.before is None),
        ("went", lambda change: change.after is None),
        ("takes other arguments", lambda change: None not in (change.before, change.after)),
    ):
        yield from (f"{line} ({word})" for line in _by_owner(methods, is_meant, lambda change: _code(change.name)))


def _requirements(told: list[Change]) -> Iterator[str]:
    for change in told:
        if change.kind == "requirement":
            was, now = (_code(value) if value else "not required" for value in (change.before, change.after))
            yield f"* {_code(change.name)}: {was} → {now}"


def _owner(symbol: str) -> str:
    """`GRPOConfig`; what is experimental says so, for it has the names of what is not."""
    module, _, name = symbol.partition(":")
    return f"{_code(name)} (experimental)" if ".experimental." in f".{module}." else _code(name)


def _code(text: str) -> str:
    """As code, in a table as well."""
    fence = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    shown = " ".join(text.split()).replace("|", "\\|")
    return f"{fence}{pad}{shown}{pad}{fence}" if shown else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(title: str, head: str, rows: Iterable[str]) -> str:
    found = list(rows)
    rule = "|---" * (head.count("|") - 1) + "|"
    return "\n".join([f"### {title}\n", head, rule, *found, "\n"]) if found else ""


def _list(title: str, rows: Iterable[str]) -> str:
    found = list(rows)
    return "\n".join([f"### {title}\n", *found, "\n"]) if found else ""
