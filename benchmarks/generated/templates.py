"""Plans of one shape as text: rendered once, then filled in with names and keys as often as wanted."""

import json

from .landscape import Shape
from .pipeline import Plan
from .spline import plan_documents, source_key

# What stands in the text for what differs; nothing else in it looks like these.
_KEY = "4ac1f7d2-0000-5000-8000-7e57ab1e0000"
_NUMBER = 987_654_320
_CREATED = 1_111_222_333_444
_VERSION = 918_273_645
_BETWEEN = "\0"


class Template:
    """All documents of a plan of one shape."""

    def __init__(self, shape: Shape, target: str) -> None:
        """`target` is of the kind that will be written: a table's plan reads otherwise than a file's."""
        self._uris = tuple(f"made-up://read-{place}" for place in range(len(shape.reads)))
        self._target = f"{'jdbc:' if target.startswith('jdbc:') else ''}made-up://target"
        plan = shape.plan("made-up application", self._uris, self._target, _VERSION)
        documents = plan_documents(plan, _NUMBER, _KEY, _CREATED)
        self.collections = tuple(documents)
        self._text = _BETWEEN.join(
            "".join(json.dumps(each) + "\n" for each in made) for made in documents.values()
        )
        self.documents = sum(map(len, documents.values()))
        self.operations = len(documents["operation"])

    def filled(self, plan: Plan, number: int, key: str, created: int) -> list[str]:
        """The lines of each of `collections`: those of `spline.plan_documents`."""
        text = self._text.replace(_KEY, key)
        for old, new in (
            (str(_NUMBER + 1), str(number + 1)),  # before edges' own numbers
            (f'"num": {2 * _NUMBER + 1},', f'"num": {2 * number + 1},'),
            (f'"uid": "{501 + 2 * _NUMBER}"', f'"uid": "{501 + 2 * number}"'),
            (str(_CREATED), str(created)),
            (str(_VERSION), str(plan.version)),
            ("made-up application", plan.application),
            (source_key(self._target), source_key(plan.target)),
            (self._target, plan.target),
        ):
            text = text.replace(old, new)
        for old, read in zip(self._uris, plan.reads, strict=True):
            text = text.replace(source_key(old), source_key(read.uri)).replace(old, read.uri)
        return text.split(_BETWEEN)
