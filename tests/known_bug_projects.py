"""Small projects out of the examples of a row of `rules/bugs`, for its tests."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from trl_lint.knowledge.bugs import Bug, Example
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.refresher.bugs_build import Answer
from trl_lint.knowledge.refresher.bugs_code import FAULTY
from trl_lint.knowledge.refresher.bugs_fields import config_of
from trl_lint.knowledge.releases import installable

_MORE = {  # what a trainer cannot do without
    "GRPOTrainer": "reward_funcs=lambda completions, **kwargs: [0.0] * len(completions)",
    "RLOOTrainer": "reward_funcs=lambda completions, **kwargs: [0.0] * len(completions)",
    "OnlineDPOTrainer": "reward_funcs=lambda completions, **kwargs: [0.0] * len(completions)",
}
_SCRIPT = """from datasets import load_dataset
from {module} import {config}
from {module} import {trainer}

{before}
trainer = {trainer}(
    {more}
    args={config}(output_dir="out", {args}),
    train_dataset=load_dataset("json", data_files="train.jsonl", split="train"),
)
trainer.train()
"""


class Project:
    """The files of a project, and whether the fault is there; `name` says which of the row's it is."""

    def __init__(self, name: str, files: dict[str, str], is_bad: bool) -> None:
        self.name = name
        self.files = files
        self.is_bad = is_bad


def projects_of(package: str, row: Bug, answer: Answer) -> Iterator[Project]:
    """What the tests run for a row: its own, and those of the releases beside it."""
    for number, one in enumerate(row.bad):
        yield Project(f"bad {number + 1}", files_of(package, row, example(one)), True)
    for number, one in enumerate(row.fine):
        yield Project(f"fine {number + 1}", files_of(package, row, example(one)), False)
    usual = set(map(str, installable(package)))
    known = [version for version in sorted(answer.states, key=Version) if version in usual]
    faulty = [version for version in known if answer.states[version] == FAULTY]
    after = [version for version in known if faulty and Version(version) > Version(faulty[-1])]
    before = [version for version in known if faulty and Version(version) < Version(faulty[0])]
    for word, version in (("release after", after[:1]), ("release before", before[-1:])):
        for one in row.bad[:1] if version else ():
            files = files_of(package, row, example(one), version[0])
            yield Project(f"{word}, {version[0]}", files, False)
    for one in row.bad[:1] if row.bad and answer.states[known[-1]] != FAULTY else ():
        files = files_of(package, row, example(one))
        yield Project("no release pinned", {**files, "requirements.txt": f"{package}\n"}, False)


def example(one: str | Example) -> Example:
    return Example(one) if isinstance(one, str) else one


def files_of(package: str, row: Bug, given: Example, version: str = "") -> dict[str, str]:
    """The files of an example: of a class a script, of a program a command, of a document the document."""
    pins = pins_of(package, row, given, version)
    place = row.where[0]
    if place.endswith("Trainer"):
        files = script_of(place_in(row, pins.get(package, "")), given)
    elif place.endswith(" config"):
        kind = place.partition(" ")[0]
        files = {"ds_config.json" if kind == "deepspeed" else "accelerate.yaml": given.args + "\n"}
    elif " " in place:
        command = (
            given.launch or f"{_COMMANDS.get(place.partition(' ')[0], place.partition(' ')[0])} {place.split()[1]}"
        )
        files = {"config.yaml": given.args + "\n", "run.sh": f"{command} config.yaml\n"}
        if command.startswith("swift"):
            files = {"run.sh": f"{command} {given.args}\n"}
    elif place.startswith(("verl.", "openrlhf.")) or given.launch:
        files = {"run.sh": f"{given.launch or f'python3 -m {place}'} {given.args}\n"}
    else:
        module, _, name = place.rpartition(".")
        files = {"train.py": f"from {module} import {name}\n\n{given.before}\nmade = {name}({given.args})\n"}
    if given.launch and "train.py" in files:
        files["run.sh"] = f"{given.launch}\n"
    return {**files, "requirements.txt": "".join(f"{name}=={text}\n" for name, text in pins.items()), **given.files}


_COMMANDS = {"llamafactory": "llamafactory-cli", "ms-swift": "swift"}


def pins_of(package: str, row: Bug, given: Example, version: str = "") -> dict[str, str]:
    """The releases of a project: the newest of the row and of those beside it, or as the example says."""
    found = {name: newest_in(name, text) for name, text in row.beside.items()}
    found[package] = newest_in(package, row.releases)
    for pin in given.pins.split():
        name, _, text = pin.partition("==")
        found[name] = text
    if version:
        found[package] = version
    return found


def newest_in(package: str, releases: str) -> str:
    return [str(version) for version in installable(package) if holds(releases, version)][-1]


def place_in(row: Bug, version: str) -> str:
    """The class of `where` that a release has at that place: the first, where nobody can tell."""
    from trl_lint.knowledge.api import resolve

    package = row.where[0].partition(".")[0]
    known = (place for place in row.where if isinstance(resolve(place, {package: version}), str))
    return next(known, row.where[0])


def script_of(place: str, given: Example) -> dict[str, str]:
    module, _, trainer = place.rpartition(".")
    more = [text for text in (given.trainer, _MORE.get(trainer, "")) if text]
    if "model=" not in given.trainer.replace("teacher_model=", ""):
        more.insert(0, 'model="Qwen/Qwen2.5-0.5B-Instruct"')
    script = _SCRIPT.format(
        module=module,
        config=config_of(place).rpartition(".")[2],
        trainer=trainer,
        before=given.before,
        more="".join(f"{text},\n    " for text in more).rstrip(),
        args=given.args,
    )
    return {"train.py": script}
