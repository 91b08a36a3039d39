"""TRL602: fp16 together with bf16, fp16 over weights that are float16 already, and fp16 for reinforcement learning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from trl_lint.checks.numerics._training import (
    bool_flag,
    config_class,
    is_of_run,
    reads_training_arguments,
)
from trl_lint.checks.rule import Rule, Site
from trl_lint.coverage import NO_FLAG
from trl_lint.finding import Finding, Fix, Severity
from trl_lint.knowledge.families import family_of
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.python.guards import bindings, key_of, last_name
from trl_lint.python.islands import rewrite, with_keyword, without_keyword
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.regexes import regex
from trl_lint.run.effective import Said, Setting, Unknown

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.project import Project
    from trl_lint.project.documents import Document
    from trl_lint.project.launches import Launch
    from trl_lint.run.runs import Run
    from trl_lint.sources.nodes import Entry, Mapping

BOTH = "`fp16` and `bf16` are both on, and at most one may be: the arguments are refused with a ValueError"
HALF_WEIGHTS = (
    "`fp16=True` trains a model whose weights are float16: the gradient scaler stops at "
    '"Attempting to unscale FP16 gradients."'
)
OVERFLOW = (
    "fp16 for reinforcement learning: logits and probability ratios above 65504 overflow; "
    "if the policy turns NaN, use bf16 where the GPU has it"
)
BF16_COUNTS = "`fp16` and `bf16` are both on: bf16 is what is trained in, and `fp16` is left out"
# GPUs without bf16: a file that names one has no choice.
_OLD_GPU = regex(rb"\b(?:T4|V100|P100|K80|RTX ?20[678]0|GTX)\b")
_FLOAT16 = frozenset({"float16", "fp16", "half", "torch.float16", "torch.half"})
# These adapt the model, so that what trains is not the float16 weights, or cast it themselves.
_ADAPTERS = frozenset({"peft_config", "quantization_config", "load_in_4bit", "load_in_8bit"})


class Fp16ForRl(Rule):
    code = "TRL602"
    triggers = ("(fp16=)",)
    needles = (b"fp16=", b"fp16 =")
    holding = ("fp16",)
    runs = True
    launched = True

    def check_call(self, site: Site) -> Iterator[Finding]:
        if read_flag(site.call, "fp16", site.module) is not True or config_class(site.call, site.module) is None:
            return
        module, call = site.module, site.call
        fp16 = next(keyword for keyword in call.keywords if keyword.arg == "fp16")
        bf16 = next((keyword for keyword in call.keywords if keyword.arg == "bf16"), None)
        if read_flag(call, "bf16", module) is True and bf16 is not None:
            yield self.finding(
                module.location(fp16),
                BOTH,
                related=(module.location(bf16, "bf16 is switched on here"),),
                fix=edit_fp16(site, "Keep bf16"),
            )
            return
        weights = read_half_weights(site)
        if weights is not None:
            scaled = is_scaled_elsewhere(site)
            yield self.finding(
                module.location(fp16),
                HALF_WEIGHTS,
                severity="warning" if scaled else "error",
                related=(module.location(weights, "the weights are loaded as float16 here"),),
            )
        elif is_rl_config(call, module) and not _OLD_GPU.search(module.source.file.data):
            yield self.finding(
                module.location(fp16),
                OVERFLOW,
                severity="info",
                fix=edit_fp16(site, "Train in bf16"),
            )

    def check_document(self, document: Document, project: Project) -> Iterator[Finding]:
        from trl_lint.run.method import kind_of_recipe
        from trl_lint.sources.nodes import find_entry

        root = document.mapping
        if root is None:
            return
        holds = document.definition.holds
        if not document.definition.recipe:
            yield from self._check_deepspeed(document, root, project)
            return
        from trl_lint.checks._runs import after_commands

        fp16, bf16 = find_entry(root, holds.fp16), find_entry(root, holds.bf16[0])
        if fp16 is None or not is_on(fp16):
            return
        place = document.place(fp16)
        if bf16 is not None and is_on(bf16):
            severity = after_commands(self.page.severity, ("fp16", "bf16"), document, project)
            if severity is not None:
                other = document.place(bf16, "bf16 is switched on here")
                fix = edit_entry(document, fp16, None, "Keep bf16")
                is_refused = holds.both_precisions == "refused"
                message, severity = (BOTH, severity) if is_refused else (BF16_COUNTS, "info")
                yield self.finding(place, message, severity=severity, related=(other,), fix=fix)
        elif kind_of_recipe(document) == "rl":
            if after_commands("info", ("fp16", "bf16"), document, project) is None:
                return
            fix = edit_entry(document, fp16, bf16, "Train in bf16")
            yield self.finding(place, OVERFLOW, severity="info", fix=fix)

    def _check_deepspeed(self, document: Document, root: Mapping, project: Project) -> Iterator[Finding]:
        """DeepSpeed refuses a config with both: every release since 0.5.5 that is known."""
        from trl_lint.sources.nodes import Mapping

        chosen = project.environment(document.path).choices.get("deepspeed")
        if chosen is None or chosen.package.is_own:
            return
        found = {}
        for name in ("fp16", "bf16", "bfloat16"):
            section = root.get(name)
            entry = section.entry("enabled") if isinstance(section, Mapping) else None
            if entry is not None and is_on(entry):
                found[name] = entry
        fp16 = found.pop("fp16", None)
        if fp16 is None or not found:
            return
        other = next(iter(found.values()))
        yield self.finding(
            document.place(fp16),
            "`fp16` and `bf16` are both enabled: DeepSpeed refuses the config, the two modes exclude each other",
            related=(document.place(other, "bf16 is enabled here"),),
            fix=edit_entry(document, fp16, None, "Keep bf16"),
        )

    def check_run(self, run: Run) -> Iterator[Finding]:
        """What a command switches on, by whatever names its framework has; files and scripts are judged themselves."""
        launch = run.launch
        fp16, bf16 = given_to(run, "fp16"), given_to(run, "bf16")
        if fp16 is ABSENT and bf16 is ABSENT:
            yield from self._check_dtype(run)
            return
        if not isinstance(fp16, Setting) or fp16.truth is not True or fp16.location is None:
            return
        if not is_of_run(fp16, run):
            return
        kind = run.kind
        if isinstance(bf16, Setting) and bf16.truth is True:
            if fp16.origin == bf16.origin == "recipe":
                return
            is_read = kind != "other" or run.framework != "other" or reads_training_arguments(launch, run.project)
            if is_read and not refuses_both(run.framework):
                yield self.finding(fp16.location, BF16_COUNTS, severity="info")
            elif is_read:
                severity: Severity = "warning" if launch.is_documentation else "error"
                yield self.finding(fp16.location, BOTH, severity=severity)
            return
        if kind != "rl" or isinstance(bf16, Unknown) or (isinstance(bf16, Setting) and bf16.truth is None):
            return
        half = read_text(launch, "--dtype", "--torch_dtype") in _FLOAT16
        adapted = bool_flag(launch, "--use_peft", "--load_in_4bit", "--load_in_8bit") is not False
        sharded = launch.launcher == "deepspeed" or launch.flag("--deepspeed") is not ABSENT
        if not half:
            yield self.finding(fp16.location, OVERFLOW, severity="info")
            return
        # The script decides what it does with `--torch_dtype`, so this is no proof.
        message = OVERFLOW if adapted or sharded else HALF_WEIGHTS
        yield self.finding(fp16.location, message, severity="warning")

    def _check_dtype(self, run: Run) -> Iterator[Finding]:
        """The dtype that a framework without such switches computes in."""
        said = run.config.given_setting("precision")
        if not isinstance(said, Setting) or said.value not in _FLOAT16 or said.location is None:
            return
        if run.kind == "rl":
            yield self.finding(said.location, OVERFLOW, severity="info")


# -- reading ----------------------------------------------------------------------------------------------------------


def given_to(run: Run, what: str) -> Said:
    """What a command sets a precision to; of a program whose options are not known, what a flag of TRL's name says."""
    config = run.config
    found = config.given_setting(what)
    if not isinstance(found, Unknown) or run.framework not in ("other", "trl", "transformers"):
        return found
    said = config.given(what)
    return ABSENT if isinstance(said, Unknown) and said.reason in NO_FLAG else said


