"""Vertices with several labels: Neptune's bulk loader adds the label of a row to the labels of the vertex.

Neptune returns several labels as one text, ``file::table``. `hasLabel` matches each single label but not that
text, and that text must not be written as a label.
"""

_SEPARATOR = "::"


def labels_of(label: str) -> tuple[str, ...]:
    """Return the single labels of a label as returned by the graph."""
    return tuple(label.split(_SEPARATOR))


def one_label(label: str) -> str:
    """Return one label for a vertex with several: the greatest, so that it is the same everywhere."""
    return max(labels_of(label))
