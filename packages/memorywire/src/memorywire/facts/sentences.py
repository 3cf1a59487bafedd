"""Cuts a text into sentences and clauses, and tells statements from what states nothing.

Nothing is read from questions, quotations, hypotheses, hearsay, jokes, irony and fiction: what looks like
one of them counts as one, because a fact that is missed does less harm than a fact that was never stated.
"""

import re
from collections.abc import Iterator
from functools import cache

from memorywire.facts.clauses import join_apposition

LONGEST = 600

_SENTENCE = re.compile(r"(?<=[.!?])[\"”']?\s+(?=[A-Z\"'“(>`@\d]|i\b|i'|[a-z])|\n+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|e\.g|i\.e|vs|approx|No|a\.m|p\.m)\.$")

_OPENER = re.compile(
    r"^(?:(?:just )?so (?:you know|you're aware)|(?:(?:ok|okay|yes|yeah|yep|no|nope|right|sure|update"
    r"|note|reminder)(?=[,.:;!])|oh|well|hi|hello|hey|actually"
    r"|also|and|but|so|fyi|btw|by the way|for the record|for context|for reference|for your information"
    r"|quick note"
    r"|heads[- ]up|as you know|to be clear|honestly|in fact|please note|note that|thanks"
    r"|thank you|sorry|good morning|morning|unfortunately|luckily|sadly|turns out|it turns out|finally|anyway"
    r"|these days|nowadays|at the moment|currently|at work|at home|in general|as a rule|remember"
    r"|remember that"
    r"|please remember|please remember that|keep in mind|keep in mind that|don't forget|you should know"
    r"|for now)"
    r"(?: there| that|, that)?)\s*[,:;!.–-]*\s+(?=\S)",
    re.I,
)

_CLAUSE = re.compile(
    r"\s*;\s+|\s+[-–—]\s+|,?\s+(?:so|because|but|since|as|although|though|while|whereas|and|that's why"
    r"|which is why)\s+"
    r"(?=(?:I|i|we|my|our|you|he|she|it|they|there|don't|do not|please|everything)(?:\b|'))"
    r"|,\s+(?=(?:I|i|we|my|our|he|she|it|they|there|that's|that is|don't|please|no|have|in case)(?:\b"
    r"|'))|\s+(?:if only|in case)\s+"
)

