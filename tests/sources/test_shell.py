"""Shell: what is known of each command, and what must stay a hole."""

from __future__ import annotations

import sys
import time
from textwrap import dedent

import pytest

from trl_lint import budget
from trl_lint.sources import Source, SourceFile
from trl_lint.sources.shell import Command, commands, directives, read_commands
from trl_lint.sources.shell_options import guesses_of, texts_of


def source(text: str, path: str = "/project/scripts/run.sh") -> Source:
    return Source(SourceFile(path, dedent(text).encode()), "shell")


def read(text: str) -> list[Command]:
    return commands(source(text))


def texts(command: Command) -> list[str | None]:
    return [word.text for word in command.words]


def last(text: str) -> Command:
    return read(text)[-1]


# -- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py --lr 1e-6", ["python", "train.py", "--lr", "1e-6"]),
        ("python train.py \\\n    --lr 1e-6 \\\n    --bf16", ["python", "train.py", "--lr", "1e-6", "--bf16"]),
        ("python 'a b' \"c d\" e\\ f", ["python", "a b", "c d", "e f"]),
        ("echo 'don'\\''t' \"say \\\"hi\\\"\" $'a\\tb'", ["echo", "don't", 'say "hi"', "a\tb"]),
        ("echo x 'two\nlines'", ["echo", "x", "two\nlines"]),
        ("verl a=[1,2] +b.c=null 'd={e: 1}'", ["verl", "a=[1,2]", "+b.c=null", "d={e: 1}"]),
        ("echo ~/x *.py {1,2}", ["echo", None, None, None]),
        ("> log python a.py", ["python", "a.py"]),
        ("python a.py > log --late 2>&1", ["python", "a.py", "--late"]),
        ('echo é "ü" x', ["echo", "é", "ü", "x"]),
        ("python a.py --x \\\n", ["python", "a.py", "--x"]),
        ("python a.py \\\n  `# why this` \\\n  --x 1", ["python", "a.py", "--x", "1"]),
    ],
)
def test_words(text: str, expected: list[str | None]):
    assert texts(last(text)) == expected
    assert not last(text).errors


def test_every_word_is_found_where_it_is_written():
    text = 'é=1 CUDA_VISIBLE_DEVICES=0,1 python "train é.py" \\\n  --x=$LR # é\npython späť.py\n'
    for command in read(text):
        for word in command.words:
            assert text[word.start : word.end] == word.raw
    first, second = read(text)[-2:]
    assert text[first.start : first.end].endswith("--x=$LR")
    assert text[second.start : second.end] == "python späť.py"


def test_windows_line_ends_continue_commands():
    assert texts(last("python a.py \\\r\n  --x 1\r\n")) == ["python", "a.py", "--x", "1"]


