"""What is installed together: each test lays out a small project and asks for the releases of one file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.laid_out import environment, lay_out, readme, resolved, setup
from trl_lint.project import Project
from trl_lint.project.manifests.reader import read_manifest
from trl_lint.project.modules import installed_programs, module_file
from trl_lint.project.pins import Manifest
from trl_lint.sources import Files

CORE = {"core/setup.py": setup("core", "transformers==4.40.0", dev=["peft==0.10.0"]), "core/core/__init__.py": ""}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", readme("pip install -e ./core")),
        ("README.md", readme("$ pip install --editable core")),
        ("README.md", readme("uv pip install --editable=./core")),
        ("README.md", readme("uv add ./core")),
        ("README.md", readme("(cd core && uv sync)", "python train.py")),
        ("README.md", readme("uv sync --project core", "python train.py")),
        ("README.md", readme("git clone https://github.com/x/NAME && cd NAME", "pip install ./core")),
        ("setup.sh", "cd core\npip install -e '.[dev]'\n"),
        ("setup.sh", "(cd core && pip install .)\n"),
        ("setup.sh", "cd /workspace/NAME\npip install -e core/\n"),
        ("Makefile", "install:\n\tcd core && pip install .\n"),
        ("Dockerfile", "FROM x\nWORKDIR /app\nCOPY . .\nRUN pip install -e core\n"),
        ("Dockerfile", "FROM x\nCOPY core /opt/core\nRUN pip install /opt/core\n"),
        ("docker/Dockerfile", "FROM x\nADD . /src/\nWORKDIR /src/core\nRUN pip install .\n"),
        (".github/workflows/test.yml", "jobs:\n  test:\n    steps:\n      - run: pip install -e ./core\n"),
        ("requirements.txt", "-e ./core\n"),
        ("requirements.txt", "./core[dev]\n"),
        (
            "pyproject.toml",
            '[project]\nname = "p"\ndependencies = ["core"]\n[tool.uv.sources]\ncore = {path = "core"}\n',
        ),
        ("pyproject.toml", '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\ncore = {path = "core"}\n'),
    ],
)
def test_every_way_to_install_a_project_on_the_disk(name: str, text: str, tmp_path: Path):
    text = text.replace("NAME", tmp_path.name)
    assert resolved(tmp_path, {**CORE, name: text}) == "4.40.0"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", readme("pip install -r envs/requirements.txt")),
        ("README.md", readme("uv pip install --requirements envs/requirements.txt")),
        ("setup.sh", "cd envs\npip install --requirement=requirements.txt\n"),
        ("setup.sh", "pip install -renvs/requirements.txt\n"),
        (
            "Dockerfile",
            "FROM x\nCOPY envs/requirements.txt /tmp/requirements.txt\nRUN pip install -r /tmp/requirements.txt\n",
        ),
        ("Dockerfile", "FROM x\nCOPY envs/requirements.txt /tmp/\nRUN cd /tmp && pip install -r requirements.txt\n"),
    ],
)
def test_every_way_to_install_a_requirements_file(name: str, text: str, tmp_path: Path):
    assert resolved(tmp_path, {"envs/requirements.txt": "transformers==4.40.0\n", name: text}) == "4.40.0"


@pytest.mark.parametrize(
    ("line", "peft"),
    [
        ("pip install ./core", "assumed"),
        ("pip install './core[dev]'", "0.10.0"),
        ("(cd core && uv sync --extra dev); python train.py", "0.10.0"),
    ],
)
def test_an_extra_comes_along_if_it_is_asked_for(line: str, peft: str, tmp_path: Path):
    assert resolved(tmp_path, {**CORE, "README.md": readme(line)}, "peft") == peft


_WORKFLOW = """
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
{}
  lint:
    steps:
      - run: ruff check .
