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
import random
import subprocess
import sys
import tempfile
from collections import Counter
from typing import Any

from trl_lint.knowledge.api import resolve, signature
from trl_lint.knowledge.condition_language import CRASH, UNKNOWN, parse, truth_of
from trl_lint.knowledge.condition_names import names_in
from trl_lint.knowledge.conditions_join import Statement, statements
from trl_lint.missing import Missing
from trl_lint.project.effective import of_default

PROBE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "oracle", "config_probe.py")
CLASSES = (
    "trl:GRPOConfig", "trl:DPOConfig", "trl:SFTConfig", "trl:KTOConfig", "trl:RewardConfig", "trl:RLOOConfig",
    "transformers:TrainingArguments",
)  # fmt: skip
ADAPTERS_AND_PLUGINS = (
    "peft:LoraConfig", "peft:AdaLoraConfig", "peft:IA3Config", "peft:LoHaConfig", "peft:LoKrConfig", "peft:OFTConfig",
    "peft:BOFTConfig", "peft:PromptTuningConfig", "peft:PrefixTuningConfig", "peft:PromptEncoderConfig",
    "peft:VeraConfig", "peft:FourierFTConfig", "peft:HRAConfig", "peft:VBLoRAConfig", "peft:XLoraConfig",
    "peft:LNTuningConfig",
    "accelerate.utils:BnbQuantizationConfig", "accelerate.utils:FP8RecipeKwargs",
    "accelerate.utils:MSAMPRecipeKwargs", "accelerate.utils:TERecipeKwargs", "accelerate:ParallelismConfig",
    "accelerate.utils:TorchContextParallelConfig", "accelerate.utils:TorchTensorParallelConfig",
    "accelerate.utils:TorchDynamoPlugin", "accelerate.utils:FullyShardedDataParallelPlugin",
)  # fmt: skip
KEPT = 50  # configs of a class
_OTHERS = frozenset({"peft", "accelerate"})
SHORTEST = 8  # characters of a sentence that can be recognised
# What a machine with one CPU process has not, by the names that `is_…_available` gives.
_ABSENT = frozenset(
    {"torch-xla", "torch-xpu", "torch-npu", "torch-mlu", "torch-musa", "torch-hpu", "torch-mps", "torch-neuroncore",
     "torch-cuda", "sagemaker-mp", "sagemaker-dp"}
)  # fmt: skip
_FACTS: dict[str, object] = {
    "num_processes": 1, "rank": 0, "n_gpu": 0, "bf16_gpu": False, "tf32": False, "cuda": False, "cuda_device_count": 0,
    "zero3": False, "fsdp": False,
}  # fmt: skip


class Given:
    """A world of one config on a machine with one CPU process: what was given, else the default of the release."""

    def __init__(self, config: str, versions: dict[str, str], given: dict[str, Any]) -> None:
        found = resolve(config, versions)
        self.signature = signature(found, versions) if isinstance(found, str) else None
        self.versions = versions
        self.given = given

    def field(self, name: str) -> object:
        if name in self.given:
            return self.given[name]
        parameter = self.signature.parameters.get(name) if self.signature is not None else None
        said = of_default(parameter.default) if parameter is not None else None
        return UNKNOWN if said is None or isinstance(said, Missing) or isinstance(said.value, Missing) else said.value

    def base(self, name: str) -> object:
        return UNKNOWN

    def arg(self, name: str) -> object:
        return UNKNOWN

    def fact(self, name: str, arguments: tuple[object, ...]) -> object:
        if name == "installed":
            return False if arguments[0] in _ABSENT else arguments[0] in self.versions or UNKNOWN
        if name == "version":
            return self.versions.get(str(arguments[0]), UNKNOWN)
        if name == "env":
            return arguments[1] if len(arguments) > 1 else None
        return _FACTS.get(name, UNKNOWN)


def refusals(asked: str, versions: dict[str, str], given: dict[str, Any]) -> tuple[list[str], bool]:
    """The sentences by which a config is refused for all that we know, and whether an expression crashes."""
    package, name = _class_of(asked)
    found, crashes = [], False
    for statement in _statements(package, name, versions, Given(asked.replace(":", "."), versions, given)):
        truth = truth_of(statement.condition.condition, statement.world)
        if truth is True:
            found.append(statement.condition.sentence)
        crashes = crashes or truth is CRASH
    return found, crashes


def _class_of(asked: str) -> tuple[str, str]:
    """The package and the class of `accelerate.utils:FP8RecipeKwargs`."""
    module, _, name = asked.partition(":")
    return module.partition(".")[0], name


def _statements(package: str, name: str, versions: dict[str, str], world: Given) -> list[Statement]:
    return [each for each in statements(package, name, versions, world) if each.condition.kind == "refuse"]


def is_by(sentence: str, answer: list[str]) -> bool:
    """Whether a library's message is one that a recorded sentence gives."""
    kind, _, text = sentence.partition(": ")
    at, said = 0, answer[1]
    if kind != answer[0] or len(text.strip("{}")) < SHORTEST:
        return False
    for part in text.removesuffix(" …").replace("{{", "\x01").replace("}}", "\x02").split("{"):
        rest = part.partition("}")[2] if "}" in part else part
        rest = rest.replace("\x01", "{").replace("\x02", "}")[:100]
        found = said.find(rest, at)
        if found < 0:
            return len(said) >= 160 or at > 60  # cut off
        at = found + len(rest)
    return True


