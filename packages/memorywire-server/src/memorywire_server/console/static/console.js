// Makes pages quicker for those who have scripts on; without, every form and link works by itself.
"use strict";

document.addEventListener("change", (event) => {
  if (event.target.matches("#theme, #whose, [data-send]")) event.target.form.requestSubmit();
  if (event.target.matches("[data-all]")) for (const box of boxes()) box.checked = event.target.checked;
  if (event.target.matches('[name="id"], [data-all]')) countTicked();
});

const find = (selector, within = document) => within.querySelector(selector);
const boxes = () => document.querySelectorAll('#rows input[name="id"]');
const ticked = () => document.querySelectorAll(':is(li, tr) input[name="id"]:checked');

// What cannot be undone is not done by one key: it asks for a typed word.
const erasesTicked = () =>
  [...ticked()].some((box) => box.closest("[data-erases]")) && find("#several-confirm").value.trim() !== "erase";

function countTicked() {
  const told = find("#ticked");
  if (told) told.textContent = ticked().length;
}

// One request at a time: keys that come meanwhile wait, so that each is about what it then finds.
const waiting = [];
let busy = false;
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.closest("[data-inbox]")) busy = true;
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "detail") show(event.target);
  if (event.target.id === "inbox" || event.target.id === "detail") goOn();
});
for (const failed of ["htmx:sendError", "htmx:abort", "htmx:timeout"]) document.addEventListener(failed, goOn);
document.addEventListener("htmx:sendError", () => {
  tell("The server does not respond. Try again; the activity page shows what was done.");
});

// In one column what was opened takes the place of the list, and begins at its top.
function show(detail) {
  if (!find(".queue").offsetParent) detail.scrollIntoView({ block: "start" });
}

function goOn() {
  busy = false;
  while (waiting.length && !busy) act(waiting.shift());
}

function tell(text) {
  const note = document.createElement("div");
  note.className = "note problem";
  note.appendChild(document.createElement("p")).textContent = text;
  find("#notes").replaceChildren(note);
}

// An answer without the part that was asked for (a session that ended) is a page of its own.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, target } = event.detail;
  if (!target.id || xhr.responseText.includes(`id="${target.id}"`)) return;
  event.preventDefault();
  window.location.assign(xhr.responseURL);
});

function moveTo(item) {
  if (!item) return;
  for (const old of document.querySelectorAll(".item.current")) {
    old.classList.remove("current");
    find(".open", old).removeAttribute("aria-current");
  }
  item.classList.add("current");
  const link = find(".open", item);
  link.setAttribute("aria-current", "true");
  link.focus({ preventScroll: true });
  item.scrollIntoView({ block: "nearest" });
  find(".panes").classList.add("opened");
  leadBack(link.href);
}

// What is shown with the new ones is still what is under the cursor. A link is read when it is made.
function leadBack(address) {
  const told = find("#arrivals");
  const again = told.cloneNode(true);
  again.href = address;
  told.replaceWith(again);
  htmx.process(again);
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-help]")) return find("#help").showModal();
  const link = event.target.closest(".item .open");
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) moveTo(link.closest(".item"));
});

function unfold(name, field = "textarea, input:not([type=hidden])") {
  const part = find(`details[data-act="${name}"]`);
  if (!part) return;
  part.open = true;
  find(field, part).focus();
}

// In a list the keys move the focus from row to row.
function walk(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement.closest("[data-row]"));
  const next = rows[at < 0 ? 0 : at + by];
  if (!next) return;
  find(".text a", next).focus();
  next.scrollIntoView({ block: "nearest" });
}

const inList = {
  j: () => walk(1),
  k: () => walk(-1),
  x: () => find("input", document.activeElement.closest("[data-row]") ?? document.createElement("i"))?.click(),
  "/": () => find('main [data-key="/"]')?.focus(),
};

function step(by) {
  const items = [...document.querySelectorAll(".items .item[data-id]")];
  const next = items[items.findIndex((item) => item.classList.contains("current")) + by];
  if (next) find(".open", next).click();
}

