"""The extraction, one test for each thing that was hard about it (and how the archives are read)."""

import io
import tarfile
import zipfile

import pytest

from trl_lint.knowledge import api
from trl_lint.knowledge.refresher import index
from trl_lint.knowledge.refresher.configs import flatten_yaml
from trl_lint.knowledge.refresher.extract import read_module
from trl_lint.knowledge.refresher.flags import read_flags
from trl_lint.knowledge.refresher.history import merge
from trl_lint.knowledge.refresher.messages import read_messages
from trl_lint.knowledge.refresher.metadata import read_requirements
from trl_lint.knowledge.refresher.values import encode_node
from trl_lint.knowledge.refresher.write import render

LAZY_ROOT = """
    from typing import TYPE_CHECKING
    from .import_utils import _LazyModule, OptionalDependencyNotAvailable, is_diffusers_available
    _import_structure = {"trainer": ["SFTTrainer"], "trainer.callbacks": ["SyncRefModelCallback"]}
    try:
        if not is_diffusers_available():
            raise OptionalDependencyNotAvailable()
    except OptionalDependencyNotAvailable:
        pass
    else:
        _import_structure["trainer"].extend(["DDPOTrainer"])
    _import_structure["trainer"].append("KTOTrainer")
    if TYPE_CHECKING:
        from .trainer import SFTTrainer
    else:
        import sys
        sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
"""
TRAINERS = """
    class SFTTrainer:
        def __init__(self, model, args=None): ...
    class DDPOTrainer: ...
    class KTOTrainer: ...
"""


def test_lazy_root_with_appended_extended_and_dotted_entries(recorded):
    recorded(
        "trl",
        {
            "1.0": {
                "trl/__init__.py": LAZY_ROOT,
                "trl/import_utils.py": "",
                "trl/trainer/__init__.py": TRAINERS,
                "trl/trainer/callbacks.py": "class SyncRefModelCallback: ...",
            }
        },
    )
    assert api.exports("trl", "SFTTrainer", "1.0") == "trl.trainer:SFTTrainer"
    assert api.exports("trl", "DDPOTrainer", "1.0") == "trl.trainer:DDPOTrainer"
    assert api.exports("trl", "KTOTrainer", "1.0") == "trl.trainer:KTOTrainer"
    assert api.exports("trl", "SyncRefModelCallback", "1.0") == "trl.trainer.callbacks:SyncRefModelCallback"
    assert api.exports("trl", "PPOv2Trainer", "1.0") is api.ABSENT


def test_vllm_table_of_attributes(recorded):
    root = 'MODULE_ATTRS = {"LLM": ".entrypoints.llm:LLM"}\ndef __getattr__(name): ...'
    recorded(
        "vllm",
        {
            "1.0": {
                "vllm/__init__.py": root,
                "vllm/entrypoints/llm.py": "class LLM:\n    def __init__(self, model): ...",
            }
        },
    )
    assert api.exports("vllm", "LLM", "1.0") == "vllm.entrypoints.llm:LLM"
    assert api.exports("vllm", "Nothing", "1.0") is api.ABSENT


def test_table_made_at_run_time_is_open(recorded):
    root = """
        _import_structure = {"trainer": ["Trainer"]}
        import_structure = define_import_structure(Path(__file__).parent / "models", prefix="models")
        import_structure[frozenset({})].update(_import_structure)
        sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], import_structure)
    """
    auto = '__all__ = ["AutoModel"]\nclass AutoModel: ...'
    files = {
        "transformers/__init__.py": root,
        "transformers/trainer.py": "class Trainer: ...",
        "transformers/models/auto.py": auto,
    }
    recorded("transformers", {"5.0": files})
    assert api.exports("transformers", "Trainer", "5.0") == "transformers.trainer:Trainer"
    assert api.exports("transformers", "AutoModel", "5.0") == "transformers.models.auto:AutoModel"
    assert api.exports("transformers", "LlamaModel", "5.0") is api.UNKNOWN


def test_open_table_still_proves_that_a_name_left_its_module(recorded):
    first = {
        "transformers/__init__.py": "from .optimization import AdamW",
        "transformers/optimization.py": "class AdamW: ...",
    }
    second = {
        "transformers/__init__.py": "import_structure = define_import_structure(__file__)",
        "transformers/optimization.py": "class Adafactor: ...",
    }
    recorded("transformers", {"4.0": first, "5.0": second})
    assert api.exports("transformers", "AdamW", "4.0") == "transformers.optimization:AdamW"
    assert api.exports("transformers", "AdamW", "5.0") is api.ABSENT


