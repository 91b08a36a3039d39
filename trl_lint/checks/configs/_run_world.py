"""The values of a run as the config class or the trainer gets them: what conditions of releases are read with."""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from trl_lint.checks.configs._trainer_contradictions import reader
from trl_lint.knowledge.api import OPEN, Signature, resolve, signature
from trl_lint.knowledge.condition_language import UNKNOWN
from trl_lint.knowledge.condition_things import Thing
from trl_lint.knowledge.contradictions import old_names, old_names_taken
from trl_lint.knowledge.signatures import Parameter
from trl_lint.knowledge.trainer_arguments import positions_of
from trl_lint.memos import per_module
from trl_lint.missing import ABSENT, Missing
from trl_lint.project import Project
from trl_lint.project.modules import known_file
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.run.effective import Setting, as_bool, as_number, of_default, without_reason
from trl_lint.run.readers.classes import default_text
from trl_lint.sources import SourceError
from trl_lint.sources.nodes import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from trl_lint.checks.configs._conditions import Read
    from trl_lint.checks.configs._trainer_given import Given, Value
    from trl_lint.knowledge.loaders import Loader
    from trl_lint.run.runs import Run
from trl_lint.run.sharding import zero_stage

# Whoever trains with these has them: without torch or accelerate there are no training arguments.
_NEEDED = frozenset({"torch", "accelerate", "transformers"})
_NO_VALUE = frozenset({"none", "null", ""})
# Fields that are None by default and whose annotation is a number (`float | None`) in every release that has them: a
# parser makes a number of a text. Read in transformers/training_args.py 4.40.2 to 5.23.0 and trl/trainer/*_config.py.
_NUMBERS = frozenset(
    {"eval_steps", "save_total_limit", "dataloader_prefetch_factor", "generation_batch_size", "steps_per_generation"}
)


# What fields of a run come to, by all that may differ between releases: the default and the old names.
Values = dict[tuple[str, object, tuple[tuple[str, bool], ...]], object]


