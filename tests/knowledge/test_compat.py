"""The compatibility tables: well formed, and every advisory fires where it should and is silent after its cure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from trl_lint.checks.pins.known_bad_release import rule
from trl_lint.finding import SEVERITIES, Finding
from trl_lint.knowledge import compat
from trl_lint.knowledge.compat import (
    Advisory,
    Repair,
    Settings,
    advisories,
    independents,
    ranges,
    repositories,
    supports,
)
from trl_lint.knowledge.families import document_kind, families
from trl_lint.knowledge.pages import IMPACTS
from trl_lint.knowledge.releases import allowed, known_packages, parse_specifier, releases
from trl_lint.knowledge.requirements import declared, requirements_of
from trl_lint.project import Project
from trl_lint.project.manifests.reader import read_manifest
from trl_lint.project.stack import PACKAGES
from trl_lint.settings import Settings as RunSettings
from trl_lint.sources import Files

ADVISORIES = [pytest.param(advisory, id=advisory.id) for advisory in advisories()]


# The command that reads a config of a kind.
STARTED = {
    "accelerate": "accelerate launch --config_file config.json train.py",
    "deepspeed": "accelerate launch --deepspeed_config_file config.json train.py",
    "llamafactory": "llamafactory-cli train config.json",
}


def findings(folder: Path, advisory: Advisory, pins: dict[str, str], before: tuple[str, ...] = ()) -> list[Finding]:
    """What the rule says about these exact pins, in a project that does what the advisory is about.

    Of the documents that the advisory names the project uses the first. `before`: lines in front of its code.
    """
    (folder / "requirements.txt").write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
    used = [*(f"import {word}\n" for word in advisory.uses), *(f"{switch} = True\n" for switch in advisory.switches)]
    (folder / "train.py").write_text("".join([*before, "import trl\n", *used]))
    if advisory.documents:
        (folder / "config.json").write_text(json.dumps(document_of(advisory.documents[0])))
        (folder / "run.sh").write_text(f"{STARTED[advisory.documents[0].kind]}\n")
    project = Project(str(folder), Files(), RunSettings(str(folder)))
    manifest = read_manifest(project.files.get(str(folder / "requirements.txt")), project.files)
    assert manifest is not None
    return [f for f in rule.check_manifest(manifest, project) if f.message.startswith(advisory.title)]


def document_of(settings: Settings) -> dict[str, Any]:
    """A config document that says what an advisory asks for."""
    document: dict[str, Any] = {"num_processes": 2, "compute_environment": "LOCAL_MACHINE"}
    if settings.kind == "deepspeed":
        document = {"train_batch_size": 8}
    elif settings.kind == "llamafactory":
        document = {"model_name_or_path": "m", "dataset": "d"}
    for key, values in settings.values.items():
        *sections, name = key.split(".")
        place = document
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = values[0]
    return document


def newest_allowed(package: str, specifier: str) -> str:
    found = allowed(package, specifier)
    assert found, f"no known release of {package} in {specifier}"
    return str(found[-1])


@pytest.mark.parametrize("advisory", ADVISORIES)
def test_advisory_is_well_formed(advisory: Advisory):
    assert advisory.severity in SEVERITIES
    assert advisory.impact in IMPACTS
    assert set(advisory.packages) | set(advisory.unless) <= set(known_packages())
    assert advisory.fix and set(advisory.fix) <= set(advisory.packages)
    assert all(parse_specifier(s) for s in [*advisory.packages.values(), *advisory.fix.values()])
    assert advisory.evidence and all(urlsplit(url).scheme == "https" for url in advisory.evidence)
    assert not advisory.title.endswith(".") and not advisory.message.endswith(".")


def test_ids_are_unique():
    assert len({advisory.id for advisory in advisories()}) == len(advisories())


@pytest.mark.parametrize("advisory", ADVISORIES)
def test_advisory_fires_on_a_combination_it_is_about(advisory: Advisory, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    (finding,) = findings(tmp_path, advisory, pins)
    assert finding.severity == advisory.severity


@pytest.mark.parametrize("advisory", ADVISORIES)
def test_advisory_fires_at_the_lower_end_too(advisory: Advisory, tmp_path: Path):
    pins = {name: str((allowed(name, specifier) or ())[0]) for name, specifier in advisory.packages.items()}
    assert len(findings(tmp_path, advisory, pins)) == 1


@pytest.mark.parametrize("advisory", ADVISORIES)
def test_advisory_is_silent_after_each_of_its_cures(advisory: Advisory, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    for name, specifier in advisory.fix.items():
        cured = {**pins, name: newest_allowed(name, specifier)}
        assert findings(tmp_path, advisory, cured) == [], f"{name}{specifier} does not cure it"


ABOUT_A_USE = [param for param in ADVISORIES if param.values[0].uses or param.values[0].switches]


@pytest.mark.parametrize("advisory", ABOUT_A_USE)
def test_advisory_about_a_trainer_needs_its_use(advisory: Advisory, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    assert findings(tmp_path, advisory._replace(uses=(), switches=()), pins) == []


@pytest.mark.parametrize(
    ("advisory", "repair"),
    [
        pytest.param(advisory, repair, id=f"{advisory.id} by {repair.package}")
        for advisory in advisories()
        for repair in advisory.patched_by
    ],
)
def test_advisory_is_mended_by_who_is_imported_first(advisory: Advisory, repair: Repair, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    mending = f"from {repair.package.replace('-', '_')} import FastLanguageModel\n"
    assert repair.releases.startswith(">=") and repair.how.count(".") and repair.evidence
    first = repair.releases.removeprefix(">=")
    cases = {
        "unpinned": (pins, (mending,), False),
        "first": ({**pins, repair.package: first}, (mending,), False),
        "older": ({**pins, repair.package: releases(repair.package)[0].version}, (mending,), True),
        "late": (pins, ("import trl\n", mending), True),
        "absent": (pins, (), True),
    }
    for name, (pinned, before, speaks) in cases.items():
        (tmp_path / name).mkdir()
        assert bool(findings(tmp_path / name, advisory, pinned, before)) is speaks, name


def test_independent_packages_require_nothing_of_the_stack():
    rows = compat.independent_packages()
    assert not {name for row in rows for name in row.requires} & set(PACKAGES)
    assert all(row.evidence for row in rows) and not independents() & set(PACKAGES)


def test_every_package_with_a_family_has_its_repositories():
    named = {one.arguments.package if one.arguments is not None else one.name for one in families()}
    assert named | set(PACKAGES) <= set(repositories())


def test_no_two_packages_share_the_name_of_a_repository():
    names = [{place.rpartition("/")[2] for place in places} for places in repositories().values()]
    assert sum(map(len, names)) == len(set().union(*names))


def test_repositories_are_those_of_recorded_packages():
    assert set(repositories()) <= set(known_packages())
    assert all(place.count("/") == 1 for places in repositories().values() for place in places)


@pytest.mark.parametrize("advisory", [param for param in ADVISORIES if param.values[0].documents])
def test_advisory_about_a_config_hears_of_every_document_it_names(advisory: Advisory, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    for number, settings in enumerate(advisory.documents):
        assert document_kind(settings.kind).kind == settings.kind and all(settings.values.values())
        folder = tmp_path / str(number)
        folder.mkdir()
        (finding,) = findings(folder, advisory._replace(documents=(settings,)), pins)
        assert finding.severity == advisory.severity
        assert {f"{key} is {values[0]} here" for key, values in settings.values.items()} <= {
            place.message for place in finding.related
        }


@pytest.mark.parametrize("advisory", [param for param in ADVISORIES if param.values[0].documents])
def test_advisory_about_a_config_without_one(advisory: Advisory, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    levels = [finding.severity for finding in findings(tmp_path, advisory._replace(documents=()), pins)]
    assert levels == ([advisory.otherwise] if advisory.otherwise else [])


@pytest.mark.parametrize("advisory", [param for param in ADVISORIES if param.values[0].unless])
def test_advisory_is_lifted_by_another_package(advisory: Advisory, tmp_path: Path):
    pins = {name: newest_allowed(name, specifier) for name, specifier in advisory.packages.items()}
    lifted = {name: newest_allowed(name, specifier) for name, specifier in advisory.unless.items()}
    assert findings(tmp_path, advisory, {**pins, **lifted}) == []


def test_ranges_are_readable_and_meet_a_release():
    for row in ranges():
        assert row.package in known_packages(), row
        assert allowed(row.package, row.releases), f"no known release of {row.package} in {row.releases}"
        for name, specifier in row.requires.items():
            assert allowed(name, specifier), f"{row.package} {row.releases}: no known release of {name} in {specifier}"


def test_one_row_per_release_dependency_and_extra():
    seen: dict[tuple[str, str, str, str], str] = {}
    for row in ranges():
        for version in allowed(row.package, row.releases) or ():
            for name in row.requires:
                key = (row.package, str(version), name, row.extra)
                assert key not in seen, f"{key}: {seen.get(key)} and {row.releases}"
                seen[key] = row.releases


def test_no_row_repeats_a_history():
    for row in ranges():
        known = [declared(row.package, version) for version in allowed(row.package, row.releases) or ()]
        assert any(found is not None and not found.complete for found in known), row


def test_supporting_extras_are_declared():
    for (package, dependency), support in supports().items():
        assert dependency in requirements_of(package)
        told = {
            part.extra
            for version in allowed(package, "") or ()
            if (found := declared(package, version)) is not None
            for part in found.parts.get(dependency, ())
        }
        assert set(support.extras) <= told, (package, dependency)
