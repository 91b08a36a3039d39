"""Whether releases refuse what we say that they refuse.

`python -m benchmarks.conditions_oracle --python ENV/bin/python` builds random configs for real in an environment
(`tests/oracle/config_probe.py`) and judges them by the recorded conditions (`rules/conditions`). A refusal that we
state and the library does not know is false; of the refusals by a sentence that is recorded with its condition, those
that we do not state are missed. Values are drawn around the constants of the conditions.

`--keep FILE` keeps some of the answers as data for `tests/test_conditions_oracle.py`; `--mutant` judges with conditions
of which the assignments to fields were ignored, which has to state false refusals, and `--keep-mutant FILE` keeps those
of the classes for the same test.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

from benchmarks.oracle_commands import PROBES
from benchmarks.oracle_draws import draw
from benchmarks.oracle_worlds import Fields, class_of, refusing
from trl_lint.knowledge.api import resolve
from trl_lint.knowledge.condition_language import CRASH, truth_of
from trl_lint.knowledge.conditions import conditions_of, recorded_classes
from trl_lint.knowledge.histories import modules_with
from trl_lint.records import NamedTuple

CLASSES = (
    "trl:GRPOConfig", "trl:DPOConfig", "trl:SFTConfig", "trl:KTOConfig", "trl:RewardConfig", "trl:RLOOConfig",
    "transformers:TrainingArguments",
)  # fmt: skip
# Where the classes of a package are looked for, and its programs. A class that is in none of them cannot be asked.
MODULES = {
    "transformers": ("transformers.utils.quantization_config",),
    "peft": ("peft", "peft.tuners", "peft.tuners.tuners_utils", "peft.config"),
    "accelerate": (
        "accelerate.utils", "accelerate.utils.dataclasses", "accelerate.parallelism_config",
        "accelerate.commands.config.config_args",
    ),
    "vllm": ("vllm.sampling_params",),
    "deepspeed": (
        "deepspeed.runtime.zero.config", "deepspeed.runtime.zero.offload_config", "deepspeed.inference.config",
        "deepspeed.runtime.precision_config", "deepspeed.runtime.fp16.config", "deepspeed.runtime.config",
        "deepspeed.runtime.tensor_parallel.config", "deepspeed.runtime.tensor_parallel",
    ),
    "verl": (
        "verl.workers.config", "verl.workers.config.reward", "verl.trainer.config", "verl.utils.profiler",
        "verl.utils.profiler.config", "verl.utils.qat",
    ),
    "openrlhf": (),
}  # fmt: skip
PROGRAMS = {
    "verl": ("verl.trainer.main_ppo:",),
    "openrlhf": tuple(f"openrlhf.cli.train_{name}:" for name in ("ppo_ray", "sft", "rm", "dpo")),
}
KEPT, KEPT_OF_MANY, KEPT_IN_ALL = 50, 8, 360  # configs of a class, of one among many, and about as many of all
DECLARED = "ValidationError"
SHORTEST = 8  # characters of a sentence that can be recognised


class Installed(NamedTuple):
    """Where a release is: the interpreter, the folders that are looked in first, and the modules that have classes."""

    python: str
    beside: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


def refusals(
    asked: str, versions: dict[str, str], given: dict[str, Any], fields: Fields | None = None
) -> tuple[list[str], bool]:
    """The sentences by which a config is refused for all that we know, and whether an expression crashes."""
    found, crashes = [], False
    for condition, world in refusing(asked, versions, given, fields):
        truth = truth_of(condition.condition, world)
        if truth is True:
            found.append(condition.sentence)
        crashes = crashes or truth is CRASH
    return found, crashes


def is_by(sentence: str, answer: list[str]) -> bool:
    """Whether a library's message is one that a recorded sentence gives."""
    kind, _, text = sentence.partition(": ")
    at, said = 0, answer[1]
    if kind != answer[0] or len(text.strip("{}")) < SHORTEST:
        return False
    if kind == DECLARED and text.partition(": ")[2].startswith("Input should be "):
        field = text.partition(":")[0]
        return any(each.startswith(f"{field}: ") and not is_of_type(each) for each in said.split("; "))
    for part in text.removesuffix(" …").replace("{{", "\x01").replace("}}", "\x02").split("{"):
        rest = part.partition("}")[2] if "}" in part else part
        rest = rest.replace("\x01", "{").replace("\x02", "}")[:100]
        found = said.find(rest, at)
        if found < 0:
            return len(said) >= 160 or at > 60  # cut off
        at = found + len(rest)
    return True


def is_of_type(said: str) -> bool:
    """Whether pydantic refuses a value for its type: each release in words of its own."""
    is_told = "Input should be a valid " in said or said.endswith("none is not an allowed value")
    return is_told or ("is not a valid " in said and "enumeration" not in said)


