"""One try for each editor: set it up as the page says, do what somebody does, and judge what was seen."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.editors.install import Tools, shell
from benchmarks.editors.page import digest, said
from benchmarks.editors.project import HIDING, OTHERS, Expected, Place, in_bytes, lay_out

HERE = Path(__file__).parent
_SHOWN = re.compile(r"(TRL\d+)\[Ln (\d+), Col (\d+)\]")
_CODE = re.compile(r"\[(TRL\d+)\]")
_SETTINGS = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "files.autoSave": "off",
}


class Try:
    """The tools, a folder for one try, and what is to be seen."""

    def __init__(self, tools: Tools, right: Expected, pictures: Path | None = None) -> None:
        self.tools = tools
        self.right = right
        self.pictures = pictures
        self.folder = tools.folder / "try"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.project = lay_out(self.folder / "project")
        (self.folder / "home").mkdir()

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text, "utf-8")
        return self.folder / name

    def run(self, *command: str | Path, **more: str) -> dict[str, Any]:
        """The last line of JSON that a command prints in the project."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        home = str(self.folder / "home")
        path = os.pathsep.join([str(self.tools.bin), environment["PATH"]])
        environment |= {"PATH": path, "HOME": home, "XDG_STATE_HOME": home, "LC_ALL": "C.UTF-8", **more}
        environment |= {"TRY_OTHERS": " ".join(OTHERS), "TRY_HIDING": HIDING}
        asked = [str(part) for part in command]
        done = subprocess.run(asked, cwd=self.project, env=environment, capture_output=True, text=True, timeout=300)
        lines = [line for line in [*done.stdout.splitlines(), *done.stderr.splitlines()] if line.startswith("{")]
        if not lines:
            raise RuntimeError(f"{asked[0]} says nothing: {done.stderr[-2000:]}")
        found: dict[str, Any] = json.loads(lines[-1])
        if found.get("problem"):
            raise RuntimeError(f"{asked[0]}: {found}")
        return found

    def judged(self, editor: str, version: str, titles: list[str], found: dict[str, Any]) -> dict[str, Any]:
        """What is kept of a try. `found` has places in the form of `Place`."""
        right = self.right
        return {
            "editor": editor,
            "version": version,
            "page": {"blocks": titles, "digest": digest(titles)},
            "seen": {
                "once": found["before"] == right.findings["train.py"],
                "hover": "packing" in found["hover"] and "0.13.0: removed" in found["hover"],
                "fix": found["text"] == right.fixed and found["after"] == [],
                "others": all(found["others"][name] == right.findings[name] for name in OTHERS),
                "settings": bool(found["settings"]),
            },
        }


