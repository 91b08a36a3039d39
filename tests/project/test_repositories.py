"""What a repository that is installed from stands for: a release, the tip of its main branch, or nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laid_out import environment, readme

TRL = "git+https://github.com/huggingface/trl"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (TRL, "tip"),
        (f"{TRL}.git", "tip"),
        (f"{TRL}.git@main", "tip"),
        (f"{TRL}@master#egg=trl", "tip"),
        (f"{TRL}@HEAD", "tip"),
        ("git+ssh://git@github.com/huggingface/trl.git", "tip"),
        ("git+https://GitHub.com/HuggingFace/TRL", "tip"),
        (f"{TRL}.git@v0.14.0", "0.14.0"),
        (f"{TRL}@refs/tags/v0.14.0", "0.14.0"),
        (f"{TRL}@v0.14.99", "unknown"),
        (f"{TRL}@9d35a0b", "unknown"),
        (f"{TRL}@new-rewards", "unknown"),
        ("git+https://github.com/someone/trl", "unknown"),
        ("git+https://gitlab.com/huggingface/trl", "unknown"),
        ("https://github.com/huggingface/trl/archive/main.zip", "unknown"),
    ],
)
def test_what_an_address_stands_for(url: str, shown: str, tmp_path: Path):
    package = environment(tmp_path, {"requirements.txt": f"trl @ {url}\n"}).package("trl")
    found = "tip" if package.is_tip else str(package.resolved) if package.source == "pin" else package.source
    assert found == shown


UV_SOURCE = f'''
[project]
name = "p"
dependencies = ["trl"]
[tool.uv.sources]
trl = {{ git = "{TRL[4:]}" }}
'''.lstrip()
POETRY = f'''
[tool.poetry]
name = "p"
[tool.poetry.dependencies]
trl = {{ git = "{TRL[4:]}" }}
'''.lstrip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (readme("git clone https://github.com/huggingface/trl", "cd trl", "pip install -e ."), "tip"),
        (readme("git clone -b v0.14.0 https://github.com/huggingface/trl", "pip install ./trl"), "0.14.0"),
        (
            readme("git clone https://github.com/huggingface/trl", "cd trl", "git checkout 9d35", "pip install ."),
            "unknown",
        ),
        (readme(f"uv add 'trl @ {TRL}' --tag v0.14.0"), "0.14.0"),
        (readme(f"uv add {TRL} --branch main"), "tip"),
        (UV_SOURCE, "tip"),
        (UV_SOURCE.replace('" }', '", tag = "v0.14.0" }'), "0.14.0"),
        (UV_SOURCE.replace('" }', '", rev = "9d35a0b" }'), "unknown"),
        (POETRY, "tip"),
        (POETRY.replace('" }', '", tag = "v0.14.0" }'), "0.14.0"),
        (POETRY.replace('" }', '", branch = "new-rewards" }'), "unknown"),
    ],
)
def test_every_way_to_name_a_revision(text: str, shown: str, tmp_path: Path):
    package = environment(tmp_path, {"pyproject.toml" if text[0] == "[" else "README.md": text}).package("trl")
    found = "tip" if package.is_tip else str(package.resolved) if package.source == "pin" else package.source
    assert found == shown


def test_the_tip_is_at_least_the_newest_release(tmp_path: Path):
    package = environment(tmp_path, {"requirements.txt": f"trl @ {TRL}\n"}).package("trl")
    assert (package.source, package.allowed, package.resolved) == ("unknown", None, None)
    assert {spec: package.holds(spec) for spec in (">=0.14", "<0.18", ">=0.14,<0.18", ">=99", "==99.0")} == {
        ">=0.14": "all",
        "<0.18": "none",
        ">=0.14,<0.18": "none",
        ">=99": "unknown",
        "==99.0": "unknown",
    }
