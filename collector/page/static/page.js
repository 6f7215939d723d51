// What the page does better with JavaScript: times in the reader's zone, filters at once, a list that follows, and the picture
// that points at the ledger. Without it everything is there, too.
"use strict";

function localTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const today = new Date().toDateString() === at.toDateString();
    element.title = at.toString();
    element.textContent = today
      ? at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false })
      : at.toLocaleString([], { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
  }
}

function filters() {
  for (const form of document.querySelectorAll("form.filters")) {
    form.addEventListener("change", (event) => {
      if (event.target.matches("select")) form.requestSubmit();
    });
    form.addEventListener("submit", () => {
      for (const field of form.elements) if (field.name && !field.value) field.disabled = true; // an address without what was not asked
    });
  }
  window.addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("form.filters [disabled]")) field.disabled = false;
  });
}

function live() {
  const status = document.querySelector("[data-live]");
  const rows = document.querySelector("[data-rows]");
  if (!status || !rows || !window.EventSource) return;
  const first = status.dataset.first === "1";
  let after = new URL(status.dataset.live, location.href).searchParams.get("after");
  let source = null;
  let busy = false;
  let again = false;

  async function refresh() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { "x-orbitrelay-part": "rows" }, redirect: "error" });
      if (answer.ok) show(await answer.text());
    } catch {
      status.textContent = "The list could not be brought up to date.";
    } finally {
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  }

  function show(html) {
    const known = new Map(Array.from(rows.rows, (row) => [row.id, row.dataset.revision]));
    const focused = document.activeElement && rows.contains(document.activeElement) ? document.activeElement.closest("tr").id : "";
    const template = document.createElement("template");
    template.innerHTML = html; // written by the same template as the page, and escaped there
    localTimes(template.content);
    const fresh = Array.from(template.content.querySelectorAll("tr")).filter((row) => known.get(row.id) !== row.dataset.revision);
    for (const row of fresh) row.classList.add("fresh");
    rows.replaceChildren(template.content);
    document.querySelector("[data-empty]").hidden = rows.rows.length > 0;
    if (focused) document.querySelector(`#${CSS.escape(focused)} a`)?.focus();
    if (fresh.length) {
      const cell = fresh[0].cells;
      const text = (element) => element.textContent.replace(/\s+/g, " ").trim();
      const rest = fresh.length > 1 ? ` and ${fresh.length - 1} more` : "";
      status.textContent = `Live. New: ${text(cell[0].querySelector("a"))}, completeness ${text(cell[1])}${rest}`;
    }
  }

  function arrived(event) {
    after = event.lastEventId || after;
    if (first) {
      refresh();
    } else if (!status.querySelector("a")) {
      status.innerHTML = '<a href="/">New sessions</a>';
    }
  }

  function mark(following) {
    document.body.classList.toggle("following", following);
    const word = status.querySelector("[data-following]");
    if (word) word.hidden = !following;
  }

  function open() {
    if (source || document.hidden) return;
    source = new EventSource(`/live?after=${encodeURIComponent(after)}`);
    source.addEventListener("report", arrived);
    source.addEventListener("open", () => mark(true));
    source.addEventListener("error", () => mark(false));
  }

  function close() {
    if (source) source.close();
    source = null;
    mark(false);
  }

  // A hidden tab holds no connection: browsers allow few to one host.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}

function keys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (event.key === "/") {
      const search = document.querySelector('input[type="search"]');
      if (search) {
        event.preventDefault();
        search.focus();
      }
    } else if (event.key === "j" || event.key === "k") {
      const links = Array.from(document.querySelectorAll("[data-rows] th a"));
      const at = links.indexOf(document.activeElement);
      const next = links[event.key === "j" ? at + 1 : Math.max(0, at - 1)];
      if (next) next.focus();
    }
  });
}

function pictures() {
  for (const relay of document.querySelectorAll("svg .relay[data-row]")) {
    const row = document.getElementById(relay.dataset.row);
    if (!row) continue;
    relay.classList.add("linked");
    relay.addEventListener("click", () => {
      row.scrollIntoView({ block: "center" });
      row.classList.add("fresh");
      setTimeout(() => row.classList.remove("fresh"), 2000);
    });
  }
}

localTimes(document);
const zone = document.querySelector("[data-zone]");
if (zone) zone.textContent = `times in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
filters();
live();
keys();
pictures();
