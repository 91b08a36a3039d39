"""Configs: recipes, YAML, JSON, and the rules for what is ignored."""

from __future__ import annotations

import json

from benchmarks.laws import Files, law, lines
from benchmarks.laws.scripts import HEAD, PINS

RECIPE = "model_name_or_path: m\nlearning_rate: 1.0e-6\nnum_generations: 8\nmax_grad_norm: 0.2\n"
_PARSER = f"{HEAD}from trl import TrlParser\n\nTrlParser((GRPOConfig,)).parse_args_and_config()\n"


def recipe(text: str) -> Files:
    run = "accelerate launch train.py --config recipe.yaml\n"
    return {"recipe.yaml": text, "run.sh": run, "train.py": _PARSER, "requirements.txt": PINS}


@law(320)
def recipes(count: int) -> Files:
    return {**recipe(RECIPE), **{f"recipes/r{i}.yaml": RECIPE for i in range(count)}}


@law(1600)
def keys_of_a_recipe(count: int) -> Files:
    return recipe(RECIPE + lines(count, lambda i: f"no_such_{i}: {i}"))


@law(800)
def merged_mappings(count: int) -> Files:
    return recipe(
        RECIPE + lines(count, lambda i: f"m{i}: &m{i}\n  <<: *m{i - 1}\n  k{i}: 1" if i else "m0: &m0\n  k: 1")
    )


@law(1600)
def aliases(count: int) -> Files:
    return recipe(f"{RECIPE}a: &a [1, 2, 3]\n{lines(count, lambda i: f'k{i}: *a')}")


@law(40)
def aliases_that_double(count: int) -> Files:
    return recipe(f"{RECIPE}a0: &a0 [x]\n{lines(count, lambda i: f'a{i + 1}: &a{i + 1} [*a{i}, *a{i}]')}")


@law(80)
def depth_of_yaml(count: int) -> Files:
    return recipe(RECIPE + "".join(f"{' ' * i}k{i}:\n" for i in range(count)) + f"{' ' * count}x: 1\n")


@law(3200)
def flow_of_yaml(count: int) -> Files:
    return recipe(f"{RECIPE}x: [{', '.join(f'{{a: {i}}}' for i in range(count))}]\n")


@law(1600)
def comments_of_yaml(count: int) -> Files:
    return recipe(RECIPE + lines(count, lambda i: f"k{i}: 1  # noqa: TRL401"))


@law(200)
def documents_in_a_file(count: int) -> Files:
    return recipe("---\n".join([RECIPE] * count))


@law(1600)
def keys_of_deepspeed(count: int) -> Files:
    text = {"zero_optimization": {"stage": 3}, **{f"no_such_{i}": {"a": i} for i in range(count)}}
    return {
        **recipe(RECIPE),
        "ds_config.json": json.dumps(text, indent=1),
        "run.sh": "deepspeed train.py --deepspeed ds_config.json\n",
    }


@law(80)
def depth_of_json(count: int) -> Files:
    text = '{"zero_optimization": {"stage": 3}, "a": ' + '{"a": ' * count + "1" + "}" * count + "}"
    return {**recipe(RECIPE), "ds_config.json": text, "run.sh": "deepspeed train.py --deepspeed ds_config.json\n"}


@law(1600)
def ignored_paths(count: int) -> Files:
    return {**recipe(RECIPE), ".gitignore": lines(count, lambda i: f"a{i}/**/b*{i}*.py"), **some_files(40)}


@law(400)
def stars_of_an_ignored_path(count: int) -> Files:
    return {
        **recipe(RECIPE),
        ".gitignore": f"{'*a' * min(count, 400)}\n{'**/a/' * count}b\n",
        f"{'a' * 200}.py": "x = 1\n",
    }


@law(400)
def folders(count: int) -> Files:
    return {**recipe(RECIPE), **{f"d{i}/e/f.py": HEAD for i in range(count)}}


@law(100)
def depth_of_folders(count: int) -> Files:
    return {**recipe(RECIPE), "/".join(f"d{i}" for i in range(count)) + "/f.py": HEAD}


def some_files(count: int) -> Files:
    return {f"d{i}/x.py": "x = 1\n" for i in range(count)}


@law(1600)
def services_of_compose(count: int) -> Files:
    def service(i: int) -> str:
        return f"  s{i}:\n    command: torchrun --nproc_per_node=4 train.py --seed {i}\n    gpus: [{{count: 2}}]"

    return {"compose.yaml": f"services:\n{lines(count, service)}", "train.py": HEAD}


def swift(config: str, run: str) -> Files:
    return {"sft.yaml": f"model: m\n{config}", "run.sh": run, "requirements.txt": "ms-swift==4.5.2\n"}


@law(1600)
def keys_of_a_config_of_swift(count: int) -> Files:
    return swift(lines(count, lambda i: f"no_such_{i}: {i}"), "swift sft sft.yaml\n")


@law(400)
def commands_of_one_config_of_swift(count: int) -> Files:
    return swift("lora_rank: 8.5\n", lines(count, lambda i: f"swift sft sft.yaml --seed {i}"))


LLAMAFACTORY = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: no_such\n"


def llamafactory(files: Files, names: list[str], count: int) -> Files:
    """Data sets with one file, half of which have no such column."""
    columns = [{"prompt": "a" if i % 2 else "b"} for i in range(count)]
    index = {f"d{i}": {"file_name": "d.json", "columns": columns[i]} for i in range(count)}
    run = lines(len(names), lambda i: f"llamafactory-cli train {names[i]}")
    data = {"data/dataset_info.json": json.dumps(index), "data/d.json": '[{"a": 1}]'}
    return {**files, **data, "run.sh": run, "requirements.txt": "llamafactory==0.9.3\n"}


@law(800)
def columns_of_data_sets(count: int) -> Files:
    named = ", ".join(f"d{i}" for i in range(count))
    return llamafactory({"c.yaml": f"{LLAMAFACTORY}dataset: {named}\n"}, ["c.yaml"], count)


@law(200)
def configs_of_llamafactory(count: int) -> Files:
    names = [f"c{i}.yaml" for i in range(count)]
    return llamafactory({name: f"{LLAMAFACTORY}dataset: d{i}\n" for i, name in enumerate(names)}, names, count)


@law(3200)
def texts_of_a_recipe(count: int) -> Files:
    return recipe(RECIPE + lines(count, lambda i: f"num_generation{i}: |\n  a: b\n  c"))


@law(1600)
def patterns_of_ignores_for_files(count: int) -> Files:
    rows = lines(count, lambda i: f'"**/*{i}*/x*{i}.py" = ["TRL301"]')
    call = "from trl import GRPOConfig\n\nGRPOConfig(output_dir='o', max_seq_length=5)\n"
    files = {f"{'b' * 60}/{i}.py": call for i in range(30)}
    return {"trl-lint.toml": f"[per-file-ignores]\n{rows}", "requirements.txt": "trl==0.20.0\n", **files}
