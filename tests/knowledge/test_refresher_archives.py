"""How archives are read, what else is in them, and how histories are written."""

import io
import tarfile
import zipfile

import pytest

from trl_lint.knowledge import api
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.configs import flatten_yaml
from trl_lint.knowledge.refresher.extract import read_module
from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.messages import read_messages
from trl_lint.knowledge.refresher.metadata import read_requirements
from trl_lint.knowledge.refresher.write import render
from trl_lint.python.default_text import encode_node
from trl_lint.python.flags import read_flags

METADATA = """Name: trl
Requires-Python: >=3.10
Requires-Dist: transformers>=4.56.2
Requires-Dist: transformers!=5.1.0
Requires-Dist: transformers!=5.2.0; extra == "deepspeed"
Requires-Dist: vllm<=0.31.0,>=0.22.0; extra == "vllm"
Requires-Dist: deepspeed>=0.14.4; sys_platform != "win32" and extra == "deepspeed"
Requires-Dist: pytest; extra == "test"
"""


def test_requirements_are_joined_by_name_and_extra():
    contents = index.read_zip(_zip({"trl-1.0.dist-info/METADATA": METADATA}), lambda name: True)
    assert read_requirements(contents, frozenset({"transformers", "vllm", "deepspeed"})) == {
        "python": ">=3.10",
        "transformers": "!=5.1.0,>=4.56.2",
        "transformers[deepspeed]": "!=5.2.0",
        "vllm[vllm]": "<=0.31.0,>=0.22.0",
        "deepspeed[deepspeed]": '>=0.14.4;sys_platform != "win32"',
    }


def _zip(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return zipfile.ZipFile(data)


def test_archives_are_read_in_memory_whatever_their_names_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive = _zip({"X.data/purelib/trl/core.py": "a", "../../evil.py": "b", "/etc/evil.py": "c"})
    contents = index.read_zip(archive, lambda name: name.endswith(".py"))
    assert contents.members["trl/core.py"][1] == b"a"
    assert list(tmp_path.iterdir()) == []


def test_sdist_links_are_skipped():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        link = tarfile.TarInfo("pkg-1/pkg/evil.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        regular = tarfile.TarInfo("pkg-1/pkg/core.py")
        regular.size = 3
        archive.addfile(regular, io.BytesIO(b"a=1"))
    contents = index.read_sdist(data.getvalue(), lambda name: True)
    assert (contents.names, contents.members["pkg/core.py"][1]) == (["pkg/core.py"], b"a=1")


def test_text_is_the_same_in_every_run_and_changes_little_with_a_release():
    old = {"class trl:C": {"+": "+", "a": "1", "b": "2"}, "module trl": {"+": "+", "C": ".", "D": "."}}
    new = {"class trl:C": {"+": "+", "a": "1", "b": "3"}, "module trl": {"+": "+", "C": "."}}
    before = render("trl", ["1.0"], merge([("1.0", old)])).splitlines()
    after = render("trl", ["1.0", "2.0"], merge([("1.0", old), ("2.0", new)])).splitlines()
    assert [line for line in after if line not in before] == [" 2.0", " C .", " D . | 2.0 -", " b 2 | 2.0 3"]
    assert (
        after == render("trl", ["1.0", "2.0"], merge([("1.0", dict(reversed(old.items()))), ("2.0", new)])).splitlines()
    )


def test_removed_class_changes_only_its_own_line(recorded):
    source = "class PPOTrainer:\n    def __init__(self, model, ref_model=None): ..."
    text = recorded("trl", {"1.0": {"trl/__init__.py": source}, "2.0": {"trl/__init__.py": ""}})
    assert "class trl:PPOTrainer 1.0 | 2.0 -\n" in text
    assert "\n ref_model None\n" in text
    assert api.timeline("trl:PPOTrainer", "ref_model") == [("1.0", "None"), ("2.0", None)]


def test_flags_declared_in_a_loop():
    import ast

    tree = ast.parse("""
for prefix in ("actor", "critic"):
    parser.add_argument(f"--{prefix}.lr", type=float, default=1e-6 if prefix == "actor" else 9e-6)
parser.add_argument("--zero_stage", "-z", choices=[1, 2], required=True)
parser.add_argument("--cpu", action="store_true")
""")
    assert {flag.name: flag.text for flag in read_flags(tree)} == {
        "--actor.lr": "1e-06 type=float",
        "--critic.lr": "9e-06 type=float",
        "--zero_stage": "None choices=[1,2] required=True",
        "--cpu": "False action=store_true",
    }


def test_yaml_keys_are_flattened():
    source = b"actor:\n  lr: 1e-6\n  name: ~\n  on: true\n  tags: [a, 1]\n  path: ${oc.env:HOME}\nempty: {}\n"
    assert flatten_yaml(source) == {
        "actor.lr": "'1e-6'",  # PyYAML reads no float without a dot
        "actor.name": "None",
        "actor.on": "True",
        "actor.tags": "['a', 1]",
        "actor.path": "`${…}`",
        "empty": "{}",
    }


def test_messages_are_templates():
    import ast

    tree = ast.parse("""
raise ValueError(f"The batch size ({size}) must be divisible by "
                 "the number of generations.")
logger.warning("short")
warnings.warn("This default of the loss will change in the next release: %s" % loss)
""")
    assert [tuple(message) for message in read_messages(tree)] == [
        ("ValueError", "The batch size ({}) must be divisible by the number of generations."),
        ("warning", "This default of the loss will change in the next release: %s"),
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1e-6", "1e-06"),
        ("'a|b'", "'a\\x7cb'"),
        ("2 * 1024", "2048"),
        ("KNOWN", "7"),
        ("TWICE", "`TWICE`"),
        ("f(x) | g", "`f(x) ¦ g`"),
        ("...", "*"),
        ("{'b', 'a'}", "`{'b', 'a'}`"),
    ],
)
def test_defaults_are_literals_or_marked_expressions(text, expected):
    import ast

    constants = {"KNOWN": ast.parse("7", mode="eval").body}
    assert encode_node(ast.parse(text, mode="eval").body, constants) == expected


def test_file_that_cannot_be_parsed_is_unknown():
    assert read_module("trl/new_syntax.py", b"def (") is None