"""


def job(*steps: str, directory: str = "core") -> str:
    inside = f"        working-directory: {directory}\n" if directory else ""
    return _WORKFLOW.format("\n".join(f"      - run: {step}\n{inside}" for step in steps))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".github/workflows/test.yml", job("uv sync --locked")),
        (".github/workflows/test.yml", job("uv sync", "uv run pytest")),
        (".github/workflows/test.yml", job("pip install -e .")),
        (".github/workflows/test.yml", job("cd core && poetry install", directory="")),
        (".github/workflows/test.yml", job("uv --directory core sync", directory="")),
        (
            ".github/workflows/test.yml",
            job("pip install uv") + job("uv sync")[len("\njobs:\n") :].replace("test:", "x:"),
        ),
        ("README.md", readme("cd core && uv sync")),
        ("README.md", readme("cd core", "poetry install", "poetry run python main.py")),
        ("README.md", readme("uv sync --project=core")),
        ("README.md", readme("poetry -C core install")),
        ("README.md", readme("cd core && pip install -r requirements.txt", "python main.py")),
        ("README.md", readme("cd core && pip install transformers==4.40.0 && accelerate launch main.py")),
        ("setup.sh", "pushd core\npip install -r requirements.txt\npopd\n"),
        ("Makefile", "core:\n\tcd core && pip install -r requirements.txt\n"),
    ],
)
@pytest.mark.parametrize("has_code", [True, False])
def test_what_is_installed_in_a_folder_holds_there(name: str, text: str, has_code: bool, tmp_path: Path):
    files = {
        "core/pyproject.toml": '[project]\nname = "core"\ndependencies = ["transformers==4.40.0"]\n',
        "core/requirements.txt": "transformers==4.40.0\n",
        **({"core/main.py": ""} if has_code else {}),
        name: text,
    }
    for path in ("other/train.py", "train.py"):
        assert resolved(tmp_path, files, path=path) == "told"
    assert resolved(tmp_path, files, path="core/main.py") == "4.40.0"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", readme("pip install -r core/requirements.txt")),
        ("README.md", readme("cd core && pip install -r requirements.txt", "cd ..", "python train.py")),
        ("setup.sh", "cd core\npip install -r requirements.txt\ncd ..\ntorchrun train.py\n"),
        ("setup.sh", "cd core\npip install -r requirements.txt\ncd $WHERE\ntorchrun train.py\n"),
        (".github/workflows/test.yml", job("(cd core && pip install -e .)", "pytest", directory="")),
        (".github/workflows/test.yml", job("pip install -e core", directory="")),
    ],
)
def test_what_is_installed_in_a_folder_and_run_outside_holds_there_too(name: str, text: str, tmp_path: Path):
    files = {**CORE, "core/requirements.txt": "transformers==4.40.0\n", name: text}
    assert resolved(tmp_path, files, path="other/train.py") == "4.40.0"


def test_an_extra_comes_along_if_a_later_command_asks_for_it(tmp_path: Path):
    files = {**CORE, "README.md": readme("pip install -e ./core", "pip install -e './core[dev]'")}
    assert resolved(tmp_path, files, "peft") == "0.10.0"


def test_no_deps_brings_the_modules_only(tmp_path: Path):
    files = {**CORE, "README.md": readme("pip install --no-deps -e ./core"), "train.py": ""}
    project = lay_out(tmp_path, files)
    assert project.environment(str(tmp_path / "train.py")).package("transformers").source == "told"
    assert module_file("core", str(tmp_path / "train.py"), project) == str(tmp_path / "core" / "core" / "__init__.py")


def test_modules_of_an_installed_project_exist(tmp_path: Path):
    files = {
        "README.md": readme("pip install -e ./verl"),
        "verl/pyproject.toml": '[project]\nname = "verl"\nversion = "0.2"\n',
        "verl/src/verl/trainer/main.py": "",
        "scripts/eval/x.py": "",
    }
    project = lay_out(tmp_path, files)
    wanted = str(tmp_path / "verl" / "src" / "verl" / "trainer" / "main.py")
    assert module_file("verl.trainer.main", str(tmp_path / "scripts" / "eval" / "x.py"), project) == wanted
    assert installed_programs("verl.trainer.main", str(tmp_path / "scripts" / "eval" / "x.py"), project) == (wanted,)
    assert project.environment(str(tmp_path / "scripts" / "eval" / "x.py")).package("verl").is_own
    assert installed_programs("verl.trainer.gone", str(tmp_path / "scripts" / "eval" / "x.py"), project) == ()


def test_what_is_installed_together_holds_together(tmp_path: Path):
    """The project allows more than what stands beside it."""
    files = {**CORE, "setup.py": setup("p", "transformers>=4.38"), "README.md": readme("pip install -e ./core -e .")}
    assert resolved(tmp_path, files) == "4.40.0"


def test_ways_to_install_are_alternatives(tmp_path: Path):
    files = {
        "setup.py": setup("p", "transformers>=4.38"),
        "one.sh": "pip install . transformers==4.40.0\n",
        "other.sh": "pip install . transformers==4.45.0\n",
    }
    package = environment(tmp_path, files).package("transformers")
    assert [str(version) for version in package.allowed or ()] == ["4.40.0", "4.45.0"]
    files["third.sh"] = "pip install .\n"
    assert len(environment(tmp_path, files).package("transformers").allowed or ()) > 50


def test_a_far_range_loses_to_the_exact_pins_of_the_folder(tmp_path: Path):
    files = {
        "setup.py": setup("p", "transformers>=4.44"),
        "research/a/README.md": readme("pip install transformers==4.41.0"),
    }
    assert resolved(tmp_path, files, path="research/a/run/train.py") == "4.41.0"
    assert resolved(tmp_path, files, path="research/b/train.py") != "4.41.0"
    assert resolved(tmp_path, files, path="research/a/README.md") == "4.41.0"


def test_a_far_range_beats_a_range_of_the_folder(tmp_path: Path):
    files = {
        "setup.py": setup("p", "transformers==4.44.0"),
        "research/README.md": readme("pip install 'transformers>=4.30'"),
    }
    assert resolved(tmp_path, files, path="research/train.py") == "4.44.0"


def test_the_readme_beside_a_declared_range_does_not_replace_it(tmp_path: Path):
    files = {
        "setup.py": setup("p", "transformers>=4.44,<4.50"),
        "README.md": readme("pip install transformers==4.41.0"),
    }
    assert resolved(tmp_path, files) == "4.49.0"


# -- environments of one document -----------------------------------------------------------------------------------


def steps(root: Path, name: str, text: str) -> list[tuple[str, str]]:
    """The packages that a document installs, each with its environment."""
    (root / name).write_text(text)
    manifest = read_manifest(Files().get(str(root / name)), Files())
    assert isinstance(manifest, Manifest)
    return [(pin.package, pin.step.environment if pin.step else "-") for pin in manifest.pins]


@pytest.mark.parametrize(
    ("text", "environments"),
    [
        (
            "conda activate a|pip install trl|conda activate b|pip install vllm|conda deactivate|pip install peft",
            "a b ",
        ),
        ("conda create -n a python=3.10|pip install trl|mamba create --name b|pip install vllm peft", "a b b"),
        ("source activate a|pip install trl|micromamba activate b|pip install vllm peft", "a b b"),
        ("python -m venv a|pip install trl|source b/bin/activate|pip install vllm|deactivate|pip install peft", "a b "),
        (
            "uv venv a --python 3.11|uv pip install trl|. ./b/bin/activate|pip install vllm|uv venv|pip install peft",
            "a b ",
        ),
        ("virtualenv -p python3 a|pip install trl|workon b|pip install vllm|conda activate base|uv add peft", "a b "),
        ("a/bin/pip install trl|conda run -n b pip install vllm|pip install peft", "a b "),
        ("uv pip install --python a/bin/python trl|b/bin/python -m pip install vllm|/usr/bin/pip install peft", "a b "),
        (
            'conda activate "$A"|pip install trl|source ${B}/bin/activate|pip install vllm|deactivate|uv add peft',
            "$A ${B} ",
        ),
        ("source .venv/bin/activate|pip install trl vllm peft", "  "),
    ],
)
def test_environments_of_a_script(text: str, environments: str, tmp_path: Path):
    found = [environment for _, environment in steps(tmp_path, "setup.sh", text.replace("|", "\n") + "\n")]
    assert found == environments.split(" ")


def test_an_activation_in_a_readme_lasts_over_its_blocks(tmp_path: Path):
    text = readme("conda activate a") + readme("pip install trl") + readme("conda activate b", "pip install vllm")
    assert steps(tmp_path, "README.md", text) == [("trl", "a"), ("vllm", "b")]


def test_stages_and_instructions_of_a_dockerfile(tmp_path: Path):
    text = (
        "FROM python AS base\nRUN . /opt/a/bin/activate && pip install trl\nRUN pip install vllm\n"
        "FROM base\nRUN pip install peft\nFROM python:3.11\nRUN pip install accelerate\n"
    )
    assert steps(tmp_path, "Dockerfile", text) == [
        ("trl", "/opt/a"), ("vllm", ""), ("peft", ""), ("accelerate", "stage 2")
    ]  # fmt: skip


def test_the_environments_of_a_document_are_alternatives(tmp_path: Path):
    text = readme("conda activate a", "pip install trl==0.9.6", "conda activate b", "pip install trl==0.12.0")
    package = environment(tmp_path, {"README.md": text}).package("trl")
    assert package.specifier == "==0.9.6 | ==0.12.0"


# -- commands that follow each other --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "specifier"),
    [
        ("pip install trl>=0.9\npip install 'trl<0.13'\n", "<0.13"),
        ("pip install 'trl>=0.9'\npip install 'trl<0.13'\n", ">=0.9,<0.13"),
        ("pip install trl==0.9.6\npip install trl==0.12.0\n", "==0.12.0"),
        ("if [ $A ]; then\npip install trl==0.9.6\nelse\npip install trl==0.12.0\nfi\n", "==0.9.6 | ==0.12.0"),
        ("pip install trl==0.9.6\nif [ $A ]; then\npip install trl==0.12.0\nfi\n", "==0.9.6 | ==0.12.0"),
        ("case $A in\na) pip install trl==0.9.6;;\n*) pip install trl==0.12.0;;\nesac\n", "==0.9.6 | ==0.12.0"),
    ],
)
def test_commands_of_a_script(text: str, specifier: str, tmp_path: Path):
    assert environment(tmp_path, {"setup.sh": text}).package("trl").specifier == specifier


@pytest.mark.parametrize(
    ("text", "specifier"),
    [
        ("pip install transformers==4.48.3\npip install vllm==0.8.5\n", ">=4.51.1"),
        ("pip install transformers==4.51.3\npip install vllm==0.8.5\n", "==4.51.3"),
        ("pip install transformers==4.48.3\npip install --no-deps vllm==0.8.5\n", "==4.48.3"),
        ("pip install transformers==4.48.3 vllm==0.8.5\n", "==4.48.3"),
        ("pip install vllm==0.8.5\npip install transformers==4.48.3\n", "==4.48.3"),
        ("pip install transformers==4.48.3\nconda activate b\npip install vllm==0.8.5\n", "==4.48.3"),
        ("if [ $A ]; then\npip install transformers==4.48.3\nelse\npip install vllm==0.8.5\nfi\n", "==4.48.3"),
    ],
)
def test_a_later_command_replaces_what_it_cannot_use(text: str, specifier: str, tmp_path: Path):
    assert environment(tmp_path, {"setup.sh": text}).package("transformers").specifier == specifier


def test_no_deps_narrows_nothing(tmp_path: Path):
    """trl 0.12.2 asks for transformers below 4.47."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    plain = environment(tmp_path / "a", {"setup.sh": "pip install trl==0.12.2\n"}).choices
    alone = environment(tmp_path / "b", {"setup.sh": "pip install --no-deps trl==0.12.2\n"}).choices
    assert plain["transformers"].newest == "4.46.3"
    assert alone["transformers"].newest != "4.46.3"


