// The step inspector: fetches a step from the server and draws it. Model text through textContent only.
const board = (window.draftboard ??= {});
const root = element.querySelector(".db-inspector");
const make = (tag, name, parent, key, params) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (key) board.say(node, key, params);
  parent?.append(node);
  return node;
};
const three = (x) => x === 0 ? "0" : Math.abs(x) >= 1e-3 ? x.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x))))) : x.toExponential(1);
const percent = (x) => x == null ? board.t("pane.na") : `${three(100 * x)} %`;
const visible = (text) => text.replace(/ /g, "·").replace(/\n/g, "⏎").replace(/\t/g, "→");
let now = null;                            // {run, step} that is shown or on its way
let drawn = null;

async function show({ run, step, group }) {
  if (group && group !== props.group) return;
  now = { run, step };
  const slow = setTimeout(() => message("inspector.loading"), 150);
  let found;
  try { found = await server.step([run, step]); } catch (error) { found = error; }
  clearTimeout(slow);
  if (now.run !== run || now.step !== step) return;   // another one was asked for meanwhile
  if (found instanceof Error) { drawn = null; message("inspector.failed"); }
  else if (!found) { drawn = null; message("inspector.gone"); }
  else draw(drawn = found);
}

function message(key) {
  root.replaceChildren();
  make("p", "db-insp-none", root, key);
}

function draw(step) {
  const kept = document.activeElement?.dataset?.by;
  root.replaceChildren();
  header(step);
  if (kept) root.querySelector(`[data-by="${kept}"]`)?.focus();
  const grid = make("div", "db-insp-grid", make("div", "db-insp-scroll", root));
  grid.style.gridTemplateColumns = `6.5rem repeat(${step.positions.length}, minmax(0, 1fr))`;
  grid.style.minWidth = `${6.5 + 10 * step.positions.length}rem`;
  grid.style.maxWidth = `${6.5 + 18 * step.positions.length}rem`;
  const lane = (name, cell, help) => {
    const head = make("div", "db-insp-lane", grid, `inspector.lane.${name}`);
    if (help) head.title = board.t(help);
    for (const [i, position] of step.positions.entries()) cell(make("div", `db-insp-cell ${name}`, grid), position, i);
  };
  lane("drafted", (cell, p) => token(cell, p.drafted));
  lane("verified", (cell, p) => token(cell, p.delivered ?? (p.drafted?.fate === "accepted" ? p.drafted : null), p.eos));
  lane("target", (cell, p) => bars(cell, p.target, p.judged ? "inspector.na.not_reported" : "inspector.na.not_judged", p, "target"));
  lane("draft", (cell, p) => p.drafted ? bars(cell, p.draft, p.one_hot ? "inspector.na.one_hot" : "inspector.na.not_reported", p, "draft") : make("span", "db-soft", cell, "inspector.none"));
  lane("gap", (cell, p) => { if (p.gap == null) make("span", "db-soft", cell, p.judged ? "inspector.na.not_reported" : "inspector.none"); else cell.textContent = three(p.gap); }, "inspector.gap.help");
  lane("why", (cell, p) => reason(cell, p));
}

function header(step) {
  const head = make("div", "db-insp-head", root);
  const move = (by, key, arrow) => {
    const button = make("button", "db-insp-move", head);
    button.type = "button";
    button.dataset.by = by;
    const said = make("span", "", null, key);
    button.append(...(by < 0 ? [arrow, " ", said] : [said, " ", arrow]));
    button.disabled = step.index + by < 0;
    button.addEventListener("click", () => {
      show({ run: now.run, step: step.index + by });
      window.dispatchEvent(new CustomEvent("draftboard:light", { detail: { run: now.run, step: step.index + by } }));
    });
  };
  move(-1, "inspector.previous", "‹");
  if (step.index) make("strong", "", head, "inspector.step", { index: step.index }); else make("strong", "", head, "inspector.prefill");
  move(1, "inspector.next", "›");
  if (step.k) make("span", "", head, "inspector.counts", { k: step.k, a: step.a }); else if (step.index) make("span", "", head, "inspector.no_drafts");
  const ms = (x) => three(1000 * x);
  if (step.draft_seconds == null && step.verify_seconds == null) make("span", "db-soft", head, "inspector.no_split");
  if (step.draft_seconds != null) make("span", "db-soft", head, "inspector.draft_time", { ms: ms(step.draft_seconds) });
  if (step.verify_seconds != null) make("span", "db-soft", head, "inspector.verify_time", { ms: ms(step.verify_seconds) });
  make("span", "db-soft", head, "inspector.at", { seconds: three(step.at) });
  if (step.truncated) make("span", "", head, `inspector.truncated.${step.truncated}`);
  const text = make("p", "db-insp-text", root);
  make("span", "db-soft", text).textContent = (step.cut ? "… " : "") + step.prefix;
  for (const p of step.positions) if (p.delivered) make("span", kind(p.delivered.fate), text).textContent = p.delivered.text;
}
const kind = (fate) => ({ target: "t", accepted: "a", recovered: "r", bonus: "b", rejected: "x", discarded: "u" })[fate];

function token(cell, found, eos) {
  if (!found) { make("span", "db-soft", cell, "inspector.none"); return; }
  const chip = make("code", kind(found.fate), cell);
  if (!found.known) board.say(chip, "origin.unknown"); else if (eos) board.say(chip, "pane.eos"); else chip.textContent = visible(found.text) || "∅";
  make("span", "db-insp-fate", cell, `origin.${found.fate}`);
}

function bars(cell, candidates, none, position, model) {
  if (!candidates.length) { make("span", "db-soft", cell, none); return; }
  const list = make("ol", `db-bars ${model}`, cell);
  for (const candidate of candidates) {
    const row = make("li", "", list);
    if (candidate.id === position.drafted?.id) row.classList.add("drafted");
    if (candidate.id === position.delivered?.id) row.classList.add("delivered");
    const bar = make("i", "", row);
    bar.style.width = `${Math.max(0.5, 100 * candidate.prob)}%`;
    make("code", "", row).textContent = visible(candidate.text) || "∅";
    make("b", "", row).textContent = percent(candidate.prob);
  }
}

// The reason's text holds {names}; tokens and numbers take their places as nodes, never as markup.
function reason(cell, { reason: key, words }) {
  const filled = {
    best: words.best, draft: words.draft, target: words.target, accept: words.accept, k: words.k,
    draft_token: words.draft?.token === undefined ? null : { token: words.draft.token },
  };
  const draft_prob = key.startsWith("greedy") && words.draft ? { prob: words.draft.prob } : words.draft;
  for (const part of board.t(`inspector.why.${key}`).split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (!name) { cell.append(part); continue; }
    const value = name === "draft" ? draft_prob : filled[name];
    if (value == null) continue;
    if (typeof value !== "object") { cell.append(String(value)); continue; }
    if (value.token !== undefined) make("code", "", cell).textContent = visible(value.token) || "∅";
    if (value.token !== undefined && value.prob != null) cell.append(" ");
    if (value.prob != null) make("b", "", cell).textContent = percent(value.prob);
  }
}

window.addEventListener("draftboard:step", (event) => { if (element.isConnected) show(event.detail); });
window.addEventListener("draftboard:language", () => { if (drawn && element.isConnected) draw(drawn); });
if (board.selected) show(board.selected); else message("inspector.empty");
