"""A chat loop that remembers: `context` before each answer, the person's own words after it."""

from collections.abc import Callable, Iterable

from memorywire.sync import Memory


def answer(system: str, prompt: str) -> str:
    """Stands for a call of your model."""
    return f"(a model answers {prompt!r} with {len(system.splitlines())} lines of memory)"


def chat(
    prompts: Iterable[str], user: str, *, store: str, ask: Callable[[str, str], str] = answer
) -> list[str]:
    replies = []
    with Memory(agent_id="assistant", user_id=user, stores=store) as memory:
        for prompt in prompts:
            block = memory.context(prompt, budget=256)
            replies.append(ask(block.text, prompt))
            memory.layer.add([{"role": "user", "content": prompt}])
    return replies


if __name__ == "__main__":
    for reply in chat(["I'm allergic to peanuts.", "Which snacks can I eat?"], "ana", store="memory://"):
        print(reply)
