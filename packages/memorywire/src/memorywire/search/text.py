"""Words as the text leg sees them: folded, stemmed, with identifiers and unspaced scripts taken apart."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain, filterfalse
from pathlib import Path

import msgspec
import Stemmer
from msgspec import Struct

from memorywire.model.record import Record

# Signs on letters that `\w` takes for none: vowels of Hebrew, Arabic and the scripts of South Asia, accents
# that no letter comes with, and what joins or parts letters without being seen.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0981-\u09e3\u0a01-\u0d63\u0d81-\u0df3\u0e31-\u0e3a"
    "\u0e47-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u1056-\u109d\u17b4-\u17d3\u00ad\u200b-\u200d\u2060\ufeff"
)
_PICTURES = (
    "[\U0001f1e6-\U0001f1ff]{2}|[\u231a-\u23ff\u2600-\u27bf\u2b00-\u2bff"
    "\U0001f300-\U0001f3fa\U0001f400-\U0001faff]"
)
_LETTERS = rf"\w[\w{_MARKS}]*"
_WORD = re.compile(rf"{_LETTERS}(?:['’]{_LETTERS})*|{_PICTURES}")
_ASCII_WORD = re.compile(r"\w++(?:'\w++)*+", re.ASCII)  # the same of ASCII, in less time
_POSSESSIVE = re.compile(r"['’]s$|['’]", re.IGNORECASE)
# Versions, hosts, tickets, addresses, paths and dates. No word is read twice, however long it is.
_COMPOUND = re.compile(r"(?<![\w,])\d{1,3}(?:,\d{3})++(?!\w)|(?<!\w)\w++(?:(?:://|[-./:@\\])\w++)++")
_MAY_JOIN = re.compile(r"[-./:@\\,]\w")
_VERSION = re.compile(r"v\d")
_TELLING = re.compile(r"[\d_\-./:@\\]")
_JOINT = re.compile(r"[-.,/:@\\]")
_PLACE = re.compile(r"[/:@\\]+")  # between what is somewhere and where that is
_NO_IDENTIFIER = re.compile(r"\d{1,2}:\d\d(?::\d\d)?")  # 10:30
_HYPHENS = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)++")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# What gave up its vowel before another one in French, Italian and Catalan: l'eau, dell'arte.
_ELIDED = (
    "c d j l m n s t qu lorsqu puisqu jusqu quoiqu all dall dell nell sull coll quell bell un sant quest"
)
_ELISION = re.compile(
    r"(?!(?:d'oh|d'uh|l'il|m'am|s'all|s'up|t'is|t'other)\b)"  # English
    rf"(?:{_ELIDED.replace(' ', '|')})'(?P<bare>[aeiouhæœ].*)"
)
# Scripts that put no space between words: those in which a character says something by itself, and those of
# Thailand, Laos, Myanmar and Cambodia, which spell.
UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
    "|[\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109d\u1780-\u17d3]+"
)
_SPELT = "\u3040"  # scripts that spell come before this
EDITION = 4
"""Of the rules here: raised when a release makes other index terms of the same memory."""

_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_SENTENCE_END = re.compile("(?<=[.!?\u061f])\\s+|(?<=[\u3002\uff01\uff1f])|\n")
_UNSEEN = frozenset("\u00ad\u0640\u200b\u200c\u200d\u2060\ufeff")

STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be because been before being but by can could did do "
    "does doing for from had has have having he her hers him his how i if in into is it its me more most my "
    "no not of on or our ours out over own she should so some such than that the their them then there these "
    "they this those to too up us was we were what when where which who whom why will with would you "
    "your".split()
)


# As index terms, which are stemmed.
_RELATIVES = frozenset(
    "son daughter boy girl brother sister mother father mum mom dad wife husband aunt uncl cousin nephew "
    "niec grandmoth grandfath grandma grandpa granddaught grandson stepfath stepmoth".split()
)


LANGUAGES = Path(__file__).with_name("languages.json")
UNKNOWN = ""


class _Languages(Struct, frozen=True):
    """Languages that are known by their script, with letters that only other languages of it have."""

    scripts: dict[str, str]
    others: dict[str, str]
    stemmers: dict[str, str]
    stop_words: dict[str, frozenset[str]]


def find_language(text: str, words: Sequence[str]) -> str:
    """Return the language that the script of a text shows, as a code of two letters, or `UNKNOWN`.

    Languages in Latin letters stay unknown: a function word of one is a name or a word of another ("Mia").
    """
    if text.isascii():
        return UNKNOWN
    table, third = _load_languages(), sum(map(len, words)) / 3
    for language, script in table.scripts.items():
        if len(re.findall(script, text)) > (1 if language == "ja" else third):
            others = table.others.get(language)
            return UNKNOWN if others and re.search(others, text, re.IGNORECASE) else language
    return UNKNOWN


@cache
def _load_languages() -> _Languages:
    return msgspec.json.decode(LANGUAGES.read_bytes(), type=_Languages)


def terms(text: str) -> Counter[str]:
    """How often each index term of a memory occurs."""
    words = split_words(text)
    language = find_language(text, words)
    return Counter(chain.from_iterable(index_word(word, language) for word in words))


def query_terms(text: str) -> list[str]:
    """The index terms that a query is looked for by: IT, US and WHO only where it says nothing else."""
    words = split_words(text)
    language = find_language(text, words)
    all_terms = [*dict.fromkeys(chain.from_iterable(word_terms(word, language) for word in words))]
    return [term for term in all_terms if not term.isupper()] or all_terms


def split_words(text: str) -> list[str]:
    """The words of a text as they stand in it, and then its compound identifiers: `web-24`, `2.14.0`."""
    if text.isascii():
        words = _ASCII_WORD.findall(text)
    else:
        text = unicodedata.normalize("NFKC", text)
        words = _WORD.findall(text)
    if not _MAY_JOIN.search(text):
        return words
    return words + [whole for whole in _COMPOUND.findall(text) if _is_compound(whole)]


def _is_compound(whole: str) -> bool:
    """Whether it is more than its parts: not 10:30, nor well-known; but db-a and prod-us."""
    if _HYPHENS.fullmatch(whole):
        return any(len(part) == 1 or part in STOP_WORDS for part in whole.lower().split("-"))
    return _NO_IDENTIFIER.fullmatch(whole) is None


def find_telling(query_terms: Iterable[str], names: Sequence[str]) -> frozenset[str]:
    """The terms of a query that tell one thing from others alike: numbers, compounds, names, and relatives,
    who are called by what they are instead of by name.
    """
    named = terms(" ".join(names)) if names else ()
    return frozenset(
        [term for term in query_terms if term in named or term in _RELATIVES or _TELLING.search(term)]
    )


@lru_cache(maxsize=4096)
def name_words(name: str) -> frozenset[str]:
    """The words of a name, folded: "Anna-Lena" and "anna lena" are the same two."""
    words = _WORD.findall(unicodedata.normalize("NFKC", name))
    return frozenset(_fold(_POSSESSIVE.sub("", word)) for word in words)


def spoken_by(word: str) -> str:
    """The index term of a memory whose speaker's name holds this word; no text has it."""
    return f"\0{word}"


