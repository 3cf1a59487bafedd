"""Two agents that share one store, and a person who approves what one of them wants to remember."""

from memorywire.sync import Memory


def run(store: str) -> tuple[str, str]:
    """What the writer reads before and after the reviewer approved the rule of the planner."""
    rule = "Never deploy on Fridays."
    with Memory(agent_id="crew", stores=store, caller="agent:planner") as planner:
        receipt = planner.remember(rule, kind="constraint", approval_required=True)
        before = planner.context("Ship the release").text
    with Memory(agent_id="crew", stores=store, caller="person:reviewer") as reviewer:
        reviewer.decide(receipt.proposal_id, "approve", reason="agreed in the retrospective")
    with Memory(agent_id="crew", stores=store, caller="agent:writer") as writer:
        return before, writer.context("Ship the release").text


if __name__ == "__main__":
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        print(*run(f"sqlite://{folder}/memory.db"), sep="\n---\n")
