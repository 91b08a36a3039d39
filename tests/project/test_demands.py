"""What code asks of the installed releases before it comes to a place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from trl_lint.project import Project
from trl_lint.project.demands import demands_on
from trl_lint.settings import Settings
from trl_lint.sources import Files

VERSIONS = "from transformers.utils.versions import require_version\n"
INIT = "class A(Base):\n    def __init__(self):\n        {}\n    def step(self):\n        MARK\n"

ASKED = {
    "module": VERSIONS + "require_version('trl>=0.8.6,<=0.9.6', 'hint')\nMARK\n",
    "another name": VERSIONS.replace("require_version\n", "require_version as rv\n")
    + "rv('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "of the module": "from transformers.utils import versions\nversions.require_version('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "module under a name": "import transformers.utils.versions as v\nv.require_version('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "the whole path": "import transformers\ntransformers.utils.versions.require_version('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "shorter path": "from transformers.utils import require_version\nrequire_version('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "core": "from transformers.utils.versions import require_version_core as r\nr('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "keyword": VERSIONS + "require_version(requirement='trl >= 0.8.6, <= 0.9.6')\nMARK\n",
    "constant": VERSIONS + "NEEDED = 'trl>=0.8.6,<=0.9.6'\nrequire_version(NEEDED)\nMARK\n",
    "f-string": VERSIONS + "LOW = '0.8.6'\nHIGH = '0.9.6'\nrequire_version(f'trl>={LOW},<={HIGH}')\nMARK\n",
    "joined": VERSIONS + "RANGE = '>=0.8.6,<=0.9.6'\nrequire_version('trl' + RANGE)\nMARK\n",
    "table": VERSIONS + "DEPS = {'trl': 'trl>=0.8.6,<=0.9.6'}\nrequire_version(DEPS['trl'])\nMARK\n",
    "loop": VERSIONS + "for need in ['peft', 'trl>=0.8.6,<=0.9.6']:\n    require_version(need)\nMARK\n",
    "two calls": VERSIONS + "require_version('trl>=0.8.6')\nrequire_version('trl<=0.9.6')\nMARK\n",
    "try that raises": VERSIONS
    + "try:\n    require_version('trl>=0.8.6,<=0.9.6')\nexcept ImportError as e:\n    raise e\nMARK\n",
    "inside of try": VERSIONS
    + "try:\n    require_version('trl>=0.8.6,<=0.9.6')\n    MARK\nexcept ImportError:\n    pass\n",
    "else of try": VERSIONS
    + "try:\n    require_version('trl>=0.8.6,<=0.9.6')\nexcept ImportError:\n    pass\nelse:\n    MARK\n",
    "with": VERSIONS + "with quiet():\n    require_version('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "function": VERSIONS + "def f():\n    require_version('trl>=0.8.6,<=0.9.6')\n    if x:\n        MARK\n",
    "module for its functions": VERSIONS + "def f():\n    MARK\nrequire_version('trl>=0.8.6,<=0.9.6')\n",
    "class body": VERSIONS + "class A:\n    require_version('trl>=0.8.6,<=0.9.6')\n    def f(self):\n        MARK\n",
    "method": VERSIONS + INIT.format("require_version('trl>=0.8.6,<=0.9.6')"),
    "method by a base": VERSIONS
    + INIT.format("require_version('trl>=0.8.6,<=0.9.6')").replace("MARK", "pass")
    + "class B(A):\n    def other(self):\n        MARK\n",
    "method by super": VERSIONS
    + INIT.format("require_version('trl>=0.8.6,<=0.9.6')").replace("MARK", "pass")
    + "class B(A):\n    def __init__(self):\n        super().__init__()\n    def other(self):\n        MARK\n",
    "private function": VERSIONS
    + "def _train():\n    MARK\ndef main():\n    require_version('trl>=0.8.6,<=0.9.6')\n    _train()\n",
    "function of a script": VERSIONS
    + "def train():\n    MARK\ndef main():\n    require_version('trl>=0.8.6,<=0.9.6')\n    train()\n"
    "if __name__ == '__main__':\n    main()\n",
    "helper": VERSIONS
    + "def check_version(need, hint=''):\n    require_version(need, hint)\ncheck_version('trl>=0.8.6,<=0.9.6')\nMARK\n",
    "helper with a way out": VERSIONS
    + "def check_version(need, mandatory=False):\n    if is_env('DISABLE_VERSION_CHECK') and not mandatory:\n"
    "        return\n    require_version(need)\ncheck_version('trl>=0.8.6,<=0.9.6', mandatory=True)\nMARK\n",
    "helper without parameters": VERSIONS
    + "def check_dependencies():\n    require_version('trl>=0.8.6,<=0.9.6')\ncheck_dependencies()\nMARK\n",
    "helper with an else": VERSIONS
    + "def check_dependencies():\n    if int(os.environ.get('DISABLE_CHECK', '0')):\n        warn()\n    else:\n"
    "        require_version('trl>=0.8.6,<=0.9.6')\ncheck_dependencies()\nMARK\n",
    "method that checks": VERSIONS + "class A:\n    def __init__(self):\n        self._check_versions()\n"
    "    def _check_versions(self):\n        require_version('trl>=0.8.6,<=0.9.6')\n    def f(self):\n        MARK\n",
    "assert": "import trl\nassert '0.8.6' <= trl.__version__\nassert parse(trl.__version__) <= parse('0.9.6')\nMARK\n",
    "raise": "import trl\nV = trl.__version__\nif Version(V) < Version('0.8.6') or Version(V) > Version('0.9.6'):\n"
    "    raise ImportError\nMARK\n",
    "exit": "from importlib.metadata import version\nv = version('trl')\nif not (parse(v) >= parse('0.8.6')):\n"
    "    sys.exit(1)\nif parse(v) > parse('0.9.6'):\n    sys.exit(1)\nMARK\n",
    "assert in __init__": "import trl\n"
    + INIT.format(
        "assert version.parse(trl.__version__) >= version.parse('0.8.6')\n"
        "        assert version.parse(trl.__version__) <= version.parse('0.9.6')"
    ),
    "helper that raises": "import importlib.metadata as m\ndef require_trl():\n    found = m.version('trl')\n"
    "    if parse(found) < parse('0.8.6') or parse(found) > parse('0.9.6'):\n        raise SystemExit('no')\n"
    "require_trl()\nMARK\n",
    "is_version": "if not is_trl_version('>=', '0.8.6'):\n    raise ImportError\n"
    "if is_trl_version('>', '0.9.6'):\n    raise ImportError\nMARK\n",
}
NOT_ASKED = {
    "below": VERSIONS + "MARK\nrequire_version('trl<=0.9.6')\n",
    "without a release": VERSIONS + "require_version('trl')\nMARK\n",
    "another branch": VERSIONS + "if ppo:\n    require_version('trl<=0.9.6')\nelse:\n    MARK\n",
    "behind a branch": VERSIONS + "if ppo:\n    require_version('trl<=0.9.6')\nMARK\n",
    "caught": VERSIONS + "try:\n    require_version('trl<=0.9.6')\nexcept ImportError:\n    old = False\nMARK\n",
    "handler": VERSIONS + "try:\n    require_version('trl<=0.9.6')\nexcept ImportError:\n    MARK\n",
    "another function": VERSIONS + "def f():\n    require_version('trl<=0.9.6')\ndef g():\n    MARK\n",
    "only when it runs": VERSIONS
    + "def g():\n    MARK\nif __name__ == '__main__':\n    require_version('trl<=0.9.6')\n",
    "one of two callers": VERSIONS
    + "def _f():\n    MARK\ndef a():\n    require_version('trl<=0.9.6')\n    _f()\ndef b():\n    _f()\n",
    "a function for others": VERSIONS + "def f():\n    MARK\ndef a():\n    require_version('trl<=0.9.6')\n    f()\n",
    "static method": VERSIONS
    + INIT.format("require_version('trl<=0.9.6')").replace("    def step(self)", "    @staticmethod\n    def step()"),
    "class method": VERSIONS
    + INIT.format("require_version('trl<=0.9.6')").replace(
        "    def step(self)", "    @classmethod\n    def step(self)"
    ),
    "a helper that only looks": "def check_version(need):\n    print(need)\ncheck_version('trl<=0.9.6')\nMARK\n",
    "a loop over what is not known": VERSIONS + "for need in needs():\n    require_version(need)\nMARK\n",
    "a test that goes on": "import trl\nif Version(trl.__version__) > Version('0.9.6'):\n    print()\nMARK\n",
    "a test that returns": "def check_trl():\n    if Version(trl.__version__) > Version('1'):\n        return\n"
    "check_trl()\nMARK\n",
    "python": "def check_version():\n    if sys.version_info < (3, 10):\n        sys.exit(1)\ncheck_version()\nMARK\n",
    "no comparison": "import trl\nassert trl.__version__\nMARK\n",
    "itself": "def check():\n    check()\ncheck()\nMARK\n",
    "names in a circle": "import trl\na = a and b\nb = b and a\nassert a and trl.__version__\nMARK\n",
}


def asked(tmp_path: Path, text: str, **others: str) -> list[tuple[str, str | None]]:
    (tmp_path / ".git").mkdir()
    for name, content in {"train.py": text, **{f"{name}.py": content for name, content in others.items()}}.items():
        (tmp_path / name).write_text(content, "utf-8")
    project = Project(str(tmp_path), Files(), Settings(str(tmp_path)))
    module = project.module_in(str(tmp_path / "train.py"))
    mark = next(n for n in ast.walk(module.tree) if isinstance(n, ast.Name) and n.id == "MARK")
    return [(demand.package, demand.specifier) for demand in demands_on(module, mark, project)]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ASKED.items()])
def test_asked(tmp_path: Path, text: str):
    found = asked(tmp_path, text)
    assert {package for package, _ in found} == {"trl"}
    assert {part for _, specifier in found for part in str(specifier).split(",")} == {">=0.8.6", "<=0.9.6"}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in NOT_ASKED.items()])
def test_not_asked(tmp_path: Path, text: str):
    assert asked(tmp_path, text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import trl\nassert trl.__version__ == '0.29.0'\nMARK\n", [("trl", "==0.29.0")]),
        ("import trl\nassert trl.__version__.startswith('0.16.')\nMARK\n", [("trl", "==0.16.*")]),
        (
            "from transformers.utils import check_min_version\ncheck_min_version('4.57.0.dev0')\nMARK\n",
            [("transformers", ">=4.57.0.dev0")],
        ),
        ("if not is_peft_available('0.12'):\n    raise ImportError\nMARK\n", [("peft", ">=0.12")]),
        (
            "PIN = '0.15.2'\nimport importlib.metadata as m\nif m.version('trl') != PIN:\n    raise Exit\nMARK\n",
            [("trl", "==0.15.2")],
        ),
        # Which releases is not known, but that some are asked for is.
        (VERSIONS + "require_version(f'trl>={least()}')\nMARK\n", [("trl", None)]),
        (
            VERSIONS + "def check(stage):\n    if stage == 'sft':\n        return\n    require_version('trl<=0.9.6')\n"
            "check(stage)\nMARK\n",
            [("trl", None)],
        ),
    ],
)
def test_which(tmp_path: Path, text: str, expected: list[tuple[str, str | None]]):
    assert asked(tmp_path, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "from extras import check_version\ncheck_version('trl<=0.9.6')\nMARK\n",
        "from extras import check_version as c\nc('trl<=0.9.6')\nMARK\n",
        "import extras\nextras.check_version('trl<=0.9.6')\nMARK\n",
        "from extras import check_dependencies\ncheck_dependencies()\nMARK\n",
        "from extras import NEEDED\n" + VERSIONS + "require_version(NEEDED)\nMARK\n",
        "from extras import Old\nclass New(Old):\n    def step(self):\n        MARK\n",
    ],
)
def test_of_another_module(tmp_path: Path, text: str):
    extras = VERSIONS + (
        "NEEDED = 'trl<=0.9.6'\n"
        "def check_version(need):\n    require_version(need, 'hint')\n"
        "def check_dependencies():\n    check_version(NEEDED)\n"
        "class Old:\n    def __init__(self):\n        require_version('trl<=0.9.6')\n"
    )
    assert asked(tmp_path, text, extras=extras) == [("trl", "<=0.9.6")]


def test_many_calls_cost_in_proportion(tmp_path: Path):
    """Functions that call each other, loops in loops: the work for one module is bounded."""
    calls = "".join(f"def check_{n}():\n" + f"    check_{n + 1}()\n" * 20 for n in range(50))
    loops = "def check_all():\n" + "".join(f"{'    ' * (n + 1)}for a{n} in {list(range(40))}:\n" for n in range(4))
    text = calls + loops + "    " * 5 + "check_0()\ncheck_all()\nMARK\n"
    assert asked(tmp_path, text) == []
