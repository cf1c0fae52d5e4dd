(() => {
"use strict";
const $ = (s) => document.querySelector(s);
const all = (s, r = document) => [...r.querySelectorAll(s)];
const body = document.body, root = document.documentElement, main = $("main");
const heads = JSON.parse($("#data").textContent).heads;
const store = { get: (k) => { try { return localStorage.getItem(k); } catch { return null; } }, set: (k, v) => { try { localStorage.setItem(k, v); } catch { /* a page of a file may have no storage */ } } };

// Light and dark.
const theme = (t) => { if (t) root.dataset.theme = t; };
theme(store.get("everlog-theme"));
const flip = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  theme(dark ? "light" : "dark");
  store.set("everlog-theme", root.dataset.theme);
};
$("#theme").onclick = flip;

// Normal and Focused.
const focus = (on) => {
  body.classList.toggle("focused", on);
  $("#focus").classList.toggle("on", on);
  $("#normal").classList.toggle("on", !on);
};
$("#focus").onclick = () => focus(true);
$("#normal").onclick = () => focus(false);

// All blocks at once.
const blocks = ".m details:not(.raw), #damage details";
const unfold = () => {
  const button = $("#unfold"), open = button.dataset.open !== "1";
  all(blocks).forEach((d) => { d.open = open; });
  button.dataset.open = open ? "1" : "";
  button.textContent = open ? "Fold all" : "Expand all";
};
$("#unfold").onclick = unfold;

// Chips hide a kind.
all(".chip").forEach((chip) => {
  chip.onclick = () => {
    const on = chip.classList.toggle("on");
    chip.setAttribute("aria-pressed", on);
    body.classList.toggle("no-" + chip.dataset.kind, !on);
  };
});

// Heads: each is a list of runs of places.
const paths = new Map();
const path = (n) => {
  if (!paths.has(n)) {
    const list = [];
    heads[n].path.forEach(([a, b]) => { for (let p = a; p <= b; p++) list.push(p); });
    paths.set(n, list);
  }
  return paths.get(n);
};
const known = new Map();
let shown = 0;
const article = (p) => {
  if (!known.size) {
    all("article", $("#rest").content).concat(all("main article")).forEach((a) => { if (!known.has(+a.dataset.p) || !/-/.test(a.id)) known.set(+a.dataset.p, a); });
  }
  return known.get(p);
};
const forks = () => {
  all(".fork").forEach((f) => f.remove());
  if (heads.length > 100) return;
  const here = path(shown), at = new Map();
  heads.forEach((head, n) => {
    if (n === shown || !head.branch) return;
    const other = path(n);
    let shared = 0;
    while (shared < here.length && shared < other.length && here[shared] === other[shared]) shared++;
    if (!at.has(shared)) at.set(shared, []);
    at.get(shared).push(n);
  });
  const articles = [...main.querySelectorAll("article")];
  at.forEach((list, shared) => {
    const mark = document.createElement("p");
    mark.className = "fork";
    mark.append("⑂ also continued in ");
    list.forEach((n) => {
      const button = document.createElement("button");
      button.textContent = heads[n].name;
      button.onclick = () => show(n, path(n)[shared]);
      mark.append(button, " ");
    });
    if (shared > 0 && articles[shared - 1]) articles[shared - 1].after(mark); else main.prepend(mark);
  });
};
const show = (n, target) => {
  if (n !== shown) {
    article(0);
    const used = new Set(), list = [];
    path(n).forEach((p) => {
      let a = article(p);
      if (!a) return;
      if (used.has(p)) { a = a.cloneNode(true); a.removeAttribute("id"); }
      used.add(p);
      list.push(a);
    });
    main.replaceChildren(...list);
    shown = n;
    all("[data-head]").forEach((b) => b.classList.toggle("on", +b.dataset.head === n));
  }
  forks();
  const a = target === undefined ? null : article(target);
  if (a) { a.scrollIntoView({ block: "center" }); a.classList.add("target"); }
};
all("[data-head]").forEach((b) => { b.onclick = () => show(+b.dataset.head); });
if (heads.length > 1) forks();

// A link to a message of another branch.
const go = () => {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!/^m\d+$/.test(id) || document.getElementById(id)) return;
  article(0);
  const place = [...known.values()].find((a) => a.id === id);
  if (!place) return;
  const n = heads.findIndex((_, n) => path(n).includes(+place.dataset.p));
  if (n >= 0) show(n, +place.dataset.p);
};
addEventListener("hashchange", go);
go();

// The original files.
all("[data-file]").forEach((button) => {
  button.onclick = async () => {
    const file = JSON.parse($("#files").textContent)[+button.dataset.file];
    const packed = Uint8Array.from(atob(file.deflate), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const blob = await new Response(stream).blob();
    const url = URL.createObjectURL(blob);
    const link = document.createElement("a");
    link.href = url;
    link.download = file.path.split("/").pop();
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  };
});

// The keyboard.
const step = (by) => {
  const list = all("main > article").filter((a) => a.offsetParent !== null);
  const top = 100;
  let at = list.findIndex((a) => a.getBoundingClientRect().top > top + 1);
  if (at < 0) at = list.length;
  const before = list.filter((a) => a.getBoundingClientRect().top < top - 20).length - 1;
  const next = by > 0 ? list[at] : list[Math.max(0, before)];
  if (next) scrollTo({ top: next.getBoundingClientRect().top + scrollY - top });
};
addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /INPUT|TEXTAREA|SELECT/.test(e.target.tagName)) return;
  const key = { j: () => step(1), k: () => step(-1), f: () => focus(!body.classList.contains("focused")), e: unfold, t: flip,
    g: () => scrollTo(0, 0), G: () => scrollTo(0, root.scrollHeight) }[e.key];
  if (key) { e.preventDefault(); key(); }
});

// On paper nothing can be opened.
addEventListener("beforeprint", () => all(blocks).forEach((d) => { d.dataset.was = d.open ? "1" : ""; d.open = true; }));
addEventListener("afterprint", () => all(blocks).forEach((d) => { d.open = d.dataset.was === "1"; }));
})();