def test_name_that_may_have_become_a_model_is_unknown(recorded):
    first = {
        "transformers/__init__.py": "from .quantization import BitNetConfig",
        "transformers/quantization.py": "class BitNetConfig: ...",
    }
    second = {
        "transformers/__init__.py": "import_structure = define_import_structure(__file__)",
        "transformers/quantization.py": "",
    }
    recorded("transformers", {"4.50": first, "4.52": second})
    assert api.exports("transformers", "BitNetConfig", "4.52") is api.UNKNOWN


def test_imports_inside_with_try_and_if(recorded):
    root = """
        with suppress_experimental_warning():
            from .shims import A
        try:
            from .shims import B
        except ImportError:
            from .other import C
        if is_peft_available():
            from .shims import D
        for E, F in pairs:
            pass
    """
    recorded("trl", {"1.0": {"trl/__init__.py": root, "trl/shims.py": "A = B = D = 1", "trl/other.py": "C = 1"}})
    assert all(api.exports("trl", name, "1.0") for name in "ABCDEF")


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
    assert api.member("transformers:Trainer", "fly", versions) is api.ABSENT
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


def test_module_that_was_not_read_is_unknown_not_missing(recorded):
    files = {"vllm/__init__.py": "", "vllm/worker/gpu.py": "class Worker: ..."}
    recorded("vllm", {"1.0": files}, wanted=r"vllm/__init__\.py")
    assert api.exports("vllm.worker.gpu", "Worker", "1.0") is api.UNKNOWN
    assert api.exports("vllm.nowhere", "Worker", "1.0") is api.ABSENT


def test_submodule_of_a_recorded_package_is_listed_however_deep(recorded):
    files = {"deepspeed/__init__.py": "", "deepspeed/runtime/__init__.py": "", "deepspeed/runtime/domino/a.py": ""}
    recorded("deepspeed", {"1.0": files}, wanted=r"deepspeed/(runtime/)?__init__\.py", depth=2)
    assert api.exports("deepspeed.runtime", "domino", "1.0") == "deepspeed.runtime.domino:"
    assert api.exports("deepspeed.runtime", "dominoes", "1.0") is api.UNKNOWN  # it may be a module, deeper than listed
    assert api.exports("deepspeed.runtime.domino.b", "x", "1.0") is api.UNKNOWN


def test_modules_below_an_unlisted_one_are_unknown(recorded):
    recorded("vllm", {"1.0": {"vllm/__init__.py": ""}}, unlisted=("vllm.models",))
    assert api.exports("vllm.models.llama", "Llama", "1.0") is api.UNKNOWN


def test_module_served_under_an_old_name_is_unknown(recorded):
    root = 'import sys\n_LEGACY = {"tokenization_utils": "tokenization_new"}\nsys.meta_path.append(Finder(_LEGACY))'
    recorded("transformers", {"5.0": {"transformers/__init__.py": root, "transformers/tokenization_new.py": ""}})
    assert api.exports("transformers.tokenization_utils", "AddedToken", "5.0") is api.UNKNOWN
    assert api.exports("transformers.deepspeed", "HfDeepSpeedConfig", "5.0") is api.ABSENT


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


METADATA = """Name: trl
Requires-Python: >=3.10
Requires-Dist: transformers>=4.56.2
Requires-Dist: transformers!=5.1.0
Requires-Dist: transformers!=5.2.0; extra == "deepspeed"
Requires-Dist: vllm<=0.31.0,>=0.22.0; extra == "vllm"
Requires-Dist: deepspeed>=0.14.4; sys_platform != "win32" and extra == "deepspeed"
Requires-Dist: pytest; extra == "test"
"""


def test_requirements_are_joined_by_name_and_extra():
    contents = index.read_zip(_zip({"trl-1.0.dist-info/METADATA": METADATA}), lambda name: True)
    assert read_requirements(contents, frozenset({"transformers", "vllm", "deepspeed"})) == {
        "python": ">=3.10",
        "transformers": "!=5.1.0,>=4.56.2",
        "transformers[deepspeed]": "!=5.2.0",
        "vllm[vllm]": "<=0.31.0,>=0.22.0",
        "deepspeed[deepspeed]": '>=0.14.4;sys_platform != "win32"',
    }


