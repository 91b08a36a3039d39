"""A file that cannot be read is broken, save where something fills in the blank at which the parser stops."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from command_line import Shell
from documents import ROOT

from trl_lint.project import Project
from trl_lint.project.documents import read_document
from trl_lint.project.templates import read_template
from trl_lint.settings import Settings
from trl_lint.sources import Files, Source, SourceError, SourceFile
from trl_lint.sources.trees import read_trees

# What goes wrong at the end of a file: two values, quotes and brackets that nothing closes, tabs, a list in a mapping.
BREAKS = (
    "bf16: true: false", "x: [1", 'x: "a', "x: 'a", "x: {a: 1", "\tx: 1", "- a", "x: *nobody", ": :\n? ]", "x: @a",
    "x: b\n  y: 1", "x: %a",
)  # fmt: skip
CHATS = (
    'chat_template: "{% for m in messages %}{{ m }}{% endfor %}"',
    "chat_template: '{{ bos_token }}{% if x %}{% endif %}'",
    "chat_template: |\n  {% for m in messages %}\n  {{ m }}\n  {% endfor %}",
    "chat_template: >-\n  {{ messages }}",
    "chat_template: the {{ first }} and {% second %} of it",
    "prompt: [\"{{ question }}\", '{% x %}']",
    "# chat_template: {{ x }}",
    "x: 1  # {% for m in messages %}",
    "output_dir: ${ROOT}/out",
    "x: '<% if a %>'",
)
RECIPE = "model_name_or_path: x\noutput_dir: x\nlearning_rate: 1.0e-6\nper_device_train_batch_size: 1\n"
TEMPLATES = (
    # Jinja and cookiecutter
    "{% if x %}\n$A{% endif %}\n", "$A{%- for x in y %}\nx{{ x }}: 1\n{%- endfor %}\n", "$Ax: {{ x }}/out\n",
    "$Ax: {{ cookiecutter.name }} and more: {{ y }}\n", "{# about it #}\n$A", "$A{{ block }}\ny: 1\n",
    "$Ax: {{ a }}-{{ b }}\n", "{% set x = 1 %}\n$A", "$Ax: {{ a }} # b: c\n{{ d }}\nz: 1\n",
    "$Ax:\n  {{ a }}\n  b: 1\n",
    "{% raw %}\n$A{% endraw %}\n",
    '$Ax: "{{ a }}"\n{% include "b.yaml" %}\n',
    "{%- macro m() -%}\n$A{%- endmacro %}\n",
    # Helm
    "{{- if .Values.train }}\n$A{{- end }}\n", "$Ax:\n{{ toYaml .Values.x | nindent 2 }}\nb: 1\n",
    '{{- define "a" -}}\n$A{{- end -}}\n', "$Ax: {{ .Values.a }}:{{ .Values.b }}\n", "$Ax: {{ .Values.a | quote }}b\n",
    '{{ include "a.labels" . }}\n$A', "$A{{- range .Values.x }}\n- {{ . }}\n{{- end }}\n",
    # ERB, Mako
    "<% if x %>\n$A<% end %>\n", "$Ax: <%= a %>\n<% b %>\ny: 1\n", "<%! import os %>\n$A",
)  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = str(tmp_path_factory.mktemp("project"))
    return Project(root, Files(), Settings(root))


def reading(text: str, project: Project, name: str = "recipe.yaml") -> str:
    """What a file is taken for; "read" where nothing is wrong with it."""
    path = str(Path(project.root) / name)
    try:
        read_trees(Source(SourceFile(path, text.encode()), "yaml"))
    except SourceError as error:
        return read_template(path, text, error.offset, project)
    return "read"


@cache
def recipes() -> dict[str, str]:
    """The config fixtures that a reader of ours understands, each text once."""
    found = {}
    for path in sorted((ROOT / "fixtures").rglob("*.y*ml")):
        try:
            file = SourceFile(str(path), path.read_bytes())
            document = read_document(file)
        except (SourceError, UnicodeDecodeError):
            continue
        if document is not None and document.kind != "other" and document.mapping is not None:
            found.setdefault(file.text, str(path))
    return {path: text for text, path in found.items()}


@pytest.mark.parametrize("wrong", BREAKS)
def test_every_recipe_that_is_broken_at_its_end_is_broken(wrong: str, project: Project) -> None:
    assert len(recipes()) > 300
    missed = []
    for path, text in recipes().items():
        if "---" in text or "..." in text:
            continue  # what follows may be another document
        if reading(f"{text.rstrip()}\n{wrong}\n", project) != "broken":
            missed.append(path)
    assert missed == []


@pytest.mark.parametrize("wrong", BREAKS)
@pytest.mark.parametrize("chat", CHATS)
def test_a_chat_template_excuses_nothing(chat: str, wrong: str, project: Project) -> None:
    assert reading(f"{RECIPE}{chat}\n", project) == "read"
    for text in (f"{RECIPE}{chat}\n{wrong}\n", f"{chat}\n{RECIPE}{wrong}\n"):
        assert reading(text, project) == "broken", text


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("around", [RECIPE, f"{RECIPE}{CHATS[0]}\n", "a: 1\n", f"{CHATS[2]}\n"])
def test_templates_are_no_broken_files(template: str, around: str, project: Project) -> None:
    assert reading(template.replace("$A", around), project) == "template"


def test_a_quote_that_nothing_closes_hides_no_blank(project: Project) -> None:
    assert reading(f'{RECIPE}chat_template: "{{{{ m }}}}\nx: 1\n', project) == "broken"
    assert reading(f"{RECIPE}chat_template: '{{% if x %}}\nx: {{{{ y }}}}\n", project) == "broken"


def test_a_broken_recipe_with_a_chat_template_is_told(sh: Shell) -> None:
    for name in ("train.py", "requirements.txt"):
        (sh.folder / name).unlink(missing_ok=True)
    sh.write("sft.yaml", f"{RECIPE}{CHATS[0]}\nbf16: true: false\n")
    for arguments in ([], ["sft.yaml"], ["--select", "TRL001"]):
        assert sh(*arguments, "--output-format", "concise").out.startswith("sft.yaml:6:11: TRL001 error: not YAML")
    sh.write("sft.yaml", f"{{% if x %}}\n{RECIPE}{{% endif %}}\n")
    assert "TRL001" not in sh().out and "note: not checked: it is a template" not in sh().out
    assert "sft.yaml:1:1: note: not checked: it is a template" in sh("sft.yaml").out


SCRIPT = "from trl import SFTConfig, TrlParser\nTrlParser(SFTConfig).parse_args_and_config()\n"


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py --config a.yaml", "a.yaml"),
        ("accelerate launch --config_file a.yaml train.py", "a.yaml"),
        ("trl sft --config a.yaml", "a.yaml"),
        ("torchrun train.py --deepspeed a.json", "a.json"),
        ("axolotl train a.yml", "a.yml"),
        ("llamafactory-cli train a.yaml", "a.yaml"),
        ("python other.py --config a.yaml", "a.yaml"),
    ],
)
def test_a_file_that_a_command_names_is_never_dropped(sh: Shell, command: str, name: str) -> None:
    """Whatever its words are."""
    sh.write("train.py", SCRIPT)
    sh.write("other.py", "import yaml\n")
    sh.write("run.sh", command + "\n")
    broken = '{"x": }' if name.endswith(".json") else "x: 1: 2\n"
    sh.write(name, broken)
    assert f"{name}:1:" in sh("--select", "TRL001,TRL401", "--output-format", "concise").out
    alone = sh("run.sh", "--select", "TRL001,TRL401").out
    assert f"{name}:1:1: note: not taken into account: it cannot be read: not " in alone and "TRL001" not in alone
    sh.write(name, '{"x": {{ y }}}\n' if name.endswith(".json") else "{% if x %}\nx: 1\n{% endif %}\n")
    assert f"{name}:1:1: note: not checked: it is a template" in sh("--select", "TRL001,TRL401").out


@pytest.mark.parametrize("command", ["python train.py data.json", "python other.py data.json --x 1", "cat a.yaml"])
def test_data_that_a_command_names_is_no_config(sh: Shell, command: str) -> None:
    sh.write("train.py", "import json\n")
    sh.write("other.py", "import json\n")
    sh.write("run.sh", command + "\n")
    sh.write("data.json", '{"a": 1}\n{"a": 2}\n')
    sh.write("a.yaml", "x: 1: 2\n")
    assert "TRL001" not in sh("--output-format", "concise").out


def test_a_config_that_a_person_names_is_read_whatever_its_words_are(sh: Shell) -> None:
    sh.write("own.yaml", "x: 1: 2\n")
    assert "TRL001" not in sh("--output-format", "concise").out
    assert sh("own.yaml", "--output-format", "concise").out.startswith("own.yaml:1:5: TRL001 error")
