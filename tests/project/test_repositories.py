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
        ("https://github.com/huggingface/trl/archive/main.zip", "tip"),
        ("https://github.com/huggingface/trl/archive/refs/heads/main.tar.gz", "tip"),
        ("https://github.com/huggingface/trl/archive/refs/tags/v0.14.0.tar.gz", "0.14.0"),
        ("https://github.com/huggingface/trl/archive/v0.14.0.zip#egg=trl", "0.14.0"),
        ("https://codeload.github.com/huggingface/trl/zip/refs/tags/v0.14.0", "0.14.0"),
        ("https://github.com/huggingface/trl/archive/9d35a0b.zip", "unknown"),
        ("https://github.com/someone/trl/archive/refs/tags/v0.14.0.tar.gz", "unknown"),
        ("https://example.com/huggingface/trl/archive/refs/tags/v0.14.0.tar.gz", "unknown"),
        (f"{TRL}@v0.15-release", "0.15.2"),
        (f"{TRL}@origin/v0.15-release", "0.15.2"),
        (f"{TRL}@refs/heads/v0.15-release", "0.15.2"),
        (f"{TRL}@v0.99-release", "unknown"),
        (f"{TRL}@v0.15-release-rewards", "unknown"),
        (f"{TRL}@0.15", "unknown"),
        (f"{TRL}@v0.14.0-rewards", "unknown"),
        ("https://files.pythonhosted.org/packages/py3/t/trl/trl-0.14.0-py3-none-any.whl", "0.14.0"),
        ("https://example.com/trl-0.14.0-py3-none-any.whl", "unknown"),
        ("https://example.com/trl-0.14.0.tar.gz", "unknown"),
    ],
)
def test_what_an_address_stands_for(url: str, shown: str, tmp_path: Path):
    package = environment(tmp_path, {"requirements.txt": f"trl @ {url}\n"}).package("trl")
    found = "tip" if package.is_tip else str(package.resolved) if package.source == "pin" else package.source
    assert found == shown


@pytest.mark.parametrize(
    ("url", "package", "shown"),
    [
        ("git+https://github.com/hiyouga/LLaMA-Factory.git@v0.9.3", "llamafactory", "0.9.3"),
        ("git+https://github.com/hiyouga/LlamaFactory", "llamafactory", "tip"),
        ("git+https://github.com/someone/LLaMA-Factory@v0.9.3", "llamafactory", "unknown"),
        ("git+https://github.com/modelscope/swift.git@v3.6.0", "ms-swift", "3.6.0"),
        ("git+https://github.com/modelscope/ms-swift@v3.6.0#egg=ms-swift", "ms-swift", "3.6.0"),
        ("git+https://github.com/OpenAccess-AI-Collective/axolotl@v0.8.0", "axolotl", "0.8.0"),
        ("git+https://github.com/axolotl-ai-cloud/axolotl.git@main", "axolotl", "tip"),
        ("git+https://github.com/volcengine/verl@v0.5.0", "verl", "0.5.0"),
        ("git+https://github.com/verl-project/verl@v0.5.0", "verl", "0.5.0"),
        ("git+https://github.com/microsoft/DeepSpeed.git@v0.15.4", "deepspeed", "0.15.4"),
        ("git+https://github.com/OpenLLMAI/OpenRLHF@v0.3.8", "openrlhf", "0.3.8"),
        ("git+https://github.com/pytorch/torchtune@v0.6.1", "torchtune", "0.6.1"),
        ("git+https://github.com/unslothai/unsloth.git", "unsloth", "tip"),
        ("git+https://github.com/vllm-project/vllm@v0.8.5.post1", "vllm", "0.8.5.post1"),
        ("git+https://github.com/Dao-AILab/flash-attention@v2.7.4.post1", "flash-attn", "2.7.4.post1"),
        ("git+https://github.com/huggingface/transformers@v4.49-release", "transformers", "4.49.0"),
        (
            "https://github.com/vllm-project/vllm/releases/download/v0.8.5/vllm-0.8.5%2Bcu118-cp38-abi3-linux_x86_64.whl",
            "vllm",
            "0.8.5",
        ),
        ("https://wheels.example.com/vllm-0.8.5-cp38-abi3-linux_x86_64.whl", "vllm", "unknown"),
    ],
)
@pytest.mark.parametrize("where", ["requirements", "command", "conda"])
def test_what_an_address_without_a_name_installs(url: str, package: str, shown: str, where: str, tmp_path: Path):
    files = {
        "requirements": {"requirements.txt": f"numpy\n{url}\n"},
        "command": {"install.sh": f"pip install -U '{url}'\n"},
        "conda": {"environment.yml": f"dependencies:\n  - pip:\n    - {url}\n"},
    }[where]
    found = environment(tmp_path, files).package(package)
    assert ("tip" if found.is_tip else str(found.resolved) if found.source == "pin" else found.source) == shown


