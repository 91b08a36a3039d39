"""Pins: every notation, and how they hang together."""

from __future__ import annotations

from benchmarks.laws import Files, law, lines
from benchmarks.laws.scripts import HEAD

_PROJECT = '[project]\nname = "x"\nversion = "1"\ndependencies = ["trl==0.20.0"]\n'


def pyproject(text: str) -> Files:
    return {"pyproject.toml": _PROJECT + text, "train.py": HEAD}


@law(320)
def extras(count: int) -> Files:
    text = lines(count, lambda i: f'e{i} = ["transformers==4.{i % 50 + 1}.0"]')
    return pyproject(f"[project.optional-dependencies]\n{text}")


@law(320)
def extras_of_both(count: int) -> Files:
    text = lines(
        count, lambda i: f'e{i} = ["transformers==4.{i % 50 + 1}.0", "accelerate==0.{i % 30}.0", "vllm==0.6.{i % 6}"]'
    )
    return pyproject(f"[project.optional-dependencies]\n{text}")


@law(320)
def extras_of_extras(count: int) -> Files:
    text = lines(count, lambda i: f'e{i} = ["x[e{i + 1}]", "transformers==4.{i % 50 + 1}.0"]')
    return pyproject(f"[project.optional-dependencies]\n{text}")


@law(320)
def dependency_groups(count: int) -> Files:
    text = lines(count, lambda i: f'g{i} = [{{include-group = "g{i - 1}"}}, "vllm==0.{i % 9}.0"]' if i else "g0 = []")
    return pyproject(f"[dependency-groups]\n{text}")


@law(320)
def markers(count: int) -> Files:
    text = lines(count, lambda i: f"transformers==4.{i % 50 + 1}.0; python_version >= '3.{i % 12}' or extra == 'a{i}'")
    return {"requirements.txt": f"trl==0.20.0\n{text}", "train.py": HEAD}


@law(1600)
def pins(count: int) -> Files:
    return {"requirements.txt": "trl==0.20.0\n" + lines(count, lambda i: f"package-{i}=={i}.0"), "train.py": HEAD}


@law(800)
def pins_of_one_package(count: int) -> Files:
    return {"requirements.txt": lines(count, lambda i: f"transformers>=4.{i % 50 + 1}.0"), "train.py": HEAD}


@law(800)
def clauses_of_a_pin(count: int) -> Files:
    text = ",".join(f"!=4.{i % 50}.{i}" for i in range(count))
    return {"requirements.txt": f"trl==0.20.0\ntransformers>=4.1,{text}\n", "train.py": HEAD}


@law(48)
def manifests(count: int) -> Files:
    text = "trl==0.20.0\ntransformers==4.40.0\nvllm==0.6.0\ndeepspeed==0.14.0\npeft==0.10.0\naccelerate==0.30.0\n"
    return {f"d{i}/requirements.txt": text for i in range(count)}


@law(160)
def chain_of_requirements(count: int) -> Files:
    return {f"r{i}.txt": f"-r r{i + 1}.txt\ntrl==0.{i % 20}.0\n" for i in range(count)} | {
        "requirements.txt": "-r r0.txt\n"
    }


@law(160)
def fan_of_requirements(count: int) -> Files:
    files = {f"reqs/requirements-{i}.txt": f"transformers==4.{i % 50 + 1}.0\n" for i in range(count)}
    return {**files, "requirements.txt": lines(count, lambda i: f"-r reqs/requirements-{i}.txt"), "train.py": HEAD}


@law(12)
def requirements_that_double(count: int) -> Files:
    files = {f"r{i}.txt": f"-r r{i + 1}.txt\n-r r{i + 1}.txt\n" for i in range(count)}
    return {**files, "requirements.txt": "-r r0.txt\n", f"r{count}.txt": "trl==0.20.0\n"}


@law(1600)
def packages_of_a_lock(count: int) -> Files:
    text = lines(
        count,
        lambda i: (
            f'[[package]]\nname = "p{i}"\nversion = "1.{i}"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
            f'dependencies = [{{ name = "p{i + 1}" }}, {{ name = "trl" }}]\n'
        ),
    )
    return {**pyproject(""), "uv.lock": f'version = 1\n[[package]]\nname = "trl"\nversion = "0.20.0"\n{text}'}


