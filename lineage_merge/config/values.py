"""Values that several sections of the configuration have: locations and namespaces."""

import re
from typing import Any

from lineage_merge import naming
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.naming.forms import form_of_text


def locations(value: Any) -> tuple[str, ...]:
    """Return one path or prefix, or a list of them, as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)


def namespace(key: str, text: str, platform: str = "") -> str:
    """Return a namespace in canonical spelling. A mistyped one would silently join nothing.

    `platform`: the dialect or adapter whose form messages suggest, if known.
    """
    if text.lower().startswith("jdbc:"):
        raise ConfigError(key, f"not a namespace but a JDBC URL: write {form_of_text(text, platform)}")
    if re.search(r"\s|\||://$", text.strip()):
        raise ConfigError(key, f"expected a namespace such as {form_of_text(text, platform)}")
    try:
        return naming.canonical_namespace(text)
    except NamingError as error:
        raise ConfigError(key, error.message) from None
