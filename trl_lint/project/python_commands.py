"""The commands that Python files start: `subprocess.run([…])` and its kin, `os.system("…")`, and the jobs of clusters.

What is written out is known: literal words, names with one literal, the parts around what an f-string fills in, what
is added to a list, and the list that a function returns. Under a test a list may get more words; one that the module
changes otherwise is not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trl_lint.memos import per_module
from trl_lint.python.guards import bindings, functions_named
from trl_lint.python.module import PythonModule, own_nodes
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
_ADDING = frozenset({"append", "extend"})
_DEEP = 8  # lists that are made of lists
_KEEPING = frozenset({"copy", "index", "count"})
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
    found: list[Command] = []
    sets_variables = "environ" in module.text
    for call in module.calls:
        origins = module.names.origins(call.func)
        if origins & (_SUBPROCESS | _SHELLS) and call.args:
            found += _started(call, bool(origins & _SHELLS), sets_variables, module)
        elif (job := _job_of(call, origins)) is not None:
            found += _of_job(call, job, module)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "submit" and len(call.args) > 1:
            # `executor.submit(subprocess.run, [...])`
            inner = module.names.origins(call.args[0])
            if inner & (_SUBPROCESS | _SHELLS):
                handed = ast.copy_location(ast.Call(call.args[0], call.args[1:], call.keywords), call)
                found += _started(handed, bool(inner & _SHELLS), True, module)
    return found


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
    elif job.words in given and (words := _words(given[job.words], module)) and words[0].text:
        found.append(Command(tuple(words), state.view(), state.directory, words[0].start, words[-1].end))
    elif job.script in given and isinstance(module.value(given[job.script]), str):
        script = _word(given[job.script], module)
        words = [Word("python", "python", script.start, script.start), script]
        words += _arguments(given.get(job.arguments), module) if job.arguments else []
        words += _flags(given.get(job.flags), module) if job.flags else []
        found.append(Command(tuple(words), state.view(), state.directory, script.start, max(w.end for w in words)))
    for command in found:
        command.exec_form = command.exec_form or job.text not in given
        command.outer = (*_ELSEWHERE, *command.outer)
        yield command


def _arguments(node: ast.expr | None, module: PythonModule) -> list[Word]:
    return [] if node is None else _words(node, module) or [_hole(node, module, True)]


def _flags(node: ast.expr | None, module: PythonModule) -> list[Word]:
    """The flags of a dictionary, each with its value."""
    if node is None:
        return []
    more = isinstance(node, ast.Name) and node.id in _changes(module)
    node = _only_value(node, module) if not more else _first_value(node, module)
    if not isinstance(node, ast.Dict):
        return [_hole(node, module, True)]
    found: list[Word] = []
    for key, value in zip(node.keys, node.values, strict=True):
        name = module.value(key) if key is not None else None
        if key is None or not isinstance(name, str):
            found.append(_hole(value, module, True))
            continue
        known = module.value(value)
        word = _at(value, str(known), module) if isinstance(known, (str, int, float)) else _hole(value, module, False)
        found += [_at(key, f"--{name}", module), word]
    return [*found, _hole(node, module, True)] if more else found


def _first_value(node: ast.expr, module: PythonModule) -> ast.expr:
    values = bindings(module).get(node.id, []) if isinstance(node, ast.Name) else []
    return values[0] if len(values) == 1 else node


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
    elif (words := _words(call.args[0], module)) and words[0].text:
        command = Command(tuple(words), state.view(), state.directory, words[0].start, words[-1].end)
        command.exec_form = True
        yield command


def _of_text(node: ast.expr, module: PythonModule, state: State) -> Iterator[Command]:
    """The commands of a string that a shell gets."""
    node = _only_value(node, module)
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


def _only_value(node: ast.expr, module: PythonModule) -> ast.expr:
    """What a name is assigned, if that happens once; else the node itself."""
    if isinstance(node, ast.Name):
        values = bindings(module).get(node.id, [])
        if len(values) == 1 and node.id not in _changes(module):
            return values[0]
    return node


def _words(node: ast.expr, module: PythonModule, depth: int = 0) -> list[Word]:
    """The words of a list; empty where they are not known from the first on."""
    if depth > _DEEP:
        return []
    added: list[Word] = []
    if isinstance(node, ast.Name):
        values, changes = bindings(module).get(node.id, []), _changes(module)
        if len(values) != 1 or not changes.get(node.id, True):
            return []
        added = _added(node, values[0], module, depth) if node.id in changes else []
        node = values[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        words = _words(node.left, module, depth + 1)
        return (
            [*words, *(_words(node.right, module, depth + 1) or [_hole(node.right, module, True)]), *added]
            if words
            else []
        )
    if isinstance(node, ast.Call):
        words = _returned(node, module, depth)
        return [*words, *added] if words else []
    if not isinstance(node, (ast.List, ast.Tuple)) or not node.elts:
        return []
    return [*(_word(item, module) for item in node.elts), *added]


def _returned(call: ast.Call, module: PythonModule, depth: int) -> list[Word]:
    """The words of the list that a call gives: `"python train.py".split()`, or a function that returns one list."""
    func = call.func
    text = func.value if isinstance(func, ast.Attribute) and func.attr == "split" and not call.args else None
    if module.names.origins(func) == {"shlex.split"} and len(call.args) == 1:
        text = call.args[0]
    if text is not None:
        value = module.value(text)
        return (
            [_at(text, word, module) for word in value.split()] if isinstance(value, str) and "'" not in value else []
        )
    found = functions_named(module, func.id) if isinstance(func, ast.Name) else []
    if len(found) != 1:
        return []
    returns = [node for node in own_nodes(found[0]) if isinstance(node, ast.Return)]
    given = returns[0].value if len(returns) == 1 else None
    return _words(given, module, depth + 1) if given is not None else []


def _added(name: ast.Name, first: ast.expr, module: PythonModule, depth: int) -> list[Word]:
    """What is added to a list behind its first value, up to where it is used; a hole for what is added under a test."""
    block, use = _block(first, module), module.span(name)[0]
    found: list[Word] = []
    for node in _additions(module).get(name.id, ()):
        start, _ = module.span(node)
        statement = module.statement(node)
        value = node.value if isinstance(node, ast.AugAssign) else node.args[0]
        if statement is None or module.parents.get(statement) is not block or start > use > module.span(first)[0]:
            found.append(_hole(value, module, True))
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            found.append(_word(value, module))
        else:
            found += _words(value, module, depth + 1) or [_hole(value, module, True)]
    return found


def _block(value: ast.expr, module: PythonModule) -> ast.AST | None:
    """The function, loop, branch or file in which a name gets a value."""
    statement = module.statement(value)
    return module.parents.get(statement) if statement is not None else None


@per_module
def _additions(module: PythonModule) -> dict[str, list[ast.AugAssign | ast.Call]]:
    """What is added to the lists of a module, by their names, in the order of the text."""
    found: dict[str, list[ast.AugAssign | ast.Call]] = {}
    for change in module.of(ast.AugAssign):
        if isinstance(change.target, ast.Name):
            found.setdefault(change.target.id, []).append(change)
    for call in module.calls:
        func = call.func
        if isinstance(func, ast.Attribute) and func.attr in _ADDING and isinstance(func.value, ast.Name) and call.args:
            found.setdefault(func.value.id, []).append(call)
    return {name: sorted(nodes, key=lambda node: module.span(node)[0]) for name, nodes in found.items()}


@per_module
def _changes(module: PythonModule) -> dict[str, bool]:
    """The names whose lists a module changes: whether all that it does is to add to the end."""
    found: dict[str, bool] = {}
    for node in module.of(ast.AugAssign):
        if isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, True)
    for used in module.of(ast.Attribute):
        if isinstance(used.value, ast.Name) and used.attr not in _KEEPING:
            found[used.value.id] = found.get(used.value.id, True) and used.attr in _ADDING
    for item in module.of(ast.Subscript):
        if isinstance(item.value, ast.Name) and not isinstance(item.ctx, ast.Load):
            found[item.value.id] = False
    return found


def _word(node: ast.expr, module: PythonModule) -> Word:
    if "sys.executable" in module.names.origins(node):
        return _at(node, "python", module)
    value = module.value(node)
    if isinstance(value, str):
        return _at(node, value, module)
    return _hole(node, module, isinstance(node, ast.Starred))


def _at(node: ast.expr, text: str, module: PythonModule) -> Word:
    start, end = module.span(node)
    return Word(text, module.text[start:end], start, end)


def _hole(node: ast.expr, module: PythonModule, several: bool) -> Word:
    """A word that is not known; of an f-string, the key in front is. What the file itself was given is `"$@"`."""
    start, end = module.span(node)
    if isinstance(node, ast.Starred) and ast.unparse(node.value).startswith("sys.argv"):
        return Word(None, '"$@"', start, end, several)
    opening = _QUOTED.match(module.text, start, end) if isinstance(node, ast.JoinedStr) else None
    if opening is not None:
        start = opening.start(1)
    return Word(None, module.text[start:end], start, end, several)
