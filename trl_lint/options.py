"""Every option of `trl-lint check`, declared once: its flag, its key in a settings file, and what it is for.

The parsers of all commands, the reading of plain command lines, the keys of settings files, the options of the flake8
plugin and the list in docs/settings.md are made of this table.
"""

from __future__ import annotations

from typing import Any, Literal

from trl_lint.finding import SEVERITIES
from trl_lint.records import NamedTuple

# "switch": on where it is given; "either": with a `--no-NAME` as well; "value": the last one counts; "values": all do.
Kind = Literal["switch", "either", "value", "values"]
# What its value in a settings file is; "" for an option of the command line alone.
Setting = Literal[
    "", "boolean", "string", "file", "files", "strings", "rules", "rules by pattern", "releases", "format", "level"
]  # fmt: skip


class Option(NamedTuple):
    """One option.

    `name`: the flag is `--NAME`, and the key in a settings file NAME. `group`: the heading of the help where it stands.
    `takes`: its value in the help. `default`: what the command line gives where nothing is said. `otherwise`: what
    holds where the settings say nothing either. `example`: how docs/settings.md shows it. `flake8`: the help of
    `--trl-NAME` of the plugin, "" where there is none.
    """

    name: str
    group: str
    kind: Kind
    help: str
    takes: str = ""
    letter: str = ""
    choices: tuple[str, ...] = ()
    default: Any = None
    setting: Setting = ""
    otherwise: Any = None
    example: str = ""
    flake8: str = ""

    @property
    def attribute(self) -> str:
        """Its name in Python."""
        return self.name.replace("-", "_")

    @property
    def unsaid(self) -> Any:
        """What the command line gives where the option is not used."""
        return False if self.kind == "switch" else self.default


