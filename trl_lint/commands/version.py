"""`trl-lint --version --verbose`: what a report of a fault has to name, and nothing of the machine's own names."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from trl_lint import __version__
from trl_lint.words import counted

_DEPENDENCIES = ("libcst", "packaging", "pyyaml", "tomli", "tree-sitter", "tree-sitter-bash", "flake8", "PyGithub")
# The packages whose newest known release tells how old the tables are.
_KNOWN = ("trl", "transformers", "accelerate", "deepspeed", "peft", "torch", "vllm", "verl", "axolotl", "llamafactory")


def lines() -> list[str]:
    """The version with that of Python, of the system, of what it needs, and how far its knowledge goes."""
    from trl_lint.knowledge.pages import page_files
    from trl_lint.knowledge.releases import known_packages, newest

    packages = known_packages()
    return [
        f"trl-lint {__version__}",
        f"python {platform.python_version()} ({platform.python_implementation()}, {platform.system()})",
        *(f"{name} {_installed(name)}" for name in _DEPENDENCIES),
        f"knows {counted(len(page_files()), 'rule')} and {counted(len(packages), 'package')}, among them "
        + ", ".join(f"{name} to {newest(name)}" for name in _KNOWN if name in packages),
    ]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is not installed"
