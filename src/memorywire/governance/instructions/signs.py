"""The signs, compiled from `signs.toml` when the first text is screened."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# What the automaton of all patterns may take. When it is full it starts again; it gives up only when a single
# state does not fit, and then it cannot be compiled at all.
_MEMORY = 64 << 20


@dataclass(frozen=True, slots=True)
class _Table:
    """All patterns of a kind as one automaton, which reads a text once."""

    automaton: Any
    signs: tuple[str, ...]

    def found(self, text: str) -> set[str]:
        return {self.signs[place] for place in self.automaton.Match(text.encode()) or ()}


def marked(text: str) -> set[str]:
    """The signs in a plain text as it stands."""
    return _tables()["marks"].found(text)


def spoken(said: str) -> set[str]:
    """The signs in the words of a text."""
    return _tables()["phrases"].found(said)


def reserved(name: str) -> set[str]:
    """The sign that this is a name under which agents keep their own settings, or nothing."""
    return _tables()["reserved"].found(name.strip().lower())


@cache
def _tables() -> Mapping[str, _Table]:
    written = tomllib.loads(files(__package__).joinpath("signs.toml").read_text("utf-8"))
    groups = {name: f"(?:{group})" for name, group in written["words"].items()}
    return {
        "phrases": _compiled(written["phrases"], lambda phrase: f" {_spelt(phrase, groups)} "),
        "marks": _compiled(written["marks"], str),
        "reserved": _compiled(written["reserved"], lambda name: f"^(?:{name})$"),
    }


def _spelt(phrase: str, groups: Mapping[str, str]) -> str:
    """A phrase as a regular expression."""
    named = re.sub(r"\{([a-z]+)\}", lambda name: groups[name[1]], phrase)
    return re.sub(r"~(\d) ", r"(?:[^ .]+ ){0,\1}", named)


def _compiled(signs: Mapping[str, list[str]], form: Callable[[str], str]) -> _Table:
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY
    automaton = re2.Set.SearchSet(options)
    known = [(sign, pattern) for sign, patterns in signs.items() for pattern in patterns]
    for _, pattern in known:
        automaton.Add(form(pattern))
    automaton.Compile()
    return _Table(automaton, tuple(sign for sign, _ in known))