OPTIONS = (
    Option(
        "fix", "fixes", "either", "repair what can be repaired safely",
        setting="boolean", otherwise=False, example="false",
    ),
    Option(
        "unsafe-fixes", "fixes", "either", "also with fixes that may change behaviour",
        setting="boolean", otherwise=False, example="false",
    ),
    Option(
        "show-fixes", "fixes", "either", "list the fixes that were made",
        setting="boolean", otherwise=False, example="false",
    ),
    Option("diff", "fixes", "switch", "write nothing; print what --fix would change"),
    Option("exit-non-zero-on-fix", "fixes", "switch", "exit with 1 if anything was repaired"),
    Option(
        "select", "rules", "values", "rules to run: codes, prefixes (TRL1), ALL", "CODES",
        setting="rules", example='["TRL1", "TRL2"]  # only these rules; the default is all but TRL9',
    ),
    Option(
        "ignore", "rules", "values", "rules not to run", "CODES",
        setting="rules", example='["TRL203"]  # but not these',
    ),
    Option(
        "extend-select", "rules", "values", "rules to run besides those selected", "CODES",
        setting="rules", example='["TRL9"]  # these as well',
    ),
    Option(
        "per-file-ignores", "rules", "values", "rules not to run on some files", "PATTERN:CODES",
        setting="rules by pattern",
        example='"examples/**" = ["TRL2"]\n"!train/**" = ["TRL501"]  # everywhere but there',
    ),
    Option(
        "target", "rules", "values", "judge as if this release were pinned", "PACKAGE==VERSION",
        setting="releases", example='{ trl = "1.16.0" }  # judge as if this release were pinned',
    ),
    Option(
        "exclude", "files", "values", "leave these out, instead of the usual ones", "PATTERNS",
        setting="strings", example='["third_party"]  # instead of the folders skipped by default',
    ),
    Option(
        "extend-exclude", "files", "values", "leave these out as well", "PATTERNS",
        setting="strings", example='["notebooks/old"]  # besides them',
    ),
    Option("force-exclude", "files", "switch", "leave them out even if named on the command line"),
    Option(
        "respect-gitignore", "files", "either", "leave out what git ignores (default)",
        setting="boolean", otherwise=True, example="true  # leave out what git ignores",
    ),
    Option("since", "files", "value", "show only what rests on lines changed since this commit of git", "REF"),
    Option("show-files", "files", "switch", "list the files that would be checked, and check nothing"),
    Option("stdin-filename", "files", "value", "the name of the file that comes from standard input", "NAME"),
    Option(
        "jobs", "files", "value", "processes to use; `auto` (default) takes more than one where it pays", "N",
        letter="j",
    ),
    Option(
        "add-noqa", "suppressions", "value", "add `# noqa` for every finding, with REASON behind its codes",
        "[=REASON]",  # joined to its option: a word behind it is a path
    ),
    Option(
        "baseline", "suppressions", "value", "show only findings that are not in this baseline", "FILE",
        setting="string", example='"trl-lint-baseline.json"  # findings that are known and accepted',
    ),
    Option(
        "respect-file-noqa", "suppressions", "either", "leave out files with a line `# flake8: noqa` (default)",
        setting="boolean", otherwise=True, example="true  # leave out files with a line `# flake8: noqa`",
    ),
    Option(
        "write-baseline", "suppressions", "switch",
        "write all findings to the baseline (trl-lint-baseline.json unless one is named) and exit",
    ),
    Option(
        "output-format", "output", "value", "{formats} (default: full)", "FORMAT",
        setting="format", otherwise="full", example='"concise"  # or any other of --output-format',
    ),
    Option("output-file", "output", "value", "write the report to a file", "FILE"),
    Option("statistics", "output", "switch", "show counts by rule"),
    Option(
        "hints", "output", "either", "show hints, not only their number",
        setting="boolean", otherwise=False, example="false  # show hints, not only their number",
        flake8="report the hints of trl-lint as well, which alone do not fail its own runs",
    ),
    Option(
        "fail-on", "output", "value", "exit with 1 from this level on: error, warning (default) or info", "LEVEL",
        choices=SEVERITIES, setting="level", otherwise="warning",
        example='"warning"  # the lowest level that fails a run: error, warning or info',
    ),
    Option("exit-zero", "output", "switch", "exit with 0 even if something is found"),
    Option(
        "color", "output", "value", "auto, always or never", "WHEN",
        choices=("auto", "always", "never"), default="auto",
    ),
    Option("quiet", "output", "switch", "print findings only", letter="q"),
    Option("silent", "output", "switch", "print nothing", letter="s"),
    Option("verbose", "output", "switch", "show every place of a cause, and say more about the run", letter="v"),
    Option("config", "settings", "value", "read settings from this pyproject.toml or trl-lint.toml", "FILE"),
    Option("isolated", "settings", "switch", "read no settings"),
    Option("show-settings", "settings", "switch", "show the settings with where each comes from, and check nothing"),
    Option(
        "cache-dir", "settings", "value", "keep reports of earlier runs here", "FOLDER",
        setting="string", example='".cache/trl-lint"  # instead of .trl_lint_cache',
    ),
    Option("no-cache", "settings", "switch", "neither use nor keep reports of earlier runs", letter="n"),
)  # fmt: skip
_OF_FILES_ALONE = (
    Option(
        "extend", "settings", "value", "settings that these come on top of",
        setting="file", example='"team/trl-lint.toml"  # settings of another file, which these come on top of',
    ),
    Option(
        "knowledge", "settings", "values", "advisories, renames and remedies of your own",
        setting="files", example='["ml-advisories.toml"]  # advisories, renames and remedies of your own',
    ),
)  # fmt: skip
# What a settings file may hold, by key.
SETTINGS = {option.name: option for option in (*_OF_FILES_ALONE, *OPTIONS) if option.setting}


def option(name: str) -> Option:
    """The option of a name. Raises KeyError."""
    return _BY_NAME[name]


_BY_NAME = {one.name: one for one in OPTIONS}
