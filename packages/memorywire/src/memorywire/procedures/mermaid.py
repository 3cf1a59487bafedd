"""A procedure as Mermaid text, for a page that draws it."""

from collections.abc import Iterator

from memorywire.procedures.definition import Definition, Transition


def label(way: Transition) -> str:
    """A transition in words: its trigger, and what must and must not hold."""
    guard = f" [{way.guard}]" if way.guard else ""
    return f"{way.trigger}{guard}{' (stays)' if way.dest is None else ''}"


def mermaid(definition: Definition) -> str:
    """A `stateDiagram-v2`: the same text for the same definition."""
    return "\n".join(_lines(definition)) + "\n"


def _lines(definition: Definition) -> Iterator[str]:
    # States are numbered because a name may be a word of Mermaid's own, such as `end`.
    ids = {state: f"s{number}" for number, state in enumerate(definition.states)}
    yield "stateDiagram-v2"
    yield from (f'    state "{state}" as {id}' for state, id in ids.items())
    yield f"    [*] --> {ids[definition.initial]}"
    yield from (
        f"    {ids[way.source]} --> {ids[way.target]} : {label(way)}" for way in definition.transitions
    )
    yield "    classDef current font-weight:bold,stroke-width:3px"
    yield f"    class {ids[definition.current]} current"
