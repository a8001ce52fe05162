// One pane: appends tokens, never rewrites them. Runs as gr.HTML's js_on_load (element, props, server, trigger, watch).
// Model text reaches the page through textContent only. One block element per line of text keeps layout linear.
const board = (window.draftboard ??= {});
const GONE = "xun";                       // kinds that are not part of the output
const ORIGIN = { t: "target", a: "accepted", r: "recovered", b: "bonus", x: "rejected", u: "discarded", n: "unknown" };
const LONG_LINE = 400;                    // spans in one block before its last visual line moves to a new one
const arm = props.arm, group = ((board.groups ??= {})[props.group] ??= {});
const other = () => group[arm === "baseline" ? "speculative" : "baseline"];

// ---------------------------------------------------------------- the frame
const make = (tag, name, parent, key, params) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (key) board.say(node, key, params);
  parent?.append(node);
  return node;
};
const root = element.querySelector(".db-pane");
root.dataset.arm = arm;
const head = make("div", "db-pane-head", root);
const title = make("h3", "db-pane-title", head, `pane.${arm}`);
const rate = make("div", "db-pane-rate", head);
const rateValue = make("b", "", rate), rateUnit = make("span", "", rate, "pane.rate_unit");
const note = make("div", "db-pane-note", head);
const body = make("div", "db-pane-body", root);
const box = make("div", "db-pane-box", body);
const panel = make("div", "db-pane-state", body);
const foot = make("div", "db-pane-foot", root);
const badge = make("span", "db-pane-badge", foot), status = make("span", "db-pane-status", foot);
const tools = make("span", "db-pane-tools", foot);
title.id = `db-title-${props.group}-${arm}`;
box.setAttribute("role", "group");
box.setAttribute("aria-labelledby", title.id);
box.tabIndex = 0;
status.setAttribute("aria-live", "polite");

const hinted = [];
const hint = (node, key) => { hinted.push([node, key]); node.title = board.t(key); };
window.addEventListener("draftboard:language", () => { for (const [node, key] of hinted) node.title = board.t(key); });
const keys = make("p", "db-sr", body, "pane.keys");
keys.id = `db-keys-${props.group}-${arm}`;
box.setAttribute("aria-describedby", keys.id);

function toggle(key, on, parent, change) {
  const button = make("button", "db-switch", parent, key);
  hint(button, `${key}.help`);
  const set = (now) => { button.setAttribute("aria-pressed", String(now)); change(now); };
  button.type = "button";
  button.addEventListener("click", () => set(button.getAttribute("aria-pressed") !== "true"));
  set(on);
}
if (arm === "speculative") {
  const legend = make("span", "db-legend", foot);
  foot.insertBefore(legend, tools);
  for (const kind of "arb") make("span", kind, legend, `origin.${ORIGIN[kind]}`);
  toggle("pane.show_rejected", true, legend, (on) => root.classList.toggle("no-rejected", !on));
} else {
  toggle("pane.follow", group.follow ?? true, tools, (on) => { group.follow = on; });
}
const copy = make("button", "db-copy", tools);
copy.type = "button";
make("i", "", copy);
const copied = make("span", "db-sr", copy, "pane.copy");
hint(copy, "pane.copy.help");
copy.addEventListener("click", () => copyText(plain(), copied, copy));

// `label` says "copied" for a moment; the clipboard is missing on plain http, where a dialog offers the text instead.
function copyText(text, label, button = label) {
  const key = label.dbSays[0];
  const done = () => {
    board.say(label, "pane.copied");
    button.classList.add("done");
    setTimeout(() => { board.say(label, key); button.classList.remove("done"); }, 1200);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => window.prompt("", text));
  else window.prompt("", text);
}

// ---------------------------------------------------------------- the tokens
let run, tokens, steps, delivered, next, line, cut, healing = false, current = null, stuck = true;

function reset(id) {
  box.textContent = "";
  run = id; tokens = []; steps = new Map(); delivered = []; next = 0; line = null; cut = null; current = null; stuck = true; last = 0;
  box.tabIndex = 0;
  tip(null);
}

function piece(token, text) {
  if (!line) { line = make("div", "", box); }
  const span = make("span", token.name, line);
  span.textContent = text;
  span.dbToken = token;
  token.spans.push(span);
}

