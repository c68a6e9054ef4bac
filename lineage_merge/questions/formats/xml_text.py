"""Text that XML 1.0 can represent."""

import re

_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_characters(text: str) -> str:
    """Replace characters that XML cannot represent by U+FFFD."""
    return _IMPOSSIBLE.sub("\ufffd", text)
