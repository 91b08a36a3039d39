"""What pip and uv make of the same wish in every notation: overrides, sources, indexes, markers, commands in a row.

Each answer was compared with a dry run of pip 26.3 or uv on the day of the recorded knowledge, where these have it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

from trl_lint.knowledge.releases import newest
from trl_lint.project import Project
from trl_lint.project.packages import Package
from trl_lint.settings import Settings
from trl_lint.sources import Files

TRL, TRANSFORMERS = str(newest("trl")), str(newest("transformers"))


def package(root: Path, files: Mapping[str, str], name: str, path: str = "train.py") -> Package:
    for file, text in files.items():
        place = root / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Project(str(root), Files(), Settings(str(root))).environment(str(root / path)).package(name)


def told(found: Package) -> str:
    """A package in words: `pin 0.15.2`, `assumed 1.16.0`, `unknown`, `tip`, `0.22.2 to 0.23.0` for a commit."""
    if found.is_tip:
        return "tip"
    if found.neighbours:
        return f"{found.neighbours[0]} to {found.neighbours[-1]}"
    if found.allowed is None:
        return "unknown"
    first, last = found.allowed[0], found.allowed[-1]
    return f"{found.source} {first}" if first == last else f"{found.source} {first}..{last}"


# -- tables of uv -----------------------------------------------------------------------------------------------------


def in_project(dependencies: list[str], tables: str, python: str = ">=3.10") -> dict[str, str]:
    head = f'[project]\nname = "app"\nversion = "1"\nrequires-python = "{python}"\n'
    return {"pyproject.toml": f"{head}dependencies = {json.dumps(dependencies)}\n{tables}"}


def in_script(dependencies: list[str], tables: str, python: str = ">=3.10") -> dict[str, str]:
    text = f'requires-python = "{python}"\ndependencies = {json.dumps(dependencies)}\n{tables}'
    lines = "".join(f"# {line}\n" for line in text.splitlines())
    return {"train.py": f"# /// script\n{lines}# ///\nimport trl\n"}


TABLES = [
    # An override takes the place of what anybody asks, and installs nothing itself.
    (["trl==1.0.0", "transformers==4.57.0"], 'override-dependencies = ["transformers==4.40.0"]', "pin 4.40.0"),
    (["trl==1.0.0", "transformers>=5"], 'override-dependencies = ["transformers==4.40.0"]', "pin 4.40.0"),
    (["trl==1.0.0"], 'override-dependencies = ["transformers==4.40.0"]', "pin 4.40.0"),
    (["trl==1.0.0", "transformers"], 'override-dependencies = ["peft==0.10.0"]', f"assumed {TRANSFORMERS}"),
    # A constraint narrows.
    (["trl==1.0.0", "transformers"], 'constraint-dependencies = ["transformers==4.57.0"]', "pin 4.57.0"),
    (["trl==1.0.0"], 'constraint-dependencies = ["transformers==4.57.0"]', "pin 4.57.0"),
    (["transformers==4.57.0"], 'constraint-dependencies = ["transformers<5"]', "pin 4.57.0"),
    # Sources.
    (["transformers"], 'S = {git = "{HF}/transformers"}', "tip"),
    (["transformers"], 'S = {git = "{HF}/transformers.git", branch = "main"}', "tip"),
    (["transformers"], 'S = {git = "{HF}/transformers", tag = "v4.57.0"}', "pin 4.57.0"),
    (["transformers"], 'S = {git = "{HF}/transformers", rev = "v4.57.0"}', "pin 4.57.0"),
    (["transformers"], 'S = {git = "{HF}/transformers", rev = "9d35a0b"}', "unknown"),
    (["transformers"], 'S = {git = "{ME}/transformers", tag = "v4.57.0"}', "unknown"),
    (["transformers==4.57.0"], 'S = {git = "{ME}/transformers"}', "unknown"),
    (["transformers"], 'S = {path = "../transformers"}', "unknown"),
    (["transformers"], 'S = {url = "https://x.y/transformers-4.57.0-py3-none-any.whl"}', "unknown"),
    (["transformers"], 'sources.peft = {git = "{ME}/peft"}', f"assumed {TRANSFORMERS}"),
    # Of two places, that which is for Linux; one for an extra is for that extra.
    (["transformers"], 'S = [{git = "{HF}/transformers", tag = "v4.57.0", marker = "sys_platform == \'linux\'"}, '
     '{git = "{ME}/transformers", marker = "sys_platform == \'darwin\'"}]', "pin 4.57.0"),
    (["transformers==4.57.0"], 'S = {git = "{ME}/transformers", extra = "own"}', "pin 4.57.0"),
    # An index of one's own may hold other releases, but not another release of a name, nor one behind an upper end.
    (["transformers"], 'S = {index = "own"}{OWN}', "unknown"),
    (["transformers>=5"], 'S = {index = "own"}{OWN}', "unknown"),
    (["transformers==4.57.0"], 'S = {index = "own"}{OWN}', "pin 4.57.0"),
    (["transformers>=4.57.1,<4.57.3"], 'S = {index = "own"}{OWN}', "pin 4.57.1..4.57.2"),
    (["transformers"], 'S = {index = "near"}\n[[tool.uv.index]]\nname = "near"\n'
     'url = "https://mirrors.aliyun.com/pypi/simple"', f"assumed {TRANSFORMERS}"),
    (["transformers"], '{OWN}\ndefault = true', "unknown"),
    (["transformers"], '{OWN}\nexplicit = true', f"assumed {TRANSFORMERS}"),
    (["transformers"], 'index-url = "https://x.y/simple"', "unknown"),
    (["transformers"], 'index-url = "https://pypi.tuna.tsinghua.edu.cn/simple"', f"assumed {TRANSFORMERS}"),
]  # fmt: skip


INDEX = '\n[[tool.uv.index]]\nname = "own"\nurl = "https://x.y/simple"'


@pytest.mark.parametrize("lay_out", [in_project, in_script])
@pytest.mark.parametrize(("dependencies", "table", "wanted"), TABLES)
def test_tables_of_uv(tmp_path, lay_out, dependencies, table, wanted):
    for short, long in (
        ("{HF}", "https://github.com/huggingface"),
        ("{ME}", "https://github.com/me"),
        ("{OWN}", INDEX),
        ("S = ", "sources.transformers = "),
    ):
        table = table.replace(short, long)
    text = f"[tool.uv]\n{table}"
    assert told(package(tmp_path, lay_out(dependencies, text), "transformers")) == wanted


@pytest.mark.parametrize(
    "table",
    [
        'conflicts = [[{extra = "old"}, {extra = "new"}]]',
        'conflicts = [[{extra = "old"}, {extra = "new"}]]\noverride-dependencies = ["transformers==4.57.0"]',
    ],
)
def test_extras_that_conflict_are_alternatives(tmp_path, table):
    files = in_project(
        ["peft"], f'[project.optional-dependencies]\nold = ["trl==0.15.2"]\nnew = ["trl==1.0.0"]\n[tool.uv]\n{table}\n'
    )
    found = package(tmp_path, files, "trl")
    assert [str(version) for version in found.allowed] == ["0.15.2", "1.0.0"]
    assert found.holds(">=0.20") == "some"


@pytest.mark.parametrize(
    "source", ["{workspace = true}", '{path = "parts/core"}', '{path = "parts/core", editable = true}']
)
@pytest.mark.parametrize("members", ['["parts/*"]', '["parts/core"]', '["nowhere/*", "parts/*"]'])
@pytest.mark.parametrize("place", ["train.py", "deep/train.py"])
def test_members_of_a_workspace_bring_what_they_require_and_nothing_else(tmp_path, source, members, place):
    files = in_project(["core"], f"[tool.uv.sources]\ncore = {source}\n[tool.uv.workspace]\nmembers = {members}\n")
    files["parts/core/pyproject.toml"] = '[project]\nname = "core"\nversion = "1"\ndependencies = ["trl==0.22.0"]\n'
    assert told(package(tmp_path, files, "trl", place)) == "pin 0.22.0"
    assert told(package(tmp_path, files, "transformers", place)) == f"assumed {TRANSFORMERS}"


@pytest.mark.parametrize("place", ["train.py", "parts/app/train.py"])
def test_a_member_finds_the_other_members(tmp_path, place):
    files = {
        "pyproject.toml": '[project]\nname = "root"\nversion = "1"\n[tool.uv.workspace]\nmembers = ["parts/*"]\n',
        "parts/core/pyproject.toml": '[project]\nname = "core"\nversion = "1"\ndependencies = ["trl==0.22.0"]\n',
        "parts/app/pyproject.toml": in_project(["core"], "[tool.uv.sources]\ncore = {workspace = true}\n")[
            "pyproject.toml"
        ],
    }
    assert told(package(tmp_path, files, "trl", "parts/app/train.py")) == "pin 0.22.0"


# -- locks that name a commit -------------------------------------------------------------------------------------

COMMIT = "9d35a0b5e1f0c2d3a4b5c6d7e8f9a0b1c2d3e4f5"
LOCKS = {
    "uv.lock": 'version = 1\n\n[[package]]\nname = "trl"\nversion = "{version}"\n'
    'source = {{ git = "{url}?branch=main#{commit}" }}\n',
    "poetry.lock": '[[package]]\nname = "trl"\nversion = "{version}"\ndescription = ""\n\n[package.source]\n'
    'type = "git"\nurl = "{url}"\nreference = "main"\nresolved_reference = "{commit}"\n',
    "pylock.toml": 'lock-version = "1.0"\n[[packages]]\nname = "trl"\nversion = "{version}"\n'
    'vcs = {{ type = "git", url = "{url}", commit-id = "{commit}" }}\n',
}  # fmt: skip


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize(
    ("url", "version", "wanted"),
    [
        ("https://github.com/huggingface/trl", "0.23.0.dev0", "0.22.2 to 0.23.0"),
        ("https://github.com/huggingface/trl.git", "0.23.0.dev0", "0.22.2 to 0.23.0"),
        ("https://github.com/huggingface/trl", "0.22.1", "unknown"),
        ("https://github.com/huggingface/trl", "99.0.0.dev0", "unknown"),
        ("{ME}/trl", "0.22.1", "unknown"),
        ("https://gitlab.com/huggingface/trl", "0.22.1", "unknown"),
    ],
)
@pytest.mark.parametrize("declared", ["trl", "trl @ git+https://github.com/huggingface/trl@main"])
def test_a_lock_tells_the_release_of_a_commit(tmp_path, lock, url, version, wanted, declared):
    files = in_project([declared, "transformers"], "")
    files[lock] = LOCKS[lock].format(url=url, version=version, commit=COMMIT)
    assert told(package(tmp_path, files, "trl")) == wanted


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize(
    ("asked", "wanted"),
    [("v0.22.1", "lock 0.22.1"), ("0.22.1", "lock 0.22.1"), ("main", "unknown"), (COMMIT, "unknown")],
)
def test_a_lock_that_names_a_tag(tmp_path, lock, asked, wanted):
    text = LOCKS[lock].format(url="https://github.com/huggingface/trl", version="0.22.1", commit=COMMIT)
    text = text.replace("branch=main", f"rev={asked}").replace('reference = "main"', f'reference = "{asked}"')
    text = text.replace("commit-id", f'requested-revision = "{asked}", commit-id')
    assert told(package(tmp_path, {**in_project(["trl"], ""), lock: text}, "trl")) == wanted


# -- markers ------------------------------------------------------------------------------------------------------

MARKED = [
    ("python_version < '3.10'", "python_version >= '3.10'"),
    ("python_full_version < '3.10.0'", "python_full_version >= '3.10.0'"),
    ("python_version <= '3.9'", "python_version > '3.9'"),
    ("sys_platform == 'darwin'", "sys_platform != 'darwin'"),
    ("platform_system == 'Windows'", "platform_system == 'Linux'"),
    ("sys_platform == 'darwin' and python_version < '3.12'", "sys_platform == 'linux' and python_version >= '3.10'"),
]


def marked(notation: str, older: str, newer: str, python: str) -> dict[str, str]:
    lines = [f"trl==0.15.2; {older}", *([f"trl==1.0.0; {newer}"] if newer else [])]
    head = f'[project]\nname = "app"\nversion = "1"\nrequires-python = "{python}"\n'
    if notation == "list":
        return {"pyproject.toml": f"{head}dependencies = {json.dumps(lines)}\n"}
    if notation == "extra":
        return {"pyproject.toml": f"{head}[project.optional-dependencies]\nrl = {json.dumps(lines)}\n"}
    if notation == "file":
        return {"pyproject.toml": head, "requirements.txt": "\n".join(lines) + "\n"}
    if notation == "script":
        return in_script(lines, "", python)
    multiple = ", ".join(
        f'{{version = "{version}", markers = "{marker}"}}' for version, marker in (("0.15.2", older), ("1.0.0", newer))
    )
    return {"pyproject.toml": f"{head}[tool.poetry.dependencies]\ntrl = [{multiple}]\n"}


@pytest.mark.parametrize("notation", ["list", "extra", "file", "script"])
@pytest.mark.parametrize(("older", "newer"), MARKED)
def test_a_marker_that_never_holds_counts_for_nothing(tmp_path, notation, older, newer):
    assert told(package(tmp_path, marked(notation, older, newer, ">=3.11"), "trl")) == "pin 1.0.0"


@pytest.mark.parametrize("notation", ["list", "extra", "file", "script"])
@pytest.mark.parametrize(("older", "newer"), MARKED[:3])
def test_markers_that_may_hold_are_alternatives(tmp_path, notation, older, newer):
    found = package(tmp_path, marked(notation, older, newer, ">=3.9"), "trl")
    assert [str(version) for version in found.allowed] == ["0.15.2", "1.0.0"]


NEVER = ["sys_platform == 'darwin'", "python_version < '3.9'", "platform_system == 'Windows'", "extra == 'old'"]
PERHAPS = ["platform_machine == 'aarch64'", "python_version >= '3.13'", "implementation_name == 'pypy'"]
ALWAYS = ["sys_platform == 'linux'", "python_version >= '3.10'", "platform_system != 'Darwin'", "os_name == 'posix'"]


@pytest.mark.parametrize("notation", ["list", "file", "script"])
@pytest.mark.parametrize("marker", [*NEVER, *PERHAPS])
def test_what_only_a_marker_pins_may_be_any_other_release_elsewhere(tmp_path, notation, marker):
    found = package(tmp_path, marked(notation, marker, "", ">=3.11"), "trl")
    assert told(found) == f"told 0.15.2..{TRL}"


@pytest.mark.parametrize("notation", ["list", "file", "script"])
@pytest.mark.parametrize("marker", ALWAYS)
def test_a_marker_that_holds_on_every_training_machine_is_none(tmp_path, notation, marker):
    found = package(tmp_path, marked(notation, marker, "", ">=3.11"), "trl")
    assert told(found) == "pin 0.15.2"


@pytest.mark.parametrize("notation", ["extra", "group"])
@pytest.mark.parametrize("asked", ["transformers==4.48.0", "transformers<4.49", "transformers==4.36.0"])
def test_an_extra_decides_nothing_that_comes_without_it(tmp_path, notation, asked):
    table = "project.optional-dependencies" if notation == "extra" else "dependency-groups"
    head = '[project]\nname = "x"\nversion = "1"\n'
    rest = f'[{table}]\nold = ["{asked}"]\n'
    brought = {"pyproject.toml": f'{head}dependencies = ["trl==0.18.0"]\n{rest}'}
    found = package(tmp_path, brought, "transformers")
    assert found.source == "told"
    assert str(found.resolved).startswith("5.")
    alone = {"pyproject.toml": f'{head}dependencies = ["numpy"]\n{rest}'}
    assert package(tmp_path / "alone", alone, "transformers").source == "pin"


# -- commands that follow each other ------------------------------------------------------------------------------


def documents(*commands: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The commands of one run in every kind of document."""
    lines = "\n".join(commands)
    yield "script", {"setup.sh": f"#!/bin/bash\nset -e\n{lines}\n"}
    yield "image", {"Dockerfile": "FROM python:3.11\n" + "".join(f"RUN {command}\n" for command in commands)}
    yield "one line", {"Dockerfile": f"FROM python:3.11\nRUN {' && '.join(commands)}\n"}
    yield "page", {"README.md": f"# Install\n\n```bash\n{lines}\n```\n"}
    yield "makefile", {"Makefile": "install:\n" + "".join(f"\t{command}\n" for command in commands)}