def _zip(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return zipfile.ZipFile(data)


def test_archives_are_read_in_memory_whatever_their_names_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive = _zip({"X.data/purelib/trl/core.py": "a", "../../evil.py": "b", "/etc/evil.py": "c"})
    contents = index.read_zip(archive, lambda name: name.endswith(".py"))
    assert contents.members["trl/core.py"][1] == b"a"
    assert list(tmp_path.iterdir()) == []


def test_sdist_links_are_skipped():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        link = tarfile.TarInfo("pkg-1/pkg/evil.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        regular = tarfile.TarInfo("pkg-1/pkg/core.py")
        regular.size = 3
        archive.addfile(regular, io.BytesIO(b"a=1"))
    contents = index.read_sdist(data.getvalue(), lambda name: True)
    assert (contents.names, contents.members["pkg/core.py"][1]) == (["pkg/core.py"], b"a=1")


def test_text_is_the_same_in_every_run_and_changes_little_with_a_release():
    old = {"class trl:C": {"+": "+", "a": "1", "b": "2"}, "module trl": {"+": "+", "C": ".", "D": "."}}
    new = {"class trl:C": {"+": "+", "a": "1", "b": "3"}, "module trl": {"+": "+", "C": "."}}
    before = render("trl", ["1.0"], merge([("1.0", old)])).splitlines()
    after = render("trl", ["1.0", "2.0"], merge([("1.0", old), ("2.0", new)])).splitlines()
    assert [line for line in after if line not in before] == [" 2.0", " C .", " D . | 2.0 -", " b 2 | 2.0 3"]
    assert (
        after == render("trl", ["1.0", "2.0"], merge([("1.0", dict(reversed(old.items()))), ("2.0", new)])).splitlines()
    )


def test_removed_class_changes_only_its_own_line(recorded):
    source = "class PPOTrainer:\n    def __init__(self, model, ref_model=None): ..."
    text = recorded("trl", {"1.0": {"trl/__init__.py": source}, "2.0": {"trl/__init__.py": ""}})
    assert "class trl:PPOTrainer 1.0 | 2.0 -\n" in text
    assert "\n ref_model None\n" in text
    assert api.timeline("trl:PPOTrainer", "ref_model") == [("1.0", "None"), ("2.0", None)]


def test_flags_declared_in_a_loop():
    import ast

    tree = ast.parse("""
for prefix in ("actor", "critic"):
    parser.add_argument(f"--{prefix}.lr", type=float, default=1e-6 if prefix == "actor" else 9e-6)
parser.add_argument("--zero_stage", "-z", choices=[1, 2], required=True)
parser.add_argument("--cpu", action="store_true")
""")
    assert {flag.name: flag.text for flag in read_flags(tree)} == {
        "--actor.lr": "1e-06 type=float",
        "--critic.lr": "9e-06 type=float",
        "--zero_stage": "None choices=[1,2] required=True",
        "--cpu": "False action=store_true",
    }


def test_yaml_keys_are_flattened():
    source = b"actor:\n  lr: 1e-6\n  name: ~\n  on: true\n  tags: [a, 1]\n  path: ${oc.env:HOME}\nempty: {}\n"
    assert flatten_yaml(source) == {
        "actor.lr": "'1e-6'",  # PyYAML reads no float without a dot
        "actor.name": "None",
        "actor.on": "True",
        "actor.tags": "['a', 1]",
        "actor.path": "`${…}`",
        "empty": "{}",
    }


def test_messages_are_templates():
    import ast

    tree = ast.parse("""
raise ValueError(f"The batch size ({size}) must be divisible by "
                 "the number of generations.")
logger.warning("short")
warnings.warn("This default of the loss will change in the next release: %s" % loss)
""")
    assert [tuple(message) for message in read_messages(tree)] == [
        ("ValueError", "The batch size ({}) must be divisible by the number of generations."),
        ("warning", "This default of the loss will change in the next release: %s"),
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("1e-6", "1e-06"),
        ("'a|b'", "'a\\x7cb'"),
        ("2 * 1024", "2048"),
        ("KNOWN", "7"),
        ("TWICE", "`TWICE`"),
        ("f(x) | g", "`f(x) ¦ g`"),
        ("...", "*"),
        ("{'b', 'a'}", "`{'b', 'a'}`"),
    ],
)
def test_defaults_are_literals_or_marked_expressions(text, expected):
    import ast

    constants = {"KNOWN": ast.parse("7", mode="eval").body}
    assert encode_node(ast.parse(text, mode="eval").body, constants) == expected


def test_file_that_cannot_be_parsed_is_unknown():
    assert read_module("trl/new_syntax.py", b"def (") is None
