"""A LangGraph graph whose long-term store is memorywire.

pip install "memorywire-core[langgraph]"; python examples/langgraph_store.py
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memorywire.sync import Memory
from memorywire_frameworks.langgraph import MemorywireStore


class State(TypedDict):
    message: str
    answer: str


def listen(state: State, *, store: BaseStore) -> dict[str, str]:
    """Store a statement; answer a question with the nearest stored statement."""
    if not state["message"].endswith("?"):
        store.put(("users", "ana"), "latest", {"text": state["message"]})
        return {"answer": "noted"}
    items = store.search(("users", "ana"), query=state["message"], limit=1)
    return {"answer": items[0].value["text"] if items else "I do not know"}


def main() -> None:
    with Memory("assistant", ["memory://"]) as memory:  # use a file to persist: sqlite:///./memory.db
        graph = StateGraph(State)
        graph.add_node("listen", listen)
        graph.add_edge(START, "listen")
        graph.add_edge("listen", END)
        app = graph.compile(store=MemorywireStore(memory))
        for message in ("Ana prefers green tea to coffee.", "What does Ana drink?"):
            print(f"{message} -> {app.invoke({'message': message, 'answer': ''})['answer']}")


if __name__ == "__main__":
    main()
