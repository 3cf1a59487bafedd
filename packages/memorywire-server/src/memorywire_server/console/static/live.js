// The activity shows what happens while it happens, until somebody pauses it.
"use strict";

const KINDS = [
  "committed", "staged", "approved", "rejected", "refused", "expired",
  "reopened", "endorsed", "rebased", "stale", "assigned", "commented",
  "snoozed", "added", "removed", "useful", "wrong", "outdated",
];

function follow() {
  const button = find("[data-live]");
  if (!button) return;
  const state = find("#live-state");
  let [missed, timer] = [0, 0];
  const again = () => {
    timer = 0;
    htmx.ajax("GET", window.location.href, { target: "#entries", select: "#entries", swap: "outerHTML" });
  };
  const isLive = () => button.getAttribute("aria-pressed") === "true";
  const hear = () => {
    if (isLive()) timer ||= setTimeout(again, 400);
    else state.textContent = `Paused: ${(missed += 1)} new.`;
  };
  button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", String(!isLive()));
    button.textContent = isLive() ? "Pause" : "Go on";
    state.textContent = isLive() ? "New entries appear as they happen." : "Paused: 0 new.";
    if (isLive() && missed) again();
    missed = 0;
  });
  const source = new EventSource(button.dataset.live);
  for (const kind of KINDS) source.addEventListener(kind, hear);
}

document.addEventListener("DOMContentLoaded", follow);
