"""`rules/conditions/<package>.txt`: the releases that it does not have yet are read and added, and counted in
`rules/coverage/<package>.txt`.
"""

from __future__ import annotations

import re
from functools import partial

from packaging.version import Version

from trl_lint.knowledge.api import facts
from trl_lint.knowledge.refresher import conditions_coverage
from trl_lint.knowledge.refresher.conditions import Condition, release_conditions
from trl_lint.knowledge.refresher.conditions_programs import Program
from trl_lint.knowledge.refresher.conditions_source import Trees
from trl_lint.knowledge.refresher.conditions_write import History, add_release, parse, render
from trl_lint.knowledge.refresher.packages import PACKAGES
from trl_lint.knowledge.refresher.tables import read_releases, read_table, write_table
from trl_lint.missing import Missing
from trl_lint.records import NamedTuple


class Recorded(NamedTuple):
    """The oldest release read, the modules whose classes are asked, the programs, and files that are read beside those
    of the API histories (a regular expression).

    What nobody asks costs space in every installation: `longest` is how many characters of a condition are written
    down, `written` a regular expression over `KIND CLASS` for what is; the rest is only counted. `flags`: modules whose
    dataclasses are parsed from a command, `commands`: those whose dataclass (`command NAME` of the histories) is run;
    `constructed`: modules whose classes are asked by the constructor that they write.
    """

    since: str
    modules: tuple[str, ...]
    programs: tuple[Program, ...] = ()
    beside: str = "$^"
    longest: int = 5000
    written: str = ".*"
    flags: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    constructed: tuple[str, ...] = ()

    def is_wanted(self, package: str, path: str) -> bool:
        return PACKAGES[package].is_wanted(path) or re.fullmatch(self.beside, path) is not None

    def writes(self, found: Condition) -> bool:
        return re.fullmatch(self.written, f"{found.kind} {found.owner}") is not None


# verl starts a reference model where the KL divergence counts (`add_ref_policy_worker` of main_ppo.py, 0.3 to 0.6.1;
# `need_reference_policy` since), and a critic as `need_critic` says (trainer/ppo/utils.py since 0.6.0).
_REFERENCE = (
    "use_reference_policy",
    "config.algorithm.get('use_kl_in_reward', False) or config.actor_rollout_ref.actor.use_kl_loss",
)
_CRITIC = (
    "use_critic",
    "bool(config.critic.enable) if config.critic.enable is not None else config.algorithm.adv_estimator == 'gae'",
)

# What axolotl finds out itself (cli/config.py, `load_cfg`), and its commands for other purposes than training set.
_OF_MACHINE = ("capabilities", "env_capabilities", "axolotl_config_path", "world_size", "local_rank")

