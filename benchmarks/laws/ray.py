"""Tasks and actors of Ray."""

from __future__ import annotations

from benchmarks.laws import Files, law, lines

_PIN = {"requirements.txt": "ray==2.43.0\n"}


def actor(number: int) -> str:
    return f"@ray.remote\nclass A{number}:\n    def __init__(self, model):\n        self.model = model.cuda()\n"


@law(800)
def actors_of_ray(count: int) -> Files:
    started = lines(count, lambda i: f"{actor(i)}\n\nA{i}.remote(1)")
    return {"train.py": f"import ray\n\n\n{started}", **_PIN}


@law(200)
def actors_of_ray_in_files(count: int) -> Files:
    files = {f"a{i}.py": f"import ray\n\n\n{actor(i)}" for i in range(count)}
    return {**files, "run.py": lines(count, lambda i: f"from a{i} import A{i}\nA{i}.remote(1)"), **_PIN}
