"""How a text that somebody searches for may be spelled in the graph."""


def spellings(text: str) -> tuple[str, ...]:
    """As written, in small letters, in capitals, with one capital: each once.

    Gremlin's texts compare with case, and Neptune's do not know a search without.
    """
    return tuple(dict.fromkeys((text, text.lower(), text.upper(), text.capitalize())))
