"""What the built-in reader takes for a fact, and what it leaves alone."""

import pytest

from memorywire.facts import Kind, Label, label_text, replaces
from memorywire.facts.reader import Act, read_turn
from memorywire.facts.retractions import is_about

NOON = 1_790_000_000_000  # 21 September 2026

LABELS = [
    ("I have a severe peanut allergy.", Kind.CONSTRAINT, "user", "allergy"),
    ("The user is allergic to peanuts.", Kind.CONSTRAINT, "user", "allergy"),
    ("I've been vegan for six years.", Kind.CONSTRAINT, "user", "diet"),
    ("My son is allergic to bee stings.", Kind.CONSTRAINT, "son", "allergy"),
    ("I need step-free access.", Kind.CONSTRAINT, "user", "access"),
    ("Never push to main directly.", Kind.CONSTRAINT, None, "instruction"),
    ("Always answer in French.", Kind.CONSTRAINT, None, "language"),
    ("Ana prefers green tea to coffee.", Kind.PREFERENCE, "Ana", "likes"),
    ("I can't stand early meetings.", Kind.PREFERENCE, "user", "dislikes"),
    ("I'm based in Toronto.", Kind.IDENTITY, "user", "home"),
    ("I work for the city council.", Kind.IDENTITY, "user", "employer"),
    ("I'm a software engineer.", Kind.IDENTITY, "user", "job"),
    ("My phone number is 07700 900123.", Kind.IDENTITY, "user", "phone"),
    ("My wife's name is Hanna.", Kind.RELATION, "user", "partner"),
    ("I have two daughters.", Kind.RELATION, "user", "children"),
    ("We've got three hens.", Kind.POSSESSION, "user", "pet"),
    ("I drive a Skoda Octavia.", Kind.POSSESSION, "user", "car"),
    ("I'm flying to Boston next Tuesday.", Kind.PLAN, "user", "trip"),
    ("My exam is on 3 June.", Kind.PLAN, "user", "exam"),
    ("I broke my ankle last winter.", Kind.EVENT, "user", "injury"),
    ("I go to the gym every Monday.", Kind.PROCEDURE, "user", "go"),
    ("We deploy every Tuesday.", Kind.PROCEDURE, None, "deploy_day"),
    ("We've switched to pnpm.", Kind.DECISION, None, "tool"),
    ("We use Postgres 16.", Kind.CONFIGURATION, None, "database"),
    ("The customer is on the Enterprise plan.", Kind.CONFIGURATION, "user", "plan"),
]

NOTHING = [
    "I'm looking for a new phone.",
    "I have a question about my invoice.",
    "I'm getting an error when I log in.",
    "I like the first one better.",
    "I can't find the button.",
    "The file is empty.",
    "Paris is the capital of France.",
    "Am I vegetarian?",
    "Who is my manager?",
    "I think I might be lactose intolerant.",
    "If I had a dog, I'd name it Rex.",
    "I'd love to live in Paris some day.",
    "I used to live in Madrid.",
    "Suppose I'm 70. What would you suggest?",
    "My friend says I should go vegan.",
    "According to Jane, I live in Bath.",
    "They told me that my flight is on Tuesday.",
    'The mug reads "I hate Mondays and mornings".',
    "> I moved to Oslo last week.\nHow do I reply?",
    "Pretend I'm a chef.",
    "In my novel, I am a detective called Moss.",
    "He's allergic to hard work, lol.",
    "Great, I just love bugs.",
    "I'm married to my job.",
    "Never mind.",
    "Give me five ideas for a party.",
]

RETRACTED = [
    ("I like green tea.", "Forget that I like green tea."),
    ("I live in Bath.", "I don't live in Bath any more."),
    ("I work at the library.", "I no longer work at the library."),
    ("I'm allergic to peanuts.", "Forget what I said about the peanut allergy."),
    ("I take beta blockers every morning.", "I've stopped taking the beta blockers."),
    ("Always answer in Italian.", "Stop answering in Italian."),
    ("My manager is Marco.", "Marco isn't my manager any more."),
    ("We use Redis for caching.", "Redis is gone from our stack."),
    ("My budget is 900 euros.", "I said my budget was 900. Forget it."),
    ("I have a dog called Rufus.", "That's wrong, I don't have a dog."),
]


@pytest.mark.parametrize(("text", "kind", "subject", "slot"), LABELS)
def test_a_sentence_has_a_kind_a_subject_and_a_slot(
    text: str, kind: Kind, subject: str | None, slot: str
) -> None:
    label = label_text(text)
    assert label is not None
    assert (label.kind, label.subject, label.slot) == (kind, subject, slot)


@pytest.mark.parametrize("text", NOTHING)
def test_no_fact_comes_of_what_states_none(text: str) -> None:
    assert [one for one in read_turn(text) if one.act is Act.ASSERT] == []


@pytest.mark.parametrize(("before", "after"), RETRACTED)
def test_a_retraction_names_the_fact_and_states_no_other(before: str, after: str) -> None:
    (fact,) = read_turn(before)
    statements = read_turn(after)
    assert [one.act for one in statements] == [Act.RETRACT]
    assert is_about(fact.text, statements[0].text)
    assert not is_about("The user plays chess on Sundays.", statements[0].text)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("I'm allergic to peanuts!", ["The user is allergic to peanuts."]),
        ("my brother lives in Calgary", ["The user's brother lives in Calgary."]),
        ("Ravi is my best friend.", ["Ravi is the user's best friend."]),
        ("We use Postgres 16.", ["The user's team uses Postgres 16."]),
        ("Never cc the client.", ["The user asks never to cc the client."]),
        ("Call me Gus.", ["The user's name is Gus."]),
        ("I have two cats and I work from home.", ["The user has two cats.", "The user works from home."]),
        ("I don't eat pork.", ["The user does not eat pork."]),
        ("Hi! What's up? I live in Utrecht.", ["The user lives in Utrecht."]),
    ],
)
def test_facts_are_told_in_the_third_person(text: str, facts: list[str]) -> None:
    assert [one.text for one in read_turn(text)] == facts


