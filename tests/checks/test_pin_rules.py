"""The pin rules where a fixture would say less than a line of code: levels, places, fixes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from trl_lint.checks.pins import known_bad_release, outside_supported_range, unpinned_package, unsatisfiable_pins
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding
from trl_lint.project import Project
from trl_lint.project.manifests.reader import read_manifest
from trl_lint.settings import Settings
from trl_lint.sources import Files

KNOWN_BAD, RANGE, UNPINNED = known_bad_release.rule, outside_supported_range.rule, unpinned_package.rule
UNSATISFIABLE = unsatisfiable_pins.rule


def check(
    rule: Rule, root: Path, files: Mapping[str, str], path: str = "requirements.txt", targets: Mapping[str, str] = {}
) -> list[Finding]:
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    settings = Settings(str(root))
    settings.targets = dict(targets)
    project = Project(str(root), Files(), settings)
    manifest = read_manifest(project.files.get(str(root / path)), project.files)
    assert manifest is not None
    return list(rule.check_manifest(manifest, project))


def levels(findings: list[Finding]) -> list[str]:
    return [finding.severity for finding in findings]


@pytest.mark.parametrize(
    ("torch", "severity"),
    [("torch==2.5.1", ["error"]), ("torch>=2.3", ["warning"]), ("torch", ["warning"]), ("torch<2.4", []), ("", [])],
)
def test_level_follows_what_the_pins_prove(tmp_path: Path, torch: str, severity: list[str]):
    assert levels(check(KNOWN_BAD, tmp_path, {"requirements.txt": f"deepspeed==0.14.0\n{torch}\n"})) == severity


def test_finding_names_the_other_pin(tmp_path: Path):
    (finding,) = check(KNOWN_BAD, tmp_path, {"requirements.txt": "deepspeed==0.14.0\ntorch==2.5.1\n"})
    assert finding.location.start == 0
    assert [location.message for location in finding.related] == ["torch==2.5.1 is pinned here"]
    assert finding.related[0].start == len("deepspeed==0.14.0\n")


@pytest.mark.parametrize(
    ("trl", "asked"),
    [("==1.16.0", " (trl 1.16.0 asks for vllm>=0.22.0,<=0.31.0)"), ("==0.17.0", ""), (">=0.17.0", "")],
)
def test_the_advice_keeps_to_what_the_pinned_trl_asks_for(tmp_path: Path, trl: str, asked: str):
    files = {"requirements.txt": f"trl{trl}\nvllm==0.7.3\n", "run.sh": "trl vllm-serve --model m\n"}
    (finding,) = check(KNOWN_BAD, tmp_path, files)
    assert finding.message.endswith(f"Use vllm>=0.8.3{asked}")


def test_an_exact_pin_decides_what_a_bare_name_can_be(tmp_path: Path):
    """vLLM 0.4.2 brings torch 2.3.0, so the newest torch is out of the question."""
    assert check(KNOWN_BAD, tmp_path, {"requirements.txt": "deepspeed==0.13.5\ntorch\nvllm==0.4.2\n"}) == []


def test_target_is_judged_against_the_pins(tmp_path: Path):
    files = {"requirements.txt": "vllm==0.7.2\n", "train.py": "args = GRPOConfig(use_vllm=True)\n"}
    assert check(KNOWN_BAD, tmp_path, files) == []
    (finding,) = check(KNOWN_BAD, tmp_path, files, targets={"trl": "0.19.0"})
    assert "worker_extension_cls" in finding.message


@pytest.mark.parametrize("vllm", ["0.6.6.post1", "0.7.1"])
def test_main_branch_with_a_vllm_that_no_main_worked_with(tmp_path: Path, vllm: str):
    text = f"trl @ git+https://github.com/huggingface/trl.git@main\nvllm=={vllm}\n"
    files = {"requirements.txt": text, "train.py": "from trl import GRPOTrainer\n"}
    assert levels(check(KNOWN_BAD, tmp_path, files)) == ["warning"]


@pytest.mark.parametrize(
    "text",
    [
        "trl @ git+https://github.com/huggingface/trl.git@main\nvllm==0.7.2\n",
        "trl @ git+https://github.com/huggingface/trl.git@v0.9.6\nvllm==0.6.3\n",
        "trl @ git+https://github.com/huggingface/trl.git@1c35a48\nvllm==0.7.1\n",
    ],
)
def test_a_fixed_commit_or_a_vllm_of_some_main_is_unknown(tmp_path: Path, text: str):
    files = {"requirements.txt": text, "train.py": "from trl import GRPOTrainer\n"}
    assert check(KNOWN_BAD, tmp_path, files) == []


def test_an_exact_pin_moves_to_the_nearest_release(tmp_path: Path):
    (finding,) = check(RANGE, tmp_path, {"requirements.txt": "vllm==0.33.0\ntrl==0.29.0\n"})
    assert finding.fix is not None
    assert (finding.fix.edits[0].content, finding.fix.applicability) == ("==0.12.0", "safe")


def test_fix_is_unsafe_where_the_other_pin_is_a_range(tmp_path: Path):
    (finding,) = check(RANGE, tmp_path, {"requirements.txt": "trl>=0.24,<0.26\nvllm==0.9.0\n"})
    assert finding.fix is not None
    assert (finding.fix.edits[0].content, finding.fix.applicability) == ("==0.10.2", "unsafe")


@pytest.mark.parametrize(
    ("transformers", "fix"),
    [
        ("4.51.3", "==0.18.0"),
        ("4.49.0", None),  # every TRL that is fixed requires a newer one
    ],
)
def test_a_fix_leaves_the_other_pins_fitting(tmp_path: Path, transformers: str, fix: str | None):
    files = {
        "requirements.txt": f"trl==0.15.2\ntransformers=={transformers}\n",
        "train.py": "from trl import GRPOTrainer\n",
        "fsdp.yaml": "distributed_type: FSDP\nnum_processes: 2\n",
        "run.sh": "accelerate launch --config_file fsdp.yaml train.py\n",
    }
    (finding,) = check(KNOWN_BAD, tmp_path, files)
    assert (finding.fix and finding.fix.edits[0].content) == fix


@pytest.mark.parametrize(
    ("vllm", "torch", "fix"),
    [
        ("0.9.2", "2.7.0", None),  # trl 0.29.0 supports vLLM 0.10.2 to 0.12.0, which bring torch 2.8 and 2.9
        ("0.8.3", "2.8.0", "==0.10.2"),
        ("0.8.3", "2.9.0", "==0.11.1"),
    ],
)
def test_a_fix_passes_over_releases_that_do_not_fit(tmp_path: Path, vllm: str, torch: str, fix: str | None):
    text = f"vllm=={vllm}\ntrl==0.29.0\ntorch=={torch}\n"
    finding = next(f for f in check(RANGE, tmp_path, {"requirements.txt": text}) if f.message.startswith("trl"))
    assert (finding.fix and finding.fix.edits[0].content) == fix


def test_a_fix_leads_to_no_contradiction_further_away(tmp_path: Path):
    """Of the releases that trl takes, only 5.0.0 to 5.3.0 suit this huggingface-hub, and no vLLM of the extra does."""
    text = "trl[vllm]==1.9.0\ntransformers==4.50.0\nhuggingface-hub==1.3.0\n"
    findings = check(UNSATISFIABLE, tmp_path, {"requirements.txt": text})
    (finding,) = [f for f in findings if "requires transformers>=4.56.2" in f.message]
    assert finding.fix is None
    (finding,) = check(UNSATISFIABLE, tmp_path, {"requirements.txt": text.replace("[vllm]", "")})
    assert finding.fix is not None
    assert finding.fix.edits[0].content == "==5.0.0"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("trl[vllm]==1.16.0\ntransformers==5.3.0\n", "none of vllm 0.22.0 to 0.31.0 accepts transformers==5.3.0"),
        ("trl>=1.0,<0.20\n", "No release of trl satisfies >=1.0,<0.20"),
        ("trl==0.99\n", "its neighbours are 0.29.1 and 1.0.0"),
        ("trl==0.15.2\ntrl==0.16.0\n", "==0.15.2 and ==0.16.0, which are asked for together"),
        ("verl[vllm]==0.9.0\nvllm==0.33.0\n", "vllm 0.33.0 requires transformers>=5.16.1,<5.21.0"),
    ],
)
def test_the_message_is_the_argument(tmp_path: Path, text: str, wanted: str):
    (finding,) = check(UNSATISFIABLE, tmp_path, {"requirements.txt": text})
    assert (finding.severity, finding.fix) == ("error", None)
    assert wanted in finding.message
    assert len(finding.related) == text.count("\n") - 1


def test_every_contradiction_is_told(tmp_path: Path):
    text = "torch==2.5.1\nvllm==0.33.0\ntrl[vllm]==0.29.0\naccelerate==1.0.0\n"
    findings = check(UNSATISFIABLE, tmp_path, {"requirements.txt": text})
    assert sorted(finding.message.split(" requires ")[1].split(",")[0] for finding in findings) == [
        "accelerate>=1.4.0",
        "torch==2.14.0",
        "vllm>=0.10.2",
    ]


def test_a_target_can_bring_the_contradiction(tmp_path: Path):
    files = {"requirements.txt": "trl[vllm]==1.16.0\n"}
    assert check(UNSATISFIABLE, tmp_path, files) == []
    (finding,) = check(UNSATISFIABLE, tmp_path, files, targets={"transformers": "5.3.0"})
    assert (finding.severity, finding.related) == ("warning", ())


def test_targets_that_exclude_each_other_are_told_at_the_pin_that_asks_for_them(tmp_path: Path):
    """Of TRL's own scripts at 1.5.1: `trl[vllm]` needs a vLLM that refuses transformers 5."""
    files = {"requirements.txt": "datasets\ntrl[vllm]\n"}
    (finding,) = check(UNSATISFIABLE, tmp_path, files, targets={"trl": "1.5.1", "transformers": "5.9.0"})
    assert (finding.location.start, finding.severity, finding.fix) == (len("datasets\n"), "warning", None)
    assert "transformers==5.9.0" in finding.message
    files = {"requirements.txt": "trl\n"}
    assert check(UNSATISFIABLE, tmp_path, files, targets={"trl": "1.5.1", "transformers": "5.9.0"}) == []


