"""Rewrites statements of a person about themselves in the third person."""

import re

from memorywire.facts.clauses import Clause, Form, Voice, Who, bare, guess_form, singular
from memorywire.facts.words import KIN

_USER = "The user"
_INSIDE = {
    "my": "their",
    "me": "them",
    "mine": "theirs",
    "myself": "themselves",
    "our": "their",
    "ours": "theirs",
    "us": "them",
    "ourselves": "themselves",
    "i": "they",
    "we": "they",
}
_INSIDE_WORD = re.compile(r"\b(?:I|i|[Ww]e|[Mm]y|[Mm]e|mine|myself|[Oo]ur|ours|us|ourselves)\b(?! \w+ed by)")
_MINE = re.compile(r"\b(?:[Mm]y|[Oo]ur)\b")
_ME = re.compile(r"\b(?:me|us|I|we)\b")
_AM = re.compile(r"\bthey (?:am|is)\b")
_TAIL = re.compile(
    r"(?:,\s*(?:sorry|please|thanks|thank you|by the way|btw|fyi|honestly|actually|to be honest|haha"
    r"|fight me|you know|in case that matters"
    r"|in case it matters|if that helps|cheers|unfortunately|sadly|of course|okay|ok|right"
    r"|nice to meet you|pleased to meet you|but not (?:today|now|right now)))+\s*[.!]*$",
    re.I,
)
_THIRD = {"am": "is", "are": "is", "have": "has", "do": "does", "were": "was"}


def write_fact(clause: Clause, user: str = _USER, *, is_team: bool = False) -> str:
    """Rewrite the clause as a sentence about the user, their team, or their people and things."""
    words = clause.words
    verbs = list(words[clause.verb_at : clause.rest_at])
    rest = clause.rest
    who = clause.subject.who
    if who in (Who.USER, Who.GROUP):
        subject = f"{user}'s team" if is_team else user
        if clause.subject.text in ("I", "We"):
            verbs = _inflect(verbs, clause)
    else:
        subject = _own(clause.subject.text, user)
        return close(" ".join((subject, *verbs, _name_user(rest, user))).replace("can not", "cannot"))
    rest = rest.replace(" and have ", " and has ").replace(" and am ", " and is ")
    text = " ".join((subject, *verbs, _INSIDE_WORD.sub(_swap, rest)))
    return close(_AM.sub("they are", text).replace("can not", "cannot"))


def _name_user(text: str, user: str) -> str:
    """Name the user in the words after another subject: `my best friend` as `the user's best friend`."""
    name = f"{user[0].lower()}{user[1:]}" if user == _USER else user
    text = _MINE.sub(f"{name}'s", text)
    return _ME.sub(name, text)


def close(text: str) -> str:
    """Return the text with a capital letter and a full stop, without polite words at its end."""
    text = _TAIL.sub("", text.strip()).rstrip(" ,;:!.-–")
    return f"{text[:1].upper()}{text[1:]}."


def _own(text: str, user: str) -> str:
    first, _, rest = text.partition(" ")
    if first.lower() in ("my", "our"):
        return f"{user}'s {rest}"
    if first.lower() in KIN:
        return f"{user}'s {text[0].lower()}{text[1:]}"
    return re.sub(r"\b(?:my|our)\b", f"{user[0].lower()}{user[1:]}'s" if user == _USER else f"{user}'s", text)


def _inflect(verbs: list[str], clause: Clause) -> list[str]:
    """Put the first verb of the group into the third person singular."""
    for at, word in enumerate(verbs):
        lower = bare(word)
        if lower in _THIRD:
            return [*verbs[:at], _THIRD[lower], *verbs[at + 1 :]]
        if lower in (
            "will",
            "can",
            "must",
            "should",
            "would",
            "is",
            "was",
            "has",
            "does",
            "did",
            "had",
            "shall",
        ):
            return verbs
        known = guess_form(lower)
        if known is not None and at == len(verbs) - 1 and clause.voice is Voice.PRESENT:
            return (
                [*verbs[:at], singular(lower)]
                if known[1] in (Form.BASE, Form.PAST) and lower == known[0]
                else verbs
            )
    return verbs


def _swap(match: re.Match[str]) -> str:
    return _INSIDE[match.group().lower()]
