"""All facts of one release, as the table `symbol -> fact -> value` that `history` turns into intervals.

The symbols and facts (trl_lint.knowledge.api reads them):

`class module:Name`, `def module:name`
    `name VALUE` a parameter, `!name SUCCESSOR` a deprecated one, `.name (…)` a method, `.name =` another
    attribute. `@bases`: references (`?` unknown). `@kind`: dataclass, pydantic, struct, namedtuple, typeddict or enum.
    `@init`: what the constructor written in the class does with `**kwargs`: `closed`, `open`, `super` or
    `to:module:Name`. `@args`: it takes `*args`. `@positional`: how many parameters may be positional, if not all.
    `@extra`: pydantic's setting. `@open`: anything may be passed. `@deprecated`: where it has gone.
`module name`
    `name TARGET`: `.` defined here, `.sub` or `other.module` defined there under the same name, `.sub:Other` under
    another, `.sub:` a module, `~` some value. `@open`: there may be other names.
`command name`, `plugins`, `templates`
    See `commands`.
`modules`, `messages`, `outside`
    The modules of the archive (`alias`: served although no such file exists; `@unlisted`, `@depth`: below these, and
    with more names than this, nothing is known), the declared requirements, message templates, and names that modules
    only import from elsewhere.
"""

from __future__ import annotations

import re

from trl_lint.knowledge.refresher.commands import read_commands, read_plugins, read_templates
from trl_lint.knowledge.refresher.configs import config_facts
from trl_lint.knowledge.refresher.exports import Resolver
from trl_lint.knowledge.refresher.extract import Class, Module, module_name, read_module
from trl_lint.knowledge.refresher.index import Contents, Facts
from trl_lint.knowledge.refresher.packages import Package
from trl_lint.knowledge.refresher.signatures import Signature
from trl_lint.python.default_text import is_literal

Memo = dict[tuple[str, int, int], "Module | None"]

PRESENT = "+"
BORROWED = "^"  # marks a name that a module only imports, until the whole history is known (see `history.fold`)
# Packages whose histories are joined at check time: names that come from them keep their origin.
_JOINED = {"trl", "transformers", "accelerate", "peft", "deepspeed", "vllm"}
_KINDS = {
    "BaseModel": "pydantic", "BaseSettings": "pydantic", "Struct": "struct", "NamedTuple": "namedtuple",
    "TypedDict": "typeddict", "Enum": "enum", "IntEnum": "enum", "StrEnum": "enum", "ExplicitEnum": "enum",
    "Flag": "enum",
}  # fmt: skip
_FIELD_KINDS = {"dataclass", "pydantic", "struct", "namedtuple", "typeddict"}
# Bases outside the packages read that add no constructor parameter. Without this list nearly every class were open.
_NEUTRAL_BASES = {
    "object", "ABC", "Generic", "Protocol", "Module", "PushToHubMixin", "ModelHubMixin", "Mapping", "MutableMapping",
    "Callback", "SpecialTokensMixin", "Sized", "Hashable", "OrderedDictMixin", "Counter", "PydanticMsgspecMixin",
}  # fmt: skip


def release_facts(package: Package, contents: Contents, memo: Memo) -> Facts:
    """The facts of one release. `memo` keeps modules that were read for another release: most files do not change."""
    modules: dict[str, Module] = {}
    for path, (crc, source) in sorted(contents.members.items()):
        if path.endswith(".py"):
            key = (path, crc, len(source))
            if key not in memo:
                memo[key] = read_module(path, source, package.has_messages(module_name(path)))
            module = memo[key]
            if module is not None:
                modules[module.name] = module
    return {**_Release(package, contents, modules).facts(), **config_facts(package.name, contents, modules)}


