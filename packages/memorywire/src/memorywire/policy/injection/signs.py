"""The signs, compiled from `signs.toml` when the first text is screened."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from memorywire.model.packaged import folder
from memorywire.model.values import dataclass
from memorywire.policy.injection.readings import UNREAD

# What the automaton of all patterns may take. When it is full it starts again; it gives up only when a single
# state does not fit, and then it cannot be compiled at all.
_MEMORY = 64 << 20


@dataclass(frozen=True, slots=True)
class _Table:
    """All patterns of one kind as a single automaton, so that a text is read once."""

    automaton: Any
    signs: tuple[str, ...]

    def found(self, text: str) -> set[str]:
        return {self.signs[place] for place in self.automaton.Match(text.encode()) or ()}


def marked(text: str) -> set[str]:
    """The signs in a plain text as it stands."""
    return _marks().found(text)


def spoken(said: str) -> set[str]:
    """The signs in the words of a text."""
    return _phrases().found(said)


def reserved(name: str) -> set[str]:
    """The sign that this is a name under which agents keep their own settings, or nothing."""
    return _reserved().found(name.strip().lower())


def unremarkable(shown: bytes, said: bytes) -> bool:
    """Whether neither a plain ASCII text nor its words hold a sign, or anything that must be decoded."""
    return not (_anything().automaton.Match(shown) or _phrases().automaton.Match(said))


@cache
def _written() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads((folder(__package__) / "signs.toml").read_text("utf-8"))


# Compiling a table takes long, so each waits for the first text that needs it.


@cache
def _phrases() -> _Table:
    groups = {name: f"(?:{group})" for name, group in _written()["words"].items()}
    return _compiled(_written()["phrases"], lambda phrase: f" {_spelt(phrase, groups)} ")


@cache
def _marks() -> _Table:
    return _compiled(_written()["marks"], str)


@cache
def _reserved() -> _Table:
    return _compiled(_written()["reserved"], lambda name: f"^(?:{name})$")


@cache
def _anything() -> _Table:
    return _compiled({**_written()["marks"], **_written()["reserved"], "unread": UNREAD}, str)


def _spelt(phrase: str, groups: Mapping[str, str]) -> str:
    """A phrase as a regular expression."""
    named = re.sub(r"\{([a-z]+)\}", lambda name: groups[name[1]], phrase)
    return re.sub(r"~(\d) ", r"(?:[^ .]+ ){0,\1}", named)


def _compiled(signs: Mapping[str, Iterable[str]], form: Callable[[str], str]) -> _Table:
    import re2

    options = re2.Options()
    options.max_mem = _MEMORY
    automaton = re2.Set.SearchSet(options)
    known = [(sign, pattern) for sign, patterns in signs.items() for pattern in patterns]
    for _, pattern in known:
        automaton.Add(form(pattern))
    automaton.Compile()
    return _Table(automaton, tuple(sign for sign, _ in known))
