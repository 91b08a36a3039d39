"""A team's own advisories, renames and remedies: what they add, and that a file not in the form is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Shell

from trl_lint import tracked
from trl_lint.editors.server.desk import Desk
from trl_lint.engine import check
from trl_lint.knowledge.compat import Advisory, advisories
from trl_lint.knowledge.own import own_rows, using
from trl_lint.knowledge.own_files import MOST_BYTES, MOST_FILES
from trl_lint.knowledge.renames import Rename
from trl_lint.settings import load
from trl_lint.settings_file import SettingsError

ADVISORY = """\
[[advisory]]
id = "kernels-1.3"
packages = { acme-kernels = "==1.3.*" }
title = "acme-kernels 1.3 writes broken checkpoints"
message = "the last shard is lost"
severity = "error"
impact = "silent"
fix = { acme-kernels = ">=1.4" }
evidence = ["https://wiki.acme.example/1284", "INC-7"]
"""
RENAME = """\
[[rename]]
package = "transformers"
of = ["TrainingArguments"]
old = "overwrite_output_dir"
new = "project"
same = true
why = "our fork reads it"
evidence = ["https://wiki.acme.example/fork"]
"""
REMEDY = """\
[[remedy]]
package = "trl"
kind = "argument"
of = ["GRPOConfig"]
names = ["max_prompt_length"]
releases = ">=0.26"
do = "call `acme.shorten` on the dataset"
evidence = ["https://wiki.acme.example/data"]
"""
FILES = {
    "trl-lint.toml": 'knowledge = ["ml.toml"]\n',
    "ml.toml": ADVISORY + RENAME + REMEDY,
    "requirements.txt": "trl==1.16.0\ntransformers==5.0.0\nacme-kernels==1.3.2\n",
    "train.py": 'from trl import GRPOConfig\n\nGRPOConfig("out", max_prompt_length=1)\n',
}


@pytest.fixture
def team(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def messages(folder: Path) -> list[str]:
    tracked.forget()
    settings = load(str(folder / "trl-lint.toml"))
    return [f"{one.code} {one.message}" for one in check([str(folder)], settings).findings]


def test_an_advisory_about_a_package_that_nobody_else_knows(team: Path):
    found = next(message for message in messages(team) if message.startswith("TRL201"))
    assert found == (
        "TRL201 acme-kernels 1.3 writes broken checkpoints: the last shard is lost "
        "(ml.toml, https://wiki.acme.example/1284). Pinned: acme-kernels 1.3.2. Use acme-kernels>=1.4"
    )
    (team / "requirements.txt").write_text("trl==1.16.0\nacme-kernels==1.2\n", "utf-8")
    assert not any("TRL201" in message for message in messages(team))


def test_a_remedy_stands_behind_what_our_tables_say(team: Path):
    found = next(message for message in messages(team) if "max_prompt_length" in message)
    assert (
        "filter out or shorten the long prompts in the dataset; call `acme.shorten` on the dataset (ml.toml, " in found
    )
    (team / "ml.toml").write_text(REMEDY.replace(">=0.26", "<1"), "utf-8")
    assert not any("acme" in message for message in messages(team)), "it is for other releases"


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        ("train.py", 'from trl import SFTConfig\n\nSFTConfig("o", {})\n', "project=True"),
        ("run.sh", "trl sft --model_name_or_path m --{} true\n", "--project true"),
    ],
    ids=["call", "flag"],
)
def test_a_rename_that_no_release_announced_is_a_fix(team: Path, name: str, text: str, fixed: str, sh: Shell):
    old = "overwrite_output_dir"
    (team / name).write_text(text.replace("{}", old if name == "run.sh" else f"{old}=True"), "utf-8")
    (found,) = (message for message in messages(team) if old in message)
    assert "use `" in found and ": our fork reads it (ml.toml, https://wiki.acme.example/fork)" in found
    sh("--fix", "-q", "--no-cache", name)
    assert fixed in (team / name).read_text("utf-8")


def test_a_release_that_announced_another_name_stands(team: Path):
    own = RENAME.replace("transformers", "trl").replace("TrainingArguments", "SFTConfig")
    (team / "ml.toml").write_text(own.replace("overwrite_output_dir", "max_seq_length"), "utf-8")
    (team / "train.py").write_text("from trl import SFTConfig\n\nSFTConfig(max_seq_length=1)\n", "utf-8")
    (found,) = (message for message in messages(team) if "max_seq_length" in message)
    assert "use `max_length`" in found and "project" not in found


def test_a_new_name_that_the_release_lacks_is_no_advice(team: Path):
    (team / "ml.toml").write_text(RENAME.replace('"project"', '"nonsense"'), "utf-8")
    (team / "train.py").write_text("from trl import SFTConfig\n\nSFTConfig(overwrite_output_dir=1)\n", "utf-8")
    (found,) = (message for message in messages(team) if "overwrite_output_dir" in message)
    assert "nonsense" not in found


@pytest.mark.parametrize(
    ("kind", "of", "name", "text"),
    [
        ("name", "trl", "PPOv2Trainer", "from trl import PPOv2Trainer\n"),
        ("module", "trl.extras", "best_of_n_sampler", "import trl.extras.best_of_n_sampler\n"),
    ],
)
def test_names_that_are_gone(team: Path, kind: str, of: str, name: str, text: str):
    own = REMEDY.replace('"argument"', f'"{kind}"').replace("GRPOConfig", of).replace("max_prompt_length", name)
    (team / "ml.toml").write_text(own, "utf-8")
    (team / "train.py").write_text(text, "utf-8")
    assert any("call `acme.shorten` on the dataset (ml.toml, " in message for message in messages(team))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ADVISORY.replace("impact", "impct"), "ml.toml:7: `impct`: nothing reads this key; did you mean `impact`?"),
        (ADVISORY.replace('"error"', "3"), "ml.toml:6: `severity`: one of "),
        (ADVISORY.replace('"==1.3.*"', '"1.3"'), 'ml.toml:3: `acme-kernels`: "1.3" is no range of releases'),
        (ADVISORY.replace("acme-", "Acme_"), "ml.toml:3: `Acme_kernels`: pins are looked up as `acme-kernels`"),
        (ADVISORY.replace('"the last shard is lost"', '""'), "ml.toml:5: `message`: the text is empty"),
        (ADVISORY.replace("lost", "\\u001b[31mlost"), "ml.toml:5: one line of at most 500 printable characters"),
        (ADVISORY.replace("lost", "x" * 500), "ml.toml:5: one line of at most 500 printable characters"),
        (ADVISORY + '"\\u202e" = 1\n', "ml.toml:1: one line of at most 500 printable characters"),
        (ADVISORY.replace("[[advisory]]", "[[advisories]]"), "ml.toml:1: `advisories`: nothing reads this key"),
        (RENAME.replace("true", '"yes"'), "ml.toml:6: `same`: true or false is expected"),
        (RENAME.replace('"transformers"', '"acme"'), "ml.toml:2: `acme` is no package whose arguments"),
        (REMEDY.replace('">=0.26"', '"newest"'), 'ml.toml:6: `releases`: "newest" is no range'),
        (REMEDY + 'call = "x()"\n', "ml.toml:"),
        (REMEDY + "leave_out = true\n", "ml.toml:9: `leave_out`: a remedy of your own says what to do"),
        ("x = [" * 5000, "ml.toml: not valid TOML"),
        ("x = 1\n" * 2, "ml.toml: not valid TOML: "),
        ("# " + "x" * MOST_BYTES, f"ml.toml: larger than {MOST_BYTES:,} bytes"),
    ],
)
def test_what_is_not_in_the_form_is_refused(team: Path, text: str, said: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(team)
    (team / "ml.toml").write_text(text, "utf-8")
    with pytest.raises(SettingsError) as refused:
        load(str(team / "trl-lint.toml"))
    assert str(refused.value).startswith(said)


def test_a_file_that_is_not_there_and_too_many(team: Path, sh: Shell):
    (team / "ml.toml").unlink()
    done = sh(".", "--no-cache")
    assert done.status == 2 and done.err.startswith("trl-lint: ml.toml: ")
    (team / "trl-lint.toml").write_text(f"knowledge = {[f'{n}.toml' for n in range(MOST_FILES + 1)]}\n", "utf-8")
    assert "names more than 16 files" in sh(".", "--no-cache").err


def test_paths_count_from_the_file_that_names_them_and_add_up(team: Path):
    (team / "lib").mkdir()
    (team / "ml.toml").rename(team / "lib" / "ml.toml")
    (team / "lib" / "base.toml").write_text('knowledge = ["ml.toml"]\n', "utf-8")
    (team / "own.toml").write_text(ADVISORY.replace("1.3", "1.4"), "utf-8")
    (team / "trl-lint.toml").write_text('extend = "lib/base.toml"\nknowledge = ["own.toml"]\n', "utf-8")
    rows = load(str(team / "trl-lint.toml")).own or {}
    assert [next(iter(row.packages.values())) for row in rows[Advisory]] == ["==1.3.*", "==1.4.*"]
    assert len({row.id for row in rows[Advisory]}) == 2 and len(rows[Rename]) == 1


def test_own_rows_are_there_only_while_they_are_in_use(team: Path):
    before = advisories()
    with using(load(str(team / "trl-lint.toml")).own or {}):
        assert advisories()[:-1] == before and len(own_rows(Rename)) == 1
    assert advisories() == before


def test_a_changed_file_is_a_reason_to_check_again(team: Path, sh: Shell):
    for _ in range(2):  # the second answer comes from the cache
        assert "the last shard is lost" in sh(".").out
    (team / "ml.toml").write_text(ADVISORY.replace("lost", "gone"), "utf-8")
    assert "the last shard is gone" in sh(".").out
    (team / "ml.toml").write_text("", "utf-8")
    assert "acme-kernels" not in sh(".").out


def test_an_editor_reads_a_changed_file_again(team: Path):
    desk = Desk()
    path = str(team / "train.py")
    assert "acme.shorten" in desk.check(path).findings[0].message
    (team / "ml.toml").write_text(REMEDY.replace("acme.shorten", "acme.cut_prompts"), "utf-8")
    desk.look_again()
    assert "acme.cut_prompts" in desk.check(path).findings[0].message
