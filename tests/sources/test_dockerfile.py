"""Dockerfiles: continuations, comments inside, here-documents, JSON form."""

from __future__ import annotations

import pytest

from trl_lint.sources import Source, SourceFile
from trl_lint.sources.dockerfile import copies_of, on_the_host, run_commands, stages
from trl_lint.sources.shell import Command


def read(text: str) -> list[Command]:
    return run_commands(Source(SourceFile("/project/Dockerfile", text.encode()), "dockerfile"))


def texts(text: str) -> list[list[str | None]]:
    return [[word.text for word in command.words] for command in read(text)]


def test_comments_and_blank_lines_inside_an_instruction():
    text = "RUN pip install a \\  \n    # why\n\n    && python train.py \\\n    --x 1\n"
    assert texts(text) == [["pip", "install", "a"], ["python", "train.py", "--x", "1"]]
    second = read(text)[1]
    assert [text[word.start : word.end] for word in second.words] == ["python", "train.py", "--x", "1"]


def test_flags_of_run_are_not_words():
    assert texts("RUN --mount=type=cache,target=/root/.cache \\\n    --network=none pip install a\n") == [
        ["pip", "install", "a"]
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "RUN <<EOF\npip install a\npython b.py\nEOF\nRUN python c.py\n",
            [["pip", "install", "a"], ["python", "b.py"]],
        ),
        ("RUN <<-EOF\n\tpip install a\n\tEOF\nRUN python c.py\n", [["pip", "install", "a"]]),
        ("RUN <<'EOF'\n#!/usr/bin/env bash\npip install a\nEOF\nRUN python c.py\n", [["pip", "install", "a"]]),
        ("RUN <<EOF\n#!/usr/bin/env python\npip = 1\nEOF\nRUN python c.py\n", []),
        ("COPY <<EOF /x.sh\npip install a\nEOF\nRUN python c.py\n", []),
    ],
)
def test_heredocs(text: str, expected: list[list[str]]):
    assert texts(text) == [*expected, ["python", "c.py"]]


def test_a_heredoc_for_another_program_is_its_input():
    (command, following) = read("RUN python3 <<EOF\nimport torch\nEOF\nRUN python c.py\n")
    assert command.heredocs[0].text == "import torch\n"
    assert [word.text for word in following.words] == ["python", "c.py"]


def test_json_form():
    text = 'CMD ["python", "-u", "train.py", \\\n     "--text", "a \\"b\\""]\n'
    (command,) = read(text)
    assert command.exec_form
    assert [word.text for word in command.words] == ["python", "-u", "train.py", "--text", 'a "b"']
    assert [text[word.start : word.end] for word in command.words[:3]] == ['"python"', '"-u"', '"train.py"']


def test_a_shell_in_json_form():
    text = 'ENTRYPOINT ["bash", "-lc", "cd /x && python train.py"]\n'
    inner = read(text)[-1]
    assert [word.text for word in inner.words] == ["python", "train.py"]
    assert inner.directory == "/x" and text[inner.start : inner.end] == "python train.py"


def test_text_that_is_no_json_goes_to_the_shell():
    assert not any(command.exec_form for command in read("CMD [python, train.py]\n"))


def test_variables_and_folder_of_a_stage():
    text = """\
FROM a
ARG MODEL=qwen
ENV CUDA_VISIBLE_DEVICES=0,1 NAME="x y"
ENV OLD style
WORKDIR /app
WORKDIR sub
RUN export LATER=1 && python $MODEL $NAME
CMD python train.py
FROM b
CMD python train.py
"""
    found = read(text)
    first, second, third = found[-3:]
    assert [word.text for word in first.words] == ["python", None, "x", "y"]
    assert second.env["CUDA_VISIBLE_DEVICES"].text == "0,1" and second.env.exported("CUDA_VISIBLE_DEVICES")
    assert second.env["OLD"].text == "style" and "LATER" not in second.env
    assert second.directory == "/app/sub"
    assert "CUDA_VISIBLE_DEVICES" not in third.env and third.directory == ""


def test_another_escape_character():
    assert texts("# escape=`\nRUN python `\n  train.py\n") == [["python", "train.py"]]


@pytest.mark.parametrize("text", ["", "RUN", "RUN \\", "RUN <<EOF", 'CMD ["', "CMD []", "\\\n\\\n", "ENV", "ENV A"])
def test_odd_input_is_read_without_an_exception(text: str):
    assert all(command.words for command in read(text))


def dockerfile(text: str) -> Source:
    return Source(SourceFile("/x/Dockerfile", text.encode()), "dockerfile")


def test_stages_by_instruction():
    text = "FROM a AS base\nRUN x\nFROM base AS next\nRUN y\nFROM b\nRUN z\nfrom --platform=linux/amd64 NEXT\n"
    assert [stage for _, stage in stages(dockerfile(text))] == ["", "", "", "", "stage 2", "stage 2", ""]
    assert [text[start:].split()[0] for start, _ in stages(dockerfile(text))][:3] == ["FROM", "RUN", "FROM"]


@pytest.mark.parametrize(
    ("text", "name", "directory", "host"),
    [
        ("COPY requirements.txt /tmp/requirements.txt", "/tmp/requirements.txt", "", "requirements.txt"),
        ("COPY a.txt b.txt /tmp/", "/tmp/a.txt", "", "a.txt"),
        ("COPY envs/a.txt /tmp/", "a.txt", "/tmp", "envs/a.txt"),
        ("WORKDIR /app\nCOPY . .", "sub", "/app", "sub"),
        ("WORKDIR /app\nCOPY . .", ".", "/app", "."),
        ("ADD . /src", "./sub", "/src", "sub"),
        ("COPY --chown=1:1 core /opt/core/", "/opt/core/x", "", "core/x"),
        ('COPY ["a b.txt", "c.txt", "/tmp/"]', "/tmp/c.txt", "", "c.txt"),
        ("COPY a.txt \\\n    /tmp/", "/tmp/a.txt", "", "a.txt"),
        ("COPY --from=base /x/a.txt /tmp/a.txt", "/tmp/a.txt", "", None),
        ("COPY $NAME /tmp/", "/tmp/a.txt", "", None),
        ("ADD https://x.org/a.txt /tmp/", "/tmp/a.txt", "", None),
        ("COPY a.txt /tmp/", "/tmp/b.txt", "", None),
        ("COPY . /app", "sub", None, None),
        ("", "/tmp/a.txt", "", None),
        ("", "//tmp/a.txt", "", None),
        ("COPY . /app", "a.txt", "//app", "a.txt"),
    ],
)
def test_where_a_name_in_the_image_comes_from(text: str, name: str, directory: str | None, host: str | None):
    assert on_the_host(name, directory, copies_of(dockerfile(f"FROM x\n{text}\n"))) == host


def test_a_stage_that_continues_another_one_has_its_variables():
    text = (
        "FROM image AS base\nENV DEPS=/opt/deps\nFROM base AS more\nCOPY requirements.txt ${DEPS}/requirements.txt\n"
        "RUN pip install -r ${DEPS}/requirements.txt\nFROM other\nRUN pip install -r ${DEPS}/requirements.txt\n"
        "ARG OPEN=/x\nCOPY a.txt $OPEN/a.txt\n"
    )
    source = Source(SourceFile("Dockerfile", text.encode()), "dockerfile")
    assert copies_of(source) == {"/opt/deps/requirements.txt": "requirements.txt"}
    names = [[word.text for word in command.words][-1] for command in run_commands(source)]
    assert names == ["/opt/deps/requirements.txt", None]
