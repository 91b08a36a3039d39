"""Config families: each promise of a file of `rules/families`, by the documents and commands in `fixtures/families`.

`fixtures/families/NAME/KIND/` has documents of a kind, `NAME/nobodys/` look-alikes that are none of the family's, and
`NAME/commands.toml` commands, with what each of them starts; one without `program` starts nothing of ours.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import tomli
import yaml
from documents import ROOT
from fixture_cases import FIXTURES, found, run_json

from trl_lint.knowledge import KnowledgeError, configs, families, needles
from trl_lint.knowledge.api import config_keys, releases, resolve, signature
from trl_lint.knowledge.families import DocumentKind, Family, Shape, document_kinds, programs, read_family
from trl_lint.knowledge.names import Missing
from trl_lint.project import Project, documents
from trl_lint.project.documents import Document, read_document
from trl_lint.project.launches import read_launches
from trl_lint.run.runs import Run
from trl_lint.settings import Settings
from trl_lint.sources import Files
from trl_lint.sources.files import open_file
from trl_lint.sources.nodes import Mapping, find_entry

HERE = FIXTURES / "families"
FAMILIES = [pytest.param(family, id=family.name) for family in families.families()]
KINDS = [pytest.param(kind, id=kind.kind) for kind in document_kinds()]
COMMANDS = [
    pytest.param(family.name, command, id=f"{family.name}: {command['text']}")
    for family in families.families()
    for command in tomli.loads((HERE / family.name / "commands.toml").read_text("utf-8"))["command"]
]


def read(path: Path) -> Document | None:
    return read_document(open_file(str(path), path.read_bytes()))


def of_kind(kind: str) -> list[Path]:
    return sorted(path for path in HERE.glob(f"*/{kind}/*") if path.is_file())


def positives() -> list[Any]:
    return [
        pytest.param(kind, path, id=f"{kind.kind}/{path.name}")
        for (kind,) in values(KINDS)
        for path in of_kind(kind.kind)
    ]


def values(parameters: list[Any]) -> list[Any]:
    return [parameter.values for parameter in parameters]


# -- the files --------------------------------------------------------------------------------------------------------


def test_names_are_unique():
    everything = [
        *(("kind", kind.kind) for kind in document_kinds()),
        *(("command", program.command) for family in families.families() for program in family.program),
        *(("module", name) for family in families.families() for name in family.modules),
        *(("module", name) for program in programs().values() for name in program.modules),
        *(("framework", family.framework) for family in families.families() if family.framework),
    ]
    assert [name for name, number in Counter(everything).items() if number > 1] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_evidence_is_given(family: Family):
    assert family.evidence and all(urlsplit(url).scheme == "https" for url in family.evidence)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('evidence = []\nframwork = "x"\n', 2, "`framwork`: nothing reads this key; did you mean `framework`?"),
        ('framework = "x"\n', 1, "`evidence` is missing"),
        ('evidence = []\nname = "y"\n', 1, "`name` is that of the file"),
        ("evidence = []\n\n[[program]]\ncommand = 3\n", 4, "`command`: a text is expected, not 3"),
        (
            'evidence = []\n[[program]]\ncommand = "x"\nsubcommand = 1\n',
            4,
            "`subcommand`: true or false is expected, not 1",
        ),
        ('evidence = []\n[[document]]\nkind = "x"\nneedles = [["a"], "b"]\nshape = []\n', 4, "a list is expected"),
        ('evidence = []\n[[document]]\nkind = "x"\nneedles = []\n', 2, "`shape` is missing"),
        (
            'evidence = []\n[[document]]\nkind = "x"\nneedles = []\n[[document.shape]]\n[[document.shape]]\nsome = 3\n',
            7,
            "`some`: nothing reads this key",
        ),
        (
            'evidence = []\n[[document]]\nkind = "x"\nneedles = []\nshape = []\n[document.method]\nrest = "dpo"\n',
            7,
            'one of "rl", "preference", "other" is expected, not "dpo"',
        ),
        (
            'evidence = []\n[[program]]\ncommand = "x"\nneedle = "x run"\n',
            2,
            "`needle`: one word is expected, without blanks, not 'x run'",
        ),
        (
            'evidence = []\n[[document]]\nkind = "x"\nneedles = [["a", "b c"]]\nshape = []\n',
            2,
            "`needles`: one word is expected, without blanks, not 'b c'",
        ),
        ("evidence = [\n", None, "families/x.toml: "),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(text: str, line: int | None, message: str):
    with pytest.raises(KnowledgeError) as error:
        read_family("x", text.encode())
    assert message in str(error.value)
    assert line is None or str(error.value).startswith(f"rules/families/x.toml:{line}: ")


def test_the_words_to_search_for_are_written_down():
    """`make docs` writes them; what is read from the file is what the families say."""
    assert (ROOT / "rules" / "families" / "needles.txt").read_bytes() == needles.needles_text(), "run `make docs`"
    assert needles.needles() == needles.needles_of_families()


def test_a_broken_family_leaves_the_words_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """`make docs` stops with the file and the line, before it has opened the list."""
    (tmp_path / "families").mkdir()
    written = tmp_path / "families" / "needles.txt"
    written.write_text("as it was\n")

    def broken() -> bytes:
        raise KnowledgeError("rules/families/x.toml:3: …")

    monkeypatch.setattr(needles, "rules_dir", lambda: str(tmp_path))
    monkeypatch.setattr(needles, "needles_text", broken)
    assert needles.main(["--write"]) == 1
    assert (written.read_text(), capsys.readouterr().err) == ("as it was\n", "rules/families/x.toml:3: …\n")


def test_words_of_other_families_are_not_believed(monkeypatch: pytest.MonkeyPatch):
    asked = needles.Needles((), (b"new",), (), (), ())
    monkeypatch.setattr(needles, "checksum", lambda: 1)
    monkeypatch.setattr(needles, "needles_of_families", lambda: asked)
    assert needles.needles.__wrapped__() == asked


# -- documents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_documents_of_each_kind_and_more_that_are_not(kind: DocumentKind):
    folder = next(path for path in HERE.glob(f"*/{kind.kind}"))
    assert len(of_kind(kind.kind)) >= 2
    assert len([*(folder.parent / "nobodys").iterdir()]) > len(kind.shape)


def test_every_folder_is_of_a_family():
    for folder in HERE.iterdir():
        (family,) = [one for one in families.families() if one.name == folder.name]
        kinds = {kind.kind for kind in family.document}
        assert {path.name for path in folder.iterdir()} <= {*kinds, "nobodys", "commands.toml"}


@pytest.mark.parametrize(("kind", "path"), positives())
def test_a_document_is_recognised(kind: DocumentKind, path: Path):
    document = read(path)
    assert document is not None and document.kind == kind.kind and document.definition == kind


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"{path.parts[-3]}/{path.name}") for path in HERE.glob("*/nobodys/*")]
)
def test_a_look_alike_is_not(path: Path):
    (family,) = [one for one in families.families() if one.name == path.parts[-3]]
    document = read(path)
    assert document is None or document.kind not in {kind.kind for kind in family.document}


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_a_shape_asks_for_is_needed(kind: DocumentKind):
    """Each shape has a document; without one of its conditions that document has the shape no more."""
    for shape in kind.shape:
        fitting = [root for path in of_kind(kind.kind) if fits(root := root_of(path), shape, kind)]
        assert fitting, shape
        for root in fitting:
            for key in (*shape.has, *shape.text, *shape.mapping, *shape.values, *shape.items):
                assert not fits(without(root, key), shape, kind), key
            for keys in (shape.any_of, shape.some_mapping):
                assert not keys or not fits(without(root, *keys), shape, kind), keys
            for key in shape.without:
                assert not fits(having(root, key), shape, kind), key
            if shape.known:
                assert not fits(without(root, *sorted(kind.keys)), shape, kind)


def root_of(path: Path) -> Mapping:
    document = read(path)
    assert document is not None and document.mapping is not None
    return document.mapping


def fits(root: Mapping, shape: Shape, kind: DocumentKind) -> bool:
    return documents._fits(root, root.keys(), shape, kind)


def without(root: Mapping, *keys: str) -> Mapping:
    return Mapping([entry for entry in root.entries if entry.key.value not in keys], root.start, root.end)


def having(root: Mapping, key: str) -> Mapping:
    (entry, *_) = root.entries
    name = entry.key.__class__(key, key, False, 0, 0)
    return Mapping([*root.entries, entry._replace(key=name)], root.start, root.end)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_that_a_kind_holds_is_in_a_document(kind: DocumentKind):
    roots = [root_of(path) for path in of_kind(kind.kind)]
    holds = kind.holds
    numbers = {holds.batch_size, holds.accumulation, holds.processes, holds.gpus, holds.clipping}
    keys = {
        holds.model,
        holds.dataset,
        *numbers,
        holds.fp16,
        *holds.bf16,
        holds.deepspeed,
        holds.fsdp,
        holds.environment,
    } - {""}
    assert {key for key in keys if not any(find_entry(root, key) is not None for root in roots)} == set()


def test_keys_are_those_of_the_histories():
    """Where the keys of every release are recorded, those of the families are among them."""
    held = {kind.kind: kind.holds for kind in document_kinds()}
    newest = {name: releases(name)[-1] for name in ("trl", "transformers", "verl", "deepspeed", "accelerate")}

    def fields(dotted: str) -> set[str]:
        found = resolve(dotted, newest)
        assert isinstance(found, str)
        return set(signature(found, newest).parameters)

    def keys(package: str, config: str) -> set[str]:
        found = config_keys(package, config, newest[package])
        assert not isinstance(found, Missing)
        return set(found)

    trl, accelerate, deepspeed, verl = (held[name] for name in ("trl-recipe", "accelerate", "deepspeed", "verl"))
    arguments = {trl.batch_size, trl.accumulation, trl.clipping, trl.fp16, *trl.bf16, trl.deepspeed, trl.fsdp}
    assert arguments <= fields("transformers.TrainingArguments")
    assert trl.model in fields("trl.ModelConfig") and trl.dataset in fields("trl.ScriptArguments")
    assert {accelerate.processes, accelerate.gpus} <= keys("accelerate", "accelerate")
    for key in (accelerate.deepspeed, accelerate.accumulation):
        block, _, option = key.partition(".")
        assert configs.takes_nested(block, option, newest["accelerate"])
    assert {deepspeed.batch_size, deepspeed.accumulation, deepspeed.clipping} <= keys("deepspeed", "deepspeed")
    assert {verl.model, verl.dataset, verl.batch_size, verl.processes} <= keys("verl", "ppo_trainer")


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("family", "command"), COMMANDS)
def test_a_command_starts_what_is_promised(family: str, command: dict[str, Any]):
    folder = HERE / family
    file = open_file(str(folder / "run.sh"), f"{command['text']}\n".encode())
    launches = read_launches(file)
    if "program" not in command:
        assert [one for one in launches if one.launcher] == []
        return
    (launch,) = launches
    run = Run(launch, Project(str(folder), Files({file.path: file}), Settings(root=str(folder))))
    assert (launch.launcher, launch.subcommand, launch.module) == (
        command["program"],
        command.get("subcommand"),
        command.get("module"),
    )
    assert (launch.script.text if launch.script is not None else None) == command.get("script")
    assert run.framework == command.get("framework", "other")
    assert (run.recipe.kind if run.recipe is not None else None) == command.get("recipe")
    linked = {link.kind: link.text for link in run.links if link.kind != "script"}
    assert linked.items() >= command.get("links", {}).items()
    assert all(link.status == "exact" for link in run.links if link.kind != "script")
    if "processes" in command:
        assert getattr(run.processes, "value", None) == command["processes"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_form_of_a_program_has_a_command(family: Family):
    texts = [command["text"] for name, command in values(COMMANDS) if name == family.name]
    for program in family.program:
        forms = [" ".join((program.command, *program.words)), *(f"-m {module}" for module in program.modules)]
        forms += [f"{program.command} {one}" for server in program.server for one in server.subcommands]
        forms += [option for option in (program.accelerate_config, program.deepspeed_config) if option]
        forms += program.ranks.variables if program.ranks is not None else ()
        assert [form for form in forms if not any(form in text for text in texts)] == []
    assert [name for name in family.modules if not any(f"-m {name}" in text for text in texts)] == []
    silent = [command for name, command in values(COMMANDS) if name == family.name and "program" not in command]
    assert silent or not family.program


# -- rules ------------------------------------------------------------------------------------------------------------


def with_values(kind: DocumentKind, said: dict[str, object]) -> str:
    """The first document of a kind, as JSON, which is YAML too, with other values."""
    whole = yaml.safe_load(of_kind(kind.kind)[0].read_text("utf-8"))
    for key, value in said.items():
        block = whole
        *above, name = key.split(".")
        for one in above:
            block = block.setdefault(one, {})
        block[name] = value
    return json.dumps(whole, indent=2)


def codes(text: str, capsys: pytest.CaptureFixture[str]) -> set[str]:
    Path("configs").mkdir(exist_ok=True)
    Path("configs", "other.json").write_text("{}")
    Path("config.yaml").write_text(text)
    _, report = run_json(["--no-cache"], capsys)
    return {finding.code for finding in found(report)}


def training(kind: DocumentKind, name: str) -> dict[str, object]:
    """What makes a document one of a kind of training."""
    method = kind.method
    assert method is not None
    if method.key:
        said: object = next(iter(getattr(method, name)), "anything") if name != "other" else None
        return {method.key: said} if name != "other" or method.rest != "other" else {method.key: "sft"}
    return {sorted(getattr(method, f"{name}_keys"))[0]: 1} if name != "other" else {}


@pytest.mark.parametrize("kind", [one for one in KINDS if one.values[0].method is not None])
def test_rules_read_what_a_recipe_says(
    kind: DocumentKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Clipping, both precisions and a missing file: wherever a family says which keys hold them."""
    monkeypatch.chdir(tmp_path)
    holds = kind.holds
    if holds.clipping:
        for name in ("rl", "preference"):
            assert "TRL601" in codes(with_values(kind, {holds.clipping: 0, **training(kind, name)}), capsys)
    if holds.fp16:
        both = codes(with_values(kind, {holds.fp16: True, holds.bf16[0]: True}), capsys)
        assert "TRL602" in both
        alone = {holds.fp16: True, holds.bf16[0]: False, **training(kind, "rl")}
        assert "TRL602" in codes(with_values(kind, alone), capsys)
    if holds.deepspeed:
        assert "TRL504" in codes(with_values(kind, {holds.deepspeed: "configs/missing.json"}), capsys)
        assert "TRL504" not in codes(with_values(kind, {holds.deepspeed: "configs/other.json"}), capsys)


# What has a history of its own in rules/api is a package, too, about whose releases rules are. What starts the programs
# of others has options that are read by code.
PACKAGES = {path.stem for path in (ROOT / "rules" / "api").glob("*.txt")}
STARTERS = {program.command for program in programs().values() if program.starts_programs}
NAMES = {
    *(family.name for family in families.families() if family.framework),
    *(family.framework for family in families.families() if family.framework),
    *(set(programs()) - STARTERS),
    *(kind.kind for kind in document_kinds()),
    *(name for family in families.families() for name in family.modules),
} - {*PACKAGES, "trl.scripts.vllm_serve", "megatron"}  # the last is also an engine, for which others have settings


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_code_names_a_family_that_is_data(name: str):
    """Neither in a string nor in a comment; the refresher, which writes histories, has to know where they come from."""
    word = re.compile(rf"(?i)(?<![a-z-]){re.escape(name)}(?![a-z])")
    paths = [path for path in sorted((ROOT / "trl_lint").rglob("*.py")) if "refresher" not in path.parts]
    assert [path for path in paths if word.search(path.read_text("utf-8"))] == []
