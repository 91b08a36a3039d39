"""What a run imports: nothing heavy before a file asks for it, and never anything of the project it reads."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from documents import ROOT, lay_out, tool_folder
from documents import blocks as markdown

from benchmarks.samples import write_long_script
from trl_lint.checks.registry import TABLES, tables_text
from trl_lint.knowledge.families import families

HEAVY = {"libcst", "yaml", "tomli", "tree_sitter", "packaging", "importlib.metadata", "dataclasses", "pathlib"}

PLAIN_PROJECT = '''
```python title="app/server.py"
"""A web service that trains nothing."""
import json

def handler(event):
    return json.dumps({"ok": True, "values": list(range(10))})
```
```yaml title="compose.yaml"
services:
  web:
    image: example/web:1.0
    ports: ["8000:8000"]
```
```json title="package.json"
{"name": "web", "version": "1.0.0"}
```
```text title="notes.txt"
Nothing to see here.
```
'''

# What a script with nothing wrong in it, beside plain pins, has no use for: each of these costs more than a rule.
UNUSED = HEAVY - {"packaging", "tomli"} | {
    "argparse", "copy", "difflib", "gettext", "inspect", "json", "locale", "logging", "pickle", "platform",
    "packaging.specifiers", "packaging.tags", "packaging.utils", "shutil", "subprocess", "textwrap", "traceback",
    "unicodedata",
}  # fmt: skip
UNUSED_OWN = {
    f"trl_lint.{name}"
    for name in (
        "cache.folder", "cache.store", "checks.configs._accelerate", "checks.configs._deepspeed",
        "checks.configs._deepspeed_match", "checks.configs._problems", "checks.drift._imports", "checks.drift._moves",
        "checks.drift._options", "checks.drift._parsed", "checks.launch.more_ranks_than_gpus",
        "checks.launch.server_and_trainer_share_gpu", "commands.fixes", "commands.parsers", "knowledge.pages",
        "knowledge.renames", "knowledge.symptoms", "project.documents", "project.scheduler", "python.dataflow.device",
        "python.dataflow.interpreter", "reports.full", "run.candidates", "sources.yaml", "suppress",
    )
}  # fmt: skip
# A module takes a quarter of a millisecond; one more on the way of every script should be worth it. Some of these weigh
# the condition of a known bug: the script sets `reward_weights`, which trl 0.29.0 leaves out of what it logs. It goes
# by tens, so that not everybody who adds a module changes this line.
MOST_OWN = 250

# A project of everything that is read, where each module leaves a mark when it is imported.
MARK = "open({mark!r}, 'a').write(__name__ + ' ')\n"
BAIT = ("torch", "trl", "yaml", "libcst", "tomli", "packaging", "conftest", "sitecustomize", "usercustomize", "setup")
TRAINING = """
```python title="train.py"
import torch
from trl import GRPOConfig, GRPOTrainer

config = GRPOConfig(fp16=True, max_grad_norm=0)
class Mine(GRPOTrainer):
    def setup(self):
        self.ref_model = self.accelerator.prepare_model(self.ref_model, evaluation_mode=True)
```
```text title="requirements.txt"
trl==0.15.2
vllm==0.9.0
```
```yaml title="recipe.yaml"
model_name_or_path: model
learning_rate: 1.0e-6
num_train_epochs: 1
max_grad_norm: 0
output_dir: out
```
```bash title="run.sh"
CUDA_VISIBLE_DEVICES=0,1 python train.py
```
"""


def imported(arguments: list[str], folder: Path) -> set[str]:
    """The modules that `trl-lint` with these arguments imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(tool_folder(folder / ".bin") / "trl-lint"), *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def modules_at_start(folder: Path) -> set[str]:
    """What Python itself imports here before any program runs, such as through .pth files."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", ""], cwd=folder, capture_output=True, text=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_version_imports_nothing_heavy(tmp_path: Path):
    assert (imported(["--version"], tmp_path) - modules_at_start(tmp_path)) & HEAVY == set()


@pytest.fixture(scope="module")
def true_tables() -> None:
    """Rules that came with a pull may be newer than the tables of what they ask for, and true to them all the same."""
    for name, text in zip(TABLES, tables_text(), strict=True):
        path = ROOT / f"{name.replace('.', '/')}.py"
        assert path.read_text("utf-8") == text, "run `make docs`"
        with contextlib.suppress(PermissionError):
            path.touch()


def test_a_tree_without_training_code_imports_no_parser(tmp_path: Path, true_tables: None):
    lay_out(markdown(PLAIN_PROJECT), tmp_path)
    modules = imported(["check", "."], tmp_path) - modules_at_start(tmp_path)
    assert modules & HEAVY == set()
    assert "trl_lint.engine" in modules


SAID = "All checks passed! 1 file, 3 argument objects, trl 0.29.0 (requirements.txt:1) and 1 more.\n"


def test_a_clean_script_imports_only_what_its_verdict_needs(tmp_path: Path, true_tables: None):
    script = write_long_script(str(tmp_path), is_wrong=False)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); started = set(sys.modules)\n"
        "from trl_lint.__main__ import main; status = main()\n"
        "print(status, *(set(sys.modules) - started), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(ROOT), "--no-cache", script],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    status, *modules = done.stderr.split()
    assert (status, done.stdout) == ("0", SAID)
    found = set(modules)
    assert found & (UNUSED | UNUSED_OWN) == set()
    assert {"trl_lint.engine", "trl_lint.checks.drift.argument_not_in_release", "packaging.version"} <= found
    own = {name for name in found if name.startswith("trl_lint.")}
    assert len(own) <= MOST_OWN, sorted(own)


def test_a_project_reads_no_table_of_a_framework_that_it_does_not_use(tmp_path: Path):
    """What other frameworks accept and refuse; what tells their files and commands from those of TRL is read."""
    lay_out(markdown(TRAINING), tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); opened = []\n"
        "sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == 'open' else None)\n"
        "from trl_lint.__main__ import main; main()\n"
        "print(*(path for path in opened if '/rules/' in path), sep='\\n', file=sys.stderr)"
    )
    command = [sys.executable, "-I", "-c", program, str(ROOT), "--no-cache", "-j1", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
    tables = [path.rpartition("/rules/")[2].split("/") for path in done.stderr.splitlines()]
    packages = {name: set() for name in ("api", "conditions", "models", "values")}
    for folder, *names in tables:
        packages.get(folder, set()).update(name.partition(".")[0] for name in names)
    assert packages["api"] >= {"trl", "transformers"} and packages["conditions"] >= {"trl"}, done.stderr
    assert (
        set.union(*packages.values()) & {"axolotl", "llamafactory", "ms-swift", "openrlhf", "torchtune", "verl"}
        == set()
    )


def test_a_report_for_people_writes_no_edits(tmp_path: Path):
    """A fix is named in it; LibCST, which writes the edits, comes with the formats and options that want them."""
    script = "import torch\nfrom trl import GRPOConfig\n\nconfig = GRPOConfig(max_grad_norm=0.0, fp16=True)\n"
    (tmp_path / "train.py").write_text(script)
    arguments = ["--exit-zero", "--no-cache", "--isolated", "train.py"]
    assert not [name for name in imported(arguments, tmp_path) if name.startswith("libcst")]
    for more in (["--output-format", "json"], ["--diff"]):
        assert "libcst" in imported([*arguments, *more, "--unsafe-fixes"], tmp_path)


def test_a_project_with_trl_alone_reads_nothing_of_other_frameworks(tmp_path: Path):
    """The histories of LLaMA-Factory, ms-swift and axolotl stay closed until a file names one of them."""
    project = lay_out(markdown(TRAINING), tmp_path)
    program = (
        "import sys; opened = []; sys.path.insert(0, sys.argv.pop(1))\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        "from trl_lint.__main__ import main; main(); print(*opened, sep='\\n', file=sys.stderr)"
    )
    arguments = [sys.executable, "-I", "-c", program, str(ROOT), "--no-cache", "--hints", "."]
    done = subprocess.run(arguments, cwd=project, capture_output=True, encoding="utf-8")
    histories = {Path(line) for line in done.stderr.splitlines() if line.endswith(".txt")}
    read = {path.stem for path in histories if path.parent.name in ("api", "conditions", "models", "values")}
    packages = {family.arguments.package for family in families() if family.arguments is not None}
    assert "trl" in read
    assert packages == {"axolotl", "llamafactory", "ms-swift"}
    assert read & packages == set()


def test_what_a_clean_script_has_no_use_for_is_there():
    """Names that are no modules any more would pass for unused."""
    assert all(find_spec(name) is not None for name in UNUSED_OWN)


@pytest.mark.parametrize("how", ["command", "python -m"])
def test_nothing_of_the_project_is_imported(how: str, tmp_path: Path):
    project = lay_out(markdown(TRAINING), tmp_path / "project")
    mark = tmp_path / "imported"
    for name in BAIT:
        (project / f"{name}.py").write_text(MARK.format(mark=str(mark)), "utf-8")
    command = [str(tool_folder(tmp_path / "bin") / "trl-lint")]
    if how == "python -m":
        command = [sys.executable, "-m", "trl_lint"]
    done = subprocess.run(
        [*command, "check", ".", "--fix", "--unsafe-fixes", "--diff"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    # `python -m` puts the working folder on the path, where Python itself looks for these two before any program runs.
    own = {"sitecustomize", "usercustomize"}
    marks = set(mark.read_text("utf-8").split()) if mark.exists() else set()
    assert (marks - own if how == "python -m" else marks) == set()