# -- variables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "word", "expected"),
    [
        ("M=qwen", "$M", ["qwen"]),
        ("M=qwen", "${M}-7b", ["qwen-7b"]),
        ("M=qwen", '"  $M "', ["  qwen "]),
        ("M=qwen", "'$M'", ["$M"]),
        ("M=qwen", "${M:-llama}", ["qwen"]),
        ("M=", "${M:-llama}", ["llama"]),
        ("A=x; B=$A/y", "$B", ["x/y"]),
        ("A=x; A+=y", "$A", ["xy"]),
        ("N=2", "$((N * 4))", ["8"]),
        ('ARGS="--a 1  --b"', "$ARGS", ["--a", "1", "--b"]),
        ('ARGS="--a 1"', '"$ARGS"', ["--a 1"]),
        ("E=", "$E", []),
        ("E=", '"$E"', [""]),
        ('A=(--x "1 2"); A+=(--y)', '"${A[@]}"', ["--x", "1 2", "--y"]),
        ("readonly M=qwen", "$M", ["qwen"]),
        ('export "M=qwen"', "$M", ["qwen"]),
        ("M=qwen; unset M", "$M", [None]),
        ("M=$1", "$M", [None]),
        ("M=$(hostname)", "$M", [None]),
        ("read M", "$M", [None]),
        ("M=qwen; read -r M < name", "$M", [None]),
        ("read -r -d '' M <<EOF\na.b \\\n  --lr 1\nEOF\n", "$M", ["a.b", "--lr", "1"]),
        ("read -r -d '' M <<'EOF'\n--lr $LR\nEOF\n", "$M", ["--lr", "$LR"]),
        ("read -r -d '' M <<EOF\n--lr $LR\nEOF\n", "$M", [None]),
        ("read -r M <<EOF\n--lr 1\n--x\nEOF\n", "$M", [None]),
        ("M=qwen; M[1]=x", "$M", [None]),
        ("M=qwen; source other.sh", "$M", [None]),
        ("M=qwen; source venv/bin/activate", "$M", ["qwen"]),
        ('M=qwen; eval "$(conda shell.bash hook)"', "$M", ["qwen"]),
        ('M=qwen; eval "$X"', "$M", [None]),
        ("", "$M", [None]),
        ("", "${M:-llama}", [None]),  # whoever starts the script may have set it
        ("", '"$@"', [None]),
        ("if [ $1 ]; then M=a; else M=b; fi", "$M", [None]),
        ("[ $1 ] && M=a", "$M", [None]),
        ("M=a; [ $1 ] || M=b", "$M", [None]),
        ("for i in 1 2; do M=$i; done", "$M", [None]),
        ("M=a; while read x; do M=$x; done < f", "$M", [None]),
        ("case $1 in a) M=1;; *) M=2;; esac", "$M", [None]),
        ("M=a; (M=b)", "$M", ["a"]),
        ("M=a; echo x | read M", "$M", ["a"]),
        ("M=a; f() { M=b; }; f", "$M", [None]),
        ("M=a; f() { echo; }; f", "$M", ["a"]),
    ],
)
def test_values(before: str, word: str, expected: list[str | None]):
    assert texts(last(f"{before}\necho {word}"))[1:] == expected


def test_inside_a_branch_its_own_values_are_known():
    found = read("if [ $1 ]; then GPU=1; python a.py $GPU; fi\npython b.py $GPU")
    assert [texts(command)[-1] for command in found] == ["1", None]


def test_in_a_loop_a_value_of_the_round_before_is_not_guessed():
    found = read("N=0\nfor i in a b; do python a.py $N; N=$((N + 1)); done")
    assert texts(found[-1]) == ["python", "a.py", None]


def test_a_function_sees_only_what_is_assigned_once():
    found = read("A=1; B=1\nrun() { python a.py $A $B; }\nB=2\nrun")
    assert texts(found[0]) == ["python", "a.py", "1", None]


def test_holes_that_may_be_several_words_say_so():
    several = {word.raw: word.several for word in last('python a.py $X "$X" "$@" $X/y *.py "${A[@]}"').words[2:]}
    assert several == {"$X": True, '"$X"': False, '"$@"': True, "$X/y": False, "*.py": True, '"${A[@]}"': True}


# -- environment --------------------------------------------------------------------------------------------------


def test_what_the_program_sees():
    command = last("A=1\nexport B=2\nC=3; export C\ndeclare -x D=4\nE=5 F=6 python a.py")
    assert {name: word.text for name, word in command.env.items()} == {"A": "1", "B": "2", "C": "3", "D": "4"}
    assert [name for name in command.env if command.env.exported(name)] == ["B", "C", "D"]
    assert [(name, word.text) for name, word in command.assignments] == [("E", "5"), ("F", "6")]


def test_set_a_exports_what_follows():
    command = last("A=1\nset -a\nB=2\nset +a\nC=3\npython a.py")
    assert [name for name in command.env if command.env.exported(name)] == ["B"]


def test_the_environment_is_that_of_the_moment():
    first, _, second = read("export G=0\npython a.py\nunset H\ntrue\nexport G=1\npython b.py")
    assert (first.env["G"].text, second.env["G"].text) == ("0", "1")


# -- structure ----------------------------------------------------------------------------------------------------


