"""`trl-lint server`: the language server, on the standard streams."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys

from trl_lint.commands import UsageError

INSTALL = "pip install 'trl-lint[lsp]'"


def run(args: argparse.Namespace) -> int:
    """Serve one client until it leaves; the exit status. Raises UsageError where pygls is not installed."""
    try:
        from trl_lint.editors.server.app import make_server, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise UsageError(f"the language server needs pygls 2: {INSTALL}") from None
    debug = bool(os.environ.get("TRL_LINT_DEBUG"))
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if debug else logging.CRITICAL)
    gc.enable()
    # Standard output is the protocol's alone: whatever else is printed goes where a client shows its log.
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as stdin:
        stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        return serve(make_server(), stdin=stdin, stdout=stdout)
