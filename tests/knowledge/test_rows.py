"""The one reader of the tables: every table is read, and whatever is wrong in one is told with its file and line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
import tomli
from documents import ROOT

from trl_lint import knowledge
from trl_lint.knowledge import (
    KnowledgeError,
    arithmetic,
    bugs,
    chats,
    columns,
    commands,
    compat,
    configs,
    contradictions,
    datasets,
    defaults,
    families,
    later_refusals,
    launchers,
    loaders,
    models,
    module_aliases,
    programs,
    remedies,
    renames,
    results,
    rewards,
    rules_dir,
    stacks,
    symptoms,
    told_elsewhere,
    topics,
    trainer_arguments,
    values,
    variables,
    warned,
    wrappers,
)
from trl_lint.knowledge.rows import Range, Ranges, Release, line_of, read_rows
from trl_lint.records import NamedTuple

READERS: dict[str, Callable[[], object]] = {
    "bugs/*.toml": lambda: all(bugs.bugs(package) for package in bugs.packages()),
    "commands/openrlhf.toml": lambda: programs.table("openrlhf"),
    "commands/trl.toml": commands.table,
    "commands/verl.toml": lambda: programs.table("verl"),
    "compat/advisories.toml": compat.advisories,
    "compat/aliases.toml": module_aliases.module_aliases,
    "compat/extras.toml": compat.supports,
    "compat/independent.toml": compat.independents,
    "compat/loading.toml": renames.keywords,
    "compat/moves.toml": renames.moves,
    "compat/others.toml": compat.ranges,
    "compat/remedies.toml": remedies.remedies,
    "compat/renames.toml": renames.renames,
    "compat/repositories.toml": compat.repositories,
    "configs/accelerate.toml": lambda: configs.value_rows("accelerate"),
    "configs/deepspeed.toml": lambda: configs.value_rows("deepspeed"),
    "configs/launchers.toml": launchers.launchers,
    "defaults.toml": defaults.defaults,
    "environment/*.toml": variables.variables,
    "families/*.toml": families.families,
    "loaders.toml": loaders.loaders,
    "models/columns.toml": columns.trainer_columns,
    "models/chats.toml": chats.chats,
    "models/datasets.toml": lambda: datasets.hub_dataset("trl-lib/Capybara"),
    "models/models.toml": lambda: models.model_of("Qwen/Qwen2.5-7B"),
    "semantics/contradictions.toml": contradictions.every_contradiction,
    "semantics/groups.toml": arithmetic.group_rules,
    "semantics/later.toml": later_refusals.later_refusals,
    "semantics/lifetimes.toml": trainer_arguments.lifetimes,
    "semantics/objects.toml": lambda: trainer_arguments.made_by("peft.LoraConfig"),
    "semantics/read_fields.toml": trainer_arguments.fields_read,
    "semantics/results.toml": results.results,
    "semantics/rewards.toml": rewards.reward_calls,
    "semantics/stacks.toml": stacks.stacks,
    "semantics/told_elsewhere.toml": told_elsewhere.owners,
    "semantics/topics.toml": lambda: topics.topic_of(frozenset({"zero3()"})),
    "semantics/trainer_positions.toml": trainer_arguments.orders,
    "semantics/values.toml": lambda: values.value_rules("trl.GRPOConfig"),
    "semantics/warnings.toml": warned.warned,
    "symptoms/*.toml": symptoms.tables,
    "wrappers.toml": wrappers.wrappers,
}
TABLES = sorted(path.relative_to(rules_dir()).as_posix() for path in Path(rules_dir()).rglob("*.toml"))


def is_read_by(pattern: str, path: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", "[^/]*"), path) is not None


@pytest.mark.parametrize("path", TABLES)
def test_every_table_is_read_and_is_what_its_record_says(path: str):
    (reader,) = [reader for pattern, reader in READERS.items() if is_read_by(pattern, path)]
    assert reader()


class Repair(NamedTuple):
    package: str
    releases: Range


class Row(NamedTuple):
    """Whatever an annotation can say."""

    name: str
    packages: Ranges
    level: Literal["warning", "info"] = "info"
    count: int = 0
    share: float = 0.0
    is_: bool = False
    words: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    known: Literal["any"] | frozenset[str] = "any"
    anything: dict[str, tuple[object, ...]] = {}
    releases: Range = ">=0"
    since: Release = ""
    repair: tuple[Repair, ...] = ()

    def fault(self) -> str:
        return "a count needs a share" if self.count and not self.share else ""


class Table(NamedTuple):
    row: tuple[Row, ...]
    evidence: tuple[str, ...] = ()


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Table]:
    monkeypatch.setattr(knowledge, "rules_dir", lambda: str(tmp_path))

    def read(text: str) -> Table:
        (tmp_path / "table.toml").write_text(text, "utf-8")
        return read_rows("table.toml", Table, "trl")

    return read


ROW = '# a comment\n[[row]]\nname = "x"\npackages = { trl = ">=0.15" }\n'


def test_a_row_is_read_into_its_record(read: Callable[[str], Table]):
    more = (
        'level = "warning"\ncount = 3\nshare = 1\nis = true\nwords = ["a", "b"]\ngroups = [["a"], []]\nknown = ["x"]\n'
        'anything = { a = [1, "b", false] }\nreleases = "<0.16"\nsince = "0.15.2"\n'
        'repair = [{ package = "torch", releases = ">=2" }]\n'
    )
    first, second = read(ROW + ROW + more).row
    assert first == Row("x", {"trl": ">=0.15"})
    assert second == Row(
        "x", {"trl": ">=0.15"}, "warning", 3, 1, True, ("a", "b"), (("a",), ()), frozenset("x"),
        {"a": (1, "b", False)}, "<0.16", "0.15.2", (Repair("torch", ">=2"),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1: `row` is missing"),
        ("rows = []\n", "1: `rows`: nothing reads this key; did you mean `row`?"),
        (ROW + 'unles = { torch = ">=2" }\n', "5: `unles`: nothing reads this key"),
        (ROW + 'wrds = ["a"]\n', "5: `wrds`: nothing reads this key; did you mean `words`?"),
        (ROW + '\n[[row]]\nname = "y"\n', "6: `packages` is missing"),
        (ROW.replace('"x"', '""'), "3: `name`: the text is empty"),
        (ROW.replace('"x"', "1"), "3: `name`: a text is expected, not 1"),
        (ROW + "count = true\n", "5: `count`: a whole number is expected, not true"),
        (ROW + 'share = "1"\n', '5: `share`: a number is expected, not "1"'),
        (ROW + "is = 1\n", "5: `is`: true or false is expected, not 1"),
        (ROW + 'words = "a"\n', '5: `words`: a list is expected, not "a"'),
        (ROW + 'words = [\n  "a",\n  1,\n]\n', "7: a text is expected, not 1"),
        (ROW + 'groups = [["a"], "b"]\n', '5: a list is expected, not "b"'),
        (ROW + 'level = "error"\n', '5: `level`: one of "warning", "info" is expected, not "error"'),
        (ROW + 'known = "all"\n', '5: `known`: one of "any" is expected, not "all"'),
        (ROW + "known = [1]\n", "5: a text is expected, not 1"),
        (ROW + 'anything = "a"\n', '5: `anything`: a table is expected, not "a"'),
        (ROW + "count = 1\n", "2: a count needs a share"),
        (ROW + 'releases = "0.15"\n', '5: `releases`: "0.15" is no range of releases'),
        (ROW + 'releases = ">=99"\n', '5: `releases`: ">=99" names no known release of trl'),
        (ROW + 'releases = "<0.0.1"\n', '5: `releases`: "<0.0.1" names no known release of trl'),
        (ROW + 'since = "0.15.99"\n', '5: `since`: "0.15.99" is no known release of trl'),
        (ROW.replace("trl =", "trll ="), '4: `trll`: the releases of "trll" are not known'),
        (ROW + '[row.anything]\na = 1\n', "6: `a`: a list is expected, not 1"),
        (
            ROW + 'repair = [\n  { package = "torch", releases = ">=2" },\n'
            '  { package = "torch", releases = ">2.0.0,<2.0.1" },\n]\n',
            '7: `releases`: ">2.0.0,<2.0.1" names no known release of torch',
        ),
        (ROW + 'repair = [{ package = "torch", releases = ">=2", why = "" }]\n', "5: `why`: nothing reads this key"),
        (ROW + 'repair = [{ package = [], releases = ">=2" }]\n', "5: `package`: a text is expected, not a list"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(text: str, said: str, read: Callable[[str], Table]):
    with pytest.raises(KnowledgeError, match=re.escape(f"rules/table.toml:{said}")):
        read(text)


def test_what_is_no_toml_is_told(read: Callable[[str], Table]):
    with pytest.raises(KnowledgeError, match=r"rules/table\.toml: .*line 2"):
        read("[[row]]\nname =\n")


def test_a_table_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(knowledge, "rules_dir", lambda: str(tmp_path))
    with pytest.raises(KnowledgeError, match=r"rules/none\.toml: "):
        read_rows("none.toml", Table)


def test_the_line_of_every_row_is_found():
    text = (Path(rules_dir()) / "compat/remedies.toml").read_text("utf-8")
    count = len(tomli.loads(text)["remedy"])
    lines = [line_of(text, ("remedy", number)) for number in range(count)]
    assert lines == [number for number, line in enumerate(text.splitlines(), 1) if line == "[[remedy]]"]


def test_conditions_have_one_operator():
    assert contradictions.ConditionRow("beta", above=0).fault() == ""
    assert contradictions.ConditionRow("beta").fault() and contradictions.ConditionRow("beta", "x", null=True).fault()


def test_an_advisory_says_what_it_needs():
    advisory = compat.advisories()[0]
    mended = advisory._replace(patched_by=(compat.Repair("torch", ">=2", "x.y", ("z",)),), uses=(), switches=())
    assert "`patched_by`" in mended.fault() and advisory.fault() == ""
    assert "`peft`" in advisory._replace(fix={"peft": ">=0.1"}).fault()


BROKEN = (
    "import sys; import trl_lint.knowledge.rows as rows\n"
    "rows.read_text = lambda path: open(f'{sys.argv[1]}/{path}', encoding='utf-8').read()\n"
    "from trl_lint.cli import main; sys.exit(main(['--no-cache', '--isolated', 'requirements.txt']))"
)


def test_a_broken_table_is_one_message_and_no_finding(tmp_path: Path):
    """What a user is told where a row of ours is malformed: which table and line, and nothing about the user's file."""
    path = tmp_path / "rules" / "compat" / "advisories.toml"
    path.parent.mkdir(parents=True)
    text = (Path(rules_dir()) / "compat/advisories.toml").read_text("utf-8")
    path.write_text(text.replace("\nimpact = ", "\nimpakt = ", 1), "utf-8")
    (tmp_path / "requirements.txt").write_text("trl==0.15.2\nvllm==0.9.0\n")
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, str(tmp_path / "rules")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    line = text[: text.index("\nimpact = ")].count("\n") + 2
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        f"trl-lint: rules/compat/advisories.toml:{line}: `impakt`: nothing reads this key; did you mean `impact`? "
        "(a fault of trl-lint and of no file here)\n"
    )
