// An export: what is lost, how to start it, its files; each can be copied and downloaded. Text only, through textContent.
const root = element.querySelector(".db-export"), board = window.draftboard;
const W = (key) => board.word(`shell.export.${key}`);
let last = null;
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
};
function code(parent, title, text, name) {
  const box = make("section", "e-file", parent), head = make("header", "e-head", box);
  make("h4", "", head, title);
  act(head, W("copy"), () => board.copy(text));
  if (name) act(head, W("download"), () => board.download(name, text));
  const shown = make("pre", "", box, text);
  shown.tabIndex = 0;
  shown.setAttribute("aria-label", title);
}
function losses(list) {
  const box = make("section", "e-losses", root);
  make("h4", "", box, W(list.length ? "losses" : "no_losses"));
  if (!list.length) return box.classList.add("none");
  const body = make("tbody", "", make("table", "", box));
  for (const { field, level, reason } of list) {
    const row = make("tr", "", body);
    make("span", `e-level e-${level}`, make("td", "", row), W(`level.${level}`));
    make("code", "", make("td", "", row), field);
    make("td", "", row, reason);
  }
}
function draw() {
  root.replaceChildren();
  if (!last || last.nothing) { make("p", "h-empty", root, W("nothing")); return; }
  if (last.error) {
    const box = make("div", "e-problem", root);
    box.setAttribute("role", "alert");
    make("p", "", box, last.error); make("p", "e-hint", box, last.hint);
    return;
  }
  losses(last.losses);
  const facts = make("p", "e-facts", root);
  if (last.versions) { make("span", "", facts, `${W("versions")}: `); make("b", "", facts, last.versions); }
  if (last.checked_by) { make("span", "", facts, `${W("checked")}: `); make("b", "", facts, last.checked_by); }
  if (last.command) code(root, W("command"), last.command);
  for (const [name, text] of Object.entries(last.files)) code(root, name, text, name);
}
function consume() { try { last = JSON.parse(props.value); } catch { last = null; } draw(); }
watch("value", consume);
addEventListener("draftboard:language", draw);
consume();
