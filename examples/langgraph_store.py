"""A LangGraph graph whose long-term store is memorywire.

pip install "memorywire[langgraph]"; python examples/langgraph_store.py
"""

from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memorywire.integrations.langgraph import MemorywireStore
from memorywire.sync import Memory


class State(TypedDict):
    said: str
    answer: str


def listen(state: State, *, store: BaseStore) -> dict[str, str]:
    """Keep what was said, then answer with what is nearest to a question."""
    if not state["said"].endswith("?"):
        store.put(("users", "ana"), "latest", {"text": state["said"]})
        return {"answer": "noted"}
    found = store.search(("users", "ana"), query=state["said"], limit=1)
    return {"answer": found[0].value["text"] if found else "I do not know"}


def main() -> None:
    with Memory("assistant", ["memory://"]) as memory:  # name a store to keep it: sqlite:///memory.db
        graph = StateGraph(State)
        graph.add_node("listen", listen)
        graph.add_edge(START, "listen")
        graph.add_edge("listen", END)
        app = graph.compile(store=MemorywireStore(memory))
        for said in ("Ana prefers green tea to coffee.", "What does Ana drink?"):
            print(f"{said} -> {app.invoke({'said': said, 'answer': ''})['answer']}")


if __name__ == "__main__":
    main()