RECORDED = {
    "trl": Recorded("0.7", ("trl.*",), flags=("trl.trainer.*", "trl.scripts.*", "trl.experimental.*")),
    "transformers": Recorded(
        "4.40",
        ("transformers.training_args*", "transformers.trainer"),
        constructed=("transformers.utils.quantization_config",),
        written=r".* (\w*TrainingArguments|Trainer|BitsAndBytesConfig|GPTQConfig|AwqConfig|HqqConfig|QuantoConfig)",
    ),
    "verl": Recorded(
        "0.2",
        ("verl.workers.config*", "verl.trainer.config*", "verl.utils.profiler*", "verl.utils.qat*"),
        (
            Program("verl.trainer.ppo.ray_trainer:RayPPOTrainer", "RayPPOTrainer", (_REFERENCE,)),
            Program("verl.utils.config:validate_config", "validate_config", (_REFERENCE, _CRITIC)),
        ),
        r"verl/(base_config|utils/(qat|profiler)/(__init__|config|core)|workers/config/.*)\.py",
    ),
    "openrlhf": Recorded("0.3", (), (Program("openrlhf.cli.*:"),)),
    "peft": Recorded("0.3", ("peft.config", "peft.tuners.*", "peft.utils*"), written="(refuse|default) .*"),
    "accelerate": Recorded(
        "0.20",
        ("accelerate.utils.dataclasses", "accelerate.parallelism_config", "accelerate.commands.config.config_args"),
        (Program("accelerate.commands.launch:_validate_launch_command", "launch", is_flat=True),),
        longest=700,
        written="refuse .*",
    ),
    "vllm": Recorded(
        "0.4",
        ("vllm.config*", "vllm.sampling_params", "vllm.engine.arg_utils", "vllm.pooling_params"),
        longest=250,
        constructed=("vllm.sampling_params",),
        written="refuse (SamplingParams|GuidedDecodingParams|StructuredOutputsParams)",
    ),
    "deepspeed": Recorded("0.9", ("deepspeed.*",)),
    # What every command reads its config into: its name is that under which `rules/api` has the keys.
    "ms-swift": Recorded(
        "2.0",
        (),
        longest=700,
        written="(refuse|flag|type) .*",
        # Those of the commands in `rules/api`: not what a server is sent.
        flags=(
            "swift.arguments*",
            "swift.megatron.argument*",
            "swift.llm.argument*",
            "swift.llm.utils.argument",
            "swift.trainers*",
            "swift.rlhf_trainers*",
            "swift.ray*",
        ),
        commands=("sft", "pt", "rlhf", "dpo", "orpo", "simpo"),
    ),
    "llamafactory": Recorded(
        "0.7",
        (),
        (
            Program(
                "llamafactory.hparams.parser:get_train_args",
                "train",
                (("is_env_enabled", "False"),),  # projects that set such variables are left alone
                parsed=("_parse_train_args", "_TRAIN_ARGS"),
            ),
        ),
        longest=700,
        written="(refuse|flag|type) .*",
        flags=("llamafactory.hparams.*",),
    ),
    "axolotl": Recorded(
        "0.5.1.post1",
        (),
        (
            Program("axolotl.utils.schemas.config:AxolotlConfigWCapabilities", "train", hidden=_OF_MACHINE),
            Program("axolotl.utils.config.models.input.v0_4_1:AxolotlConfigWCapabilities", "train", hidden=_OF_MACHINE),
        ),
        longest=700,
        written="(refuse|type) .*",
    ),
}


def build(name: str, anew: bool = False) -> str:
    """The text of the conditions of a package: the releases that it does not have yet are added, with `anew` all. What
    of them is expressed is written beside it (`rules/coverage`).

    Raises OSError (network), zipfile.BadZipFile and tarfile.TarError (damaged archive).
    """
    recorded, known = RECORDED[name], Trees()
    written = "" if anew else read_table("conditions", name)
    history = parse(written) if written else History([], {}, {})
    history.coverage.update(conditions_coverage.parse(read_table("coverage", name), history.releases))
    for version, contents in read_releases(name, recorded.since, partial(recorded.is_wanted, name), history.releases):
        commands = _commands_of(name, recorded.commands, version)
        found = release_conditions(
            name,
            contents.members,
            known,
            recorded.modules,
            recorded.programs,
            recorded.flags,
            commands,
            recorded.constructed,
        )
        history.releases.append(version)
        found = [_shortened(each, recorded.longest) for each in found]
        add_release(history, version, found, recorded.writes)
    history.releases.sort(key=Version)
    write_table("coverage", name, conditions_coverage.render(name, history.coverage, history.releases))
    return render(name, history)


def _commands_of(package: str, commands: tuple[str, ...], version: str) -> dict[str, str]:
    """The dataclasses of those commands that a release has, as the API history tells them."""
    found = {command: facts(package, f"command {command}", version) for command in commands}
    return {command: each["@classes"] for command, each in found.items() if not isinstance(each, Missing)}


def _shortened(found: Condition, longest: int) -> Condition:
    """A condition that nobody could read, and that costs more than it finds, is only counted."""
    if len(found.condition) <= longest:
        return found
    return found._replace(condition="", reason="a condition that is too long to be written down")
