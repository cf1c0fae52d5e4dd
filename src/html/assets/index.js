(() => {
"use strict";
const $ = (s) => document.querySelector(s);
const all = (s) => [...document.querySelectorAll(s)];
const root = document.documentElement, tbody = $("tbody"), rows = all("tbody tr");
const store = { get: (k) => { try { return localStorage.getItem(k); } catch { return null; } }, set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* a page of a file may have no storage */ } } };
const theme = (t) => { if (t) root.dataset.theme = t; };
theme(store.get("everlog-theme"));
const flip = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme(dark ? "light" : "dark");
  store.set("everlog-theme", root.dataset.theme);
};
$("#theme").onclick = flip;

// Sorting.
let sorted = "order", down = true;
all("[data-sort]").forEach((button) => {
  button.onclick = () => {
    const by = button.dataset.sort, isNumber = by === "messages" || by === "bytes";
    down = by === sorted ? !down : isNumber || by === "order";
    sorted = by;
    const value = (r) => isNumber ? +r.dataset[by] : r.dataset[by];
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return ((x > y) - (x < y)) * (down ? -1 : 1) || a.dataset.n - b.dataset.n;
    });
    tbody.append(...rows);
    all("[data-sort]").forEach((b) => { b.dataset.way = b === button ? (down ? "down" : "up") : ""; });
  };
});

// Searching: texts are unpacked once, when they are first needed.
let texts = null;
const unpack = async () => {
  const packed = JSON.parse($("#texts").textContent);
  const list = [];
  for (const one of packed) {
    const bytes = Uint8Array.from(atob(one.deflate), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const text = await new Response(stream).text();
    list.push({ text, lower: text.toLowerCase() });
  }
  return list;
};
let turn = 0;
const search = async () => {
  const mine = ++turn;
  const words = $("#search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const program = $("#program").value;
  if (words.length && !texts) { $("#found").textContent = "…"; texts = unpack(); }
  const list = words.length ? await texts : null;
  if (mine !== turn) return;
  let found = 0;
  rows.forEach((row) => {
    const entry = list && list[+row.dataset.n];
    const fits = (!program || row.dataset.format === program) && words.every((w) => row.dataset.title.includes(w) || entry.lower.includes(w));
    row.hidden = !fits;
    found += fits;
    const hit = row.querySelector(".hit");
    hit.replaceChildren();
    const at = fits && words.length ? entry.lower.indexOf(words[0]) : -1;
    if (at >= 0) {
      const mark = document.createElement("mark");
      mark.textContent = entry.text.slice(at, at + words[0].length);
      hit.append("…" + entry.text.slice(Math.max(0, at - 60), at), mark, entry.text.slice(at + words[0].length, at + 100) + "…");
    }
  });
  $("#found").textContent = words.length || program ? found + " of " + rows.length : "";
};
let timer = 0;
$("#search").oninput = () => { clearTimeout(timer); timer = setTimeout(search, 120); };
$("#program").onchange = search;
const asked = decodeURIComponent(location.hash.slice(1));
if (asked) { $("#search").value = asked; search(); }
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|SELECT/.test(e.target.tagName)) return;
  if (e.key === "/") { e.preventDefault(); $("#search").focus(); }
  if (e.key === "t") flip();
});
})();
