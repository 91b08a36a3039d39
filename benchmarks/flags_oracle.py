"""Whether ms-swift refuses what we say that it refuses of a command.

    python -m benchmarks.flags_oracle --python ENV/bin/python --examples DIR --release 4.6.0

changes a few flags of the commands in the framework's own scripts at random, hands each to its real argument classes
(`tests/oracle/swift_probe.py`), and judges it by what is recorded. A refusal that we state of a command that they take
is false. `--keep FILE` keeps some of the answers as data for `tests/knowledge/test_flags_oracle.py`.
"""

from __future__ import annotations

import glob
import os
import random
import re
import shlex
import sys

from benchmarks.oracle_commands import Case, asked, keep, options, told
from benchmarks.oracle_worlds import compared
from trl_lint.checks.configs._command_flags import CommandFlags, flags_of, settings_in
from trl_lint.checks.configs._program_refusals import refused_in
from trl_lint.knowledge.command_keys import accepted_transformers, choices_of, keys_of
from trl_lint.knowledge.families import arguments_of
from trl_lint.project.launches import read_launches
from trl_lint.run.readers.argparse_flags import read_arguments
from trl_lint.run.readers.command_words import Given
from trl_lint.sources import SourceFile

PACKAGE = "ms-swift"
COMMANDS = ("sft", "pt", "rlhf")
# What the machine decides, and files that are not there.
LEFT_OUT = frozenset({"deepspeed", "fsdp", "model", "dataset", "use_ray", "resume_from_checkpoint", "external_plugins",
                      "custom_register_path", "adapters", "ref_adapters", "teacher_adapters", "load_args",
                      "output_dir"})  # fmt: skip
KEPT = 15
_MOST_CHANGES = 4
# What another package, a file or the number of processes decides.
NEEDS = re.compile(
    r"ModuleNotFoundError|ImportError|PackageNotFoundError|install|No such file|(self\.(system|ckpt_dir)|\w+_path): "
    r"|GPUs|divisible by num_generations|device_map|DeepSpeed"
)
_WRONG = ("abc", "0.5", "2", "true", "-1")


def stated(argv: list[str], version: str) -> list[str]:
    """The sentences by which we say that a release refuses a command."""
    text = f"swift {shlex.join(argv)}\n"
    launch = read_launches(SourceFile("run.sh", text.encode()))[0]
    family = arguments_of("swift")
    assert family is not None
    found = CommandFlags(launch, family, argv[0], {}, Given(launch.args, launch))  # type: ignore[arg-type]
    arguments = read_arguments(launch.args, flags_of(PACKAGE, argv[0], version))
    faults = [f"{fault.kind} {fault.flag}" for fault in arguments.faults if fault.kind in ("type", "choice")]
    keys, accepted = keys_of(PACKAGE, argv[0], version), accepted_transformers(PACKAGE, version)
    unknown = [
        name for word in launch.args if (word.text or "").startswith("--")
        for name in [(word.text or "")[2:]] if keys is not None and keys.takes(name, accepted) is False
    ]  # fmt: skip
    settings = settings_in(found, version)
    refused = refused_in(PACKAGE, version, settings) if settings is not None else []
    return [*faults, *unknown, *(each.condition.sentence for each in refused if not each.crashes)]


def values_of(command: str, version: str) -> dict[str, list[str]]:
    """The flags that conditions mention, each with values around the constants beside it, and all that have choices."""
    asked_of = compared(PACKAGE, command, version)
    found = {name: [*map(str, values), "true", "false", _WRONG[0]] for name, values in asked_of.items()}
    for name, values in choices_of(PACKAGE, command, version).items():
        found.setdefault(name, []).extend([*sorted(values)[:4], "abc"])
    keys = keys_of(PACKAGE, command, version)
    known = keys.own if keys is not None else frozenset()
    return {name: values for name, values in found.items() if name in known and name not in LEFT_OUT}


def changed(base: list[str], values: dict[str, list[str]], chance: random.Random) -> list[str]:
    """A command with a few flags set or taken away."""
    flags = split(base)
    for _ in range(chance.randint(0, _MOST_CHANGES)):
        name = chance.choice(sorted(values)) if chance.random() < 0.8 else chance.choice(sorted(flags) or ["packing"])
        if chance.random() < 0.15:
            flags.pop(name, None)
        else:
            flags[name] = [chance.choice([*values.get(name, ()), chance.choice(_WRONG)])]
    return [base[0], *(word for name, given in flags.items() for word in (f"--{name}", *given))]


def split(argv: list[str]) -> dict[str, list[str]]:
    """The flags of a command with their values, but those that are left out."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in argv[1:]:
        if word.startswith("--"):
            name = word[2:]
            found[name] = []
        elif name:
            found[name].append(word)
    kept = {name: given for name, given in found.items() if name not in LEFT_OUT}
    return {**kept, "model": ["Qwen/Qwen2.5-7B-Instruct"], "dataset": ["swift/self-cognition"]}


def read_examples(folder: str) -> list[list[str]]:
    """The commands in the scripts of a folder that are written out."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.sh"), recursive=True)):
        with open(path, "rb") as stream:
            launches = read_launches(SourceFile(path, stream.read()))
        for launch in launches:
            words = [word.text for word in launch.args]
            if launch.subcommand in COMMANDS and all(word is not None and "$" not in word for word in words):
                argv = [str(launch.subcommand), *(str(word) for word in words)]
                flags = split(argv)
                found.append([argv[0], *(word for name, given in flags.items() for word in (f"--{name}", *given))])
    return found


def main(argv: list[str]) -> int:
    args = options(__doc__, 400).parse_args(argv)
    chance = random.Random(args.seed)
    examples = read_examples(args.examples)
    values = {command: values_of(command, args.release) for command in COMMANDS}
    bases = [chance.choice(examples) for _ in range(args.number)]
    commands = [*examples, *(changed(base, values[base[0]], chance) for base in bases)]
    answers = asked(args.python, "swift_probe.py", commands)
    cases = [
        Case(command, answer, stated(command, args.release), number < len(examples), bool(NEEDS.search(answer or "")))
        for number, (command, answer) in enumerate(zip(commands, answers, strict=True))
    ]
    if args.keep:
        taken = [case for case in cases if case.answer is None]
        refused = [case for case in cases if case.answer and case.stated]
        keep(args.keep, {"release": args.release}, "command", (taken, refused), KEPT, args.seed)
    return told(f"{PACKAGE} {args.release}", cases, args.v)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
