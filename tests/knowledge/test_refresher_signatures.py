"""Extraction of signatures and deprecations: one test for each thing that was hard about it."""

import pytest

from trl_lint.knowledge import api
from trl_lint.missing import ABSENT


def test_shim_that_forwards_its_keywords_to_its_base(recorded):
    shim = """
        from ..experimental.cpo import CPOTrainer as _CPOTrainer
        class CPOTrainer(_CPOTrainer):
            def __init__(self, *args, **kwargs):
                warnings.warn("The `CPOTrainer` is now located in `trl.experimental`. Please update your imports to "
                              "`from trl.experimental.cpo import CPOTrainer`.")
                super().__init__(*args, **kwargs)
    """
    real = "class CPOTrainer:\n    def __init__(self, model, beta=0.1): ..."
    files = {"trl/__init__.py": "", "trl/trainer/cpo.py": shim, "trl/experimental/cpo.py": real}
    recorded("trl", {"0.25": files})
    signature = api.signature("trl.trainer.cpo:CPOTrainer", {"trl": "0.25"})
    assert (sorted(signature.parameters), signature.open) == (["beta", "model"], False)
    assert api.deprecation("trl.trainer.cpo:CPOTrainer", "0.25") == "trl.experimental.cpo:CPOTrainer"


def test_keywords_forwarded_to_another_callable(recorded):
    llm = """
        from .args import EngineArgs
        class LLM:
            def __init__(self, model, **kwargs):
                if "worker_cls" in kwargs:
                    kwargs["worker_cls"] = dump(kwargs["worker_cls"])
                kwargs.pop("old", None)
                self.args = EngineArgs(model=model, **kwargs)
    """
    args = "from dataclasses import dataclass\n@dataclass\nclass EngineArgs:\n    dtype: str = 'auto'"
    recorded("vllm", {"1.0": {"vllm/__init__.py": "from .llm import LLM", "vllm/llm.py": llm, "vllm/args.py": args}})
    signature = api.signature("vllm.llm:LLM", {"vllm": "1.0"})
    assert (sorted(signature.parameters), signature.open) == (["dtype", "model", "old", "worker_cls"], False)


@pytest.mark.parametrize(
    "body",
    ["self.extra = kwargs", "pass", "configure(kwargs)", "A(**kwargs); B(**kwargs)", "self.config = dict(**kwargs)"],
)
def test_keywords_that_go_somewhere_unknown_keep_the_signature_open(recorded, body):
    recorded("trl", {"1.0": {"trl/__init__.py": f"class C:\n    def __init__(self, a, **kwargs):\n        {body}"}})
    assert api.signature("trl:C", {"trl": "1.0"}).open


def test_function_that_forwards_to_itself_ends(recorded):
    recorded("trl", {"1.0": {"trl/__init__.py": "def f(a, **kwargs):\n    return f(a, **kwargs)"}})
    assert api.signature("trl:f", {"trl": "1.0"}).open


def test_decorator_adds_the_old_name(recorded):
    source = """
        class Trainer:
            @deprecate_kwarg("tokenizer", new_name="processing_class", version="5.0.0")
            def __init__(self, model, processing_class=None): ...
    """
    recorded("transformers", {"4.46": {"transformers/__init__.py": source}})
    tokenizer = api.signature("transformers:Trainer", {"transformers": "4.46"}).parameters["tokenizer"]
    assert (tokenizer.deprecated, tokenizer.successor, tokenizer.is_rename, tokenizer.required) == (
        True,
        "processing_class",
        True,
        False,
    )


def test_unknown_decorator_makes_the_signature_open(recorded):
    recorded("trl", {"1.0": {"trl/__init__.py": "@mystery\ndef f(a): ...\ndef g(a): ..."}})
    assert api.signature("trl:f", {"trl": "1.0"}).open
    assert not api.signature("trl:g", {"trl": "1.0"}).open


CONFIG = """
    from dataclasses import dataclass, field
    @dataclass
    class C:
        a: int = field(default=None, metadata={{"help": "{help}"}})
        b: int = 1
        def __post_init__(self):
            if {test}:
                warnings.warn("{warning}")
"""


@pytest.mark.parametrize(
    "fill, expected",
    [
        ({"help": "Deprecated. Use `b` instead."}, ("b", True)),
        (
            {"help": "This parameter is deprecated and will be removed. Use `b` instead, which counts tokens."},
            ("b", False),
        ),
        ({"help": "Deprecated. If you want to customize the length, use `b`."}, ("b", False)),
        ({"help": "Deprecated, use `b` (str) instead."}, ("b", False)),
        ({"help": "Deprecated alias of `b`, will be removed in v6."}, ("b", True)),
        ({"help": "Deprecated alias for `b`."}, ("b", True)),
        ({"help": "Size of it. Deprecated: set the size elsewhere."}, ("", False)),
        (
            {"test": "self.a is not None", "warning": "`a` is deprecated and will be removed in v2. Use `b` instead."},
            ("b", True),
        ),
        ({"test": "self.a", "warning": "using `--a` is deprecated. Use `--b` instead"}, ("b", True)),
        (
            {"test": "self.a != 'x'", "warning": "The `a` argument is deprecated in favor of `b` and will be removed."},
            ("b", True),
        ),
    ],
)
def test_deprecations_told_in_text(recorded, fill, expected):
    source = CONFIG.format(**{"help": "", "test": "False", "warning": "", **fill})
    recorded("trl", {"1.0": {"trl/__init__.py": source}})
    found = api.signature("trl:C", {"trl": "1.0"}).parameters["a"]
    assert found.deprecated and (found.successor, found.is_rename) == expected


