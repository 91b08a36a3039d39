"""Requirements: the parts, their spans, and what pip would refuse."""

from __future__ import annotations

import random

import pytest
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Reference

from trl_lint.sources.requirements import (
    RequirementError,
    package_of_url,
    read_requirement,
    read_requirements,
)


def test_parts_and_spans():
    text = "  trl[vllm, peft] >=0.14, <0.18 ; python_version < '3.13'"
    requirement = read_requirement(text)
    assert requirement.package == "trl"
    assert requirement.extras == {"vllm", "peft"}
    assert requirement.specifier == ">=0.14,<0.18"
    assert requirement.marker == "python_version < '3.13'"
    assert text[requirement.specifier_start : requirement.specifier_end] == ">=0.14, <0.18"
    assert text[requirement.start : requirement.end] == "trl[vllm, peft] >=0.14, <0.18"


def test_a_bare_name_has_a_place_for_a_specifier():
    requirement = read_requirement("flash_attn[x]")
    assert (requirement.package, requirement.specifier) == ("flash-attn", "")
    assert requirement.specifier_start == requirement.specifier_end == len("flash_attn[x]")


def test_direct_reference():
    requirement = read_requirement("trl @ git+https://github.com/huggingface/trl.git@main ; python_version > '3'")
    assert requirement.url == "git+https://github.com/huggingface/trl.git@main"
    assert requirement.marker == "python_version > '3'"


@pytest.mark.parametrize(
    "text",
    [
        "trl", "trl==0.15.2", "trl == 0.15.*", "torch==2.5.1+cu124", "vllm (>=0.1,<2)", "a[b,c]~=1.4", "x!=1.0,>=0.9",
        "zope.interface>=5", "pkg===weird", "numpy<2 ; python_version<'3.9'", "x>=1.0rc1", "x==1!2.0", "x>=1.0.post1",
        "bitsandbytes=0.43.3", "foo bar", "a>==1", "x==", "-x", "x>=1 2", "x>=a.b", "x[", "==1.0", "x==1.0.dev",
    ],
)  # fmt: skip
def test_agrees_with_packaging(text: str):
    """The reader refuses what `packaging` refuses, and finds the same parts in the rest."""
    try:
        reference = Reference(text)
    except InvalidRequirement:
        with pytest.raises(RequirementError):
            read_requirement(text)
        return
    found = read_requirement(text)
    assert found.extras == reference.extras
    assert sorted(filter(None, found.specifier.split(","))) == sorted(map(str, reference.specifier))


@pytest.mark.parametrize("seed", range(300))
def test_any_text_gives_requirements_or_problems_inside_of_it(seed: int):
    dice = random.Random(seed)
    text = "".join(dice.choices("trl0.19=<>!~,;[]() @#\\\n-e'\"", k=dice.randrange(40)))
    found = read_requirements(text)
    for requirement in found.requirements:
        assert 0 <= requirement.start <= requirement.specifier_start <= requirement.specifier_end <= len(text)
    assert all(0 <= start <= end <= len(text) for start, end, _ in found.problems)


def test_a_single_equals_sign_is_a_problem_with_its_place():
    text = "accelerate\nbitsandbytes=0.43.3\n"
    ((start, end, message),) = read_requirements(text).problems
    assert text[start:end] == "bitsandbytes=0.43.3"
    assert "'=='" in message


def test_file_with_everything():
    text = (
        "# comment\r\n--extra-index-url https://x\r\n-r base.txt\r\n-cpins.txt  # why\r\n"
        "trl==0.15.2 \\\r\n    --hash=sha256:aa \\\r\n    --hash=sha256:bb\r\n"
        "-e git+https://github.com/huggingface/peft.git@v0.14#egg=peft\r\n-e .\r\n./local\r\n"
        "https://x.org/flash_attn-2.7.4-cp311-cp311-linux_x86_64.whl\r\nvllm==${VLLM}\r\ntorch # any\r\n"
    )
    found = read_requirements(text)
    assert [requirement.package for requirement in found.requirements] == ["trl", "peft", "flash-attn", "torch"]
    assert [(include.path, include.is_constraint) for include in found.includes] == [
        ("base.txt", False),
        ("pins.txt", True),
    ]
    assert found.problems == []
    trl = found.requirements[0]
    assert text[trl.specifier_start : trl.specifier_end] == "==0.15.2"


@pytest.mark.parametrize(
    ("url", "package"),
    [
        ("git+https://github.com/huggingface/trl.git@v0.14.0", "trl"),
        ("git+https://github.com/OpenRLHF/OpenRLHF", "openrlhf"),
        ("git+ssh://git@github.com/x/y.git#egg=Foo_Bar", "foo-bar"),
        ("https://wheels.vllm.ai/abc/vllm-1.0.0.dev-cp38-abi3-manylinux1_x86_64.whl", "vllm"),
        (".", ""),
        ("./vendored/trl", ""),
    ],
)
def test_package_of_a_url(url: str, package: str):
    assert package_of_url(url) == package