def judge(
    asked: str,
    versions: dict[str, str],
    configs: list[dict[str, Any]],
    answers: list[Any],
    fields: Fields | None = None,
) -> Counter[str]:
    """Accepted, refused, stated, false, missed (by a sentence of which the condition is recorded), other."""
    tally: Counter[str] = Counter()
    for config, answer in zip(configs, answers, strict=True):
        stated, crashes = refusals(asked, versions, config, fields)
        is_stated = bool(stated or crashes)
        if answer is None:
            tally["accepted"] += 1
            tally["false"] += is_stated
            continue
        tally["refused"] += 1
        said = {condition.sentence for condition, _ in refusing(asked, versions, config, fields)}
        kind = "expressible" if any(is_by(sentence, answer) for sentence in said) else "others"
        tally[kind] += 1
        tally["expressible and stated" if kind == "expressible" else "others stated"] += is_stated
    return tally


class Library:
    """The library of an environment, which answers twice: what its classes have, then which configs they take.

    Raises OSError if it cannot be asked.
    """

    def __init__(self, at: Installed, every: tuple[str, ...]) -> None:
        around = {**os.environ, "PYTHONPATH": os.pathsep.join(at.beside)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [at.python, os.path.join(PROBES, "config_probe.py")],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            text=True,
            env=around,
        )
        known = self._answer({"classes": every, "modules": at.modules})
        self.versions: dict[str, str] = known["versions"]
        self.fields: dict[str, Fields] = known["fields"]
        self.missing: dict[str, str] = known["missing"]

    def take(self, configs: dict[str, list[dict[str, Any]]]) -> dict[str, list[Any]]:
        """By class, for each config None or the exception and its text."""
        found: dict[str, list[Any]] = self._answer(configs)
        self._process.communicate()
        return found

    def _answer(self, said: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(said), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise OSError(f"what was asked ended with {self._process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found


def use_mutant(versions: dict[str, str]) -> None:
    """Judge with conditions that were read as if nothing was assigned to a field."""
    from trl_lint.knowledge import conditions

    conditions._text = mutant_texts(versions).get  # type: ignore[assignment]


def mutant_texts(versions: dict[str, str], classes: frozenset[str] = frozenset()) -> dict[str, str]:
    """The conditions of releases, read as if nothing was assigned to a field: of some classes, or of all of them."""
    from trl_lint.knowledge.refresher import conditions_statements, index
    from trl_lint.knowledge.refresher.conditions import release_conditions
    from trl_lint.knowledge.refresher.conditions_build import RECORDED
    from trl_lint.knowledge.refresher.conditions_write import History, add_release, render
    from trl_lint.knowledge.refresher.packages import PACKAGES

    store = conditions_statements.store

    def forgetful(target: ast.expr, value: Any, frame: Any) -> None:
        if not isinstance(target, ast.Attribute):
            store(target, value, frame)

    conditions_statements.store = forgetful
    texts = {}
    for name in ("trl", "transformers"):
        modules = RECORDED[name].modules
        archive = next(each for each in index.archives(name) if str(each.version) == versions[name])
        history = History([versions[name]], {}, {})
        contents = index.read(archive, PACKAGES[name].is_wanted)
        found = release_conditions(name, contents.members, {}, modules)
        add_release(history, versions[name], [each for each in found if not classes or each.owner in classes])
        texts[name] = render(name, history)
    conditions_statements.store = store
    return texts


def asked_of(package: str, version: str) -> tuple[str, ...]:
    """The programs and classes of a release of which a refusal is recorded."""
    names = [
        name
        for name in recorded_classes(package)
        if name[:1].isupper()
        and "." not in name
        and any(each.kind == "refuse" for each in conditions_of(package, name, version))
    ]
    if package == "trl":
        homes = (_home(name, version) for name in names if name.endswith("Config"))
        return tuple(dict.fromkeys((*CLASSES, *homes)))
    known = {name for module in PROGRAMS.get(package, ()) for name in _PARTS.get(module, ())}
    return (*PROGRAMS.get(package, ()), *(f"{package}:{name}" for name in names if name not in known))


def _home(name: str, version: str) -> str:
    """A class of TRL where a release has it: `trl.experimental.gold:GOLDConfig`."""
    places = (
        each for each in modules_with("trl", name) if isinstance(resolve(f"{each}.{name}", {"trl": version}), str)
    )
    return f"{next(places, 'trl')}:{name}"


# What is recorded of a program under names of its own; the last one loads a model, and is not asked.
_PARTS = {"verl.trainer.main_ppo:": ("RayPPOTrainer", "validate_config", "HFModelConfig")}


class Asking(NamedTuple):
    """How many configs of each, from which seed, and whether only arithmetic is asked."""

    number: int = 500
    seed: str = "held out"
    counts: bool = False


def cases_of(library: Library, how: Asking) -> list[dict[str, Any]]:
    """What a library says of random configs, class by class."""
    versions = library.versions
    configs = {
        asked: draw(asked, versions, fields, how.number, f"{asked} {how.seed}", how.counts)
        for asked, fields in library.fields.items()
    }
    answers = library.take(configs)
    return [
        {
            "class": each,
            "versions": versions,
            "fields": library.fields[each],
            "configs": given,
            "answers": answers[each],
        }
        for each, given in configs.items()
    ]


def tally_of(case: dict[str, Any]) -> Counter[str]:
    return judge(case["class"], case["versions"], case["configs"], case["answers"], case.get("fields"))


def keep(cases: list[dict[str, Any]], file: str) -> None:
    """Write some of the answers down, with those versions and fields that they are read with."""
    kept = []
    for case in cases:
        count = max(KEPT_OF_MANY, min(KEPT, KEPT_IN_ALL // len(cases)))
        package = class_of(case["class"])[0]
        versions = {name: case["versions"][name] for name in sorted(case["versions"]) if _is_read(name, package)}
        used = {name for config in case["configs"] for name in config}
        fields = (
            {name: field for name, field in case["fields"].items() if name in used} if case["class"][-1] != ":" else {}
        )
        of_case = {"class": case["class"], "versions": versions, "fields": fields}
        kept.append({**of_case, "configs": case["configs"][:count], "answers": case["answers"][:count]})
    with open(file, "w", encoding="utf-8") as stream:
        json.dump(kept, stream, separators=(",", ":"))
        stream.write("\n")


def _is_read(name: str, package: str) -> bool:
    return package in ("trl", "transformers") or name in (package, "torch", "transformers", "accelerate", "peft")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conditions_oracle", description=__doc__)
    parser.add_argument("--python", required=True, help="an interpreter with the releases beside it")
    parser.add_argument("--beside", nargs="*", default=(), help="folders with a release and what it needs")
    parser.add_argument("--package", default="", help="all that is recorded of a package, instead of classes")
    parser.add_argument("--release", default="", help="the release of the package")
    parser.add_argument("--arithmetic", action="store_true", help="only settings that are counted with, as numbers")
    parser.add_argument("--configs", type=int, default=500, help="how many of each class")
    parser.add_argument("--seed", default="held out")
    parser.add_argument("--keep", help="a file for some of the answers")
    parser.add_argument("--mutant", action="store_true")
    parser.add_argument("--keep-mutant", help="a file for the conditions of the mutant, beside `--mutant`")
    parser.add_argument("-v", action="store_true", help="every config that is judged otherwise, and why it was refused")
    parser.add_argument("classes", nargs="*", default=CLASSES)
    args = parser.parse_args(arguments)
    every = tuple(args.classes)
    if args.package:
        every = asked_of(args.package, args.release)
    if args.arithmetic:
        every = PROGRAMS[args.package][:1]
    library = Library(Installed(args.python, tuple(args.beside), MODULES.get(args.package, ())), every)
    versions = library.versions
    if args.mutant:
        use_mutant(versions)
        if args.keep_mutant:
            names = frozenset(each.partition(":")[2] for each in (*every, "transformers:TrainingArguments"))
            with open(args.keep_mutant, "w", encoding="utf-8") as stream:
                json.dump({"versions": versions, "texts": mutant_texts(versions, names)}, stream, indent=1)
    total: Counter[str] = Counter()
    cases = []
    for name, why in library.missing.items():
        print(f"{name} cannot be asked: {why}", file=sys.stderr)
    for case in cases_of(library, Asking(args.configs, args.seed, args.arithmetic)):
        tally = tally_of(case)
        total += tally
        cases.append(case)
        package = class_of(case["class"])[0]
        named = (package,) if package not in ("trl", "transformers") else ("trl", "transformers")
        pair = " ".join(f"{name} {case['versions'][name]}" for name in named if name in case["versions"])
        print(f"{pair} {case['class']}: " + ", ".join(f"{name} {tally[name]}" for name in NAMES), flush=True)
        if args.v:
            _show(case)
    print("  all: " + ", ".join(f"{name} {total[name]}" for name in NAMES))
    if args.keep:
        keep(cases, args.keep)
    return 1 if total["false"] else 0


def _show(case: dict[str, Any]) -> None:
    """The configs of which we say another thing than the library."""
    for config, answer in zip(case["configs"], case["answers"], strict=True):
        stated, crashes = refusals(case["class"], case["versions"], config, case["fields"])
        if bool(stated or crashes) is (answer is None):
            print("   FALSE" if answer is None else "   missed", config, answer or stated or "crash")


NAMES = ("accepted", "refused", "expressible", "expressible and stated", "others", "others stated", "false")

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
