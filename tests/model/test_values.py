"""A value behaves as a frozen dataclass of the standard library, though its methods are written late."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from memorywire.model import values


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """One of everything a field can say."""

    name: str
    count: int = 3
    seen: dict[str, int] = field(default_factory=dict)
    hidden: str = field(default="h", repr=False, compare=False)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.name))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """The same, as the standard library writes it."""

    name: str
    count: int = 3
    seen: dict[str, int] = field(default_factory=dict)
    hidden: str = field(default="h", repr=False, compare=False)
    length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.name))


@values.dataclass(frozen=True, slots=True)
class Pair:
    first: str
    second: tuple[int, ...] = ()


@values.dataclass(slots=True)
class Changing:
    number: int = 0


@values.dataclass(frozen=True, slots=True)
class Own:
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_it_shows_itself_and_is_equal_as_a_dataclass_is() -> None:
    assert repr(Late(name="a", count=4)).replace("Late", "Plain") == repr(Plain(name="a", count=4))
    assert Late(name="a") == Late(name="a", hidden="other")
    assert Late(name="a") != Late(name="b")
    assert Late(name="a") != Plain(name="a")
    assert Late(name="a").seen is not Late(name="a").seen


def test_equal_values_are_one_in_a_set() -> None:
    assert {Pair("a", (1,)), Pair("a", (1,)), Pair("a")} == {Pair("a"), Pair("a", (1,))}
    with pytest.raises(TypeError, match="unhashable"):
        hash(Late(name="a"))


def test_it_has_the_fields_and_patterns_of_a_dataclass() -> None:
    shown = [(f.name, f.default, f.kw_only, f.init) for f in dataclasses.fields(Late)]
    assert shown == [(f.name, f.default, f.kw_only, f.init) for f in dataclasses.fields(Plain)]
    assert dataclasses.replace(Late(name="a"), name="abc").length == 3
    assert dataclasses.asdict(Late(name="a")) == dataclasses.asdict(Plain(name="a"))
    match Pair("a", (1, 2)):
        case Pair(first, second):
            assert (first, second) == ("a", (1, 2))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_is_equal(again: Callable[[Any], Any]) -> None:
    value = Late(name="a", seen={"b": 1})
    assert again(value) == value
    assert again(value).length == 1


def test_one_with_changes_is_another_and_the_first_stays() -> None:
    value = Pair("a", (1,))
    assert (
        values.replaced(value, second=(2, 3))
        == Pair("a", (2, 3))
        == dataclasses.replace(value, second=(2, 3))
    )
    assert values.replaced(value) == value == Pair("a", (1,))
    with pytest.raises(KeyError):
        values.replaced(value, third=1)


@values.dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    kind: str
    new: int = 1
    marks: dict[str, int] = field(default_factory=dict)
    last: str | None = None


def test_a_maker_makes_what_the_kind_makes() -> None:
    made = values.maker(Named)(kind="a", last="z")
    assert made == values.maker(Named)("a", 1, {}, "z") == Named(kind="a", last="z")
    assert type(made) is Named
    assert repr(made) == repr(Named(kind="a", last="z"))
    assert values.maker(Named)("a").marks is not values.maker(Named)("a").marks
    assert copy.copy(made) == pickle.loads(pickle.dumps(made)) == made
    assert values.maker(Pair)("a") == Pair("a")
    assert hash(values.maker(Pair)("a")) == hash(Pair("a"))


def test_what_a_maker_made_is_as_frozen_as_any_other_value() -> None:
    made, name = values.maker(Pair)("a", (1,)), "first"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'first'"):
        setattr(made, name, "b")
    with pytest.raises(TypeError, match="second"):
        values.maker(Named)("a", second=2)
    with pytest.raises(TypeError, match="kind"):
        values.maker(Named)(new=2)
    assert made == Pair("a", (1,))


def test_nothing_of_it_is_assigned_or_deleted() -> None:
    value, name = Pair("a"), "first"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'first'"):
        setattr(value, name, "b")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'first'"):
        delattr(value, name)
    assert value == Pair("a")


@pytest.mark.parametrize(
    ("args", "named", "said"),
    [
        ((), {}, "missing 1 required keyword-only argument: 'name'"),
        (("a",), {}, "takes 1 positional argument but 2 were given"),
        ((), {"name": "a", "other": 1}, "unexpected keyword argument 'other'"),
    ],
    ids=["missing", "by place", "unknown"],
)
def test_it_is_made_with_the_arguments_of_a_dataclass_only(
    args: tuple[str, ...], named: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        Plain(*args, **named)
    with pytest.raises(TypeError, match=rf"Late.__init__\(\) .*{said}"):
        Late(*args, **named)


def test_what_changes_or_writes_its_own_methods_is_a_plain_dataclass() -> None:
    changing = Changing()
    changing.number = 5
    assert changing == Changing(5)
    assert repr(Own("a")) == "<a>"
    assert Own("a") == Own("a")


def test_its_methods_are_written_when_they_are_first_called() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Fresh:
        name: str

    waiting = Fresh.__init__
    Fresh("a")
    written = Fresh.__init__
    Fresh("b")
    assert waiting is not written
    assert Fresh.__init__ is written