def test_what_an_included_file_says_is_told_there(tmp_path: Path):
    files = {
        "requirements.txt": "-r requirements-base.txt\npeft\n",
        "requirements-base.txt": "vllm==0.7.2\ntorch==2.6.0\n",
    }
    assert check(UNSATISFIABLE, tmp_path, files) == []
    assert len(check(UNSATISFIABLE, tmp_path, files, "requirements-base.txt")) == 1


def test_a_target_is_not_changed_by_editing_a_pin(tmp_path: Path):
    (finding,) = check(RANGE, tmp_path, {"requirements.txt": "vllm==0.33.0\n"}, targets={"trl": "0.29.0"})
    assert finding.fix is not None
    (finding,) = check(RANGE, tmp_path, {"requirements.txt": "vllm\ntrl==0.29.0\n"}, targets={"vllm": "0.33.0"})
    assert finding.fix is None


def test_a_target_stands_where_its_pin_does(tmp_path: Path):
    """Of TRL's scripts at 1.5.1: what an extra of the project brings is not installed beside a script's own pins."""
    script = '# /// script\n# dependencies = ["transformers>=5.3.0"]\n# ///\n'
    project = '[project]\nname = "own"\n[project.optional-dependencies]\nfast = ["vllm>=0.12.0,<=0.18.0"]\n'
    targets = {"transformers": "5.9.0"}
    files = {"pyproject.toml": project, "train.py": script}
    assert check(RANGE, tmp_path / "a", files, "train.py", targets) == []
    files = {"requirements.txt": "transformers>=5.3\n", "requirements-vllm.txt": "-r requirements.txt\nvllm==0.18.0\n"}
    assert check(RANGE, tmp_path / "b", files, targets=targets) == []
    files = {"requirements.txt": "vllm==0.17.1\n", "train.sh": "pip install -r requirements.txt transformers==4.57.1\n"}
    (finding,) = check(RANGE, tmp_path / "c", files, "train.sh", targets)
    assert "transformers 5.9.0 is outside" in finding.message


