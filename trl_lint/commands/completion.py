"""`trl-lint completion SHELL`: commands, options and their values for bash, zsh and fish, made of the parsers."""

from __future__ import annotations

import argparse
import sys

from trl_lint.commands import parsers
from trl_lint.records import NamedTuple
from trl_lint.reports import FORMATS
from trl_lint.selection import known_codes

SHELLS = ("bash", "zsh", "fish")


class _Flag(NamedTuple):
    """One spelling of an option; `choices` are the values it takes, if they can be listed."""

    name: str
    help: str
    takes: bool
    choices: tuple[str, ...]


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell; the exit status."""
    commands = {name: _flags(parser) for name, parser in parsers.all_parsers().items()}
    sys.stdout.write({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](commands))
    return 0


def _flags(parser: argparse.ArgumentParser) -> list[_Flag]:
    found = []
    for action in parser._actions:
        choices = tuple(action.choices or ())
        if "--output-format" in action.option_strings and not choices:
            choices = FORMATS
        if {"--select", "--ignore", "--extend-select"} & set(action.option_strings):
            choices = ("ALL", *known_codes())
        help_text = (action.help or "").partition(";")[0].partition(":")[0]
        found += [_Flag(name, help_text, action.nargs != 0, choices) for name in action.option_strings]
    return found


def _values(commands: dict[str, list[_Flag]]) -> list[tuple[str, str]]:
    """The options whose values can be listed, with the values of all commands, as words."""
    found: dict[str, dict[str, None]] = {}
    for flags in commands.values():
        for flag in flags:
            if flag.choices:
                found.setdefault(flag.name, {}).update(dict.fromkeys(flag.choices))
    return [(name, " ".join(values)) for name, values in found.items()]


def _bash(commands: dict[str, list[_Flag]]) -> str:
    cases = "".join(
        f"    {name}) flags='{' '.join(flag.name for flag in flags)}' ;;\n" for name, flags in commands.items()
    )
    values = "".join(f"    {name}) words='{words}' ;;\n" for name, words in _values(commands))
    return f"""\
# trl-lint completion bash > ~/.local/share/bash-completion/completions/trl-lint
_trl_lint() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} flags='' words=''
  case ${{COMP_WORDS[1]}} in
{cases}    *) flags='{" ".join(flag.name for flag in commands["check"])}' ;;
  esac
  case $before in
{values}    rule) words='{" ".join(known_codes())}' ;;
    completion) words='{" ".join(SHELLS)}' ;;
  esac
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '{" ".join(commands)}' -- "$current") $(compgen -f -- "$current"))
  fi
}}
complete -o default -F _trl_lint trl-lint
"""


def _zsh(commands: dict[str, list[_Flag]]) -> str:
    cases = "".join(
        f"    {name}) flags=({' '.join(flag.name for flag in flags)}) ;;\n" for name, flags in commands.items()
    )
    values = "".join(f"    {name}) compadd -- {words}; return ;;\n" for name, words in _values(commands))
    return f"""\
#compdef trl-lint
# trl-lint completion zsh > "${{fpath[1]}}/_trl-lint"
_trl_lint() {{
  local -a flags
  case $words[2] in
{cases}    *) flags=({" ".join(flag.name for flag in commands["check"])}) ;;
  esac
  case $words[CURRENT-1] in
{values}    rule) compadd -- {" ".join(known_codes())}; return ;;
    completion) compadd -- {" ".join(SHELLS)}; return ;;
  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- $flags
    return
  fi
  (( CURRENT == 2 )) && compadd -- {" ".join(commands)}
  _files
}}
compdef _trl_lint trl-lint
"""


def _fish(commands: dict[str, list[_Flag]]) -> str:
    names = " ".join(commands)
    lines = ["# trl-lint completion fish > ~/.config/fish/completions/trl-lint.fish"]
    lines.append(f"complete -c trl-lint -n __fish_use_subcommand -a '{names}'")
    lines.append(f"complete -c trl-lint -n '__fish_seen_subcommand_from rule' -f -a '{' '.join(known_codes())}'")
    lines.append(f"complete -c trl-lint -n '__fish_seen_subcommand_from completion' -f -a '{' '.join(SHELLS)}'")
    for command, flags in commands.items():
        others = " ".join(name for name in commands if name != "check")
        seen = f"__fish_seen_subcommand_from {command}"
        if command == "check":
            seen = f"not __fish_seen_subcommand_from {others}"
        for flag in flags:
            name = f"-l {flag.name[2:]}" if flag.name.startswith("--") else f"-s {flag.name[1:]}"
            takes = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r" if flag.takes else ""
            text = flag.help.replace("'", "").replace("\\", "")
            lines.append(f"complete -c trl-lint -n '{seen}' {name}{takes} -d '{text}'")
    return "\n".join([*lines, ""])