@pytest.mark.parametrize(
    "fill",
    [
        {"help": "How to do it. The value `None` is deprecated."},
        {"help": "Replaces the deprecated `c`."},
        {"test": "self.a is None", "warning": "`None` for `a` is deprecated, use 0 instead"},
        {"test": "self.a == 'old'", "warning": "`a='old'` is deprecated, use 'new' instead"},
        {"test": "isinstance(self.a, Old)", "warning": "using `Old` for `a` is deprecated. Use `New` instead"},
        {"test": "self.a is not None", "warning": "`Old` for `a` is deprecated. Use `New` instead"},
    ],
)
def test_deprecated_values_do_not_deprecate_the_parameter(recorded, fill):
    source = CONFIG.format(**{"help": "", "test": "False", "warning": "", **fill})
    recorded("trl", {"1.0": {"trl/__init__.py": source}})
    assert not api.signature("trl:C", {"trl": "1.0"}).parameters["a"].deprecated


def test_class_body_imports_and_conditionals(recorded):
    trainer = """
        from dataclasses import dataclass, field
        class Trainer:
            from .tools import save_metrics
            if is_torch_available():
                def train(self): ...
        @dataclass
        class Arguments:
            default_optim = "adamw_torch"
            if is_new():
                default_optim = "adamw_torch_fused"
            optim: str = field(default=default_optim)
    """
    recorded(
        "transformers",
        {"4.0": {"transformers/__init__.py": trainer, "transformers/tools.py": "def save_metrics(): ..."}},
    )
    versions = {"transformers": "4.0"}
    assert api.member("transformers:Trainer", "save_metrics", versions) == "="
    assert api.member("transformers:Trainer", "train", versions) == "()"
    assert api.member("transformers:Trainer", "fly", versions) is ABSENT
    assert api.signature("transformers:Arguments", versions).parameters["optim"].default == "`default_optim`"


@pytest.mark.parametrize(
    "base, is_open", [("Generic[T]", False), ("nn.Module", False), ("PushToHubMixin", False), ("Mystery", True)]
)
def test_bases_outside_the_packages(recorded, base, is_open):
    source = f"""
        from hub import PushToHubMixin, Mystery
        from torch import nn
        from typing import Generic
        from dataclasses import dataclass
        @dataclass
        class C({base}):
            a: int = 1
    """
    recorded("peft", {"1.0": {"peft/__init__.py": source}})
    assert api.signature("peft:C", {"peft": "1.0"}).open is is_open


def test_enums_structs_and_models_differ(recorded):
    source = """
        from enum import Enum
        import msgspec
        from pydantic import BaseModel, Field
        class Kind(str, Enum):
            A = "a"
        class Params(msgspec.Struct, omit_defaults=True):
            n: int = 1
        class Loose(BaseModel):
            a: int = Field(pp_int(5e8), alias="other")
        class Strict(BaseModel):
            model_config = ConfigDict(extra="forbid")
            a: int = Field(pp_int(5e8), alias="other")
    """
    recorded("vllm", {"1.0": {"vllm/__init__.py": source}})
    signatures = {
        name: api.signature(f"vllm:{name}", {"vllm": "1.0"}) for name in ("Kind", "Params", "Loose", "Strict")
    }
    assert {name: signature.open for name, signature in signatures.items()} == {
        "Kind": True,
        "Params": False,
        "Loose": True,
        "Strict": False,
    }
    assert {name: p.default for name, p in signatures["Strict"].parameters.items()} == {
        "a": "500000000.0",
        "other": "500000000.0",
    }


def test_last_definition_that_is_no_overload_wins(recorded):
    source = """
        @overload
        def get(a: int): ...
        @overload
        def get(a: str, b: int): ...
        def get(a, b=None, c=2): ...
    """
    recorded("peft", {"1.0": {"peft/__init__.py": source}})
    assert list(api.signature("peft:get", {"peft": "1.0"}).parameters) == ["a", "b", "c"]


def test_default_taken_from_another_class(recorded):
    source = """
        from dataclasses import dataclass
        @dataclass
        class ModelConfig:
            max_model_len: int = None
            seed: int = make()
        @dataclass
        class EngineArgs:
            max_model_len: int = ModelConfig.max_model_len
            seed: int = ModelConfig.seed
    """
    recorded("vllm", {"1.0": {"vllm/__init__.py": source}})
    found = api.signature("vllm:EngineArgs", {"vllm": "1.0"}).parameters
    assert (found["max_model_len"].default, found["seed"].default) == ("None", "`ModelConfig.seed`")


def test_a_dataclass_of_pydantic_drops_what_it_does_not_know(recorded):
    source = """
        import dataclasses
        from pydantic import ConfigDict
        from pydantic.dataclasses import dataclass
        @dataclasses.dataclass
        class Plain:
            a: int = 1
        @dataclass
        class Lenient:
            a: int = 1
        @dataclass
        class Child(Plain):
            b: int = 1
        @dataclass(config=ConfigDict(extra="forbid"))
        class Strict:
            a: int = 1
    """
    recorded("vllm", {"1.0": {"vllm/__init__.py": source}})
    signatures = {
        name: api.signature(f"vllm:{name}", {"vllm": "1.0"}) for name in ("Plain", "Lenient", "Child", "Strict")
    }
    assert {name: signature.open for name, signature in signatures.items()} == {
        "Plain": False,
        "Lenient": True,
        "Child": True,
        "Strict": False,
    }
    assert set(signatures["Child"].parameters) == {"a", "b"}