def test_only_what_pip_refuses_is_an_error(tmp_path: Path):
    together = {"requirements.txt": "vllm==0.7.2\ntorch==2.6.0\n"}
    assert levels(check(UNSATISFIABLE, tmp_path / "a", together)) == ["error"]
    assert check(RANGE, tmp_path / "a", together) == []
    apart = {
        "requirements.txt": "torch==2.6.0\n",
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\ndependencies = ["vllm==0.7.2"]\n',
    }
    assert levels(check(RANGE, tmp_path / "b", apart)) == ["warning"]
    assert check(UNSATISFIABLE, tmp_path / "b", apart) == []


def test_a_lock_holds_what_a_requirement_excludes_only_on_purpose(tmp_path: Path):
    """uv writes such a pair down where the project overrides the requirement; an extra binds nobody who did not ask."""
    locked = '[[package]]\nname = "vllm"\nversion = "0.7.2"\n\n[[package]]\nname = "{}"\nversion = "{}"\n'
    assert check(RANGE, tmp_path / "a", {"uv.lock": locked.format("torch", "2.6.0")}, "uv.lock") == []
    files = {"uv.lock": locked.format("trl", "0.18.0"), "train.py": "args = GRPOConfig(vllm_mode=mode)\n"}
    assert levels(check(RANGE, tmp_path / "b", files, "uv.lock")) == ["warning"]