class RunWorld:
    """A world (`trl_lint.knowledge.condition_language`) for one run and the releases of its packages.

    `config` is the class whose fields are asked for, `given` what the trainer gets that says something. `values` are
    shared by worlds that differ in the releases alone.
    """

    def __init__(
        self,
        run: Run,
        config: str,
        versions: dict[str, str],
        given: Given | None = None,
        values: Values | None = None,
    ) -> None:
        self.run = run
        self.config = config
        self.versions = versions
        self.given = given
        self._values: Values = {} if values is None else values
        self._known: dict[str, object] = {}
        self._arguments: dict[str, object] = {}

    @cached_property
    def _read(self) -> Read:
        return reader(self.run, self.versions, with_defaults=False)

    @cached_property
    def _changed(self) -> frozenset[str]:
        return frozenset(self.run.script.changed) if self.run.script is not None else frozenset()

    @cached_property
    def _signature(self) -> Signature | None:
        """What the class takes, None if that is not known."""
        if self.config == self.run.arguments_class:
            return self.run.signature(self.versions)
        return _signature(self.config, tuple(self.versions.items()))

    def setting(self, name: str) -> Setting | Missing:
        """What a field is and who said so."""
        said = self._read(name)
        if said is not ABSENT:
            return said
        is_open = self.run.is_partial and not self.is_old_name(name)
        return Missing.UNKNOWN if is_open else self._default_of(name)

    def is_old_name(self, name: str) -> bool:
        """Whether a field is deprecated: who wrote another one does not set this one as well."""
        found = self._signature.parameters.get(name) if self._signature is not None else None
        return found is not None and found.deprecated

    def is_doubtful(self, name: str) -> bool:
        """Whether the class may get another value than the run ends up with: the script assigns to it afterwards."""
        return name in self._changed

    def field(self, name: str) -> object:
        if name not in self._known:
            default = default_text(self._signature, name)
            key = name, default, old_names(name, self.versions.get("transformers", ""))
            if key not in self._values:
                self._values[key] = self._value_of(name)
            self._known[name] = self._values[key]
        return self._known[name]

    def _value_of(self, name: str) -> object:
        if self.is_doubtful(name):
            return UNKNOWN
        said = self.setting(name)
        if not isinstance(said, Setting):
            return UNKNOWN
        return self._typed(name, said) if said.is_known else self._structured(name, said)

    def _typed(self, name: str, said: Setting) -> object:
        """The value as the parser hands it on: text from a command line or a file gets the type of the field."""
        value = said.value
        if isinstance(value, bool) and isinstance(self.default(name), str):
            return value if said.origin == "script" or self._keeps_truth(name, said) else UNKNOWN
        if not isinstance(value, str) or said.origin in ("script", "default"):
            return value
        from trl_lint.sources.placeholders import is_blank

        if is_blank(value, name) or value.lower() in _NO_VALUE:
            return UNKNOWN
        kind = self.default(name)
        if isinstance(kind, bool):
            truth = as_bool(value)
            return UNKNOWN if truth is None else truth
        if isinstance(kind, str):
            return value
        number = as_number(value)
        if said.origin == "recipe" and any(row.filling in ("fields", "attributes") for row in self._way):
            return UNKNOWN  # it stays a text, which is a trap of its own
        if number is not None:
            # The type of a field without default is not recorded: the text may stay a text.
            return number if isinstance(kind, (int, float)) or name in _NUMBERS else UNKNOWN
        return UNKNOWN if isinstance(kind, (int, float)) or as_bool(value) is not None else value

    def _keeps_truth(self, name: str, said: Setting) -> bool:
        """Whether a truth in the recipe gets as such into a field for texts, and TRL405 does not tell of it."""
        from trl_lint.checks.configs._scalar_traps import STRATEGY_FIELDS, is_negative_word

        recipe = self.run.recipe
        node = recipe.root.get(name) if recipe is not None and isinstance(recipe.root, Mapping) else None
        if said.origin != "recipe" or (name in STRATEGY_FIELDS and is_negative_word(node)):
            return False
        return bool(self._way) and all(row.filling in ("argparse", "fields") for row in self._way)

    @cached_property
    def _way(self) -> tuple[Loader, ...]:
        """Who loads the recipe."""
        from trl_lint.run.loaders import loader_of

        recipe = self.run.recipe
        return loader_of(recipe, self.run.project, self.run) if recipe is not None else ()

    def _structured(self, name: str, said: Setting) -> object:
        """A list or a dict that the script or the recipe writes out."""
        script, recipe = self.run.script, self.run.recipe
        if said.origin == "script" and script is not None and script.call is not None:
            node = argument(script.call, name)
            # What a name stands for may have been changed after it was made.
            value = script.module.value(node) if isinstance(node, (ast.List, ast.Tuple, ast.Dict)) else UNKNOWN
            return value if isinstance(value, (list, tuple, dict)) else UNKNOWN
        if said.origin == "recipe" and recipe is not None and isinstance(recipe.root, Mapping):
            entry = recipe.root.entry(name)
            return _plain(entry.value) if entry is not None else UNKNOWN
        return UNKNOWN

    def default(self, name: str) -> object:
        """The plain value of a field that nobody sets, None also where it has none."""
        default = self._default_of(name)
        return default.value if isinstance(default, Setting) else None

    def _default_of(self, name: str) -> Setting | Missing:
        if self.config == self.run.arguments_class:
            return without_reason(self.run.config.at(self.versions).default(name))
        found = _signature(self.config, tuple(self.versions.items())).parameters.get(name)
        return of_default(found.default) if found is not None else ABSENT

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        if name not in self._arguments:
            value = self.argument(name)
            self._arguments[name] = UNKNOWN if isinstance(value, Missing) else _worldly(value.value)
        return self._arguments[name]

    def argument(self, name: str) -> Value | Missing:
        """An argument of the trainer: as it is given, or by default, and then at the call."""
        from trl_lint.checks.configs._trainer_given import Value

        given = self.given
        if given is None:
            return Missing.UNKNOWN
        known = _signature(given.trainer, tuple(self.versions.items()))
        parameter = known.parameters.get(name)
        if parameter is None:
            return Missing.UNKNOWN
        names = positions_of(given.trainer, self.versions.get(given.trainer.partition(".")[0], ""))
        found = given.argument(name, names.index(name) if name in names else None)
        if found is not ABSENT:
            return found
        # What has no name, or another one, may stand for it.
        is_clear = given.positional <= len(names) and all(
            _is_plain(known.parameters.get(each)) for each in given.keywords()
        )
        if parameter.required or not is_clear:
            return Missing.UNKNOWN
        default = of_default(parameter.default)
        return Value(default.value, given.location) if isinstance(default, Setting) else Missing.UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "installed" and arguments:
            return arguments[0] in _NEEDED or self._imports(str(arguments[0])) or UNKNOWN
        if name == "version" and arguments:
            return self.versions.get(str(arguments[0]), UNKNOWN)
        if name == "num_processes":
            said = self.run.processes
            if isinstance(said, Setting) and said.integer is not None:
                return said.integer
        if name == "zero3":
            stage = self._stage()
            return stage if stage is UNKNOWN else stage == 3
        if name in ("zero_stage", "deepspeed_plugin"):
            stage = self._stage()
            return stage if name == "zero_stage" or stage is UNKNOWN else Thing(frozenset({"DeepSpeedPlugin"}))
        if name == "is_peft_model" and arguments and isinstance(arguments[0], Thing):
            found = arguments[0].is_instance(["PeftModel"])
            return UNKNOWN if found is None else found
        return UNKNOWN

    def _imports(self, package: str) -> bool:
        """Whether the script certainly imports a package: at its top, or at that of a module of the project there."""
        script = self.run.script
        return script is not None and imports_at_top(script.module, package, self.run.project)

    def _stage(self) -> object:
        """The stage of ZeRO, as the DeepSpeed or accelerate config of the run says."""
        said, backend = zero_stage(self.run), self._read("backend")
        if not isinstance(said, Setting) or not isinstance(backend, Setting) or backend.value != "DEEPSPEED":
            return UNKNOWN
        return UNKNOWN if said.integer is None else said.integer


