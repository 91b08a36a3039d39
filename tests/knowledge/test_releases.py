"""The lists of releases, and which of them pip would take."""

from __future__ import annotations

import json

import pytest

from trl_lint.knowledge.refresh import PACKAGES, render, summarise
from trl_lint.knowledge.refresher.listing import read_html_index, read_json_index, version_of
from trl_lint.knowledge.releases import allowed, installable, known_packages, newest, parse_version, releases, versions


def shown(package: str, specifier: str) -> list[str]:
    return [str(version) for version in allowed(package, specifier) or ()]


def test_every_package_has_a_list():
    assert known_packages() == sorted(PACKAGES)


@pytest.mark.parametrize("package", PACKAGES)
def test_lists_are_ordered_and_readable(package: str):
    texts = [release.version for release in releases(package)]
    found = [parse_version(text) for text in texts]
    assert None not in found
    assert found == list(versions(package))
    assert len(set(texts)) == len(texts)


def test_specifiers():
    assert shown("trl", ">=0.15,<0.16") == ["0.15.0", "0.15.1", "0.15.2"]
    assert shown("trl", "~=0.15.1") == ["0.15.1", "0.15.2"]
    assert shown("trl", "==0.12.*") == ["0.12.0", "0.12.1", "0.12.2"]
    assert shown("trl", "==0.9.99") == []
    assert allowed("no-such-package", ">=1") is None
    assert allowed("trl", "nonsense") is None


def test_local_labels_are_of_the_release():
    assert shown("torch", "==2.6.0+cu124") == ["2.6.0"]


def test_prereleases_only_when_named():
    assert "1.0.0rc1" not in shown("trl", ">=0.29")
    assert "1.0.0rc1" in shown("trl", ">=1.0.0rc1,<1.1")
    assert shown("trl", "==1.0.0rc1") == ["1.0.0rc1"]


def test_yanked_only_when_pinned_exactly():
    assert "4.52.0" not in shown("transformers", ">=4.52,<4.53")
    assert shown("transformers", "==4.52.0") == ["4.52.0"]
    assert parse_version("4.52.0") not in installable("transformers")


def test_newest_is_final():
    version = newest("verl")
    assert version is not None and not version.is_prerelease
    assert newest("no-such-package") is None


HTML = """<!DOCTYPE html><html><body>
<a href="x/trl-1.0.0rc1.whl#sha256=1" data-requires-python="&gt;=3.10">trl-1.0.0rc1-py3-none-any.whl</a><br/>
<a href="x/trl-0.9.6.tar.gz" data-yanked="broken">trl-0.9.6.tar.gz</a>
<a href="x/trl-0.15.2.tar.gz" data-yanked="">trl-0.15.2.tar.gz</a>
<a href="x/trl-0.15.2-py3-none-any.whl">trl-0.15.2-py3-none-any.whl</a>
<a href="x/trl-old.exe">trl-old.exe</a></body></html>"""


def test_html_index_keeps_known_dates():
    found = summarise(read_html_index(HTML), {"0.15.2": "2025-02-25"})
    assert render(found) == "0.9.6 yanked\n0.15.2 2025-02-25\n1.0.0rc1\n"


def test_json_index_has_dates():
    answer = json.loads(
        '{"files": [{"filename": "trl-0.15.2.tar.gz", "yanked": false, "upload-time": "2025-02-26T01:02:03Z"},'
        '{"filename": "trl-0.15.2-py3-none-any.whl", "upload-time": "2025-02-25T01:02:03Z"},'
        '{"filename": "trl-0.9.6-py3-none-any.whl", "yanked": "broken"}]}'
    )
    assert render(summarise(read_json_index(answer), {})) == "0.9.6 yanked\n0.15.2 2025-02-25\n"


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("vllm-0.6.6.post1-cp38-abi3-manylinux1_x86_64.whl", "0.6.6.post1"),
        ("flash_attn-2.8.3.tar.gz", "2.8.3"),
        ("trl-1.0.egg", None),
        ("nonsense.whl", None),
    ],
)
def test_version_of_a_file(name: str, version: str | None):
    assert version_of(name) == (parse_version(version) if version else None)
