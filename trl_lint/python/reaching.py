"""Which of the places that bind a name may have made what it stands for at another place, and under which tests.

`model = load()`, `if flag: model = wrap(model)`, a use of `model`: two places reach the use, the second where `flag`
is true, the first where it is not. What stands in the way is read from the blocks alone; nothing is executed, and the
tests are kept as they are written.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence

from trl_lint.memos import per_module
from trl_lint.python.guards import key_of
from trl_lint.python.module import PythonModule
from trl_lint.python.scopes import scopes
from trl_lint.records import NamedTuple

Place = tuple[int, int]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_WITHS = (ast.With, ast.AsyncWith)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_BLOCKS = ("body", "orelse", "finalbody")
_MOST_FOUND = 24  # places that reach one use; more than anybody writes
_DEEP = 40  # blocks in blocks


class Branch(NamedTuple):
    """A test and the outcome that it needs. `test` may be an `except` or a `case`, of which nobody knows either."""

    test: ast.AST
    truth: bool


Branches = tuple[Branch, ...]


class Reaching(NamedTuple):
    """A node that binds a name, and the tests between it and the place where the name is used."""

    site: ast.AST
    under: Branches = ()


class Found(NamedTuple):
    """The places that may have bound a name; `complete` is False where something else may have, too.

    `in_order`: False where the name is one of a scope around the function that uses it: it may be bound again before
    the function is called.
    """

    sites: tuple[Reaching, ...]
    complete: bool
    in_order: bool = True

    @property
    def is_cut(self) -> bool:
        """Whether there are more places than anybody follows."""
        return not self.complete and len(self.sites) >= _MOST_FOUND


NOTHING = Found((), False)


def reaching(module: PythonModule, name: str, node: ast.AST) -> Found:
    """The places that bind `name` and reach `node`; nothing, incomplete, where the module does not bind it."""
    table = scopes(module)
    bound = table.sites_of(name)
    scope = first = table.scope(node)
    while True:
        sites = bound.get(scope) if scope is first or not isinstance(scope, ast.ClassDef) else None
        if sites:
            if scope is first or not isinstance(first, _FUNCTIONS):
                return _walk_over(name, scope, module).before(node, scope)
            # The function may be called anywhere: the order of what is around it tells nothing.
            around = [Reaching(site, _tests_around(module, site, scope)) for site in sites[: _MOST_FOUND + 1]]
            return Found(tuple(around[:_MOST_FOUND]), len(around) <= _MOST_FOUND, len(around) == 1)
        if scope is module.tree:
            return NOTHING
        if isinstance(scope, _FUNCTIONS):
            first = scope
        scope = table.scope(scope)


def final(module: PythonModule, name: str) -> Found:
    """The places that may have bound a name of the module when all of it has run."""
    sites = scopes(module).sites_of(name).get(module.tree)
    return _Walk(module, sites).end(module.tree.body) if sites else NOTHING


def final_in(module: PythonModule, sites: Sequence[ast.AST], body: Sequence[ast.stmt]) -> Found:
    """The places, of these in a block, that may have bound a name when the block has run."""
    return _Walk(module, sites).end(body)


def place_of(node: ast.AST) -> Place:
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _end_of(node: ast.AST) -> Place:
    return (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)


@per_module
def _walk_over(name: str, scope: ast.AST, module: PythonModule) -> _Walk:
    """A name may be used as often as it is bound: its places are put in order once."""
    return _Walk(module, scopes(module).sites_of(name)[scope])


class _Walk:
    """Looks backwards from a use for what binds one name. `sites`: all that do in the scope, in text order."""

    def __init__(self, module: PythonModule, sites: Sequence[ast.AST]) -> None:
        self.parents = module.parents
        self.sites = sites
        self.places = [place_of(site) for site in sites]

    def before(self, node: ast.AST, scope: ast.AST) -> Found:
        found: list[Reaching] = []
        missed: Branches = ()  # what an earlier place has to come through: an `if` without an `else` was not taken
        child = node
        while child is not scope:
            parent = self.parents[child]
            block = block_around(parent, child)
            if block is not None:
                more, complete, missed = self._block(block, place_of(child), missed, 0)
                found += more
                if complete:
                    return self._result(found, True)
            more, complete = self._around(parent, child, node)
            found += [Reaching(one.site, (*one.under, *missed)) for one in more]
            if complete or len(found) > _MOST_FOUND:
                return self._result(found, complete)
            child = parent
        parameter = [site for site in self.sites if isinstance(site, ast.arg)]
        if parameter:
            return self._result([*found, Reaching(parameter[0], missed)], True)
        return self._result(found, False)

    def end(self, block: Sequence[ast.stmt]) -> Found:
        found, complete, _ = self._block(block, (1 << 30, 0), (), 0)
        return self._result(found, complete)

    def _result(self, found: list[Reaching], complete: bool) -> Found:
        return Found(tuple(found[:_MOST_FOUND]), complete and len(found) <= _MOST_FOUND)

    def _inside(self, around: ast.AST) -> list[ast.AST]:
        """The places that lie in a node."""
        found = self._between(place_of(around), _end_of(around))
        return [self.sites[at] for at in found]

    def _between(self, start: Place, end: Place) -> range:
        return range(bisect_left(self.places, start), bisect_left(self.places, end))

    def _block(
        self, block: Sequence[ast.stmt], end: Place, missed: Branches, depth: int
    ) -> tuple[list[Reaching], bool, Branches]:
        """What the statements of a block before `end` leave of the name.

        Then whether nothing from before the block is left, and the tests that what is left has to come through.
        """
        found: list[Reaching] = []
        if not block or depth > _DEEP:
            return found, False, missed
        numbers = self._between(place_of(block[0]), end)
        owner = self.parents[block[0]]
        at = numbers.stop - 1
        while at >= numbers.start:
            statement = self._statement_in(owner, self.sites[at])
            first = bisect_left(self.places, place_of(statement))
            first = min(first, at)
            more, complete, skipped = self._statement(statement, self.sites[first : at + 1], depth)
            found += [Reaching(one.site, (*one.under, *missed)) for one in more]
            if complete:
                return found, True, missed
            if len(found) > _MOST_FOUND:
                return found, False, missed
            missed = (*skipped, *missed)
            at = first - 1
        return found, False, missed

    def _statement_in(self, owner: ast.AST, site: ast.AST) -> ast.AST:
        node = site
        while (parent := self.parents.get(node)) is not None and parent is not owner:
            node = parent
        return node

    def _statement(
        self, statement: ast.AST, sites: Sequence[ast.AST], depth: int
    ) -> tuple[list[Reaching], bool, Branches]:
        """What one statement that binds the name leaves of it."""
        if isinstance(statement, ast.If):
            return self._if(statement, sites, depth)
        if isinstance(statement, _LOOPS):
            body, _, _ = self._block(statement.body, _after(statement.body), (), depth + 1)
            runs = Branch(statement.test if isinstance(statement, ast.While) else statement.iter, True)
            found = [Reaching(one.site, (runs, *one.under)) for one in body]
            if not isinstance(statement, ast.While):
                found += [Reaching(site, (runs,)) for site in sites if _is_in(site, statement.target)]
            return found, False, ()
        if isinstance(statement, _WITHS):
            found, complete, missed = self._block(statement.body, _after(statement.body), (), depth + 1)
            if complete:
                return found, True, ()
            targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
            own = [Reaching(site, missed) for site in sites if any(_is_in(site, target) for target in targets)]
            return [*found, *own], bool(own), missed
        if isinstance(statement, ast.Try):
            return self._try(statement, depth)
        if isinstance(statement, ast.Match):
            found = []
            for case in statement.cases:
                more, _, _ = self._block(case.body, _after(case.body), (), depth + 1)
                found += [Reaching(one.site, (Branch(case, True), *one.under)) for one in more]
            return found, False, ()
        return [Reaching(sites[-1])], True, ()

    def _if(self, statement: ast.If, sites: Sequence[ast.AST], depth: int) -> tuple[list[Reaching], bool, Branches]:
        if is_always_taken(statement.test):
            return self._block(statement.body, _after(statement.body), (), depth + 1)
        tested = [Reaching(site) for site in sites if _is_in(site, statement.test)]
        found: list[Reaching] = []
        through: list[Branches] = []
        leaving = 0
        for block, truth in ((statement.body, True), (statement.orelse, False)):
            if leaves(block):
                leaving += 1
                continue
            more, complete, missed = self._block(block, _after(block), (), depth + 1)
            branch = Branch(statement.test, truth)
            found += [Reaching(one.site, (branch, *one.under)) for one in more]
            if not complete:
                through.append((branch, *missed))
        # Where the other arm leaves, the use itself stands under the test.
        skipped = through[0] if len(through) == 1 and not leaving else ()
        return [*found, *tested], bool(tested) or not through, skipped

    def _try(self, statement: ast.Try, depth: int) -> tuple[list[Reaching], bool, Branches]:
        inside = [*statement.body, *statement.orelse]
        body: list[Reaching] = []
        complete = False
        for block in (statement.orelse, statement.body):
            if not complete:
                more, complete, _ = self._block(block, _after(block), (), depth + 1)
                body += more
        staying = [handler for handler in statement.handlers if not leaves(handler.body)]
        last, ended, _ = self._block(statement.finalbody, _after(statement.finalbody), (), depth + 1)
        if ended:
            return last, True, ()
        unharmed = tuple(Branch(handler, False) for handler in staying)
        found = [*last, *(Reaching(one.site, (*unharmed, *one.under)) for one in body)]
        for handler in staying:
            more, covered, _ = self._block(handler.body, _after(handler.body), (), depth + 1)
            found += [Reaching(one.site, (Branch(handler, True), *one.under)) for one in more]
            complete = complete and covered
        return found, complete and bool(inside), ()

    def _around(self, parent: ast.AST, child: ast.AST, node: ast.AST) -> tuple[list[Reaching], bool]:
        """What a statement around the use binds for it: the target of a loop, the name of a `with`, a turn before."""
        found: list[Reaching] = []
        if isinstance(parent, _LOOPS) and isinstance(child, ast.stmt):
            if not isinstance(parent, ast.While) and _is_one_of(child, parent.body):
                target = [Reaching(site) for site in self._inside(parent.target)]
                if target:
                    return target, True
            later = self._between(place_of(node), _after(parent.body))
            found = [Reaching(self.sites[at], (Branch(parent, True),)) for at in later]
        elif isinstance(parent, _WITHS):
            targets = [item.optional_vars for item in parent.items if item.optional_vars is not None]
            found = [Reaching(site) for target in targets for site in self._inside(target)]
            return found, bool(found)
        elif isinstance(parent, ast.ExceptHandler):
            if parent.name is not None and parent in self._inside(parent):
                return [Reaching(parent)], True
        elif isinstance(parent, ast.Try) and not _is_one_of(child, parent.body):
            started = self._between(place_of(parent), _after(parent.body))
            if _is_one_of(child, parent.orelse):
                more, complete, _ = self._block(parent.body, _after(parent.body), (), 0)
                return more, complete
            found = [Reaching(self.sites[at], (Branch(parent, True),)) for at in started]
        elif isinstance(parent, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            found = [Reaching(site) for one in parent.generators for site in self._inside(one.target)]
            return found, bool(found)
        return found, False


def block_around(parent: ast.AST, child: ast.AST) -> Sequence[ast.stmt] | None:
    """The block of `parent` that `child` is a statement of."""
    if not isinstance(child, ast.stmt):
        return None
    for field in _BLOCKS:
        block = getattr(parent, field, None)
        if isinstance(block, list) and _is_one_of(child, block):
            return block
    return None


def _is_one_of(child: ast.AST, block: Sequence[ast.stmt]) -> bool:
    """Whether a child of the block's owner is in the block, by its place: blocks may be long."""
    return bool(block) and place_of(block[0]) <= place_of(child) <= place_of(block[-1])


