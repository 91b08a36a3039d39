"""The configs that a script builds beside the one of its run: each is judged by itself."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.run.runs import Run
from trl_lint.run.script import Script, scripts_of_configs


class ConfigRun(Run):
    """A run as one config of its script has it: the values that the call gives, with its launch and releases."""

    def __init__(self, run: Run, script: Script) -> None:
        super().__init__(run.launch, run.project)
        self.is_launched = run.is_launched
        self.script, self.parser, self.arguments_class = script, None, script.config
        self.environment = run.environment
        self.candidates = self.guesses = self.rounds = ()


def config_runs(run: Run) -> Iterator[ConfigRun]:
    """A run as each config has it that its script builds, but for the one that is known to be that of the run."""
    path = run.launch.script_path
    if path is None or not path.endswith((".py", ".ipynb")) or run.origin is not None:
        return
    known = run.script.call if run.script is not None else None
    for script in scripts_of_configs(path, run.project):
        if script.call is not known:
            yield ConfigRun(run, script)