# -- what nobody can read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "alignment-handbook @ git+https://github.com/huggingface/alignment-handbook@606d2e9\n"),
        ("requirements.txt", "-e git+https://github.com/x/handbook.git#egg=handbook\n"),
        (
            "README.md",
            readme(
                "git clone https://github.com/huggingface/alignment-handbook.git",
                "cd ./alignment-handbook/",
                "pip install .",
            ),
        ),
        ("README.md", readme("git clone https://github.com/x/book") + readme("cd book", "pip install -e .")),
        (
            "README.md",
            readme("git clone https://github.com/x/book && cd book") + readme("pip install -r requirements.txt"),
        ),
        ("Dockerfile", "FROM x\nRUN git clone https://github.com/x/book /opt/book\nRUN pip install -e /opt/book\n"),
        ("setup.sh", "pip install -e third_party/book\n"),
        ("setup.sh", "pip install -r third_party/book/requirements.txt\n"),
        ("environment.yml", "dependencies:\n  - pip:\n    - git+https://github.com/x/book\n"),
    ],
)
def test_what_nobody_can_read_may_bring_anything(name: str, text: str, tmp_path: Path):
    found = environment(tmp_path, {name: text})
    assert found.package("trl").source == "unknown"
    assert "trl" not in found.choices


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "peft @ git+https://github.com/huggingface/peft@606d2e9\n"),
        ("requirements.txt", "einops @ https://example.org/einops-0.8.0-py3-none-any.whl\n"),
        ("requirements.txt", "einops @ file:///croot/einops\n"),
        ("README.md", readme("git clone https://github.com/NVIDIA/apex", "cd apex", "pip install -v .")),
        (
            "pyproject.toml",
            '[project]\nname = "p"\n[project.optional-dependencies]\nx = ["a @ git+https://github.com/x/a"]\n',
        ),
        ("setup.sh", "pip install --no-deps git+https://github.com/x/book\n"),
        ("README.md", readme("git clone https://github.com/x/NAME.git", "cd NAME", "pip install -e .")),
        ("setup.sh", "pip install -c third_party/book/constraints.txt einops\n"),
    ],
)
def test_what_is_known_or_not_there_for_all_brings_nothing_unknown(name: str, text: str, tmp_path: Path):
    files = {"setup.cfg": "[metadata]\nname = p\n", name: text.replace("NAME", tmp_path.name)}
    assert environment(tmp_path, files).package("trl").source == "assumed"