def test_lock_is_the_place_where_it_decides(tmp_path: Path):
    locked = '[[package]]\nname = "vllm"\nversion = "0.7.2"\n\n[[package]]\nname = "trl"\nversion = "0.18.0"\n'
    files = {"uv.lock": locked, "requirements.txt": "vllm==0.7.2\ntrl\n"}
    assert check(RANGE, tmp_path, files) == []
    assert len(check(RANGE, tmp_path, files, "uv.lock")) == 1


def test_every_allowed_release_must_miss_the_range(tmp_path: Path):
    """Of trl>=0.23 some release supports vLLM 0.10.2: pip finds it, and the pair is possible."""
    assert check(RANGE, tmp_path, {"requirements.txt": "trl[vllm]>=0.23,<0.30\nvllm==0.10.2\n"}) == []


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("trl\n", ["warning"]), ("trl>=0.9\n", ["info"]), ("trl==0.24.0\n", []), ("trl<1\n", []), ("trl~=0.24.0\n", []),
        ("trl!=0.24.0\n", ["info"]), ("vllm\n", []), ("vllm\npeft\n", ["warning"]), ("trl[vllm]==0.24.0\nvllm\n", []),
    ],
)  # fmt: skip
def test_unpinned_in_requirements(tmp_path: Path, text: str, severity: list[str]):
    assert levels(check(UNPINNED, tmp_path, {"requirements.txt": text})) == severity


def test_unpinned_beside_a_package_that_others_install(tmp_path: Path):
    files = {
        "requirements.txt": "trl\n",
        "setup.py": 'from setuptools import setup\nsetup(name="tools", version="1")\n',
    }
    assert levels(check(UNPINNED, tmp_path, files)) == ["info"]


# -- documents ------------------------------------------------------------------------------------------------------


def test_a_pin_that_does_not_survive_says_where(tmp_path: Path):
    text = "pip install transformers==4.48.3\npip install vllm==0.8.5\n"
    (finding,) = check(RANGE, tmp_path, {"install.sh": text}, "install.sh")
    assert finding.message == (
        "this pin does not survive line 2: vllm 0.8.5 requires transformers>=4.51.1, "
        "so pip replaces transformers==4.48.3 there"
    )
    assert [place.message for place in finding.related] == ["vllm is installed here"]


def test_a_pin_that_a_requirements_file_replaces_names_the_file(tmp_path: Path):
    files = {
        "install.sh": "pip install transformers==4.48.3\npip install -r env/requirements.txt\n",
        "env/requirements.txt": "numpy\nvllm==0.8.5\n",
    }
    (finding,) = check(RANGE, tmp_path, files, "install.sh")
    assert finding.message.startswith("this pin does not survive line 2 of env/requirements.txt: vllm 0.8.5")


def test_a_package_of_unknown_releases_is_replaced_only_by_another_version(tmp_path: Path):
    """vLLM 0.8.4 asks for torchvision 0.21.0, of which no list of releases is kept."""
    text = "pip install torchvision=={}\npip install vllm==0.8.4\n"
    (tmp_path / "a").mkdir()
    assert check(RANGE, tmp_path / "a", {"install.sh": text.format("0.21.0")}, "install.sh") == []
    assert len(check(RANGE, tmp_path, {"install.sh": text.format("0.20.0")}, "install.sh")) == 1


