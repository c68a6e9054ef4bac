"""Plain text in Markdown. (mkdocs hooks can import modules of their folder.)"""

import re


def escaped(text: str) -> str:
    """Escape a text for Markdown, including tables."""
    return re.sub(r"([\\`*_<\[\]|])", r"\\\1", text)