def _is_in(node: ast.AST, around: ast.AST) -> bool:
    return place_of(around) <= place_of(node) < _end_of(around)


def _after(block: Sequence[ast.stmt]) -> Place:
    return _end_of(block[-1]) if block else (0, 0)


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block ends by leaving the statements after it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return key_of(last.value.func) in ("sys.exit", "exit", "quit", "os._exit")
    return isinstance(last, _LEAVING)


def is_always_taken(test: ast.expr) -> bool:
    """Whether a test asks for nothing but that the file is started as a script, or stands around imports for types."""
    if isinstance(test, ast.Compare):
        return key_of(test.left) == "__name__"
    return key_of(test).rpartition(".")[2] == "TYPE_CHECKING"


def branches_around(module: PythonModule, node: ast.AST, outer: ast.AST | None = None) -> Branches:
    """The tests that decide whether a node runs, outermost first, up to the function around it, or to `outer`."""
    return _tests_around(module, node, outer)


def _tests_around(module: PythonModule, node: ast.AST, outer: ast.AST | None) -> Branches:
    found: list[Branch] = []
    child = node
    for parent in module.ancestors(node):
        if parent is outer or (outer is None and isinstance(parent, _FUNCTIONS)):
            break
        branch = _branch_of(parent, child)
        if branch is not None:
            found.append(branch)
        child = parent
        if len(found) > _DEEP:
            break
    return tuple(reversed(found))


def _branch_of(parent: ast.AST, child: ast.AST) -> Branch | None:
    if isinstance(parent, ast.If):
        if child is parent.test or is_always_taken(parent.test):
            return None
        return Branch(parent.test, _is_one_of(child, parent.body))
    if isinstance(parent, ast.IfExp) and child is not parent.test:
        return Branch(parent.test, child is parent.body)
    if isinstance(parent, ast.While) and child is not parent.test:
        return Branch(parent.test, True)
    if isinstance(parent, (ast.For, ast.AsyncFor)) and _is_one_of(child, parent.body):
        return Branch(parent.iter, True)
    if isinstance(parent, (ast.ExceptHandler, ast.match_case)):
        return Branch(parent, True)
    return None


def owner_of(node: ast.expr) -> str:
    """The name at the root of an expression; with `self.x…` the attribute that holds it, "" where there is none."""
    parts: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return f"self.{parts[-1]}" if node.id == "self" and parts else node.id
