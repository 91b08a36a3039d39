"""Values that YAML gives another type than their field needs, and what the loaders of the file make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeGuard

from trl_lint.checks._runs import recipe_launches
from trl_lint.finding import SEVERITIES, Location, Severity
from trl_lint.grading import milder
from trl_lint.knowledge.loaders import STOPS, Loader, as_filled, as_read, loaders
from trl_lint.memos import per_project
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.run.runs import run_of
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, value_of, walk
from trl_lint.words import words

_TRL = "trl"
_EXPONENT = regex(r"(?P<whole>[-+]?\d+)(?:\.(?P<part>\d*))?[eE](?P<exponent>[-+]?\d+)$")

# transformers.TrainingArguments 4.40 to 5.23 and the configs of trl 0.9 to 1.16: fields that are float in every release
# that has them. `warmup_steps` is missing on purpose: it is int in one release and float in another.
_FLOAT_FIELDS = words("""
    learning_rate weight_decay adam_beta1 adam_beta2 adam_epsilon max_grad_norm num_train_epochs warmup_ratio
    eval_delay label_smoothing_factor neftune_noise_alpha logging_steps save_steps eval_steps temperature top_p
    min_p repetition_penalty epsilon epsilon_high delta label_smoothing kl_coef cliprange cliprange_value vf_coef
    gamma lam lmbda lora_dropout vllm_gpu_memory_utilization vllm_server_timeout ref_model_mixup_alpha
    desirable_weight undesirable_weight rpo_alpha cpo_alpha simpo_gamma router_aux_loss_coef missing_eos_penalty
    center_rewards_coefficient discopop_tau top_entropy_quantile
""")
_INT_FIELDS = words("""
    max_steps per_device_train_batch_size per_device_eval_batch_size gradient_accumulation_steps save_total_limit
    seed data_seed dataloader_num_workers dataset_num_proc max_length max_seq_length max_prompt_length
    max_completion_length num_generations num_iterations steps_per_generation generation_batch_size lora_r
    lora_alpha ddp_timeout
