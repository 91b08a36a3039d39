"""TRL753: a flag of the command line that cannot do what it is for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from trl_lint.checks._runs import runs_of
from trl_lint.checks.rule import Rule
from trl_lint.checks.verdict import Level, judge
from trl_lint.finding import Finding, Location, Severity
from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.presence import parameters_ever, points_of_parameter
from trl_lint.memos import per_module, per_project
from trl_lint.missing import Missing
from trl_lint.project import Project
from trl_lint.project.modules import imported_name
from trl_lint.python.guards import bindings, functions_named, key_of, last_name
from trl_lint.python.module import PythonModule, mentions
from trl_lint.python.values import literal
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.parsers import Fields, dataclass_types, fields_of
from trl_lint.run.readers.own_argparse import OwnParser, arguments_of_launch, parser_of_launch
from trl_lint.run.runs import Run
from trl_lint.run.trainer import runs_of_script
from trl_lint.sources import SourceError

# Types that take any text: `bool("False")` is true, and a text is a list of its characters.
_TAKING = {"bool": "every text but the empty one is True", "list": "a text becomes the list of its characters"}
_NO = frozenset({"false", "0", "no", "off", "f", "n", "none"})
_PARSERS = frozenset({"transformers.HfArgumentParser", "trl.TrlParser"})
# Scripts that have to do with training; of others, only those are told of that a command gets wrong.
_TRAINS = regex(
    r"(?m)^[ \t]{0,40}(?:from|import) (?:torch|transformers|trl|peft|accelerate|datasets|deepspeed|unsloth|vllm|ray)\b"
)
# What launchers give by themselves.
_OF_LAUNCHERS = frozenset({"local_rank", "local-rank", "node_rank"})
_NAME = regex(rb"[A-Za-z_][A-Za-z0-9_]*")
# What may read any field.
_ANY = (b"vars(", b"__dict__", b"getattr(", b"asdict(", b"_get_kwargs")


class FlagThatDoesNotWork(Rule):
    code = "TRL753"
    imports = ("argparse", "transformers", "trl")
    needles = (b"type=bool", b"type=list", b"HfArgumentParser(", b"TrlParser(")
    skips_tests = True
    runs = True
    launched = True

    def check_module(self, module: PythonModule, project: Project) -> Iterator[Finding]:
        for call in module.calls:
            name = last_name(call.func)
            if name == "add_argument":
                yield from self._typed(call, module, project)
            elif name in ("HfArgumentParser", "TrlParser"):
                yield from self._twice(call, module, project)

    def check_run(self, run: Run) -> Iterator[Finding]:
        """Flags that a command gives and nothing reads."""
        parser = parser_of_launch(run.launch, run.project) if not run.launch.is_documentation else None
        if not isinstance(parser, OwnParser) or parser.location.path != run.launch.script_path:
            return  # what several programs share, another one may read
        declaring = parser.location.path
        unread = _unread(frozenset(parser.fields), declaring, run.project)
        if len(unread) == len(parser.fields):
            return  # it is read in a way that is not seen
        arguments = arguments_of_launch(run.launch, parser)
        source = run.launch.source
        for field in sorted(_given(run, parser)):
            given = [name for name in parser.fields[field] if name in arguments.words]
            if field in _OF_LAUNCHERS or field not in unread:
                continue
            if any(field in _given(one, parser) for one in _earlier(run)):
                continue
            word = arguments.words[given[0]]
            module = run.project.module_in(declaring)
            declared = _declared(module).get(given[0])
            place = module.location(declared) if declared else parser.location
            yield self.finding(
                place,
                f"nothing reads `{given[0]}`: no file of the project takes `{field}` of what the parser gives, and the "
                "value of the command changes nothing; hand it on to what it is for, or take the flag away",
                related=(source.location(word.start, word.end)._replace(message="given here"),),
            )

    # -- types ------------------------------------------------------------------------------------------------------

    def _typed(self, call: ast.Call, module: PythonModule, project: Project) -> Iterator[Finding]:
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        kind = given.get("type")
        flags = [one for one in map(literal, call.args) if isinstance(one, str) and one.startswith("--")]
        if not isinstance(kind, ast.Name) or kind.id not in _TAKING or not flags or "action" in given:
            return
        if module.names.is_imported(kind.id) or kind.id in bindings(module) or "nargs" in given:
            return
        said = [
            (launch.source.location(word.start, word.end), launch.is_documentation)
            for launch in runs_of(module.path, project)
            for flag in flags
            if not isinstance(word := launch.flag(flag), Missing)
            and (kind.id == "list" or (word.text or "").lower() in _NO)
        ]
        if not said and not mentions(module, _TRAINS):
            return
        default = literal(given["default"]) if "default" in given else None
        is_useless = kind.id == "list" or default is True
        told = f"`type={kind.id}`: {_TAKING[kind.id]}"
        if kind.id == "bool":
            told += f", so that `{flags[0]} False` switches it on" + (" and nothing off" if default is True else "")
            told += "; use `action=argparse.BooleanOptionalAction`, or a function that reads the word"
        else:
            told += '; use `nargs="+"`, or a function that splits it'
        yield self.finding(
            module.location(kind),
            told,
            severity="error" if any(not shown for _, shown in said) else "warning" if is_useless or said else "info",
            related=tuple(place._replace(message="given here") for place, _ in said[:2]),
        )

    # -- fields -----------------------------------------------------------------------------------------------------

    def _twice(self, call: ast.Call, module: PythonModule, project: Project) -> Iterator[Finding]:
        origins = module.names.origins(call.func)
        if not origins or not origins <= _PARSERS or any(one.arg == "conflict_handler" for one in call.keywords):
            return
        items = dataclass_types(call, module) or []
        read = [(key_of(item), fields) for item in items if (fields := fields_of(item, module, project)) is not None]
        told: set[str] = set()
        for at, (name, fields) in enumerate(read):
            for other, others in read[at + 1 :]:
                for shared in _shared(fields, others):
                    if shared.name not in told:
                        told.add(shared.name)
                        yield from self._conflict(call, module, project, (name, other), shared)

    def _conflict(
        self, call: ast.Call, module: PythonModule, project: Project, names: tuple[str, str], shared: _Shared
    ) -> Iterator[Finding]:
        environment = project.environment(module.path)
        severity: Severity = "error"
        scope = ""
        related: tuple[Location, ...] = ()
        for dotted in shared.classes:

            def is_fine(versions: dict[str, str], dotted: str = dotted) -> bool | None:
                found = resolve(dotted, versions)
                known = signature(found, versions) if isinstance(found, str) else None
                return None if known is None else shared.name not in known.parameters

            points = points_of_parameter(dotted, shared.name)
            verdict = judge(environment.choices, points, is_fine, Level("error"), dotted.partition(".")[0])
            if verdict is None:
                return
            severity, scope, related = verdict.severity, f" ({verdict.scope})", verdict.related
        here = module.location(call)
        yield self.finding(
            shared.place or here,
            f"`{names[0]}` and `{names[1]}` both have `{shared.name}`, and one parser gets them: it stops before it "
            f"reads anything (argparse.ArgumentError: conflicting option string); name one of them otherwise{scope}",
            severity=severity,
            related=((here._replace(message="the parser"),) if shared.place else ()) + related,
        )


class _Shared(NamedTuple):
    """A field of two classes: where the project declares it, and the classes of libraries that must have it."""

    name: str
    place: Location | None
    classes: tuple[str, ...]


def _shared(one: Fields, other: Fields) -> Iterator[_Shared]:
    for name in one.own.keys() & other.own.keys():
        yield _Shared(name, other.own[name].location, ())
    for mine, theirs in ((one, other), (other, one)):
        for dotted in theirs.bases:
            for name in sorted((mine.own.keys() - theirs.own.keys()) & parameters_ever(dotted)):
                yield _Shared(name, mine.own[name].location, (dotted,))
    for first in one.bases:
        for second in other.bases:
            for name in sorted(parameters_ever(first) & parameters_ever(second)):
                yield _Shared(name, None, (first, second))


# -- reads -------------------------------------------------------------------------------------------------------------


def _given(run: Run, parser: OwnParser) -> set[str]:
    """The fields that the command of a run fills."""
    words = arguments_of_launch(run.launch, parser).words
    return {field for field, names in parser.fields.items() if any(name in words for name in names)}


def _earlier(run: Run) -> Iterator[Run]:
    """The runs of the same script before this one: what they give was told of there."""
    for one in runs_of_script(run.launch.script_path or "", run.project):
        if one is run:
            return
        if not one.launch.is_documentation:
            yield one


@per_module
def _declared(module: PythonModule) -> dict[str, ast.Call]:
    calls = (call for call in module.calls if last_name(call.func) == "add_argument")
    return {name: call for call in calls for name in map(literal, call.args) if isinstance(name, str)}


@per_project
def _unread(fields: frozenset[str], declaring: str, project: Project) -> frozenset[str]:
    """The fields of what a parser gives, declared in a file, that no file of the project can take."""
    with suppress(OSError, SourceError):
        module = project.module_in(declaring)
        if _takes_all(module, project):
            return frozenset()
        left = {field for field in fields - _words(module) if field.isascii()}
        for path in project.paths if left else ():
            if path == declaring or not path.endswith((".py", ".ipynb")):
                continue
            if project.files.holds(path, *_ANY):
                return frozenset()
            words = set(map(bytes.decode, _NAME.findall(project.files.get(path).data)))
            left -= words
            if path.endswith(".ipynb"):  # where a line may begin with the `n` of `\n`
                left -= {word[1:] for word in words}
        return frozenset(left)
    return frozenset()


def _takes_all(module: PythonModule, project: Project) -> bool:
    """Whether a module may take any field: of all at once, or in a function of a library that gets all."""
    if any(one.decode() in module.text for one in _ANY):
        return True
    parsed = {name for name, values in bindings(module).items() if any(map(_is_parse, values))}
    for name in parsed:
        for use in module.named(name):
            parent = module.parents.get(use)
            if isinstance(parent, ast.keyword) and parent.arg is None:
                return True
            call = module.parents.get(parent) if isinstance(parent, ast.keyword) else parent
            if isinstance(call, ast.Call) and not _is_harmless(call, module, project):
                return True
    return False


@per_module
def _words(module: PythonModule) -> frozenset[str]:
    """The attributes of a module, and its texts but for those by which flags are declared."""
    declared = set(_declared(module).values())
    texts = {
        node.value
        for node in module.of(ast.Constant)
        if isinstance(node.value, str) and declared.isdisjoint(module.ancestors(node))
    }
    return frozenset(texts | {node.attr for node in module.of(ast.Attribute)})


def _is_parse(value: ast.expr) -> bool:
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Call) and last_name(value.func) in ("parse_args", "parse_known_args")


def _is_harmless(call: ast.Call, module: PythonModule, project: Project) -> bool:
    """Whether a call prints what it gets, or is of a function of the project, whose file is searched by itself."""
    if last_name(call.func) in ("print", "info", "debug", "warning"):
        return True
    if isinstance(call.func, ast.Name) and len(functions_named(module, call.func.id)) == 1:
        return True
    return imported_name(module, call.func, project) is not None


rule = FlagThatDoesNotWork()