@law(800)
def pins_of_conda(count: int) -> Files:
    body = lines(count, lambda i: f"  - p{i}=1.{i}")
    return {"environment.yml": f"name: x\ndependencies:\n{body}  - pip:\n    - trl==0.20.0\n", "train.py": HEAD}


@law(800)
def pins_of_setup(count: int) -> Files:
    body = lines(count, lambda i: f"        \"p{i}>={i}.0; python_version > '3.8'\",")
    given = f"    name='x',\n    install_requires=[\n        'trl==0.20.0',\n{body}    ],\n"
    return {"setup.py": f"from setuptools import setup\n\nsetup(\n{given})\n", "train.py": HEAD}


@law(400)
def commands_that_install(count: int) -> Files:
    text = lines(count, lambda i: f"```sh\npip install trl==0.{i % 20}.0 transformers==4.{i % 50 + 1}.0\n```\n")
    return {"README.md": text, "train.py": HEAD}


@law(800)
def pins_of_one_package_that_all_differ(count: int) -> Files:
    return {"requirements.txt": lines(count, lambda i: f"trl>0.{i // 40}.{i % 40}"), "train.py": HEAD}


@law(800)
def series_and_releases_that_a_pin_excludes(count: int) -> Files:
    text = ",".join(f"!=4.{i // 9}.{i % 9}" for i in range(count))
    return {"requirements.txt": f"trl==0.20.0\ntransformers>=4.1,{text}\n", "train.py": HEAD}


@law(60)
def doubled_lists_of_setup_py(count: int) -> Files:
    body = lines(count, lambda i: f"a{i + 1} = a{i} + a{i}")
    head = "from setuptools import setup\na0 = ['trl==0.20.0']\n"
    return {"setup.py": f"{head}{body}setup(name='x', install_requires=a{count})\n", "train.py": HEAD}


@law(1600)
def patterns_of_per_file_ignores(count: int) -> Files:
    rows = lines(count, lambda i: f'"**/*{i}*/x*{i}.py" = ["TRL301"]')
    return {"trl-lint.toml": f"[per-file-ignores]\n{rows}", **{f"{'b' * 60}/{i}.py": HEAD for i in range(10)}}


@law(800)
def ranges_of_the_stack(count: int) -> Files:
    """Long ranges with gaps of packages that require each other, beside what nobody knows."""
    known = ("trl", "transformers", "accelerate", "peft", "datasets", "vllm", "unsloth", "huggingface-hub")
    gaps = ",".join(f"!=0.{i}.{i % 7}" for i in range(count // 8 + 1))
    text = "".join(f"{name}>=0.1,{gaps}\n" for name in known)
    return {"requirements.txt": text + lines(count, lambda i: f"package{i}>=1.{i}"), "train.py": HEAD}


@law(160)
def environments_of_folders(count: int) -> Files:
    """A folder each, with pins of its own, in which trl is what an installer takes beside them."""
    found: Files = {}
    for i in range(count):
        found[f"f{i}/requirements.txt"] = f"transformers==4.{i % 28 + 30}.0\naccelerate>=0.{i % 30}\n"
        found[f"f{i}/train.py"] = HEAD
    return found


@law(1600)
def pins_with_a_series_left_out(count: int) -> Files:
    """TRL201 tries a repair of each, which all the others hold against."""
    pins = lines(count, lambda i: f"transformers>=4.{i}.0,!=4.{i}.*")
    return {"requirements.txt": f"trl==0.20.0\n{pins}", "train.py": HEAD}


@law(1600)
def pins_under_markers_that_differ(count: int) -> Files:
    pins = lines(count, lambda i: f"transformers>=4.{i}.0,!=4.{i}.*; python_version < '3.{i}'")
    return {"requirements.txt": f"trl==0.20.0\n{pins}", "train.py": HEAD}
