// What the page can do beside being read: sort its tables, open what a link leads to, open all for print.
// Nothing is hidden from a reader without it.
"use strict";

const MISSING = /^[—–]?$/;
const UNITS = { ms: 1e-3, s: 1, min: 60, "%": 0.01 };

const RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹";
const asExponent = (_, raised) => "e" + [...raised].map((sign) => "-0123456789"[RAISED.indexOf(sign)]).join("");

// "0.48 ± 0.02", "−0.003 (p = 0.41)", "12.5 ms", "201,000", "93%", "4.7 × 10⁻⁹": the first number, in base units.
function numberIn(text) {
  const whole = text.replace(/\s×\s10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g, asExponent).replace(/[−‒]/g, "-");
  const plain = whole.replace(/(\d)[,\u00a0\u2009\u202f](?=\d{3}(\D|$))/g, "$1");
  const number = plain.match(/[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*(ms|min|s|%)?(?![a-z])/i);
  return number ? parseFloat(number[0]) * (UNITS[number[3]] ?? 1) : NaN;
}

function keyOf(cell, numeric) {
  const text = cell.textContent.trim();
  if (cell.dataset.value !== undefined) return parseFloat(cell.dataset.value);
  if (numeric) return MISSING.test(text) ? NaN : numberIn(text);
  return text.toLowerCase();
}

// Cells without a number stay at the end, whichever way the others go; equal ones keep their order.
function comparison(direction, numeric) {
  const sign = direction === "ascending" ? 1 : -1;
  return (one, other) => {
    if (!numeric) return sign * one.key.localeCompare(other.key, undefined, { numeric: true });
    if (Number.isNaN(one.key) || Number.isNaN(other.key)) {
      return Number.isNaN(one.key) - Number.isNaN(other.key);
    }
    return sign * (one.key - other.key);
  };
}

function sortTable(table, header) {
  const numeric = header.classList.contains("number");
  const opposite = { ascending: "descending", descending: "ascending" };
  const direction = opposite[header.getAttribute("aria-sort")] ?? header.dataset.first ?? "ascending";
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, key: keyOf(row.cells[header.cellIndex], numeric) }));
  rows.sort(comparison(direction, numeric));
  body.append(...rows.map(({ row }) => row));
  for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
  document.getElementById("said").textContent = `Sorted by ${header.textContent.trim()}, ${direction}.`;
}

// A column of pictures has nothing to be sorted by.
function hasWords(table, place) {
  return [...table.tBodies[0].rows].some((row) => row.cells[place].textContent.trim() !== "");
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const header of table.tHead.rows[0].cells) {
    if (!hasWords(table, header.cellIndex)) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => sortTable(table, header));
  }
}

const folded = [...document.querySelectorAll("details")];

function openAround(address) {
  const target = address.length > 1 && document.getElementById(decodeURIComponent(address.slice(1)));
  if (!target) return;
  const inside = target.matches(".model") && target.querySelector("details");
  if (inside) inside.open = true;
  for (let place = target; place; place = place.parentElement) {
    if (place.tagName === "DETAILS") place.open = true;
  }
}
openAround(location.hash);
addEventListener("hashchange", () => openAround(location.hash));

for (const button of document.querySelectorAll("button.unfold")) {
  const models = [...document.querySelectorAll(".model > details")];
  const name = () => {
    button.textContent = models.every((model) => model.open) ? "Close all" : "Open all";
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const open = !models.every((model) => model.open);
    for (const model of models) model.open = open;
  });
  for (const model of models) model.addEventListener("toggle", name);
  name();
}

// Paper does not unfold: what was closed is opened for the printer and closed again after.
let opened = [];
addEventListener("beforeprint", () => {
  opened = folded.filter((part) => !part.open);
  for (const part of opened) part.open = true;
});
addEventListener("afterprint", () => {
  for (const part of opened) part.open = false;
});

// A table that scrolls sideways can be reached with the keyboard, and says that there is more; one that fits
// need not be a stop.
function markScroller(place) {
  const rest = place.scrollWidth - place.clientWidth;
  const frame = place.parentElement;
  if (rest > 1) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
  frame.classList.toggle("wider", rest > 1);
  frame.classList.toggle("more", rest - place.scrollLeft > 1);
}
const scrollers = [...document.querySelectorAll(".frame > .scroll")];
function markScrollers() {
  for (const place of scrollers) markScroller(place);
}
for (const place of scrollers) {
  const hint = document.createElement("p");
  hint.className = "hint";
  hint.setAttribute("aria-hidden", "true");
  hint.textContent = "more to the side: scroll ↔";
  place.after(hint);
  place.addEventListener("scroll", () => markScroller(place), { passive: true });
}
markScrollers();
addEventListener("resize", markScrollers);
matchMedia("print").addEventListener("change", markScrollers);
for (const part of folded) part.addEventListener("toggle", markScrollers);

// The contents show where the reader is.
const places = new Map();
for (const link of document.querySelectorAll(".contents a")) {
  const target = document.getElementById(link.hash.slice(1));
  if (target) places.set(target, link);
}
if ("IntersectionObserver" in window) {
  const seen = new Set();
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) seen.add(target);
        else seen.delete(target);
      }
      const current = [...places.keys()].find((target) => seen.has(target));
      for (const [target, link] of places) {
        if (target === current) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-20% 0px -60% 0px" },
  );
  for (const target of places.keys()) observer.observe(target);
}