const acts = {
  j: () => step(1),
  k: () => step(-1),
  x: () => find(".item.current input")?.click(),
  a: () => {
    if (erasesTicked()) find("#several-confirm").focus();
    else if (ticked().length) find('#several button[value="approve"]').click();
    else if (find('details[data-act="erase"]')) unfold("erase");
    else find('form[data-act="approve"]')?.requestSubmit();
  },
  r: () => (ticked().length ? find("#several-reason").focus() : unfold("reject")),
  e: () => unfold("edit"),
  m: () => find('form[data-act="similar"] button[value="merge"]')?.focus(),
  i: () => find('form[data-act="take"]')?.requestSubmit(),
  c: () => unfold("more", "textarea"),
  s: () => unfold("more", "select"),
  u: () => find('form[data-key="u"]')?.requestSubmit(),
  "/": () => find('[data-key="/"]')?.focus(),
  "?": () => find("#help")?.showModal(),
};

function act(key) {
  acts[key]();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (typing) {
    if (event.key === "ArrowDown" && event.target.id === "q" && find("[data-row]")) {
      event.preventDefault();
      walk(1);
    }
    if (event.key === "Escape" && !event.target.closest("dialog")) event.target.blur();
    if (event.key === "Enter" && event.ctrlKey && event.target.form) event.target.form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in acts)) return;
  if (document.body.dataset.keys !== "on" && event.key !== "?") return;
  if (!find("[data-inbox]") && event.key in inList) {
    event.preventDefault();
    return inList[event.key]();
  }
  if (!find("[data-inbox]") && event.key !== "u") return;
  event.preventDefault();
  if (busy) waiting.push(event.key);
  else act(event.key);
});

// What arrives is announced where nothing moves; it is shown when somebody asks for it.
function listen() {
  const inbox = find("[data-inbox]");
  if (!inbox) return;
  const source = new EventSource(inbox.dataset.stream);
  let arrived = 0;
  source.addEventListener("staged", () => {
    arrived += 1;
    const told = find("#arrivals");
    if (!told) return;
    told.hidden = false;
    told.textContent = `${arrived} new: show`;
  });
  for (const kind of ["approved", "rejected", "expired"]) {
    source.addEventListener(kind, (event) => {
      const id = JSON.parse(event.data).subject;
      const item = find(`.item[data-id="${CSS.escape(id)}"]`);
      if (item) item.classList.add("settled");
    });
  }
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "inbox") arrived = 0;
  });
}

function offerCopies() {
  for (const text of document.querySelectorAll("[data-copy]")) {
    const words = text.textContent;
    const button = document.createElement("button");
    button.className = "copying";
    button.textContent = "Copy";
    button.setAttribute("aria-label", text.dataset.copy);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(words);
      button.textContent = "Copied";
    });
    text.prepend(button);
  }
}

// Times are shown in the zone of the viewer; UTC, as the ledger has it, is one hover away.
const zoned = new Intl.DateTimeFormat("sv", { dateStyle: "short", timeStyle: "medium" });
function localise(within) {
  for (const time of within.querySelectorAll("time:not([title])")) {
    time.title = `${time.textContent} UTC`;
    time.textContent = zoned.format(new Date(time.dateTime));
  }
}
document.addEventListener("htmx:afterSettle", () => {
  localise(document);
  countTicked();
});

// The palette: everything the console can open, by a few letters.
function seek() {
  const palette = find("#palette");
  if (!palette || palette.open) return;
  palette.showModal();
  const words = find("input", palette);
  words.value = "";
  words.dispatchEvent(new Event("open"));
}
document.addEventListener("keydown", (event) => {
  if (event.key === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return seek();
  }
  const palette = event.target.closest("#palette");
  if (!palette || !["ArrowDown", "ArrowUp", "Enter"].includes(event.key)) return;
  const links = [...palette.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Enter" && at < 0) links[0]?.click();
  if (event.key === "Enter") return;
  event.preventDefault();
  const next = at + (event.key === "ArrowDown" ? 1 : -1);
  (links[next] ?? find("input", palette)).focus();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-palette]") || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  seek();
});

document.addEventListener("DOMContentLoaded", () => {
  localise(document);
  find(".item.current")?.scrollIntoView({ block: "nearest" });
  listen();
  countTicked();
  offerCopies();
});
