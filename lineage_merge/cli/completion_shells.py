"""Shell completion: a script for bash that completes URIs and ids, and silence on errors."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path

from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

# Differs from click's script: it passes the line, because bash splits words at the colon of ``s3://``, and it
# quotes values, because ids contain ``|``.
_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value quoted
    response=$(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_BREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == 'dir' ]]; then
            COMPREPLY=()
            compopt -o dirnames
        elif [[ $type == 'file' ]]; then
            COMPREPLY=()
            compopt -o default
        elif [[ $type == 'plain' ]]; then
            printf -v quoted '%%q' "$value"
            COMPREPLY+=("$quoted")
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Completion for bash from the line that is typed."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the word at it."""
        line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or 0)]
        words = split_arg_string(line)
        self._typed = "" if not words or line[-1:].isspace() else words.pop()
        return words[1:], self._typed

    def format_completion(self, item: CompletionItem) -> str:
        """Return a value without the part before a colon, which bash treats as a word of its own."""
        value = item.value
        before = self._typed.rpartition(":")[0]
        if before and ":" in os.environ.get("COMP_BREAKS", "") and value.startswith(f"{before}:"):
            value = value.removeprefix(f"{before}:")
        return f"{item.type},{value}"


@contextmanager
def completing(variable: str) -> Iterator[None]:
    """Run shell completion if the environment variable asks for it: without messages, ended at once.

    A thread that waits for a server would otherwise delay the end of the process.
    """
    instruction = os.environ.get(variable, "")
    if instruction:
        add_completion_class(_Bash)
    if not instruction.endswith("_complete"):
        yield
        return
    with suppress(BaseException), Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        yield
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(0)
