// The History table. Asks the server for one page at a time; draws with textContent only; selection outlives paging.
const root = element.querySelector(".db-history"), board = window.draftboard;
const W = (key, params) => board.word(`shell.history.${key}`, params);
const COLUMNS = [                          // [field, sortable, class]
  ["started_at", true, "when"], ["prompt", false, "text"], ["target", true, "name"], ["method", true, "name"],
  ["num_speculative_tokens", true, "number"], ["status", true, "name"], ["num_delivered", true, "number"],
  ["tokens_per_second", true, "number"], ["draft_acceptance_rate", true, "number"], ["tokens_per_step", true, "number"],
  ["speedup", true, "number"], ["note", false, "text"],
];
const TITLES = { started_at: "when", num_speculative_tokens: "k" };
const query = { search: "", sort: "started_at", descending: true, offset: 0, engine: "", method: "", status: "", arm: "" };
const chosen = new Map();                  // run id -> row, in the order they were selected
let rows = [], total = 0, asked = 0;

const make = (tag, name, parent, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
};
const three = (x) => x == null || !isFinite(x) ? "n/a" : x === 0 ? "0" : x.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x)))));
const when = (text) => {
  const date = new Date(text);
  return isNaN(date) ? text : date.toLocaleString(board.lang(), { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });
};
const cells = {
  started_at: (row) => when(row.started_at),
  method: (row) => row.method ?? W("baseline"),
  num_speculative_tokens: (row) => row.num_speculative_tokens ?? "–",
  num_delivered: (row) => row.num_delivered ?? "n/a",
  draft_acceptance_rate: (row) => row.draft_acceptance_rate == null ? "n/a" : `${three(100 * row.draft_acceptance_rate)} %`,
  tokens_per_second: (row) => three(row.tokens_per_second),
  tokens_per_step: (row) => three(row.tokens_per_step),
  speedup: (row) => row.speedup == null ? "–" : `${three(row.speedup)}×`,
};

// ---------------------------------------------------------------- the frame
const bar = make("div", "h-bar", root), acts = make("div", "h-acts", root);
const search = make("input", "h-search", bar);
search.type = "search";
const selects = {};
for (const name of ["arm", "engine", "method", "status"]) {
  const select = (selects[name] = make("select", "h-select", bar));
  select.addEventListener("change", () => { query[name] = select.value; query.offset = 0; load(); });
}
const pager = make("div", "h-pager", bar);
const back = make("button", "h-page", pager, "‹"), count = make("span", "h-count", pager), forth = make("button", "h-page", pager, "›");
const scroll = make("div", "h-scroll", root), table = make("table", "h-table", scroll);
const head = make("tr", "", make("thead", "", table)), body = make("tbody", "", table);
const empty = make("p", "h-empty", root);
count.setAttribute("aria-live", "polite");
for (const button of [back, forth]) button.type = "button";
back.addEventListener("click", () => { query.offset = Math.max(0, query.offset - props.page); load(); });
forth.addEventListener("click", () => { query.offset += props.page; load(); });
let pause = 0;
search.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(() => { query.search = search.value; query.offset = 0; load(); }, 200); });

const ACTS = {                             // name -> [needs this many, at most this many, what it does]
  open: [1, 1, (ids) => open(ids, null)],
  replay: [1, 1, (ids) => open(ids, 1)],
  replay4: [1, 1, (ids) => open(ids, 4)],
  compare: [2, 2, (ids) => open(ids, null)],
  link: [1, 2, (ids) => board.copy(board.link(ids), "shell.link_copied")],
  config: [1, 1, (ids) => trigger("config", { ids })],
  jsonl: [1, Infinity, (ids) => trigger("files", { ids, kind: "jsonl" })],
  csv: [1, Infinity, (ids) => trigger("files", { ids, kind: "csv" })],
  remove: [1, Infinity, confirmRemoval],
};
const said = make("span", "h-selected", acts), buttons = {};
said.setAttribute("aria-live", "polite");
for (const [name, [, , act]] of Object.entries(ACTS)) {
  const button = (buttons[name] = make("button", `h-act h-${name}`, acts));
  button.type = "button";
  button.addEventListener("click", () => act([...chosen.keys()]));
}
function open(ids, speed) { board.openTab("compare"); trigger("open", { ids, speed }); }

