"""A support bot that knows its customers, never mixes them up, and erases one who asks for it."""

from memorywire.sync import Memory

NOTES = {
    "ana": ["The customer is on the Studio plan.", "The customer is hard of hearing; write, do not call."],
    "ben": ["The customer is on the Free plan."],
}


def run(store: str) -> dict[str, str]:
    """What the bot reads for a ticket of each customer, before and after the erasure of ana."""
    with Memory(agent_id="support", stores=store) as memory:
        memory.remember("Never promise a refund.", kind="constraint")
        for customer, notes in NOTES.items():
            memory.remember_many({"content": note, "user_id": customer} for note in notes)
        ticket = "When can we call about the plan?"
        read = {customer: memory.context(ticket, user_id=customer).text for customer in NOTES}
        ids = [record.id for record in memory.list(user_id="ana")]
        memory.forget(ids, user_id="ana", hard_delete=True, reason="the customer asked for it")
        return read | {"erased": memory.context(ticket, user_id="ana").text}


if __name__ == "__main__":
    for name, text in run("memory://").items():
        print(f"{name}:\n{text or '(nothing)'}")