function put([kind, text, step, target, draft]) {
  const low = kind.toLowerCase(), gone = GONE.includes(low);
  const blank = !/\S/.test(text);
  const token = { i: tokens.length, kind: low, eos: kind !== low, text, step, target, draft, gone, spans: [], at: next };
  token.name = low + (token.eos ? " eos" : "") + (blank && text ? " ws" : "") + (blank && text.includes("\n") ? " nl" : "");
  tokens.push(token);
  if (!gone) { delivered.push(token); next++; }
  const range = steps.get(step);
  if (range) range[1] = token.i; else steps.set(step, [token.i, token.i]);
  let rest = low === "n" && !text ? "▯" : text;
  if (gone) { piece(token, rest.replace(/\n/g, "⏎")); return; }
  for (let end; (end = rest.indexOf("\n")) >= 0; rest = rest.slice(end + 1)) {
    piece(token, rest.slice(0, end + 1));
    line = null;                          // the next piece begins a new line of text, so a new block
  }
  if (rest || !token.spans.length) piece(token, rest);
  if (line && line.childElementCount > LONG_LINE) breakLine();
}

// A paragraph without a newline: its last visual line becomes a block of its own, where it wraps anyway.
function breakLine() {
  const top = (span, last) => { const boxes = span.getClientRects(); return boxes[last ? boxes.length - 1 : 0]?.top ?? -1; };
  const spans = [...line.children], bottom = top(spans.at(-1), true);
  let first = spans.length - 1;
  while (first > 0 && top(spans[first - 1], true) >= bottom - 2) first--;
  if (first < 1) return;
  const fresh = document.createElement("div");
  const lead = spans[first], word = lead.textContent.trimStart();
  if (word && word !== lead.textContent) {      // its leading space hangs on the line above: it stays there
    lead.textContent = lead.textContent.slice(0, lead.textContent.length - word.length);
    first++;
    const tail = lead.cloneNode(false);
    tail.textContent = word;
    tail.dbToken = lead.dbToken;
    lead.dbToken.spans.push(tail);
    fresh.append(tail);
  }
  fresh.append(...spans.slice(first));
  box.append(fresh);
  line = fresh;
}

// A stop string ends the text before what was shown: take back the rest.
function trim(length) {
  cut = length;
  let used = 0;
  for (const token of tokens) {
    if (used >= length) { token.spans.forEach((span) => span.remove()); token.cut = true; continue; }
    if (token.gone) continue;
    let keep = length - used;
    used += token.text.length;
    for (const span of token.spans) {
      if (span.textContent.length > keep) span.textContent = span.textContent.slice(0, keep);
      keep -= span.textContent.length;
    }
  }
  for (const block of box.querySelectorAll(":scope > div:empty")) block.remove();
}

function plain() {
  const text = delivered.map((token) => token.text).join("");
  return cut === null ? text : text.slice(0, cut);
}

// ---------------------------------------------------------------- values
async function consume() {
  if (!props.value) return;
  const message = JSON.parse(props.value);
  if (message.run !== run) reset(message.run);
  if (message.from > next_index()) { if (await heal(message)) return; }
  take(message);
}
const next_index = () => tokens.length;

async function heal(message) {
  if (healing) return true;               // the answer under way brings these tokens too
  healing = true;
  try {
    const answer = await server.since([message.run, tokens.length]);
    board.heals = (board.heals ?? 0) + 1;
    if (message.run !== run) return true;
    if (answer) { take(answer); return true; }
  } catch (error) { console.warn("token pane: could not heal a gap", error); }
  finally { healing = false; }
  // The run is no longer kept: say so, and go on with what there is.
  make("div", "db-gap", box, "pane.gap");
  line = null;
  next = message.pos;
  while (tokens.length < message.from) tokens.push({ i: tokens.length, kind: "t", gone: true, text: "", step: -1, spans: [] });
  return false;
}

function take(message) {
  const fresh = message.toks.slice(tokens.length - message.from);
  for (const token of fresh) put(token);
  if (message.trim !== undefined && cut === null) trim(message.trim);
  figures(message);
  state(message.state, message.recorded);
  if (fresh.length) moved();
}

