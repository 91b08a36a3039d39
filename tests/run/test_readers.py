"""The readers of a run's options against the real parsers: `tests/oracle/reader_lines.py` drew the lines."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from oracle.reader_lines import COUNT, HYDRA, program, script

from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.python.flags import read_flags
from trl_lint.python.module import PythonModule
from trl_lint.run.effective import Setting, Unknown
from trl_lint.run.readers.argparse_flags import read_arguments, read_flag
from trl_lint.run.readers.hydra import find
from trl_lint.run.readers.verl import VerlRun, run_or_reason
from trl_lint.run.runs import Run, all_runs
from trl_lint.settings import Settings
from trl_lint.sources import Files, Source
from trl_lint.sources.files import open_file

ORACLE = Path(__file__).parents[1] / "oracle" / "readers"
MOST_UNKNOWN = 0.05
MAIN = """\
import hydra

@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(config):
    pass

if __name__ == "__main__":
    main()
"""


def cases(name: str) -> list[dict[str, Any]]:
    found = json.loads((ORACLE / f"{name}.json").read_text("utf-8"))
    assert len(found) == COUNT
    return [dict(one, number=number) for number, one in enumerate(found) if one["values"] is not None]


def runs(folder: Path, commands: dict[int, str], files: dict[str, str]) -> dict[int, Run]:
    """The runs of commands, each in a file of its own."""
    for name, text in {".git/HEAD": "", **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for number, command in commands.items():
        (folder / f"run{number}.sh").write_text(command + "\n")
    found = all_runs(Project(str(folder), Files({}), Settings()))
    return {int(Path(run.launch.source.path).stem[3:]): run for run in found}


def is_right(said: object, real: object) -> bool | None:
    """Whether a value is that of the real parser; None where it is not known."""
    if isinstance(said, Unknown) or said is UNKNOWN or (isinstance(said, Setting) and not said.is_known):
        return None
    if not isinstance(said, Setting):
        return said is ABSENT and real is None
    if isinstance(real, bool):
        return said.truth is real
    if isinstance(real, (int, float)):
        return said.number == real
    return said.value == real or (isinstance(real, str) and str(said.value) == real)


def judge(answers: list[tuple[Any, str, object, object]]) -> None:
    """No value is wrong, and few are not known."""
    verdicts = [is_right(said, real) for _, _, said, real in answers]
    wrong = [answer for answer, verdict in zip(answers, verdicts, strict=True) if verdict is False]
    assert wrong == [], f"{len(wrong)} of {len(answers)}: {wrong[:8]}"
    assert verdicts.count(None) <= MOST_UNKNOWN * len(verdicts), verdicts.count(None) / len(verdicts)


def test_dataclasses_of_trl(tmp_path: Path):
    lines = cases("trl")
    files = {"train.py": script(), "requirements.txt": "trl==0.24.0\ntransformers==4.57.1\n"}
    files.update({f"cfg{one['number']}.yaml": one["text"] for one in lines if one["text"]})
    config = {one["number"]: f"--config cfg{one['number']}.yaml " if one["text"] else "" for one in lines}
    commands = {one["number"]: f"python train.py {config[one['number']]}{shlex.join(one['words'])}" for one in lines}
    found = runs(tmp_path, commands, files)
    judge([(one["words"], name, found[one["number"]].config.final(name), real)
           for one in lines for name, real in one["values"].items()])  # fmt: skip


def test_documents_of_llamafactory(tmp_path: Path):
    lines = cases("llamafactory")
    files = {f"cfg{one['number']}.yaml": "model_name_or_path: m\n" + one["text"] for one in lines}
    commands = {
        n: f"llamafactory-cli train cfg{n}.yaml {shlex.join(one['words'])}" for one in lines for n in (one["number"],)
    }
    found = runs(tmp_path, commands, {**files, "requirements.txt": "llamafactory==0.9.3\n"})
    judge([(one["words"], name, found[one["number"]].config.given(name), real)
           for one in lines for name, real in one["values"].items()])  # fmt: skip


def test_overrides_of_hydra(tmp_path: Path):
    lines = cases("hydra")
    commands = {one["number"]: f"python main.py {shlex.join(one['words'])}" for one in lines}
    found = runs(tmp_path, commands, {"main.py": MAIN, "conf/config.yaml": HYDRA})
    answers = []
    for one in lines:
        run = found[one["number"]]
        read = run_or_reason(run.launch, run.project)
        assert isinstance(read, VerlRun), one
        tree = read.composed("")
        for name, real in one["values"].items():
            if isinstance(real, list) or real == "???":
                continue  # a list is no plain value, and what has to be given is none
            value = find(tree, name) if tree is not None else UNKNOWN
            plain = isinstance(value, (Missing, str, int, float, bool, type(None)))
            said = value if isinstance(value, Missing) else Setting(value if plain else UNKNOWN, "default", None)
            answers.append((one["words"], name, said, real))
    judge(answers)


def test_flags_of_argparse(tmp_path: Path):
    (tmp_path / "main.py").write_text(program())
    module = PythonModule(Source(open_file(str(tmp_path / "main.py")), "python"))
    flags = {flag.name: read_flag(flag.name, flag.text) for flag in read_flags(module.tree) or ()}
    lines = cases("argparse")
    found = runs(tmp_path, {one["number"]: f"python main.py {shlex.join(one['words'])}" for one in lines}, {})
    answers = []
    for one in lines:
        arguments = read_arguments(found[one["number"]].launch.args, flags)
        for option, real in one["values"].items():
            flag = f"--{option}"
            value = arguments.values[flag] if flag in arguments.values else flags[flag].default
            answers.append((one["words"], option, Setting(value, "flag", None), real))
    judge(answers)
