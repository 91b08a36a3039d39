"""Extraction of names: one test for each thing that was hard about it."""

from trl_lint.knowledge import api
from trl_lint.missing import ABSENT, UNKNOWN

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
    assert api.exports("trl", "PPOv2Trainer", "1.0") is ABSENT


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
    assert api.exports("vllm", "Nothing", "1.0") is ABSENT


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
    assert api.exports("transformers", "LlamaModel", "5.0") is UNKNOWN


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
    assert api.exports("transformers", "AdamW", "5.0") is ABSENT


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
    assert api.exports("transformers", "BitNetConfig", "4.52") is UNKNOWN


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


def test_module_that_was_not_read_is_unknown_not_missing(recorded):
    files = {"vllm/__init__.py": "", "vllm/worker/gpu.py": "class Worker: ..."}
    recorded("vllm", {"1.0": files}, wanted=r"vllm/__init__\.py")
    assert api.exports("vllm.worker.gpu", "Worker", "1.0") is UNKNOWN
    assert api.exports("vllm.nowhere", "Worker", "1.0") is ABSENT


def test_submodule_of_a_recorded_package_is_listed_however_deep(recorded):
    files = {"deepspeed/__init__.py": "", "deepspeed/runtime/__init__.py": "", "deepspeed/runtime/domino/a.py": ""}
    recorded("deepspeed", {"1.0": files}, wanted=r"deepspeed/(runtime/)?__init__\.py", depth=2)
    assert api.exports("deepspeed.runtime", "domino", "1.0") == "deepspeed.runtime.domino:"
    assert api.exports("deepspeed.runtime", "dominoes", "1.0") is UNKNOWN  # it may be a module, deeper than listed
    assert api.exports("deepspeed.runtime.domino.b", "x", "1.0") is UNKNOWN


def test_modules_below_an_unlisted_one_are_unknown(recorded):
    recorded("vllm", {"1.0": {"vllm/__init__.py": ""}}, unlisted=("vllm.models",))
    assert api.exports("vllm.models.llama", "Llama", "1.0") is UNKNOWN


def test_module_served_under_an_old_name_is_unknown(recorded):
    root = 'import sys\n_LEGACY = {"tokenization_utils": "tokenization_new"}\nsys.meta_path.append(Finder(_LEGACY))'
    recorded("transformers", {"5.0": {"transformers/__init__.py": root, "transformers/tokenization_new.py": ""}})
    assert api.exports("transformers.tokenization_utils", "AddedToken", "5.0") is UNKNOWN
    assert api.exports("transformers.deepspeed", "HfDeepSpeedConfig", "5.0") is ABSENT


# -- names from files that nobody reads -------------------------------------------------------------------------------

UNREAD = {"unlisted": ("vllm.model_executor",), "wanted": r"vllm/(?!model_executor).*\.py"}


def test_import_from_an_unread_module_opens_a_module_for_that_name_only(recorded):
    first = {
        "vllm/sampling_params.py": "class GuidedDecodingParams: ...\nclass SamplingParams: ...",
        "vllm/model_executor/utils.py": "",
    }
    second = {
        "vllm/sampling_params.py": "from vllm.model_executor.utils import pad\nclass SamplingParams: ...",
        "vllm/model_executor/utils.py": "",
    }
    recorded("vllm", {"0.11.0": first, "0.12.0": second}, **UNREAD)
    assert api.exports("vllm.sampling_params", "GuidedDecodingParams", "0.11.0")
    assert api.exports("vllm.sampling_params", "GuidedDecodingParams", "0.12.0") is ABSENT
    assert api.exports("vllm.sampling_params", "SamplingParams", "0.12.0")
    assert api.exports("vllm.sampling_params", "pad", "0.12.0") is UNKNOWN  # imported for its own use


def test_name_that_moved_to_an_unread_module_is_still_there(recorded):
    second = {
        "vllm/inputs.py": "from vllm.model_executor.inputs import TextPrompt",
        "vllm/model_executor/inputs.py": "",
    }
    recorded("vllm", {"0.18.0": {"vllm/inputs.py": "class TextPrompt: ..."}, "0.19.0": second}, **UNREAD)
    assert api.exports("vllm.inputs", "TextPrompt", "0.19.0") == "vllm.inputs:TextPrompt"


def test_package_lists_what_it_takes_from_unread_modules(recorded):
    files = {
        "vllm/__init__.py": "from vllm.model_executor.models import ModelRegistry",
        "vllm/model_executor/models.py": "",
    }
    recorded("vllm", {"0.12.0": files, "0.13.0": {**files, "vllm/__init__.py": ""}}, **UNREAD)
    assert api.exports("vllm", "ModelRegistry", "0.12.0") == "vllm:ModelRegistry"
    assert api.exports("vllm", "ModelRegistry", "0.13.0") is ABSENT
    assert api.exports("vllm", "Nothing", "0.12.0") is ABSENT


def test_partial_table_lists_none_of_them_and_stays_open(recorded):
    files = {
        "transformers/__init__.py": "from .trainer import Trainer\nfrom .models.bert import BertModel",
        "transformers/trainer.py": "class Trainer: ...",
        "transformers/models/bert.py": "",
    }
    wanted = r"transformers/(__init__|trainer)\.py"
    text = recorded(
        "transformers", {"4.40": files}, wanted=wanted, unlisted=("transformers.models",), partial="transformers"
    )
    assert "BertModel" not in text
    assert api.exports("transformers", "BertModel", "4.40") is UNKNOWN


def test_star_import_from_an_unread_module_opens_all(recorded):
    files = {"vllm/distributed.py": "from vllm.model_executor.ops import *", "vllm/model_executor/ops.py": ""}
    recorded("vllm", {"0.12.0": files}, **UNREAD)
    assert api.exports("vllm.distributed", "all_reduce", "0.12.0") is UNKNOWN


# -- names that are served and not bound ------------------------------------------------------------------------------


def served(recorded, source, name):
    recorded("peft", {"1.0": {"peft/tuners.py": source}})
    return api.exports("peft.tuners", name, "1.0")


BY_NAME = """
    LATER = {"Eetq": ".eetq"}
    def __getattr__(name):
        if (name == "Linear4bit") and is_bnb_4bit_available():
            from .bnb import Linear4bit
            return Linear4bit
        elif name in ("A", "B") or name in LATER:
            return globals()[name]
        raise AttributeError(name)
"""


def test_getattr_that_compares_names_serves_these(recorded):
    assert all(served(recorded, BY_NAME, name) for name in ("Linear4bit", "A", "B", "Eetq"))
    assert served(recorded, BY_NAME, "Linear8bitLt") is ABSENT


def test_getattr_that_answers_for_any_name_opens_all(recorded):
    for body in ("return name", "if name in found():\n        return 1", "if name != 'x':\n        return 1"):
        assert served(recorded, f"def __getattr__(name):\n    {body}", "Anything") is UNKNOWN


def test_names_that_are_worked_out_open_all(recorded):
    for line in (
        "globals()[name] = 1",
        "this_module.__dict__[name] = builder(name)",
        "globals().update(found)",
        "setattr(sys.modules[__name__], name, 1)",
    ):
        assert served(recorded, f"for name in names:\n    {line}", "CPUAdamBuilder") is UNKNOWN


def test_global_of_a_function_is_a_name_of_the_module(recorded):
    source = "def init():\n    global dist\n    dist = 1"
    assert served(recorded, source, "dist") == "peft.tuners:dist"
    assert served(recorded, source, "disk") is ABSENT