def test_background_and_pipes():
    found = read("trl vllm-serve &\ncat x | python a.py 2>&1 | tee log\npython b.py; (python c.py) &")
    assert [texts(c)[-1] for c in found if c.background] == ["vllm-serve", "c.py"]
    piped = found[2]
    assert texts(piped) == ["python", "a.py"] and piped.piped_from and piped.pipes_to == ("tee",)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("", ""),
        ("cd work", "work"),
        ("cd /data; cd run", "/data/run"),
        ("cd work && true", "work"),
        ("cd work || exit 1", "work"),
        ("(cd work)", ""),
        ("cd $HERE", None),
        ("cd -", None),
        ("cd a; cd b; cd -", "a"),
        ("cd $HERE; cd -", ""),
        ("cd a; cd $HERE; cd -; cd -", None),
        ("pushd a", "a"),
        ("pushd a; popd", ""),
        ("pushd a >/dev/null; pushd b; popd", "a"),
        ("pushd a; pushd ../b; popd; popd", ""),
        ("pushd a; cd b; popd", ""),
        ("pushd $HERE; popd", ""),
        ("cd $HERE; pushd /a; popd", None),
        ("popd", None),
        ("pushd a; popd; popd", None),
        ("if [ $1 ]; then pushd a; fi; popd", None),
        ("(pushd a); cd b", "b"),
        ("if [ $1 ]; then cd work; fi", None),
        ('cd "$(dirname "$0")"', "/project/scripts"),
        ('D="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"; cd "$D"', "/project"),
    ],
)
def test_working_directory(before: str, expected: str | None):
    assert last(f"{before}\npython a.py").directory == expected


def test_heredocs_are_kept_apart():
    text = "python - <<'EOF' > log\nimport torch\nEOF\ncat <<EOF > a.yaml && python b.py\nlr: $LR\nEOF\n"
    found = read(text)
    assert [texts(command)[0] for command in found] == ["python", "cat", "python"]
    (script,) = found[0].heredocs
    assert script.text == text[script.start : script.end] == "import torch\n" and script.quoted
    assert not found[1].heredocs[0].quoted
    assert [redirect.target.text for redirect in found[1].redirects] == ["a.yaml"]


def test_commands_in_quotes():
    text = 'M=a\nexport G=1\nsrun -n 1 bash -c "cd x && H=2 python \\"b c.py\\" $M $N"\n'
    inner = last(text)
    assert texts(inner) == ["python", "b c.py", "a", None]
    assert [word.text for word in inner.outer] == ["srun", "-n", "1", "bash", "-c"]
    assert (inner.directory, inner.env["G"].text, dict(inner.assignments)["H"].text) == ("x", "1", "2")
    assert [text[word.start : word.end] for word in inner.words] == ["python", '\\"b c.py\\"', "$M", "$N"]


def test_commands_in_single_quotes_see_only_exported_variables():
    assert texts(last("A=1; export B=2; bash -c 'python $A $B'")) == ["python", None, "2"]


def test_another_machine_has_another_environment():
    inner = last('export G=0,1\nssh node1 "python a.py"')
    assert texts(inner) == ["python", "a.py"] and "G" not in inner.env and inner.directory is None


def test_quoted_text_of_other_programs_is_no_command():
    assert [texts(command)[0] for command in read("echo bash -c 'python a.py'")] == ["echo"]


@pytest.mark.parametrize("depth", range(1, 7))
@pytest.mark.parametrize(("before", "behind"), [("", ""), ("X=", ""), ("echo a ", " b"), ('echo "', '"')])
def test_backquotes_in_backquotes(depth: int, before: str, behind: str):
    text = "python a.py --x $Y"
    for _ in range(depth):
        text = "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"
    found = [command for command in read(f"Y=1\n{before}{text}{behind}") if command.words[0].text == "python"]
    assert [texts(command) for command in found] == [["python", "a.py", "--x", "1"]]


def test_commands_in_substitutions_are_read():
    assert [texts(command)[0] for command in read('X="$(python a.py)"\necho `python b.py`')] == [
        "python",
        "python",
        "echo",
    ]


# -- broken and huge input ----------------------------------------------------------------------------------------


def test_an_unterminated_quote_costs_what_it_covers():
    found = read('python a.py\nA=1\necho "no end\npython b.py\n')
    assert texts(found[0]) == ["python", "a.py"] and not found[0].errors
    assert all(command.errors for command in found[1:])