""")
STRATEGY_FIELDS = ("eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy")


class RecipeTrap(NamedTuple):
    """A value of another type than was meant: the key at the top of the recipe, the value, what its field takes, and
    how it is to be written ("" where that is not clear). "inside": the field is a mapping or a list that holds it.
    """

    name: str
    node: Scalar
    kind: Literal["strategy", "int", "float", "inside"]
    spelling: str

    def harms(self, loader: Loader) -> bool:
        """Whether the value does harm where a loader hands it on."""
        value, filling = as_read(self.node, loader.library), loader.filling
        if self.kind == "strategy":
            # An object that is made looks at no attribute; what pydantic says of it is another rule's to tell.
            return value is False and filling not in ("attributes", "pydantic")
        if self.kind == "inside":
            return isinstance(value, str) and filling not in ("words", "pydantic")
        if filling == "words" and self.kind == "float":
            return False
        held = as_filled(value, self.kind, filling)
        return held is STOPS or isinstance(held, str)

    @property
    def told(self) -> str:
        """What YAML makes of it."""
        if self.kind == "strategy":
            return f"`{self.name}: {self.node.raw}` is the boolean False in YAML 1.1"
        return f"`{self.node.raw}` is the string '{self.node.value}' in YAML 1.1"


def recipe_traps(document: Document) -> Iterator[RecipeTrap]:
    """The values of a recipe that some loader stumbles over."""
    for name, node in last_values(document):
        if isinstance(node, Scalar):
            if name in STRATEGY_FIELDS and is_negative_word(node):
                yield RecipeTrap(name, node, "strategy", quoted(node, "no"))
            elif name in _INT_FIELDS and is_number_string(node):
                yield RecipeTrap(name, node, "int", integer_spelling(node) or "")
            elif name in _FLOAT_FIELDS and is_number_string(node):
                yield RecipeTrap(name, node, "float", float_spelling(node) or "")
        elif name == "lr_scheduler_kwargs" or (name == "reward_weights" and isinstance(node, Sequence)):
            for _, inner in walk(node):
                if is_number_string(inner):
                    yield RecipeTrap(name, inner, "inside", float_spelling(inner) or "")


# -- what they do -----------------------------------------------------------------------------------------------------


class Harm(NamedTuple):
    """How severe a trap is, and the words about it around the spelling that is right."""

    severity: Severity
    why: str
    scope: str = ""
    related: tuple[Location, ...] = ()


def harm_of(trap: RecipeTrap, document: Document, project: Project, highest: Severity) -> Harm | None:
    """The worst that a trap does in the runs that load a document, and in none of them where it is in no run."""
    ways = _ways(document, project)
    harms = [harm for way in ways if (harm := _harm(trap, way, document, project, highest)) is not None]
    return max(harms, key=lambda one: SEVERITIES.index(one.severity)) if harms else None


@per_project
def _ways(document: Document, project: Project) -> tuple[tuple[Loader, ...], ...]:
    """The loaders of a document, one entry for each way in which runs load it; of no run where none does."""
    from trl_lint.run.loaders import loader_of

    runs = [run_of(launch, project) for launch in recipe_launches(document, project)]
    return tuple(dict.fromkeys(loader_of(document, project, run) for run in runs)) or (loader_of(document, project),)


def _harm(
    trap: RecipeTrap, way: tuple[Loader, ...], document: Document, project: Project, highest: Severity
) -> Harm | None:
    """What a trap does where a file is loaded in a way (`loader_of`); None if nothing, as far as can be seen."""
    from trl_lint.checks.verdict import judge_pins

    environment, severity = project.environment(document.path), highest
    if not way:
        if trap.kind != "float":
            return Harm(milder(severity), _why(trap))
        # Such files are written for the parser of TRL, which converts floats in all but its first releases.
        way = tuple(row for row in loaders() if row.parser == _TRL)
        if environment.package(_TRL).source in ("assumed", "unknown"):
            converts = next(f"{row.name} of {row.package}{row.releases}" for row in way if not trap.harms(row))
            return Harm("info", _why(trap), f"; only {converts} converts it")
    harmful = [row for row in way if trap.harms(row)]
    if not harmful:
        return None
    row = harmful[0]
    severity = severity if row.filling else milder(severity)
    is_known = environment.package(row.package).source not in ("assumed", "unknown") if row.package else False
    others = [each for each in loaders() if each.name == row.name and not trap.harms(each)]
    if (trap.kind == "float" and not others) or (trap.kind != "float" and not (is_known and len(harmful) < len(way))):
        return Harm(severity, _why(trap, row))
    verdict = judge_pins(environment, {row.package: row.releases}, severity)
    if verdict is None:
        return None
    return Harm(verdict.severity, _why(trap, row), f" ({verdict.scope})", verdict.related)


def _why(trap: RecipeTrap, loader: Loader | None = None) -> str:
    if trap.kind == "strategy":
        return "transformers stops (False is not a valid strategy)"
    if trap.kind == "int":
        return f"{trap.name} needs an integer"
    if trap.kind == "inside":
        return f"nothing converts it inside {trap.name}"
    if loader is None or not loader.filling:
        return f"{trap.name} needs a number"
    return f"{loader.name} hands it to {trap.name} unconverted"


class Trap(NamedTuple):
    """A value of an accelerate config that the launcher stumbles over; `name` is the option that would override it."""

    name: str
    node: Scalar
    message: str


def accelerate_traps(document: Document) -> Iterator[Trap]:
    """What `accelerate launch` reads with a string method, though YAML made something else of it.

    Read in accelerate 0.34.0 and 1.15.0 (commands/launch.py, utils/launch.py).
    """
    root = document.mapping
    if root is None:
        return
    # The launchers of TPUs never touch the precision's name.
    is_tpu = value_of(root.get("distributed_type")) in ("XLA", "TPU")
    precision = root.get("mixed_precision")
    if isinstance(precision, Scalar) and is_negative_word(precision) and not is_tpu:
        yield Trap("mixed_precision", precision, _boolean_message("mixed_precision", precision, "lower"))
    if value_of(root.get("compute_environment")) == "AMAZON_SAGEMAKER":
        return
    dynamo = root.get("dynamo_config")
    backend = root.get("dynamo_backend") or (dynamo.get("dynamo_backend") if isinstance(dynamo, Mapping) else None)
    if isinstance(backend, Scalar) and is_negative_word(backend) and not is_tpu:
        yield Trap("dynamo_backend", backend, _boolean_message("dynamo_backend", backend, "upper"))
    gpus = root.get("gpu_ids")
    if isinstance(gpus, Scalar) and type(gpus.value) is int and is_plain(gpus):
        message = (
            f"`gpu_ids: {gpus.raw}` is an integer, and accelerate launch stops ('int' object has no attribute "
            f"'split'): write {quoted(gpus)}"
        )
        yield Trap("gpu_ids", gpus, message)


def _boolean_message(name: str, node: Scalar, method: str) -> str:
    return (
        f"`{name}: {node.raw}` is the boolean False in YAML 1.1, and accelerate launch stops ('bool' object has no "
        f"attribute '{method}'): write {quoted(node)}"
    )


# -- accelerate --------------------------------------------------------------------------------------------------------


# -- scalars ----------------------------------------------------------------------------------------------------------


def last_values(document: Document) -> Iterator[tuple[str, Node]]:
    """The value each key ends up with; of a key written twice the last one counts."""
    root = document.mapping
    last = {entry.key.value: entry.value for entry in (root.entries if root is not None else ())}
    for name, node in last.items():
        if isinstance(name, str):
            yield name, node


def is_plain(node: Scalar) -> bool:
    """Whether the type was left to YAML: no quotes, no tag."""
    return not node.quoted and not node.tag


def is_negative_word(node: Node | None) -> TypeGuard[Scalar]:
    """`no` or `off` in any case; a written `false` is a boolean on purpose."""
    return (
        isinstance(node, Scalar)
        and is_plain(node)
        and node.value is False
        and (node.alias or node.raw.lower() in ("no", "off"))
    )


def is_number_string(node: Node) -> TypeGuard[Scalar]:
    """A number in everybody's eyes that YAML 1.1 keeps as a string: no dot, or an exponent without a sign."""
    return (
        isinstance(node, Scalar)
        and is_plain(node)
        and isinstance(node.value, str)
        and _EXPONENT.match(node.value) is not None
    )


def quoted(node: Scalar, text: str | None = None) -> str:
    return f'"{node.raw if text is None else text}"'


def float_spelling(node: Scalar) -> str | None:
    """The same number as YAML 1.1 reads one: `1e-6` -> `1.0e-6`, `1.5e3` -> `1.5e+3`."""
    match = _EXPONENT.match(node.raw)
    if match is None:
        return None
    exponent = match["exponent"]
    sign = "" if exponent[0] in "+-" else "+"
    return f"{match['whole']}.{match['part'] or '0'}e{sign}{exponent}"


def integer_spelling(node: Scalar) -> str | None:
    """The number written out, None where it is no whole number."""
    value = float(node.raw) if _EXPONENT.match(node.raw) else 0.5
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else None
