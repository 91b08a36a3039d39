"""Values in accelerate configs that the launcher or the plugin it feeds does not take."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks.configs._accelerate import AccelerateFile, read_accelerate
from trl_lint.checks.configs._problems import Problem, entries, is_known, is_to_be_filled_in, never, outside, takes
from trl_lint.knowledge.configs import ValueRow, is_allowed, value_rows
from trl_lint.project.documents import Document
from trl_lint.sources.nodes import Entry, Scalar, value_of
from trl_lint.sources.placeholders import is_blank


def refused_values(document: Document) -> Iterator[Problem]:
    """Values outside of what a key takes, and keys without which the file is not accepted."""
    file = read_accelerate(document)
    if file is None:
        return
    yield from _environment(file)
    for row in value_rows("accelerate"):
        entry = file.entry(row.key)
        if entry is None or not isinstance(entry.value, Scalar) or is_to_be_filled_in(row, entry.value):
            continue
        if is_known(entry.value) and file.reads(row.when):
            yield _refused(row, entry, file)
    yield from _missing(file)


def _refused(row: ValueRow, entry: Entry, file: AccelerateFile) -> Problem:
    value = value_of(entry.value)
    name = entry.key.value
    raw = entry.value.raw if isinstance(entry.value, Scalar) else ""
    message = f"`{name}` cannot be `{raw}`: {takes(row)}; accelerate stops ({row.raises})"
    option = row.key.rpartition(".")[2]
    options = file.replacing() if option == "distributed_type" else file.replacing(option)
    if option == "distributed_type":
        options = ()  # the file is refused before an option could replace it
    return Problem(entry, message, "accelerate", lambda version: is_allowed(row, value, version), options=options)


def _environment(file: AccelerateFile) -> Iterator[Problem]:
    """Everything that is not LOCAL_MACHINE is read as a config of SageMaker, whose keys are others."""
    entry = file.entry("compute_environment")
    value = file.text("compute_environment")
    if entry is None or value is None or is_blank(value, "compute_environment"):
        return
    if value not in ("LOCAL_MACHINE", "None"):
        message = (
            f"`compute_environment` cannot be `{value}`: use LOCAL_MACHINE; with every other word accelerate reads the "
            "file as one of SageMaker's"
        )
        yield Problem(entry, message, "accelerate", never)


def _missing(file: AccelerateFile) -> Iterator[Problem]:
    first = next((entry for _, entry in entries(file.root)), None)
    if first is None:
        return
    if file.root.get("distributed_type") is None:
        message = "`distributed_type` is missing, and accelerate accepts no config without it"
        yield Problem(first, message, "accelerate", never)
    kind = file.entry("distributed_type")
    if kind is None or file.entry("num_processes") is not None or file.backend is None:
        return
    message = "`num_processes` is missing, and accelerate accepts no config without it"
    yield Problem(kind, message, "accelerate", outside("<0.34.0"))
    if value_of(kind.value) != "NO":  # an unquoted NO is False, and no reason to assume one process
        message = "`num_processes` is missing, and accelerate launch asks for it with this `distributed_type`"
        options = ("num_processes",)
        yield Problem(kind, message, "accelerate", outside(">=0.34.0"), options=options, needs_launch=True)