def test_after_an_error_nothing_is_known():
    found = read("export G=0 H=0\npython a.py )\npython b.py $G\npython c.py | | G=1\npython d.py $G\n")
    assert {texts(command)[1]: texts(command)[-1] for command in found if len(command.words) > 2} == {
        "b.py": None,
        "d.py": None,
    }


BLANKS = ["<your data>", "<path>", "<path/to/data.json>", "<MODEL_NAME>", "<a-b_c>", "<m>"]
FORMS = [
    "--data {} --x 1",
    "--data={} --x 1",
    "data.path={} --x 1",
    "--data /mnt/{}/a --x 1",
    "--data \\\n  {} \\\n  --x 1",
]


@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "around", ["{}\n", "A=1 {} | tee log\n", "if true; then\n  {}\nfi\n", "# don't\n{}\npython b.py\n"]
)
def test_a_blank_is_a_value_that_nobody_knows(blank: str, form: str, around: str):
    text = around.format(f"python a.py {form.format(blank)}")
    (command,) = [one for one in read(text) if texts(one)[:2] == ["python", "a.py"]]
    assert not command.errors and not command.redirects
    assert texts(command)[-2:] == ["--x", "1"]
    (unknown,) = [word for word in command.words if word.text is None]
    assert text[unknown.start : unknown.end] == unknown.raw and blank in unknown.raw


def test_a_blank_of_no_flag_may_be_several_words():
    assert [word.several for word in last("python a.py <options> --x <value>").words if word.text is None] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("python a.py < data > log", False),
        ("python a.py <data >log", False),
        ("python a.py <data.txt> log --x 1", True),  # nobody knows which of the two it is
        ("python a.py --text 'a <b> c' --x 1", False),
        ('python a.py --text "a <b> c" --x 1', False),
        ("python a.py --x 1 # <not this", False),
        ("python a.py --x $((1<b>2)) --y 1", False),
        ("cat <<EOF\n<b>\nEOF\n", False),
        ("diff <(sort a) <(sort b)", False),
        ("python a.py <<<word", False),
    ],
)
def test_what_is_no_blank_stays_as_it_is(text: str, errors: bool):
    found = read(text)
    assert any(command.errors for command in found) is errors
    assert all("__unknown__" not in (word.text or "") for command in found for word in command.words)


@pytest.mark.parametrize("text", ["", "\0", "\\", '"', "(" * 500, "$(" * 500, "if true; then " * 500, "\ud800"])
def test_odd_input_is_read_without_an_exception(text: str):
    file = SourceFile("/x.sh", b"")
    assert isinstance(commands(Source(file, "shell", text)), list)


@pytest.mark.parametrize(
    "line",
    [
        "export V{0}=é{0}\npython a.py --x $V{0}\n",
        "if [ $A ]; then V{0}=1; python b.py; fi\n",
        "f{0}() {{ V{0}=1; python b.py; }}\nf{0}\n",
        "cat x | python b.py | tee $(date).log &\n",
        "python a{0}.py && ",
    ],
)
def test_work_grows_with_the_length_of_the_script(line: str):
    def calls(count: int) -> int:
        """How many Python functions a script of that length calls: a measure that a busy machine does not change."""
        text = "".join(line.format(i) for i in range(count)) + "true\n"
        number = 0

        def count_call(*_: object) -> None:
            nonlocal number
            number += 1

        sys.setprofile(count_call)
        try:
            found = read(text)
        finally:
            sys.setprofile(None)
        assert len(found) >= count
        return number

    assert calls(400) < 2.5 * calls(200)


@pytest.mark.parametrize("doubled", ["A=$A$A", 'A="${A}x$A"', "A+=$A", 'B=("${B[@]}" "${B[@]}")', "B+=(${B[@]})"])
def test_a_value_that_doubles_is_not_followed_for_ever(doubled: str):
    found = read(f"A=x\nB=(a b)\n{(doubled + chr(10)) * 100}python $A ${{B[@]}}\n")
    assert found[0].words[0].text == "python"
    assert None in [word.text for word in found[0].words]