def refuses_both(framework: str) -> bool:
    """Whether fp16 and bf16 together are refused; elsewhere bf16 counts."""
    family = family_of(framework)
    return all(kind.holds.both_precisions == "refused" for kind in (family.document if family is not None else ()))


def read_flag(call: ast.Call, name: str, module: PythonModule) -> object:
    """The value of a keyword: a constant, ABSENT, or UNKNOWN."""
    given = argument(call, name)
    return given if isinstance(given, Missing) else module.value(given)


def is_rl_config(call: ast.Call, module: PythonModule) -> bool:
    from trl_lint.run.method import kind_of_class

    return kind_of_class(config_class(call, module) or "") == "rl"


def read_half_weights(site: Site) -> ast.Call | None:
    """The `from_pretrained` that loads float16 weights for the trainer this config goes to.

    Only where the file shows all of it: the model, the config, the trainer, and nothing that adapts or casts the model.
    unsloth patches the trainers and keeps its own float32 copies, so nothing is said in its files.
    """
    module = site.module
    if "unsloth" in module.names.modules() or "get_peft_model" in module.text:
        return None
    if not any(last_name(call.func) == "train" for call in module.calls):
        return None  # what only evaluates scales no gradients
    config = _bound_name(site.call, module)
    for trainer in module.calls:
        if not last_name(trainer.func).endswith("Trainer") or not _is_from_hf(trainer, module):
            continue
        given = argument(trainer, "args", 1)
        if given is not site.call and not (config and isinstance(given, ast.expr) and key_of(given) == config):
            continue
        if any(argument(trainer, name) is not ABSENT for name in ("peft_config",)):
            return None
        model = argument(trainer, "model", 0)
        values = bindings(module).get(key_of(model), []) if isinstance(model, ast.Name) else [model]
        if len(values) == 1 and isinstance(values[0], ast.Call) and loads_half(values[0], module):
            return None if _is_cast(key_of(model) if isinstance(model, ast.Name) else "", module) else values[0]
    return None