FIRST = "pip install trl==0.15.2 transformers==4.48.0"
TIP = "pip install git+https://github.com/huggingface/trl"
NEW = f"assumed {TRANSFORMERS}"
ROWS = [
    # What is there stays where it does; `-U` takes what it names anew, and no dependency of that.
    ([FIRST, "pip install transformers"], "pin 0.15.2", "pin 4.48.0"),
    ([FIRST, "pip install -U transformers"], "pin 0.15.2", NEW),
    ([FIRST, "pip install --upgrade 'transformers<5'"], "pin 0.15.2", "pin 0.1..4.57.6"),
    ([FIRST, *["pip install -U 'transformers>=4.49,<5'", "pip install 'transformers<4.51'"] * 2], "pin 0.15.2",
     "pin 4.49.0..4.50.3"),
    ([FIRST, "pip install -U peft"], "pin 0.15.2", "pin 4.48.0"),
    ([FIRST, "pip install -qU trl"], f"assumed {TRL}", NEW),
    ([FIRST, "pip install -U --upgrade-strategy eager peft"], "pin 0.15.2", NEW),
    ([FIRST, "pip install --force-reinstall peft"], "pin 0.15.2", NEW),
    ([f"uv {FIRST}", "uv pip install -U peft"], "pin 0.15.2", NEW),
    ([f"uv {FIRST}", "uv pip install peft"], "pin 0.15.2", "pin 4.48.0"),
    # A later command moves what its own requirements do not take.
    (["pip install transformers==4.51.1", "pip install trl"], f"assumed {TRL}", NEW),
    # The newest datasets, which trl brings, needs a newer hub than this transformers takes.
    (["pip install transformers==4.57.1", "pip install trl==1.0.0"], "pin 1.0.0", NEW),
    (["pip install transformers==4.48.0", "pip install --no-deps trl==1.0.0"], "pin 1.0.0", "pin 4.48.0"),
    (["pip install trl", "pip install transformers==4.51.1"], f"assumed {TRL}", "pin 4.51.1"),
    (["pip install trl transformers==4.51.1"], "assumed 0.19.1", "pin 4.51.1"),
    (["pip install peft", FIRST], "pin 0.15.2", "pin 4.48.0"),
    # An address replaces a release, and a release an address; a bare name leaves it.
    (["pip install trl==0.15.2", TIP], "tip", NEW),
    ([TIP, "pip install trl peft"], "tip", NEW),
    ([TIP, FIRST], "pin 0.15.2", "pin 4.48.0"),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["script", "image", "one line", "page", "makefile"])