@pytest.mark.parametrize("text", ["${a:-" * 3000 + "}" * 3000, "$(" * 3000 + ")" * 3000, "$((" + "9" * 5000 + "))"])
def test_what_nobody_writes_costs_no_more_than_itself(text: str):
    found = read(f"python first.py\npython {text}\n")
    assert [word.text for word in found[0].words] == ["python", "first.py"]


def test_numbers_stay_those_of_a_shell():
    product = "*".join(["999999999"] * 200)
    assert read(f"python $(({product}))\n")[0].words[1].text is None


# -- scheduler ----------------------------------------------------------------------------------------------------


def test_directives_stand_before_the_first_command():
    text = """\
    #!/bin/bash
    #SBATCH --job-name=grpo
    #SBATCH --gres=gpu:4 --nodes 2   # a comment

    # something else
    #SBATCH -n 1
    cd work
    #SBATCH --gres=gpu:8
    """
    found = directives(source(text))
    assert [(d.name, d.value) for d in found] == [
        ("--job-name", "grpo"),
        ("--gres", "gpu:4"),
        ("--nodes", "2"),
        ("-n", "1"),
    ]
    place = source(text).text[found[1].start : found[1].end]
    assert place == "--gres=gpu:4"


def test_what_is_known_of_a_command_in_variables():
    """As in the batch scripts that build a command piece by piece and hand it to `bash -c`."""
    text = (
        'CMD="src/$TASK.py --config $FILE"\n'
        'LAUNCHER="A=1 accelerate launch --config_file configs/$NAME.yaml --tee 3"\n'
        'srun $ARGS bash -c "$LAUNCHER $CMD"\n$LAUNCHER $CMD\neval "$LAUNCHER $CMD"\n'
    )
    for command in (found := read_commands(text))[1], found[2], found[4]:
        words = [word.text or word.template for word in command.words if word.text != "A=1"]
        assert words == [
            "accelerate", "launch", "--config_file", "configs/${__unknown__}.yaml", "--tee", "3",
            "src/${__unknown__}.py", "--config", "",
        ]  # fmt: skip
    # A branch leaves nothing of it.
    for change in ("if true; then CMD=other.py; fi", "source other.sh", "for i in 1 2; do CMD+=x; done", "read CMD"):
        last = read_commands(f'CMD="train.py $X"\n{change}\npython $CMD\n')[-1]
        assert [(word.text, word.template) for word in last.words] == [("python", ""), (None, "")]


RUN = "python train.py --n 2"


@pytest.mark.parametrize(
    "text",
    [
        f"eval {RUN}",
        f"eval {RUN} > log 2>&1 &",
        f"CMD='{RUN}'\neval $CMD",
        f"CMD='{RUN}'\neval ${{CMD}}",
        f"CMD='{RUN}'\neval \"$CMD\"",
        "CMD='python train.py'\nCMD+=' --n 2'\neval $CMD",
        "N=2\neval python train.py '--n $N'",
        "N=2\neval python train.py --n '$N'",
        "eval 'python' \"train.py\" --n 2",
        "F=train\neval python $F.py --n 2",
        f"X='python train.py'\neval $X --n 2; echo {RUN}",
        f"eval cd /x \\; {RUN}",
    ],
)
def test_all_words_of_eval_are_one_script(text: str):
    found = read_commands(text)
    command = found[-2] if "echo" in text else found[-1]
    assert [word.text for word in command.words] == RUN.split()
    place = source(text).text[command.words[-1].start : command.words[-1].end]
    assert place in ("2", "$N", "'$N'", '"$CMD"', "$CMD", "${CMD}")


@pytest.mark.parametrize("text", ["bash -c $CMD", "eval", "eval $(cat run.txt)", 'eval "$@"', "sh -c $CMD --n 2"])
def test_no_command_is_made_of_what_no_shell_evaluates(text: str):
    assert "train.py" not in [
        word.text for found in read_commands(f"CMD='{RUN}'\n{text}\n") for word in found.words[:2]
    ]


def test_words_of_variables_are_bounded_and_the_bound_is_said():
    flags = " ".join(f"--a{number} {number}" for number in range(500))
    with budget.overheard() as limits:
        found = read_commands(f"F='{flags}'\nA=({flags})\n" + 'python a.py $F\npython b.py "${A[@]}"\n' * 10)
    assert [len(command.words) for command in found if command.words[0].text == "python"] == [1002] * 10 + [3] * 10
    assert {what for _, what, _ in limits} == {"of the words that its variables stand for the first {} were read"}


