// The page's own manners: light or dark, tooltips, labels of icon buttons in both languages, folding, keys, copying.
// SHELL holds the strings (see header.py). Knows no run and no model.
(() => {
  const board = (window.draftboard ??= {});
  const remembered = (name) => { try { return localStorage.getItem(`draftboard.${name}`); } catch { return null; } };
  const remember = (name, value) => { try { localStorage.setItem(`draftboard.${name}`, value); } catch { /* private window */ } };
  const byId = (id) => document.getElementById(id);

  // A string of the shell in the page's language.
  board.word = (key, params) => {
    const text = SHELL[board.lang?.() ?? "en"]?.[key] ?? SHELL.en[key] ?? key;
    return params ? text.replace(/\{(\w+)\}/g, (whole, name) => params[name] ?? whole) : text;
  };

  // Light or dark: what was chosen last, else what the system says. Gradio sets the class at start; ours wins.
  const dark = () => (remembered("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const paint = () => { if (document.body && document.body.classList.contains("dark") !== dark()) document.body.classList.toggle("dark", dark()); };
  const settle = () => {
    paint();
    new MutationObserver(paint).observe(document.body, { attributes: true, attributeFilter: ["class"] });
    if (remembered("fold") === "yes") document.body.classList.add("folded");
  };
  document.body ? settle() : document.addEventListener("DOMContentLoaded", settle);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

  // Buttons that show an icon carry their words in data-label.
  board.relabel = (root = document) => {
    for (const element of root.querySelectorAll("[data-label]")) {
      const text = board.word(element.dataset.label);
      if (element.dataset.labelAs === "text") element.textContent = text;
      else { element.setAttribute("aria-label", text); element.title = text; }
    }
  };
  addEventListener("draftboard:language", () => board.relabel());

  const fold = (folded) => {
    document.body.classList.toggle("folded", folded);
    byId("fold")?.setAttribute("aria-expanded", String(!folded));
    remember("fold", folded ? "yes" : "no");
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("#fold, #language, #dark, .skip, .fold-button");
    if (!button) return;
    if (button.classList.contains("fold-button")) button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
    if (button.id === "fold") fold(!document.body.classList.contains("folded"));
    if (button.id === "language") board.toggleLanguage();
    if (button.id === "dark") { remember("theme", dark() ? "light" : "dark"); paint(); dispatchEvent(new Event("draftboard:theme")); }
    if (button.classList.contains("skip")) { event.preventDefault(); byId("prompt")?.querySelector("textarea")?.focus(); }
  });

  // One tooltip for all: a control's description (Gradio's info text, kept out of sight) or a button's data-tip.
  let tip = null, over = null;
  const hide = () => { if (tip) tip.hidden = true; over = null; };
  const show = (owner) => {
    const text = owner.querySelector?.(".info-text")?.textContent.trim() || (owner.dataset.tip && board.word(owner.dataset.tip));
    if (!text) return hide();
    if (!tip) { tip = document.createElement("div"); tip.id = "tip"; tip.setAttribute("role", "tooltip"); document.body.append(tip); }
    tip.textContent = text; tip.hidden = false; over = owner;
    const box = owner.getBoundingClientRect(), width = tip.offsetWidth, height = tip.offsetHeight;
    const beside = owner.closest("#column") && box.right + 12 + width < innerWidth;
    tip.style.left = `${beside ? box.right + 12 : Math.max(8, Math.min(box.left, innerWidth - width - 8))}px`;
    const below = box.bottom + 6 + height < innerHeight ? box.bottom + 6 : box.top - height - 6;
    tip.style.top = `${Math.max(8, beside ? Math.min(box.top, innerHeight - height - 8) : below)}px`;
  };
  const owner = (node) => node.closest?.(".ctl, [data-tip]");
  let pause = 0;
  document.addEventListener("pointerover", (event) => {
    const found = owner(event.target);
    if (found === over) return;
    clearTimeout(pause); hide();
    if (found) pause = setTimeout(() => show(found), 350);
  });
  document.addEventListener("focusin", (event) => { const found = owner(event.target); if (found && event.target.matches(":focus-visible")) show(found); });
  document.addEventListener("focusout", hide);
  document.addEventListener("pointerdown", () => { clearTimeout(pause); hide(); }, true);
  addEventListener("scroll", hide, true);

  // Short words at the foot of the page.
  board.toast = (text) => {
    let box = byId("toast");
    if (!box) { box = document.createElement("div"); box.id = "toast"; box.setAttribute("role", "status"); document.body.append(box); }
    box.textContent = text; box.classList.add("shown");
    clearTimeout(board.toastTimer); board.toastTimer = setTimeout(() => box.classList.remove("shown"), 2200);
  };
  board.copy = async (text, said) => {
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    board.toast(board.word(said ?? "shell.copied"));
  };
  // A link to recorded runs; more than one is a comparison.
  board.link = (ids) => `${location.origin}${location.pathname}?run=${ids.map(encodeURIComponent).join(",")}`;
  board.openTab = (id) => document.querySelector(`[role=tab][data-tab-id="${id}"]`)?.click();
  board.download = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    link.download = name; link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { hide(); for (const button of document.querySelectorAll(".popover .cancel")) if (button.offsetParent) button.click(); }
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const press = (id) => { const button = byId(id); if (button && !button.disabled) { event.preventDefault(); button.click(); } };
    if (event.key === "Enter") { board.openTab("compare"); press("run"); }
    if (event.key === ".") press("stop");
  }, true);

  // Gradio's parts appear after this script: label them as they come.
  addEventListener("load", () => {
    const find = (tries) => {
      if (byId("run")) {
        board.relabel(); byId("fold")?.setAttribute("aria-expanded", String(!document.body.classList.contains("folded")));
        for (const [id, key] of [["run", "run_keys"], ["stop", "stop_keys"], ["replay", "replay.help"], ["replay4", "replay4.help"]])
          if (byId(id)) byId(id).dataset.tip = `shell.${key}`;
      } else if (tries) setTimeout(find, 100, tries - 1);
    };
    find(300);
  });
})();
