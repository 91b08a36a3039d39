"""Keys of accelerate configs that the launcher refuses, drops or never uses."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._phrases import either
from trl_lint.checks.configs._accelerate import SEVERAL_DEVICES, AccelerateFile, read_accelerate
from trl_lint.checks.configs._problems import Problem, entries, is_filled, is_known, never, outside
from trl_lint.finding import Fix
from trl_lint.knowledge import configs
from trl_lint.project.documents import Document
from trl_lint.sources.nodes import Entry, Mapping, value_of

# Rewritten when the file is read, and then no key any more (config_args.py, every release).
_LEGACY = frozenset(("fp16", "dynamo_backend"))
# Where a value other than the option's own default says that somebody wanted something. `same_network` is left out:
# `accelerate config` writes it, and it only matters where a rendezvous is set up by hand.
_NEVER_APPLIED = frozenset(("rdzv_backend", "enable_cpu_affinity", "tpu_use_sudo"))


def unknown_keys(document: Document) -> Iterator[Problem]:
    """Keys at the top that stop the launcher, keys in blocks that are dropped, and keys that come to nothing."""
    file = read_accelerate(document)
    if file is None:
        return
    for name, entry in entries(file.root):
        # Whoever sets the key of a fork has the fork installed, whatever the pins of accelerate say.
        if name not in _LEGACY and name not in configs.keys_of_forks():
            yield _at_the_top(name, entry)
        if name in _NEVER_APPLIED and is_known(entry.value):
            yield _never_applied(name, entry)
    blocks = configs.backend_blocks()
    for block, entry in entries(file.root):
        if not isinstance(entry.value, Mapping) or entry.value.merged:
            continue
        backend = blocks.get(block)
        if backend is not None and is_filled(entry.value) and _is_unused(file):
            yield _unused_block(block, entry, backend, file)
            continue
        for key, inner in entries(entry.value):
            yield _in_block(document, block, key, inner, entry.value, file)
    yield from _nvme_paths(file)


def _at_the_top(name: str, entry: Entry) -> Problem:
    owners = configs.blocks_with(name)
    hint = f": move it into {either(f'`{owner}`' for owner in owners)}" if owners else ""
    message = f"accelerate stops at the key `{name}`, which its config does not have{hint}"

    def is_fine(version: str) -> bool | None:
        known = configs.top_keys("accelerate", version)
        return None if known is None else name in known

    return Problem(entry, message, "accelerate", is_fine)


def _in_block(document: Document, block: str, key: str, entry: Entry, owner: Mapping, file: AccelerateFile) -> Problem:
    def is_fine(version: str) -> bool | None:
        return configs.takes_nested(block, key, version)

    message = f"accelerate ignores the key `{key}` of `{block}`: its launcher has no such option"
    fix = None
    renamed = configs.new_name(block, key)
    if renamed is not None:
        new, _ = renamed
        message = f"accelerate ignores the key `{key}` of `{block}`: use `{new}`"
        if owner.entry(new) is None and not entry.key.quoted:
            edit = document.source.edit(entry.key.start, entry.key.end, new)
            fix = Fix(f"Rename `{key}` to `{new}`", "safe", (edit,))
    return Problem(entry, message, "accelerate", is_fine, "warning", file.replacing(), fix, unless_read=key)


def _is_unused(file: AccelerateFile) -> bool:
    """Whether the file chooses a backend without a block of its own; blocks of two backends are left to TRL403."""
    return file.backend in SEVERAL_DEVICES | {"NO", "MULTI_CPU"}


def _unused_block(block: str, entry: Entry, backend: str, file: AccelerateFile) -> Problem:
    message = f"all of `{block}` is ignored with {file.backend}: it is read with `distributed_type: {backend}` only"
    return Problem(entry._replace(value=entry.key), message, "accelerate", never, "warning", (_switch(backend),))


def _switch(backend: str) -> str:
    """The option of the launcher that chooses a backend whatever the file says."""
    return {"DEEPSPEED": "use_deepspeed", "FSDP": "use_fsdp"}.get(backend, "use_megatron_lm")


def _never_applied(name: str, entry: Entry) -> Problem:
    value = value_of(entry.value)

    def is_fine(version: str) -> bool | None:
        options, known = configs.launch_options(version), configs.top_keys("accelerate", version)
        if options is None or known is None:
            return None
        default = options.get(name, "None")
        # launch.py copies a key of the file only where the option's own value is None.
        return name not in known or default in ("None", repr(value)) or value in (None, False)

    message = f"`{name}` has no effect in the file, because accelerate launch keeps its default: pass --{name}"
    return Problem(entry, message, "accelerate", is_fine, "info", (name,))


def _nvme_paths(file: AccelerateFile) -> Iterator[Problem]:
    """`offload_*_nvme_path` becomes an option, but no release hands it on (prepare_deepspeed_cmd_env)."""
    if file.backend != "DEEPSPEED":
        return
    for what in ("optimizer", "param"):
        device = file.text(f"deepspeed_config.offload_{what}_device")
        name = f"offload_{what}_nvme_path"
        entry = file.entry(f"deepspeed_config.{name}")
        path = file.text(f"deepspeed_config.{name}")
        if entry is None or device is None or device.lower() != "nvme" or path in (None, "None", "none"):
            continue
        message = (
            f"accelerate launch never hands `{name}` on, and DeepSpeed gets the path 'none': "
            "set it in a DeepSpeed config (`deepspeed_config_file`)"
        )
        yield Problem(entry, message, "accelerate", outside(">=0.20.0"), "warning", file.replacing())
