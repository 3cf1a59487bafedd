"""Random definitions, in every spelling a definition may have."""

from hypothesis import strategies as st

from memorywire.model.errors import InvalidRequest
from memorywire.procedures.parse import parse

STATES = ("asked", "in review", "paid-out", "closed_1")
TRIGGERS = ("go", "back up", "note-it", "finish")
FACTS = ("approved", "blocked", "_late")


def _some(values: tuple[str, ...], least: int = 0) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=least, unique=True)


@st.composite
def transitions(draw: st.DrawFn) -> object:
    """One transition in any of its spellings."""
    source = draw(st.one_of(st.just("*"), st.sampled_from(STATES), _some(STATES, 1)))
    dest = draw(st.one_of(st.sampled_from(STATES), st.just("="), st.none()))
    asked = draw(_some(FACTS))
    cut = draw(st.integers(0, len(asked)))
    conditions, unless = asked[:cut], asked[cut:]
    trigger = draw(st.sampled_from(TRIGGERS))
    if draw(st.booleans()):
        return [trigger, source, dest, conditions, unless]
    if not asked and draw(st.booleans()):
        return [trigger, source, dest]
    alone = unless[0] if len(unless) == 1 else unless
    return {"trigger": trigger, "source": source, "dest": dest, "conditions": conditions, "unless": alone}


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, object]:
    spelled = draw(st.lists(st.sampled_from(["text", "object"]), min_size=4, max_size=4))
    states = [
        {"name": state} if form == "object" else state for state, form in zip(STATES, spelled, strict=True)
    ]
    return {
        "name": "any",
        "initial": draw(st.sampled_from(STATES)),
        "states": states,
        "transitions": draw(st.lists(transitions(), max_size=8)),
    }


def _has_no_twins(document: dict[str, object]) -> bool:
    """The one thing pytransitions takes and we do not; any other refusal is a fault."""
    try:
        parse(document)
    except InvalidRequest as problem:
        return problem.detail != "the same transition is there twice"
    return True


def sound_definitions() -> st.SearchStrategy[dict[str, object]]:
    return definitions().filter(_has_no_twins)