@pytest.mark.parametrize(("commands", "trl", "transformers"), ROWS)
def test_commands_in_a_row(tmp_path, kind, commands, trl, transformers):
    files = dict(documents(*commands))[kind]
    assert told(package(tmp_path, files, "trl")) == trl
    assert told(package(tmp_path, files, "transformers")) == transformers


@pytest.mark.parametrize(
    "script",
    [
        'pip install trl==0.15.2\nif [ -n "$NEW" ]; then\n  pip install -U trl\nfi\n',
        'if [ -n "$NEW" ]; then\n  pip install trl==1.0.0\nelse\n  pip install trl==0.15.2\nfi\n',
    ],
)
def test_what_a_branch_may_do_is_an_alternative(tmp_path, script):
    found = package(tmp_path, {"setup.sh": script}, "trl")
    assert "0.15.2" in [str(version) for version in found.allowed or ()]
    assert found.holds("<0.16") != "none"


@pytest.mark.parametrize("kind", ["script", "image", "one line", "page", "makefile"])
@pytest.mark.parametrize("declared", ["requirements.txt", "pyproject.toml"])
@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ("pip install -U trl", ["0.15.2", TRL]),
        ("pip install trl==1.0.0", ["0.15.2", "1.0.0"]),
        ("pip install --upgrade 'trl<0.16'", ["0.15.2"]),
        ("pip install trl", ["0.15.2"]),
        ("pip install trl==0.15.2", ["0.15.2"]),
        ("pip install 'trl>=0.15'", ["0.15.2"]),
        ("pip install -U wandb", ["0.15.2"]),
        ("python train.py", ["0.15.2"]),
    ],
)
def test_what_a_document_does_after_it_has_installed_a_list(tmp_path, kind, declared, after, wanted):
    if kind == "page" and after == "pip install trl==1.0.0":
        wanted = ["0.15.2"]  # what a page names twice are two ways, and the list is one of them
    is_list = declared == "requirements.txt"
    files = dict(documents("pip install -r requirements.txt" if is_list else "pip install -e .", after))[kind]
    files = {**files, **({declared: "trl==0.15.2\n"} if is_list else in_project(["trl==0.15.2"], ""))}
    found = package(tmp_path, files, "trl")
    assert [str(version) for version in found.allowed] == wanted


