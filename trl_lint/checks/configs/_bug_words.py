"""What known bugs are about that are met where they are called. Written by `trl_lint.knowledge.refresh bugs`."""

# fmt: off
WORDS: tuple[bytes, ...] = (
    b"LoraConfig",
)
