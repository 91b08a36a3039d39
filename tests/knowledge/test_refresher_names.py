"""Extraction of names: one test for each thing that was hard about it."""

from trl_lint.knowledge import api

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
