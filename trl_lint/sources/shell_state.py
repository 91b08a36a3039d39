"""Shell variables over the course of a script, as far as they are known without running it.

The values are kept as a log: a branch is read and then undone, and a command remembers a moment of the log instead of a
copy of all variables, so that reading stays linear in the length of the script.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from trl_lint.records import NamedTuple
from trl_lint.sources.shell_options import decided
from trl_lint.sources.shell_values import LONGEST_VALUE, Array, Value, Word


class _Record(NamedTuple):
    moment: int
    value: Value | None
    exported: bool


# No names that a variable can have.
WORKING_DIRECTORY = "//cwd"
_LEFT_LAST = "//left"  # what `cd -` goes back to
_LEFT = "//pushed"  # what `popd` goes back to, the last first, with a NUL before each


class Changes(NamedTuple):
    """What a stretch of a script changed: these names, or (`anything`) perhaps every name."""

    names: set[str]
    anything: bool


class Mark(NamedTuple):
    length: int
    barrier: int


class State:
    """The variables and the working directory at one moment. Branches: `mark`, read, `undo`, then `forget`."""

    def __init__(self) -> None:
        self.records: dict[str, list[_Record]] = {}
        self.export_all = False
        self._journal: list[str] = []
        self._moment = 0
        self._barrier = 0  # what was assigned up to this moment is no longer known
        self._known: set[str] = set()
        self.set(WORKING_DIRECTORY, Word("", "", 0, 0))

    def get(self, name: str) -> Value | None:
        """The value of a variable; None if the script has not assigned it (it may still be inherited)."""
        records = self.records.get(name)
        return _value(records[-1], self._barrier) if records else None

    def set(self, name: str, value: Value | None, exported: bool | None = None) -> None:
        if value is not None and _length(value) > LONGEST_VALUE:
            value = _unknown(value)
        records = self.records.setdefault(name, [])
        if exported is None:
            exported = value is not None and (self.export_all or (records[-1].exported if records else False))
        self._moment += 1
        records.append(_Record(self._moment, value, exported))
        self._journal.append(name)
        if value is not None and (
            isinstance(value, Array) or value.text is not None or value.template or value.options
        ):
            self._known.add(name)
        else:
            self._known.discard(name)

    def export(self, name: str, exported: bool = True) -> None:
        value = self.get(name)
        if value is not None:
            self.set(name, value, exported)

    def forget(self, names: Iterable[str]) -> None:
        """Make the values of these names unknown, those that the script has not assigned yet as well."""
        for name in names:
            value = self.get(name)
            if value is None or name in self._known:
                self.set(name, _unknown(value))

    def forget_known(self, names: AbstractSet[str]) -> None:
        """Make the values of these names unknown where they are known now."""
        for name in self._known & names:
            self.set(name, _unknown(self.get(name)))

    def forget_all(self) -> None:
        """Make everything unknown that has been assigned so far."""
        self._barrier = self._moment

    @property
    def is_opened(self) -> bool:
        """Whether something may have assigned names that nobody knows: another file that was sourced, an `eval`."""
        return self._barrier > 0

    @property
    def directory(self) -> str | None:
        """The working directory: absolute, or relative to where the script was started ("" = there), None unknown."""
        return self._text(WORKING_DIRECTORY)

    def change_directory(self, directory: str | None) -> None:
        self.set(_LEFT_LAST, Word(self.directory, "", 0, 0))
        self.set(WORKING_DIRECTORY, Word(directory, "", 0, 0))

    def go_back(self) -> None:
        """`cd -`."""
        self.change_directory(self._text(_LEFT_LAST))

    def push_directory(self) -> None:
        """Keep the working directory for a later `popd`."""
        here, others = self.directory, self._text(_LEFT) or ""
        self.set(_LEFT, Word(None if here is None else f"\0{here}{others}", "", 0, 0))

    def pop_directory(self) -> None:
        found = (self._text(_LEFT) or "").split("\0", 2)
        self.change_directory(found[1] if len(found) > 1 else None)
        self.set(_LEFT, Word(f"\0{found[2]}" if len(found) > 2 else None, "", 0, 0))

    def _text(self, name: str) -> str | None:
        value = self.get(name)
        return value.text if isinstance(value, Word) else None

    def mark(self) -> Mark:
        return Mark(len(self._journal), self._barrier)

    def changed_since(self, mark: Mark) -> Changes:
        return Changes(set(self._journal[mark.length :]), self._barrier != mark.barrier)

    def undo(self, mark: Mark) -> Changes:
        """Go back to a mark; returns what had changed since."""
        changes = self.changed_since(mark)
        self._barrier = mark.barrier
        counts: dict[str, int] = {}
        for name in self._journal[mark.length :]:
            counts[name] = counts.get(name, 0) + 1
        for name, count in counts.items():
            records = self.records[name]
            record = records[-count - 1] if len(records) > count else None
            if record is None:
                self.set(name, None, False)
            else:
                self.set(name, _value(record, self._barrier), record.exported)
        return changes

    def blur(self, changes: Changes) -> None:
        """Forget what may have changed."""
        if changes.anything:
            self.forget_all()
        self.forget(changes.names)

    def is_exported(self, name: str) -> bool:
        records = self.records.get(name)
        return records[-1].exported if records else False

    def view(self) -> View:
        return View(self.records, self._moment, self._barrier)


def _length(value: Value) -> int:
    if isinstance(value, Array):
        return len(value.items)
    if value.options:
        return sum(len(word.text or "") for option in value.options for word in option.words)
    return len(value.text or value.template)


def _unknown(value: Value | None) -> Word:
    place = value if isinstance(value, Word) else Word("", "", 0, 0)
    return Word(None, place.raw, place.start, place.end, True)


def _value(record: _Record, barrier: int) -> Value | None:
    if record.moment <= barrier and record.value is not None:
        return _unknown(record.value)
    return record.value


class View(Mapping[str, Word]):
    """The variables at one moment of a script: name -> Word (text None where the value is unknown).

    A name that is missing was not assigned by the script. `exported` says whether child processes see the variable.
    """

    __slots__ = ("_barrier", "_moment", "_records", "_ways")

    def __init__(
        self,
        records: dict[str, list[_Record]],
        moment: int,
        barrier: int,
        ways: Mapping[int, int] | None = None,
    ) -> None:
        self._records = records
        self._moment = moment
        self._barrier = barrier
        self._ways = ways

    def decided(self, ways: Mapping[int, int]) -> View:
        """The same moment, if these ways were taken at the decisions before it."""
        return View(self._records, self._moment, self._barrier, ways)

    def _record(self, name: str) -> _Record | None:
        records = self._records.get(name, ())
        index = bisect_right(records, self._moment, key=_moment) if records else 0
        return records[index - 1] if index else None

    def __getitem__(self, name: str) -> Word:
        record = self._record(name)
        value = _value(record, self._barrier) if record else None
        if not isinstance(value, Word) or name == WORKING_DIRECTORY:
            raise KeyError(name)
        if self._ways and value.options:
            found = decided(value, self._ways)
            return found[0] if len(found) == 1 else value
        return value

    def exported(self, name: str) -> bool:
        record = self._record(name)
        return record is not None and record.value is not None and record.exported

    @property
    def is_partial(self) -> bool:
        """Whether something before, such as a sourced file, may have set variables that the script does not name."""
        return self._barrier > 0

    def names(self) -> Iterable[str]:
        """Every name the script assigns anywhere, whether or not it has a value at this moment."""
        return self._records

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._records if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
        except KeyError:
            return False
        return True


def _moment(record: _Record) -> int:
    return record.moment