class _Release:
    def __init__(self, package: Package, contents: Contents, modules: dict[str, Module]) -> None:
        self.package = package
        self.contents = contents
        self.modules = modules
        self.existing = existing_modules(package.root, contents.names)
        self.resolver = Resolver(modules, self.existing)
        self.facts_by_symbol: Facts = {}
        self.outside: set[str] = set()
        self.wanted: list[str] = []

    def facts(self) -> Facts:
        for name in sorted(self.modules):
            if _is_public_path(name) and self.package.has_table(name) and not self.package.is_unlisted(name):
                self._write_module(name)
        self._write_commands()
        done: set[str] = set()
        while self.wanted:
            reference = self.wanted.pop()
            if reference not in done:
                done.add(reference)
                self._write_definition(reference)
        # What stands directly in a package that has a table is listed always: the table is asked for it.
        listed = {
            name
            for name in self.existing
            if not self.package.is_unlisted(name) or f"module {name.rpartition('.')[0]}" in self.facts_by_symbol
        }
        aliases = {f"{m.name}.{alias}" for m in self.modules.values() for alias in m.aliases}
        self.facts_by_symbol["modules"] = {
            **{self._relative(name): PRESENT for name in sorted(listed) if _is_public_path(name)},
            **{self._relative(name): "alias" for name in sorted(aliases - self.existing)},
            "@depth": str(self.package.depth),
            **({"@unlisted": " ".join(map(self._relative, self.package.unlisted))} if self.package.unlisted else {}),
        }
        self.facts_by_symbol["outside"] = {name: PRESENT for name in sorted(self.outside) if not name.startswith("_")}
        self.facts_by_symbol["messages"] = self._messages()
        return {symbol: facts for symbol, facts in self.facts_by_symbol.items() if facts}

    def _write_commands(self) -> None:
        asked = (self.package.name, self.contents, self.modules, self.resolver)
        commands, plugins = read_commands(*asked), read_plugins(*asked)
        for command, classes in commands.items():
            self.facts_by_symbol[f"command {command}"] = {PRESENT: PRESENT, "@classes": " ".join(classes)}
        if plugins:
            self.facts_by_symbol["plugins"] = {plugin: classes[0] for plugin, classes in plugins.items()}
        if templates := read_templates(self.package.name, self.contents):
            self.facts_by_symbol["templates"] = {PRESENT: PRESENT, **dict.fromkeys(templates, PRESENT)}
        named = [reference for classes in (*commands.values(), *plugins.values()) for reference in classes]
        self.wanted += [reference for reference in named if reference.partition(":")[0] in self.modules]

    def _relative(self, module: str) -> str:
        return module[len(self.package.root) :] if module.startswith(self.package.root + ".") else module

    def _write_module(self, module: str) -> None:
        names = self.resolver.names(module)
        is_package = any(other.startswith(f"{module}.") for other in self.modules)
        has_modules = is_package or any(other.startswith(f"{module}.") for other in self.existing)
        facts: dict[str, str] = {PRESENT: PRESENT}
        if names.open:
            facts["@open"] = "yes"
        for name, target in sorted(names.targets.items()):
            # A private name is unknown to the reader, present or not.
            if name.startswith("_"):
                continue
            home, _, original = target.partition(":")
            root = home.partition(".")[0]
            # Only a package's own table is asked for names of its neighbours: `from trl import set_seed` once worked.
            is_foreign = target != "~" and root != self.package.root and (root not in _JOINED or not is_package)
            # The module it comes from is not read: the name is there, and no more is known about it.
            is_unread = self.package.is_unlisted(home) and not is_foreign
            if is_unread and self.package.is_partial(module):
                facts["@open"] = "yes"
                continue
            text = "~" if is_unread or is_foreign else self._target(module, name, target)
            is_borrowed = is_foreign or (not has_modules if is_unread else not is_package and text not in (".", "~"))
            if is_borrowed:
                self.outside.add(name)
            facts[name] = f"{BORROWED}{text}" if is_borrowed else text
            if home in self.modules and original and self.package.has_definitions(home):
                self.wanted.append(target)
        self.facts_by_symbol[f"module {module}"] = facts

    def _target(self, module: str, name: str, target: str) -> str:
        home, colon, original = target.partition(":")
        if target == "~":
            return target
        where = "." if home == module else self._relative(home)
        return where if original == name else f"{where}{colon}{original}"

    def _write_definition(self, reference: str) -> None:
        module, _, name = reference.partition(":")
        facts = self.modules[module]
        if name in facts.classes:
            self.facts_by_symbol[f"class {reference}"] = self._class_facts(module, name, facts.classes[name])
        elif name in facts.functions:
            self.facts_by_symbol[f"def {reference}"] = self._callable_facts(module, facts.functions[name])

    def _class_facts(self, module: str, name: str, found: Class) -> dict[str, str]:
        reference = f"{module}:{name}"
        facts: dict[str, str] = {PRESENT: PRESENT}
        bases = [self._base(module, base) for base in found.bases]
        kept = [base for base in bases if base]
        if kept:
            facts["@bases"] = " ".join(kept)
        kind = found.kind or self._kind(reference, set())
        if kind:
            facts["@kind"] = kind
        if found.unclear or found.extra == "allow":
            facts["@open"] = "yes"
        if kind == "pydantic" and found.extra:
            facts["@extra"] = found.extra
        own = found.constructor
        for field in found.fields:
            if kind not in _FIELD_KINDS or (own is not None and kind != "pydantic") or not field.in_init:
                if not self.package.only_fields:
                    facts[f".{field.name}"] = "="
                continue
            value = self._field_value(module, field.value)
            for accepted in (field.name, *field.aliases):
                facts[accepted] = value
            if field.deprecated:
                facts[f"!{field.name}"] = field.deprecated
        if own is not None:
            facts.update(self._callable_facts(module, own))
        for old, new in found.post_init.items():
            if facts.get(f"!{old}", "?") == "?":
                facts[f"!{old}"] = new
        if found.announced:
            facts["@deprecated"] = found.announced
        has_hooks = self.package.has_hooks(module)
        for member, text in found.members.items() if not self.package.only_fields else ():
            if not member.startswith("_") or (has_hooks and text != "="):
                facts[f".{member}"] = text
        return facts

    def _callable_facts(self, module: str, signature: Signature) -> dict[str, str]:
        facts: dict[str, str] = {PRESENT: PRESENT}
        target = signature.forwards
        if signature.open:
            facts["@init"] = "open"
        elif target and not target.startswith("super"):
            facts["@init"] = self._forward(module, target)
        else:
            facts["@init"] = "super" if target == "super" else ("open" if target else "closed")
        if signature.var_positional:
            facts["@args"] = "yes"
        positional = [p for p in signature.parameters if not p.keyword_only]
        if len(positional) != len(signature.parameters):
            facts["@positional"] = str(len(positional))
        for parameter in signature.parameters:
            facts[parameter.name] = self._field_value(module, parameter.value)
        for name in signature.accepted:
            facts.setdefault(name, "`?`")
        for old, new in signature.deprecated.items():
            facts[f"!{old}"] = new
        if signature.announced:
            facts["@deprecated"] = signature.announced
        return facts

    def _forward(self, module: str, target: str) -> str:
        reference = self.resolver.definition(f"{module}{target}" if target.startswith(":") else target)
        home, _, name = reference.partition(":")
        if home in self.modules and (name in self.modules[home].classes or name in self.modules[home].functions):
            self.wanted.append(reference)
            return f"to:{reference}"
        return f"to:{reference}" if home.partition(".")[0] in _JOINED - {self.package.root} else "open"

    def _base(self, module: str, base: str) -> str:
        """A base as a reference, "" for one that adds nothing, `?` for one that is not known."""
        reference = self._definition(module, base)
        home, _, name = reference.partition(":")
        if home in self.modules and name in self.modules[home].classes:
            self.wanted.append(reference)
            return reference
        root = home.partition(".")[0]
        if root in _JOINED and name not in _NEUTRAL_BASES:
            return reference
        if name in _NEUTRAL_BASES or name in _KINDS:
            return ""
        return "?"

    def _definition(self, module: str, base: str) -> str:
        if not base:
            return "~"
        return self.resolver.definition(f"{module}{base}" if base.startswith(":") else base)

    def _kind(self, reference: str, seen: set[str]) -> str:
        """What a class is by its bases: pydantic model, msgspec struct, enum …"""
        module, _, name = reference.partition(":")
        found = self.modules[module].classes.get(name) if module in self.modules else None
        if found is None:
            is_outside = module.partition(".")[0] != self.package.root
            return _KINDS.get(name, "") if is_outside or name == "ExplicitEnum" else ""
        if reference in seen:
            return ""
        seen.add(reference)
        kinds = (self._kind(self._definition(module, base), seen) for base in found.bases)
        return next((kind for kind in kinds if kind), "")

    def _field_value(self, module: str, value: str) -> str:
        """`ModelConfig.max_model_len` (vLLM) becomes the default of that field, one step and only if it is a
        literal.
        """
        match = re.fullmatch(r"`([A-Z]\w+)\.(\w+)`", value)
        if match is None:
            return value
        reference = self.resolver.definition(f"{module}:{match[1]}")
        home, _, name = reference.partition(":")
        owner = self.modules[home].classes.get(name) if home in self.modules else None
        fields = {field.name: field.value for field in owner.fields} if owner else {}
        found = fields.get(match[2], "")
        return found if found and is_literal(found) else value

    def _messages(self) -> dict[str, str]:
        found: dict[str, set[str]] = {}
        for name, module in self.modules.items():
            for message in module.messages:
                key = f"{message.kind}\t{message.text}".replace("|", "¦")
                found.setdefault(key, set()).add(self._relative(name))
        # One module is enough to recognise a traceback by, and keeps a moved copy from changing the line.
        return {key: min(places, key=lambda place: (".experimental" in place, place)) for key, places in found.items()}


def existing_modules(package: str, names: list[str]) -> set[str]:
    """The dotted names of all modules of an archive, compiled ones included."""
    found: set[str] = set()
    for name in names:
        if name.startswith(package + "/") and name.endswith(".py"):
            found.add(module_name(name))
        elif name.startswith(package + "/") and name.endswith((".so", ".pyd")):
            found.add(name.partition(".")[0].replace("/", "."))
    # A folder without __init__.py is a namespace package.
    for module in list(found):
        while "." in module:
            module = module.rpartition(".")[0]
            found.add(module)
    return found


def _is_public_path(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))