def _version(command: list[str], pattern: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(pattern, done.stdout)
    return found[1] if found else ""


# -- Neovim -----------------------------------------------------------------------------------------------------------


def _places(rows: list[dict[str, Any]]) -> list[Place]:
    return sorted((row["line"], row["column"], row.get("code") or _CODE.findall(row["text"])[0]) for row in rows)


def _read(found: dict[str, Any]) -> dict[str, Any]:
    others = {name: _places(list(rows)) for name, rows in found["others"].items()}
    return {**found, "before": _places(found["before"]), "after": _places(list(found["after"])), "others": others}


def neovim(one: Try, command: Path) -> dict[str, Any]:
    """Neovim, with the block of the page for its release."""
    version = _version([str(command), "--version"], r"NVIM v([\d.]+)")
    is_old = tuple(map(int, version.split("."))) < (0, 11)
    title = "init.lua (before 0.11)" if is_old else "init.lua"
    setup = one.write("init.lua", said(title))
    found = one.run(command, "--headless", "-u", setup, "train.py", "-c", f"luafile {HERE / 'neovim.lua'}")
    return one.judged("Neovim", version, ["The language server", title], _read(found))


_PYLSP = """
vim.lsp.config("pylsp", {{
  cmd = {{ "pylsp" }}, filetypes = {{ "python" }}, root_markers = {{ ".git" }},
  settings = vim.json.decode([==[{settings}]==]),
}})
vim.lsp.enable("pylsp")
"""


def beside_pylsp(tools: Tools, right: Expected) -> dict[str, Any]:
    """Both servers in Neovim: how often each finding of a Python file is shown, by what the page says to switch off."""
    titles = ["init.lua", "pylsp-settings.json", "tox.ini"]
    seen = {}
    for name in ("both", "as the page says"):
        one = Try(tools, right)
        if name != "both":
            (one.project / "tox.ini").write_text(said("tox.ini"))
        setup = one.write("init.lua", said("init.lua") + _PYLSP.format(settings=said("pylsp-settings.json")))
        script = f"luafile {HERE / 'neovim.lua'}"
        found = one.run(tools.neovim, "--headless", "-u", setup, "train.py", "-c", script, TRY_CLIENTS="2")
        places = _places(found["before"])  # of pylsp in characters, which is wrong behind an emoji
        assert {(line, code) for line, _, code in places} == {
            (line, code) for line, _, code in right.findings["train.py"]
        }
        seen[name] = len(found["before"]) / len(right.findings["train.py"])
    version = _version([str(tools.bin / "pylsp"), "--version"], r"v?([\d.]+)")
    return {"version": version, "page": {"blocks": titles, "digest": digest(titles)}, "times shown": seen}


# -- Emacs ------------------------------------------------------------------------------------------------------------


def emacs(one: Try, command: Path) -> dict[str, Any]:
    """Emacs with eglot, without a screen."""
    setup = one.write("init.el", said("init.el"))
    start: list[str | Path] = [
        "--batch",
        "-f",
        "package-initialize",
        "-l",
        setup,
        "-l",
        HERE / "emacs.el",
        "--",
        "train.py",
    ]
    version = _version([str(command), "--version"], r"Emacs ([\d.]+)")
    return one.judged("Emacs", version, ["The language server", "init.el"], _read(one.run(command, *start)))


# -- VS Code ----------------------------------------------------------------------------------------------------------


def vscode(one: Try, browser: Path) -> dict[str, Any]:
    """The extension, packed and installed as the page says, in VS Code in a browser."""
    tools, home = one.tools, one.folder / "code"
    start = f"{tools.node}/node {tools.code_server} --user-data-dir {home} --extensions-dir {home}/extensions"
    shim = one.folder / "bin" / "code"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {start} "$@"\n')
    shim.chmod(0o755)
    shell(said("VS Code"), tools.checkout, [shim.parent, tools.node])
    (home / "User").mkdir(parents=True, exist_ok=True)
    settings = json.loads(said("settings.json").replace("/home/me/project/.venv", str(tools.bin.parent)))
    (home / "User" / "settings.json").write_text(json.dumps({**_SETTINGS, **settings}))
    with _served(start.split(), one) as url:
        asked = {
            "url": url, "folder": str(one.project), "browser": str(browser), "modules": str(tools.modules),
            "file": "train.py", "others": list(OTHERS), "hiding": HIDING, "pictures": str(one.pictures or one.folder),
        }  # fmt: skip
        found = one.run(tools.node / "node", HERE / "vscode.mjs", json.dumps(asked))
    others = {name: _listed(name, rows) for name, rows in found["others"].items()}
    found |= {"before": _listed("train.py", found["before"]), "others": others}
    version = _version([str(shim), "--version"], r"with Code ([\d.]+)")
    titles = ["The language server", "VS Code", "settings.json"]
    return one.judged("VS Code", version, titles, found)


def _listed(name: str, rows: list[str]) -> list[Place]:
    """What the panel of problems shows, with columns in UTF-16 from 1."""
    found = [(int(line), int(column), code) for row in rows for code, line, column in _SHOWN.findall(row)]
    assert len(found) == len(rows), rows
    return sorted((line, in_bytes(name, line, column - 1, "utf-16-le"), code) for line, column, code in found)


@contextlib.contextmanager
def _served(start: list[str], one: Try) -> Iterator[str]:
    """code-server at an address of this machine."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    options = ["--auth", "none", "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    log = one.folder / "code-server.log"
    with log.open("w") as out:
        process = subprocess.Popen([*start, *options], cwd=one.folder, env=environment, stdout=out, stderr=out)
        try:
            end = time.monotonic() + 60
            while "HTTP server listening" not in log.read_text():
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"code-server does not start: {log.read_text()}")
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)
