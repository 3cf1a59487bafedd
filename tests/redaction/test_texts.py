"""What becomes of a text: markers in place of secrets, everything else as it was."""

import subprocess
import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire.model.errors import InvalidRequest
from memorywire.policy.redact import Redactor
from tests.redaction.corpus.ordinary import ordinary
from tests.redaction.corpus.secrets import held_out_kinds, written_for
from tests.redaction.corpus.shapes import draw

TOKEN = draw("ghp_{alnum:36}", Random(1))
KNOWN = "correct-horse-7"


def test_the_marker_stands_exactly_where_the_secret_stood():
    clean, kinds = Redactor().text(f"Ana uses {TOKEN}, Ben does not.")
    assert (clean, kinds) == ("Ana uses [REDACTED:github-token], Ben does not.", ("github-token",))


def test_a_registered_value_goes_by_its_label():
    clean, kinds = Redactor({"vault/db".replace("/", ":"): KNOWN}).text(f"the password is {KNOWN}, and")
    assert (clean, kinds) == ("the password is [REDACTED:vault:db], and", ("vault:db",))


def test_the_longest_registered_value_wins():
    redactor = Redactor({"short": KNOWN, "long": f"{KNOWN}-and-more"})
    assert redactor.text(f"{KNOWN}-and-more, {KNOWN}") == (
        "[REDACTED:long], [REDACTED:short]",
        ("long", "short"),
    )


def test_a_run_of_base64_goes_whole_when_a_registered_value_is_inside():
    import base64

    for before in ("", "u", "us", "user:"):
        coded = base64.b64encode(f"{before}{KNOWN}:tail".encode()).decode()
        assert Redactor({"mine": KNOWN}, patterns=False).text(f"a {coded} b")[0] == "a [REDACTED:mine] b"


@given(st.text(), st.text(), st.text(min_size=6).filter(lambda secret: len(secret.strip()) >= 6))
def test_no_text_around_it_hides_a_registered_value(before: str, after: str, secret: str):
    clean, kinds = Redactor({"S": secret}, patterns=False).text(f"{before}{secret}{after}")
    assert kinds == ("S",)
    assert "[REDACTED:S]" in clean


@given(st.text())
def test_a_text_without_registered_values_is_returned_as_it_is(text: str):
    assert Redactor({"mine": "\u2603 never drawn \u2603"}, patterns=False).text(text) == (text, ())


def test_redacting_twice_changes_nothing():
    redactor = Redactor({"mine": KNOWN})
    for sample in (*written_for(4), *held_out_kinds(4), *ordinary(300)):
        once, _ = redactor.text(f"{sample.text} {KNOWN}")
        assert redactor.text(once) == (once, ()), sample.kind


def test_several_secrets_are_each_named():
    pair = f"{TOKEN} and {draw('AKIA{base32:16}', Random(2))}\n{draw('sk_live_{alnum:24}', Random(3))}"
    assert Redactor().text(pair) == (
        "[REDACTED:github-token] and [REDACTED:aws-access-key]\n[REDACTED:stripe-key]",
        ("github-token", "aws-access-key", "stripe-key"),
    )


def test_a_whole_token_at_a_line_end_does_not_swallow_the_next_line():
    assert Redactor().text(f"{TOKEN}\nThen")[0] == "[REDACTED:github-token]\nThen"


def test_text_beside_other_scripts_keeps_its_place():
    clean, _ = Redactor().text(f"鍵は 🔑 {TOKEN} です — «ok» ﷽")
    assert clean == "鍵は 🔑 [REDACTED:github-token] です — «ok» ﷽"


@pytest.mark.parametrize(
    "text", ["", " ", "\ud800", "\x00" * 50, "=" * 500, "a" * 5000, "-----BEGIN PRIVATE KEY-----"]
)
def test_odd_texts_pass(text: str):
    assert Redactor({"mine": KNOWN}).text(text) == (text, ())


@pytest.mark.parametrize("secret", ["", "12345", "    a    "])
def test_a_value_too_short_to_search_for_is_refused(secret: str):
    with pytest.raises(InvalidRequest) as caught:
        Redactor({"pin": secret})
    assert "pin" in caught.value.detail
    assert caught.value.fix


def test_a_label_that_would_break_the_marker_is_refused_without_showing_the_value():
    with pytest.raises(InvalidRequest) as caught:
        Redactor({"a]b": KNOWN})
    assert KNOWN not in str(caught.value.problem())


def test_the_engine_is_loaded_only_when_a_text_is_read():
    script = (
        "import sys\n"
        "from memorywire.policy.redact import Redactor\n"
        "redactor = Redactor()\n"
        "print('re2' in sys.modules)\n"
        "redactor.text('a text')\n"
        "print('re2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
        "sk-1234567890abcdef1234567890abcdef",
        "sk-proj-Zk3v0123456789qLx8wPnB2",
    ],
)
def test_what_its_prefix_names_a_key_is_one_though_it_counts(key: str):
    assert Redactor().text(f"Ana uses {key} for it")[0] == "Ana uses [REDACTED:key-like] for it"


@pytest.mark.parametrize(
    "ordinary",
    [
        "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-proj-YOUR_KEY_0123456789abcdef",
        "part_0123456789abcdef",
        "sk-abc123",
    ],
)
def test_a_placeholder_stays_one_behind_any_prefix(ordinary: str):
    assert Redactor().text(f"Ana uses {ordinary} for it") == (f"Ana uses {ordinary} for it", ())
