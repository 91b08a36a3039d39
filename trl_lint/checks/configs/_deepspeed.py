"""Keys, values and contradictions of DeepSpeed's JSON config, as its own classes judge them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from trl_lint.checks.configs._problems import (
    IsFine,
    Problem,
    entries,
    is_known,
    is_to_be_filled_in,
    never,
    outside,
    takes,
    whole_number,
    written_twice,
)
from trl_lint.knowledge import configs
from trl_lint.knowledge.configs import ValueRow
from trl_lint.knowledge.ranges import holds
from trl_lint.project.documents import Document
from trl_lint.sources.nodes import Entry, Mapping, Scalar, find, find_entry, value_of
from trl_lint.words import nearest


def read_deepspeed(document: Document) -> Mapping | None:
    """The root of a config that DeepSpeed may read itself: JSON. Nobody knows what a project makes of one in YAML."""
    return document.root if document.source.language == "json" and isinstance(document.root, Mapping) else None


def _stage(root: Mapping) -> int | None:
    """The ZeRO stage; 0 where the block has none, None where it is not known."""
    node = find(root, "zero_optimization.stage")
    if node is None:
        return 0
    return whole_number(node)


# -- keys -------------------------------------------------------------------------------------------------------------


def unknown_keys(document: Document) -> Iterator[Problem]:
    """Keys that were removed, that a block refuses, and that nothing at the top reads."""
    root = read_deepspeed(document)
    if root is None:
        return
    removed = configs.removed_keys()
    for name, releases in removed.items():
        entry = find_entry(root, name)
        if entry is not None:
            message = f"DeepSpeed removed `{name}` and stops where it finds it (DeepSpeedConfigError)"
            yield Problem(entry._replace(value=entry.key), message, "deepspeed", outside(releases))
    for name, entry in entries(root):
        if name not in configs.keys_of_any_release() and name not in removed and _is_meant_for_deepspeed(name, entry):
            place = entry._replace(value=entry.key)
            yield Problem(place, _ignored(name), "deepspeed", never, "warning", unless_read=name)
    for block, releases in configs.strict_blocks().items():
        node = find(root, block)
        for name, entry in entries(node):
            if f"{block}.{name}" not in removed:
                yield _refused_key(block, name, entry, releases)


def _is_meant_for_deepspeed(name: str, entry: Entry) -> bool:
    """Whether a key at the top seems to be one of DeepSpeed's. Others put notes and settings of their own there."""
    if name.startswith(("_", "$", "#", "/")):
        return False
    return isinstance(entry.value, Mapping) or bool(_nearest(name))


def _nearest(name: str) -> str:
    return nearest(name, configs.keys_of_any_release(), 0.85)


def _ignored(name: str) -> str:
    near = _nearest(name)
    hint = f": did you mean `{near}`?" if near else ""
    return f"DeepSpeed ignores the key `{name}`, which no release of it reads{hint}"


def _refused_key(block: str, name: str, entry: Entry, releases: str) -> Problem:
    def is_fine(version: str) -> bool | None:
        known = configs.block_keys(block, version)
        return True if not holds(releases, version) else None if known is None else name in known

    value = entry.value
    if isinstance(value, Scalar) and value.value == "auto":
        message = f'DeepSpeed ignores `{name}`, which is no key of `{block}`, because its value is "auto"'
        return Problem(entry, message, "deepspeed", is_fine, "warning")
    message = f"`{block}` refuses the key `{name}` (ValidationError: Extra inputs are not permitted)"
    return Problem(entry._replace(value=entry.key), message, "deepspeed", is_fine)


# -- values -----------------------------------------------------------------------------------------------------------


def refused_values(document: Document) -> Iterator[Problem]:
    """Values outside of what a key takes."""
    root = read_deepspeed(document)
    if root is None:
        return
    for row in configs.value_rows("deepspeed"):
        entry = find_entry(root, row.key)
        if entry is None or not isinstance(entry.value, Scalar) or is_to_be_filled_in(row, entry.value):
            continue
        if is_known(entry.value) and _is_plain(entry.value):
            yield _refused_value(row, entry, entry.value)


def _is_plain(node: Scalar) -> bool:
    """No boolean and no fraction: pydantic takes true for 1 and 2.0 for 2."""
    return node.value is None or type(node.value) in (int, str)


def _refused_value(row: ValueRow, entry: Entry, node: Scalar) -> Problem:
    def is_fine(version: str) -> bool | None:
        return configs.is_allowed(row, node.value, version)

    message = f"`{row.key}` cannot be `{node.raw}`: {takes(row)}; DeepSpeed stops ({row.raises})"
    return Problem(entry, message, "deepspeed", is_fine)


# -- contradictions ---------------------------------------------------------------------------------------------------


def contradictions(document: Document) -> Iterator[Problem]:
    """Everything in one file that DeepSpeed refuses together, or of which a part comes to nothing."""
    root = read_deepspeed(document)
    if root is None:
        return
    yield from _batch(root, document)
    yield from _precision(root)
    yield from _offloading(root, document)
    yield from _by_stage(root)
    yield from _written_twice(root, document)


