"""The batch sizes of a DeepSpeed config that goes to `deepspeed.initialize`, beside the processes of the run.

`DeepSpeedConfig._set_batch_related_parameters` fills in what is missing of the three sizes by whole division, and
`_batch_assertion` wants train_batch_size = micro batch * accumulation * ranks (runtime/config.py, the same in 0.9.5,
0.14.4, 0.16.2 and 0.19.5). The ranks are the processes, unless a model, a mesh or the config divides them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from trl_lint.checks.configs._deepspeed import is_no_multiple
from trl_lint.checks.configs._problems import whole_number
from trl_lint.finding import Location
from trl_lint.memos import per_project
from trl_lint.missing import ABSENT, UNKNOWN, Missing
from trl_lint.project import Project
from trl_lint.project.links import linked_files
from trl_lint.project.starters import is_named_beside
from trl_lint.python.guards import bindings
from trl_lint.python.module import PythonModule
from trl_lint.python.values import argument
from trl_lint.records import NamedTuple
from trl_lint.run.effective import Setting
from trl_lint.run.runs import Run, read_quietly
from trl_lint.sources import SourceError, nodes

_SIZES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
# With one of these the ranks that share a batch are not all processes, or the batch is another one.
_DIVIDING = ("elasticity", "sequence_parallel_size", "data_parallel_size", "tensor_parallel", "autotp", "pipeline")
_DIVIDED_IN_CODE = (b"PipelineModule", b"mpu", b"mesh_device", b"mesh_param", b"deepspeed_config =")
_GIVEN_BY_COMMAND = "--deepspeed_config"


class Size(NamedTuple):
    """A batch size of a config and where it stands."""

    number: int
    place: Location


Sizes = dict[str, Size]


class Misfit(NamedTuple):
    """A batch that the processes of a run cannot share as the config says: where, in which words, with what beside."""

    location: Location
    message: str
    related: tuple[Location, ...]


def misfits(run: Run) -> Iterator[Misfit]:
    """The configs of a run's script at which DeepSpeed stops with the processes of the run."""
    path, program, said = run.launch.script_path, run.launch.program, run.processes
    if path is None or program is None or not program.starts_programs or not isinstance(said, Setting):
        return
    ranks = said.integer
    if ranks is None or said.location is None:
        return
    sizes = _sizes_of(run, path)
    train = sizes.get(_SIZES[0])
    message = wrong_batch({name: size.number for name, size in sizes.items()}, ranks)
    if train is not None and message is not None:
        beside = (sizes[name].place._replace(message="counts in") for name in _SIZES[1:] if name in sizes)
        processes = said.location._replace(message=f"processes = {ranks}")
        yield Misfit(train.place, message, (*beside, processes))


def wrong_batch(sizes: dict[str, int], ranks: int) -> str | None:
    """What is wrong with batch sizes for so many ranks, None where DeepSpeed is content with them.

    `sizes`: those of `train_batch_size`, `train_micro_batch_size_per_gpu` and `gradient_accumulation_steps` that are
    given, all above 0.
    """
    train, micro, steps = (sizes.get(name) for name in _SIZES)
    if train is None:
        return None
    if micro is None and steps is None:
        micro, steps = train // ranks, 1
    elif micro is None:
        micro = train // ranks // (steps or 1)
    elif steps is None:
        steps = train // micro // ranks
    if train == micro * (steps or 0) * ranks and train:
        return None
    named = [f"{sizes[name]} ({name})" for name in _SIZES[1:] if name in sizes]
    factors = " * ".join([*named, f"{ranks} {'process' if ranks == 1 else 'processes'}"])
    given = len(sizes) == len(_SIZES)
    wanted = f"is not {factors}" if given else f"is no multiple of {factors}"
    said = f"`train_batch_size` {train} {wanted}"
    return f"DeepSpeed stops at start: {said} (AssertionError: Check batch related parameters)"


