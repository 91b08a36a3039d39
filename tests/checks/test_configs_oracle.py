"""The rules on accelerate and DeepSpeed configs against the recorded answers of the libraries themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli

from trl_lint.checks.configs import contradiction_in_file, unknown_key, value_not_allowed
from trl_lint.checks.numerics import fp16_for_rl
from trl_lint.finding import Finding
from trl_lint.knowledge.api import releases
from trl_lint.project import Project
from trl_lint.settings import Settings
from trl_lint.sources import Files

ORACLE = tomli.loads((Path(__file__).parent.parent / "oracle" / "accelerate_deepspeed.toml").read_text("utf-8"))
CONFIGS = [pytest.param(config, id=config["name"]) for config in ORACLE["config"]]
RULES = (unknown_key.rule, value_not_allowed.rule, contradiction_in_file.rule, fp16_for_rl.rule)
# What DeepSpeed refuses and trl-lint leaves alone: who else fills these values in cannot be seen in the file.
NOT_CLAIMED = {"no batch", "raw batch auto", "two names of one field", "duplicate key"}


def findings(config: dict[str, Any], folder: Path, pins: dict[str, str]) -> list[Finding]:
    """What the rules say about a config that `accelerate launch` is started with, in a project with exact pins."""
    path = folder / f"config.{config['suffix']}"
    path.write_text(config["text"], "utf-8")
    (folder / "run.sh").write_text(f"accelerate launch --config_file {path.name} train.py\n")
    (folder / "requirements.txt").write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
    project = Project(str(folder), Files(), Settings(str(folder)))
    document = project.document_in(str(path))
    assert document is not None
    if document.kind not in ("accelerate", "deepspeed"):
        return []
    return [finding for rule in RULES for finding in rule.check_document(document, project)]


@pytest.mark.parametrize("config", CONFIGS)
def test_agrees_with_the_libraries(config: dict[str, Any], tmp_path: Path):
    found = findings(config, tmp_path, ORACLE["releases"])
    assert sorted(f"{f.code} {f.severity}" for f in found) == sorted(config["expect"]), [f.message for f in found]
    if config["verdict"] == "accepts":
        assert not any(finding.severity == "error" for finding in found)
    elif config["name"] not in NOT_CLAIMED:
        assert any(finding.severity == "error" for finding in found)


def test_many_configs_of_either_kind_and_verdict():
    kinds = [(config["reader"] == "accelerate", config["verdict"]) for config in ORACLE["config"]]
    assert len(kinds) >= 60
    for is_accelerate in (True, False):
        assert all(kinds.count((is_accelerate, verdict)) >= 15 for verdict in ("accepts", "refuses"))


@pytest.mark.parametrize("config", CONFIGS)
def test_silent_where_the_releases_are_unknown(config: dict[str, Any], tmp_path: Path):
    """A development version of nobody knows when may take anything."""
    pins = dict.fromkeys(("accelerate", "deepspeed"), "99.0")
    assert findings(config, tmp_path, pins) == []


SINCE = [
    ("DeepSpeed file and zero_stage", "TRL403", "accelerate", "0.16.0"),
    ("one GPU id for several GPUs", "TRL403", "accelerate", "0.17.0"),
    ("ram efficient without sync", "TRL403", "accelerate", "0.24.0"),
    ("two machines without address, type NO", "TRL403", "accelerate", "0.26.0"),
    ("distributed type TPU", "TRL402", "accelerate", "0.28.0"),
    ("wrap policy unknown", "TRL402", "accelerate", "0.34.0"),
    ("old name of backward prefetch", "TRL401", "accelerate", "1.0.0"),
    ("FSDP 2 local state dict", "TRL403", "accelerate", "1.6.0"),
    ("FSDP 2 with a sharding strategy", "TRL403", "accelerate", "1.6.0"),
    ("FSDP 1 with reshard_after_forward", "TRL403", "accelerate", "1.6.0"),
    ("reshard after forward of FSDP 1", "TRL402", "accelerate", "1.6.0"),
    ("tp_config after its removal", "TRL401", "accelerate", "1.7.0"),
    ("parallelism product", "TRL403", "accelerate", "1.10.0"),
    ("tp with pure replication", "TRL403", "accelerate", "1.10.0"),
    ("parallelism in FSDP 1", "TRL403", "accelerate", "1.10.0"),
    ("sp backend unknown", "TRL402", "accelerate", "1.12.0"),
    ("cp and sp", "TRL403", "accelerate", "1.13.0"),
    ("ipex_config after its removal", "TRL401", "accelerate", "1.13.0"),
    ("nothing for FSDP to shard", "TRL403", "accelerate", "1.15.0"),
    ("checkpoint offload without checkpointing", "TRL403", "accelerate", "1.15.0"),
    ("partial offload at stage 2", "TRL403", "deepspeed", "0.12.3"),
    ("opt_level in fp16", "TRL401", "deepspeed", "0.17.1"),
    ("loss scale in bf16", "TRL401", "deepspeed", "0.17.1"),
    ("16-bit master weights without zero", "TRL403", "deepspeed", "0.18.3"),
    ("optimizer states without master weights", "TRL403", "deepspeed", "0.18.3"),
    ("allreduce op", "TRL402", "deepspeed", "0.19.6"),
    ("sum at stage 3", "TRL403", "deepspeed", "0.19.6"),
    ("norm off at stage 3", "TRL403", "deepspeed", "0.19.7"),
    ("removed zero key", "TRL401", "deepspeed", "0.19.7"),
    ("removed elasticity", "TRL401", "deepspeed", "0.19.8"),
]


@pytest.mark.parametrize(("name", "code", "package", "first"), SINCE)
def test_begins_with_a_release(name: str, code: str, package: str, first: str, tmp_path: Path):
    """Told for a release and not for the one before, as their sources say."""
    config = next(config for config in ORACLE["config"] if config["name"] == name)
    known = releases(package)
    before = known[known.index(first) - 1]
    for version, wanted in ((before, False), (first, True)):
        found = findings(config, tmp_path, {**ORACLE["releases"], package: version})
        assert (code in {finding.code for finding in found}) is wanted, f"{package} {version}"