def test_a_speaker_with_a_name_is_called_by_it() -> None:
    assert [one.text for one in read_turn("I live in Graz.", speaker="Ana")] == ["Ana lives in Graz."]


def test_the_label_of_a_fact_is_that_of_its_text() -> None:
    for text, kind, _, slot in LABELS:
        (fact,) = read_turn(text)
        label = label_text(fact.text)
        assert label is not None, fact.text
        assert (label.kind, label.slot) == (kind, slot), fact.text


def test_a_plan_holds_until_the_day_that_it_names() -> None:
    label = label_text("I'm presenting in Oslo on 22 September.", at=NOON)
    assert label is not None
    assert label.valid_until is not None
    assert NOON < label.valid_until < NOON + 3 * 86_400_000


def _label(slot: str, value: str, subject: str = "user", *, negative: bool = False) -> Label:
    return Label(kind=Kind.IDENTITY, subject=subject, slot=slot, value=value, negative=negative)


def test_only_another_value_of_a_slot_with_one_value_replaces_a_fact() -> None:
    assert replaces(_label("home", "York"), _label("home", "Leeds"))
    assert not replaces(_label("home", "York"), _label("home", "Leeds", "Ana"))
    assert not replaces(_label("allergy", "nuts"), _label("allergy", "milk"))
    assert replaces(_label("diet", "vegan"), _label("diet", "vegetarian"))
    assert not replaces(_label("diet", "vegan"), _label("diet", "kosher"))
    assert replaces(_label("dislikes", "tea", negative=True), _label("likes", "tea"))
    assert not replaces(_label("home", "York"), _label("home", "york"))


@pytest.mark.parametrize(
    "text", ["", " ", "I", "I'", "my 's", "The", "'s is", ":-)", "I am", "my", "Can't", "¡" * 5000]
)
def test_any_text_can_be_read(text: str) -> None:
    assert label_text(text) is None
    assert read_turn(text) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I moor a narrowboat at Bath, which paint lasts longest?", "narrowboat"),
        ("Can't do late nights because of my arthritis, any matinees?", "arthritis"),
        ("Restoring a 1967 Vespa, where can I get parts", "Vespa"),
        ("a card for my cousin Ines please", "Ines"),
        ("As a beekeeper I need a lighter suit", "beekeeper"),
        ("My GP told me not to lift more than 3 kilos until June.", "3 kilos"),
        ("I cycle to the office, no car, so nothing off the bus route", "no car"),
    ],
)
def test_a_fact_is_read_beside_a_request(text: str, words: str) -> None:
    assert any(words in one.text for one in read_turn(text) if one.act is Act.ASSERT)


@pytest.mark.parametrize(
    "text",
    [
        "Let's play shop: I'm the owner of a bakery in Nice.",
        "You are a judge and I'm a lawyer from Boston.",
        "Talk to me as if I were a farmer from Kansas.",
        "I nearly moved to Bergen in 2019.",
        "Say somebody has two cats, what then?",
        "Naturally I own a yacht.",
        "I've been on hold for forty minutes.",
        "I already have 90 unread messages.",
    ],
)
def test_no_fact_comes_of_play_near_misses_and_the_moment(text: str) -> None:
    assert [one for one in read_turn(text) if one.act is Act.ASSERT] == []


@pytest.mark.parametrize(
    "text",
    [
        "Gets hives from nickel.",
        "Two signatures are required above 4,000 euros.",
        "No visitors after ten, house rule.",
        "Uses a wheelchair, needs step-free routes.",
    ],
)
def test_the_words_of_a_note_tell_a_constraint(text: str) -> None:
    label = label_text(text)
    assert label is not None
    assert label.kind is Kind.CONSTRAINT


def test_a_note_of_another_kind_is_no_constraint() -> None:
    for text in ("Collects old postcards.", "Studied history in Ghent.", "The garden has an apple tree."):
        label = label_text(text)
        assert label is None or label.kind is not Kind.CONSTRAINT


@pytest.mark.parametrize(
    ("unreal", "real"),
    [
        ("My old wizard character lives in a swamp.", "My old aunt Rosa lives in Porto."),
        ("For argument's sake, I live in Oslo.", "I live in Oslo."),
    ],
)
def test_no_fact_comes_of_a_character_or_an_assumption(unreal: str, real: str) -> None:
    assert [one for one in read_turn(unreal) if one.act is Act.ASSERT] == []
    assert [one for one in read_turn(real) if one.act is Act.ASSERT] != []


def test_what_was_mixed_up_is_taken_back_and_a_plain_denial_is_a_fact() -> None:
    (statement,) = read_turn("I don't play the harp, I mixed that up.")
    assert (statement.act, is_about("The user plays the harp.", statement.text)) == (Act.RETRACT, True)
    (statement,) = read_turn("I don't eat meat.")
    assert statement.act is Act.ASSERT
