"""The tokenizer gives the ids of the library the model was trained with."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire_minilm.model import TABLE, VOCABULARY, load_vocabulary
from memorywire_minilm.tokenizer import Tokenizer
from memorywire_minilm.vocabulary import build_table

tokenizers = pytest.importorskip("tokenizers")

TEXTS = [
    "",
    " ",
    "\t\n\r",
    "Hello, World!",
    "don't stop; it's 5 o'clock (really?)",
    "naïve café Ångström ﬁne Straße İstanbul",
    "ΑΣ ΣΑΣ ὀδυσσεύς",
    "日本語のテキスト 한국어 中文字符",
    "𠀀𠀁 豈更 \U0002b820 \U0002b920",
    "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽",
    "zero\u200bwidth\u00adsoft\ufeffmark\x00nul\ufffdbad\x85next",
    "nbsp\u00a0thin\u2009line\u2028para\u2029ideo\u3000graphic",
    "a" * 100,
    "a" * 101,
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "[CLS] literal [SEP] special [MASK] [PAD] [UNK] [cls]",
    "word[MASK]word",
    "https://example.org/a_b?c=d&e=%20#f <tag attr='x'/> {\"json\": [1, 2.5e-3]}",
    "Ｆｕｌｌｗｉｄｔｈ ｔｅｘｔ！",
    "combining e\u0301 \u0301 a\u0308\u0304 \u302e\u302f",
    "word " * 400,
]


def _pieces() -> list[str]:
    return VOCABULARY.read_text("utf-8").splitlines()


@cache
def ours() -> Tokenizer:
    return Tokenizer(load_vocabulary(), 256)


@cache
def theirs():
    model = tokenizers.models.WordPiece(
        {piece: index for index, piece in enumerate(_pieces())},
        unk_token="[UNK]",
        max_input_chars_per_word=100,
    )
    oracle = tokenizers.Tokenizer(model)
    oracle.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    oracle.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    oracle.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 102), ("[CLS]", 101))
    oracle.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    oracle.enable_truncation(256)
    return oracle


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_known_texts_have_the_oracles_ids(text):
    assert ours().encode(text) == theirs().encode(text).ids


@given(st.text())
def test_any_text_has_the_oracles_ids(text):
    assert ours().encode(text) == theirs().encode(text).ids


@given(st.text(alphabet="aAeéÉ́̈  .,'-[]CLSEPσΣς中文\n\t\u200d", max_size=60))
def test_tangled_texts_have_the_oracles_ids(text):
    assert ours().encode(text) == theirs().encode(text).ids


def test_every_character_in_use_has_the_oracles_ids():
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]
    texts = [f"a{chr(point)}b" for point in points]
    expected = theirs().encode_batch(texts)
    wrong = [text for text, oracle in zip(texts, expected, strict=True) if ours().encode(text) != oracle.ids]
    assert wrong == []


@given(st.text(alphabet=st.characters()))
def test_lone_surrogates_are_dropped(text):
    assert ours().encode(f"{text}\ud800") == ours().encode(text)


def test_the_last_token_of_a_long_text_closes_it():
    ids = ours().encode(json.dumps(list(range(1000))))
    assert (len(ids), ids[0], ids[-1]) == (256, 101, 102)


def test_the_table_finds_every_piece_and_nothing_else():
    vocabulary, pieces = load_vocabulary(), _pieces()
    assert [vocabulary.get(piece) for piece in pieces] == list(range(len(pieces)))
    assert vocabulary.longest == max(map(len, pieces))
    absent = {f"{piece}\u0301" for piece in pieces[::50]} | {"", "\ud800", "##"} - set(pieces)
    assert {vocabulary.get(piece) for piece in absent} == {None}


def test_the_table_is_that_of_the_vocabulary():
    assert build_table(VOCABULARY.read_bytes()) == TABLE.read_bytes()
