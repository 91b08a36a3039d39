"""Config families: their programs and their config documents. `rules/families/NAME.toml`, one each.

What rules and readers have to know of a family stands in its file. The records below say which keys it may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

from trl_lint.knowledge import KnowledgeError
from trl_lint.knowledge.family_files import family_files
from trl_lint.records import NamedTuple

Value = str | int | float | bool

# What fp16 and bf16 together are: the program stops, or bf16 counts.
Both = Literal["refused", "bf16"]
# "rl": the policy is updated from its own samples. "preference": pairs or labels. "other": SFT, reward models.
TrainingKind = Literal["rl", "preference", "other"]


class Server(NamedTuple):
    """Subcommands of a program that serve a model with an inference engine.

    `framework`: whose server it is, where not the family's. `sizes`: options whose product is the number of GPUs; none
    where nothing is known of them. `spread`: options with which that is not so. `reads_configs`: a config file among
    the words may set them.
    """

    subcommands: tuple[str, ...]
    framework: str = ""
    sizes: tuple[str, ...] = ()
    spread: tuple[str, ...] = ()
    reads_configs: bool = False


class Ranks(NamedTuple):
    """What says how many processes a program starts by itself.

    `processes`, `machines`: the variables with the processes on a machine and the number of machines; without either
    there is one process, or one for each visible GPU if there is a `switch`. `subcommands`: those that start several.
    `switch`: the variable that asks for them; without it they start where more than one GPU is visible. `unless`:
    variables with which all is different. `in_configs`: the block of a config file that a command is given in which it
    may set the variables.
    """

    processes: str
    machines: str
    subcommands: tuple[str, ...]
    switch: str = ""
    unless: tuple[str, ...] = ()
    in_configs: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.processes, self.machines, self.switch)))


class Inner(NamedTuple):
    """That a program calls a launcher of others, and hands it the options behind `--`.

    `option` names the launcher, `usual` is the one without it; `plain`: the flag with which it calls none.
    `processes`: its own option with their number for `accelerate launch`. `unless`: options with which all is
    different. `subcommands`: those that train.
    """

    option: str
    usual: str
    subcommands: tuple[str, ...]
    plain: str = ""
    processes: str = ""
    unless: tuple[str, ...] = ()


class Program(NamedTuple):
    """A command that starts training or serving.

    `words`        what must follow the command: `launch` of `accelerate launch`
    `also`         commands that are the same with these words: `accelerate-launch`
    `subcommand`   whether the next word says what is done: `sft` of `trl sft`
    `flags`        options without a value; only a program that starts another one has them, as its own options end
                   where that begins. `-m` says that a module is started.
    `modules`      the program as `python -m MODULE`, and how many words behind the module are part of its name
    `needle`       the word that every file with such a command has; the command itself if not given
    `common`       whether the needle is a word of other texts too, so that it counts only with a blank or quote behind
    `serves_only`  whether it trains nothing
    `ranks`        what says how many processes it starts by itself
    `inner`        which launcher of others it calls
    `hides_gpus`   whether it hides the GPUs on which no process of it runs
    `accelerate_config`, `deepspeed_config`  its own options that name such a file
    `hands_on`     a flag that it gives to every script, unless it has the option `keeps`
    """

    command: str
    words: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    subcommand: bool = False
    flags: frozenset[str] = frozenset()
    modules: Mapping[str, int] = {}
    needle: str = ""
    common: bool = False
    serves_only: bool = False
    ranks: Ranks | None = None
    inner: Inner | None = None
    hides_gpus: bool = False
    accelerate_config: str = ""
    deepspeed_config: str = ""
    hands_on: str = ""
    keeps: str = ""
    server: tuple[Server, ...] = ()

    def fault(self) -> str:
        """What is wrong with a program, "" if nothing is."""
        return _fault_of_words("needle", [self.needle]) or _fault_of_words("command", [self.command])

    @property
    def starts_programs(self) -> bool:
        """Whether it starts a script or module of others, once for each process."""
        return bool(self.flags)

    @property
    def starts_processes(self) -> bool:
        """Whether it may start several processes: of others, as its variables say, or as an accelerate config says."""
        return self.starts_programs or bool(self.ranks or self.inner or self.accelerate_config)

    def server_of(self, subcommand: str | None) -> Server | None:
        """What is known of the server that a subcommand starts; None where it starts none."""
        return next((server for server in self.server if subcommand in server.subcommands), None)


class Shape(NamedTuple):
    """What the root of a document looks like. All that is given must hold.

    `has`, `any_of`, `without`: keys of which all, at least one, none is there. `text`, `mapping`: keys that all are a
    text, a block; `some_mapping`, `no_mapping`: at least one of them, none of them is a block. `values`: keys with one
    of these values. `items`: keys with a list that has one of these items. `known`: so many of the kind's `keys` are
    there at least, or `alone` of them and no other key at all.
    """

    has: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    mapping: tuple[str, ...] = ()
    some_mapping: tuple[str, ...] = ()
    no_mapping: tuple[str, ...] = ()
    values: Mapping[str, tuple[Value, ...]] = {}
    items: Mapping[str, tuple[str, ...]] = {}
    known: int = 0
    alone: int = 0


class Method(NamedTuple):
    """How a document says what kind of training it configures ("rl", "preference" or "other").

    `key` has one of the values of `rl` or `preference`, and `rest` is what any other text means; or the document has
    one of the keys that only this kind of training has.
    """

    key: str = ""
    rl: tuple[str, ...] = ()
    preference: tuple[str, ...] = ()
    rest: TrainingKind = "other"
    rl_keys: frozenset[str] = frozenset()
    preference_keys: frozenset[str] = frozenset()


class Held(NamedTuple):
    """Under which names the runs of a framework hold one setting, and what its values mean there.

    Of several `names` that counts which a release has, by its history; `none` says that no release has such an option,
    `unknown` that nobody looked, each with where that stands. `unit` is what a number counts, `per` where; `worker`
    is whose value it is. `on`: the only values that switch it on; `off`: those that do not, beside false and none.
    `unless`: options with which the value does not count. `zero`: what 0 does, where it is no number like others.
    `releases`: those that read it, where a block of theirs is one key in the history; it is not set by default then.
    `read_by`: the subcommands that read it, with the releases in which they do; without it every one may. `bare`: what
    comes of it without an adapter: the trainer stops, or weights stay as they are; "" where a release states it.
    `fills`: of an accumulation without a value, to how many samples it makes up the batch; `but_for`: methods for which
    it does not, since which release.
    """

    names: tuple[str, ...] = ()
    none: str = ""
    unknown: str = ""
    unit: Literal["", "sample", "prompt", "sequence", "token", "rank", "gpu", "machine", "engine"] = ""
    per: Literal["", "gpu", "machine", "prompt", "run"] = ""
    worker: Literal["policy", "engine", "server"] = "policy"
    on: tuple[Value, ...] = ()
    off: tuple[Value, ...] = ()
    unless: tuple[str, ...] = ()
    zero: Literal["", "off", "no-gradient", "derived"] = ""
    releases: str = ""
    read_by: Mapping[str, str] = {}
    bare: Literal["", "stops", "frozen"] = ""
    fills: int = 0
    but_for: Mapping[str, str] = {}

    def fault(self) -> str:
        """What is wrong with a row, "" if nothing is."""
        said = [name for name in ("names", "none", "unknown") if getattr(self, name)]
        return "" if len(said) == 1 else "one of `names`, `none` and `unknown` is expected"


class Settings(NamedTuple):
    """What rules ask of a run, whichever file, flag or call sets it; a family answers for every one of them.

    `model`: a name or path. `micro_batch`: samples of one process in one step; `accumulation`: steps between two
    updates; `whole_batch`: what all of them train on between two updates; `round_batch`: what is sampled for, or taken
    from the data, before some of it is trained on. `clipping`: the norm to which gradients are
    clipped. `fp16`, `bf16`: truth; `precision`: a dtype by its name. `group`: answers to one prompt. `quantised`,
    `adapter`: what switches weights of few bits and an adapter on. `engine`: what switches an inference engine on;
    `engine_mode`: where it runs; `tensor_parallel`: the GPUs that share one; `engine_length`: its longest text.
    `prompt_length`, `completion_length`: the longest of each. `template`: of the chat. `processes`, `nodes`: how many.
    `method`: what it trains with.
    """

    model: Held
    micro_batch: Held
    accumulation: Held
    whole_batch: Held
    round_batch: Held
    clipping: Held
    fp16: Held
    bf16: Held
    precision: Held
    group: Held
    quantised: Held
    adapter: Held
    adapter_targets: Held
    engine: Held
    engine_mode: Held
    tensor_parallel: Held
    engine_length: Held
    prompt_length: Held
    completion_length: Held
    template: Held
    processes: Held
    nodes: Held
    method: Held


class Holds(NamedTuple):
    """The dotted keys under which documents of a kind hold what rules ask for; empty where they have no such key.

    `model`, `dataset`: names or paths. `batch_size`: samples of one process in one step; `accumulation`: steps between
    two updates. `processes`, `gpus`: how many there are, and the ids of the GPUs. `clipping`: the norm to which
    gradients are clipped. `fp16`, `bf16`: truth; `both_precisions`: what both together are. `deepspeed`: the path of a
    DeepSpeed config. `fsdp`: switches FSDP on. `environment`: a block of variables for the program. `script_fields`:
    whether the keys are the fields of dataclasses that the script itself parses.
    """

    model: str = ""
    dataset: str = ""
    batch_size: str = ""
    accumulation: str = ""
    processes: str = ""
    gpus: str = ""
    clipping: str = ""
    fp16: str = ""
    bf16: tuple[str, ...] = ()
    both_precisions: Both = "refused"
    deepspeed: str = ""
    fsdp: str = ""
    environment: str = ""
    script_fields: bool = False


class Index(NamedTuple):
    """A JSON file with an entry for each data set that documents of a kind may name.

    `file`: its name; it lies in the folder that the key `folder` names, `default` where the document has no such key.
    `elsewhere`: beginnings of that value with which there is no such folder. `names`: the keys with the data sets, a
    list or a text with commas.

    What an entry has to have, in these `releases`, in documents without a value of `unless`: one of `sources`, of which
    `local` is a file in the folder; pairs, which `ranking` tells, where the key of the method is one of `ranked`, and
    none where it is one of `unranked`. `columns`: by its format, the first of them where it names none, what is read of
    every row; of rows with pairs also `pairs`, of those without and without a `label` also `answer`. `defaults`: the
    names of columns in the rows where an entry has no `columns`.
    """

    file: str
    folder: str
    default: str
    elsewhere: tuple[str, ...]
    names: tuple[str, ...]
    releases: str = ""
    unless: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    local: str = ""
    ranking: str = ""
    ranked: tuple[str, ...] = ()
    unranked: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = {}
    pairs: tuple[str, ...] = ()
    label: str = ""
    answer: str = ""
    defaults: Mapping[str, str] = {}


class DataList(NamedTuple):
    """The `columns` that are read of every row of the data sets in a `list`, whose entries name a file (`path`) and one
    of these `types`, with these `methods`; not with a key of `unless`. `named`: the key by which a column is named.
    """

    list: str
    path: str
    type: str
    types: tuple[str, ...]
    methods: tuple[str, ...]
    releases: str
    columns: tuple[str, ...]
    named: Mapping[str, str] = {}
    unless: tuple[str, ...] = ()


class Arguments(NamedTuple):
    """Whose history in `rules/api` says which keys the commands of a family take (`command NAME` there).

    `package`: the project on the index. `imported_as`: what its modules begin with; a folder of that name is a copy,
    which need not take what a release takes. `shown`: what people call it. `commands`: subcommand -> the name of its
    keys, where it is another. `surplus`: what becomes of a key that no field has. `plugins`: the key that lists
    plugins, which may bring keys. `unless`: words that, somewhere in a project, change which keys there are;
    `unless_keys`: keys of those other classes. `lets_pass`: flags with which a command takes every flag. `also_read`:
    keys that a subcommand without recorded keys reads from the same files. `only_with`: words of which a project
    with the package has one. `more`: keys that the command itself takes. `sets`: keys that it may set itself.
    `fills`: whether what it refuses is said of fields with their defaults. `unless_on`: switches with which others
    than the command give settings. `unless_set`: variables that decide, beside the number of processes, how many GPUs
    one of them has. `config_first`, `config_flag`: the releases in which a config file as the first word, or behind
    `--config`, stands for flags; `config_sets`: its block of variables. `template`: the key of the chat template.
    `over_file`: what stands over the config file that is the first word: flags, or words `key=value`.
    """

    package: str
    imported_as: str
    shown: str
    commands: Mapping[str, str] = {}
    surplus: Literal["refused", "ignored"] = "refused"
    plugins: str = ""
    unless: tuple[str, ...] = ()
    unless_keys: tuple[str, ...] = ()
    lets_pass: frozenset[str] = frozenset()
    also_read: frozenset[str] = frozenset()
    only_with: tuple[str, ...] = ()
    more: frozenset[str] = frozenset()
    sets: tuple[str, ...] = ()
    fills: bool = False
    unless_on: tuple[str, ...] = ()
    unless_set: tuple[str, ...] = ()
    config_first: str = ""
    config_flag: str = ""
    config_sets: str = ""
    template: str = ""
    over_file: Literal["", "flags", "assignments"] = ""

    @property
    def every_command(self) -> tuple[str, ...]:
        """The names under which keys of subcommands may be recorded that read the same config files."""
        return tuple(dict.fromkeys(("train", "infer", "eval", *self.commands.values())))

    def keys_for(self, subcommand: str) -> str:
        """Under which name the keys of a subcommand are recorded."""
        return self.commands.get(subcommand, subcommand)


class DocumentKind(NamedTuple):
    """A kind of config document.

    `needles`  groups of words; all of one group must be in the bytes of a file before it is parsed
    `shape`    one of them must fit
    `keys`     names that few others use, which `known` of a shape counts
    `late`     whether it is asked after all others: its keys are found in documents of other kinds, too
    `read_by`  the packages whose releases decide what is read
    `recipe`   whether a run takes its arguments from it; without it, it configures a launcher or an engine
    `command`  the subcommand that reads it where no launch says which one does
    `data_index`, `data_list`  where the data sets are listed that it may name, and what is read of those it lists
    """

    kind: str
    needles: tuple[tuple[str, ...], ...]
    shape: tuple[Shape, ...]
    keys: frozenset[str] = frozenset()
    late: bool = False
    read_by: tuple[str, ...] = ()
    recipe: bool = False
    command: str = ""
    method: Method | None = None
    holds: Holds = Holds()
    data_index: Index | None = None
    data_list: tuple[DataList, ...] = ()

    def fault(self) -> str:
        """What is wrong with a kind of document, "" if nothing is."""
        return _fault_of_words("needles", [word for group in self.needles for word in group])


# A document that names something of ours and is of no known kind. It may be the recipe of a script all the same.
OTHER = DocumentKind("other", (), (), recipe=True, holds=Holds(fsdp="fsdp"))


class Handed(NamedTuple):
    """The arguments of TRL that a framework fills: the class by the method, and by its field the setting or the option
    that it takes; what has no value there keeps its default. `left`: fields that are never filled.
    """

    classes: Mapping[str, str]
    fields: Mapping[str, str]
    left: frozenset[str] = frozenset()


class Rewards(NamedTuple):
    """How some releases of `package` take the reward functions of a project.

    `options`: what names them. `form`: "file": a Python file, whose `function` is called; "dotted": `module.function`;
    "registered": a name under which a file of the option `plugins` puts a class into the dict `registry`.
    `by_position`, `by_name`: what is passed; `least`: how many parameters there must be. `gives`: a "dict" alone, or a
    "number" that may be in one, with this `key`. `known`: names that the releases register themselves. `when`: options
    that, where a release has them, have one of these values.
    """

    package: str
    releases: str
    options: tuple[str, ...]
    form: Literal["file", "dotted", "registered"]
    function: str = ""
    plugins: str = ""
    registry: str = ""
    by_position: tuple[str, ...] = ()
    by_name: tuple[str, ...] = ()
    least: int = 0
    gives: Literal["", "dict", "number"] = ""
    key: str = ""
    known: frozenset[str] = frozenset()
    when: Mapping[str, tuple[Value, ...]] = {}


class EngineBlock(NamedTuple):
    """A block of options that a framework hands to an engine unread.

    `name`: the block, a mapping or a JSON text. `takes`: what is called with them, of which one has to have a parameter
    of each name. `when`: the settings with which it is. `releases`: those of the framework that do it so.
    """

    name: str
    takes: tuple[str, ...]
    when: Mapping[str, Value] = {}
    releases: str = ""


class Renders(NamedTuple):
    """Where some releases of `package` render messages with the chat template of the tokenizer, and need one.

    `when`: options of which one has one of these values, else in any case; `templates`: options that give a template.
    `datasets`: the list of a document with the data sets that may be rendered, which have one of these `types`.
    """

    package: str
    releases: str
    when: Mapping[str, tuple[Value, ...]] = {}
    templates: tuple[str, ...] = ()
    datasets: str = ""
    types: tuple[str, ...] = ()


class Family(NamedTuple):
    """A framework with its programs and its documents.

    `framework`      what its runs are called; none for a program that only starts those of others
    `modules`        `python -m` with one of these, or with a module inside of it, is a run of the framework
    `places_models`  its packages that place models on the GPUs themselves, as they are imported
    `arguments`      where it is recorded which keys its commands take
    `settings`       under which names its runs hold what rules ask for; its recipes hold it under the same
    `method`         what its flags say of the kind of training, where no recipe has them
    `adds_flags`     its functions that give a parser of argparse more flags, and which, in any release
    `handed`         the class of TRL that it fills
    `rewards`        how its releases take reward functions of a project
    `engine_block`   blocks of options that it hands to an engine unread
    `renders`        where its releases need the chat template of a tokenizer
    """

    evidence: tuple[str, ...]
    name: str = ""
    framework: str = ""
    modules: tuple[str, ...] = ()
    places_models: tuple[str, ...] = ()
    program: tuple[Program, ...] = ()
    document: tuple[DocumentKind, ...] = ()
    arguments: Arguments | None = None
    settings: Settings | None = None
    method: Method | None = None
    adds_flags: Mapping[str, tuple[str, ...]] = {}
    handed: Handed | None = None
    rewards: tuple[Rewards, ...] = ()
    engine_block: tuple[EngineBlock, ...] = ()
    renders: tuple[Renders, ...] = ()

    def fault(self) -> str:
        """What is wrong with the file of a family, "" if nothing is."""
        return "`name` is that of the file" if self.name else ""


def _fault_of_words(key: str, words: Iterable[str]) -> str:
    """What is wrong with words to search for, which stand in `needles.txt` with blanks between them."""
    found = next((word for word in words if any(map(str.isspace, word))), "")
    return f"`{key}`: one word is expected, without blanks, not {found!r}" if found else ""


@cache
def families() -> tuple[Family, ...]:
    """All families, by name. Raises KnowledgeError."""
    return tuple(read_family(name, data) for name, data in family_files())


@cache
def cloned_packages() -> frozenset[str]:
    """The packages of the frameworks that people clone to write their scripts and recipes in the clone."""
    own = [family for family in families() if family.document or any("." not in module for module in family.modules)]
    names = (family.arguments.package if family.arguments else family.framework for family in own)
    return frozenset(filter(None, names))


@cache
def document_kinds() -> tuple[DocumentKind, ...]:
    """The kinds of documents in the order in which they are asked."""
    found = [kind for family in families() for kind in family.document]
    return tuple(sorted(found, key=lambda kind: kind.late))


@cache
def document_kind(name: str) -> DocumentKind:
    """The kind of this name; `OTHER` for "other"."""
    return next((kind for kind in document_kinds() if kind.kind == name), OTHER)


@cache
def programs() -> Mapping[str, Program]:
    """The programs of all families by their commands."""
    return {program.command: program for family in families() for program in family.program}


@cache
def programs_in_one_word() -> Mapping[str, Program]:
    """The programs that are called by another command as well, without the words that follow theirs."""
    return {name: program for program in programs().values() for name in program.also}


@cache
def program_modules() -> Mapping[str, tuple[Program, int]]:
    """The programs that are modules, and how many words behind the module belong to them."""
    return {module: (program, extra) for program in programs().values() for module, extra in program.modules.items()}


def framework_of(program: Program | None, subcommand: str | None, module: str | None) -> str:
    """Whose arguments a command takes: by its program, else by the module it starts; "" where neither says it."""
    server = program.server_of(subcommand) if program is not None else None
    if server is not None and server.framework:
        return server.framework
    for family in families() if program is not None or module else ():
        if family.framework and program is not None and program in family.program:
            return family.framework
        if module and any(module == one or module.startswith(f"{one}.") for one in family.modules):
            return family.framework
    return ""


@cache
def family_of(framework: str) -> Family | None:
    """The family whose runs are called so; those of scripts that take the arguments of transformers are like TRL's."""
    name = "trl" if framework == "transformers" else framework
    return next((family for family in families() if name and family.framework == name), None)