def loads_half(call: ast.Call, module: PythonModule) -> bool:
    if last_name(call.func) != "from_pretrained" or any(k.arg is None or k.arg in _ADAPTERS for k in call.keywords):
        return False
    for name in ("dtype", "torch_dtype"):
        given = argument(call, name)
        if isinstance(given, ast.expr):
            return "torch.float16" in module.names.origins(given) or module.value(given) in ("float16", "torch.float16")
    return False


def _bound_name(call: ast.Call, module: PythonModule) -> str:
    """The name a config is kept under, if it is bound once."""
    names = [key for key, values in bindings(module).items() if call in values]
    return names[0] if len(names) == 1 and len(bindings(module)[names[0]]) == 1 else ""


def _is_from_hf(call: ast.Call, module: PythonModule) -> bool:
    return any(origin.partition(".")[0] in ("trl", "transformers") for origin in module.names.origins(call.func))


def _is_cast(name: str, module: PythonModule) -> bool:
    """Whether something changes the loaded weights: `.float()`, `.to(…)`, a helper that the model is handed to."""
    casts = {"float", "to", "bfloat16", "double"}
    for call in module.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in casts and key_of(call.func.value) == name:
            return True
        handed = any(isinstance(arg, ast.Name) and arg.id == name for arg in call.args)
        if name and handed and not last_name(call.func).endswith("Trainer") and last_name(call.func) != "print":
            return True
    return f"in {name}.parameters()" in module.text or f"in {name}.named_parameters()" in module.text


def is_scaled_elsewhere(site: Site) -> bool:
    """Whether DeepSpeed or FSDP may scale the gradients: both accept float16 ones."""
    call, project = site.call, site.project
    if any(argument(call, name) is not ABSENT for name in ("deepspeed", "fsdp")):
        return True
    return bool(project.documents("deepspeed")) or any(
        document.value("distributed_type") in ("FSDP", "DEEPSPEED") for document in project.documents("accelerate")
    )


def is_on(entry: Entry) -> bool:
    """Whether a value of a document is a plain true; "auto" and templates are not."""
    from trl_lint.sources.nodes import value_of

    return value_of(entry.value) is True


def read_text(launch: Launch, *names: str) -> str:
    for name in names:
        value = launch.flag(name)
        if value is not ABSENT and value is not UNKNOWN:
            return getattr(value, "text", None) or ""
    return ""


# -- edits: all of them unsafe, because the GPU decides whether bf16 is there ------------------------------------------


def edit_fp16(site: Site, title: str) -> Fix | None:
    """fp16 becomes bf16 in its place; where bf16 is given too, fp16 goes and bf16 is switched on."""

    def change(call: cst.Call) -> cst.Call:
        import libcst as cst

        if any(arg.keyword is not None and arg.keyword.value == "bf16" for arg in call.args):
            return with_keyword(without_keyword(call, "fp16"), "bf16", "True")
        args = [
            arg.with_changes(keyword=cst.Name("bf16"))
            if arg.keyword is not None and arg.keyword.value == "fp16"
            else arg
            for arg in call.args
        ]
        return call.with_changes(args=args)

    edit = rewrite(site, site.call, change)
    return Fix(title, "unsafe", (edit,)) if edit is not None else None


def edit_entry(document: Document, fp16: Entry, bf16: Entry | None, title: str) -> Fix | None:
    """Switch fp16 off in a document; `bf16` is switched on in its stead if it is there and off, or if it is missing."""
    from trl_lint.sources.nodes import Scalar

    source, value = document.source, fp16.value
    if not isinstance(value, Scalar) or value.alias or value.quoted:
        return None
    if title == "Keep bf16":
        return Fix(title, "unsafe", (source.edit(value.start, value.end, "false"),))
    if bf16 is None:
        quote = '"' if fp16.key.quoted else ""
        return Fix(title, "unsafe", (source.edit(fp16.key.start, fp16.key.end, f"{quote}bf16{quote}"),))
    if not isinstance(bf16.value, Scalar) or bf16.value.alias or bf16.value.value is not False:
        return None
    edits = (source.edit(value.start, value.end, "false"), source.edit(bf16.value.start, bf16.value.end, "true"))
    return Fix(title, "unsafe", edits)


rule = Fp16ForRl()
