"""What Hydra itself says about the overrides of real verl scripts; its verdicts are kept in `hydra_overrides.json`.

Not run by the test suite. Three steps, the second with an interpreter that has hydra-core 1.3:

    python tests/oracle/hydra_overrides.py extract CASES.json  TAG=CHECKOUT…
    python tests/oracle/hydra_overrides.py compose CASES.json ANSWERS.json  RELEASE=FOLDER…
    python tests/oracle/hydra_overrides.py keep ANSWERS.json

`CHECKOUT`: the files of verl at that tag, `FOLDER`: the `verl/trainer/config` of a release. `extract` takes the
commands whose overrides are all known by key; values that are not known become `1`. `compose` asks Hydra about every
command on every release, override by override.
"""

from __future__ import annotations

import copy
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from trl_lint.project.launch_table import all_launches

KEPT = Path(__file__).parent / "hydra_overrides.json"
PROGRAMS = ("verl.trainer.main_ppo",)
REFUSED = re.compile(
    r"(?:Could not override '([^']+)'|An item is already at '([^']+)'|Could not delete from config\. '([^']+)')"
)


def extract(out: str, *checkouts: str) -> None:
    from trl_lint.project import Project
    from trl_lint.run.readers.hydra import read_command_line
    from trl_lint.settings import Settings
    from trl_lint.sources import Files

    cases = []
    for checkout in checkouts:
        tag, _, folder = checkout.partition("=")
        root = os.path.abspath(folder)
        for launch in all_launches(Project(root, Files(), Settings())):
            line = read_command_line(launch) if launch.module in PROGRAMS else None
            if line is None or line.groups or launch.command.errors or not line.overrides:
                continue
            if line.config_path not in ("", "config", "./config"):
                continue
            words = [
                f"{o.head}={'1' if o.value is None else o.value}" if o.sign != "~" or o.value else o.head
                for o in line.overrides
                if o.is_certain
            ]
            row = launch.source.text.count("\n", 0, launch.command.start) + 1
            where = f"{os.path.relpath(launch.source.path, root)}:{row}"
            cases.append({"tag": tag, "where": where, "config": line.config_name or "ppo_trainer", "words": words})
    Path(out).write_text(json.dumps(cases, indent=1), encoding="utf-8")
    print(len(cases), "commands")


def compose(source: str, out: str, *releases: str) -> None:
    cases = json.loads(Path(source).read_text(encoding="utf-8"))
    answers = []
    for release in releases:
        version, _, folder = release.partition("=")
        ask = Asker(os.path.abspath(folder))
        answers += [{**case, "on": version, **ask.refused(case["config"], case["words"])} for case in cases]
    Path(out).write_text(json.dumps(answers, indent=1), encoding="utf-8")


class Asker:
    """Hydra with the configs of one folder. Each configuration is composed once; Hydra's code applies the overrides."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.composed: dict[tuple[str, ...], Any] = {}

    def base(self, config: str, groups: tuple[str, ...]) -> Any:
        from hydra import compose, initialize_config_dir

        key = (config, *groups)
        if key not in self.composed:
            with initialize_config_dir(self.folder, version_base=None):
                self.composed[key] = compose(config, list(groups))
        return self.composed[key]

    def refused(self, config: str, words: list[str]) -> dict[str, Any]:
        """The words that Hydra refuses, each time as if the refused ones were not there; or why it does not compose."""
        from hydra._internal.config_loader_impl import ConfigLoaderImpl
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.errors import HydraException

        found: list[str] = []
        groups = [word for word in words if self.is_group(word)]
        try:
            configuration = copy.deepcopy(self.base(config, tuple(groups)))
            for word in words:
                if word in groups:
                    continue
                parsed = OverridesParser.create().parse_overrides([word])
                try:
                    ConfigLoaderImpl._apply_overrides_to_config(parsed, configuration)
                except HydraException as error:
                    if not REFUSED.search(str(error)):
                        raise
                    found.append(word)
        except Exception as error:
            return {"refused": found, "error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        return {"refused": found, "error": ""}

    def is_group(self, word: str) -> bool:
        name = word.lstrip("+").partition("=")[0]
        return "@" in name or os.path.isdir(os.path.join(self.folder, name))


def keep(source: str) -> None:
    """Write the answers small: every word once; of a value only what Hydra's verdict can depend on."""
    answers = json.loads(Path(source).read_text(encoding="utf-8"))
    table: dict[str, int] = {}

    def number(word: str) -> int:
        head, equals, value = word.partition("=")
        if head.lstrip("+") != "model_engine" and value[:1] not in ("{", "["):
            value = "1" if equals else ""
        elif value[:1] in ("{", "["):
            value = value[0] + "}]"[value[0] == "["]
        return table.setdefault(f"{head}{equals}{value}", len(table))

    cases = [
        {
            "from": f"{answer['tag']} {answer['where']}",
            "on": answer["on"],
            "config": answer["config"],
            "words": [number(word) for word in answer["words"]],
            "refused": sorted(number(word) for word in answer["refused"]),
        }
        for answer in answers
        if not answer["error"]
    ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    KEPT.write_text(f'{{"words": {json.dumps(list(table), indent=0)},\n"cases": [\n{lines}\n]}}\n', encoding="utf-8")
    print(len(cases), "kept,", len(answers) - len(cases), "with another error")


if __name__ == "__main__":
    {"extract": extract, "compose": compose, "keep": keep}[sys.argv[1]](*sys.argv[2:])
