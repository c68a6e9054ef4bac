"""What a name of a dataset means in the end, where one name leads to the next. Pure."""

from collections.abc import Mapping


def ends(steps: Mapping[str, str]) -> dict[str, str]:
    """Where each name leads to, over however many others; what leads in a circle means the least of it.

    ``{"a": "b", "b": "c"}`` is ``{"a": "c", "b": "c"}``; ``{"a": "b", "b": "a"}`` is ``{"b": "a"}``:
    two sources that each know the other's name mean one dataset.
    """
    found: dict[str, str] = {}
    for start in steps:
        way = {start: 0}
        end = steps[start]
        while end in steps and end not in way:
            way[end] = len(way)
            end = steps[end]
        if end in way:
            end = min(list(way)[way[end] :])
        if end != start:
            found[start] = end
    return found
