// The engine chip: asks the server what the engine is doing, often while it is busy, seldom while it is not.
const chip = element.querySelector("#chip"), text = element.querySelector(".chip-text");
let said = null, timer = 0;
function draw() {
  if (!window.draftboard?.word || !said) return;
  const say = draftboard.word;
  const state = say(`shell.state.${said.state}`);
  const waiting = said.waiting ? say("shell.state.queued", { n: said.waiting }) : "";
  const detail = said.state === "loading" && said.detail ? draftboard.said(said.detail) : "";
  text.textContent = [said.engine, said.target, [state, waiting].filter(Boolean).join(", ")].filter(Boolean).join(" · ");
  chip.dataset.state = said.state;
  chip.title = [say("shell.chip"), detail].filter(Boolean).join(": ");
}
async function ask() {
  clearTimeout(timer);
  if (!document.hidden) {
    let fresh;
    try { fresh = JSON.parse(await server.engine_status()); }
    catch { fresh = { state: "offline" }; }
    if (JSON.stringify(fresh) !== JSON.stringify(said)) { said = fresh; draw(); }
  }
  timer = setTimeout(ask, said && ["loading", "running"].includes(said.state) ? 700 : 2500);
}
window.draftboard?.relabel?.(element);
addEventListener("draftboard:language", draw);
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
ask();
