"""The commands that Python files start: `subprocess.run([…])` and its kin, `os.system("…")`, and the jobs of clusters.

What is written out is known, and what the code makes of it (`python_words`). A list that the module changes otherwise
than at its end is not read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from trl_lint.knowledge.wrappers import Call, calls
from trl_lint.memos import per_module
from trl_lint.project.pins import JOB
from trl_lint.project.python_words import words_in
from trl_lint.python.module import PythonModule
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


_ELSEWHERE = (Word("docker", "docker", 0, 0), Word("run", "run", 0, 0), Word("job", "job", 0, 0))
# What sets the variables of the processes itself.
_RANKS = ("distribution", "distributed", "distributed_job_config")
_QUOTED = regex(r"[rRuUfFbB]*(\"\"\"|'''|\"|')")
_FILLED = regex(r"\{[^{}]*\}")
# They decide how many processes there are and what they see: a caller that gives an environment may set them.
_DECIDING = ("WORLD_SIZE", "CUDA_VISIBLE_DEVICES")


def started_commands(source: Source) -> list[Command]:
    """The commands that the calls of a Python text start, in its order; none where it cannot be parsed."""
    return [command for _, command in commands_of_calls(source)]


def commands_of_calls(source: Source) -> list[tuple[str, Command]]:
    """As `started_commands`, each with the environment that it is for: "" for that of the file itself.

    What is installed into an image, or for a job, is a command of pip.
    """
    try:
        module = PythonModule(source)
    except (SourceError, RecursionError):
        return []
    found = list(_commands_in(module))
    module.release()
    return found


def _commands_in(module: PythonModule) -> Iterator[tuple[str, Command]]:
    sets_variables = "environ" in module.text
    for call in module.calls:
        origins = module.names.origins(call.func)
        if origins & (_SUBPROCESS | _SHELLS) and call.args:
            yield from (("", each) for each in _started(call, bool(origins & _SHELLS), sets_variables, module))
        elif (row := _row_of(call, origins, module)) is not None:
            environment = _environment_of(call, row, module)
            yield from ((environment, each) for each in _of_row(call, row, module))
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "submit" and len(call.args) > 1:
            # `executor.submit(subprocess.run, [...])`
            inner = module.names.origins(call.args[0])
            if inner & (_SUBPROCESS | _SHELLS):
                handed = ast.copy_location(ast.Call(call.args[0], call.args[1:], call.keywords), call)
                yield from (("", each) for each in _started(handed, bool(inner & _SHELLS), True, module))


def _row_of(call: ast.Call, origins: AbstractSet[str], module: PythonModule) -> Call | None:
    named = next((calls()[name][0] for name in origins if name in calls()), None)
    if named is None and isinstance(call.func, ast.Attribute):
        rows = calls().get(f".{call.func.attr}", ())
        return next((row for row in rows if not row.imports or row.imports & _imported(module)), None)
    return named


@per_module
def _imported(module: PythonModule) -> frozenset[str]:
    """The packages that a file imports."""
    found: set[str] = set()
    for node in module.imports:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        found.update(name.partition(".")[0] for name in names)
    return frozenset(found)


def _environment_of(call: ast.Call, row: Call, module: PythonModule) -> str:
    """What a call installs into: an image by the name that it is given, the job of a script by what is called."""
    if not row.elsewhere:
        return ""
    if row.script:
        return f"{JOB}{row.name[0]}"
    statement = module.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return target.id if isinstance(target, ast.Name) else row.name[0]


def _of_row(call: ast.Call, row: Call, module: PythonModule) -> Iterator[Command]:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    if row.first and call.args:
        given.setdefault(row.first, call.args[0])
    state = State()
    ranks = ("WORLD_SIZE",) if any(name in given for name in _RANKS) else ()
    for name in (*_DECIDING, *ranks):
        state.set(name, Word(None, "", 0, 0), True)
    folder = module.value(given[row.directory]) if row.directory in given else ""
    is_folder = isinstance(folder, str) and not folder.startswith("/") and "://" not in folder
    state.change_directory(str(folder).rstrip("/").removeprefix("./").removesuffix(".") if is_folder else None)
    found: list[Command] = []
    reader = words_in(module)
    if words := _installed(call, given, row, module):
        place = reader.at(call, "pip")
        words = [place, place._replace(text="install"), *words]
        found.append(Command(tuple(words), state.view(), state.directory, place.start, place.end))
    for node in call.args if row.text == "*" else [given[row.text]] if row.text in given else []:
        found += _of_text(node, module, state)
    words = []
    if row.words == "*" and call.args:
        words = reader.of(_listed(call.args, call))
    elif row.words in given:
        words = reader.of(given[row.words])
    elif row.script in given and isinstance(module.value(given[row.script]), str):
        script = reader.word(given[row.script])
        words = [Word("python", "python", script.start, script.start), script]
        words += _arguments(given.get(row.arguments), module) if row.arguments else []
        words += _flags(given.get(row.flags), module) if row.flags else []
    if words and words[0].text:
        end = max(word.end for word in words)
        found.append(Command(tuple(words), state.view(), state.directory, words[0].start, end))
    for command in found:
        command.exec_form = command.exec_form or not row.text
        if row.elsewhere:
            command.outer = (*_ELSEWHERE, *command.outer)
        yield command


def _listed(nodes: list[ast.expr], call: ast.Call) -> ast.List:
    return ast.copy_location(ast.List(nodes, ast.Load()), call)


def _installed(call: ast.Call, given: dict[str, ast.expr], row: Call, module: PythonModule) -> list[Word]:
    """What a call names as requirements, in the words of pip."""
    found: list[Word] = []
    reader = words_in(module)
    for node in _given(call, given, row.packages, module):
        if isinstance(node, ast.Starred) or ("*" in row.packages and isinstance(module.value(node), str)):
            found += reader.of(_listed([node], call))
        elif not isinstance(module.value(node), str):
            found += reader.of(node)
    for node in _given(call, given, row.requirements, module):
        if isinstance(module.value(node), str):
            found += [reader.at(node, "-r"), reader.word(node)]
    for name, package in row.releases.items():
        release = module.value(given[name]) if name in given else None
        if isinstance(release, str) and release[:1].isdigit():
            among = ".*" if release.count(".") == 1 else ""  # the newest of them that there is an image of
            found.append(reader.at(given[name], f"{package}=={release}{among}"))
    options = module.value(given[row.options]) if found and row.options in given else None
    if isinstance(options, str):
        found += [reader.at(given[row.options], text) for text in options.split()]
    return found


def _given(
    call: ast.Call, given: dict[str, ast.expr], names: tuple[str, ...], module: PythonModule
) -> Iterator[ast.expr]:
    """The values of arguments, and of keys of one that is a dictionary or is made by a call."""
    for name in names:
        if name == "*":
            yield from call.args
            continue
        first, *keys = name.split(".")
        node = given.get(first)
        for key in keys:
            node = _under(words_in(module).made(node), key, module) if node is not None else None
        if node is not None:
            yield words_in(module).made(node)


def _under(node: ast.expr, key: str, module: PythonModule) -> ast.expr | None:
    """What stands under a key of a dictionary, or what a call gets by that name."""
    if isinstance(node, ast.Call):
        return next((keyword.value for keyword in node.keywords if keyword.arg == key), None)
    pairs = zip(node.keys, node.values, strict=True) if isinstance(node, ast.Dict) else ()
    return next((value for name, value in pairs if name is not None and module.value(name) == key), None)


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
