"""`trl-lint` and `python -m trl_lint`."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> int:
    # The version is asked often, by tools that wait: nothing else is loaded for it.
    if sys.argv[1:2] in (["--version"], ["-V"]) and sys.argv[2:] in ([], ["-v"], ["--verbose"]):
        from trl_lint import __version__

        said = [f"trl-lint {__version__}"]
        if len(sys.argv) > 2:
            from trl_lint.commands.version import lines

            said = lines()
        try:
            print("\n".join(said), flush=True)
        except OSError as error:
            from trl_lint.streams import end_after

            return end_after(error)
        return 0
    from trl_lint.cache.replay import replay
    from trl_lint.streams import end_after, make_ready

    make_ready()
    try:
        known = replay(sys.argv[1:])
    except OSError as error:
        return end_after(error)
    if known is not None:
        return known
    from trl_lint.cli import main as run

    return run(sys.argv[1:])


def run() -> NoReturn:
    """`main` as a process of its own, which ends at once: taking a large project apart object by object takes longer
    than some of its checks, and frees memory that the system takes back in any case.

    Nor is anything looked through for cycles that nobody needs, unless a command lives long and asks for it.
    """
    gc.disable()
    try:
        status = main()
    except KeyboardInterrupt:  # before the command line was read
        sys.stderr.write("trl-lint: interrupted\n")
        status = 130
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            sys.exit(status)  # as Python says it
    os._exit(status)


if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        # `python -m` puts the working folder first on the path: the project's yaml.py would be imported for PyYAML.
        del sys.path[0]
    run()
