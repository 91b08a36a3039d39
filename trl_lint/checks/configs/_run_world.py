"""The values of a run as the config class gets them: what conditions of releases are read with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.checks.configs._trainer_contradictions import reader
from trl_lint.knowledge.condition_language import UNKNOWN
from trl_lint.project.effective import Setting, as_bool, as_number
from trl_lint.sources.placeholders import is_blank

if TYPE_CHECKING:
    from trl_lint.missing import Missing
    from trl_lint.project.runs import Run

# Whoever trains with these has them: without torch or accelerate there are no training arguments.
_NEEDED = frozenset({"torch", "accelerate", "transformers"})
_NO_VALUE = frozenset({"none", "null", ""})


class RunWorld:
    """A world (`trl_lint.knowledge.condition_language`) for one run and the releases of its packages."""

    def __init__(self, run: Run, config: str, versions: dict[str, str]) -> None:
        self.run = run
        self.config = config
        self.versions = versions
        self._read = reader(run, versions)
        self._changed = frozenset(run.script.changed) if run.script is not None else frozenset()

    def setting(self, name: str) -> Setting | Missing:
        """What a field is and who said so."""
        return self._read(name)

    def is_doubtful(self, name: str) -> bool:
        """Whether the class may get another value than the run ends up with: the script assigns to it afterwards."""
        return name in self._changed

    def field(self, name: str) -> object:
        if self.is_doubtful(name):
            return UNKNOWN
        said = self._read(name)
        if not isinstance(said, Setting) or not said.is_known:
            return UNKNOWN
        return self._typed(name, said)

    def _typed(self, name: str, said: Setting) -> object:
        """The value as the parser hands it on: text from a command line or a file gets the type of the field."""
        value = said.value
        if isinstance(value, bool) and isinstance(self._default(name), str):
            return UNKNOWN  # `no` in YAML is a trap of its own
        if not isinstance(value, str) or said.origin in ("script", "default"):
            return value
        if is_blank(value, name) or value.lower() in _NO_VALUE:
            return UNKNOWN
        kind = self._default(name)
        if isinstance(kind, bool):
            truth = as_bool(value)
            return UNKNOWN if truth is None else truth
        if isinstance(kind, str):
            return value
        number = as_number(value)
        if number is not None:
            # The type of a field without default is not recorded: the text may stay a text.
            return number if isinstance(kind, (int, float)) else UNKNOWN
        return UNKNOWN if isinstance(kind, (int, float)) or as_bool(value) is not None else value

    def _default(self, name: str) -> object:
        default = self.run.default(name, self.versions)
        return default.value if isinstance(default, Setting) else None

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "installed" and arguments and arguments[0] in _NEEDED:
            return True
        if name == "version" and arguments:
            return self.versions.get(str(arguments[0]), UNKNOWN)
        if name == "num_processes":
            said = self.run.processes
            if isinstance(said, Setting) and said.integer is not None:
                return said.integer
        return UNKNOWN
