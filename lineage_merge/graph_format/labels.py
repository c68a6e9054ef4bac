"""Labels of a vertex that has several: Neptune's bulk loader adds the label of a row to those of a vertex.

Neptune reports such a vertex's labels as one, ``file::table``. `hasLabel` finds it by each of its labels,
but not by that text, and a label of that text must not be written.
"""

_BETWEEN = "::"


def labels_of(label: str) -> tuple[str, ...]:
    """Return each label of what the graph reports as one."""
    return tuple(label.split(_BETWEEN))


def one_label(label: str) -> str:
    """Return the label that such a vertex counts as: the greatest, on every machine the same."""
    return max(labels_of(label))
