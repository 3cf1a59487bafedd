"""Retractions: what somebody takes back, and which fact they mean."""

import re

from memorywire.facts.clauses import Clause, Voice, Who, bare

_COMMAND = re.compile(
    r"^(?:please,? |you can |could you |can you |just |now )*(?:"
    r"(?:forget|ignore|disregard|scrap|scratch|strike|discard|drop|remove|delete|erase|clear|wipe|undo"
    r"|revert|withdraw|cancel|unlearn)\s+"
    r"(?:(?:all|everything|anything|whatever|what)\s+(?:(?:I|you|we)\s+(?:\w+\s+){0,3}?(?:about|on"
    r"|regarding|of)\s+|about\s+)"
    r"|the\s+(?:thing|bit|part|fact|stuff|note|entry|memory|point|one|line)s?\s+(?:about|that|on|with"
    r"|where|saying)\s+"
    r"|(?:my|the|our)\s+(?:earlier|last|previous|old)?\s*(?:message|note|remark|comment|statement"
    r"|request|instruction)s?\s+(?:about|that|on)\s+"
    r"|that\s+(?=\w+\s+\w)|about\s+|(?:my|our)\s+(?=\w)|the\s+(?=[\w-]+(?: [\w-]+)? (?:rule|ban|limit"
    r"|restriction|preference|allergy|diet|instruction)\b)))"
    r"(?P<target>.+)",
    re.I,
)
_TAKE_BACK = re.compile(
    r"^I (?:take|took|want to take|have to take|need to take) back (?:what I said |that |my (?:comment"
    r"|remark|statement) )?(?:about |on )?(?P<target>.+)"
    r"|^(?:I was|we were) (?:wrong|mistaken) (?:about|when I said)\s+(?P<wrong>.+)",
    re.I,
)
_STOP = re.compile(r"^(?:please,? |you can |now )*stop (?P<target>\w+ing\b.+)", re.I)
_NO_NEED = re.compile(
    r"^(?:there is |there's )?no (?:more )?need (?:to|for) (?P<target>.+?)(?: (?:any ?more|any longer"
    r"|now)\b|[.!]*$)",
    re.I,
)
_ALONE = re.compile(
    r"^(?:please,? |ok,? |no,? |sorry,? |wait,? |actually,? )*(?:forget|ignore|scrap|scratch|disregard"
    r"|delete|strike|cancel) (?:it|that|this|what I (?:just )?said(?! about| on)"
    r"|my (?:last|previous) message)\b(?!\s+(?:I|we|my)\b)|\b(?:please )?(?:ignore|forget|scratch"
    r"|scrap) that\b[.!]*$",
    re.I,
)
_ENDED = re.compile(
    r"\b(?:any ?more(?! than)|any longer|no longer|no more|these days|after all|nowadays)\b", re.I
)
_DENIAL = re.compile(
    r"^(?:no,? )?(?:that(?:'s| is| was) (?:wrong|not (?:true|right|so|correct)|incorrect|a mistake"
    r"|false)|that isn't (?:true|right)|not true|you(?:'ve| have) got (?:that|it) wrong|wrong)\b",
    re.I,
)
_GONE = re.compile(
    r"^(?P<target>(?:the|our|my|this)? ?[\w'./ -]{2,50}?)(?:'s| is| are| was| were| has been| have been"
    r"| got)\s+(?:now |all )?(?:off(?=[.!]*$)|gone\b|cancelled|canceled|called off"
    r"|not happening|no more(?=[.!]*$)|over(?=[.!]*$)|scrapped|dropped|discontinued|history(?=[.!]*$)"
    r"|a thing of the past)",
    re.I,
)
_STATES = frozenset("live work have own like love use play speak say".split())
_QUIT = frozenset("stop quit drop".split())
_DROPPED = re.compile(
    r"^(?:I|we)(?: have|'ve)? (?:finally |just |recently |now |since )?(?:dropped|got rid of"
    r"|gotten rid of|ditched|abandoned"
    r"|scrapped|given up(?: on)?|gave up(?: on)?|stopped|quit|retired|phased out|cancelled|canceled"
    r"|broke up with|broken up with"
    r"|moved (?:off|away from|out of|on from)|lost interest in|sold|left|lost|given away|gave away"
    r"|gone off|went off|grown out of"
    r"|grew out of|outgrown|outgrew|switched away from|migrated away from|unsubscribed from|let go of"
    r"|cut out|used to"
    r"|lied about|was (?:joking|kidding|lying) about|made up|retract|withdraw|withdrew"
    r"|retracted)\s+(?P<target>.+)",
    re.I,
)
_OFF = re.compile(
    r"^(?:I am|I'm|we are|we're) (?:now )?off (?:the )?(?P<target>\w[\w' -]{2,40}?)(?: now"
    r"| these days)?[.!]*$",
    re.I,
)
_GIVEN = re.compile(
    r"^(?:please,? )?(?:forget|ignore|disregard|scrap|delete|erase|remove|drop) (?:the|that"
    r"|all the) (?P<target>[\w' -]{2,40}?)"
    r" (?:that )?(?:I|you|we) (?:just )?(?:gave|told|mentioned|noted|have|saved|stored|sent|set|asked"
    r"|said)\b",
    re.I,
)
_AGAIN = re.compile(
    r"^(?:I|we)(?: can| am| are|'m|'re)? (?:now )?(?:eat|drink|have|do|fly|drive|handle"
    r"|eating|drinking)\s+(?P<target>.+?) again\b",
    re.I,
)
_OVER = re.compile(
    r"^(?!that|this|it\b|there)(?P<target>(?:the|our|my)? ?[\w'./ -]{2,50}?)(?: has| have"
    r"| had)? (?:ended|expired"
    r"|fell through|fallen through|ran out|run out|is over"
    r"|is no more|(?:is|was|turned out to be) (?:a )?(?:mistake|misdiagnosis|false alarm|typo|joke|wrong"
    r"|not true|untrue|fine (?:again|now)))\b(?! in \d)",
    re.I,
)
_NO_MORE = re.compile(
    r"^(?:please,? )?(?:no more|enough(?: with"
    r"| of)?(?: the)?)\s+(?P<target>[\w' -]{3,40})",
    re.I,
)

