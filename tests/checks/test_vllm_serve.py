"""Which flags and values a release of vLLM's server takes."""

from __future__ import annotations

import pytest

from trl_lint.checks.configs._launcher_options import takes_value
from trl_lint.knowledge.launchers import launchers
from trl_lint.knowledge.refresher.index import Contents
from trl_lint.knowledge.refresher.serve_flags import serve_flags

_FILES = {
    "vllm/config/model.py": b"""
ModelDType = Literal["auto", "half"]
Twice = Literal["a"]
Twice = Literal["b"]

class ModelConfig:
    dtype: ModelDType | torch.dtype = "auto"
    backend: Optional[Literal["mp", "ray"]] = None
    mode: Literal["a"] | str = "a"
    changed: Literal["a", "b"] = "a"
    twice: Twice = "a"
    quantization: Literal["awq"] = "awq"
""",
    "vllm/engine/arg_utils.py": b"""
class EngineArgs:
    max_model_len: int = 1
    _private: int = 0

    def add_cli_args(parser):
        kwargs = get_kwargs(ModelConfig)
        kwargs["changed"]["choices"].append("c")
        for name in NAMES:
            group.add_argument(name)
        group.add_argument("--dtype", **kwargs["dtype"])
        group.add_argument("--backend", **kwargs["backend"])
        group.add_argument("--mode", **kwargs["mode"])
        group.add_argument("--changed", **kwargs["changed"])
        group.add_argument("--twice", **kwargs["twice"])
        group.add_argument("--quantization", "-q", **kwargs["quantization"])
        group.add_argument("--old_name", choices=["x", "y"])
        group.add_argument("--some", choices=["x", OTHER])
""",
    "vllm/entrypoints/openai/cli_args.py": b"""
class FrontendArgs:
    host: str = ""
""",
}


def _read(files: dict[str, bytes]) -> dict[str, str]:
    facts = serve_flags(Contents(sorted(files), {name: (0, data) for name, data in files.items()}))
    return facts.get("flags vllm.serve", {})


def test_what_is_read_of_a_release():
    plain = ("changed", "host", "max-model-len", "mode", "quantization", "some", "twice")
    assert _read(_FILES) == {
        **{f"--{name}": "+" for name in plain},
        "--dtype": "+ choices=['auto','half']",
        "--backend": "+ choices=['mp','ray']",
        "--old-name": "+ choices=['x','y']",
    }


@pytest.mark.parametrize("missing", ["vllm/engine/arg_utils.py", "vllm/entrypoints/openai/cli_args.py"])
def test_a_release_whose_files_are_elsewhere_is_not_known(missing: str):
    assert _read({name: data for name, data in _FILES.items() if name != missing}) == {}


@pytest.mark.parametrize(
    ("name", "version", "taken"),
    [
        ("--tensor-parallel-size", "0.10.2", True),
        ("--tensor-par", "0.10.2", True),
        ("--tensor-paralel-size", "0.10.2", False),
        ("--no-enable-prefix-caching", "0.10.2", True),
        ("--disable-prefix-caching", "0.33.0", True),
        ("--num-scheduler-steps", "0.6.3", True),
        ("--num-scheduler-steps", "0.12.0", False),
        ("--help", "0.5.5", True),
        ("--any", "0.3.3", None),
    ],
)
def test_names(name: str, version: str, taken: bool | None):
    vllm = launchers()["vllm"]
    assert vllm.has(vllm.named(name), version) is taken


@pytest.mark.parametrize(
    ("name", "text", "version", "taken"),
    [
        ("--dtype", "bf16", "0.8.5", False),
        ("--dtype", "bf16", "0.33.0", False),
        ("--dtype", "half", "0.5.5", True),
        ("--kv-cache-dtype", "None", "0.10.2", True),
        ("--quantization", "ascend", "0.10.2", True),
        ("--dtype", "bf16", "0.3.3", None),
    ],
)
def test_values(name: str, text: str, version: str, taken: bool | None):
    vllm = launchers()["vllm"]
    assert takes_value(vllm, vllm.named(name), text, version) is taken
