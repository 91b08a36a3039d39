"""What is installed stays small: the wheel has at most 2 MiB, estimated without building it."""

import zlib
from pathlib import Path

ROOT = Path(__file__).parent.parent
_LEFT_OUT = ("trl_lint/knowledge/refresh.py", "trl_lint/knowledge/refresher/", "rules/coverage/")
_OF_A_FILE = 76 + 60  # bytes: the headers of a file in a zip archive, and its line in RECORD, which are hashes
_MOST = 2 * 1024 * 1024


def test_the_wheel_stays_small():
    """As hatchling packs it (pyproject.toml): deflated, each file by itself, with its name in two headers.

    The sum comes out 1 to 2 % above the wheel.
    """
    size = 0
    for folder in ("trl_lint", "rules"):
        for path in (ROOT / folder).rglob("*"):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and "__pycache__" not in name and not name.startswith(_LEFT_OUT):
                installed = name if folder == "trl_lint" else f"trl_lint/{name}"
                size += len(zlib.compress(path.read_bytes(), 6)) + 2 * len(installed) + _OF_A_FILE
    assert size <= _MOST, size