_EMPTY = frozenset(
    """
    a an the my our your i we me us you it that this these those what whatever about of on in at to for
    from with by and or not no never is am are was were be been being has have had do does did don't any
    more anymore longer again please thing things stuff bit part fact rule rules ban limit restriction
    note message said say told noted wrote mention mentioned because so as if just now really user
    user's users always only one some all still ever when he she they them their his her its there than
    then too also here out up down off isn't aren't wasn't true can could will would should must may
    might cannot after all earlier last previous preference instruction everything anything something
    trip plan idea these days stack gave give given calling notes records memory list profile longer
    actually else name call called team
    whole right entirely
    """.split()
)


def stem(word: str) -> str:
    """A word without its ending, so that `taking`, `takes` and `take` are the same."""
    word = word.removesuffix("'s")
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        word = word[:-1]
    for ending in ("ing", "ie", "ied", "ed", "ic", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            if ending != "y" or word[-2] not in "aeou":
                word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def find_key_words(text: str) -> frozenset[str]:
    """The words of a text that tell it from others, without their endings."""
    words = (bare(word) for word in re.split(r"[\s/]+|(?<=no)-", text.replace("’", "'")))
    return frozenset(stem(word) for word in words if word and word not in _EMPTY)


def is_about(text: str, target: str) -> bool:
    """Whether a fact is what somebody takes back with `target`: it has all of its key words."""
    words = find_key_words(target)
    return bool(words) and words <= find_key_words(text)


def find_retraction(clause: str, sentence: str) -> str | None:
    """The words of what a clause takes back; None if it takes nothing back."""
    for pattern in (
        _GIVEN,
        _OFF,
        _COMMAND,
        _TAKE_BACK,
        _STOP,
        _NO_NEED,
        _DROPPED,
        _AGAIN,
        _OVER,
        _NO_MORE,
        _GONE,
    ):
        match = pattern.match(clause)
        if match is not None:
            target = next(group for group in match.groups() if group)
            return _trim(target)
    return None


def is_denial(clause: str) -> bool:
    """Whether a clause says that something before it is wrong."""
    return _DENIAL.match(clause) is not None


def is_retraction_alone(clause: str) -> bool:
    """Whether a clause takes back what was said just before: `forget it`."""
    return _ALONE.search(clause) is not None


def ends_fact(clause: Clause | None, text: str) -> bool:
    """Whether a clause says that something is so no more: `I don't live in Bath any more`."""
    if clause is None:
        return bool(re.search(r"\b(?:not|no)\b", text)) and _ENDED.search(text) is not None
    if "no longer" in clause.adverbs:
        return True
    if clause.negative and (_ENDED.search(text) is not None or "actually" in clause.adverbs):
        return True
    if "never" in clause.adverbs and clause.voice is Voice.PAST and clause.lemma in _STATES:
        return True
    is_over = clause.lemma in _QUIT and clause.voice in (Voice.PAST, Voice.PERFECT)
    return is_over and clause.subject.who is not Who.THING


def describe_end(clause: Clause | None, text: str) -> str:
    """What a clause says is so no more, without its negation."""
    text = _ENDED.sub("", text)
    if clause is None:
        return _trim(re.sub(r"\b(?:isn't|aren't|not|no longer|is|are)\b", "", text))
    subject = "" if clause.subject.who in (Who.USER, Who.GROUP) else clause.subject.text
    verb = "" if clause.lemma in ("be", "have", "do", *_QUIT) else clause.lemma
    return _trim(f"{subject} {verb} {_ENDED.sub('', clause.rest)}")


def _trim(text: str) -> str:
    return re.split(
        r"[,;.!?](?:\s|$)|\s(?:because|since|it was|it is|it doesn't|as)\s|\s(?:in|since|on) \d",
        text.strip(),
        maxsplit=1,
    )[0].strip(" .,!?;")
