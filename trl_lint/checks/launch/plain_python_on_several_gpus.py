"""TRL501: one `python` process that sees several GPUs, in a script that trains with an HF or TRL trainer."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.launch._training_script import Training, read_training
from trl_lint.checks.launch._visible import TRANSPARENT, read_evidence
from trl_lint.checks.launch._vllm_gpus import read_room
from trl_lint.checks.rule import Rule
from trl_lint.finding import Edit, Finding, Fix, Location, Severity
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.launches import Launch
from trl_lint.python.module import PythonModule
from trl_lint.run.runs import run_of
from trl_lint.sources import Source, SourceError
from trl_lint.sources.shell import Word

# Releases whose trainers refuse nn.DataParallel with a ValueError (read in the wheels of 1.14.2, 1.15.0 and 1.16.0).
_REFUSES = {
    "DPOTrainer": ">=1.15.0",
    "DistillationTrainer": ">=1.15.0",
    "GRPOTrainer": ">=1.15.0",
    "KTOTrainer": ">=1.15.0",
    "RLOOTrainer": ">=1.15.0",
    "RewardTrainer": ">=1.16.0",
    "SFTTrainer": ">=1.15.0",
}
# From 0.26 a TRL trainer that is given a name loads the model with device_map="auto": it is split, not wrapped.
_WRAPS_A_NAMED_MODEL = "<0.26"
_OWN_LOOP = {"RLOOTrainer": "<0.22"}

# Arguments that lead away from DataParallel. Their absence must be certain for an error.
_DECIDING_FLAGS = (
    "--device_map", "--deepspeed", "--fsdp", "--use_cpu", "--no_cuda", "--load_in_8bit", "--load_in_4bit",
    "--local_rank",
)  # fmt: skip
_OFF = frozenset({"none", "null", "false", "no", "0", ""})
_DECIDING_KEYS = rb"\b(?:device_map|deepspeed|fsdp|use_cpu|no_cuda|load_in_[48]bit|distributed_type)\b"

# `accelerate` in front of `python` is found in the environment these set up just as well.
_FIXABLE = TRANSPARENT - {"srun", "nsys"}
_HARMLESS_PIPES = frozenset({"tee", "cat", "ts", "grep"})


class PlainPythonOnSeveralGpus(Rule):
    code = "TRL501"
    launches = True

    def check_launch(self, launch: Launch, project: Project) -> Iterator[Finding]:
        # What documentation shows is a pattern to fill in, and broken syntax may have lost half of the command.
        if launch.launcher != "python" or launch.is_documentation or launch.command.errors:
            return
        evidence = read_evidence(launch)
        if evidence is None or evidence.gpus < 2 or launch.script_path is None:
            return
        certain = read_certainty(launch, project)
        if certain is None:
            return
        module = read_script(launch.script_path, project)
        training = read_training(module) if module is not None else None
        if module is None or training is None or (training.needs_flags and _may_quantise(launch)):
            return
        found = judged(training, launch, project, certain)
        if found is None:
            return
        severity, consequence, related = found
        room = read_room(run_of(launch, project), training, module, evidence.gpus)
        built = module.location(training.call.func, f"{training.name} is built here")
        yield self.finding(
            read_place(launch),
            f"one `python` process sees {evidence.gpus} GPUs, and {consequence}",
            severity=severity,
            related=(evidence.location, built, *room.because, *related),
            fix=edit_launch(launch, room.processes, evidence.gpus),
        )


# -- evidence -----------------------------------------------------------------------------------------------------


def read_certainty(launch: Launch, project: Project) -> bool | None:
    """None if an argument leads away from DataParallel; False if one may, hidden behind a variable or in a recipe."""
    certain = True
    for name in _DECIDING_FLAGS:
        value = launch.flag(name)
        if value is UNKNOWN:
            certain = False
        elif not isinstance(value, Missing) and (value.text is None or value.text.lower() not in _OFF):
            return None
    for word in launch.args:
        if word.text is not None and word.text.endswith((".yaml", ".yml", ".json", ".toml")):
            holds = _decides(word.text, launch, project)
            if holds:
                return None
            certain = certain and holds is False
    return certain


def _decides(name: str, launch: Launch, project: Project) -> bool | None:
    """Whether a config among the arguments speaks about placement; None if it is not found."""
    path = launch.file_named(name)
    if path is None:
        return None
    try:
        return project.files.fits(path, _DECIDING_KEYS)
    except OSError:
        return None


def _may_quantise(launch: Launch) -> bool:
    return any(
        launch.flag(name) is not ABSENT for name in ("--load_in_4bit", "--load_in_8bit", "--use_bnb_nested_quant")
    )


def read_place(launch: Launch) -> Location:
    """`python train.py` without what surrounds it; the whole command where its words come from variables."""
    first, last = launch.launcher_word, launch.script or launch.launcher_word
    if launch.command.start <= first.start <= last.end <= launch.command.end:
        return launch.source.location(first.start, last.end)
    return launch.location


def read_script(path: str, project: Project) -> PythonModule | None:
    """The module of a script that may build a trainer; None where it cannot be read."""
    from trl_lint.python.module import PythonModule

    try:
        file = project.files.get(path)
        return PythonModule(Source(file, "python")) if b"Trainer" in file.data else None
    except (OSError, SourceError):
        return None


def judged(
    training: Training, launch: Launch, project: Project, certain: bool
) -> tuple[Severity, str, tuple[Location, ...]] | None:
    """Severity, consequence in words and the pins it rests on; None where the model is not wrapped."""
    from trl_lint.checks.verdict import judge_pins

    assert launch.script_path is not None
    environment = project.environment(launch.script_path)
    trl = environment.package("trl")
    if training.model == "name":
        if trl.holds(_WRAPS_A_NAMED_MODEL) != "all":
            return None
    elif training.library == "trl" and not training.experimental and training.base in _REFUSES:
        verdict = judge_pins(environment, {"trl": _REFUSES[training.base]}, "error")
        if verdict is not None:
            severity: Severity = "warning" if not certain and verdict.severity == "error" else verdict.severity
            return severity, f"{training.name} stops with a ValueError at its start ({verdict.scope})", verdict.related
    if training.base in _OWN_LOOP and trl.holds(_OWN_LOOP[training.base]) != "none":
        return None
    return "warning", f"{training.name} silently wraps the model in nn.DataParallel", ()


# -- fix ----------------------------------------------------------------------------------------------------------


def edit_launch(launch: Launch, processes: int | None, gpus: int) -> Fix | None:
    """`python train.py` -> `accelerate launch train.py`; nothing else of the command is touched.

    `processes` is how many may train on the `gpus` that are visible: fewer where vLLM has some of them. A single one is
    started by `torchrun`: `accelerate launch --num_processes 1` makes no process group, so that transformers counts the
    visible GPUs and wraps the model once more (commands/launch.py of accelerate 0.34 to 1.15, `_setup_devices` in
    training_args.py of transformers 4.48 to 5.23).

    Withheld where no number of processes is known to be right (`_vllm_gpus.py` says why), where the word is not
    literally `python` or `python3` (a path or `python3.11` names one interpreter, and the `accelerate` on the PATH may
    belong to another), where the script is started by its own name, behind srun or a profiler, and where the process
    reads from a pipe or a here-document, or writes into a program that would get the output of all processes mixed.
    """
    command, word = launch.command, launch.launcher_word
    if processes is None or any(name not in _FIXABLE for name in launch.wrappers) or word is launch.script:
        return None
    reads = command.piped_from or command.heredocs or any(r.operator.startswith("<") for r in command.redirects)
    if reads or any(program not in _HARMLESS_PIPES for program in command.pipes_to):
        return None
    quote = '"' if command.exec_form else ""
    if word.raw not in (f"{quote}python{quote}", f"{quote}python3{quote}"):
        return None
    if processes == gpus:
        launcher, title = "accelerate launch", "start one process per GPU with `accelerate launch`"
    elif processes > 1:
        launcher = f"accelerate launch --num_processes {processes}"
        title = f"start {processes} processes with `accelerate launch` and leave the other GPUs to vLLM"
    else:
        launcher = "torchrun --nproc_per_node 1"
        title = "start one process with `torchrun`, which takes one GPU, and leave the others to vLLM"
    return Fix(title, "unsafe", tuple(_edits(launch, word, launcher, quote)))


def _edits(launch: Launch, word: Word, launcher: str, quote: str) -> list[Edit]:
    def joined(words: str) -> str:
        return (", " if quote else " ").join(f"{quote}{part}{quote}" for part in words.split())

    if launch.interpreter_options:
        # A launcher has no place for options of the interpreter: let it run the interpreter as it stands.
        content = joined(f"{launcher} --no_python") + (", " if quote else " ")
        return [launch.source.edit(word.start, word.start, content)]
    # `-m` means the same to all of them, so it stays where it is.
    return [launch.source.edit(word.start, word.end, joined(launcher))]


rule = PlainPythonOnSeveralGpus()
