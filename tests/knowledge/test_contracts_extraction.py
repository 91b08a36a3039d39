"""What a package imports of another one, with its guards decided for each release of the other."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import pytest
from packaging.version import Version

from trl_lint.knowledge.refresher.contracts_build import Release, breaks, rows_of
from trl_lint.knowledge.refresher.contracts_guards import Asked
from trl_lint.knowledge.refresher.contracts_offers import Offers, exported
from trl_lint.knowledge.refresher.contracts_uses import Code
from trl_lint.knowledge.refresher.index import Contents

# Two releases of the package below: `gone` and `below.old` are in the first alone.
BEFORE = {
    "below/__init__.py": "from .names import gone, stays\nfrom . import part\n__version__ = '1.0'\n",
    "below/names.py": "def gone(): ...\ndef stays(): ...\n",
    "below/part.py": "def is_below_available(): ...\n",
    "below/old.py": "thing = 1\n",
}
AFTER = {
    "below/__init__.py": "from .names import stays\nfrom . import part\n__version__ = '2.0'\n",
    "below/names.py": "def stays(): ...\n",
    "below/part.py": "def is_below_available(): ...\n",
}


def contents(files: Mapping[str, str]) -> Contents:
    members = {path: (zlib.crc32(text.encode()), text.encode()) for path, text in files.items()}
    return Contents(sorted(files), members)


def release(files: Mapping[str, str], version: str = "1.0") -> Release:
    held = contents(files)
    code = [Code(path, source) for path, (_, source) in held.members.items()]
    return Release(version, {one.name: one for one in code}, Offers("top", held, {}), [Version("2.0")], ())


def broken(files: Mapping[str, str], below: Mapping[str, str] = AFTER, version: str = "2.0") -> dict[str, str]:
    """What of a package cannot be imported beside a release of the other: entry -> what is missing."""
    asked = Asked(Offers("below", contents(below), {}))
    found = breaks(release(files), "top", {"below": asked}, {"below": Version(version)})
    return {entry: one.what for entry, one in found.items()}


def own(text: str) -> dict[str, str]:
    return {"top/__init__.py": "from . import core\n", "top/core.py": text}


USE = "    from below import gone\n"

FAILS = {
    "a name": ("from below import gone\n", "below:gone"),
    "a name of a module": ("from below.names import gone\n", "below.names:gone"),
    "a module": ("import below.old\n", "below.old"),
    "a name of a module that is gone": ("from below.old import thing\n", "below.old"),
    "an attribute": ("import below\n\nclass A(below.names.gone): ...\n", "below.names.gone"),
    "under another name": ("import below.names as n\n\nx = n.gone\n", "below.names.gone"),
    "caught and raised again": (
        "try:\n    from below import gone\nexcept ImportError as e:\n    raise RuntimeError('no') from e\n",
        "below:gone",
    ),
    "an error that is not this one": (
        "try:\n    from below import gone\nexcept KeyError:\n    gone = None\n",
        "below:gone",
    ),
    "in the handler of what fails": (
        "try:\n    from below import gone\nexcept ImportError:\n    from below.old import thing\n",
        "below.old",
    ),
    "a test that holds": (
        "import below\nfrom packaging.version import parse\n\n"
        "if parse(below.__version__) >= parse('1.5'):\n    from below import gone\n",
        "below:gone",
    ),
    "where it is available": (
        "from below.part import is_below_available\n\nif is_below_available():\n    from below import gone\n",
        "below:gone",
    ),
    "behind a test that ends the module": (
        "from importlib.metadata import version\n\n"
        "if version('below') < '1':\n    raise ImportError\nfrom below import gone\n",
        "below:gone",
    ),
    "in the body of a class": ("class A:\n    from below import gone\n", "below:gone"),
    "a default of a function": ("import below\n\ndef f(x=below.names.gone): ...\n", "below.names.gone"),
}
GOES_ON = {
    "a name that is there": "from below import stays\nimport below.part\nimport below.names as n\n\nx = n.stays\n",
    "caught": "try:\n    from below import gone\nexcept ImportError:\n    gone = None\n",
    "a module caught as ImportError": "try:\n    import below.old\nexcept ImportError:\n    pass\n",
    "a module caught as ModuleNotFoundError": "try:\n    import below.old\nexcept ModuleNotFoundError:\n    pass\n",
    "caught with others": "try:\n    from below import gone\nexcept (KeyError, ImportError):\n    gone = None\n",
    "suppressed": "from contextlib import suppress\n\nwith suppress(ImportError):\n" + USE,
    "an attribute caught": "import below.names\n\ntry:\n    below.names.gone\nexcept AttributeError:\n    ...\n",
    "in a function": "def f():\n    from below import gone\n    return gone\n",
    "for types alone": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n" + USE,
    "a test that does not hold": (
        "import below\nfrom packaging import version\n\n"
        "if version.parse(below.__version__) < version.parse('2.0'):\n" + USE
    ),
    "the other branch": (
        "import below\nfrom packaging.version import Version\n\n"
        "if Version(below.__version__) >= Version('2.0'):\n    from below import stays\nelse:\n" + USE
    ),
    "a test in a constant": (
        "import importlib.metadata\nfrom packaging import version\n\n"
        "OLD = version.parse(importlib.metadata.version('below')) < version.parse('2')\nif OLD:\n" + USE
    ),
    "a test in a function": (
        "import below\nfrom packaging import version\n\n"
        "def is_old():\n    return version.parse(below.__version__) < version.parse('2')\n\nif is_old():\n" + USE
    ),
    "hasattr": "import below\n\nif hasattr(below, 'gone'):\n" + USE,
    "hasattr and an attribute": "import below.names as n\n\nx = n.gone if hasattr(n, 'gone') else None\n",
    "find_spec": "from importlib.util import find_spec\n\nif find_spec('below.old'):\n    import below.old\n",
    "an expected minimum": (
        "from below.part import is_below_available\n\nif not is_below_available(min_version='2.0'):\n" + USE
    ),
    "a test nobody can decide": "import os\n\nif os.environ.get('X'):\n" + USE,
    "another package may be missing": "try:\n    import other\n" + USE + "except ImportError:\n    ...\n",
    "in the handler of what is there": (
        "try:\n    from below import stays\nexcept ImportError:\n    from below.old import thing\n"
    ),
    "attributes of objects": "from below import stays\n\nx = stays.gone\n",
    "a name of the package itself": "from top.other import gone\n",
}


@pytest.mark.parametrize("case", FAILS)
def test_what_fails(case: str):
    text, what = FAILS[case]
    assert broken(own(text)) == ({"import": what} if what else {})
    assert not broken(own(text), BEFORE, "1.0")


@pytest.mark.parametrize("case", GOES_ON)
def test_what_goes_on(case: str):
    assert not broken({**own(GOES_ON[case]), "top/other.py": "gone = 1\n"})


LAZY = {
    "_import_structure": (
        "from typing import TYPE_CHECKING\nfrom .lazy import _LazyModule\n"
        "_import_structure = {'bad': ['Bad'], 'good': ['Good']}\n"
        "if TYPE_CHECKING:\n    from .bad import Bad\n    from .good import Good\n"
        "else:\n    import sys\n    sys.modules[__name__] = _LazyModule(__name__, '', _import_structure)\n"
    ),
    "extended": (
        "from typing import TYPE_CHECKING\nfrom .lazy import _LazyModule\n"
        "_import_structure = {'good': ['Good']}\n_import_structure['bad'] = ['Bad']\n"
        "if TYPE_CHECKING:\n    from .bad import Bad\n"
        "else:\n    import sys\n    sys.modules[__name__] = _LazyModule(__name__, '', _import_structure)\n"
    ),
}


@pytest.mark.parametrize("form", LAZY)
def test_lazy_packages_fail_by_name(form: str):
    files = {
        "top/__init__.py": LAZY[form],
        "top/lazy.py": "class _LazyModule: ...\n",
        "top/bad.py": "from .helper import f\n\nclass Bad: ...\n",
        "top/helper.py": "from below import gone as f\n",
        "top/good.py": "class Good: ...\n",
    }
    assert broken(files) == {"Bad": "below:gone"}
    assert not broken(files, BEFORE, "1.0")


@pytest.mark.parametrize(
    "root",
    [
        "from .names import *\n",
        "def __getattr__(name):\n    return compute(name)\n",
        "import sys\n\nsys.modules[__name__ + '.old'] = make()\nglobals()['gone'] = 1\n",
        "for n in NAMES:\n    globals()[n] = 1\n",
    ],
)
def test_what_a_package_may_serve_is_no_break(root: str):
    """Stars of modules that have the name, hooks, and tables that are worked out."""
    files = {**AFTER, "below/__init__.py": root, "below/names.py": "gone = 1\n"}
    assert not broken(own("from below import gone\n"), files)


def test_circles_end():
    files = {
        "top/__init__.py": "from .a import x\n",
        "top/a.py": "from .b import y\nx = 1\n",
        "top/b.py": "from .a import x\nfrom .c import z\ny = 1\n",
        "top/c.py": "from .b import y\nfrom below import gone\nz = 1\n",
    }
    assert broken(files) == {"import": "below:gone"}
    assert not broken(files, BEFORE, "1.0")


def test_rows_hold_ranges_of_both():
    releases = [release(own("from below import stays\n"), "1.0"), release(own("from below import gone\n"), "1.1")]
    releases.append(release(own("from below import gone\n"), "1.2"))
    below = [("1.0", contents(BEFORE)), ("2.0", contents(AFTER)), ("2.1", contents(AFTER)), ("2.2", contents(BEFORE))]
    [(package, [row])] = rows_of({"top": releases}, "below", below)
    assert (package, *row) == ("top", "import", "below:gone", "top/core.py:1", "1.1-1.2", "2.0-2.1")


def test_what_a_file_exports():
    source = b"""
__all__ = ["One", 'Two']
__all__: list[str] = [
    "Three",
    "Four",
]
x = ["Five"]

@requires(
    backends=("torch",)
)
class Six(Base):
    def seven(self): ...

@export
@other
def eight(): ...

@other
class Nine: ...
"""
    assert [name.decode() for name in exported(source)] == ["One", "Two", "Three", "Four", "Six", "eight"]
