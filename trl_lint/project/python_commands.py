"""The commands that Python files start: `subprocess.run([…])` and its kin, `os.system("…")`, and the jobs of clusters.

What is written out is known, and what the code makes of it (`python_words`). A list that the module changes otherwise
than at its end is not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trl_lint.project.python_words import words_in
from trl_lint.python.module import PythonModule
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources import Source, SourceError
from trl_lint.sources.pieces import Pieces
from trl_lint.sources.shell import Command, Word, read_commands
from trl_lint.sources.shell_state import State
from trl_lint.sources.shell_values import HOLE

_SUBPROCESS = frozenset(
    f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output", "getoutput")
)
_SHELLS = frozenset({"os.system", "os.popen", "subprocess.getoutput"})


class _Job(NamedTuple):
    """A call that has a command started elsewhere, by the names of its arguments; the first of them may have no name.

    `text` is for a shell, `words` are a command; or a `script` is started with `arguments`, and with `flags`, by name.
    """

    text: str = ""
    words: str = ""
    script: str = ""
    arguments: str = ""
    flags: str = ""
    directory: str = ""
    first: str = ""


# sagemaker 2.257.7 (a training job gets each hyperparameter as a flag), sagemaker-train 1.27.0, submitit 1.5.4,
# skypilot 0.14.1, azure-ai-ml 1.35.2, azureml-core 1.61.0, huggingface_hub 2.4.0.
_ESTIMATOR = _Job(script="entry_point", flags="hyperparameters", directory="source_dir", first="entry_point")
_JOBS = {
    "sagemaker.huggingface.HuggingFace": _ESTIMATOR._replace(first=""),
    "sagemaker.huggingface.estimator.HuggingFace": _ESTIMATOR._replace(first=""),
    "sagemaker.pytorch.PyTorch": _ESTIMATOR,
    "sagemaker.pytorch.estimator.PyTorch": _ESTIMATOR,
    "sagemaker.estimator.Estimator": _ESTIMATOR._replace(first=""),
    "sagemaker.modules.configs.SourceCode": _Job(text="command", directory="source_dir"),
    "sagemaker.train.configs.SourceCode": _Job(text="command", directory="source_dir"),
    "submitit.helpers.CommandFunction": _Job(words="command", directory="cwd", first="command"),
    "submitit.core.utils.CommandFunction": _Job(words="command", directory="cwd", first="command"),
    "sky.Task": _Job(text="run", directory="workdir"),
    "azure.ai.ml.command": _Job(text="command", directory="code"),
    "azureml.core.ScriptRunConfig": _Job(script="script", arguments="arguments", directory="source_directory"),
    "huggingface_hub.run_job": _Job(words="command"),
    "huggingface_hub.run_uv_job": _Job(script="script", arguments="script_args", first="script"),
}
# Methods by name alone: what they belong to is made at run time. ray: JobSubmissionClient (docs.ray.io, "Ray Jobs").
_METHODS = {"submit_job": _Job(text="entrypoint"), "run_job": _Job(words="command")}
_ELSEWHERE = (Word("docker", "docker", 0, 0), Word("run", "run", 0, 0), Word("job", "job", 0, 0))
# What sets the variables of the processes itself.
_RANKS = ("distribution", "distributed", "distributed_job_config")
_QUOTED = regex(r"[rRuUfFbB]*(\"\"\"|'''|\"|')")
_FILLED = regex(r"\{[^{}]*\}")
# They decide how many processes there are and what they see: a caller that gives an environment may set them.
_DECIDING = ("WORLD_SIZE", "CUDA_VISIBLE_DEVICES")


def started_commands(source: Source) -> list[Command]:
    """The commands that the calls of a Python text start, in its order; none where it cannot be parsed."""
    try:
        module = PythonModule(source)
    except (SourceError, RecursionError):
        return []
    found = list(_commands_in(module))
    module.release()
    return found


def _commands_in(module: PythonModule) -> Iterator[Command]:
    sets_variables = "environ" in module.text
    for call in module.calls:
        origins = module.names.origins(call.func)
        if origins & (_SUBPROCESS | _SHELLS) and call.args:
            yield from _started(call, bool(origins & _SHELLS), sets_variables, module)
        elif (job := _job_of(call, origins)) is not None:
            yield from _of_job(call, job, module)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "submit" and len(call.args) > 1:
            # `executor.submit(subprocess.run, [...])`
            inner = module.names.origins(call.args[0])
            if inner & (_SUBPROCESS | _SHELLS):
                handed = ast.copy_location(ast.Call(call.args[0], call.args[1:], call.keywords), call)
                yield from _started(handed, bool(inner & _SHELLS), True, module)


def _job_of(call: ast.Call, origins: AbstractSet[str]) -> _Job | None:
    named = next((_JOBS[name] for name in origins if name in _JOBS), None)
    if named is None and isinstance(call.func, ast.Attribute):
        named = _METHODS.get(call.func.attr)
    return named


def _of_job(call: ast.Call, job: _Job, module: PythonModule) -> Iterator[Command]:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if job.first and call.args:
        given.setdefault(job.first, call.args[0])
    state = State()
    ranks = ("WORLD_SIZE",) if any(name in given for name in _RANKS) else ()
    for name in (*_DECIDING, *ranks):
        state.set(name, Word(None, "", 0, 0), True)
    folder = module.value(given[job.directory]) if job.directory in given else ""
    is_folder = isinstance(folder, str) and not folder.startswith("/") and "://" not in folder
    state.change_directory(str(folder).rstrip("/").removeprefix("./").removesuffix(".") if is_folder else None)
    found: list[Command] = []
    if job.text in given:
        found += _of_text(given[job.text], module, state)
    elif job.words in given and (words := words_in(module).of(given[job.words])) and words[0].text:
        found.append(Command(tuple(words), state.view(), state.directory, words[0].start, words[-1].end))
    elif job.script in given and isinstance(module.value(given[job.script]), str):
        script = words_in(module).word(given[job.script])
        words = [Word("python", "python", script.start, script.start), script]
        words += _arguments(given.get(job.arguments), module) if job.arguments else []
        words += _flags(given.get(job.flags), module) if job.flags else []
        found.append(Command(tuple(words), state.view(), state.directory, script.start, max(w.end for w in words)))
    for command in found:
        command.exec_form = command.exec_form or job.text not in given
        command.outer = (*_ELSEWHERE, *command.outer)
        yield command


def _arguments(node: ast.expr | None, module: PythonModule) -> list[Word]:
    return [] if node is None else words_in(module).of(node) or [words_in(module).hole(node, True)]


def _flags(node: ast.expr | None, module: PythonModule) -> list[Word]:
    """The flags of a dictionary, each with its value."""
    if node is None:
        return []
    reader = words_in(module)
    pairs = reader.pairs(node)
    if pairs is None:
        return [reader.hole(node, True)]
    found: list[Word] = []
    for pair in pairs:
        if len(pair.key) == 1:
            found += [reader.at(pair.place, f"--{pair.key[0][1]}"), reader.word(pair.value, pair.env)]
        else:
            found.append(reader.hole(pair.value, True))
    return found


def _started(call: ast.Call, by_shell: bool, sets_variables: bool, module: PythonModule) -> Iterator[Command]:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    state = State()
    if "env" in given or None in given or sets_variables:
        for name in _DECIDING:
            state.set(name, Word(None, "", 0, 0), True)
    if "cwd" in given:
        state.change_directory(None)
    if by_shell or module.value(given.get("shell")) is True:
        yield from _of_text(call.args[0], module, state)
    elif (words := words_in(module).of(call.args[0])) and words[0].text:
        command = Command(tuple(words), state.view(), state.directory, words[0].start, words[-1].end)
        command.exec_form = True
        yield command


def _of_text(node: ast.expr, module: PythonModule, state: State) -> Iterator[Command]:
    """The commands of a string that a shell gets."""
    node = words_in(module).made(node)
    inner = _inner(node, module)
    if inner is None:
        return
    start, end = inner
    text = module.text
    script = Pieces()
    position = start
    for match in _FILLED.finditer(text, start, end) if isinstance(node, ast.JoinedStr) else ():
        script.copy(text, position, match.start())
        script.put(HOLE, match.start(), match.end())
        position = match.end()
    script.copy(text, position, end)
    yield from read_commands(script.text, script, state, original=text)


def _inner(node: ast.expr, module: PythonModule) -> tuple[int, int] | None:
    """Where the text of a string stands that is written as it is; None for all else."""
    if not isinstance(node, ast.JoinedStr) and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return None
    start, end = module.span(node)
    opening = _QUOTED.match(module.text, start, end)
    if opening is None or not module.text.endswith(opening[1], start, end):
        return None
    start, end = opening.end(), end - len(opening[1])
    text = module.text[start:end]
    if isinstance(node, ast.Constant):
        return (start, end) if text.replace("\\\n", "") == node.value else None
    plain = "\\" not in text.replace("\\\n", "") and "{{" not in text and "}}" not in text and opening[1] not in text
    return (start, end) if plain else None
