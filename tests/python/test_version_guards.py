"""Which places are prepared for more than one release."""

from __future__ import annotations

import ast

import pytest

from trl_lint.python.module import PythonModule
from trl_lint.python.version_guards import is_guarded
from trl_lint.sources import Source, SourceFile

GUARDED = {
    "try": "try:\n    MARK\nexcept ImportError:\n    pass\n",
    "handler": "try:\n    import a\nexcept (ValueError, ModuleNotFoundError):\n    MARK\n",
    "bare except": "try:\n    MARK\nexcept:\n    pass\n",
    "version": "if Version(trl.__version__) >= Version('0.16'):\n    MARK\n",
    "else of a version": "if Version(trl.__version__) >= Version('0.16'):\n    pass\nelse:\n    MARK\n",
    "stored version": "NEW = parse(version('trl')) >= parse('1')\nif NEW:\n    MARK\n",
    "stored twice": "v = version('trl')\nNEW = parse(v) >= parse('1')\nif NEW:\n    MARK\n",
    "named after a release": "from .compat import TRL_V1\nif TRL_V1:\n    MARK\n",
    "available": "if is_vllm_available():\n    MARK\n",
    "type checking": "if TYPE_CHECKING:\n    MARK\n",
    "expression": "x = MARK if hasattr(trl, 'MARK') else None\n",
    "and": "x = hasattr(trl, 'MARK') and MARK\n",
    "suppress": "with suppress(ImportError):\n    MARK\n",
    "raises": "with pytest.raises(TypeError):\n    MARK\n",
    "decorator": "@pytest.mark.skipif(trl_version < 1, reason='')\ndef f():\n    MARK\n",
    "left before": "def f():\n    if Version(trl.__version__) < V:\n        return\n    MARK\n",
    "assert": "assert Version(trl.__version__) >= V\nMARK\n",
}
PLAIN = {
    "module": "MARK\n",
    "other try": "try:\n    MARK\nexcept KeyError:\n    pass\n",
    "finally": "try:\n    pass\nexcept ImportError:\n    pass\nfinally:\n    MARK\n",
    "other test": "if args.use_vllm:\n    MARK\n",
    "main": "if __name__ == '__main__':\n    MARK\n",
    "after an import fallback": "try:\n    import a\nexcept ImportError:\n    a = None\nMARK\n",
    "after a test that goes on": "if Version(trl.__version__) < V:\n    print()\nMARK\n",
    "other with": "with open('x') as f:\n    MARK\n",
}


# Requirements: what stands behind them is judged under the releases that they leave, by those who know them.
REQUIRED = {
    "assert": "import trl\nassert Version(trl.__version__) >= Version('0.16')\nMARK\n",
    "raise": "import trl\nif trl.__version__ < '0.16' or trl.__version__ > '0.20':\n    raise ImportError\nMARK\n",
    "exit": "import trl\nV = Version(trl.__version__)\nif not V >= Version('0.16'):\n    sys.exit(1)\nMARK\n",
    "stored": "import trl\nOLD = Version(trl.__version__) < Version('0.16')\nif OLD:\n    raise E\nMARK\n",
}
NOT_REQUIRED = {
    "unknown release": "import trl\nassert Version(trl.__version__) >= V\nMARK\n",
    "one part": "import trl\nassert Version(trl.__version__) >= Version('0.16') and hasattr(trl, 'X')\nMARK\n",
    "either": "import trl\nassert trl.__version__ >= '0.16' or trl.__version__ == '0.14.0'\nMARK\n",
    "return": "import trl\ndef f():\n    if Version(trl.__version__) < Version('0.16'):\n        return\n    MARK\n",
    "else": "import trl\nif trl.__version__ < '0.16':\n    raise E\nelse:\n    X = 1\nMARK\n",
    "available": "if not is_vllm_available():\n    raise ImportError\nMARK\n",
}


def place_is_guarded(text: str, is_narrowed: bool = False) -> bool:
    module = PythonModule(Source(SourceFile("/x.py", text.encode()), "python"))
    mark = next(n for n in ast.walk(module.tree) if isinstance(n, ast.Name) and n.id == "MARK")
    return is_guarded(module, mark, is_narrowed)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in GUARDED.items()])
def test_guarded(text: str):
    assert place_is_guarded(text)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in PLAIN.items()])
def test_not_guarded(text: str):
    assert not place_is_guarded(text)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in REQUIRED.items()])
def test_requirements(text: str):
    assert place_is_guarded(text)
    assert not place_is_guarded(text, is_narrowed=True)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in {**GUARDED, **NOT_REQUIRED}.items()])
def test_no_requirements(text: str):
    assert place_is_guarded(text, is_narrowed=True)
