"""What is installed stays small: how large the wheel is, estimated without building it."""

import zlib
from pathlib import Path

from trl_lint.knowledge import COMPRESSED, PACKED, compressed, pack_of, uncommented

ROOT = Path(__file__).parent.parent
_NOT_ALONE = tuple(f"rules/{name}/" for name in (*PACKED, "coverage"))
_LEFT_OUT = (
    "trl_lint/knowledge/refresh.py", "trl_lint/knowledge/refresher/", "trl_lint/knowledge/tables.py",
    "trl_lint/knowledge/condition_tables.py", "trl_lint/editors/vscode/", *_NOT_ALONE,
)  # fmt: skip
_OF_A_FILE = 76 + 60  # bytes: the headers of a file in a zip archive, and its line in RECORD, which are hashes
MOST = 2_400_000  # bytes, of the wheel that is built as well (`test_wheel`); a bound to notice a file that slipped in


def test_the_wheel_stays_small():
    """As hatchling packs it (pyproject.toml): deflated, each file by itself, with its name in two headers.

    The sum differs from the wheel by less than 1 %.
    """
    size = 0
    for folder in ("trl_lint", "rules"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and "__pycache__" not in name and not name.startswith(_LEFT_OUT):
                installed = name if folder == "trl_lint" else f"trl_lint/{name}"
                data = path.read_bytes()
                if name.startswith("rules/") and name.endswith(".toml"):
                    data = uncommented(data.decode()).encode()
                size += _packed_size(installed, compressed(data)[1] if path.parent.name in COMPRESSED else data)
    for name in PACKED:
        file, data = pack_of(str(ROOT / "rules" / name))
        size += _packed_size(f"trl_lint/rules/{file}", data)
    assert size <= MOST, size


def _packed_size(name: str, data: bytes) -> int:
    return len(zlib.compress(data, 6)) + 2 * len(name) + _OF_A_FILE
