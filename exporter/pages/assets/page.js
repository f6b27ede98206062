"use strict";
// Sorts, searches and refreshes. The page also works without this script, which fetches nothing.
(() => {
  const REFRESH_MS = 15000;
  let state = new URLSearchParams();

  // The state is in the URL hash, so that a shared link shows the same view.
  const remember = (key, value) => {
    if (value) state.set(key, value);
    else state.delete(key);
    const hash = state.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  };

  const byText = new Intl.Collator("en", { numeric: true });

  const keyOf = (cell, numeric) => {
    const raw = cell.dataset.v ?? cell.textContent;
    if (!numeric) return raw;
    return raw === "" ? NaN : Number(raw.replaceAll(",", ""));
  };

  const compare = (a, b, sign) => {
    if (typeof a === "string") return sign * byText.compare(a, b);
    // Unknown values are last in both directions.
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return sign * (a - b);
  };

  const searchable = (row) =>
    [...row.cells].slice(0, 3).map((cell) => cell.textContent).join("\n").toLowerCase();

  function consumerTable(section) {
    const table = section.querySelector("table.consumers");
    if (!table) return () => {};
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows].map((row) => ({ row, text: searchable(row) }));
    const box = section.querySelector(".search");
    const input = box.querySelector("input");
    const matches = section.querySelector("output");
    const prefix = section.dataset.system;
    const normal = "-backlog";

    const sort = (order) => {
      const descending = order.startsWith("-");
      const place = heads.findIndex((head) => head.dataset.key === order.replace(/^-/, ""));
      if (place < 0) return sort(normal);
      const numeric = heads[place].classList.contains("number");
      const keyed = rows.map(({ row }) => [keyOf(row.cells[place], numeric), row]);
      keyed.sort(([a], [b]) => compare(a, b, descending ? -1 : 1));
      body.append(...keyed.map(([, row]) => row));
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[place].setAttribute("aria-sort", descending ? "descending" : "ascending");
    };

    const search = (query) => {
      const wanted = query.trim().toLowerCase();
      let found = 0;
      for (const { row, text } of rows) {
        row.hidden = !text.includes(wanted);
        found += !row.hidden;
      }
      const verb = found === 1 ? "matches" : "match";
      matches.textContent = wanted ? ` · ${found.toLocaleString("en")} of them ${verb}` : "";
    };

    const choose = (head) => {
      const first = head.classList.contains("number") ? "descending" : "ascending";
      const now = head.getAttribute("aria-sort");
      const next = now === "descending" ? "ascending" : now === "ascending" ? "descending" : first;
      const order = (next === "descending" ? "-" : "") + head.dataset.key;
      sort(order);
      remember(`${prefix}.sort`, order === normal ? "" : order);
    };

    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => choose(head));
      head.append(button);
    }
    input.addEventListener("input", () => {
      search(input.value);
      remember(`${prefix}.q`, input.value.trim());
    });
    box.hidden = false;

    return () => {
      input.value = state.get(`${prefix}.q`) ?? "";
      search(input.value);
      sort(state.get(`${prefix}.sort`) ?? normal);
    };
  }

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
    box.addEventListener("change", () => {
      remember("refresh", box.checked ? "15" : "");
      follow();
    });
    box.parentElement.hidden = false;
    return () => {
      box.checked = state.has("refresh");
      follow();
    };
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

  const parts = [...document.querySelectorAll(".system")].map(consumerTable).concat(refreshing());
  const restore = () => {
    state = new URLSearchParams(location.hash.slice(1));
    parts.forEach((part) => part());
  };
  for (const link of document.querySelectorAll(".lines a")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // a normal jump would overwrite the state in the hash
      document.querySelector(link.getAttribute("href")).scrollIntoView();
    });
  }
  addEventListener("hashchange", restore);
  restore();
  ageing();
})();