@pytest.mark.parametrize(
    "commands", [("pip install -U trl", "pip install -r requirements.txt"), ("pip install -U trl",)]
)
def test_what_is_installed_before_a_list_is_replaced_by_it(tmp_path, commands):
    files = {**dict(documents(*commands))["script"], "requirements.txt": "trl==0.15.2\n"}
    assert told(package(tmp_path, files, "trl")) == "pin 0.15.2"


# -- where a command looks ------------------------------------------------------------------------------------------

LOOKS = [
    ("--index-url https://x.y/simple", "unknown"),
    ("-i https://x.y/simple", "unknown"),
    ("--index-url=https://x.y/simple", "unknown"),
    ("--no-index --find-links ./wheels", "unknown"),
    ("--pre", "unknown"),
    ("--extra-index-url https://wheels.vllm.ai/nightly", "unknown"),
    ("-i https://pypi.org/simple", f"assumed {TRL}"),
    ("-i https://mirrors.tuna.tsinghua.edu.cn/pypi/web/simple", f"assumed {TRL}"),
    ("--index-url https://company.jfrog.io/artifactory/api/pypi/all/simple", f"assumed {TRL}"),
    ("--extra-index-url https://x.y/simple", f"assumed {TRL}"),
    ("--find-links ./wheels", f"assumed {TRL}"),
    ("--no-cache-dir", f"assumed {TRL}"),
]


