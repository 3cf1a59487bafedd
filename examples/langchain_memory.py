"""A LangChain chain with memory before the model.

pip install "memorywire-core[langchain]"; python examples/langchain_memory.py

The model is a fake that needs no key: it answers with the first message of its input. Use a real one instead.
"""

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from memorywire.sync import Memory
from memorywire_frameworks.langchain import memory_prompt


def respond(messages: list[BaseMessage]) -> str:
    return str(messages[0].content)


def main() -> None:
    with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        memory.remember("Ana prefers green tea to coffee.")
        chain = memory_prompt(memory, system="Be brief.") | RunnableLambda(respond)
        print(chain.invoke("What does Ana drink?"))


if __name__ == "__main__":
    main()
