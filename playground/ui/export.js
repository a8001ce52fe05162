// An export: what is lost, who checked it, how to start it, its files with what changed since the previous export for
// that system. Each file can be copied and downloaded, all of them as a zip. Text only, through textContent.
const root = element.querySelector(".db-export"), board = window.draftboard;
const W = (key) => board.word(`shell.export.${key}`);
const S = (said) => (typeof said === "string" ? said : said?.[board.lang()] ?? said?.en ?? "");  // of our server
const LINES = 600;                          // longer files are not compared
let last = null, diffs = false;
const before = {};                          // system -> files of the export shown before the present one
const make = (tag, name, parent, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
};
const act = (parent, text, run) => {
  const button = make("button", "h-act", parent, text);
  button.type = "button";
  button.addEventListener("click", run);
  return button;
};

// ---------------------------------------------------------------- what changed
// Names begin with the preset's; without it they can be compared from preset to preset.
const kind = (name) => name.split(".").slice(-2).join(".");
function changed(old, now) {                // -> [" ", "-" or "+", line], by the longest common subsequence
  const a = old.split("\n"), b = now.split("\n");
  if (a.length > LINES || b.length > LINES) return null;
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push([" ", a[i]]); i++; j++; }
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}
function previous(name) {
  const old = before[last.asked.system] ?? {};
  const same = Object.keys(old).find((key) => key === name || kind(key) === kind(name));
  return same === undefined ? null : old[same];
}

// ---------------------------------------------------------------- parts
function code(parent, title, text, name) {
  const box = make("section", "e-file", parent), head = make("header", "e-head", box);
  make("h4", "", head, title);
  act(head, W("copy"), () => board.copy(text));
  if (name) act(head, W("download"), () => board.download(name, text));
  const shown = make("pre", "", box);
  shown.tabIndex = 0;
  shown.setAttribute("aria-label", title);
  const old = diffs && name ? previous(name) : null, lines = old === null ? null : changed(old, text);
  if (!lines) { shown.textContent = text; return below(shown, text); }
  for (const [mark, line] of lines) {
    if (line === "" && mark === " ") { shown.append("\n"); continue; }
    make("span", { "-": "e-old", "+": "e-new", " ": "e-same" }[mark], shown, `${mark} ${line}\n`);
  }
}
// A file opens at its first line that is no comment: what is said above stands in the panel's own tables as well.
function below(shown, text) {
  const lines = text.split("\n"), first = lines.findIndex((line) => line && !/^[#;]/.test(line));
  if (first < 8) return;
  const size = parseFloat(getComputedStyle(shown).lineHeight) || 0;
  shown.scrollTop = Math.max(0, first - 2) * size;
}
function name(node, text) {                 // breaks after its dots
  for (const part of text.split(/(?<=\.)/)) node.append(part, document.createElement("wbr"));
}
function notes(list) {
  const box = make("section", "e-notes", list.length ? root : null);
  for (const note of list) make("p", "", box, S(note));
}
function losses(list) {
  const box = make("section", "e-losses", root);
  make("h4", "", box, W(list.length ? "losses" : "no_losses"));
  if (!list.length) return box.classList.add("none");
  const groups = new Map();                 // one reason for several fields is said once
  for (const { field, level, reason } of list) {
    const key = `${level}\n${reason.en}`;
    if (!groups.has(key)) groups.set(key, { level, reason, fields: [] });
    groups.get(key).fields.push(field);
  }
  const body = make("tbody", "", make("table", "", box));
  const order = ["changes-output", "needs-input", "approximated", "dropped"];
  const sorted = [...groups.values()].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  for (const { level, reason, fields } of sorted) {
    const row = make("tr", "", body);
    make("span", `e-level e-${level}`, make("td", "", row), W(`level.${level}`));
    const cell = make("td", "e-fields", row);
    for (const field of fields) name(make("code", "", cell), field);
    make("td", "", row, S(reason));
  }
}
function checks() {
  const box = make("section", "e-checks", root);
  make("h4", "", box, W("checks"));
  const body = make("tbody", "", make("table", "", box));
  for (const check of last.checks) {
    const row = make("tr", "", body);
    make("b", "", make("td", "", row), check.tier);
    make("td", "", row, S(check.by));
    make("span", `e-level e-${check.outcome}`, make("td", "", row), W(`outcome.${check.outcome}`));
    const why = S(check.detail), cell = make("td", "", row, why);
    if (check.outcome === "not-run" && !why) act(cell, W(`run.${check.tier}`), () => run(check));
  }
}
async function run(check) {
  const mine = last;
  check.outcome = "running";
  draw();
  let found;
  try { found = JSON.parse(await server.run_check([mine.asked, check.tier])); } catch { found = { error: W("failed") }; }
  if (Array.isArray(found)) Object.assign(check, found[0]);
  else Object.assign(check, { outcome: "not-run", detail: found.hint ? `${S(found.error)} ${S(found.hint)}` : S(found.error) });
  if (last === mine) draw();
}
function files() {
  const bar = make("div", "e-bar", root);
  make("h4", "", bar, W("files"));
  const old = before[last.asked.system];
  if (old) {
    const toggle = act(bar, W("changes"), () => { diffs = !diffs; draw(); });
    toggle.setAttribute("aria-pressed", String(diffs));
    toggle.title = W("changes.since");
  }
  act(bar, W("zip"), () => {
    const bytes = Uint8Array.from(atob(last.zip), (c) => c.charCodeAt(0)), link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
    link.download = `${last.asked.system}.zip`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  if (diffs && old) {
    const same = Object.entries(last.files).every(([name, text]) => previous(name) === text);
    make("p", "e-since", root, W(same ? "changes.none" : "changes.since"));
  }
  for (const [name, text] of Object.entries(last.files)) code(root, name, text, name);
}
function draw() {
  root.replaceChildren();
  if (!last || last.nothing) { make("p", "h-empty", root, W("nothing")); return; }
  if (last.error) {
    const box = make("div", "e-problem", root);
    box.setAttribute("role", "alert");
    make("p", "", box, S(last.error)); make("p", "e-hint", box, S(last.hint));
    return;
  }
  notes(last.notes);
  losses(last.losses);
  checks();
  if (S(last.versions)) {
    const facts = make("p", "e-facts", root);
    make("span", "", facts, W("versions")); make("b", "", facts, S(last.versions));
  }
  if (last.command) code(root, W(last.losses.some((loss) => loss.level === "needs-input") ? "command.first" : "command"), last.command);
  files();
}
function consume() {
  const old = last;
  try { last = JSON.parse(props.value); } catch { last = null; }
  if (old?.files && JSON.stringify(old.files) !== JSON.stringify(last?.files)) before[old.asked.system] = old.files;
  draw();
}
watch("value", consume);
addEventListener("draftboard:language", draw);
consume();
