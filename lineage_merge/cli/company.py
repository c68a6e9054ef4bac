"""The sample company: its sources, at times relative to now."""

import re
from datetime import datetime, timedelta

_ISO = re.compile(r"(?<!\d)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?!\d)")
# 2023 to 2033 in ms since 1970.
_EPOCH_MS = re.compile(r"(?<![\w.-])(?:1[7-9]|20)\d{11}(?![\w.-])")


def shift_times(text: str, by: timedelta) -> str:
    """Return a text with its times, ISO 8601 and ms since 1970, moved. Pure."""
    milliseconds = round(by / timedelta(milliseconds=1))
    # Fractions of a second and the offset stay behind the seconds.
    seconds = timedelta(seconds=milliseconds // 1000)
    text = _ISO.sub(lambda at: (datetime.fromisoformat(at[0]) + seconds).isoformat(), text)
    return _EPOCH_MS.sub(lambda at: str(int(at[0]) + milliseconds), text)
