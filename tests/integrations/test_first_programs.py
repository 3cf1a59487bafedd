"""The three programs that people write first, as examples of at most 30 lines."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FIRST = ("chat_loop", "team_with_reviewer", "support_bot")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", FIRST)
def test_an_example_has_at_most_thirty_lines(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 30


def test_a_chat_loop_does_not_forget_the_peanut_allergy() -> None:
    blocks: list[str] = []

    def ask(system: str, prompt: str) -> str:
        blocks.append(system)
        return prompt

    prompts = ["I'm allergic to peanuts.", "Which snacks can I eat?"]
    assert load("chat_loop").chat(prompts, "ana", store="memory://", ask=ask) == prompts
    assert "peanuts" in blocks[1]


def test_a_rule_holds_for_the_team_once_the_reviewer_approved_it(tmp_path: Path) -> None:
    before, after = load("team_with_reviewer").run(f"sqlite://{tmp_path}/memory.db")
    assert "Fridays" not in before
    assert "Never deploy on Fridays." in after


def test_a_support_bot_keeps_customers_apart_and_erases_one() -> None:
    texts = load("support_bot").run("memory://")
    assert "Studio" in texts["ana"]
    assert "hard of hearing" in texts["ana"]
    assert "Studio" not in texts["ben"]
    assert "Studio" not in texts["erased"]