def arguments_of(framework: str) -> Arguments | None:
    """Where the keys of a framework's commands are recorded; None where they are not."""
    family = family_of(framework) if framework != "transformers" else None
    return family.arguments if family is not None else None


@cache
def arguments_of_kind(kind: str) -> Arguments | None:
    """Where the keys of documents of a kind are recorded; None where they are not."""
    return next((one.arguments for one in families() if any(document.kind == kind for document in one.document)), None)


@cache
def flags_added_by(function: str) -> tuple[str, ...] | None:
    """The flags that a function of a framework gives the parser it gets; None for all other functions."""
    return next((found for one in families() if (found := one.adds_flags.get(function)) is not None), None)


@cache
def placing_packages() -> frozenset[str]:
    """The packages that place models themselves."""
    return frozenset(name for family in families() for name in family.places_models)


@cache
def process_variables() -> tuple[str, ...]:
    """The environment variables that say how many processes start, and on how many machines."""
    known = [program.ranks.variables for program in programs().values() if program.ranks is not None]
    return tuple(dict.fromkeys(sum(known, ())))


def read_family(name: str, data: bytes) -> Family:
    """The family in a file of this name. Raises KnowledgeError."""
    import tomli

    from trl_lint.knowledge.rows import read_record

    path = f"rules/families/{name}.toml"
    try:
        text = data.decode()
        values = tomli.loads(text)
    except ValueError as error:
        raise KnowledgeError(f"{path}: {error}") from None
    family = read_record(values, Family, path, text)._replace(name=name)
    return family._replace(document=tuple(_with_settings(kind, family.settings) for kind in family.document))


def _with_settings(kind: DocumentKind, settings: Settings | None) -> DocumentKind:
    """A kind of document that holds what the runs of its family hold, if they read it."""
    if settings is None or not kind.recipe:
        return kind
    first = {name: (*held.names, "")[0] for name, held in settings._asdict().items()}
    holds = kind.holds._replace(
        model=first["model"],
        batch_size=first["micro_batch"],
        accumulation=first["accumulation"],
        clipping=first["clipping"],
        fp16=first["fp16"],
        bf16=settings.bf16.names,
    )
    return kind._replace(holds=holds)
