"""What releases require: the histories against tables copied by hand, markers, extras, and what nobody knows."""

from __future__ import annotations

import pytest

from trl_lint.knowledge import histories
from trl_lint.knowledge.releases import is_open, parse_specifier, parse_version
from trl_lint.knowledge.requirements import (
    Requirement,
    declared,
    dependents,
    marker_holds,
    providers,
    requirement,
    requirements_of,
)

# Read in the METADATA of the wheels, not in the histories: package, release, dependency, extra, specifier.
COPIED = [
    ("trl", "0.0.3", "transformers", "", "==4.3.2"),
    ("trl", "0.4.3", "accelerate", "", "<0.20.0"),
    ("trl", "0.7.5", "transformers", "", ">=4.31.0"),
    ("trl", "0.10.1", "peft", "peft", ">=0.8.0"),
    ("trl", "0.11.4", "transformers", "", ">=4.40.0"),
    ("trl", "0.12.1", "transformers", "", ">=4.46.0"),
    ("trl", "0.12.2", "transformers", "", "<4.47.0"),
    ("trl", "0.13.0", "datasets", "", ">=2.21.0"),
    ("trl", "0.16.1", "datasets", "", ">=3.0.0"),
    ("trl", "0.17.0", "vllm", "vllm", ">=0.8.3"),
    ("trl", "0.18.2", "transformers", "", ">=4.50.0"),
    ("trl", "0.19.0", "accelerate", "", ">=1.4.0"),
    ("trl", "0.20.0", "transformers", "", ">=4.53.2"),
    ("trl", "0.22.2", "transformers", "", ">=4.55.0"),
    ("trl", "0.23.1", "transformers", "", ">=4.56.1"),
    ("trl", "0.25.1", "vllm", "vllm", "==0.10.2"),
    ("trl", "0.26.2", "vllm", "vllm", ">=0.10.2,<0.12.0"),
    ("trl", "0.29.1", "vllm", "vllm", ">=0.10.2,<0.13.0"),
    ("trl", "1.0.0", "vllm", "vllm", ">=0.10.2,<=0.17.1"),
    ("trl", "1.0.0", "datasets", "", ">=4.7.0"),
    ("trl", "1.2.0", "vllm", "vllm", ">=0.11.0,<=0.18.0"),
    ("trl", "1.6.0", "vllm", "vllm", ">=0.12.0,<=0.19.0"),
    ("trl", "1.9.2", "liger-kernel", "liger", ">=0.8.0,!=0.8.1"),
    ("trl", "1.12.0", "vllm", "vllm", ">=0.19.0,<=0.27.1"),
    ("trl", "1.13.0", "deepspeed", "deepspeed", ">=0.18.6"),
    ("trl", "1.14.2", "vllm", "vllm", ">=0.20.0,<=0.30.0"),
    ("trl", "1.16.0", "vllm", "vllm", ">=0.22.0,<=0.31.0"),
    ("trl", "1.16.0", "accelerate", "", ">=1.10.1"),
    ("vllm", "0.4.2", "torch", "", "==2.3.0"),
    ("vllm", "0.5.5", "numpy", "", "<2.0.0"),
    ("vllm", "0.7.3", "ray", "", "==2.40.0"),
    ("vllm", "0.8.3", "ray", "", ">=2.43.0,!=2.44.*"),
    ("vllm", "0.8.4", "torch", "", "==2.6.0"),
    ("vllm", "0.9.0.1", "pydantic", "", ">=2.9"),
    ("vllm", "0.11.2", "transformers", "", ">=4.56.0,<5"),
    ("vllm", "0.25.1", "transformers", "", ">=5.5.3"),
    ("vllm", "0.31.0", "transformers", "", ">=5.10.4,<5.18.0"),
    ("vllm", "0.33.0", "transformers", "", ">=5.16.1,<5.21.0"),
    ("openrlhf", "0.5.8", "deepspeed", "", "==0.16.3"),
    ("openrlhf", "0.7.0", "transformers", "", "==4.50.0"),
    ("openrlhf", "0.11.2", "vllm", "vllm", "==0.29.0"),
    ("verl", "0.2", "vllm", "", "<=0.6.3"),
    ("verl", "0.6.1", "vllm", "vllm", ">=0.8.5,<=0.11.0"),
    ("verl", "0.9.0", "transformers", "", ">=5.5.3,!=5.6.0,<5.11"),
    ("transformers", "4.57.6", "huggingface-hub", "", ">=0.34.0,<1.0"),
    ("transformers", "5.23.0", "huggingface-hub", "", ">=1.31.0,<3.0"),
]  # fmt: skip


def asked(package: str, version: str, dependency: str, *extras: str, python: str = "") -> Requirement | None:
    parsed = parse_version(version)
    assert parsed is not None
    return requirement(package, parsed, dependency, frozenset(extras), python)


@pytest.mark.parametrize(("package", "version", "dependency", "extra", "specifier"), COPIED)
def test_requirements_are_those_of_the_metadata(
    package: str, version: str, dependency: str, extra: str, specifier: str
):
    found = asked(package, version, dependency, *filter(None, [extra]), python="<3.13")
    assert found is not None
    assert parse_specifier(found.specifier) == parse_specifier(specifier)
    assert (found.extra, found.force) == (extra, "binding")


