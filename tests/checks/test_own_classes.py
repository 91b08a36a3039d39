"""A keyword that a config of the project itself does not take is told; one that it may take is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import lay_out
from trl_lint.engine import check
from trl_lint.settings import Settings

HEAD = "from dataclasses import dataclass, field\nimport torch\nimport transformers\n"
DATA = "@dataclass\nclass RunConfig{bases}:\n    max_step: int = 1\n    lr: float = field(default=1e-5)\n{more}"
CALL = "RunConfig(max_step=3, max_steps=5)\n"


def data(bases: str = "", more: str = "") -> str:
    return HEAD + DATA.format(bases=bases, more=more)


INIT = "class RunConfig:\n    def __init__(self, max_step, lr=1e-5{more}):\n        self.step = max_step\n"
BASE = "@dataclass\nclass Base{bases}:\n    seed: int = 0\n"
TOLD: dict[str, dict[str, str]] = {
    "a dataclass of the file": {"train.py": data() + CALL},
    "called in a function": {"train.py": data() + "def main():\n    return " + CALL},
    "with brackets behind the decorator": {
        "train.py": HEAD + DATA.replace("dataclass\n", "dataclass(frozen=True)\n").format(bases="", more="") + CALL
    },
    "by the module": {
        "train.py": data()
        .replace("@dataclass", "@dataclasses.dataclass")
        .replace("from dataclasses", "import dataclasses\nfrom dataclasses")
        + CALL
    },
    "with a base of the file": {"train.py": HEAD + BASE.format(bases="") + DATA.format(bases="(Base)", more="") + CALL},
    "with an abstract base": {"train.py": "from abc import ABC\n" + data("(ABC)") + CALL},
    "a constructor of its own": {"train.py": HEAD + INIT.format(more="") + CALL},
    "a constructor above": {
        "train.py": HEAD + INIT.format(more="") + "class MyConfig(RunConfig):\n    pass\n" + CALL.replace("Run", "My")
    },
    "imported from beside": {
        "config.py": data(),
        "train.py": "import transformers\nfrom config import RunConfig\n" + CALL,
    },
    "imported as a module": {"config.py": data(), "train.py": "import transformers\nimport config\nconfig." + CALL},
    "with another name": {
        "config.py": data(),
        "train.py": "import transformers\nfrom config import RunConfig as MyConfig\n" + CALL.replace("Run", "My"),
    },
    "out of a package": {
        "pkg/__init__.py": "from .config import RunConfig\n",
        "pkg/config.py": data(),
        "train.py": "import transformers\nfrom pkg import RunConfig\n" + CALL,
    },
    "out of a package that takes in all": {
        "pkg/__init__.py": "from .config import *\n",
        "pkg/config.py": data(),
        "train.py": "import transformers\nfrom pkg import RunConfig\n" + CALL,
    },
    "over two packages": {
        "pkg/__init__.py": "from .sub import *\n",
        "pkg/sub/__init__.py": "from .config import RunConfig\n",
        "pkg/sub/config.py": data(),
        "train.py": "import transformers\nfrom pkg import RunConfig\n" + CALL,
    },
    "with a base elsewhere": {
        "base.py": HEAD + BASE.format(bases=""),
        "train.py": "from base import Base\n" + data("(Base)") + CALL,
    },
    "a copy of a package": {
        "verl/__init__.py": "",
        "verl/config.py": data(),
        "train.py": "from verl.config import RunConfig\n" + CALL,
    },
    "out of a dict": {"train.py": data() + "RunConfig(**{'max_step': 3, 'max_steps': 5})\n"},
}
FINE: dict[str, dict[str, str]] = {
    "a known keyword": {"train.py": data() + "RunConfig(max_step=3, lr=1)\n"},
    "a keyword of the base": {
        "train.py": HEAD + BASE.format(bases="") + DATA.format(bases="(Base)", more="") + "RunConfig(seed=1)\n"
    },
    "a field under a test": {
        "train.py": data(more="    if torch.cuda.is_available():\n        max_steps: int = 0\n") + CALL
    },
    "a constructor that takes any": {"train.py": HEAD + INIT.format(more=", **kwargs") + CALL},
    "two constructors": {
        "train.py": HEAD + INIT.format(more="") + "    def __init__(self, **kwargs):\n        pass\n" + CALL
    },
    "a constructor with a decorator": {
        "train.py": HEAD + INIT.format(more="").replace("    def", "    @lenient\n    def") + CALL
    },
    "a decorator of another library": {"train.py": data().replace("@dataclass", "@attr.s") + CALL},
    "a dataclass of pydantic": {
        "train.py": data().replace(
            "from dataclasses import dataclass, field",
            "from pydantic.dataclasses import dataclass\nfrom dataclasses import field",
        )
        + CALL
    },
    "two decorators": {"train.py": data().replace("@dataclass", "@lenient\n@dataclass") + CALL},
    "a constructor that is assigned": {"train.py": HEAD + "class RunConfig:\n    __init__ = lenient\n" + CALL},
    "a constructor under a test": {
        "train.py": HEAD + "class RunConfig:\n    if torch:\n        def __init__(self, max_step): pass\n" + CALL
    },
    "no constructor made": {"train.py": data().replace("@dataclass", "@dataclass(init=False)") + CALL},
    "a base that is not known": {"train.py": "from pydantic import BaseModel\n" + data("(BaseModel)") + CALL},
    "a base of a library": {"train.py": data("(transformers.PretrainedConfig)") + CALL},
    "a metaclass": {"train.py": data("(metaclass=Lenient)") + CALL},
    "a class that makes its objects": {
        "train.py": data(more="    def __new__(cls, **kwargs):\n        return object.__new__(cls)\n") + CALL
    },
    "two classes of the name": {"train.py": data() + data(more="    max_steps: int = 0\n") + CALL},
    "a class under a test": {
        "train.py": HEAD
        + "if torch:\n"
        + "".join(f"    {line}\n" for line in DATA.format(bases="", more="").splitlines())
        + CALL
    },
    "the name bound again": {"train.py": data() + "RunConfig = lenient(RunConfig)\n" + CALL},
    "a constructor put in": {"train.py": data() + "RunConfig.__init__ = lenient\n" + CALL},
    "in a try": {"train.py": data() + "try:\n    RunConfig(max_steps=5)\nexcept TypeError:\n    pass\n"},
    "expected to fail": {
        "test_config.py": "import pytest\n"
        + data()
        + "def test_it():\n    with pytest.raises(TypeError):\n        RunConfig(max_steps=5)\n"
    },
    "a parameter of that name": {"train.py": data() + "def main(RunConfig):\n    return " + CALL},
    "a local class that hides it": {
        "train.py": data()
        + "def main():\n    class RunConfig:\n        def __init__(self, **kw): pass\n    return "
        + CALL
    },
    "keywords from outside": {"train.py": data() + "RunConfig(**given)\n"},
    "in two places": {
        "config.py": data(),
        "src/config.py": data(more="    max_steps: int = 0\n"),
        "src/train.py": "import transformers\nfrom config import RunConfig\n" + CALL,
    },
    "taken in from two": {
        "pkg/__init__.py": "from .a import *\nfrom .b import *\n",
        "pkg/a.py": data(),
        "pkg/b.py": data(more="    max_steps: int = 0\n"),
        "train.py": "import transformers\nfrom pkg import RunConfig\n" + CALL,
    },
    "a copy whose release takes it": {
        "trl/__init__.py": "from .config import *\n",
        "trl/config.py": data().replace("RunConfig", "GRPOConfig"),
        "requirements.txt": "trl==0.20.0\n",
        "train.py": "from trl import GRPOConfig\nGRPOConfig(max_step=3, beta=5)\n",
    },
    "a class of another kind": {"train.py": data().replace("RunConfig", "Batch") + CALL.replace("RunConfig", "Batch")},
    "named like it and not imported from here": {
        "config.py": data(),
        "train.py": "import transformers\nfrom other import RunConfig\n" + CALL,
    },
}


def messages(files: dict[str, str], folder: Path) -> list[str]:
    lay_out(folder, files)
    found = check([str(folder)], Settings(str(folder))).findings
    return [finding.message for finding in found if finding.code == "TRL301"]


@pytest.mark.parametrize("how", TOLD)
def test_what_no_class_takes_is_told(how: str, tmp_path: Path) -> None:
    (message,) = messages(TOLD[how], tmp_path)
    assert message.endswith("has no argument `max_steps`: did you mean `max_step`?")


@pytest.mark.parametrize("how", FINE)
def test_what_it_may_take_is_not(how: str, tmp_path: Path) -> None:
    assert messages(FINE[how], tmp_path) == []