function figures({ rate: value, n, k, a }) {
  rateValue.textContent = value == null ? "–" : three(value);
  if (!n) { note.textContent = ""; note.removeAttribute("data-i18n"); note.dbSays = null; return; }
  note.replaceChildren();
  make("span", "", note, "pane.tokens", { n });
  if (k) make("span", "", note, "pane.accepted_share", { share: `${three((100 * a) / k)} %` });
}
const three = (x) => x === 0 ? "0" : x.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x)))));

// ---------------------------------------------------------------- states
let clock = null;
function state(now, recorded) {
  clearInterval(clock);
  root.dataset.state = now.name;
  badge.replaceChildren();
  if (recorded) {
    make("b", "", badge, "pane.state.replaying");
    const where = make("span", "", badge);
    badge.title = where.textContent = [recorded.hardware, recorded.date].filter(Boolean).join(" · ");
  }
  panel.replaceChildren();
  status.textContent = ""; status.dbSays = null;
  const draw = { empty, waiting, off, loading, queued, running, failed }[now.name];
  if (draw) draw(now);
  else if (now.reason) board.say(status, `pane.state.${now.reason}`);
}
function empty() {
  make("p", "db-state-line", panel, "pane.state.empty");
  make("p", "db-state-hint", panel, "pane.state.empty.hint");
  if (arm !== "baseline") return;
  const button = make("button", "db-state-action", panel, "pane.state.empty.action");
  button.type = "button";
  button.addEventListener("click", () => trigger("example"));
}
function waiting() {
  make("p", "db-state-line", panel, "pane.state.waiting");
  make("p", "db-state-hint", panel, "pane.state.waiting.hint");
}
function off() { make("p", "db-state-hint", panel, "pane.state.off"); }
function loading(now) {
  const known = `pane.stage.${now.stage}`;
  const stage = make("p", "db-state-line", panel, board.t(known) === known ? "pane.state.loading" : known);
  const bar = make("div", "db-bar", panel), fill = make("i", "", bar);
  if (now.fraction == null) bar.classList.add("unknown"); else fill.style.width = `${100 * now.fraction}%`;
  const hint = make("p", "db-state-hint", panel);
  if (now.detail) { tell(make("span", "", hint), now.detail); make("span", "", hint).textContent = " · "; }
  const seconds = make("span", "", hint), began = performance.now() - 1000 * (now.seconds ?? 0);
  const tick = () => board.say(seconds, "pane.seconds", { seconds: ((performance.now() - began) / 1000).toFixed(0) });
  tick();
  clock = setInterval(tick, 500);
  stage.setAttribute("role", "status");
}
function queued(now) {
  make("p", "db-state-line", panel, now.position > 1 ? "pane.state.queued" : "pane.state.queued.next", { position: now.position });
  if (now.expected_seconds != null) make("p", "db-state-hint", panel, "pane.state.queued.hint", { seconds: Math.ceil(now.expected_seconds) });
}
function running() {
  if (!tokens.length) make("p", "db-state-hint", panel, "pane.state.prefill");
  board.say(status, "pane.state.running");
}
// A sentence of the server in all its languages, of which the page shows the reader's.
function tell(node, said) {
  if (typeof said === "string") { node.textContent = said; return; }
  node.classList.add("tr");
  for (const [lang, text] of Object.entries(said)) Object.assign(make("span", "", node), { lang, textContent: text });
}
function failed(now) {
  panel.setAttribute("role", "alert");
  make("p", "db-state-line", panel, "pane.state.failed");
  tell(make("p", "db-state-error", panel), now.message ?? "");
  if (now.hint) tell(make("p", "db-state-hint", panel), now.hint);
  const button = make("button", "db-state-action", panel, "pane.state.copy_details");
  button.type = "button";
  button.addEventListener("click", () => copyText([board.said(now.message), board.said(now.hint), now.details].filter(Boolean).join("\n\n"), button));
}