def test_a_named_package_is_not_brought_by_something_unknown(tmp_path: Path):
    found = environment(tmp_path, {"requirements.txt": "trl\nbook @ git+https://github.com/x/book\n"})
    assert found.package("trl").source == "assumed"
    assert found.package("peft").source == "unknown"


# -- hostile input --------------------------------------------------------------------------------------------------


def seconds(project: Project, folders: int) -> float:
    start = time.process_time()
    for number in range(folders):
        found = project.environment(f"{project.root}/sub{number}/train.py")
        for name in ("trl", "transformers", "vllm", "torch"):
            found.package(name)
        module_file("nothing.here", f"{project.root}/sub{number}/train.py", project)
    return time.process_time() - start


def many(root: Path, count: int) -> Project:
    files = {f"sub{number}/setup.py": setup(f"sub{number}", f"trl=={0.9}.{number % 7}") for number in range(count)}
    lines = [f"pip install -e ./sub{number}" for number in range(count)]
    return lay_out(root, {**files, "README.md": readme(*lines), "setup.sh": "\n".join(lines) + "\n"})


def test_a_thousand_projects_cost_what_each_of_them_costs(tmp_path: Path):
    few, more = many(tmp_path / "few", 50), many(tmp_path / "more", 400)
    assert seconds(more, 400) < 30 * max(seconds(few, 50), 0.02)


def test_projects_that_install_each_other_end(tmp_path: Path):
    files = {
        "a/requirements.txt": "-e ../b\ntransformers==4.40.0\n", "a/setup.py": setup("a"),
        "b/requirements.txt": "-e ../a\n-r ../a/requirements.txt\n", "b/setup.py": setup("b"),
        "README.md": readme("pip install -e a -e b -r b/requirements.txt -r README.md -e ."),
        "requirements.txt": "-e .\n-e ./a\n", "setup.py": setup("root"),
    }  # fmt: skip
    assert resolved(tmp_path, files) == "4.40.0"


def test_a_link_never_leaves_the_project(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "setup.py").write_text(setup("outside", "transformers==4.40.0"))
    files = {"README.md": readme("pip install -e ../outside"), "requirements.txt": f"-e {tmp_path}/outside\n"}
    assert resolved(tmp_path / "inside", files) != "4.40.0"