_UNREAL = re.compile(
    r"\b(?:if (?:I|we|my|only|you|it|there|he|she|they)\b|what if|suppos(?:e|ing)|imagine|pretend"
    r"|assum(?:e|ing) |let's say"
    r"|say (?:I|we|my|our)\b|for (?:example|instance)|e\.g\.|hypothetically|in theory|wish|hopefully"
    r"|hope to|hoping|maybe|perhaps|possibly"
    r"|probably|presumably"
    r"|might|may (?:be|have|get|go|move|need|want|try|start|become)|could (?:be|have|always|also|become"
    r"|get|move|go|use|try|switch)"
    r"|would (?:be|have|love to|like to|need|never|probably|want|go|use|say|get|make)|had (?:I|we) "
    r"|were (?:I|we) |not sure|unsure"
    r"|thinking (?:of|about)|considering|toying with|tempted|wondering|i guess|i suppose|i think"
    r"|i believe|i doubt|i assume"
    r"|dream(?:ed|t|s)? (?:of|about|that|job)|one day|someday|as if|unless|whether|in another life"
    r"|in case (?:I|we)"
    r"|for the sake of argument|kind of feel|feels? like|seems? (?:like|to)|sort of|unlikely|in my head"
    r"|would've|i'd (?:love|like) to"
    r"|used to be|almost (?:bought|moved|got)|nearly (?:bought|moved|got)|meant to|supposed to)\b",
    re.I,
)
_SPOKEN = re.compile(
    r"\b(?:sa(?:ys|id|ying)|claim(?:s|ed|ing)?|told|tells|reckons?|reckoned|insist(?:s|ed)?|swears?"
    r"|swore|mention(?:s|ed)"
    r"|thinks|thought|believes|believed|assumes|wrote (?:that|to|in)|writes (?:that|in)|texted|tweeted"
    r"|posted|announced"
    r"|according to|apparently|reportedly|allegedly|supposedly|rumou?r|heard|overheard|i read|reads:"
    r"|(?:article|post|review"
    r"|report|sign|poster|label|manual|website|ad|book|email|message|letter|note) (?:says|said|reads"
    r"|states|claims)|quote"
    r"|quoting|as .{2,30} put it|goes \"|or so|people (?:say|think)|they say|word is|asks? (?:me )?(?:if"
    r"|whether)|asked)\b",
    re.I,
)
_JOKE = re.compile(
    r"\b(?:haha\w*|hehe\w*|lol|lmao|rofl|jk|just kidding|kidding|joking|only joking|basically"
    r"|practically|literally"
    r"|apparently|obviously|clearly|of course (?:I|we)|yeah right|oh sure|sure thing|as usual|fight me\?"
    r"|blame (?:her|him|it)"
    r"|favou?rite thing in the world|at this point|in my (?:next|previous|past) life|wink|sarcasm|said no one"
    r"|procrastinat\w*|in (?:over\w+|napping|sarcasm|being late)|raised by wolves|world domination"
    r"|spaceship|unicorns?|dragons?|zombies?|time machine|superpowers?"
    r"|allergic to (?:mondays?"
    r"|work|stupid\w*|mornings|hard work|meetings|nonsense|bullshit|lies|people|effort|exercise)"
    r"|live for (?:the|these|this))\b|/s\b|[;:]-?[)P]|😂|🤣|😉|🙃",
    re.I,
)
_FICTION = re.compile(
    r"\b(?:novel|my story|a story|the story|short story|role-?play|roleplaying|role-?playing|character"
    r"|protagonist|narrator|screenplay|script for"
    r"|poem|lyrics|fiction|fanfic|in the (?:film|movie|book|song|game|play|series|show|comic)|dungeons"
    r"|campaign|d&d|diary entry"
    r"|act as|acting as|you are now|you're now|pretend|fairy tale|once upon a time|for the sake of"
    r"|exercise sentence|example sentence|sample sentence"
    r"|translate|translation of|how (?:do|would) (?:you|i|we|one) say|in (?:french|german|spanish|dutch"
    r"|italian|english)\?|proofread|rewrite|rephrase|paraphrase|conjugat\w+"
    r"|my avatar|(?:for|in) (?:the|this|my|our|a) (?:sketch|scene|scenario|simulation|exercise|skit"
    r"|improv)|alter ego|my persona|in-game|my sim|test (?:data|user|account)|dummy|lorem|placeholder"
    r"|fill in|template|bullet as an example|correct this)\b",
    re.I,
)
_OF_ANOTHER = re.compile(r"^\s*(?:>|\"|“|'(?=\w+ \w+))")
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]|(?<!\w)'[^']{3,}'(?!\w)|‘[^’]*’(?!\w)")
_QUESTION = re.compile(
    r"^(?:(?:and|so|but|or|wait|ok|okay|hey|hi|please|now)[, ]+)*(?:who|what|when|where|why|how|which"
    r"|whose|is|are|am|was|were|do|does"
    r"|did|don't (?:I|we|you|they|people|the)|doesn't|didn't|isn't|aren't|wasn't|can you|can i|can we"
    r"|could|would|will|shall|should|have i|have we|have you|has"
    r"|any ideas?|wanna|may i|might)\b(?! (?:not|n't)\b)",
    re.I,
)


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without lines that quote somebody."""
    text = text.replace("’", "'")
    held = ""
    for part in _SENTENCE.split(text):
        sentence = f"{held} {part}".strip() if held else part.strip()
        if _ABBREVIATION.search(sentence):
            held = sentence
            continue
        held = ""
        if sentence:
            yield sentence[:LONGEST]
    if held:
        yield held[:LONGEST]


def split_clauses(sentence: str) -> list[str]:
    """The clauses of a sentence that can stand alone, each without the words it opens with."""
    sentence = _ITS.sub(_name_it, join_apposition(strip_opener(sentence)))
    sentence = _FRONTED.sub(_move_back, sentence)
    together = _TOGETHER.match(sentence)
    parts = [sentence] if together else _CLAUSE.split(sentence)
    return [clause for clause in map(strip_opener, parts) if clause]


_FRONTED = re.compile(
    r"^(?P<when>(?:next|last|this|every|each|in|on|for|at|since|until|from|during) [\w' -]{2,24}?),? "
    r"(?P<clause>(?:I|we)(?: |')[^,;.!?]+)",
    re.I,
)


def _move_back(match: re.Match[str]) -> str:
    """`In June we're going to Japan` as `we're going to Japan in June`."""
    when = match["when"]
    return f"{match['clause']} {when[0].lower()}{when[1:]}"


_TOGETHER = re.compile(r"[A-Z]\w+ and I\b")
_ITS = re.compile(
    r"^(?:It's|It is|That's|That is) (?P<whose>my|our) (?P<what>[\w' -]{3,40}?) (?=(?:on|in|at|next|this"
    r"|tomorrow)\b)",
    re.I,
)


def _name_it(match: re.Match[str]) -> str:
    """`It's our anniversary on 3 July` as `Our anniversary is on 3 July`."""
    return f"{match['whose'].capitalize()} {match['what']} is "


def strip_opener(text: str) -> str:
    """The text without a greeting or an `anyway` before the statement."""
    text = text.strip(" \t,")
    for _ in range(3):
        match = _OPENER.match(text)
        if match is None:
            return text
        text = text[match.end() :]
    return text


def is_question(sentence: str) -> bool:
    """Whether a sentence asks."""
    return sentence.rstrip(" )\"'").endswith("?") or _QUESTION.match(sentence) is not None


_NOT = re.compile(
    r"^(?:not|as if|yeah,? right|(?:just |only )?(?:kidding|joking)|jk|lol|haha\w*|psych"
    r"|in my dreams|i wish)[ .!)]*$",
    re.I,
)


def takes_all_back(sentence: str) -> bool:
    """Whether a sentence makes a joke of the one before: `Not.`, `Just kidding.`"""
    return _NOT.match(sentence) is not None


def is_unreal(text: str) -> bool:
    """Whether the text is about what is not so, or not certain: a hypothesis, a wish, a hedge."""
    return _UNREAL.search(text) is not None


def is_unserious(text: str) -> bool:
    """Whether the text is a joke, irony or fiction, or words to work on."""
    return _JOKE.search(text) is not None or _FICTION.search(text) is not None


def is_hearsay(text: str) -> bool:
    """Whether the text says what somebody said."""
    return _SPOKEN.search(text) is not None


def has_quotation(text: str) -> bool:
    """Whether somebody else's words are in the text: quotation marks around more than a name."""
    if _OF_ANOTHER.match(text):
        return True
    return any(len(match.group().split()) > _NAME_WORDS for match in _QUOTED.finditer(text))


_NAME_WORDS = 3


@cache
def _introduces() -> re.Pattern[str]:
    return re.compile(r":\s+(?=(?:I|i|we|my|our|he|she)(?:\b|'))")


_TASK = re.compile(
    r"^(?:please |can you |could you )?(?:fix|rewrite|translate|summari[sz]e|correct|check|improve|edit"
    r"|rephrase|shorten|explain"
    r"|parse|analy[sz]e|classify|write|draft|complete|continue|convert|format|proofread|subject|example"
    r"|title|prompt|input|text"
    r"|sentence|quote|caption|headline|slogan|tweet)\b[^.!?]{0,60}:\s",
    re.I,
)


def quotes_after_colon(sentence: str) -> bool:
    """Whether a colon hands over to words in the first person: `the sentence was: I have two cats`."""
    if _TASK.match(sentence):
        return True
    match = _introduces().search(sentence)
    return match is not None and not _OPENER.match(sentence[: match.end()] + "x")
