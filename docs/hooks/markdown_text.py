"""Plain text in Markdown. (mkdocs lets a hook import what lies beside it.)"""

import re


def escaped(text: str) -> str:
    """Text that says in Markdown, in a table too, what it says in a terminal."""
    return re.sub(r"([\\`*_<\[\]|])", r"\\\1", text)
