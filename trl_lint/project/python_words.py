"""The words of the commands that Python code puts together, as far as they are known without running it.

Followed are lists that grow, functions that return them with what they are given, dicts that become flags, f-strings,
loops over what is written out, and defaults of variables of the environment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from itertools import islice

from trl_lint import budget
from trl_lint.memos import per_module
from trl_lint.python.guards import functions_named
from trl_lint.python.module import FunctionNode, PythonModule, own_nodes
from trl_lint.python.scopes import scopes
from trl_lint.records import NamedTuple
from trl_lint.regexes import regex
from trl_lint.sources.shell import Word
from trl_lint.sources.shell_options import (
    MOST_OPTIONS,
    NO_KEY,
    Texts,
    concatenated,
    new_decision,
    new_each,
    new_guess,
)
from trl_lint.sources.shell_values import HOLE, Option

_DEEP = 12  # lists and texts that are made of others
_MOST_ITEMS = 200  # of a dict or a list that becomes words
_ADDING = frozenset({"append", "extend"})
_KEEPING = frozenset({"copy", "index", "count"})
_QUOTED = regex(r"[rRuUfFbB]*(\"\"\"|'''|\"|')")
_GETS = frozenset({"os.environ.get", "os.getenv"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Bound(NamedTuple):
    """What a parameter or the variable of a loop stands for: an expression where that is written, or its text."""

    node: ast.expr
    env: Mapping[ast.AST, _Bound]
    texts: Texts = ()
    pairs: tuple[_Pair, ...] | None = None


class _Pair(NamedTuple):
    """An entry of a dict: what its key may be, with its place, and the value."""

    key: Texts
    place: ast.expr
    value: ast.expr
    env: Mapping[ast.AST, _Bound]


Env = Mapping[ast.AST, _Bound]
NO_ENV: Env = {}


@per_module
def words_in(module: PythonModule) -> PythonWords:
    """The reader of a module."""
    return PythonWords(module)


class PythonWords:
    """Reads words in one module."""

    def __init__(self, module: PythonModule) -> None:
        self.module = module
        self._decisions: dict[tuple[ast.AST, int], int] = {}
        self._tried: dict[tuple[int, int], ast.expr] = {}  # the elements that loops try, by decision and way

    # -- lists of words -----------------------------------------------------------------------------------------------

    def of(self, node: ast.expr, env: Env = NO_ENV, depth: int = 0) -> list[Word]:
        """The words of a list; empty where they are not known from the first on."""
        if depth > _DEEP:
            self._too_deep(node)
            return []
        if isinstance(node, ast.Name):
            return self._named(node, env, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left = self.of(node.left, env, depth + 1)
            return [*left, *self._more(node.right, env, depth)] if left else []
        if isinstance(node, ast.Call):
            return self._returned(node, env, depth)
        if isinstance(node, ast.IfExp) and (truth := self._truth(node.test, env)) is not None:
            return self.of(node.body if truth else node.orelse, env, depth + 1)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            rounds = self._rounds(node.generators, env, depth)
            return [self.word(node.elt, one) for one in rounds] if rounds is not None else []
        if not isinstance(node, (ast.List, ast.Tuple)):
            return []
        return [word for item in node.elts for word in self._item(item, env, depth)]

    def _more(self, node: ast.expr, env: Env, depth: int) -> list[Word]:
        """The words of a list behind others, or one that is not known."""
        return self.of(node, env, depth + 1) or ([] if _is_empty(node) else [self.hole(node, True)])

    def _item(self, item: ast.expr, env: Env, depth: int) -> list[Word]:
        if not isinstance(item, ast.Starred):
            return [self.word(item, env)]
        if ast.unparse(item.value).startswith("sys.argv"):
            return [self.hole(item, True)]
        found = self.of(item.value, env, depth + 1)
        return found or ([] if _is_empty(item.value) else [self.hole(item, True)])

    def _named(self, node: ast.Name, env: Env, depth: int) -> list[Word]:
        site = self._site(node)
        bound = env.get(site) if site is not None else None
        if bound is not None:
            return self.of(bound.node, bound.env, depth + 1)
        first = self._value(site)
        uses = self._uses(node, site) if first is not None and site is not None else None
        if first is None or uses is None or site is None:
            return []
        words = self.of(first, env, depth + 1)
        return [*words, *self._added(node, site, uses, env, depth)] if words else []

    def _added(self, use: ast.Name, site: ast.AST, uses: list[ast.Name], env: Env, depth: int) -> Iterator[Word]:
        """What is added to a list behind its first value, up to where it is used."""
        module, made = self.module, self.module.parents[site]
        block, at = module.parents.get(made), module.span(use)[0]
        for name in uses:
            addition = _addition(name, module)
            if addition is None:
                continue
            statement, value, is_one = addition
            start = module.span(statement)[0]
            around = self._around(statement, block, env, depth)
            if around is None or start > at > module.span(made)[0]:
                yield self.hole(value, True)
                continue
            rounds, tests = around
            for one in rounds:
                words = [self.word(value, one)] if is_one else self._more(value, one, depth)
                if not tests:
                    yield from words
                elif all(word.text is not None for word in words):
                    yield self.hole(value, True)._replace(options=_only_with(tests, tuple(words)))
                else:
                    yield self.hole(value, True)

    def _around(
        self, statement: ast.stmt, block: ast.AST | None, env: Env, depth: int
    ) -> tuple[list[Env], list[tuple[int, int]]] | None:
        """The rounds in which an addition runs, and the tests that it stands under; None where that is not known."""
        module, child = self.module, statement
        rounds: list[Env] = [env]
        tests: list[tuple[int, int]] = []
        while (parent := module.parents.get(child)) is not block:
            if isinstance(parent, ast.If):
                way = 0 if child in parent.body else 1
                truth = self._truth(parent.test, env)
                if truth is None:
                    tests.append((self._decision(parent, 0, False), way))
                elif truth == bool(way):
                    return [], []
            elif isinstance(parent, ast.For) and not parent.orelse and not _leaves(parent) and rounds == [env]:
                found = self._elements_for(parent.target, parent.iter, env, depth)
                if found is None or tests:
                    return None
                rounds = found
            else:
                return None
            child = parent
        return rounds, tests

    # -- calls --------------------------------------------------------------------------------------------------------

    def _returned(self, call: ast.Call, env: Env, depth: int) -> list[Word]:
        """The words of the list that a call gives: `"python train.py".split()`, or a function that returns one list."""
        func, module = call.func, self.module
        text = func.value if isinstance(func, ast.Attribute) and func.attr == "split" and not call.args else None
        if module.names.origins(func) == {"shlex.split"} and len(call.args) == 1:
            text = call.args[0]
        if text is not None:
            return self._split(text, env, depth)
        if isinstance(func, ast.Name) and func.id in ("list", "tuple") and len(call.args) == 1:
            return self.of(call.args[0], env, depth + 1)
        function = self._function(func)
        if function is None:
            return []
        returns = [node for node in own_nodes(function) if isinstance(node, ast.Return)]
        given = returns[0].value if len(returns) == 1 else None
        return self.of(given, self._given(call, function, env, depth), depth + 1) if given is not None else []

    def _function(self, func: ast.expr) -> FunctionNode | None:
        is_method = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "self"
        name = (
            func.id
            if isinstance(func, ast.Name)
            else func.attr
            if is_method and isinstance(func, ast.Attribute)
            else ""
        )
        found = functions_named(self.module, name) if name else []
        return found[0] if len(found) == 1 and not found[0].decorator_list else None

    def _given(self, call: ast.Call, function: FunctionNode, env: Env, depth: int) -> Env:
        """What the parameters of a function stand for in a call."""
        found: dict[ast.AST, _Bound] = {}
        given = function.args
        positional = [*given.posonlyargs, *given.args]
        if isinstance(call.func, ast.Attribute):
            positional = positional[1:]
        by_name = {one.arg: one for one in (*positional, *given.kwonlyargs)}
        for one, default in zip(reversed(positional), reversed(given.defaults), strict=False):
            found[one] = _Bound(default, NO_ENV)
        for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if value is not None:
                found[one] = _Bound(value, NO_ENV)
        if any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords):
            return NO_ENV
        for one, node in zip(positional, call.args, strict=False):
            found[one] = _Bound(node, env)
        rest = []
        for keyword in call.keywords:
            name = keyword.arg or ""
            if name in by_name:
                found[by_name[name]] = _Bound(keyword.value, env)
            else:
                rest.append(_Pair(((NO_KEY, name),), keyword.value, keyword.value, env))
        if given.kwarg is not None:
            found[given.kwarg] = _Bound(call, env, (), tuple(rest))
        return found

    def _split(self, text: ast.expr, env: Env, depth: int) -> list[Word]:
        """A text that is split at its blanks; quotes are not read."""
        whole = self._template(text, env, depth)
        if whole is None or "'" in whole or '"' in whole or "\\" in whole:
            return []
        return [
            self.at(text, piece) if HOLE not in piece else self.at(text, None)._replace(several=True, template=piece)
            for piece in islice(whole.split(), _MOST_ITEMS)
        ]

    def _template(self, node: ast.expr, env: Env, depth: int) -> str | None:
        """A text with a hole for each part that is not known; None where nothing is."""
        known = self.texts(node, env, depth)
        if len(known) == 1 and known[0][0] == NO_KEY:
            return known[0][1]
        if isinstance(node, ast.Name):
            value = self._value(self._site(node))
            return self._template(value, env, depth + 1) if value is not None and depth < _DEEP else None
        if not isinstance(node, ast.JoinedStr):
            return None
        parts = []
        for part in node.values:
            found = self.texts(part, env, depth + 1)
            parts.append(found[0][1] if len(found) == 1 and found[0][0] == NO_KEY else HOLE)
        return "".join(parts)

    # -- one word -----------------------------------------------------------------------------------------------------

    def word(self, node: ast.expr, env: Env = NO_ENV) -> Word:
        """One word; with all that it may be where that is known."""
        found, place = self.texts(node, env, 0), self._place(node, env)
        if not found:
            return self.hole(node, isinstance(node, ast.Starred))
        if len(found) == 1 and found[0][0] == NO_KEY:
            return self.at(place, found[0][1])
        options = tuple(Option(key, (self.at(self._tried.get(min(key), place), text),)) for key, text in found)
        return self.hole(node, False)._replace(options=options)

    def texts(self, node: ast.expr, env: Env = NO_ENV, depth: int = 0) -> Texts:
        """All that a text, or what becomes one, may be; empty where that is not known."""
        if depth > _DEEP:
            self._too_deep(node)
            return ()
        if isinstance(node, ast.Constant):
            return ((NO_KEY, str(node.value)),) if isinstance(node.value, (str, int, float)) else ()
        if isinstance(node, ast.FormattedValue):
            is_plain = node.conversion in (-1, 115) and node.format_spec is None
            return self.texts(node.value, env, depth + 1) if is_plain else ()
        if isinstance(node, ast.JoinedStr):
            return self._joined([self.texts(part, env, depth + 1) for part in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined([self.texts(side, env, depth + 1) for side in (node.left, node.right)])
        if isinstance(node, ast.IfExp):
            return self._either(node, env, depth)
        if isinstance(node, ast.Call):
            return self._called(node, env, depth)
        if isinstance(node, ast.Attribute):
            return ((NO_KEY, "python"),) if "sys.executable" in self.module.names.origins(node) else ()
        if not isinstance(node, ast.Name):
            value = self.module.value(node)
            return ((NO_KEY, str(value)),) if isinstance(value, (int, float)) else ()
        return self._of_name(node, env, depth)

    def _joined(self, parts: list[Texts]) -> Texts:
        return concatenated(parts) if all(parts) else ()

    def _of_name(self, node: ast.Name, env: Env, depth: int) -> Texts:
        if "sys.executable" in self.module.names.origins(node):
            return ((NO_KEY, "python"),)
        site = self._site(node)
        if site is None:
            return ()
        bound = env.get(site)
        if bound is not None:
            return bound.texts or self.texts(bound.node, bound.env, depth + 1)
        value = self._value(site)
        if value is not None:
            return () if self._grows(node, site) else self.texts(value, env, depth + 1)
        return self._of_loop(node, site, env, depth)

    def _either(self, node: ast.IfExp, env: Env, depth: int) -> Texts:
        truth = self._truth(node.test, env)
        if truth is not None:
            return self.texts(node.body if truth else node.orelse, env, depth + 1)
        found: list[tuple[frozenset[tuple[int, int]], str]] = []
        decision = self._decision(node, 0, False)
        for way, side in enumerate((node.body, node.orelse)):
            texts = self.texts(side, env, depth + 1)
            if not texts:
                return ()
            found += [(key | {(decision, way)}, text) for key, text in texts]
        return tuple(found) if len(found) <= MOST_OPTIONS else ()

    def _called(self, call: ast.Call, env: Env, depth: int) -> Texts:
        """`str(x)`, and `os.environ.get("X", default)` while nobody sets X."""
        origins = self.module.names.origins(call.func)
        if isinstance(call.func, ast.Name) and call.func.id in ("str", "int") and len(call.args) == 1:
            return self.texts(call.args[0], env, depth + 1)
        if not origins or not origins <= _GETS or len(call.args) != 2:
            return ()
        name = self.module.value(call.args[0])
        if not isinstance(name, str) or "environ[" in self.module.text:
            return ()
        if (call, 0) not in self._decisions:
            self._decisions[call, 0] = new_guess(name, self.module.segment(call))
        guess = self._decisions[call, 0]
        return tuple((key | {(guess, 0)}, text) for key, text in self.texts(call.args[1], env, depth + 1))

    def _of_loop(self, node: ast.Name, site: ast.AST, env: Env, depth: int) -> Texts:
        """The variable of a loop over what is written out, inside of it: each value is tried."""
        target = self.module.parents.get(site)
        loop = self.module.parents.get(target) if isinstance(target, ast.Tuple) else target
        if not isinstance(loop, ast.For) or loop not in self.module.ancestors(node):
            return ()
        position, shown = 0, loop.iter
        if isinstance(target, ast.Tuple):
            position = next(at for at, one in enumerate(target.elts) if one is site)
            call = loop.iter if isinstance(loop.iter, ast.Call) else None
            origins = self.module.names.origins(call.func) if call is not None else frozenset()
            if call is None or origins != {"itertools.product"} or call.keywords or position >= len(call.args):
                return ()
            shown = call.args[position]
        elements = self._elements(shown, env, depth)
        if elements is None or len(elements) > MOST_OPTIONS:
            return ()
        decision = self._decision(loop, position, True)
        found: list[tuple[frozenset[tuple[int, int]], str]] = []
        for way, (element, inner) in enumerate(elements):
            texts = self.texts(element, inner, depth + 1)
            if len(texts) != 1:
                return ()
            found.append((texts[0][0] | {(decision, way)}, texts[0][1]))
            self._tried[decision, way] = element
        return tuple(found)

    def _decision(self, node: ast.AST, position: int, tries_all: bool) -> int:
        key = (node, position)
        if key not in self._decisions:
            self._decisions[key] = new_each() if tries_all else new_decision()
        return self._decisions[key]

    # -- lists, dicts and loops ------------------------------------------------------------------------------------

    def _elements(self, node: ast.expr, env: Env, depth: int) -> list[tuple[ast.expr, Env]] | None:
        """The elements of a list or tuple that is written out."""
        if depth > _DEEP:
            return None
        if isinstance(node, (ast.List, ast.Tuple)):
            is_plain = not any(isinstance(one, ast.Starred) for one in node.elts) and len(node.elts) <= _MOST_ITEMS
            return [(one, env) for one in node.elts] if is_plain else None
        if not isinstance(node, ast.Name):
            return None
        site = self._site(node)
        bound = env.get(site) if site is not None else None
        if bound is not None:
            return self._elements(bound.node, bound.env, depth + 1)
        value = self._value(site)
        if value is None or site is None or self._grows(node, site):
            return None
        return self._elements(value, env, depth + 1)

    def _rounds(self, generators: list[ast.comprehension], env: Env, depth: int) -> list[Env] | None:
        """What the variables of a comprehension stand for, in each round."""
        rounds: list[Env] = [env]
        for generator in generators:
            if generator.ifs or generator.is_async:
                return None
            following: list[Env] = []
            for one in rounds:
                found = self._elements_for(generator.target, generator.iter, one, depth)
                if found is None:
                    return None
                following += found
            rounds = following
            if len(rounds) > _MOST_ITEMS:
                return None
        return rounds

    def _elements_for(self, target: ast.expr, shown: ast.expr, env: Env, depth: int) -> list[Env] | None:
        """What the variables of a loop stand for in each round."""
        if isinstance(target, ast.Name):
            elements = self._elements(shown, env, depth + 1)
            return None if elements is None else [{**env, target: _Bound(*element)} for element in elements]
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return None
        first, second = target.elts
        if isinstance(shown, ast.Call) and isinstance(shown.func, ast.Attribute) and shown.func.attr == "items":
            pairs = self.pairs(shown.func.value, env, depth + 1)
            if pairs is None:
                return None
            return [
                {**env, first: _Bound(pair.place, pair.env, pair.key), second: _Bound(pair.value, pair.env)}
                for pair in pairs
            ]
        elements = self._elements(shown, env, depth + 1)
        if elements is None or not all(isinstance(one, ast.Tuple) and len(one.elts) == 2 for one, _ in elements):
            return None
        return [
            {**env, first: _Bound(one.elts[0], inner), second: _Bound(one.elts[1], inner)}
            for one, inner in elements
            if isinstance(one, ast.Tuple)
        ]

    def pairs(self, node: ast.expr, env: Env = NO_ENV, depth: int = 0) -> list[_Pair] | None:
        """The entries of a dict that is written out, and what is put into it beside; None where there may be others."""
        if depth > _DEEP:
            return None
        if isinstance(node, ast.Dict):
            return self._display(node, env, depth)
        if isinstance(node, ast.DictComp):
            rounds = self._rounds(node.generators, env, depth)
            if rounds is None:
                return None
            return [_Pair(self.texts(node.key, one), self._place(node.key, one), node.value, one) for one in rounds]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
            return self._keywords(node, env, depth)
        if not isinstance(node, ast.Name):
            return None
        site = self._site(node)
        bound = env.get(site) if site is not None else None
        if bound is not None:
            return list(bound.pairs) if bound.pairs is not None else self.pairs(bound.node, bound.env, depth + 1)
        value = self._value(site)
        return self._grown(node, site, value, env, depth) if value is not None and site is not None else None

    def _display(self, node: ast.Dict, env: Env, depth: int) -> list[_Pair] | None:
        found: list[_Pair] = []
        for key, value in zip(node.keys, node.values, strict=True):
            more = self.pairs(value, env, depth + 1) if key is None else [_Pair(self.texts(key, env), key, value, env)]
            if more is None:
                return None
            found += more
        return found if len(found) <= _MOST_ITEMS else None

    def _keywords(self, call: ast.Call, env: Env, depth: int) -> list[_Pair] | None:
        found: list[_Pair] = []
        for keyword in call.keywords:
            more = (
                self.pairs(keyword.value, env, depth + 1)
                if keyword.arg is None
                else [_Pair(((NO_KEY, keyword.arg),), keyword.value, keyword.value, env)]
            )
            if more is None:
                return None
            found += more
        return found

    def _grown(self, use: ast.Name, site: ast.AST, value: ast.expr, env: Env, depth: int) -> list[_Pair] | None:
        """The entries of a dict with a name: what it is made with, and what is put in beside, before it is used."""
        module = self.module
        made = module.parents[site]
        block = module.parents.get(made)
        found = self.pairs(value, env, depth + 1)
        for name in self._all_uses(use, site):
            parent = module.parents[name]
            if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load):
                continue
            if isinstance(parent, ast.Attribute) and parent.attr in ("items", "keys", "values", "get", "copy"):
                continue
            call = module.parents[parent]
            is_update = isinstance(parent, ast.Attribute) and parent.attr == "update" and isinstance(call, ast.Call)
            if not is_update and not isinstance(parent, ast.Subscript):
                if name is use or not isinstance(parent, (ast.Attribute, ast.Delete)):
                    continue
                return None
            statement = module.statement(name)
            if statement is None or found is None or module.parents.get(statement) is not block:
                return None
            if module.span(statement)[0] > module.span(use)[0]:
                continue
            more: list[_Pair] | None = None
            if isinstance(call, ast.Call):
                more = self.pairs(call.args[0], env, depth + 1) if len(call.args) == 1 else []
                named = self._keywords(call, env, depth)
                more = None if more is None or named is None else [*more, *named]
            elif isinstance(parent, ast.Subscript) and isinstance(statement, ast.Assign):
                more = [_Pair(self.texts(parent.slice, env), parent.slice, statement.value, env)]
            if more is None or found is None:
                return None
            found = [*(one for one in found if all(one.key != other.key for other in more)), *more]
        return found

    def made(self, node: ast.expr) -> ast.expr:
        """What a name is given, if that happens once; else the node itself."""
        site = self._site(node) if isinstance(node, ast.Name) else None
        value = self._value(site)
        if value is None or site is None or not isinstance(node, ast.Name) or self._grows(node, site):
            return node
        return value

    # -- names --------------------------------------------------------------------------------------------------------

    def _site(self, node: ast.Name) -> ast.AST | None:
        """The one place that binds a name as it is seen there; additions to a list do not count."""
        table = scopes(self.module)
        bound = table.sites_of(node.id)
        scope = first = table.scope(node)
        while bound:
            sites = bound.get(scope) if scope is first or not isinstance(scope, ast.ClassDef) else None
            if sites:
                plain = [one for one in sites if not isinstance(self.module.parents.get(one), ast.AugAssign)]
                return plain[0] if len(plain) == 1 else None
            if isinstance(scope, ast.Module):
                return None
            scope = table.scope(scope)
        return None

    def _value(self, site: ast.AST | None) -> ast.expr | None:
        """What the statement gives a name that binds it."""
        statement = self.module.parents.get(site) if isinstance(site, ast.Name) else None
        if isinstance(statement, ast.Assign):
            return statement.value if statement.targets == [site] else None
        return statement.value if isinstance(statement, ast.AnnAssign) else None

    def _all_uses(self, node: ast.Name, site: ast.AST) -> list[ast.Name]:
        found = [one for one in self.module.named(node.id) if one is not site and self._site(one) is site]
        return sorted(found, key=lambda one: self.module.span(one)[0])

    def _uses(self, node: ast.Name, site: ast.AST) -> list[ast.Name] | None:
        """The uses of a list, in the order of the text; None where something but an addition may change it."""
        found = self._all_uses(node, site)
        return None if any(_changes(one, self.module) for one in found) else found

    def _grows(self, node: ast.Name, site: ast.AST) -> bool:
        return any(_changes(one, self.module) or _addition(one, self.module) for one in self._all_uses(node, site))

    def _truth(self, test: ast.expr, env: Env) -> bool | None:
        """Whether a test is true, where a call gives the parameter that it asks."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            truth = self._truth(test.operand, env)
            return None if truth is None else not truth
        site = self._site(test) if isinstance(test, ast.Name) else None
        bound = env.get(site) if site is not None else None
        if bound is None or not isinstance(bound.node, ast.Constant) or bound.texts:
            return None
        return bool(bound.node.value)

    # -- places -------------------------------------------------------------------------------------------------------

    def _place(self, node: ast.expr, env: Env) -> ast.expr:
        """Where a word is written: of one that a loop fills in, the element."""
        for one in ast.walk(node) if env else ():
            site = self._site(one) if isinstance(one, ast.Name) else None
            bound = env.get(site) if isinstance(site, ast.Name) else None
            if bound is not None:
                return self._place(bound.node, bound.env)
        return node

    def at(self, node: ast.expr, text: str | None) -> Word:
        start, end = self.module.span(node)
        return Word(text, self.module.text[start:end], start, end)

    def hole(self, node: ast.expr, several: bool) -> Word:
        """A word that is not known; of an f-string, the key in front is. What the file itself was given is `"$@"`."""
        start, end = self.module.span(node)
        if isinstance(node, ast.Starred) and ast.unparse(node.value).startswith("sys.argv"):
            return Word(None, '"$@"', start, end, several)
        opening = _QUOTED.match(self.module.text, start, end) if isinstance(node, ast.JoinedStr) else None
        if opening is not None:
            start = opening.start(1)
        return Word(None, self.module.text[start:end], start, end, several)

    def _too_deep(self, node: ast.expr) -> None:
        start, _ = self.module.span(node)
        budget.limit(_DEEP, "words that are made of more than {} others were not read", self.module.path, start)