// ---------------------------------------------------------------- asking
async function ask(what, value) {
  let found;
  try { found = JSON.parse(await server[what](value)); }
  catch (error) { found = { error: String(error), hint: "" }; }
  if (found.error) board.toast(W("failed", { why: `${board.said(found.error)} ${board.said(found.hint)}` }));
  return found;
}
async function load() {
  const turn = ++asked;
  const found = await ask("runs_page", query);
  if (turn !== asked || found.error) return;
  rows = found.rows; total = found.total;
  if (!rows.length && query.offset) { query.offset = 0; return load(); }
  draw();
}

// ---------------------------------------------------------------- drawing
function frame() {
  search.placeholder = W("search"); search.setAttribute("aria-label", W("search"));
  for (const [name, select] of Object.entries(selects)) {
    const values = name === "arm" ? ["speculative", "baseline"] : props.choices[name];
    const say = { arm: (v) => W(`arm.${v}`), status: (v) => board.word(`shell.status.${v}`), method: (v) => v === "none" ? W("baseline") : v }[name] ?? ((v) => v);
    select.replaceChildren(...["", ...values].map((value) => {
      const option = make("option", "", null, value ? say(value) : W(`any.${name}`));
      option.value = value;
      return option;
    }));
    select.value = query[name];
    select.setAttribute("aria-label", W(`any.${name}`));
  }
  back.setAttribute("aria-label", W("previous")); back.title = W("previous");
  forth.setAttribute("aria-label", W("next")); forth.title = W("next");
  for (const name of Object.keys(ACTS)) buttons[name].textContent = W(`act.${name}`);
}
let postponed = false;
function draw() {
  // While a note is being written its line stays as it is.
  postponed = !!body.querySelector(".h-note-input");
  if (postponed) return;
  head.replaceChildren();
  const all = make("input", "", make("th", "h-check", head));
  all.type = "checkbox"; all.setAttribute("aria-label", W("select_all"));
  all.checked = rows.length > 0 && rows.every((row) => chosen.has(row.run_id));
  all.addEventListener("change", () => { for (const row of rows) all.checked ? chosen.set(row.run_id, row) : chosen.delete(row.run_id); draw(); });
  for (const [field, sortable, name] of COLUMNS) {
    const cell = make("th", `h-${name}`, head), title = W(TITLES[field] ?? field);
    cell.scope = "col";
    if (!sortable) { cell.textContent = title; continue; }
    const here = query.sort === field;
    cell.setAttribute("aria-sort", here ? (query.descending ? "descending" : "ascending") : "none");
    const button = make("button", "h-sort", cell, title);
    button.type = "button";
    make("span", "h-arrow", button, here ? (query.descending ? "▾" : "▴") : "");
    button.addEventListener("click", () => {
      query.descending = here ? !query.descending : !["target", "method", "status"].includes(field);
      query.sort = field; query.offset = 0;
      load().then(() => { if (document.activeElement === document.body) head.querySelector(`[data-field="${field}"] button`)?.focus(); });
    });
    cell.dataset.field = field;
  }
  body.replaceChildren(...rows.map(line));
  const last = Math.min(query.offset + rows.length, total);
  count.textContent = total ? W("count", { from: query.offset + 1, to: last, n: total.toLocaleString(board.lang()) }) : "";
  back.disabled = query.offset === 0; forth.disabled = last >= total;
  const filtered = query.search || query.engine || query.method || query.status || query.arm;
  empty.textContent = rows.length ? "" : W(filtered ? "no_match" : "empty");
  scroll.hidden = !rows.length;
  actable();
}
function line(row) {
  const tr = document.createElement("tr");
  tr.dataset.run = row.run_id;
  tr.className = chosen.has(row.run_id) ? "chosen" : "";
  const check = make("input", "", make("td", "h-check", tr));
  check.type = "checkbox"; check.checked = chosen.has(row.run_id);
  check.setAttribute("aria-label", `${W("select")}: ${row.run_id}`);
  check.addEventListener("change", () => { check.checked ? chosen.set(row.run_id, row) : chosen.delete(row.run_id); draw(); body.querySelector(`[data-run="${CSS.escape(row.run_id)}"] input`)?.focus(); });
  for (const [field, , name] of COLUMNS) {
    const td = make("td", `h-${name} h-is-${field}`, tr);
    if (field === "prompt") promptCell(td, row);
    else if (field === "status") statusCell(td, row);
    else if (field === "note") noteCell(td, row);
    else td.textContent = cells[field] ? cells[field](row) : row[field] ?? "";
    if (field === "target") td.title = `${row.engine} · ${row.target}`;
    if (field === "started_at") td.title = row.started_at;
  }
  tr.addEventListener("click", (event) => { if (!event.target.closest("input, a, button, .h-is-note")) open([row.run_id], null); });
  return tr;
}
function promptCell(td, row) {
  const link = make("a", "", td, row.prompt.replace(/\s+/g, " ").trim() || "…");
  link.href = board.link([row.run_id]);
  link.title = `${W("open")}: ${row.run_id}`;
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault(); open([row.run_id], null);
  });
}
function statusCell(td, row) {
  make("span", `h-dot h-dot-${row.status}`, td).setAttribute("aria-hidden", "true");
  make("span", "", td, board.word(`shell.status.${row.status}`));
  if (!row.valid) make("b", "h-invalid", td, " !").title = W("invalid");
  td.title = board.said(row.error);
}
function noteCell(td, row) {
  const button = make("button", row.note ? "h-note" : "h-note h-none", td, row.note || W("note.add"));
  button.type = "button"; button.title = row.note;
  button.addEventListener("click", () => {
    const input = make("input", "h-note-input", null);
    input.value = row.note; input.maxLength = 2000; input.setAttribute("aria-label", W("note"));
    td.replaceChildren(input); input.focus();
    let done = false;
    const end = async (keep) => {
      if (done) return;
      done = true;
      const found = keep && input.value !== row.note ? await ask("note_run", [row.run_id, input.value]) : null;
      const saved = found && !found.error;
      if (saved) row.note = found.note;
      td.replaceChildren(); noteCell(td, row);
      // Rows that arrived while the note was being written, or are still on their way, know the old one.
      if (saved) await load(); else if (postponed) draw();
      if (document.activeElement === document.body) body.querySelector(`[data-run="${CSS.escape(row.run_id)}"] .h-note`)?.focus();
    };
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") end(true); if (event.key === "Escape") { event.stopPropagation(); end(false); } });
    input.addEventListener("blur", () => end(true));
  });
}
function actable() {
  const n = chosen.size;
  said.textContent = W("selected", { n });
  for (const [name, [least, most]] of Object.entries(ACTS)) buttons[name].disabled = n < least || n > most;
}

// ---------------------------------------------------------------- deleting
function confirmRemoval(ids) {
  const dialog = make("dialog", "h-dialog", document.body);
  make("p", "", dialog, W("delete.confirm", { n: ids.length }));
  const row = make("div", "h-dialog-acts", dialog);
  const no = make("button", "h-act", row, W("delete.no")), yes = make("button", "h-act h-remove", row, W("act.remove"));
  no.addEventListener("click", () => dialog.close());
  yes.addEventListener("click", async () => {
    dialog.close();
    const found = await ask("delete_runs", ids);
    if (!found.error) { chosen.clear(); board.toast(W("deleted", { n: found.deleted })); }
    load();
  });
  dialog.addEventListener("close", () => { dialog.remove(); buttons.remove.focus(); });
  dialog.showModal(); no.focus();
}

frame();
draw();
addEventListener("draftboard:language", () => { frame(); draw(); });
addEventListener("draftboard:history", load);
new IntersectionObserver((seen) => { if (seen.some((entry) => entry.isIntersecting)) load(); }).observe(root);
