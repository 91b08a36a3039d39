"""Whether a project uses the part of a package for which a range of another one is only supported, not required."""

from __future__ import annotations

from trl_lint.checks.pins._evidence import find_switch, find_word, takes_part, unrepaired
from trl_lint.checks.pins._views import View
from trl_lint.finding import Location
from trl_lint.knowledge.compat import Support, supports
from trl_lint.project.governed import governed_files

_RUN = (".py", ".ipynb")
# What fills a config from words of a command, which may be written down nowhere.
_PARSERS = ("HfArgumentParser", "TrlParser")
_CODE = (".py", ".ipynb", ".sh", ".slurm", ".sbatch", ".yaml", ".yml", ".md", ".json")


def find_support_use(provider: str, name: str, view: View) -> tuple[Location, ...] | str | None:
    """The place that shows the use, none where the range matters to everybody; else words for "nobody uses it".

    None where the code is there and does not use it, or imports a package that replaces the part first.
    """
    support = supports().get((provider, name))
    if support is None or not (support.uses or support.switches):
        return ()
    packages = (provider, name)
    files = [path for path in governed_files(view.manifest, packages, view.project) if path.endswith(_CODE)]
    concerned = unrepaired(files, support.patched_by, provider, view)
    place = _find_use(support, packages, concerned, view)
    if place is not None:
        return (place,)
    if len(concerned) < len(files) and _find_use(support, packages, files, view) is not None:
        return None
    scripts = [path for path in files if path.endswith(_RUN)]
    may_be_set = (find_word((*_PARSERS, *support.switches), path, view.project) for path in files)
    if scripts and not any(may_be_set):
        return None
    missing = " or ".join(f"`{switch}`" for switch in support.switches)
    return f"no file here sets {missing}, so it may not matter"


def _find_use(support: Support, packages: tuple[str, str], files: list[str], view: View) -> Location | None:
    for path in files:
        place = find_word(support.uses, path, view.project) if support.uses else None
        place = place or find_switch(support.switches, path, view.project)
        if place is not None and takes_part(path, packages, files, view.project):
            return place
    return None
