"""Personal data is found on request, by its check digits where it has some, and kept otherwise."""

import asyncio

import pytest

from memorywire import Memory
from memorywire.app.settings import load_settings
from memorywire.model.errors import InvalidRequest
from memorywire.policy.redact import Redactor
from tests.redaction.corpus.people import mistyped, people
from tests.redaction.measuring import score


def test_personal_data_is_found_when_it_is_asked_for():
    found = score(Redactor(personal=True), people(40))
    assert found.recall >= 0.99, found.missed
    assert not found.false, found.false


def test_a_number_with_a_wrong_check_digit_is_nobodys():
    """A few of them read as phone numbers."""
    flagged = score(Redactor(personal=True), mistyped(40)).false
    assert len(flagged) <= 0.05 * 160, flagged


def test_personal_data_stays_unless_it_is_asked_for():
    assert not any(Redactor().text(sample.text)[1] for sample in people(10))


@pytest.mark.parametrize(
    "text",
    [
        "The meeting is on 2026-11-17 at 09:30 in room 204, 3rd floor.",
        "Version 2.14.0-rc.3 has 1,284,311 tokens, p = 0.00042.",
        "UUID 550e8400-e29b-41d4-a716-446655440000, commit 9fceb02d0ae598e9.",
        "Order 302-5846291-7719253 cost 48.10 EUR; ISBN 978-3-16-148410-0.",
        "IP 192.168.178.42, port 8377, epoch 1763372411, 52.520008,13.404954",
    ],
)
def test_ordinary_numbers_stay(text: str):
    assert Redactor(personal=True).text(text) == (text, ())


def test_the_setting_is_off_unless_it_says_redact():
    home = {"MEMORYWIRE_HOME": "/nowhere"}
    assert not load_settings(env=home).redact_personal
    assert load_settings(env={**home, "MEMORYWIRE_PERSONAL_DATA": "redact"}).redact_personal
    with pytest.raises(InvalidRequest):
        load_settings(env={**home, "MEMORYWIRE_PERSONAL_DATA": "yes"})


def test_a_memory_that_is_asked_to_keeps_no_card_number():
    async def story() -> None:
        async with Memory("bot", ["memory://"], redact_personal=True) as memory:
            done = await memory.remember("Ana pays with 4111 1111 1111 1111", source="chat")
            record = await memory.get(done.id)
            assert record.content == "Ana pays with [REDACTED:card-number]"

    asyncio.run(story())
