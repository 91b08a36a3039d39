"""TRL405: a YAML scalar that is read as another type than its field needs."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.checks._runs import accelerate_launches, after_flags, launcher_option, recipe_launches
from trl_lint.checks.rule import Rule
from trl_lint.finding import Finding, Fix, Location, Severity
from trl_lint.grading import milder
from trl_lint.project import Project
from trl_lint.project.documents import Document
from trl_lint.project.launches import Launch
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.nodes import Mapping, Node, Scalar, Sequence, value_of, walk
from trl_lint.words import words

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
_STRATEGY_FIELDS = ("eval_strategy", "evaluation_strategy", "save_strategy", "logging_strategy")

# Until then TrlParser put the YAML values into the dataclasses as they were; since then argparse converts strings.
_PARSER_KEEPS_STRINGS = {"trl": ">=0.8.0,<0.9.5"}
# accelerate 0.19 to 0.33 turned a False `mixed_precision` back into "no".
_ACCELERATE_FAILS = {"accelerate": ">=0.34.0"}


class YamlScalarTrap(Rule):
    code = "TRL405"
    documents = ("accelerate",)
    holding = ("script_fields",)

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        if document.source.language != "yaml" or not isinstance(document.root, Mapping):
            return
        if document.definition.holds.script_fields:
            yield from self._check_recipe(document, document.root, project)
        else:
            yield from self._check_accelerate(document, document.root, project)

    # -- accelerate -----------------------------------------------------------------------------------------------

    def _check_accelerate(self, document: Document, root: Mapping, project: Project) -> Iterator[Finding]:
        from trl_lint.checks.verdict import judge_pins

        for trap in accelerate_traps(root):
            verdict = judge_pins(project.environment(document.path), _ACCELERATE_FAILS, self.page.severity)
            if verdict is None:
                return
            launches = accelerate_launches(document, project)
            severity = after_flags(verdict.severity, (trap.name,), launches, launcher_option)
            if severity is not None:
                message = f"{trap.message} ({verdict.scope})"
                yield self._report(document, trap.node, message, severity, quoted(trap.node), verdict.related)

    # -- recipes --------------------------------------------------------------------------------------------------

    def _check_recipe(self, document: Document, root: Mapping, project: Project) -> Iterator[Finding]:
        launches: list[Launch] | None = None
        has_strings = any(is_number_string(node) for _, node in walk(root)) and not is_omegaconf(root)
        for name, node in last_values(root):
            if isinstance(node, Scalar) and name in _STRATEGY_FIELDS and is_negative_word(node):
                launches = launches if launches is not None else recipe_launches(document, project)
                severity = after_flags(self.page.severity, (name,), launches)
                message = (
                    f"`{name}: {node.raw}` is the boolean False in YAML 1.1, and transformers stops (False is not a "
                    'valid strategy): write "no"'
                )
                if severity is not None:
                    yield self._report(document, node, message, severity, quoted(node, "no"))
            elif not has_strings:
                continue
            elif isinstance(node, Scalar) and name in _INT_FIELDS and is_number_string(node):
                launches = launches if launches is not None else recipe_launches(document, project)
                severity = after_flags(self.page.severity, (name,), launches)
                message = f"{_is_string(node)}, and {name} needs an integer{_written(integer_spelling(node))}"
                if severity is not None:
                    yield self._report(document, node, message, severity, integer_spelling(node))
            elif isinstance(node, Scalar) and name in _FLOAT_FIELDS and is_number_string(node):
                yield from self._check_float(document, name, node, project)
            elif name == "lr_scheduler_kwargs" or (name == "reward_weights" and isinstance(node, Sequence)):
                yield from self._check_nested(document, name, node)

    def _check_nested(self, document: Document, name: str, root: Node) -> Iterator[Finding]:
        """Inside a mapping or a list nobody converts: argparse only sees the outer value, which is no string."""
        for _, node in walk(root):
            if node is not root and is_number_string(node):
                message = f"{_is_string(node)}, and nothing converts it inside {name}{_written(float_spelling(node))}"
                yield self._report(document, node, message, self.page.severity, float_spelling(node))

    def _check_float(self, document: Document, name: str, node: Scalar, project: Project) -> Iterator[Finding]:
        """A float at the top of a recipe: whether it breaks depends on who reads the file."""
        from trl_lint.checks.verdict import judge_pins

        environment = project.environment(document.path)
        launches = recipe_launches(document, project)
        readers = {reader for launch in launches if (reader := reader_of(launch, project)) is not None}
        verdict = judge_pins(environment, _PARSER_KEEPS_STRINGS, self.page.severity)
        related: tuple[Location, ...] = ()
        severity: Severity | None
        if verdict is not None and readers <= {"TrlParser"}:
            severity, related = verdict.severity, verdict.related
            why = f"TrlParser hands it to {name} unconverted{_written(float_spelling(node))} ({verdict.scope})"
        elif "parse_yaml_file" in readers:
            severity, why = (
                self.page.severity,
                f"parse_yaml_file hands it to {name} unconverted{_written(float_spelling(node))}",
            )
        elif "yaml" in readers:
            severity, why = milder(self.page.severity), f"{name} needs a number{_written(float_spelling(node))}"
        elif not readers and environment.package("trl").source in ("assumed", "unknown"):
            severity = "info"
            why = f"{name} needs a number{_written(float_spelling(node))}; only TrlParser of trl>=0.9.5 converts it"
        else:  # read by a TrlParser that converts it, or by nobody we know: harmless, as far as can be seen
            return
        severity = after_flags(severity, (name,), launches)
        if severity is not None:
            message = f"{_is_string(node)}, and {why}"
            yield self._report(document, node, message, severity, float_spelling(node), related)

    def _report(
        self,
        document: Document,
        node: Scalar,
        message: str,
        severity: Severity,
        spelling: str | None,
        related: tuple[Location, ...] = (),
    ) -> Finding:
        fix = None
        # An alias shows a value that stands elsewhere and may serve other fields: no edit here is certain to be meant.
        if spelling is not None and not node.alias:
            edit = document.source.edit(node.start, node.end, spelling)
            fix = Fix(f"Write `{spelling}`", "safe", (edit,))
        location = document.source.location(node.start, node.end)
        return self.finding(location, message, severity=severity, related=related, fix=fix)


class Trap(NamedTuple):
    """A value of an accelerate config that the launcher stumbles over; `name` is the option that would override it."""

    name: str
    node: Scalar
    message: str


def accelerate_traps(root: Mapping) -> Iterator[Trap]:
    """What `accelerate launch` reads with a string method, though YAML made something else of it.

    Read in accelerate 0.34.0 and 1.15.0 (commands/launch.py, utils/launch.py).
    """
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


def _is_string(node: Scalar) -> str:
    return f"`{node.raw}` is the string '{node.value}' in YAML 1.1"


def _written(spelling: str | None) -> str:
    return f": write {spelling}" if spelling is not None else ""


# -- scalars ----------------------------------------------------------------------------------------------------------


def last_values(root: Mapping) -> Iterator[tuple[str, Node]]:
    """The value each key ends up with; of a key written twice the last one counts."""
    last = {entry.key.value: entry.value for entry in root.entries}
    for name, node in last.items():
        if isinstance(name, str):
            yield name, node


def is_omegaconf(root: Mapping) -> bool:
    """Whether a file is written for Hydra or OmegaConf, whose loader takes `1e-6` for a number.

    Read in omegaconf 2.0.0 and 2.3.0 (_utils.py, get_yaml_loader).
    """
    if isinstance(root.get("defaults"), Sequence) or isinstance(root.get("hydra"), Mapping):
        return True
    return any(
        path[-1:] == ("_target_",) or (isinstance(node.value, str) and "${" in node.value) for path, node in walk(root)
    )


def is_plain(node: Scalar) -> bool:
    """Whether the type was left to YAML: no quotes, no tag."""
    return not node.quoted and not node.tag


def is_negative_word(node: Scalar) -> bool:
    """`no` or `off` in any case; a written `false` is a boolean on purpose."""
    return is_plain(node) and node.value is False and (node.alias or node.raw.lower() in ("no", "off"))


def is_number_string(node: Scalar) -> bool:
    """A number in everybody's eyes that YAML 1.1 keeps as a string: no dot, or an exponent without a sign."""
    return is_plain(node) and isinstance(node.value, str) and _EXPONENT.match(node.value) is not None


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


# -- who reads the file -----------------------------------------------------------------------------------------------


def reader_of(launch: Launch, project: Project) -> str | None:
    """How the program of a launch reads its YAML: "TrlParser", "parse_yaml_file", "yaml" (PyYAML), None if unknown."""
    if launch.launcher == "trl":
        return "TrlParser"
    if launch.script_path is None:
        return None
    try:
        data = project.files.get(launch.script_path).data
    except OSError:
        return None
    if b"TrlParser" in data:
        return "TrlParser"
    if b"parse_yaml_file" in data:
        return "parse_yaml_file"
    return "yaml" if b"yaml.safe_load" in data or b"yaml.load" in data else None


rule = YamlScalarTrap()