def _sizes_of(run: Run, path: str) -> Sizes:
    """The batch sizes of the config that the script at `path` hands to `deepspeed.initialize`, as far as known."""
    found = _config_in(path, run.project)
    if found is ABSENT:
        word = run.launch.flag(_GIVEN_BY_COMMAND)
        file = run.launch.file_named(word.text) if not isinstance(word, Missing) and word.text else None
        found = _of_file(file, run.project) if file is not None else UNKNOWN
    return {} if isinstance(found, Missing) else found


@per_project
def _config_in(path: str, project: Project) -> Sizes | Missing:
    """The config that the one such call of a script is given; ABSENT where the command line names it."""
    try:
        if not path.endswith(".py") or not project.files.holds(path, b"deepspeed.initialize"):
            return UNKNOWN
        if project.files.holds(path, *_DIVIDED_IN_CODE):
            return UNKNOWN
        module = project.module_in(path)
    except (OSError, SourceError):
        return UNKNOWN
    calls = [call for call in module.calls if "deepspeed.initialize" in module.names.origins(call.func)]
    # Of several calls, or one under a test, the number of processes may decide which is made.
    if len(calls) != 1 or _is_under_test(calls[0], module):
        return UNKNOWN
    given = given_config(calls[0])
    return given if isinstance(given, Missing) else _of_expression(given, module, project)


def _is_under_test(call: ast.Call, module: PythonModule) -> bool:
    tests = (each.test for each in module.ancestors(call) if isinstance(each, (ast.If, ast.IfExp)))
    return any("__name__" not in ast.unparse(test) for test in tests)


def given_config(call: ast.Call) -> ast.expr | Missing:
    """The config of a call."""
    if any(isinstance(each, ast.Starred) for each in call.args) or len(call.args) > 6:
        return UNKNOWN
    both = [argument(call, name) for name in ("config", "config_params")]
    return next((each for each in both if each is not ABSENT), ABSENT)


def _of_expression(node: ast.expr, module: PythonModule, project: Project) -> Sizes | Missing:
    config = config_of(node, module, project)
    if isinstance(config, str):
        return _of_file(config, project)
    return _of_dict(config, module) if config is not None else UNKNOWN


def config_of(node: ast.expr, module: PythonModule, project: Project) -> ast.Dict | str | None:
    """The dict that an expression is, or the path of the file that it names; None where that is not known."""
    named = module.value(node)
    if isinstance(named, str):
        paths = linked_files(named, module.source, None)
        return paths[0] if len(paths) == 1 else None
    if isinstance(node, ast.Name):
        values = bindings(module).get(node.id, [])
        # It is made and handed over: whoever else has the dict may change it, also another module.
        if len(values) == 1 and len(module.named(node.id)) == 2:
            is_shared = module.function(values[0]) is None and is_named_beside(node.id, module.path, project)
            node = node if is_shared else values[0]
    return node if isinstance(node, ast.Dict) else None


def _of_dict(node: ast.Dict, module: PythonModule) -> Sizes | Missing:
    found: Sizes = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = key.value if isinstance(key, ast.Constant) else None
        if name is None or name in _DIVIDING:
            return UNKNOWN
        if name in _SIZES:
            number = module.value(value)
            if type(number) is not int or number < 1:
                return UNKNOWN
            found[str(name)] = Size(number, module.location(value))
    return found


def _of_file(path: str, project: Project) -> Sizes | Missing:
    document = read_quietly(path, project, "deepspeed") if path.endswith(".json") else None
    root = document.root if document is not None else None
    if document is None or not isinstance(root, nodes.Mapping) or any(root.get(name) is not None for name in _DIVIDING):
        return UNKNOWN
    if is_no_multiple(root):
        return UNKNOWN  # that is told about the file alone (TRL403)
    found: Sizes = {}
    for name in _SIZES:
        entry = root.entry(name)
        if entry is None:
            continue
        number = whole_number(entry.value)
        if number is None or number < 1:
            return UNKNOWN
        found[name] = Size(number, document.place(entry))
    return found
