"""The columns of the datasets that trainers are given, as far as the project tells them.

    for columns in columns_of(call.given("train_dataset")):      # one for each possibility
        columns.certain, columns.lacks("prompt"), columns.streams

A dataset is followed back to what loaded it: rows that are written down, a local file, a dataset on the hub that
`rules/models/datasets.toml` knows. What is done on the way is applied to that: `map` with a function of the project,
`rename_column`, `remove_columns` … What nobody understands leaves nothing known, never a column that is missing.
Read in datasets 2.14, 3.6 and 5.0.1 (`arrow_dataset.py`, `dataset_dict.py`, `iterable_dataset.py`).
"""

from __future__ import annotations

import ast

from trl_lint.missing import UNKNOWN
from trl_lint.run.columns.known import NOTHING_KNOWN, Columns, doubtful, uncertain, with_more, without
from trl_lint.run.columns.returned import Rows, either, keys_of_dict, returned_rows
from trl_lint.run.trainer.entries import keywords
from trl_lint.run.trainer.made import Made, Options
from trl_lint.run.trainer.models import is_handed_on

__all__ = ["Columns", "columns_of"]

_DEEP = 30  # datasets made of datasets; the columns of one further away are unknown
# Methods that leave the columns as they are.
_SAME = frozenset(
    {
        "filter", "shuffle", "select", "shard", "take", "skip", "sort", "train_test_split", "flatten_indices", "repeat",
        "cast", "cast_column", "class_encode_column", "with_split", "align_labels_with_mapping", "reshard",
    }
)  # fmt: skip
# What changes an object in place but not its columns; anything else that is done to it does.
_HARMLESS = frozenset({"save_to_disk", "push_to_hub", "to_json", "to_csv", "to_parquet", "cleanup_cache_files", "info"})
_BUILDERS = ("json", "csv")
_LOADERS = frozenset({"datasets.load_dataset", "datasets.load.load_dataset"})
_CLASSES = ("Dataset", "IterableDataset")
# Keywords of `load_dataset` that change no column. Its others choose another part of a repository than the table tells
# of, or go to the builder, which may read a header, a field or a separator of its own by them.
_PLAIN = frozenset(
    {
        "path", "name", "split", "streaming", "cache_dir", "keep_in_memory", "num_proc", "token", "use_auth_token",
        "download_mode", "download_config", "verification_mode", "ignore_verifications", "save_infos",
        "storage_options", "trust_remote_code",
    }
)  # fmt: skip


def columns_of(options: Options) -> tuple[Columns, ...]:
    """What is known of each possibility for a dataset."""
    question = _Question()
    return tuple(question.of(made) for made in options)


