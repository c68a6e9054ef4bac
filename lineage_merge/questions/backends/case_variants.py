"""Case variants of a search text."""


def case_variants(text: str) -> tuple[str, ...]:
    """Return the text as given, lowercase, uppercase and capitalized, without duplicates.

    Gremlin's text predicates are case-sensitive, and Neptune has no others.
    """
    return tuple(dict.fromkeys((text, text.lower(), text.upper(), text.capitalize())))
