"use strict";
// Reads the state every two seconds and writes it into what stands there; buttons ask for a change.
const tell = (name, text) => { for (const spot of document.querySelectorAll(`[data-text="${name}"]`)) spot.textContent = text; };
const many = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
const say = (row, state) => {
  const spot = row.querySelector(".state");
  const fired = state.firing.length > 0;
  spot.textContent = state.broken ? (fired ? "broken, alert fired" : "broken, alert on its way") : (fired ? "healed, alert goes" : "fine");
  spot.className = "state " + (state.broken ? (fired ? "wrong" : "look") : (fired ? "look" : "fine"));
  for (const button of row.querySelectorAll("button")) button.disabled = (button.dataset.do === "break") === state.broken;
};
async function look() {
  try {
    const state = await (await fetch("/state.json", { cache: "no-store" })).json();
    for (const row of document.querySelectorAll("[data-fault]")) say(row, state.faults[row.dataset.fault]);
    tell("firing", state.pages === 0 && state.tickets === 0 ? "nothing fires" : `firing: ${many(state.pages, "page")}, ${many(state.tickets, "ticket")}`);
    for (const [name, text] of Object.entries(state.progress)) tell("progress-" + name, text);
    const page = document.querySelector("[data-messages]");
    if (page && Number(page.dataset.messages) !== state.messages) location.reload();
  } catch { tell("firing", "the demo does not answer"); }
}
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-do]");
  if (!button) return;
  button.disabled = true;
  const name = button.closest("[data-fault]").dataset.fault;
  const answer = await fetch(`/${button.dataset.do}/${name}`, { method: "POST" });
  if (!answer.ok) alert(await answer.text());
  look();
});
setInterval(look, 2000);
look();