def test_here_documents_that_are_scripts():
    text = "N=2\nsbatch <<EOF\npython train.py --n $N --job \\$JOB\nEOF\n"
    assert [repr(command) for command in read_commands(text)] == [
        "Command(sbatch)",
        "Command(python train.py --n 2 --job ?)",
    ]
    written = "N=2\ncat > run.sh <<'EOF'\npython train.py --n $N\nEOF\ncat <<EOF\npython train.py\nEOF\n"
    assert [repr(command) for command in read_commands(written)] == [
        "Command(cat)",
        "Command(python train.py --n ?)",
        "Command(cat)",
    ]


@pytest.mark.parametrize(
    "line",
    ["x" * 60_000, "a[" * 30_000, "x{" + "a=1," * 45_000, "$((" * 2_000 + "1", "\\N{" * 20_000, "é" * 60_000],
    ids=["name", "subscripts", "braces", "arithmetic", "open", "letters"],
)
def test_a_very_long_line_takes_no_longer_than_its_length_asks_for(line: str):
    """Each of these was read again from every one of its places."""
    start = time.process_time()
    read(f"python train.py --name {line}\nfor x in <<EOF\n{line}\nEOF\n")
    assert time.process_time() - start < 5


def test_braces_that_make_several_words_are_a_hole():
    words = [command.words[-1].text for command in read("echo a{b,c}\necho a{1..3}\necho a{b}\necho a{b\n")]
    assert words == [None, None, "a{b}", "a{b"]


def test_a_text_is_read_once_for_all_that_ask():
    file = SourceFile("/project/run.sh", b"echo $0\n")
    assert commands(Source(file, "shell")) is commands(Source(file, "shell"))
    part = Source(file, "shell", "echo $" + "0\n")  # the same text, but not that of the script
    assert [texts(command) for command in commands(Source(file, "shell"))] == [["echo", "/project/run.sh"]]
    assert [texts(command) for command in commands(part)] == [["echo", None]]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo ${M:-8}", "8"),
        ("echo ${1:-8}", "8"),
        ("M=${M:-8}; echo $M", "8"),
        (": ${M:=8}; echo $M", "8"),
        (': "${M:=8}"; echo $((M * 2))', "16"),
        ("echo $(( (${M:-8} + 1) * ${N:-2} ))", "18"),
        ("M=${M:-8}; N=$((M - 1)); echo ${N:-2}", "7"),
        ("echo ${M:-08}; echo $(( ${M:-08} + 1 ))", None),  # octal
        ("f() { echo ${1:-8}; }", None),  # an argument of the function
        ("f() { echo ${M:-8}; }; M=4; f", None),
        ("f() { echo ${M:-8}; }; f", "8"),
        ("shift; echo ${1:-8}", None),
        ("set -- a b; echo ${1:-8}", None),
        ("set -ex; echo ${1:-8}", "8"),
        ("source cluster.env; echo ${M:-8}", None),
        ("source venv/bin/activate; echo ${M:-8}", "8"),
        ("echo ${SLURM_NNODES:-1}", None),
        ("echo ${WORLD_SIZE:-1}", None),
        ("read M; echo ${M:-8}", None),
    ],
)
def test_a_default_is_a_guess(script: str, expected: str | None):
    command = [each for each in read_commands(script, script="/run.sh") if texts(each)[0] == "echo"][-1]
    word = command.words[-1]
    assert word.text is None
    assert [text for _, text in texts_of(word)] == ([] if expected is None else [expected])
    assert bool(guesses_of([word])) == (expected is not None)


def test_a_guess_knows_what_is_written():
    (command,) = read_commands("BATCH=${BATCH:-8}\nGPUS=${1:-4}\necho $((BATCH * GPUS))", script="/run.sh")
    assert {(each.name, each.written) for each in guesses_of(command.words)} == {
        ("BATCH", "${BATCH:-8}"),
        ("1", "${1:-4}"),
    }
