"""`trl-lint upgrade` as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Shell

SCRIPT = """\
# flake8: noqa
from trl import GRPOConfig, GRPOTrainer

args = GRPOConfig(output_dir="out", num_generations=4, warmup_ratio=0.1)
GRPOTrainer(model="Qwen/Qwen3-0.6B", args=args, reward_funcs=len).train()
"""
RECIPE = "model_name_or_path: Qwen/Qwen3-0.6B\ntorch_dtype: bfloat16\nmax_prompt_length: 64\noutput_dir: out\n"
COMMAND = "trl grpo --config recipe.yaml --dataset_name trl-lib/tldr --reward_funcs think_format_reward\n"
TO = ("--to", "trl==1.16.0", "--to", "transformers==5.23.0")


@pytest.fixture
def project(sh: Shell) -> Shell:
    (sh.folder / ".git").mkdir()
    sh.write("train.py", SCRIPT)
    sh.write("recipe.yaml", RECIPE)
    sh.write("run.sh", COMMAND)
    sh.write("requirements.txt", "trl==0.18.0\ntransformers==4.52.4\npeft==0.10.0\n")
    return sh


def texts(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_diff_and_a_plan_and_nothing_is_written(project: Shell):
    before = texts(project.folder)
    run = project("upgrade", *TO)
    assert run.status == 1
    assert texts(project.folder) == before
    for line in ("-trl==0.18.0", "+trl==1.16.0", "+transformers==5.23.0", "-torch_dtype: bfloat16", "+dtype: bfloat16"):
        assert line in run.out.splitlines()
    assert "  peft          0.10.0 -> " in run.err
    assert "(trl 1.16.0 requires peft>=" in run.err
    assert "`max_prompt_length` of `GRPOConfig`" in run.err
    assert "`beta` of `GRPOConfig` is 0.0 by default since trl 0.19.0, and was 0.04" in run.err
    assert "decisions left." in run.err.splitlines()[-2]


def test_what_is_written_needs_no_second_run(project: Shell):
    assert project("upgrade", *TO, "--write").status == 1
    after = texts(project.folder)
    assert "num_generations=4, warmup_steps=0.1)" in after["train.py"]
    assert after["requirements.txt"].startswith("trl==1.16.0\ntransformers==5.23.0\npeft==")
    assert "dtype: bfloat16\n" in after["recipe.yaml"]
    again = project("upgrade", *TO)
    assert again.out == ""
    assert "Nothing to change" in again.err
    assert project("upgrade", *TO, "--write").err.count("Nothing to change") == 1
    assert texts(project.folder) == after


def test_old_defaults_are_written_down(project: Shell):
    project("upgrade", *TO, "--write", "--keep-behaviour")
    after = texts(project.folder)
    assert "beta=0.04" in after["train.py"]
    assert "loss_type='bnpo'" in after["train.py"]
    assert "beta: 0.04\n" in after["recipe.yaml"]
    assert "vllm_importance_sampling_correction" not in after["recipe.yaml"]  # vLLM is not used
    assert "`beta`" not in project("upgrade", *TO, "--keep-behaviour", "--from", "trl==0.18.0").err


def test_the_plan_remembers_where_it_came_from_and_ticks_off(project: Shell):
    plan = project.folder / "PLAN.md"
    project("upgrade", *TO, "--write", "--plan", "PLAN.md")
    first = plan.read_text()
    assert "- [ ] TRL301: " in first
    assert "- [ ] `beta` of `GRPOConfig`" in first
    plan.write_text(first.replace("- [ ] `beta`", "- [x] `beta`"))
    project.write("recipe.yaml", (project.folder / "recipe.yaml").read_text().replace("max_prompt_length: 64\n", ""))
    run = project("upgrade", *TO, "--plan", "PLAN.md")
    second = plan.read_text()
    assert "- [x] `beta` of `GRPOConfig`" in second.partition("## Done")[0]  # still found, and ticked by hand
    assert "- [x] TRL301: " in second.partition("## Done")[2]  # gone
    assert "- [ ] `loss_type` of `GRPOConfig`" in second
    assert run.status == 1
    plan.write_text(second.replace("- [ ]", "- [x]"))
    assert project("upgrade", *TO, "--plan", "PLAN.md").status == 0


def test_another_file_is_not_overwritten_by_a_plan(project: Shell):
    run = project("upgrade", *TO, "--plan", "run.sh")
    assert run.status == 2
    assert "run.sh is no plan of an upgrade, so it was left as it is" in run.err
    assert (project.folder / "run.sh").read_text() == COMMAND


def test_all_files_or_none(project: Shell):
    before = texts(project.folder)
    (project.folder / "recipe.yaml").chmod(0o444)
    run = project("upgrade", *TO, "--write")
    assert run.status == 2
    assert "nothing was changed: " in run.err
    assert "recipe.yaml is read-only" in run.err
    assert texts(project.folder) == before


def test_json(project: Shell):
    run = project("upgrade", *TO, "--output-format", "json")
    plan = json.loads(run.out)
    assert plan["version"] == 1
    assert plan["releases"]["trl"] == {
        "from": "0.18.0",
        "to": "1.16.0",
        "reason": None,
        "url": "https://github.com/huggingface/trl/releases/tag/v1.16.0",
    }
    assert plan["releases"]["peft"]["reason"].startswith("trl 1.16.0 requires peft>=")
    assert {file["path"] for file in plan["files"]} == {"recipe.yaml", "requirements.txt", "train.py"}
    assert {decision["kind"] for decision in plan["decisions"]} == {"code", "behaviour"}
    assert all(decision["places"] for decision in plan["decisions"])


def test_markdown_for_the_description_of_a_pull_request(project: Shell):
    run = project("upgrade", *TO, "--output-format", "markdown")
    assert run.out.splitlines()[0].startswith("<!-- trl-lint upgrade from: trl==0.18.0 transformers==4.52.4 ")
    assert "# Upgrade to trl 1.16.0, transformers 5.23.0" in run.out


def test_what_nothing_uses_moves_no_pin(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("requirements.txt", "vllm==0.8.3\n")
    run = sh("upgrade", "--to", "trl==1.16.0")
    assert (run.status, run.out) == (2, "")
    assert "nothing here pins, imports or starts trl" in run.err
    run = sh("upgrade", "--to", "trl==1.16.0", "--to", "vllm==0.8.3")
    assert (run.status, run.out) == (0, "")
    assert "nothing here pins, imports or starts trl, so it was left out" in run.err


def test_a_command_uses_its_package(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("run.sh", "trl sft --model_name_or_path a/b --dataset_name c/d --max_seq_length 64\n")
    assert "+trl sft --model_name_or_path a/b --dataset_name c/d --max_length 64\n" in sh("upgrade", *TO[:2]).out


def test_what_follows_a_branch_moves_only_by_name(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("requirements.txt", "trl @ git+https://github.com/huggingface/trl.git\ntransformers==4.52.4\n")
    sh.write("train.py", "from trl import SFTConfig\n\nSFTConfig(output_dir='out', max_seq_length=8)\n")
    run = sh("upgrade", *TO[:2])
    assert "+SFTConfig(output_dir='out', max_length=8)" in run.out
    assert "is installed from an address" in run.err
    releases = json.loads(sh("upgrade", "--output-format", "json").out)["releases"]
    assert set(releases) == {"transformers"}


def test_without_goals_the_newest_releases_that_fit(project: Shell):
    releases = json.loads(project("upgrade", "--output-format", "json").out)["releases"]
    assert set(releases) == {"trl", "transformers", "peft"}
    assert all(one["to"] != one["from"] for one in releases.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "trl==99"), "--to: no known release of trl is ==99"),
        (("--to", "trl==1.16.0", "--to", "transformers==4.46.0"), "fit together: trl 1.16.0 requires transformers>="),
        (("--from", "trl"), "--from: `trl` names no release"),
        (("--to", "trl==1.16.0", "nowhere"), "nowhere: "),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, project: Shell):
    run = project("upgrade", *arguments)
    assert run.status == 2
    assert message in run.err
    assert run.out == ""


def test_a_project_without_the_stack_is_told(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("train.py", "print(1)\n")
    run = sh("upgrade")
    assert run.status == 2
    assert "nothing here pins, imports or starts a package of the training stack" in run.err


def test_the_project_itself_is_no_release_that_has_to_fit(sh: Shell):
    """What openrlhf 0.11.2 requires says nothing of the tree that is becoming another openrlhf."""
    (sh.folder / ".git").mkdir()
    sh.write("pyproject.toml", '[project]\nname = "openrlhf"\ndependencies = ["transformers==4.44.2"]\n')
    sh.write("openrlhf/actor.py", "from transformers.deepspeed import HfDeepSpeedConfig\n")
    run = sh("upgrade", "--to", "transformers==4.46.0")
    assert "openrlhf" not in run.err
    assert "+from transformers.integrations import HfDeepSpeedConfig" in run.out.splitlines()


def test_a_bound_elsewhere_that_lets_in_older_releases_is_told(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("requirements.txt", "trl>=0.15\n")
    sh.write("train.py", "from trl import ORPOTrainer\n")
    told = "`trl>=0.15` lets in releases before trl 1.16.0: raise it, or guard the imports that moved"
    run = sh("upgrade", "--to", "trl==1.16.0", "train.py")
    assert told in run.err
    assert told not in sh("upgrade", "--to", "trl==1.16.0").err
    sh.write("train.py", "import trl\n")
    assert told not in sh("upgrade", "--to", "trl==1.16.0", "train.py").err, "nothing was rewritten"


def test_a_guarded_import_is_left(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("requirements.txt", "trl==0.15.2\n")
    guarded = (
        "try:\n    from trl.experimental.orpo import A\nexcept ImportError:\n    from trl import ORPOTrainer as A\n"
    )
    sh.write("train.py", guarded)
    assert "train.py" not in sh("upgrade", "--to", "trl==1.16.0").out


def test_a_conflict_of_pins_that_the_move_gives_another_reason_is_repaired_at_once(sh: Shell):
    """trl 0.29.1 supports vllm below 0.13, and trl 1.16.0 other releases: `pip install -U` takes neither."""
    (sh.folder / ".git").mkdir()
    sh.write("install.sh", 'pip install "vllm>=0.5.1" -U\npip install "transformers<5.17" "trl<1.0" -U\n')
    sh.write("grpo.py", 'from trl import GRPOConfig\n\nargs = GRPOConfig(output_dir="out", use_vllm=True)\n')
    sh("upgrade", *TO, "--write")
    assert "vllm>=0.22.0" in (sh.folder / "install.sh").read_text()
    assert sh("upgrade", *TO).out == ""


# -- several environments in one tree ---------------------------------------------------------------------------------

OLD_CODE = "import torch\n\nprint(torch.__version__)\n"
ENGINE = "from vllm import LLM\n\nLLM('x')\n"
APART = {
    "a/requirements.txt": "torch==1.9.0\n",
    "a/train.py": OLD_CODE,
    "b/requirements.txt": "vllm==0.11.2\n",
    "b/serve.py": ENGINE,
}


@pytest.mark.parametrize(
    ("changed", "moved"),
    [
        ({}, {"b/requirements.txt"}),
        ({"a/train.py": ""}, {"b/requirements.txt"}),
        ({"b/serve.py": ""}, {"b/requirements.txt"}),
        ({"README.md": "# Two projects\n"}, {"b/requirements.txt"}),
        ({"tools/plot.py": OLD_CODE}, {"b/requirements.txt"}),
        ({"b/Dockerfile": "FROM x\nRUN pip install torch==2.9.0\n"}, {"b/requirements.txt", "b/Dockerfile"}),
        ({"a/requirements.txt": "", "requirements.txt": "torch==1.9.0\n"}, {"requirements.txt", "b/requirements.txt"}),
        (
            {"b/requirements.txt": "-r ../a/requirements.txt\nvllm==0.11.2\n"},
            {"a/requirements.txt", "b/requirements.txt"},
        ),
    ],
)
def test_what_another_project_of_the_tree_needs_moves_no_pin(sh: Shell, changed: dict[str, str], moved: set[str]):
    (sh.folder / ".git").mkdir()
    files = {**APART, **changed}
    for name, text in files.items():
        if text:
            sh.write(name, text)
    run = sh("upgrade", "--to", "vllm==0.22.1")
    assert {line[6:] for line in run.out.splitlines() if line.startswith("+++ ")} == moved


def test_each_environment_has_its_own_releases(sh: Shell):
    (sh.folder / ".git").mkdir()
    sh.write("a/requirements.txt", "trl==0.15.2\ntransformers==4.49.0\n")
    sh.write("a/train.py", "from trl import SFTTrainer\n")
    sh.write("b/requirements.txt", "trl==0.9.6\nvllm==0.5.0\n")
    sh.write("b/train.py", "from trl import SFTTrainer\nfrom vllm import LLM\n")
    sh.write("notes.md", "# Nothing\n")
    run = sh("upgrade", "--to", "trl==0.18.0")
    assert "  in a\n  trl           0.15.2 -> 0.18.0\n" in run.err
    assert "  in b\n  trl           0.9.6 -> 0.18.0\n" in run.err
    document = json.loads(sh("upgrade", "--to", "trl==0.18.0", "--output-format", "json").out)
    assert [part["path"] for part in document["parts"]] == ["a", "b"]
    assert [part["releases"]["trl"]["from"] for part in document["parts"]] == ["0.15.2", "0.9.6"]