ASKED = spoken_by("?")
"""An index term for questions; its count is the share of words that ask, in tenths."""

CHANGED = spoken_by("!")
"""An index term for facts that tell of a change."""

# Said of what holds now, and of what happened: English, in whole words and as they are folded.
_TELLS_CHANGE = re.compile(
    r"\b(?:now|nowadays|currently|no longer|any ?more|instead|latest|new(?:er|est|ly)?|today|these days|"
    r"as of|this (?:week|month|year|morning|season|term|sprint|quarter|spring|summer|autumn|winter)|"
    r"from \w+ on|from (?:today|next \w+)|last (?:week|weekend|month|year)|lately|recently|"
    r"(?!(?:called|named|based|located|needed|used|allowed|required|interested|supposed|married|"
    r"mentioned|noted|reported|stated|confirmed|explained|liked|loved|enjoyed|preferred|wanted|asked)\b)"
    r"\w{3,}ed|since|became|began|left|quit|bought|sold|got|took|taken|brought|put|gone|went|withdrew|broke|"
    r"lost|won|gave|given|grew|rose|fell|chose|chosen|made|built|another|second)\b"
)
_BEGINS_CHANGE = re.compile(r"\b(?:no|any|these|as|this|from|last)\b")  # the first of several words of these


@lru_cache(maxsize=65_536)
def _find_change(word: str) -> bool | None:
    """Whether this word alone tells of a change; None where those behind it decide."""
    word = _fold(word)
    return True if _TELLS_CHANGE.search(word) else None if _BEGINS_CHANGE.search(word) else False


def build_wording(text: str) -> str:
    """The index term of a memory that says these very words, whatever their case and signs; empty for none.

    A digest, so that no cache of terms holds whole memories.
    """
    return _join_wording(_fold(" ".join(split_words(text))))


def _join_wording(words: str) -> str:
    return f"\0={blake2b(words.encode(), digest_size=8).hexdigest()}" if words else ""


def read_hidden_terms(record: Record, text_words: Sequence[str] | None = None) -> dict[str, int]:
    """The index terms of a record that are none of its words: what it says as a whole, whether it tells of a
    change, who says it, and how much of it asks. They do not count for its length.

    `text_words` are the words of its text, if they are known.
    """
    person = record.person
    if text_words is None or record.occurred_at is not None or record.speaker is not None:
        text_words = split_words(record.meaning if person is None else record.words)
    words = _fold(" ".join(text_words))
    counts = {_join_wording(words): 1} if words else {}
    if record.conversation is None:
        signs = set(map(_find_change, text_words))
        if True in signs or (None in signs and _TELLS_CHANGE.search(words)):
            counts[CHANGED] = 1
    if person is not None:
        counts |= {spoken_by(word): 1 for word in sorted(name_words(person))}
        if tenths := count_question_tenths(record):
            counts[ASKED] = tenths
    return counts