def _batch(root: Mapping, document: Document) -> Iterator[Problem]:
    """train_batch_size = micro batch × accumulation × processes: what must hold for any number of processes."""
    entry, factors = root.entry("train_batch_size"), batch_factors(root)
    batch, product = whole_number(root.get("train_batch_size")), prod(factors.values())
    if entry is not None and is_no_multiple(root):
        related = [document.place(other, "counts in") for name in factors if (other := root.entry(name)) is not None]
        message = (
            f"`train_batch_size` {batch} is no multiple of {product}, the micro batch times the accumulation steps: no "
            "number of processes fits (AssertionError: Check batch related parameters)"
        )
        yield Problem(entry, message, "deepspeed", never, related=tuple(related))


def batch_factors(root: Mapping) -> dict[str, int]:
    """What `train_batch_size` is a product of, as far as the file says."""
    names = ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    return {name: number for name in names if (number := whole_number(root.get(name))) is not None and number > 0}


def is_no_multiple(root: Mapping) -> bool:
    """Whether the batch sizes of a file contradict each other for any number of processes."""
    batch = whole_number(root.get("train_batch_size"))
    if batch is None or batch < 1 or isinstance(root.get("elasticity"), Mapping):
        return False
    return batch % prod(batch_factors(root).values()) != 0


def _precision(root: Mapping) -> Iterator[Problem]:
    """What the blocks of the two precisions ask for; that both are enabled is the matter of TRL602."""
    name = "bf16" if root.get("bf16") is not None else "bfloat16"
    entry, needed = (
        find_entry(root, f"{name}.bf16_optimizer_states"),
        find(root, f"{name}.bf16_master_weights_and_grads"),
    )
    if entry is not None and value_of(entry.value) is True and (needed is None or value_of(needed) is False):
        message = "`bf16_optimizer_states` needs `bf16_master_weights_and_grads: true` (AssertionError)"
        yield Problem(entry, message, "deepspeed", outside(">=0.18.3"))


def _offloading(root: Mapping, document: Document) -> Iterator[Problem]:
    zero = root.get("zero_optimization")
    if not isinstance(zero, Mapping):
        return
    for old, new in configs.replaced_keys().items():
        first, second = zero.entry(old), zero.entry(new)
        if first is not None and second is not None and value_of(first.value) != "auto" != value_of(second.value):
            message = f"DeepSpeed stops: `{old}` is the old name of `{new}`, and both are set; drop `{old}`"
            related = (document.place(second, "the new one"),)
            yield Problem(first, message, "deepspeed", never, related=related)
    stage = _stage(root)
    ratio = zero.get("offload_optimizer")
    entry = ratio.entry("ratio") if isinstance(ratio, Mapping) else None
    share = value_of(entry.value) if entry is not None else None
    if entry is not None and isinstance(share, (int, float)) and share < 1 and stage in (0, 1, 2):
        message = f"a `ratio` below 1 needs ZeRO stage 3, and the stage is {stage} (AssertionError)"
        # The validators of pydantic 1 are not read; from 0.15.0 on rules/conditions has it.
        yield Problem(entry, message, "deepspeed", outside(">=0.12.3,<0.15.0"))
    params = zero.entry("offload_param")
    if params is not None and isinstance(params.value, Mapping) and stage in (0, 1, 2):
        device = value_of(params.value.get("device"))
        if device in ("cpu", "nvme"):
            message = f"`offload_param` has no effect at ZeRO stage {stage}: only stage 3 shards parameters"
            yield Problem(params._replace(value=params.key), message, "deepspeed", never, "warning")


def _by_stage(root: Mapping) -> Iterator[Problem]:
    stage = _stage(root)
    if stage is None:
        return
    switched: list[tuple[str, bool, tuple[int, ...], IsFine]] = [
        ("fp16.fp16_master_weights_and_grads", True, (1, 2, 3), outside(">=0.18.3")),
        ("bf16.bf16_master_weights_and_grads", True, (1, 2, 3), outside(">=0.18.3")),
    ]
    for path, value, stages, is_fine in switched:
        entry = find_entry(root, path)
        if entry is not None and value_of(entry.value) is value and stage not in stages:
            shown = " or ".join(map(str, stages))
            message = f"`{path}: {str(value).lower()}` needs ZeRO stage {shown}, and the stage is {stage}"
            yield Problem(entry, message, "deepspeed", is_fine)
    operation = root.entry("gradient_allreduce_op")
    if operation is not None and str(value_of(operation.value)).lower() == "sum" and stage == 3:
        message = "`gradient_allreduce_op: sum` is not supported with ZeRO stage 3 (ValueError)"
        yield Problem(operation, message, "deepspeed", outside(">=0.19.6"))


def _written_twice(root: Mapping, document: Document) -> Iterator[Problem]:
    """DeepSpeed refuses a key that stands twice in one block; transformers and accelerate take the second."""
    for entry, first in written_twice(root, document):
        message = f"`{entry.key.value}` stands twice in one block: DeepSpeed stops, transformers takes the second value"
        yield Problem(entry, message, "deepspeed", never, "warning", related=(first,))
