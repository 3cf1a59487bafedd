"""Reads the task from a prompt or from messages."""

import re
from collections.abc import Sequence

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.requests import BuildContext, Message
from memorywire.search.text import terms

_LONGEST = 1_000
"""An embedder reads little more. Of a longer prompt only the beginning and the end are used: the middle is
usually pasted material, not the task."""

_FEW_TERMS = 4
"""A prompt with fewer index terms ("And for dessert?") is read together with the user's previous message."""

_ABOUT_PERSON = re.compile(
    r"\b(?:about (?:me|myself)|(?:know|remember|learned|learnt|stored?) (?:of|about|on) me|who am i|know me"
    r"|my (?:profile|bio|biography|details|background|preferences|personal)|introduce me|describe me"
    r"|(?:facts|summary|information|info) (?:about|on) me|summari[sz]e me"
    r"|what do you (?:know|remember)(?:\?|$)"
    r"|everything (?:you know|you remember)|what have you (?:learned|learnt|remembered|stored))\b",
    re.IGNORECASE,
)


class Task(Struct, frozen=True, kw_only=True):
    """What a prompt asks for: `query` is the text to search memory with, `words` are its index terms."""

    query: str
    words: frozenset[str]
    is_about_person: bool
    is_related: bool = True  # whether memory could matter for it at all


def read_task(request: BuildContext) -> Task:
    """Read the task of the request; raises InvalidRequest for messages without text."""
    text = request.prompt if request.prompt is not None else _find_prompt(request.messages)
    words = frozenset(terms(text))
    if len(words) < _FEW_TERMS:
        text = _add_previous(text, request)
        words = frozenset(terms(text))
    query = _shorten(text)
    return Task(
        query=query,
        words=words,
        is_about_person=_ABOUT_PERSON.search(query) is not None,
    )


def _find_prompt(messages: Sequence[Message]) -> str:
    """Return the user's last message with text; without one, the last of any speaker."""
    with_words = [message for message in messages if message.content.strip()]
    if not with_words:
        raise InvalidRequest(
            "no message has text", field="messages", fix="give a message of the user with text, or a prompt"
        )
    by_user = [message for message in with_words if message.role == "user"]
    return (by_user or with_words)[-1].content


def _add_previous(text: str, request: BuildContext) -> str:
    texts = [message.content for message in request.messages if message.role == "user"]
    earlier = [one for one in texts if one.strip() and one != text]
    return f"{earlier[-1]}\n{text}" if earlier else text


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]}\n{text[-half:]}"
