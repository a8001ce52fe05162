// The page's language, for our own fragments and scripts and for Gradio's labels alike.
// <html lang> is the one place it is kept; CSS shows the half of a fragment that belongs to it.
(() => {
  const board = (window.draftboard ??= {});
  const lang = () => (document.documentElement.lang || "en").toLowerCase().startsWith("zh") ? "zh-CN" : "en";
  board.lang = lang;
  board.t = (key, params) => {
    const text = STRINGS[lang()]?.[key] ?? STRINGS.en[key] ?? key;
    return params ? text.replace(/\{(\w+)\}/g, (whole, name) => params[name] ?? whole) : text;
  };
  // A sentence of the server, which sends it in both languages: {"en": ..., "zh-CN": ...}.
  board.said = (said) => (typeof said === "string" ? said : said?.[lang()] ?? said?.en ?? "");
  // A node that says a string, and says it again when the language changes.
  board.say = (node, key, params) => {
    node.dbSays = [key, params];
    node.setAttribute("data-i18n", key);
    node.textContent = board.t(key, params);
    return node;
  };
  // Of its tabs Gradio translates only the selected ones anew. The text node stays Gradio's own.
  const relabelTabs = () => {
    for (const tab of document.querySelectorAll('[role="tab"][data-tab-id]')) {
      const key = TAB_KEYS.map((prefix) => prefix + tab.dataset.tabId).find((one) => one in STRINGS.en);
      const text = [...tab.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
      if (key && text) text.data = board.t(key);
    }
  };
  new MutationObserver(() => {
    for (const node of document.querySelectorAll("[data-i18n]")) if (node.dbSays) board.say(node, ...node.dbSays);
    relabelTabs();
    window.dispatchEvent(new Event("draftboard:language"));
  }).observe(document.documentElement, { attributes: true, attributeFilter: ["lang"] });
  board.setLanguage = async (wanted) => {
    try { localStorage.setItem("draftboard.lang", wanted); } catch { /* private window: not remembered */ }
    const loaded = performance.getEntriesByType("resource").map((e) => e.name).find((u) => u.includes(`/assets/${CORE}`));
    try { (await import(loaded ?? new URL(`assets/${CORE}`, document.baseURI).href)).changeLocale(wanted); }
    catch (error) { console.warn("Gradio's own labels stay in the browser's language:", error); }
    document.documentElement.lang = wanted;
  };
  board.toggleLanguage = () => board.setLanguage(lang() === "en" ? "zh-CN" : "en");
  let remembered = null;
  try { remembered = localStorage.getItem("draftboard.lang"); } catch { /* as above */ }
  if (remembered && remembered !== lang()) {
    // Gradio sets the locale once, while it starts: ours comes after.
    const again = () => document.querySelector(".gradio-container .contain") ? board.setLanguage(remembered) : setTimeout(again, 50);
    again();
  }
})();
// A button that opens a tab: data-db-tab="why" clicks the tab whose id is "why".
document.addEventListener("click", (event) => {
  const name = event.target.closest?.("[data-db-tab]")?.dataset.dbTab;
  if (name) document.querySelector(`[role="tab"][data-tab-id="${name}"]`)?.click();
});
window.addEventListener("draftboard:step", () => document.querySelector('[role="tab"][data-tab-id="inspector"]')?.click());