class _Question:
    """Answers for one dataset and all that it is made of, once for each: parts may be used many times over."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Columns] = {}
        self._asked: list[Made] = []  # kept, since what is known goes by their identity
        self._depth = 0

    def of(self, made: Made) -> Columns:
        if self._depth > _DEEP or made.kind != "call" or not isinstance(made.node, ast.Call) or not _is_dataset(made):
            return NOTHING_KNOWN
        if any(change.kind != "call" or change.path not in _HARMLESS for change in made.changes):
            return NOTHING_KNOWN
        key = (made.node, made.frame, made.origin, made.item, id(made.base))
        found = self._known.get(key)
        if found is None:
            self._asked.append(made)
            self._depth += 1
            found = self._known[key] = _read(made, self)
            self._depth -= 1
        return found


def _read(made: Made, question: _Question) -> Columns:
    if made.origin.startswith("."):
        found = _after_method(made, question)
    elif made.origin in _LOADERS:
        found = _loaded(made)
    elif made.name in ("DatasetDict", "IterableDatasetDict"):
        found = _of_split(made, question)
    elif made.name in ("concatenate_datasets", "interleave_datasets"):
        found = _put_together(made, question)
    else:
        found = _written(made)
    return found._replace(places=(*found.places, made.location)) if len(found.places) < 8 else found


def _is_dataset(made: Made) -> bool:
    """Whether it is not a slice, which is a dict of lists, of a split."""
    return len(made.item) <= 1


def _any_of(options: Options, question: _Question) -> Columns:
    found = [question.of(made) for made in options]
    if not found:
        return NOTHING_KNOWN
    if len(found) == 1:
        return found[0]
    rows = either([Rows(one.certain, one.maybe, one.complete) for one in found])
    gone = frozenset.intersection(*(one.gone for one in found))
    streams = {one.streams for one in found}
    return Columns(
        rows.certain, rows.maybe, rows.complete, gone.difference(rows.certain, rows.maybe),
        streams.pop() if len(streams) == 1 else None, any(one.is_remembered for one in found), found[0].places,
    )  # fmt: skip


# -- where it comes from ----------------------------------------------------------------------------------------------


def _loaded(made: Made) -> Columns:
    streams = _truth(made.argument("streaming"))
    nothing = NOTHING_KNOWN._replace(streams=streams)
    name = _text(made.argument("path", 0))
    if name is None:
        return nothing
    if name in _BUILDERS:
        if not _is_plain(made, "data_files"):
            return nothing
        from trl_lint.run.columns.files import rows_of_file

        files = _files(made.argument("data_files"))
        module, project = made.frame.module, made.frame.resolver.project
        rows = [rows_of_file(module, name, file, project) for file in files or ()]
        known = [row for row in rows if row is not None]
        if not known or len(known) < len(rows):
            return nothing
        found = either(known)
        return Columns(found.certain, found.maybe, found.complete, streams=streams)
    return _on_hub(made, name, nothing)


def _is_plain(made: Made, *besides: str) -> bool:
    """Whether `load_dataset` is given nothing but what changes no column, and these keywords."""
    assert isinstance(made.node, ast.Call)
    given = keywords(made.frame.resolver, made.node, made.frame)
    return given is not None and len(made.node.args) <= 2 and _PLAIN.union(besides).issuperset(given)


def _on_hub(made: Made, name: str, nothing: Columns) -> Columns:
    from trl_lint.knowledge.datasets import hub_dataset

    config = made.argument("name", 1)
    given = "" if _is_absent(config) else _text(config)
    if given is None or not _is_plain(made):
        return nothing
    row = hub_dataset(name, given)
    if row is None:
        return nothing
    return nothing._replace(certain=row.columns, complete=row.complete, is_remembered=True)


def _written(made: Made) -> Columns:
    """`Dataset.from_list([{…}])` and the like."""
    owner, _, method = made.origin.rpartition(".")
    if owner.rpartition(".")[2] not in _CLASSES or not owner.startswith("datasets."):
        return NOTHING_KNOWN
    streams = owner.endswith(".IterableDataset")
    found: Rows | None = None
    if method == "from_list":
        found = _rows_in(made.argument("mapping", 0))
    elif method == "from_dict":
        found = _table_in(made.argument("mapping", 0))
    elif method == "from_generator":
        found = _generated(made.argument("generator", 0))
    elif method == "from_pandas":
        found = _framed(made.argument("df", 0))
    if found is None:
        return NOTHING_KNOWN._replace(streams=streams)
    return Columns(found.certain, found.maybe, found.complete, streams=streams)


def _rows_in(options: Options) -> Rows | None:
    """The keys of the rows of a list."""
    from trl_lint.run.columns.row_uses import leaves_rows

    found: list[Rows] = []
    for made in options:
        node = made.node
        if is_handed_on((made,)) or not all(map(leaves_rows, made.stays)):
            return None
        if isinstance(node, ast.ListComp) and not made.changes:
            found.append(keys_of_dict(node.elt))
            continue
        items = made.items()
        if items is None:
            return None
        rows = [row for item in items for row in (_table_in(item),)]
        if not rows or any(row is None for row in rows):
            return None
        found.append(either([row for row in rows if row is not None]))
    return either(found) if found else None


def _table_in(options: Options) -> Rows | None:
    """The keys of a dict."""
    found = []
    for made in options:
        if made.kind != "dict" or not isinstance(made.node, ast.expr) or made.origin == "**" or is_handed_on((made,)):
            return None
        rows = keys_of_dict(made.node)
        for change in made.changes:
            if change.kind != "item" or not change.path:
                return None
            rows = rows._replace(maybe=(rows.maybe | {change.path}).difference(rows.certain))
        found.append(rows)
    return either(found) if found else None


def _generated(options: Options) -> Rows | None:
    found = [returned_rows(made.frame.module, made.node, True) for made in options if made.kind == "function"]
    return either(found) if found and len(found) == len(options) else None


def _framed(options: Options) -> Rows | None:
    """A table of pandas that is made of rows or columns written down."""
    found: list[Rows] = []
    for made in options:
        if made.kind != "call" or made.origin != "pandas.DataFrame" or made.changes or made.item:
            return None
        data = made.argument("data", 0)
        rows = _table_in(data) or _rows_in(data)
        if rows is None or not _is_absent(made.argument("columns", 2)):
            return None
        found.append(rows)
    return either(found) if found else None


def _of_split(made: Made, question: _Question) -> Columns:
    """`DatasetDict({"train": …})["train"]`."""
    splits = made.argument("mapping", 0)
    if _is_absent(splits) and made.item and isinstance(made.item[0], str):
        return _any_of(made.argument(made.item[0]), question)
    if len(made.item) != 1 or not isinstance(made.item[0], str):
        return NOTHING_KNOWN
    return _any_of(tuple(one for each in splits for one in each.entry(made.item[0])), question)


def _put_together(made: Made, question: _Question) -> Columns:
    """Columns that one of the parts lacks are filled with None."""
    parts = [item for each in made.argument("dsets" if made.name.startswith("c") else "datasets", 0)
             for item in each.items() or ((),)]  # fmt: skip
    found = [_any_of(part, question) for part in parts]
    if not found:
        return NOTHING_KNOWN
    certain = {name: kind for one in found for name, kind in one.certain.items()}
    maybe = frozenset(name for one in found for name in one.maybe).difference(certain)
    streams = {one.streams for one in found}
    return Columns(
        certain, maybe, all(one.complete for one in found), frozenset(),
        streams.pop() if len(streams) == 1 else None, any(one.is_remembered for one in found),
    )  # fmt: skip


# -- what is done to it -----------------------------------------------------------------------------------------------


def _after_method(made: Made, question: _Question) -> Columns:
    base: Made = made.base
    name = made.name
    if made.item and not base.item and name != "train_test_split":  # all splits were mapped, and one is taken
        base = base._replace(item=made.item)
    before = question.of(base)
    if name in _SAME:
        return before
    if name == "map":
        return _mapped(made, before, question)
    if name == "to_iterable_dataset":
        return before._replace(streams=True)
    if name == "add_column":
        column = _text(made.argument("name", 0))
        return with_more(before, {column: ""}) if column else uncertain(before)
    if name == "rename_column":
        old, new = _text(made.argument("original_column_name", 0)), _text(made.argument("new_column_name", 1))
        return _renamed(before, {old: new}) if old and new else uncertain(before)
    if name == "rename_columns":
        return _renamed(before, _plain_dict(made.argument("column_mapping", 0)))
    if name == "remove_columns":
        return _removed(made, before, made.argument("column_names", 0), question)
    if name == "select_columns":
        return _selected(before, _texts(made.argument("column_names", 0)))
    return uncertain(before)


def _renamed(before: Columns, names: dict[str, str] | None) -> Columns:
    if names is None:
        return uncertain(before)
    kinds = {new: before.certain.get(old, "") for old, new in names.items()}
    return with_more(without(before, names), kinds)


def _selected(before: Columns, names: list[str] | None) -> Columns:
    if names is None:
        return uncertain(before)
    kinds = {name: before.certain.get(name, "") for name in names}
    return Columns(
        kinds, complete=True, streams=before.streams, is_remembered=before.is_remembered, places=before.places
    )


def _removed(made: Made, before: Columns, options: Options, question: _Question) -> Columns:
    if _is_absent(options) or all(one.is_none for one in options):
        return before
    names = _texts(options)
    if names is not None:
        return without(before, names)
    for one in options:
        if one.kind != "part" or one.origin not in ("column_names", "features") or not isinstance(one.base, Made):
            return uncertain(before)
        if one.base.node is not made.base.node:
            other = question.of(one.base)
            if len(options) > 1 or not other.complete:
                return uncertain(before)
            return without(before, other.names)
    return Columns(complete=True, streams=before.streams, places=before.places)


def _mapped(made: Made, before: Columns, question: _Question) -> Columns:
    left = _removed(made, before, made.argument("remove_columns"), question)
    functions = made.argument("function", 0)
    if _is_absent(functions):
        return left
    found = []
    for function in functions:
        if function.kind == "call" and function.origin in ("functools.partial", "partial"):
            inner = function.argument("func", 0)
            function = inner[0] if len(inner) == 1 else function
        if function.kind != "function":  # columns stay unless they are removed, but may be of another kind
            return with_more(left, dict.fromkeys(left.certain, ""), complete=False)
        found.append(returned_rows(function.frame.module, function.node, False))
    rows = either(found)
    is_batched = not _is_absent(made.argument("batched")) or not _is_absent(made.argument("input_columns"))
    certain = dict.fromkeys(rows.certain, "") if is_batched else rows.certain
    return with_more(doubtful(left, rows.dropped), certain, rows.maybe, rows.complete)


# -- arguments --------------------------------------------------------------------------------------------------------


def _is_absent(options: Options) -> bool:
    return all(made.kind == "absent" for made in options)


def _text(options: Options) -> str | None:
    """The one text that an argument may be."""
    values = {made.value if made.kind == "literal" else UNKNOWN for made in options}
    only = values.pop() if len(values) == 1 else UNKNOWN
    return only if isinstance(only, str) else None


def _truth(options: Options) -> bool | None:
    if _is_absent(options):
        return False
    values = [made.value if made.kind == "literal" else UNKNOWN for made in options]
    return bool(values[0]) if len(values) == 1 and isinstance(values[0], (bool, type(None))) else None


def _texts(options: Options) -> list[str] | None:
    """The texts of a list that is written down, or the one text."""
    only = _text(options)
    if only is not None:
        return [only]
    if len(options) != 1:
        return None
    items = options[0].items()
    found = [_text(item) for item in items] if items is not None else [None]
    return None if any(text is None for text in found) else [text for text in found if text is not None]


def _plain_dict(options: Options) -> dict[str, str] | None:
    if len(options) != 1 or options[0].changes:
        return None
    value = options[0].value
    is_plain = isinstance(value, dict) and all(isinstance(one, str) for pair in value.items() for one in pair)
    return dict(value) if is_plain and isinstance(value, dict) else None


def _files(options: Options) -> list[str] | None:
    """The names of data files: a text, a list of them, or one for each split."""
    texts = _texts(options)
    if texts is not None:
        return texts
    names = _plain_dict(options)
    return list(names.values()) if names is not None else None
