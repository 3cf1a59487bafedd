"""Reads standing instructions: what the agent must do, or never do, from now on."""

import re

from memorywire.facts.phrases import Reading, phrase
from memorywire.facts.wording import close
from memorywire.facts.words import LANGUAGES, TASTES
from memorywire.model.label import Kind

_LASTING = re.compile(
    r"\b(?:from (?:now|here) on(?:wards)?|going forward|in (?:the )?future|at all times|every time"
    r"|whenever|in every|as a rule"
    r"|for all|in all|by default|each time|henceforth|permanently|until further notice)\b",
    re.I,
)
_ALWAYS = re.compile(
    r"^(?:please,? )?(?:make sure (?:to|you) )?(?P<how>always|never)\s+(?P<what>(?!mind\b|again\b)\w.+)", re.I
)
_NOT = re.compile(r"^(?:please,? )?(?:do not|don't)\s+(?:ever\s+)?(?P<what>\w.+)", re.I)
_WITHIN = re.compile(
    r"^(?:for|in|on) (?:this|my|our|the) [\w-]+(?: [\w-]+)?,? (?=(?:always|never|please|use|do not|don't)\b)",
    re.I,
)
_NEVER_AGAIN = re.compile(r"\bever\b", re.I)
_PLEASE = re.compile(r"^(?:please,? |could you please |can you please )?(?P<what>[a-z]+\b.+)", re.I)
_CALL = re.compile(
    r"^(?i:(?:please,? )?(?:you can |just )?(?:call me|address me as)) (?P<name>(?:Dr|Mr|Mrs|Ms"
    r"|Prof)?\.? ?[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)"
)
_CONTACT = re.compile(
    r"^I (?:would|'d) (?:like|prefer|love) to be (?P<wish>(?:contacted|called|addressed|reached|reminded"
    r"|emailed|notified|phoned|texted)\b.+)",
    re.I,
)
_ANSWER = re.compile(
    r"^(?:answer|reply|respond|write|speak|talk)(?: (?:to )?(?:me|us))?(?: only"
    r"| always)? in (?P<language>[A-Z]\w+)",
    re.I,
)
_STYLE = re.compile(
    r"^(?:keep|make|write|format|use|give|send|sign|address|start|begin|end|avoid|include|stick to|limit)\b"
    r"(?=.*\b(?:answers?|replies|responses?|emails?|drafts?|summar(?:y|ies)|messages?|explanations?"
    r"|metric|imperial|celsius|fahrenheit"
    r"|bullet points|bullets|emojis?|tone|words or (?:less|fewer)|british|american|24-hour|iso)\b)",
    re.I,
)
_EVERY = re.compile(
    r"\b(?:everything (?:you|I)|anything you|every (?:time|reply|answer|email)|on weekdays|at weekends)\b",
    re.I,
)
_BOUND = re.compile(r"\b(?:under|below|at most|no more than|shorter than|within)\s+\S+", re.I)
_ONLY = re.compile(r"^(?P<what>[A-Za-z][\w -]{2,40}?) only(?: for me| for us)?(?:,? please)?[.!]*$", re.I)
_SHORT = re.compile(
    r"^(?P<what>(?:short|brief|long|detailed|concise|plain|simple|formal"
    r"|informal)\s+(?P<noun>\w+))\b.*\b(?:please|always|for me)\b",
    re.I,
)
_NOTHING = re.compile(
    r"^(?:nothing with|no|nothing)\s+(?P<what>[a-z][\w -]{1,30}?)(?: for me| for us"
    r"|, ever)(?:,? please)?[.!]*$",
    re.I,
)
_TO = re.compile(r"^to (?P<goal>\w+[^,]{0,60}), (?P<steps>.{6,})", re.I)
_REACH = re.compile(
    r"^you can (?:only )?(?:reach|call|contact|email|ring|find) (?:me|us)\b(?P<when>.+)", re.I
)
_REMARKS = frozenset("mind worry forget bother know think be panic get hesitate care even".split())
_ASKS = re.compile(r"^the user asks? (?:(?P<never>never|not) )?to (?P<always>always )?(?P<what>.+)", re.I)


def is_wish(text: str) -> bool:
    """Whether somebody states how they want to be answered, contacted or addressed."""
    return any(pattern.match(text) for pattern in (_CONTACT, _ALWAYS, _STYLE))