@pytest.mark.parametrize(("options", "wanted"), LOOKS)
@pytest.mark.parametrize(
    ("front", "is_first"), list(product(["pip install", "python3 -m pip install", "uv pip install"], [True, False]))
)
def test_where_a_command_looks(tmp_path, options, wanted, front, is_first):
    line = f"{front} {options} trl" if is_first else f"{front} trl {options}"
    assert told(package(tmp_path, {"setup.sh": f"{line}\n"}, "trl")) == wanted
    exact = line.replace("trl", "trl==0.15.2")
    assert told(package(tmp_path, {"setup.sh": f"{exact}\n"}, "trl")) == "pin 0.15.2"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"Dockerfile": "FROM x\nENV PIP_INDEX_URL=https://x.y/simple\nRUN pip install trl\n"}, "unknown"),
        ({"setup.sh": "export PIP_INDEX_URL=https://x.y/simple\npip install trl\n"}, "unknown"),
        ({"setup.sh": "UV_DEFAULT_INDEX=https://x.y/simple uv pip install trl\n"}, "unknown"),
        ({"setup.sh": "PIP_INDEX_URL=https://mirrors.aliyun.com/pypi/simple pip install trl\n"}, f"assumed {TRL}"),
        (
            {"Dockerfile": "FROM x\nARG PIP_INDEX_URL\nENV PIP_INDEX_URL=$PIP_INDEX_URL\nRUN pip install trl\n"},
            f"assumed {TRL}",
        ),
    ],
)
def test_variables_that_name_an_index(tmp_path, files, wanted):
    assert told(package(tmp_path, files, "trl")) == wanted