def all_that_differs(config: str, trainer: str, versions: dict[str, str]) -> tuple[object, ...]:
    """All that the answers of worlds of one run may differ by between releases, but for the releases themselves.

    `config` and `trainer` are dotted classes, `trainer` "" where there is none. Equal answers for equal results.
    """
    key = tuple(versions.items())
    package = trainer.partition(".")[0]
    of_trainer = (id(_signature(trainer, key)), positions_of(trainer, versions.get(package, ""))) if trainer else ()
    return id(_signature(config, key)), old_names_taken(versions.get("transformers", "")), of_trainer


@per_module
def imports_at_top(module: PythonModule, package: str, project: Project) -> bool:
    """Whether a module, or one of the project that it imports, imports a package where nothing catches an error."""
    if package in _imported_at_top(module):
        return True
    for node in module.tree.body:
        for dotted in _dotted(node):
            path = known_file(dotted, module.path, project)
            with suppress(OSError, SourceError):
                if path is None or path == module.path or not project.files.holds(path, package.encode()):
                    continue
                if package in _imported_at_top(project.module_in(path)):
                    return True
    return False


def _dotted(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return ["." * node.level + (node.module or "")] if isinstance(node, ast.ImportFrom) else []


@per_module
def _imported_at_top(module: PythonModule) -> frozenset[str]:
    """The packages that a module imports at its top, for all its runs."""
    return frozenset(name for node in module.tree.body for name in _imported(node))


def _imported(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return [(node.module or "").partition(".")[0]] if isinstance(node, ast.ImportFrom) and not node.level else []


@lru_cache(maxsize=1024)
def _signature(dotted: str, versions: tuple[tuple[str, str], ...]) -> Signature:
    found = resolve(dotted, dict(versions))
    return signature(found, dict(versions)) if isinstance(found, str) and not found.endswith(":") else OPEN


def _is_plain(parameter: Parameter | None) -> bool:
    """Whether an argument is known to a release, and stands for no other one."""
    return parameter is not None and not parameter.deprecated


def _plain(node: object) -> object:
    """A list or mapping of a file as a list or dict; UNKNOWN where something in it is filled in later."""
    if isinstance(node, Scalar):
        return UNKNOWN if node.tag or "${" in str(node.value) else node.value
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return UNKNOWN


def _worldly(value: object) -> object:
    """A value in the words of conditions: what is not known is UNKNOWN there, too, wherever it stands."""
    if isinstance(value, Missing):
        return UNKNOWN
    if isinstance(value, (list, tuple)):
        return type(value)(map(_worldly, value))
    return value