def test_support_is_a_warning_where_it_is_used(tmp_path: Path):
    pins = {"requirements.txt": "trl==0.19.0\nvllm==0.8.2\n"}
    uses = {
        "args = GRPOConfig(use_vllm=True)": "warning",
        "args = GRPOConfig(use_vllm = True)": "warning",
        'args = {"use_vllm": true}': "warning",
        "use_vllm: bool = True": "warning",
        "use_vllm: bool | None = field(default=True)": "warning",
        "client = VLLMClient()": "warning",
        "args = GRPOConfig(use_vllm=False)": "info",
        "if args.use_vllm:\n    pass": "info",
        "use_vllm: bool = False": "info",
    }
    for number, (code, level) in enumerate(uses.items()):
        assert levels(check(RANGE, tmp_path / str(number), {**pins, "train.py": code + "\n"})) == [level], code


@pytest.mark.parametrize(
    ("command", "level"),
    [
        ("python train.py --use_vllm", "warning"),
        ("python train.py --use_vllm true --x 1", "warning"),
        ("python train.py --use_vllm=True", "warning"),
        ("python train.py --use_vllm \\\n    --x 1", "warning"),
        ("trl vllm-serve --model x", "warning"),
        ("python train.py --use_vllm False", "info"),
        ("python train.py --use_vllm=false", "info"),
        ("python train.py --use_vllm $USE", "info"),
    ],
)
def test_support_is_used_by_a_command(command: str, level: str, tmp_path: Path):
    files = {"requirements.txt": "trl==0.19.0\nvllm==0.8.2\n", "train.py": "import trl\n", "run.sh": command + "\n"}
    assert levels(check(RANGE, tmp_path, files)) == [level]


def test_a_hint_about_support_says_what_is_missing(tmp_path: Path):
    (finding,) = check(RANGE, tmp_path, {"requirements.txt": "trl==0.19.0\nvllm==0.8.2\n"})
    assert finding.message.endswith("; no file here sets `use_vllm`, so it may not matter")


def test_what_is_built_from_a_repository_may_require_something_else(tmp_path: Path):
    text = "RUN git clone -b v0.10.0 https://github.com/vllm-project/vllm && cd vllm && pip install -e .\n"
    files = {"Dockerfile": f"FROM x\n{text}RUN pip install torch==2.4.0\n"}
    assert check(RANGE, tmp_path, files, "Dockerfile") == []


def test_commands_that_say_the_same_are_told_and_mended_together(tmp_path: Path):
    text = 'if [ "$GPU" ]; then\n    pip install "vllm==0.12.0"\nelse\n    pip install "vllm==0.12.0" x\nfi\n'
    files = {"setup.sh": f"pip install trl==0.22.2\n{text}", "train.py": "from trl import GRPOTrainer\n"}
    (finding,) = check(KNOWN_BAD, tmp_path, files, "setup.sh")
    places = [place.message for place in finding.related]
    assert places == ["and here", "GRPOTrainer is used here", "trl==0.22.2 is pinned here"]
    assert finding.fix is not None and [edit.content for edit in finding.fix.edits] == ["==0.11.2", "==0.11.2"]


def cells(count: int) -> str:
    source = ["if x:\n", "    !pip install vllm==0.12.0\n", "else:\n", "    !pip install trl==0.22.2\n"]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    return json.dumps({"cells": [cell] * count, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def copies(count: int) -> str:
    return "FROM x\n" + "".join(f"ADD {i}.txt /\nRUN pip install -r {i}.txt\n" for i in range(count))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n.ipynb", cells),
        ("s.sh", lambda n: "if [ $A ]; then\npip install trl==0.22.2\nelse\npip install vllm==0.12.0\nfi\n" * n),
        ("s.sh", lambda n: "pip install transformers==4.48.3\npip install vllm==0.8.5\n" * n),
        ("s.sh", lambda n: "".join(f"conda activate e{i}\npip install vllm==0.5.4 torch==2.1.2\n" for i in range(n))),
        ("s.sh", lambda n: "".join(f"cd a{i} && pip install -e .\n" for i in range(n))),
        ("Dockerfile", copies),
        ("README.md", lambda n: "```sh\npip install vllm==0.5.4 torch==2.1.2\n```\n" * n),
    ],
)  # fmt: skip
def test_documents_of_any_length_take_linear_time(name: str, text: Callable[[int], str], tmp_path: Path):
    def seconds(count: int) -> float:
        start = time.process_time()
        for rule in (KNOWN_BAD, RANGE, UNPINNED, UNSATISFIABLE):
            check(rule, tmp_path / str(count), {name: text(count)}, name)
        return time.process_time() - start

    seconds(20)
    assert seconds(400) < 40 * max(seconds(50), 0.01)
