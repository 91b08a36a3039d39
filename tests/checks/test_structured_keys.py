"""Programs that merge their words into dataclasses (`OmegaConf.structured`): which keys stop them (TRL401).

What is an error here was refused by omegaconf 2.3.0 for the same classes, and what is fine was taken.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.engine import check
from trl_lint.settings import Settings

CLASSES = """\
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

@dataclass
class Base:
    inherited: int = 1

@dataclass
class Inner(Base):
    lr: float = 1.0
    extra: Dict[str, Any] = field(default_factory=dict)
    plain: dict = field(default_factory=dict)
    anything: Any = None
    many: List[str] = field(default_factory=list)
    auto: int = field(default=0, init=False)
    unannotated = 3

    def lift(self):
        self.other_name = 1

@dataclass
class Config:
    inner: Inner = field(default_factory=Inner)
    other: Optional[Inner] = None
    n: int = 1
"""
USUAL = "cli = OmegaConf.from_cli()\nbase = OmegaConf.structured(Config())\n"
MAIN = USUAL + "config = OmegaConf.merge(base, cli)\n"
OF_EASY_R1 = USUAL + (
    'if hasattr(cli, "config"):\n    file = OmegaConf.load(cli.pop("config", None))\n'
    "    base = OmegaConf.merge(base, file)\nconfig = OmegaConf.merge(base, cli)\nOmegaConf.to_object(config)\n"
)
REFUSED = ["m=2", "inner.gone=1", "inner.unannotated=4", "gone.a=1", "inner.other_name=1", "n.a=1"]
TAKEN = [
    "n=2", "inner.lr=2", "inner.inherited=2", "inner.extra.a.b=1", "inner.plain.a=1", "inner.anything.a=1",
    "other.lr=1", "inner.many=[a]", "inner.auto=1",
    "inner={lr: 3}", "n=${x}", '"inner.lr=$LR"', "$MORE", '"$@"', "--help",
]  # fmt: skip


def told(folder: Path, main: str, words: str, files: dict[str, str] | None = None) -> list[str]:
    files = files if files is not None else {"train.py": "from omegaconf import OmegaConf\n" + CLASSES + main}
    for name, text in {**files, "run.sh": f"python train.py {words}\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    found = check([str(folder)], Settings(str(folder))).findings
    assert not [one for one in found if one.code == "TRL003"]
    return [one.message.split("`")[3] for one in found if one.code == "TRL401"]


@pytest.mark.parametrize("main", [MAIN, OF_EASY_R1])
@pytest.mark.parametrize("word", REFUSED)
def test_a_key_that_no_class_has(tmp_path: Path, main: str, word: str):
    assert told(tmp_path, main, f"n=3 {word}") == [word.partition("=")[0]]


@pytest.mark.parametrize("word", TAKEN)
def test_a_key_that_is_taken(tmp_path: Path, word: str):
    assert told(tmp_path, MAIN, f"n=3 {word}") == []


def test_what_is_taken_off_the_words_is_no_key(tmp_path: Path):
    assert told(tmp_path, OF_EASY_R1, "config=a.yaml n=1") == []
    assert told(tmp_path, MAIN, "config=a.yaml n=1") == ["config"]


ALL_REFUSE = {
    "one expression": "config = OmegaConf.merge(OmegaConf.structured(Config), OmegaConf.from_cli())\n",
    "the class itself": MAIN.replace("Config()", "Config"),
    "with a file between": MAIN.replace("merge(base, cli)", 'merge(base, OmegaConf.load("a.yaml"), cli)'),
    "in a function": "def main():\n" + "".join(f"    {line}\n" for line in MAIN.splitlines()) + "main()\n",
}
NOBODY_KNOWS = {
    "merged into something else": MAIN.replace("merge(base, cli)", "merge(cli, base)"),
    "a file first": MAIN.replace("merge(base, cli)", 'merge(OmegaConf.load("a.yaml"), base, cli)'),
    "not merged": USUAL,
    "words that are merged elsewhere": USUAL + 'merged = OmegaConf.merge(OmegaConf.create({"a": 1}), cli)\n',
    "opened": USUAL + "OmegaConf.set_struct(base, False)\nconfig = OmegaConf.merge(base, cli)\n",
    "a word is deleted": USUAL + "del cli.m\nconfig = OmegaConf.merge(base, cli)\n",
    "two classes": MAIN + "again = OmegaConf.structured(Inner)\n",
    "a class from elsewhere": MAIN.replace("Config()", "somewhere.Config()"),
    "no dataclass": "class Plain:\n    n: int = 1\n" + MAIN.replace("Config()", "Plain()"),
    "a base from elsewhere": "import lib\n@dataclass\nclass Own(lib.Base):\n    n: int = 1\n"
    + MAIN.replace("Config()", "Own()"),
}


@pytest.mark.parametrize("case", ALL_REFUSE)
def test_how_it_is_written(tmp_path: Path, case: str):
    assert told(tmp_path, ALL_REFUSE[case], "n=1 m=2 inner.gone=1") == ["m", "inner.gone"]


@pytest.mark.parametrize("case", NOBODY_KNOWS)
def test_what_nobody_knows(tmp_path: Path, case: str):
    assert told(tmp_path, NOBODY_KNOWS[case], "n=1 m=2 inner.gone=1") == []


HOMES = {
    "beside": ("from config import Config\n", {"config.py": CLASSES}),
    "a package": ("from lib.config import Config\n", {"lib/__init__.py": "", "lib/config.py": CLASSES}),
    "handed on": (
        "from lib import Config\n",
        {"lib/__init__.py": "from .config import Config\n", "lib/config.py": CLASSES},
    ),
    "by its module": ("import config\nConfig = config.Config\n", {"config.py": CLASSES}),
    "in two files": (
        "from config import Config\n",
        {
            "config.py": "from dataclasses import dataclass, field\nfrom inner import Inner\n"
            + CLASSES[CLASSES.rindex("@dataclass") :].replace("Optional[Inner]", "Inner"),
            "inner.py": CLASSES[: CLASSES.rindex("@dataclass")],
        },
    ),
}


@pytest.mark.parametrize("case", HOMES)
def test_where_the_classes_are(tmp_path: Path, case: str):
    first, files = HOMES[case]
    expected = [] if case == "by its module" else ["m", "inner.gone"]  # a name that is assigned is not followed
    files = {**files, "train.py": "from omegaconf import OmegaConf\n" + first + MAIN}
    assert told(tmp_path, "", "n=1 m=2 inner.lr=1 inner.gone=1", files) == expected


def test_classes_that_double_each_other_are_read_to_a_bound(tmp_path: Path) -> None:
    """Twelve classes, each with eight fields of the next: eight to the twelfth keys."""
    classes = "@dataclass\nclass C12:\n    last: int = 0\n"
    for n in range(11, 0, -1):
        fields = "".join(f"    f{i}: C{n + 1} = None\n" for i in range(8))
        classes += f"@dataclass\nclass C{n}:\n{fields}"
    head = "from dataclasses import dataclass\nfrom omegaconf import OmegaConf\n"
    files = {"train.py": head + classes + MAIN.replace("Config()", "C1()")}
    assert told(tmp_path, "", "gone=1 f0.gone=1", files)[:1] != []
    assert told(tmp_path, "", "f7.f7.f7.f7.f7.gone=1", files) == []  # beyond the bound


def test_merges_in_a_row_are_read_once(tmp_path: Path) -> None:
    chain = "".join(f"b{i + 1} = OmegaConf.merge(b{i}, x)\n" for i in range(400))
    main = USUAL.replace("base =", "b0 =") + chain + "config = OmegaConf.merge(b400, cli)\n"
    assert told(tmp_path, main, "gone=1") != []
