"use strict";
// Refreshes the page and shows its age. The pages also work without this script, which fetches nothing.
(() => {
  const REFRESH_MS = 15000;

  function refreshing() {
    const box = document.getElementById("refresh");
    let timer;
    const again = () => {
      // Do not reload while the user types.
      if (document.activeElement?.type === "search") timer = setTimeout(again, REFRESH_MS);
      else location.reload();
    };
    const follow = () => {
      clearTimeout(timer);
      if (box.checked) timer = setTimeout(again, REFRESH_MS);
    };
    // In the hash, so that a shared link and a reload keep it.
    box.addEventListener("change", () => {
      history.replaceState(null, "", box.checked ? "#refresh" : location.pathname + location.search);
      follow();
    });
    box.parentElement.hidden = false;
    box.checked = location.hash === "#refresh";
    follow();
  }

  // Shows the age of a page that stays open.
  function ageing() {
    const opened = Date.now();
    const limit = Number(document.body.dataset.staleAfter);
    const old = document.querySelector(".old");
    old.querySelector("button").addEventListener("click", () => location.reload());
    setInterval(() => {
      const seconds = Math.floor((Date.now() - opened) / 1000);
      const age = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
      document.getElementById("age").textContent = `, ${age} ago`;
      old.hidden = seconds <= limit;
    }, 1000);
  }

  refreshing();
  ageing();
})();
