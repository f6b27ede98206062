"use strict";
// Fetches the state every two seconds and updates the page; buttons break and heal faults.
const setText = (name, text) => { for (const spot of document.querySelectorAll(`[data-text="${name}"]`)) spot.textContent = text; };
const many = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
const showState = (row, state) => {
  const spot = row.querySelector(".state");
  const fired = state.firing.length > 0;
  spot.textContent = state.broken ? (fired ? "broken, alert fires" : "broken, alert pending") : (fired ? "healed, alert resolving" : "fine");
  spot.className = "state " + (state.broken ? (fired ? "wrong" : "warn") : (fired ? "warn" : "fine"));
  for (const button of row.querySelectorAll("button")) button.disabled = (button.dataset.do === "break") === state.broken;
};
const link = (text, address) => Object.assign(document.createElement("a"), { textContent: text, href: address });
const WORDS = { critical: ["wrong", "page"], warning: ["warn", "ticket"] }; // others are for information
const showFiring = (list, alerts) => list.replaceChildren(...alerts.filter((alert) => alert.severity in WORDS).map((alert) => {
  const item = document.createElement("li");
  const [style, word] = WORDS[alert.severity];
  item.className = style;
  item.append(word + ": ", alert.name.replace("JetStream", ""), " ", link(alert.place || "look", alert.board), ", ", link("runbook", alert.runbook));
  return item;
}));
async function refresh() {
  try {
    const state = await (await fetch("/state.json", { cache: "no-store" })).json();
    for (const row of document.querySelectorAll("[data-fault]")) showState(row, state.faults[row.dataset.fault]);
    setText("firing", state.pages === 0 && state.tickets === 0 ? "no alert fires" : `firing: ${many(state.pages, "page")}, ${many(state.tickets, "ticket")}`);
    const broken = Object.entries(state.faults).filter(([, fault]) => fault.broken).map(([name]) => name);
    setText("broken", broken.join(", ") || "nothing");
    for (const list of document.querySelectorAll('[data-list="firing"]')) showFiring(list, state.firing);
    for (const [name, text] of Object.entries(state.progress)) setText("progress-" + name, text);
    const page = document.querySelector("[data-messages]");
    if (page && Number(page.dataset.messages) !== state.messages) location.reload();
  } catch { setText("firing", "the demo does not respond"); }
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-do]");
  if (!button) return;
  button.disabled = true;
  const name = button.closest("[data-fault]").dataset.fault;
  const response = await fetch(`/${button.dataset.do}/${name}`, { method: "POST" });
  if (!response.ok) alert(await response.text());
  refresh();
});
setInterval(refresh, 2000);
refresh();
