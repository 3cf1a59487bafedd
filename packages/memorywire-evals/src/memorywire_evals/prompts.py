"""The prompt of every reader of a grid, and the share of memory in it."""

from collections.abc import Sequence

from memorywire_evals.cases import Question, day
from memorywire_evals.metrics import tokens

UNKNOWN = "I do not know"

ANSWER = """Answer the question in one short sentence. Say "{unknown}" when you cannot tell.{memories}

Today is {today}.
Question: {question}
Answer:"""


def answer_prompt(question: Question, memories: Sequence[str] | None) -> str:
    """Return the prompt; it differs between cells only in the memories."""
    today = "unknown" if question.asked_at is None else day(question.asked_at)
    return ANSWER.format(unknown=UNKNOWN, memories=_list(memories), today=today, question=question.text)


def memory_share(question: Question, memories: Sequence[str] | None) -> float:
    """Return the efficiency: tokens of memory over all tokens of the prompt. Less is better."""
    return tokens(_list(memories)) / tokens(answer_prompt(question, memories))


def _list(memories: Sequence[str] | None) -> str:
    return "" if memories is None else "\n\nMemories:\n" + "\n".join(f"- {text}" for text in memories)
