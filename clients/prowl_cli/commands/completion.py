"""``prowl completion SHELL``: completion scripts, made from the parser itself."""

import argparse
from collections.abc import Iterator

from prowl_cli import parser

__all__ = ["register", "run"]

Tree = dict[tuple[str, ...], tuple[list[tuple[str, str]], list[tuple[str, str]]]]


def register(commands: parser.Commands) -> None:
    """Add the command."""
    command = parser.add(
        commands,
        "completion",
        "print a completion script",
        run,
        examples="source <(prowl completion bash)\n"
        "prowl completion zsh > ~/.zfunc/_prowl\n"
        "prowl completion fish > ~/.config/fish/completions/prowl.fish",
        json=False,
        service=False,
    )
    command.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(args: argparse.Namespace) -> None:
    """Print the script."""
    from prowl_cli.main import build_parser

    tree = dict(_walk(build_parser(), ()))
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](tree))


def _walk(
    current: argparse.ArgumentParser, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], tuple[list[tuple[str, str]], list[tuple[str, str]]]]]:
    """Yield each command's path with its words (subcommands and choices) and its options, each with its help."""
    words: list[tuple[str, str]] = []
    options: list[tuple[str, str]] = []
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in current._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            words += [(name, helps.get(name, "")) for name in action.choices]
            below += list(action.choices.items())
        elif action.option_strings:
            options += [(name, action.help or "") for name in action.option_strings if name.startswith("--")]
        elif action.choices:
            words += [(str(choice), "") for choice in action.choices]
    yield path, (words, options)
    for name, child in below:
        yield from _walk(child, (*path, name))


def _bash(tree: Tree) -> str:
    cases = "\n".join(
        f'    "{" ".join(path)}") words="{" ".join(name for name, _ in (*words, *options))}" ;;'
        for path, (words, options) in tree.items()
    )
    known = " ".join(f'"{" ".join(path)}"' for path in tree if path)
    return f"""_prowl() {{
  local path="" word words="" known=({known}) i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${{path:+$path }}${{COMP_WORDS[i]}}"
    [[ " ${{known[*]/#/|}} " == *"|$word "* || " ${{known[*]/#/|}} " == *"|$word" ]] && path="$word"
  done
  case "$path" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _prowl prowl"""


def _zsh(tree: Tree) -> str:
    def quoted(pairs: list[tuple[str, str]]) -> str:
        return " ".join("'" + f"{name}:{text}".replace("'", "'\\''") + "'" for name, text in pairs)

    cases = "\n".join(
        f"    '{' '.join(path)}') items=({quoted([*words, *options])}) ;;" for path, (words, options) in tree.items()
    )
    known = " ".join(f"'{' '.join(path)}'" for path in tree if path)
    return f"""#compdef prowl
_prowl() {{
  local path_so_far="" word
  local -a items known
  known=({known})
  for word in ${{words[2,CURRENT-1]}}; do
    (( ${{known[(Ie)${{path_so_far:+$path_so_far }}$word]}} )) && path_so_far="${{path_so_far:+$path_so_far }}$word"
  done
  case "$path_so_far" in
{cases}
  esac
  _describe 'prowl' items || _files
}}
compdef _prowl prowl"""


def _fish(tree: Tree) -> str:
    lines = ["complete -c prowl -f"]
    for path, (words, options) in tree.items():
        here = "; and ".join(f"__fish_seen_subcommand_from {name}" for name in path) or "__fish_use_subcommand"
        for name, text in words:
            lines.append(f"complete -c prowl -n '{here}' -a {name} -d '{_plain(text)}'")
        for name, text in options:
            lines.append(f"complete -c prowl -n '{here}' -l {name[2:]} -d '{_plain(text)}'")
    return "\n".join(lines)


def _plain(text: str) -> str:
    return text.replace("\\", "").replace("'", "")
