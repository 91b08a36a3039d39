"""What pip installs: against all combinations of small universes, the cases that were measured, and what bounds it."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping

import pytest
from packaging.version import Version

from trl_lint.knowledge import resolver
from trl_lint.knowledge.ranges import holds
from trl_lint.knowledge.releases import allowed
from trl_lint.knowledge.resolver import Need, Wish, required_of, resolve
from trl_lint.sources.requirements import read_requirement


def wishes(text: str) -> list[Wish]:
    """`trl[vllm]>=0.9 transformers==4.42.3` as wishes."""
    found = []
    for part in text.split():
        read = read_requirement(part)
        releases = allowed(read.package, read.specifier) if read.specifier else None
        found.append(Wish(read.package, read.specifier, releases, read.extras))
    return found


def installed(text: str, python: str = "", present: Mapping[str, str] | None = None) -> dict[str, str]:
    there = {name: Version(version) for name, version in (present or {}).items()}
    found = resolve(wishes(text), python, there)
    return {} if found.taken is None else {name: str(version) for name, version in found.taken.items()}


# What `pip install --dry-run --report` answers, on the day of the recorded knowledge.
@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        ("transformers==4.42.3 trl", "trl==0.12.2 numpy==1.26.4 huggingface-hub==0.36.2 datasets==5.0.1"),
        ("transformers==4.28.1 trl peft", "trl==0.12.2 peft==0.21.2 tokenizers==0.13.3"),
        ("transformers==4.51.1 trl", "trl==0.19.1 tokenizers==0.21.4"),
        ("transformers>=4.33,<4.46 trl>=0.10.1", "transformers==4.45.2 trl==0.12.2"),
        ("transformers==4.28.1 trl>=0.7.4,<0.12", "trl==0.7.4"),
        ("transformers==4.42.3 trl>=0.9,<0.12", "trl==0.11.4"),
    ],
)
def test_known_answers_of_pip(asked: str, taken: str):
    found = installed(asked)
    assert {part: found.get(part.partition("==")[0]) for part in taken.split()} == {
        part: part.partition("==")[2] for part in taken.split()
    }


@pytest.mark.parametrize(("python", "numpy"), [("3.10", "2.2.6"), ("3.11", "2.4.6"), ("3.12", "2.5.5"), ("", "2.4.6")])
def test_a_release_for_another_python_is_passed_over(python: str, numpy: str):
    assert installed("numpy", python) == {"numpy": numpy}


def test_what_is_there_stays_where_it_does():
    """`pip install transformers==4.51.1` and then `pip install trl`, which needs a newer one."""
    first = installed("transformers==4.51.1")
    second = installed("trl", present=first)
    assert first["transformers"] == "4.51.1" and (second["trl"], second["transformers"]) == ("1.16.0", "5.23.0")
    assert installed("peft", present=first)["transformers"] == "4.51.1"
    assert installed("accelerate", present=installed("numpy==1.26.4"))["numpy"] == "1.26.4"


def test_what_is_installed_alone_brings_nothing_and_asks_nothing():
    trl, transformers = wishes("trl==1.16.0 transformers==4.40.2")
    assert resolve([trl, transformers]).taken is None
    found = resolve([trl._replace(is_alone=True), transformers]).taken
    assert found is not None and str(found["trl"]) == "1.16.0" and "datasets" not in found


def test_a_limit_installs_nothing():
    trl, transformers = wishes("trl==0.12.2 transformers<4.46")
    alone = resolve([transformers._replace(is_limit=True)]).taken
    both = resolve([trl, transformers._replace(is_limit=True)]).taken
    assert alone == {} and both is not None and str(both["transformers"]) == "4.45.2"


def test_an_extra_counts_for_who_asks():
    assert "vllm" not in installed("trl==1.16.0", "3.12") and "vllm" in installed("trl[vllm]==1.16.0", "3.12")


# -- made-up universes --------------------------------------------------------------------------------------------

Universe = dict[str, dict[str, list[tuple[str, str]]]]  # package -> release -> (dependency, specifier)


def universe(random_: random.Random) -> Universe:
    names = "abcdef"[: random_.randint(2, 6)]
    found: Universe = {}
    for name in names:
        found[name] = {}
        for number in range(1, random_.randint(2, 5)):
            others = random_.sample([other for other in names if other != name], random_.randint(0, len(names) - 1))
            found[name][f"{number}.0"] = [
                (other, random_.choice(["", ">=", "<=", "<", "==", "!="])) for other in others[:2]
            ]
            found[name][f"{number}.0"] = [
                (other, f"{sign}{random_.randint(1, 4)}.0" if sign else "")
                for other, sign in found[name][f"{number}.0"]
            ]
    return found


def solutions(world: Universe, asked: list[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Every set of releases in which all is there that is asked for or required, each fitting."""
    names = list(world)
    for chosen in itertools.product(*([None, *world[name]] for name in names)):
        found = {name: version for name, version in zip(names, chosen, strict=True) if version is not None}
        needs = [*asked, *(need for name, version in found.items() for need in world[name][version])]
        if all(name in found and (not text or holds(text, found[name])) for name, text in needs):
            yield found


@pytest.fixture
def in_world(monkeypatch: pytest.MonkeyPatch):
    def use(world: Universe) -> None:
        monkeypatch.setattr(
            resolver, "required_of",
            lambda name, version, extras, python: tuple(
                Need(other, text, frozenset()) for other, text in world[name][str(version)]
            ),
        )  # fmt: skip
        monkeypatch.setattr(
            resolver, "newest_first", lambda name, specifiers: [Version(text) for text in reversed(world.get(name, {}))]
        )

    return use


@pytest.mark.parametrize("seed", range(300))
def test_a_solution_is_found_where_there_is_one(seed: int, in_world):
    random_ = random.Random(seed)
    world = universe(random_)
    in_world(world)
    asked = [(name, random_.choice(["", ">=2.0", "<3.0", "==1.0"])) for name in random_.sample(list(world), 2)]
    wanted = []
    for name, text in asked:
        fitting = tuple(Version(each) for each in world[name] if not text or holds(text, each))
        wanted.append(Wish(name, text, fitting if text else None))
    every = list(solutions(world, asked))
    found = resolve(wanted)
    assert not found.is_cut and (found.taken is not None) == bool(every), (world, asked)
    if found.taken is None:
        return
    taken = {name: str(version) for name, version in found.taken.items()}
    assert taken in every


def test_a_search_that_takes_too_long_is_given_up(in_world):
    """Pairs of packages that exclude each other in all their releases, which only the last choice shows."""
    world: Universe = {f"p{number}": {} for number in range(12)}
    for number in range(12):
        for release in range(1, 9):
            later = [(f"p{other}", f"!={release}.0") for other in range(number + 1, 12)]
            world[f"p{number}"][f"{release}.0"] = later
    in_world(world)
    found = resolve([Wish(name, "", None) for name in world])
    assert found.taken is None and found.is_cut


def test_real_requirements_are_read_for_a_python():
    assert required_of("numpy", Version("2.5.5"), frozenset(), "3.11") is None
    found = required_of("trl", Version("1.16.0"), frozenset({"vllm"}), "3.11")
    assert found is not None and {need.source for need in found} >= {"accelerate", "transformers", "vllm"}


def test_a_newer_python_runs_where_a_pin_needs_one_and_nothing_says_which():
    assert installed("axolotl==0.21.0")["trl"] == "1.14.1"
    assert installed("axolotl==0.21.0", "3.11") == {}
    assert installed("axolotl==0.18.0") == installed("axolotl==0.18.0", "3.11")
