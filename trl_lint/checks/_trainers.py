"""Which trainer a run trains with: what a trainer of a library refuses, one of the project's own may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trl_lint.project.runs import Run


def uses_trainer(run: Run, dotted: str) -> bool:
    """Whether the run certainly builds a trainer of the library ("" stands for any), and not only one of its own."""
    if not dotted or (run.parser is not None and run.parser.kind == "trl-command"):
        return True
    names = run.script.module.names if run.script is not None else None
    return names is not None and any(
        names.is_certain(call.func) and names.origins(call.func) == {dotted}
        for call in (run.script.module.calls if run.script is not None else ())
    )
