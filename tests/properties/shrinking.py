"""A failing pipeline made smaller: all that is one step smaller is built at once, until nothing fails."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.properties.batch import Pipelines, prefixed
from tests.properties.pipeline import Pipeline, Plan

_MOST_ROUNDS = 25


def smallest(failing: Pipeline, fails: Callable[[Pipelines], set[str]]) -> Pipeline:
    """A pipeline that still fails; `fails` says which of several do."""
    for _ in range(_MOST_ROUNDS):
        tried = prefixed(_smaller(failing))
        broken = [tried[prefix] for prefix in fails(tried)] if tried else []
        if not broken:
            break
        failing = min(broken, key=lambda each: len(str(each)))
    return failing


def _smaller(pipeline: Pipeline) -> Iterator[Pipeline]:
    half = len(pipeline.ends) // 2
    for ends in (pipeline.ends[:half], pipeline.ends[half:]) if half > 1 else ():
        yield replace(pipeline, ends=ends)
    for place in range(len(pipeline.ends)):
        yield replace(pipeline, ends=_without(pipeline.ends, place))
    if pipeline.unrun:
        yield replace(pipeline, unrun=())
    if pipeline.nodes:
        yield replace(pipeline, nodes=())
        yield replace(pipeline, nodes=pipeline.nodes[:-1])
    for plan in dict.fromkeys(each.plan for each in pipeline.ends):
        for simpler in _simpler(plan):
            changed = (replace(each, plan=simpler) if each.plan == plan else each for each in pipeline.ends)
            yield replace(pipeline, ends=tuple(changed))


def _simpler(plan: Plan) -> Iterator[Plan]:
    for name in ("filters", "joins", "sorts", "by_name"):
        if getattr(plan, name):
            yield replace(plan, **{name: ()})  # type: ignore[arg-type]
    if plan.on_glue:
        yield replace(plan, on_glue=False)
    if plan.target.spelling:
        yield replace(plan, target=replace(plan.target, spelling=0))
    for place, read in enumerate(plan.reads):
        if read.spelling:
            plain = (*plan.reads[:place], replace(read, spelling=0), *plan.reads[place + 1 :])
            yield replace(plan, reads=plain)
    if len(plan.columns) > 1:
        for place in range(len(plan.columns)):
            yield replace(plan, columns=_without(plan.columns, place))


def _without(values: tuple, place: int) -> tuple:  # type: ignore[type-arg]
    return (*values[:place], *values[place + 1 :])