@pytest.mark.parametrize(
    ("package", "version", "dependency", "extras", "wanted"),
    [
        ("trl", "0.24.0", "vllm", (), ("==0.10.2", "supported")),
        ("trl", "0.24.0", "vllm", ("vllm",), ("==0.10.2", "binding")),
        ("trl", "0.14.0", "vllm", (), ("", "none")),
        ("trl", "0.13.0", "vllm", ("vllm",), ("", "none")),
        ("trl", "0.24.0", "transformers", (), (">=4.56.1", "binding")),  # `!=4.57.0` is for one Python alone
        ("trl", "0.28.0", "transformers", ("deepspeed",), (">=4.56.2,!=5.1.0", "binding")),
        ("trl", "0.12.0", "transformers", ("judges",), (">=4.46.0", "binding")),
        ("vllm", "0.6.5", "torch", (), ("==2.5.1", "conditional")),  # not on every machine
        # `vllm` pins it, `vllm-latest` takes what is newer
        ("openrlhf", "0.7.0", "vllm", (), (">=0.8.3", "supported")),
        ("openrlhf", "0.7.0", "vllm", ("vllm-latest",), (">0.8.3", "binding")),
        ("transformers", "4.52.4", "torch", (), ("", "none")),
        ("transformers", "4.52.4", "torch", ("torch",), (">=2.1,<2.7", "binding")),
        ("deepspeed", "0.10.0", "pydantic", (), ("<2.0.0", "binding")),
    ],
)
def test_force(package: str, version: str, dependency: str, extras: tuple[str, ...], wanted: tuple[str, str]):
    found = asked(package, version, dependency, *extras)
    assert found is not None and (found.specifier, found.force) == wanted


@pytest.mark.parametrize(
    ("package", "version", "dependency"),
    [
        ("vllm", "0.3.3", "torch"),
        ("deepspeed", "0.12.6", "pydantic"),
        ("deepspeed", "0.10.0", "torch"),
        ("einops", "0.8.0", "torch"),
    ],
)
def test_what_is_not_recorded_is_unknown(package: str, version: str, dependency: str):
    assert asked(package, version, dependency) is None


def test_an_extra_under_a_marker_binds_where_the_python_is_told():
    """Of TRL 0.19.0: `vllm>=0.8.3; python_version < "3.13" and extra == "vllm"`."""
    assert [
        found.force
        for python in ("", ">=3.10", ">=3.10,<3.13", ">=3.13")
        if (found := asked("trl", "0.19.0", "vllm", "vllm", python=python))
    ] == ["supported", "supported", "binding", "none"]


@pytest.mark.parametrize(
    ("marker", "pythons", "wanted"),
    [
        ("", "", True),
        ('python_version < "3.13"', "", None),
        ('python_version < "3.13"', ">=3.10,<3.12", True),
        ('python_version == "3.9"', ">=3.10", False),
        ('python_full_version >= "3.11.4"', "==3.11.*", None),
        ('sys_platform != "win32"', "", None),
        ('platform_machine == "x86_64" or platform_machine != "x86_64"', "", True),
        ("no marker", "", None),
    ],
)
def test_markers(marker: str, pythons: str, wanted: bool | None):
    assert marker_holds(marker, pythons) is wanted


def test_extras_of_the_required_package_are_kept():
    found = asked("vllm", "0.7.3", "ray")
    assert found is not None and found.asks == {"adag"}


def test_several_lines_for_one_name():
    version = parse_version("0.24.0")
    assert version is not None
    found = declared("trl", version)
    assert found is not None
    assert [(part.specifier, part.marker) for part in found.parts["transformers"]] == [
        (">=4.56.1", ""),
        ("!=4.57.0", 'python_version == "3.9"'),
    ]


def test_dependents_read_only_the_packages_that_are_mentioned(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []
    plain = histories.block
    requirements_of.cache_clear()
    monkeypatch.setattr(histories, "block", lambda package, symbol: read.append(package) or plain(package, symbol))
    assert dependents("torch", ["vllm", "einops", "torch"]) == ("vllm",)
    assert read == ["requirements/vllm"]
    assert {"trl", "openrlhf", "verl", "deepspeed"} <= set(providers())


@pytest.mark.parametrize(
    ("specifier", "wanted"),
    [
        ("==0.99", False), (">=1.0,<0.20", False), ("<=1.16.0", False), ("~=1.4.2", False), ("==1.4.*", False),
        ("==99.0", True), (">=1.0", True), ("", True), ("~=1.16", True), ("==1.16.*", True), ("<1.16.0.post1", True),
        ("==0.99.dev0", True), ("==0.99+cu124", True), ("===0.99", True), ("!=1.0", True), ("<2", True),
    ],
)  # fmt: skip
def test_what_a_newer_release_may_satisfy(specifier: str, wanted: bool):
    assert is_open("trl", specifier) is wanted


def test_nothing_is_closed_about_a_package_without_a_list():
    assert is_open("einops", "==0.1")
