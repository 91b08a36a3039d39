"""An accelerate config as its launcher reads it: the backend, the blocks, and keys under the names of their options."""

from __future__ import annotations

from trl_lint.checks.configs._problems import is_known, whole_number
from trl_lint.knowledge.configs import option_of
from trl_lint.project.documents import Document
from trl_lint.run.readers.accelerate import BACKEND_OPTIONS, SHORT_KEYS
from trl_lint.sources.nodes import Entry, Mapping, Scalar, value_of

# Started as several processes on accelerators (commands/launch.py, `multi_gpu`); MULTI_CPU runs through the simple
# launcher, XLA through one of its own.
SEVERAL_DEVICES = frozenset(
    ["MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU", "MULTI_NEURON"]
)
SHARDING = frozenset(("DEEPSPEED", "FSDP", "MEGATRON_LM"))
XLA = frozenset(("XLA", "TPU"))


class AccelerateFile:
    """The root of a config for `accelerate launch` on machines of one's own.

    backend  the `distributed_type`; "NO" also for an unquoted NO, None where it is not known
    fsdp     1 or 2 where FSDP is the backend and its version is known, else None
    """

    __slots__ = ("backend", "fsdp", "root")

    def __init__(self, root: Mapping) -> None:
        self.root = root
        kind = root.get("distributed_type")
        value = value_of(kind) if is_known(kind) else None
        self.backend = "NO" if value is False else value if isinstance(value, str) else None
        self.fsdp = self._fsdp_version() if self.backend == "FSDP" else None

    def _fsdp_version(self) -> int | None:
        entry = self.entry("fsdp_config.fsdp_version")
        if entry is None:
            return 1
        text = str(value_of(entry.value)) if is_known(entry.value) else ""
        return int(text) if text in ("1", "2") else None

    def entry(self, key: str) -> Entry | None:
        """The entry of a key at the top or of `block.option`, however it is spelt there."""
        block, _, option = key.rpartition(".")
        if not block:
            return self.root.entry(key)
        node = self.root.get(block)
        if not isinstance(node, Mapping):
            return None
        found = node.entry(option)
        if found is None and block in SHORT_KEYS:
            prefix = option_of(block, "")
            found = node.entry(option[len(prefix) :])
        return found

    def scalar(self, key: str) -> Scalar | None:
        """The value of a key, if it is one and is known."""
        entry = self.entry(key)
        return entry.value if entry is not None and isinstance(entry.value, Scalar) and is_known(entry.value) else None

    def number(self, key: str) -> int | None:
        return whole_number(self.scalar(key))

    def text(self, key: str) -> str | None:
        """The value of a key as the process finds it in its environment."""
        found = self.scalar(key)
        return None if found is None else str(found.value)

    def is_unknown(self, key: str) -> bool:
        """Whether the key is there with a value that nobody can know."""
        return self.entry(key) is not None and self.scalar(key) is None

    def reads(self, when: str) -> bool:
        """Whether the backend reads a key; `when` as in rules/configs/accelerate.toml."""
        if not when:
            return True
        if when == "not XLA":
            return self.backend not in XLA
        if when in ("FSDP1", "FSDP2"):
            return self.fsdp == int(when[-1])
        return self.backend == when

    def replacing(self, *options: str) -> tuple[str, ...]:
        """Options of the launcher that take the place of what the file says, the choice of another backend included."""
        return (*options, *(option for option, backend in BACKEND_OPTIONS.items() if backend != self.backend))


def read_accelerate(document: Document) -> AccelerateFile | None:
    """The config, None for one of SageMaker's and for what may be filled in by a merge (`<<`)."""
    root = document.root
    if not isinstance(root, Mapping) or root.merged or value_of(root.get("compute_environment")) == "AMAZON_SAGEMAKER":
        return None
    return AccelerateFile(root)