// ---------------------------------------------------------------- scrolling
// Who put the view where it is: the text's end, the other pane, or the reader, who alone moves panes that are written.
let frame = 0, pairing = 0, last = 0, placed = { at: -1, by: "" };
const writing = () => root.dataset.state === "running";
function place(top, by) {
  box.scrollTop = top;
  last = box.scrollTop;
  placed = { at: last, by };
}
function moved() {
  if (stuck && !frame) frame = requestAnimationFrame(() => { frame = 0; if (stuck) place(box.scrollHeight, "end"); });
}
box.addEventListener("scroll", () => {
  const now = box.scrollTop, by = Math.abs(now - placed.at) < 1 ? placed.by : "reader";
  if (bubble.classList.contains("on") && Math.abs(now - tipScroll) > 2) tip(null);
  // Only a move upwards lets go of the end: tokens that came since the last frame put it out of sight as well.
  if (now + box.clientHeight >= box.scrollHeight - 40) stuck = true;
  else if (now < last || by === "other") stuck = false;
  last = now;
  if (!group.follow || by === "other") return;
  pairing ||= requestAnimationFrame(() => { pairing = 0; other()?.scrollTo(by === "end" && !writing() ? Infinity : topPosition(), by); });
}, { passive: true });

// The position of the first token that is visible: blocks by halves, then the spans of one block.
function topPosition() {
  const blocks = box.children, above = (node) => node.offsetTop + node.offsetHeight <= box.scrollTop + 4;
  let low = 0, high = blocks.length;
  while (low < high) { const middle = (low + high) >> 1; if (above(blocks[middle])) low = middle + 1; else high = middle; }
  for (let b = low; b < blocks.length; b++)
    for (const span of blocks[b].children) if (span.dbToken && !span.dbToken.gone && !above(span)) return span.dbToken.at;
  return 0;
}

// ---------------------------------------------------------------- one step in both panes
let lit = [];
function light(list) {
  for (const span of lit) span.classList.remove("lit", "now");
  lit = list.flatMap((token) => token.spans);
  for (const span of lit) span.classList.add("lit");
}
const api = {
  scrollTo(position, by) {                 // Infinity: to the end
    const span = delivered[Math.min(position, delivered.length - 1)]?.spans.at(-1);  // what comes after its newline
    if (!span?.isConnected || (by === "end" && writing())) return;
    place(position <= 0 ? 0 : position === Infinity ? box.scrollHeight : span.offsetTop - 8, "other");
  },
  lightPositions(from, to) { light(delivered.slice(from, to)); },
  lightStep(step) { const range = steps.get(step); if (range) light(tokens.slice(range[0], range[1] + 1)); },
  stepAt(position) { return delivered[position]?.step; },
  range(step) {                            // positions [from, to) that a step delivered
    const range = steps.get(step);
    if (!range) return null;
    const out = tokens.slice(range[0], range[1] + 1).filter((token) => !token.gone);
    return out.length ? [out[0].at, out.at(-1).at + 1] : null;
  },
  clear() { light([]); },
};
group[arm] = api;

function lightFor(token) {
  const speculative = arm === "speculative" ? api : other();
  const step = arm === "speculative" ? token.step : speculative?.stepAt(token.at);
  const range = step === undefined ? null : speculative?.range(step);
  if (arm === "speculative") { api.lightStep(step); if (range) other()?.lightPositions(...range); else other()?.clear(); return; }
  if (range) { api.lightPositions(...range); speculative.lightStep(step); }
  else { light([token]); speculative?.clear(); }
}

// ---------------------------------------------------------------- the tooltip
const bubble = make("div", "db-tip", root);
bubble.setAttribute("role", "tooltip");
bubble.id = `db-tip-${props.group}-${arm}`;
let tipScroll = 0;
function tip(token, at) {
  if (!token) { bubble.classList.remove("on"); if (lit.length) { light([]); other()?.clear(); } return; }
  const span = at ?? token.spans[0];
  tipScroll = box.scrollTop;
  lightFor(token);
  for (const own of token.spans) own.classList.add("now");
  bubble.replaceChildren();
  const top = make("div", "db-tip-head", bubble);
  make("span", token.kind, top, `origin.${ORIGIN[token.kind]}`);
  const shown = make("code", "", top);
  if (token.eos) board.say(shown, "pane.eos");
  else shown.textContent = token.text.replace(/ /g, "·").replace(/\n/g, "⏎").replace(/\t/g, "→");
  const row = (key, value) => {
    const line = make("div", "db-tip-row", bubble);
    make("span", "", line, key);
    if (value.startsWith("pane.")) make("b", "na", line, value); else make("b", "", line).textContent = value;
  };
  if (token.step) row("pane.step", String(token.step)); else row("pane.step", "pane.prefill");
  row("pane.position", token.gone ? `(${token.at})` : String(token.at));
  row("pane.target_prob", token.target != null ? percent(token.target) : token.kind === "u" ? "pane.na.not_judged" : "pane.na.not_reported");
  row("pane.draft_prob", token.draft != null ? percent(token.draft) : "trb".includes(token.kind) ? "pane.na.not_drafted" : "pane.na.not_reported");
  make("div", "db-tip-foot", bubble, "pane.open_step");
  const place = span.getBoundingClientRect(), size = bubble.getBoundingClientRect();
  const below = place.bottom + 6 + size.height < innerHeight;
  bubble.style.left = `${Math.max(4, Math.min(place.left, innerWidth - size.width - 8))}px`;
  bubble.style.top = `${below ? place.bottom + 6 : place.top - size.height - 6}px`;
  bubble.classList.add("on");
}
const percent = (x) => x >= 0.001 ? `${three(100 * x)} %` : x === 0 ? "0 %" : `${x.toExponential(1)}`;
const tokenOf = (event) => event.target.closest?.("span")?.dbToken;
box.addEventListener("mouseover", (event) => { const token = tokenOf(event); if (token) tip(token, event.target.closest("span")); });
box.addEventListener("mouseleave", () => tip(null));