def judge(asked: str, versions: dict[str, str], configs: list[dict[str, Any]], answers: list[Any]) -> Counter[str]:
    """Accepted, refused, stated, false, missed (by a sentence of which the condition is recorded), other."""
    package, name = _class_of(asked)
    known = [s.condition.sentence for s in _statements(package, name, versions, Given("", versions, {}))]
    tally: Counter[str] = Counter()
    for config, answer in zip(configs, answers, strict=True):
        stated, crashes = refusals(asked, versions, config)
        if answer is None:
            tally["accepted"] += 1
            tally["false"] += bool(stated or crashes)
            continue
        tally["refused"] += 1
        is_expressible = any(is_by(sentence, answer) for sentence in known)
        tally["expressible"] += is_expressible
        tally["expressible and stated"] += is_expressible and bool(stated or crashes)
        tally["others"] += not is_expressible
        tally["others stated"] += not is_expressible and bool(stated or crashes)
    return tally


def draw(
    asked: str, versions: dict[str, str], fields: dict[str, list[Any]], count: int, seed: str
) -> list[dict[str, Any]]:
    """Random configs of one to four fields that occur in conditions, with values around the constants there."""
    package, name = _class_of(asked)
    constants: dict[str, dict[str, Any]] = {}
    for statement in _statements(package, name, versions, Given("", versions, {})):
        text = statement.condition.condition
        tree = parse(text)
        if tree is None:
            continue
        found = [each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)]
        for field in (each.removeprefix("base.") for each in names_in(text)):
            if field in fields:
                constants.setdefault(field, {}).update((repr(value), value) for value in found)
    chance = random.Random(seed)
    configs = []
    for _ in range(count):
        chosen = chance.sample(sorted(constants), min(len(constants), chance.randint(1, 4)))
        config = {field: _value(chance, list(constants[field].values()), *fields[field]) for field in chosen}
        if "output_dir" in fields:
            config.setdefault("output_dir", "out")
        if "use_cpu" in fields and chance.random() < 0.9:
            config["use_cpu"] = True
        configs.append(config)
    return configs


def _value(chance: random.Random, pool: list[Any], default: Any, annotation: str) -> Any:
    numbers = [value for value in pool if isinstance(value, (int, float)) and not isinstance(value, bool)]
    pool = [*pool, *(value + 1 for value in numbers), *(value - 1 for value in numbers)]
    pool += [None, "bogus", 0, -1, True, False, 0.5, 1, 2, 3, 4]
    if isinstance(default, (int, float)) and not isinstance(default, bool):
        pool += [default * 2, default + 1]
    if chance.random() < 0.6:  # of its own type
        same = [value for value in pool if type(value).__name__ in annotation and value is not None]
        pool = same or pool
    return chance.choice(pool)


def ask(python: str, asked: str, configs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the library of an environment says. Raises OSError if it cannot be asked."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "answers.json")
        text = json.dumps({"class": asked, "configs": configs, "out": out})
        done = subprocess.run([python, PROBE], input=text, capture_output=True, text=True, check=False)
        if not os.path.exists(out):
            raise OSError(done.stderr[-2000:])
        with open(out, encoding="utf-8") as stream:
            found: dict[str, Any] = json.load(stream)
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


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.conditions_oracle", description=__doc__)
    parser.add_argument(
        "--python", required=True, help="an interpreter beside which trl and transformers are installed"
    )
    parser.add_argument("--configs", type=int, default=500, help="how many of each class")
    parser.add_argument("--seed", default="held out")
    parser.add_argument("--keep", help="a file for some of the answers")
    parser.add_argument("--mutant", action="store_true")
    parser.add_argument("--keep-mutant", help="a file for the conditions of the mutant, beside `--mutant`")
    parser.add_argument("classes", nargs="*", default=(*CLASSES, *ADAPTERS_AND_PLUGINS))
    args = parser.parse_args(arguments)
    kept: list[dict[str, Any]] = []
    total: Counter[str] = Counter()
    for asked in args.classes:
        try:
            known = ask(args.python, asked, [])
            versions = known["versions"]
            if args.mutant and not kept:
                use_mutant(versions)
                if args.keep_mutant:
                    names = frozenset(
                        each.partition(":")[2] for each in (*args.classes, "transformers:TrainingArguments")
                    )
                    with open(args.keep_mutant, "w", encoding="utf-8") as stream:
                        json.dump({"versions": versions, "texts": mutant_texts(versions, names)}, stream, indent=1)
            configs = draw(asked, versions, known["fields"], args.configs, f"{asked} {args.seed}")
            answers = ask(args.python, asked, configs)["answers"]
        except OSError as error:
            print(f"{asked}: {error}", file=sys.stderr)
            continue
        tally = judge(asked, versions, configs, answers)
        total += tally
        pair = " ".join(
            f"{name} {versions[name]}"
            for name in ("trl", "transformers", *_OTHERS.intersection([_class_of(asked)[0]]))
            if name in versions
        )
        print(f"{pair} {asked}: " + ", ".join(f"{name} {tally[name]}" for name in NAMES), flush=True)
        versions = {name: versions[name] for name in sorted(versions)}
        kept.append({"class": asked, "versions": versions, "configs": configs[:KEPT], "answers": answers[:KEPT]})
    print("all: " + ", ".join(f"{name} {total[name]}" for name in NAMES))
    if args.keep:
        with open(args.keep, "w", encoding="utf-8") as stream:
            json.dump(kept, stream, separators=(",", ":"))
            stream.write("\n")
    return 1 if total["false"] else 0


NAMES = ("accepted", "refused", "expressible", "expressible and stated", "others", "others stated", "false")

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