def read_instruction(text: str) -> tuple[Reading, str] | None:
    """Read the standing instruction in a sentence without openers; also return the text to store."""
    request = _ASKS.match(text)
    if request is not None:
        return _build(request["what"], bool(request["never"]), text), text
    contact = _CONTACT.match(text)
    if contact is not None:
        wish = contact["wish"].strip(" .!")
        return Reading(Kind.PREFERENCE, "contact", phrase(wish)), close(
            f"The user wants to be {_of_user(wish)}"
        )
    name = _CALL.match(text)
    if name is not None:
        return Reading(Kind.IDENTITY, "name", name["name"]), f"The user's name is {name['name']}."
    text = _WITHIN.sub("", text)
    lasting = _LASTING.search(text)
    core = close(_LASTING.sub("", text, count=1).strip(" ,")) if lasting else text
    for pattern, negative in ((_ALWAYS, False), (_NOT, True)):
        match = pattern.match(core)
        if match is not None:
            return _read_order(match, core, negative, is_lasting=lasting is not None)
    return _read_wish(core, is_lasting=lasting is not None) or _read_short(text)


def _read_order(
    match: re.Match[str], core: str, negative: bool, *, is_lasting: bool
) -> tuple[Reading, str] | None:
    what = match["what"]
    how = match.groupdict().get("how")
    if how and what.split()[0].endswith("ed"):  # "always wanted to ask you that" is no instruction
        return None
    if negative and (
        what.split()[0].lower() in _REMARKS
        or not (is_lasting or _NEVER_AGAIN.search(core) or _is_taste(what))
    ):
        return None
    never = negative or (how or "").lower() == "never"
    word = "never to" if how and never else "not to" if never else "to always"
    return _build(what, never, core), close(f"The user asks {word} {_of_user(what)}")


def _read_wish(core: str, *, is_lasting: bool) -> tuple[Reading, str] | None:
    match = _PLEASE.match(core)
    if match is None:
        return None
    what = match["what"]
    is_polite = core[:6].lower() == "please"
    language = _ANSWER.match(what)
    if (
        language is not None
        and language["language"].lower() in LANGUAGES
        and (is_lasting or is_polite or len(what.split()) < 6)
    ):
        return Reading(Kind.CONSTRAINT, "language", language["language"]), close(
            f"The user asks to {_of_user(what)}"
        )
    if _STYLE.match(what) and (
        is_lasting or _BOUND.search(what) or re.search(r"\b(?:all|any|every|my) ", what)
    ):
        return _build(what, what.lower().startswith("avoid"), core), close(
            f"The user asks to {_of_user(what)}"
        )
    if (is_lasting or _EVERY.search(what)) and re.match(
        r"(?:set|use|sign|address|write|put|send|add|include|check|ask|remind|assume|treat|format|start|end"
        r"|give|show|keep|run|skip)\b",
        what,
        re.I,
    ):
        return _build(what, False, core), close(f"The user asks to {_of_user(what)}")
    return None


def _read_short(text: str) -> tuple[Reading, str] | None:
    """Read instructions without a verb: `window seats only for me`, `short answers, always`."""
    only = _ONLY.match(text)
    if only is not None and (text.lower().rstrip(" .!").endswith(("please", "for me", "for us"))):
        return Reading(Kind.PREFERENCE, "likes", only["what"]), close(
            f"The user wants {only['what'].lower()} only"
        )
    short = _SHORT.match(text)
    if short is not None and short["noun"].lower() in TASTES:
        return Reading(Kind.CONSTRAINT, "style", short["what"]), close(
            f"The user wants {short['what'].lower()}"
        )
    nothing = _NOTHING.match(text)
    if nothing is not None:
        return Reading(Kind.CONSTRAINT, "ruled_out", nothing["what"], True), close(
            f"The user wants no {nothing['what']}"
        )
    steps = _TO.match(text)
    if steps is not None and re.match(
        r"(?:you |just |first |we )?(?:run|bump|press|click|open|use|tag|go|call|hold|push|turn|type|set"
        r"|merge|edit|start|unplug|fill|add|export|create|ssh|log)\b",
        steps["steps"],
        re.I,
    ):
        return Reading(Kind.PROCEDURE, "procedure", phrase(steps["goal"])), close(text)
    reach = _REACH.match(text)
    if reach is not None:
        return Reading(Kind.CONSTRAINT, "contact", phrase(reach["when"])), close(
            f"The user can be reached {_of_user(reach['when'].strip())}"
        )
    return None


def _build(what: str, never: bool, core: str) -> Reading:
    language = _ANSWER.match(what)
    slot = "language" if language is not None else "instruction"
    return Reading(
        Kind.CONSTRAINT, slot, language["language"] if language is not None else phrase(what), never
    )


def _is_taste(what: str) -> bool:
    return (
        re.match(
            r"(?:use|suggest|recommend|include|put|offer|send|call|contact|email|deploy|add|show|book"
            r"|schedule|give me|cook|serve|mention|share|seat)\b",
            what,
            re.I,
        )
        is not None
    )


def _of_user(text: str) -> str:
    text = text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"
    text = re.sub(r"\b[Mm]y\b|\b[Oo]ur\b", "the user's", text)
    return re.sub(r"\b(?:me|us|I)\b", "the user", text)