NAMES = ["deps.txt", "c.txt", "envs/train.in", "docker/packages.txt", "requirements.txt", "constraints.txt", "pins.pip"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option", ["-r {}", "-r{}", "--requirement {}", "--requirement={}"])
def test_a_list_that_a_command_names_counts_whatever_its_name(tmp_path, name, option):
    files = {
        "setup.sh": f"pip install {option.format(name)}\n",
        name: "trl==0.22.0\n# a comment\ntransformers==4.57.0\n",
    }
    assert told(package(tmp_path, files, "trl")) == "pin 0.22.0"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("option", "wanted"), [("-c {}", "pin 4.40.0"), ("--constraint={}", "pin 4.40.0"), ("--override {}", "pin 4.40.0")]
)
def test_lists_that_limit(tmp_path, name, option, wanted):
    if "requirements" in name:
        pytest.skip("a file of that name is installed from in any case")
    files = {"setup.sh": f"uv pip install trl {option.format(name)}\n", name: "transformers==4.40.0\n"}
    assert told(package(tmp_path, files, "transformers")) == wanted


@pytest.mark.parametrize(
    "text", ["# Notes\n\nWe trained with trl 0.22.0 on two nodes.\nIt took a day.\n", "a b c\nd e f\n", ""]
)
def test_prose_that_a_command_names_is_no_list(tmp_path, text):
    files = {"setup.sh": "pip install -r notes.txt\n", "notes.txt": text}
    assert told(package(tmp_path, files, "trl")) in (f"assumed {TRL}", "unknown", "told 0.22.0")
