"""A DeepSpeed config with "auto" for a batch size that goes to `deepspeed.initialize` as it is.

"auto" is a word of transformers and accelerate, which put numbers in its place before DeepSpeed sees the config.
DeepSpeed itself takes the three batch sizes as they stand (`DeepSpeedConfig._set_batch_related_parameters` and
`_batch_assertion`, runtime/config.py, the same in 0.9.0 to 0.19.8) and compares the word with 0: TypeError. In the
blocks that are pydantic models "auto" is dropped for the default, which may be what was meant, so nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.rule import Site
from trl_lint.finding import Location
from trl_lint.missing import ABSENT
from trl_lint.project.documents import Document
from trl_lint.project.launch_table import launches_of
from trl_lint.project.links import linked_files
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.runs import read_quietly
from trl_lint.sources.nodes import Entry, Mapping

_SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_BEFORE_CONFIG = 6  # initialize(args, model, optimizer, model_parameters, training_data, lr_scheduler, …)


class Unfilled(NamedTuple):
    """A key with "auto" and its place; `used` where somebody names the file, None where the call itself does.

    `is_shown`: only a command in a document names it.
    """

    key: str
    place: Location
    used: Location | None
    is_shown: bool


def is_raw(site: Site) -> bool:
    """Whether a call of `deepspeed.initialize` reads a file: one that it names, or that of `--deepspeed_config`."""
    given = _given(site.call)
    return given is None or isinstance(site.module.value(given), str)


def unfilled(site: Site) -> Iterator[Unfilled]:
    """The first batch size of each config of the call that nobody fills in."""
    given = _given(site.call)
    if given is not None:
        name = site.module.value(given)
        paths = linked_files(name, site.module.source, None) if isinstance(name, str) else []
        if len(paths) == 1 and (found := _first(paths[0], site)) is not None:
            document, entry = found
            yield Unfilled(str(entry.key.value), document.place(entry, "stays as it is"), None, False)
        return
    if b"deepspeed_config =" in site.module.source.file.data:
        return  # the script replaces what the command says
    for launch in launches_of(site.module.source.path, site.project, b"--deepspeed_config"):
        word = launch.flag("--deepspeed_config")
        text = getattr(word, "text", None)
        path = launch.file_named(text) if text else None
        if path is not None and (found := _first(path, site)) is not None:
            document, entry = found
            used = launch.location._replace(message="the run")
            place = document.place(entry, "stays as it is")
            yield Unfilled(str(entry.key.value), place, used, launch.is_documentation)


def _given(call: ast.Call) -> ast.expr | None:
    """What a call passes as its config: None if that is certainly nothing, the call itself if it may be anything."""
    if len(call.args) > _BEFORE_CONFIG or any(isinstance(each, ast.Starred) for each in call.args):
        return call
    for name in ("config", "config_params"):
        found = argument(call, name)
        if isinstance(found, ast.expr):
            return found
        if found is not ABSENT:
            return call
    return None


def _first(path: str, site: Site) -> tuple[Document, Entry] | None:
    document = read_quietly(path, site.project, "deepspeed") if path.endswith(".json") else None
    root = document.root if document is not None else None
    if document is None or not isinstance(root, Mapping) or root.get("elasticity") is not None:
        return None
    for key in _SIZES:
        entry = root.entry(key)
        if entry is not None and getattr(entry.value, "value", None) == "auto":
            return document, entry
    return None