@pytest.mark.parametrize(
    ("line", "around"),
    [
        (f"trl @ {TRL}@9d35a0b  # 2025-02-20", "0.15.0 to 0.16.0"),
        (f"{TRL}@9d35a0b # main on 2025-02-20, before the new rewards", "0.15.0 to 0.16.0"),
        (f"{TRL}@9d35a0b  # two days old", ""),
        (f"{TRL}@9d35a0b  # 2019-01-01", ""),
        (f"{TRL}@9d35a0b  # 2099-01-01", ""),
        ("git+https://github.com/someone/trl@9d35a0b  # 2025-02-20", ""),
        (f"# 2025-02-20\n{TRL}@9d35a0b", ""),
    ],
)
def test_a_commit_with_a_date_lies_between_two_releases(line: str, around: str, tmp_path: Path):
    package = environment(tmp_path, {"requirements.txt": f"{line}\n"}).package("trl")
    assert package.allowed is None
    assert " to ".join(map(str, package.neighbours[:: max(1, len(package.neighbours) - 1)])) == around
    assert package.holds(">=0.14") == ("all" if around else "unknown")
    assert package.holds(">=0.15.1") == "unknown"


def test_a_tag_for_one_model_is_behind_its_release(tmp_path: Path):
    line = "git+https://github.com/huggingface/transformers@v4.49.0-Gemma-3\n"
    found = environment(tmp_path, {"requirements.txt": line}).package("transformers")
    assert [str(version) for version in found.neighbours] == ["4.49.0", "4.50.0"]


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


PREVIEW = "https://download.pytorch.org/whl/preview/forge"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("install.sh", f"pip install vllm --index-url {PREVIEW}\n", "unknown"),
        ("install.sh", f"pip install -i {PREVIEW} vllm\n", "unknown"),
        ("install.sh", f"uv pip install --default-index={PREVIEW} 'vllm>=0.8'\n", "unknown"),
        ("install.sh", f"pip install --pre vllm --extra-index-url {PREVIEW}/nightly/cu128\n", "unknown"),
        ("requirements.txt", f"--index-url {PREVIEW}\nvllm\n", "unknown"),
        ("requirements.txt", f"-i {PREVIEW}\nvllm>=0.8\n", "unknown"),
        ("install.sh", f"pip install vllm==0.8.5 --index-url {PREVIEW}\n", "0.8.5"),
        ("install.sh", f"pip install vllm==0.8.5+cu118 --index-url {PREVIEW}\n", "0.8.5"),
        ("requirements.txt", f"--index-url {PREVIEW}\nvllm==0.8.5\n", "0.8.5"),
        ("install.sh", "pip install vllm -i https://pypi.tuna.tsinghua.edu.cn/simple\n", "assumed"),
        ("install.sh", "pip install vllm --index-url https://mirrors.aliyun.com/pypi/simple\n", "assumed"),
        ("install.sh", "pip install vllm --index-url https://pypi.org/simple\n", "assumed"),
        ("install.sh", "pip install vllm --extra-index-url https://download.pytorch.org/whl/cu124\n", "assumed"),
        ("requirements.txt", "--extra-index-url https://download.pytorch.org/whl/cu124\nvllm\n", "assumed"),
        ("requirements.txt", "--find-links https://example.com/wheels\nvllm==0.8.5\n", "0.8.5"),
        ("install.sh", f"pip install torch --index-url {PREVIEW}\npip install vllm==0.8.5\n", "0.8.5"),
    ],
)
def test_another_index_may_hold_any_release(name: str, text: str, shown: str, tmp_path: Path):
    found = environment(tmp_path, {name: text}).package("vllm")
    assert (found.source if found.source != "pin" else str(found.resolved).partition("+")[0]) == shown
    assert not environment(tmp_path, {name: text}).unknown_installs()
