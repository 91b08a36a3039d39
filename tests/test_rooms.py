"""Which room of the package may ask which."""

from __future__ import annotations

from documents import ROOT
from rooms import (
    arrows_back,
    circles,
    explained_circles,
    floors,
    imports,
    module_name,
    modules,
    picture,
    room_of,
    rooms,
)

REFRESHER = "trl_lint.knowledge.refresh"


def test_nothing_imports_the_refresher_which_no_wheel_has():
    found = [one for one in imports() if one.imported.startswith(REFRESHER)]
    assert found
    assert [one for one in found if not one.importer.startswith(REFRESHER)] == []


# -- the table of rooms, and the floors -------------------------------------------------------------------------------


def test_every_module_is_in_one_room():
    listed = [path for row in rooms() for path in row]
    assert len(listed) == len(set(listed))
    assert [path for path in listed if not (ROOT / path).exists()] == []
    assert [name for name in modules() if not room_of(name)] == ["trl_lint"]


def test_every_room_is_on_one_floor():
    stands = [room for floor in floors() for room in floor]
    assert sorted(stands) == sorted(row[0] for row in rooms())


def test_no_room_imports_from_a_higher_floor_but_those_that_are_explained():
    height = {room: number for number, floor in enumerate(floors()) for room in floor}
    rising: dict[tuple[str, str], list[str]] = {}
    for one in imports():
        start, end = room_of(one.importer), room_of(one.imported)
        if start and end and start != end and height[start] <= height[end]:
            rising.setdefault((start, end), []).append(f"{one.importer}:{one.line}")
    assert sorted(rising) == sorted(arrows_back()), rising


def test_no_two_modules_import_each_other_but_those_that_are_explained():
    """An import in a function or one for types alone hides a circle from Python, and not from a reader."""
    assert circles() == sorted(tuple(sorted(pair)) for pair in explained_circles())


def test_no_module_is_longer_than_people_read_at_once():
    """700 lines; what is longer has two subjects. Generated tables are not read."""
    long = {name for name, path in modules().items() if path.read_text("utf-8").count("\n") > 700}
    assert long <= {"trl_lint.checks.declared"}


def test_what_is_said_to_the_type_checker_alone_stays_rare():
    """An import that no run makes hides a circle or a cost, and an ignored error a type that does not fit."""
    texts = [path.read_text("utf-8") for path in modules().values()]
    assert sum(text.count("\nif TYPE_CHECKING:") for text in texts) <= 82
    assert sum(text.count("# type: ignore") for text in texts) <= 30


# -- the picture ------------------------------------------------------------------------------------------------------


def test_an_import_between_steps_follows_the_picture():
    """A step imports what stands somewhere before it, or what it hands something over to."""
    nodes, arrows = picture()
    assert len(nodes) > 8 and len(arrows) > 8

    def step(module: str) -> str:
        found = [name for name, prefix in nodes.items() if f"{module}.".startswith(f"{prefix}.")]
        return max(found, key=lambda name: len(nodes[name]), default="")

    def comes_to(start: str, end: str) -> bool:
        seen, waiting = {start}, [start]
        while waiting:
            node = waiting.pop()
            new = {after for before, after in arrows if before == node} - seen
            seen |= new
            waiting.extend(new)
        return end in seen

    wrong = []
    for one in imports():
        user, used = step(one.importer), step(one.imported)
        is_nested = nodes.get(user, "").startswith(nodes.get(used, "-")) or nodes.get(used, "").startswith(
            nodes.get(user, "-")
        )
        back = (room_of(one.importer), room_of(one.imported)) in arrows_back()
        if user and used and not is_nested and not back and not comes_to(used, user) and (user, used) not in arrows:
            wrong.append(f"{user} imports {used}: {one.importer}:{one.line}")
    assert wrong == []


def test_every_arrow_of_the_picture_joins_steps_that_some_module_brings_together():
    """By its own imports and those of the modules that it imports."""
    nodes, arrows = picture()
    assert [node for node, name in nodes.items() if node != "files" and name not in modules()] == []
    near: dict[str, set[str]] = {}
    for one in imports():
        near.setdefault(one.importer, {one.importer}).add(one.imported)
    together = []
    for names in near.values():
        around = {other for name in names for other in near.get(name, {name})}
        together.append(
            {node for node, name in nodes.items() if any(f"{one}.".startswith(f"{name}.") for one in around)}
        )
    assert [arrow for arrow in arrows if "files" not in arrow and not any(set(arrow) <= one for one in together)] == []


def test_a_room_has_a_name_that_a_module_has():
    assert {module_name(path) for row in rooms() for path in row} <= {*modules()}