def count_question_tenths(record: Record) -> int:
    """How many tenths of a speaker's words to other people are questions.

    0 for what is said to an assistant: asking it for something tells what one wants.
    """
    if record.person is None or record.metadata.get("role") is not None:
        return 0
    text = record.words
    if not any(mark in text for mark in _QUESTION_MARKS):
        return 0
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text)]
    length = sum(len(sentence) for sentence in sentences if sentence.endswith(_QUESTION_MARKS))
    return round(10 * length / sum(map(len, sentences)))


@lru_cache(maxsize=65_536)
def index_word(raw: str, language: str) -> tuple[str, ...]:
    """Return the index terms of one word of a memory in this language.

    With a stemmer these are its stem and its term in an unknown language: a query in another language, such
    as a name alone, is looked up by that one.
    """
    own = word_terms(raw, language)
    has_stem = bool(own) and bool(language) and language in _load_languages().stemmers
    return tuple(dict.fromkeys((*own, *word_terms(raw)))) if has_stem else own


@lru_cache(maxsize=65_536)
def word_terms(raw: str, language: str = UNKNOWN) -> tuple[str, ...]:
    """The index terms of one such word, of a text in this language."""
    if language and language in _load_languages().stemmers and raw.isalpha() and not raw.isascii():
        return _stem_foreign(raw, language)
    if _JOINT.search(raw):
        return _split_compound(_fold(raw))
    if raw.isascii() and (raw.isdigit() or (raw.isalpha() and raw.islower())):
        return () if raw in STOP_WORDS else (_stem(raw),)
    word = _POSSESSIVE.sub("", raw).strip("_")
    runs = UNSPACED.findall(word)
    if runs:
        rest = UNSPACED.sub(" ", word).split()
        return (*(gram for run in runs for gram in _split_grams(run)), *(_stem(_fold(part)) for part in rest))
    whole = _fold(word)
    names = [whole]
    if "_" in word or _HUMP.search(word):
        parts = [part for piece in word.split("_") for part in _HUMP.split(piece) if part]
        names += map(_fold, parts) if len(parts) > 1 else ()
    if word != raw and (elision := _ELISION.fullmatch(_fold(raw.replace("’", "'")))):
        bare = _POSSESSIVE.sub("", elision["bare"])
        names += [] if bare in names else [bare]
    if whole in STOP_WORDS and word.isupper() and len(word) > 1:
        return (word,)  # IT, US, WHO
    return tuple(map(_stem, filterfalse(STOP_WORDS.__contains__, filter(None, names))))


def _split_compound(whole: str) -> tuple[str, ...]:
    """A compound, and those that stand in it: of `10.0.3.14:8080` the address, of a path the file.

    Their words are terms anyway. A version has its number, a large number its digits.
    """
    if "," in whole:
        return (whole.replace(",", ""),)
    inner = [part for part in _PLACE.split(whole) if _JOINT.search(part) and part != whole]
    names = [whole, *filter(_is_compound, inner)]
    return tuple(dict.fromkeys([*names, *(name[1:] for name in names if _VERSION.match(name))]))


def _split_grams(run: str) -> list[str]:
    """Single characters and pairs, so that one-character and longer queries both find their place.

    A letter says nothing: of what is spelt they are pairs and threes.
    """
    if run < _SPELT:
        run = _fold(run)
        return [run[i : i + size] for size in (2, 3) for i in range(len(run) - size + 1)] or [run]
    return [*run, *(run[i : i + 2] for i in range(len(run) - 1))]


def _fold(word: str) -> str:
    """Case, accents and what is not seen removed."""
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFKD", word.casefold())
    visible = (c for c in letters if not unicodedata.combining(c) and c not in _UNSEEN)
    return unicodedata.normalize("NFC", "".join(visible))


@cache
def _fold_stop_words(language: str) -> frozenset[str]:
    return frozenset(map(_fold, _load_languages().stop_words[language]))


def _stem_foreign(raw: str, language: str) -> tuple[str, ...]:
    """Return the stem of a word by the rules of its language, without accents; none for a stop word."""
    word = raw.lower()
    if _fold(word) in _fold_stop_words(language):
        return ()
    return (_fold(Stemmer.Stemmer(_load_languages().stemmers[language]).stemWord(word)),)


def _stem(word: str) -> str:
    # PyStemmer objects are not safe to share between threads; the lru_cache above makes this rare.
    return Stemmer.Stemmer("english").stemWord(word) if word.isascii() and word.isalpha() else word