// ---------------------------------------------------------------- keyboard, click, copy
function focus(token) {
  if (!token) return;
  const before = current?.spans[0];
  if (before) before.removeAttribute("tabindex");
  current = token;
  const span = token.spans[0];
  span.tabIndex = 0;
  box.tabIndex = -1;
  span.setAttribute("role", "button");
  span.setAttribute("aria-describedby", bubble.id);
  span.focus({ preventScroll: true });
  const place = span.offsetTop;
  if (place < box.scrollTop || place + 30 > box.scrollTop + box.clientHeight) box.scrollTop = place - box.clientHeight / 2;
  requestAnimationFrame(() => { if (document.activeElement === span) tip(token, span); });
}
const seen = (token) => token && !token.cut && token.spans.length && (token.text || token.eos || token.kind === "n")
  && !(token.gone && root.classList.contains("no-rejected"));
function walk(from, by) { let i = from + by; while (tokens[i] && !seen(tokens[i])) i += by; return tokens[i]; }
function walkStep(by) {
  const step = current.step;
  let token = walk(current.i, by);
  while (token && token.step === step) token = walk(token.i, by);
  if (token && by < 0) token = walk(steps.get(token.step)[0] - 1, 1);
  return token;
}
box.addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Enter" || event.key === " ") { if (current) { event.preventDefault(); select(current); } return; }
  if (event.key === "Escape") { tip(null); return; }
  if (event.key === "Home" || event.key === "End") { event.preventDefault(); focus(event.key === "Home" ? walk(-1, 1) : walk(tokens.length, -1)); return; }
  if (!by || (!current && event.key.length > 8 && by < 0)) return;
  event.preventDefault();
  focus(!current ? walk(-1, 1) : event.shiftKey ? walkStep(by) : walk(current.i, by));
});
box.addEventListener("focusin", (event) => { const token = tokenOf(event); if (token) tip(token, event.target); });
box.addEventListener("focusout", () => tip(null));
box.addEventListener("click", (event) => { const token = tokenOf(event); if (token && getSelection().isCollapsed) select(token); });
function select(token) {
  const detail = { run, step: token.step, position: token.at, group: props.group, arm };
  board.selected = detail;
  window.dispatchEvent(new CustomEvent("draftboard:step", { detail }));
  trigger("select", detail);
}
box.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  const part = selection.getRangeAt(0).cloneContents();
  part.querySelectorAll(".x, .u, .n, .db-gap").forEach((node) => node.remove());
  event.clipboardData.setData("text/plain", part.textContent);
  event.preventDefault();
});

window.addEventListener("draftboard:light", (event) => {
  const { run: other_run, step } = event.detail, range = other_run === run && steps.get(step);
  if (!range || !element.isConnected) return;
  const token = tokens.slice(range[0], range[1] + 1).find(seen);
  if (!token) return;
  lightFor(token);
  const place = token.spans[0].offsetTop;
  if (place < box.scrollTop || place + 30 > box.scrollTop + box.clientHeight) box.scrollTop = place - box.clientHeight / 2;
});

reset(undefined);
watch("value", consume);
consume();
