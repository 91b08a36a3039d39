"""Broken shell costs the command it stands in, and a time that grows with its length."""

from __future__ import annotations

import time

import pytest

from trl_lint import budget
from trl_lint.engine import check
from trl_lint.settings import Settings
from trl_lint.sources.shell import read_commands
from trl_lint.sources.shell_cut import ends_of_commands
from trl_lint.sources.shell_parse import parse, seconds_for

# What opens something, or closes nothing; all of them on one line, as words, and on lines.
TOKENS = r"""( ) { } [ ] [[ ]] (( )) $( ${ $(( ` ' " < > << <<< <( >( | || & && ; ;; ;& \ # ! = x=( if fi then for
do done case esac in while until select function f() $ @ * ? ~ % ^ , : é $'' $" a=b 1>2 <<E -""".split()  # noqa: SIM905
TOKENS += ["\x01", "\x0c", "\x1b", "\ud800", "\0", "\r"]
MIXED = ('"\x01|', ";$''\x01x=(", "{,$((", ":$($((", "function ( in ", "\n?\n-\n<\n", "${a ")
SLACK = 0.5  # seconds that the last step of a repair may take


def assert_quick(text: str, size: int) -> None:
    data = ("echo a\n" + text * (size // len(text))).encode("utf-8", "surrogatepass")
    begun = time.thread_time()
    assert parse(data)[0].root is not None
    # Once as a whole, once in parts.
    assert time.thread_time() - begun < 2 * seconds_for(len(data)) + SLACK, repr(text)


@pytest.mark.parametrize("text", [*TOKENS[:6], *MIXED])
def test_broken_syntax_is_given_up_in_time(text: str):
    assert_quick(text, 40_000)


@pytest.mark.slow
@pytest.mark.parametrize("between", ["", " ", "\n"])
@pytest.mark.parametrize("size", [20_000, 80_000])
@pytest.mark.parametrize("text", TOKENS)
def test_so_is_every_token(text: str, size: int, between: str):
    assert_quick(text + between, size)


WHOLE = {
    "quotes": "echo 'a\nb' \"c\nd\"\n",
    "a quote that is escaped": "echo \\\" '\\' $'\\'\n'\n",
    "substitutions": 'a=$(\n echo "$(\n b)" )\n',
    "a parameter": "echo ${a:-'x\n}'}\n",
    "backquotes": "a=`b\nc`\n",
    "continued lines": "a \\\n b \\\n c\n",
    "a pipe": "a |\n\n# why\n b\n",
    "both streams": "a |&\n b\n",
    "a chain": "a &&\n b ||\n c\n",
    "a loop": "for x in a b; do\n echo done fi\ndone\n",
    "a C loop": "for ((i = 0; i < 3; i++)); do\n a\ndone\n",
    "a while loop that reads": "while read -r a; do\n b\ndone < f\n",
    "branches": "if [[ $a =~ ^(x|y)$ ]]; then\n b\nelif ((a > 1)); then\n c\nelse\n d\nfi\n",
    "loops in branches": "if a; then for b in c; do\n d\ndone fi\n",
    "a case": 'case "$a" in\n (x|y) b ;;\n "z") c ;&\n *)\n d\nesac\n',
    "a case in a case": "case a in\n b) case c in\n d) e ;;\n esac ;;\nesac\n",
    "a function": "f()\n{\n a\n}\n",
    "a function by its word": "function f\n{\n a\n}\n",
    "both": "function f()\n{\n a\n}\n",
    "a group": "{ a\n b; } > c\n",
    "a subshell": "( cd a\n b )\n",
    "an array": "x=( if\n # it's\n 'a b' )\n",
    "a here-document": "cat <<EOF | a\n' $( fi\nEOF\n",
    "its delimiter in quotes": "cat <<-'E F'\n\t`\n\tE F\n",
    "several of them": "cat <<A <<B\n(\nA\n)\nB\n",
    "one in a substitution": 'a="$(cat <<EOF\n"\nEOF\n)"\n',
    "a sum": "(( a = 1 << 2\n ))\n",
    "a sum of a word": "a=$(( (1 << 2) # 3\n ))\n",
    "process substitutions": "a < <(\n b ) > >(\n c)\n",
    "a test": "[[ a\n && b ]]\n",
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("before", ["", "a\n", "# it's\n\n"])
def test_a_command_over_several_lines_stays_whole(text: str, before: str):
    inner = [len(before) + at for at in range(1, len(text)) if (before + text)[len(before) + at - 1] == "\n"]
    ends = ends_of_commands(f"{before}{text}echo b\n".encode())
    assert len(before) + len(text) in ends, "it is known where it ends"
    assert not set(inner) & set(ends)


@pytest.mark.parametrize(
    "text", ["echo 'a\n", 'a "b\n', "( a\n", "if a; then\n", "cat <<EOF\n", "{ a )\n", "coproc {\n"]
)
def test_where_nobody_knows_what_is_open_the_rest_is_one_command(text: str):
    whole = f"a\n{text}b\nc\n"
    assert ends_of_commands(whole.encode()) == [2, len(whole)]


def test_simple_commands_end_with_their_lines():
    text = "a=b c\nd # it's\n\ne; f & g\necho $# ${#a} a#b done fi }\nx=()\ncoprocess\necho esac ) \n"
    assert ends_of_commands(text.encode()) == [at + 1 for at, char in enumerate(text) if char == "\n"]


BROKEN = (")", "}}", "done", "fi; esac", "{{ a }}", "a ;; b", "| a", "&& b", "{% if a %}", "x=( ) )", "<your run>")


@pytest.mark.parametrize("broken", BROKEN)
def test_an_error_spoils_its_own_command_only(broken: str):
    text = f"accelerate launch a.py --x 1\n{broken}\nfor i in 1 2; do\n  accelerate launch b.py\ndone\n"
    found = {command.words[2].text: command for command in read_commands(text) if command.words[0].text == "accelerate"}
    assert not found["a.py"].errors and [word.text for word in found["a.py"].words[3:]] == ["--x", "1"]
    assert not found["b.py"].errors


def test_what_was_not_parsed_is_said_with_its_line(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trl_lint.sources.shell_parse._SECONDS", 0.05)
    (tmp_path / "run.sh").write_text("echo a\naccelerate launch a.py\n" + ")" * 30_000 + "\n")
    result = check([str(tmp_path)], Settings(root=str(tmp_path)))
    (notice,) = result.notices
    assert notice.location is not None and notice.location.start == len("echo a\naccelerate launch a.py\n")
    assert "broken shell" in notice.message
    assert budget.taken_notes() == []
