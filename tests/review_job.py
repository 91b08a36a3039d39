"""The command as a job of a pull request runs it, and scripts with findings for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, Shell
from github_server import NUMBER, REPOSITORY, TOKEN, GitHub

HEAD = "import torch\nfrom accelerate import Accelerator\n"
FUNCTION = """

def {name}(sequences: torch.Tensor, last_token: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(sequences.size(1)).unsqueeze(0)
    return positions <= last_token.cuda()
"""


class Job:
    """`trl-lint review` in the checkout of a pull request."""

    def __init__(self, hub: GitHub, sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hub, self.sh, self._monkeypatch = hub, sh, monkeypatch
        self.event_path = sh.folder / ".git" / "event.json"
        self.event_path.parent.mkdir()
        for name in ("GITHUB_EVENT_PATH", "GITHUB_GRAPHQL_URL", "GH_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        self.set(GITHUB_TOKEN=TOKEN, GITHUB_REPOSITORY=REPOSITORY, GITHUB_API_URL=hub.url)

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)

    def event(self, **event: Any) -> None:
        self.event_path.write_text(json.dumps(event))
        self.set(GITHUB_EVENT_PATH=str(self.event_path))

    def push(self, **files: str) -> None:
        """Write files, push what is in the checkout, and be a job of that push."""
        for name, text in files.items():
            self.sh.write(name.replace("_py", ".py").replace("_txt", ".txt"), text)
        found = (path for path in self.sh.folder.rglob("*") if path.is_file() and ".git" not in path.parts)
        self.hub.push({path.relative_to(self.sh.folder).as_posix(): path.read_bytes() for path in found})
        self.event(pull_request={"number": NUMBER, "head": {"sha": self.hub.head}})

    def __call__(self, *arguments: str) -> Run:
        done = self.sh("review", *arguments)
        assert TOKEN not in done.out + done.err
        return done

    def report(self, *arguments: str) -> Path:
        """A report of the checkout, as the first of two workflows leaves it."""
        path = self.sh.folder / ".git" / "trl-lint.json"
        self.sh("--output-format", "json", "--output-file", str(path), *arguments)
        return path


def script(*names: str, above: str = "") -> str:
    """A script with one finding with a safe fix in each of the named functions."""
    return above + HEAD + "".join(FUNCTION.format(name=name) for name in names)