def _addition(name: ast.Name, module: PythonModule) -> tuple[ast.stmt, ast.expr, bool] | None:
    """The statement that adds to a list, what it adds, and whether that is one word."""
    parent = module.parents.get(name)
    if isinstance(parent, ast.AugAssign) and parent.target is name:
        return parent, parent.value, False
    call = module.parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in _ADDING else None
    statement = module.statement(call) if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if not isinstance(call, ast.Call) or statement is None or not isinstance(parent, ast.Attribute):
        return None
    return statement, call.args[0], parent.attr == "append"


def _changes(name: ast.Name, module: PythonModule) -> bool:
    """Whether a use of a list may change it otherwise than by an addition."""
    parent = module.parents.get(name)
    if isinstance(parent, ast.Attribute):
        return parent.attr not in _KEEPING and _addition(name, module) is None
    if isinstance(parent, ast.AugAssign):
        return not isinstance(parent.op, ast.Add)
    return isinstance(parent, ast.Subscript) and parent.value is name and not isinstance(parent.ctx, ast.Load)


def _only_with(tests: list[tuple[int, int]], words: tuple[Word, ...]) -> tuple[Option, ...]:
    """Words that are there with one outcome of tests that stand in each other, and nothing with all others."""
    found = [Option(frozenset(tests), words)]
    for number, (decision, way) in enumerate(tests):
        found.append(Option(frozenset({*tests[number + 1 :], (decision, 1 - way)}), ()))
    return tuple(found)


def _leaves(loop: ast.For) -> bool:
    return any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in ast.walk(loop))


def _is_empty(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and not node.elts
