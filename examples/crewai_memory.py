"""A CrewAI crew with memory.

pip install "memorywire-core[crewai]"; python examples/crewai_memory.py

The model is a fake that needs no key: it answers with the memories in its input. Use a real one instead.
"""

from typing import Any

from crewai import Agent, BaseLLM, Crew, Task

from memorywire.sync import Memory
from memorywire_frameworks.crewai import MemorywireMemory


class ShowingModel(BaseLLM):
    """Answers with the lines of its input that are memories."""

    def call(self, messages: Any, *rest: Any, **options: Any) -> str:
        text = messages if isinstance(messages, str) else "\n".join(str(one["content"]) for one in messages)
        lines = [line for line in text.splitlines() if line.startswith("- (score=")]
        return "Final Answer: " + (lines[0].partition(") ")[2] if lines else "I know nothing about that.")


def main() -> None:
    with Memory("crew", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        memory.remember("Ana prefers green tea to coffee.")
        waiter = Agent(
            role="waiter", goal="serve guests", backstory="attentive", llm=ShowingModel(model="showing")
        )
        task = Task(description="What does Ana drink?", expected_output="a drink", agent=waiter)
        crew = Crew(agents=[waiter], tasks=[task], memory=MemorywireMemory(memory))
        print(crew.kickoff().raw)


if __name__ == "__main__":
    main()
