// Adds to pages what a server can't: live results, suggestions, keys, copying. Pages work without it.
"use strict";
(() => {
  const form = document.querySelector("form.search");
  const box = form && form.querySelector("input[name=q]");
  const results = document.getElementById("results");
  const FIELDS = new Set((form && form.dataset.fields || "").split(" "));

  // Text that a reader copies; results come later, so one listener has all buttons
  document.documentElement.classList.add("scripted");
  async function copy(button) {
    const text = document.getElementById(button.dataset.copy).textContent;
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy it";
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (button) copy(button);
  });
  // A click on a line's number selects it, with Shift up to it; the address and the form follow
  const file = document.querySelector("table[data-file]");
  // Several lines of a cell may be one line of the file; a heading is none.
  const lineOf = (row) => Number(row.dataset.line ?? (row.id.match(/^L(\d+)$/)?.[1] ?? NaN));
  const lines = document.querySelector("form.inline input[name=lines]");
  let anchor = lines ? parseInt(lines.value, 10) || 0 : 0;
  file?.addEventListener("click", (event) => {
    const link = event.target.closest("td:first-child a");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const at = lineOf(link.closest("tr"));
    if (!event.shiftKey || !anchor) anchor = at;
    const first = Math.min(anchor, at), last = Math.max(anchor, at);
    for (const row of file.rows) {
      const number = lineOf(row);
      row.classList.toggle("hit", first <= number && number <= last);
    }
    lines.value = first === last ? `${first}` : `${first}-${last}`;
    const asked = new URLSearchParams(location.search);
    const rest = (asked.has("blame") ? "&blame=1" : "") + (asked.get("view") === "lines" ? "&view=lines" : "");
    history.replaceState(null, "", `${location.pathname}?L${lines.value}${rest}`);
    const permalink = document.querySelector("[data-permalink]");
    permalink.href = `${permalink.href.split("?")[0]}?L${lines.value}`;
  });
  // A click on a name in a file shows its definition and references below the file
  const names = document.querySelector("form.inline input[name=name]");
  const panel = document.querySelector("section.names");
  function nameAt(event) {
    const place = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    const range = place ? null : document.caretRangeFromPoint?.(event.clientX, event.clientY);
    const node = place ? place.offsetNode : range?.startContainer, at = place ? place.offset : range?.startOffset;
    if (node?.nodeType !== Node.TEXT_NODE || !event.target.contains(node)) return "";
    const left = /[\p{L}_$][\p{L}\p{N}_$]*$/u.exec(node.data.slice(0, at)), right = /^[\p{L}\p{N}_$]*/u.exec(node.data.slice(at));
    const name = (left ? left[0] : "") + right[0];
    return /^[\p{L}_$]/u.test(name) && name.length <= names.maxLength ? name : "";
  }
  let asking = null;
  async function show(name, line) {
    asking?.abort();
    const mine = asking = new AbortController();
    const address = new URL(names.form.action);
    address.searchParams.set("name", name);
    address.searchParams.set("line", line);
    const link = panel.querySelector("a"), list = panel.querySelector("div");
    link.textContent = name;
    link.href = address;
    list.textContent = "Loading\u2026";
    panel.hidden = false;
    try {
      const response = await fetch(address, { signal: mine.signal });
      // The service escapes all text in it, and the page's policy runs nothing inline.
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const made = page.querySelector("[data-names]");
      if (!response.ok || !made) throw new Error(response.statusText);
      list.replaceChildren(made);
    } catch {
      if (mine === asking) list.textContent = "Can't load the references. Open the link above instead.";
    }
  }
  if (names && panel) {
    document.querySelector("table.lines")?.addEventListener("click", (event) => {
      const plain = event.detail === 1 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
      if (!plain || event.target.closest("a, .sl-k, .sl-c") || String(document.getSelection())) return;
      const name = nameAt(event);
      if (name) show(names.value = name, lineOf(event.target.closest("tr")) || "");
    });
    panel.querySelector("button").addEventListener("click", () => { panel.hidden = true; });
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") panel.hidden = true; });
  }
  // Parts of a page that take longer, one after the other: each link leads to the page with its part
  async function load(link) {
    const part = link.closest("[data-part]"), note = link.parentElement, text = note.innerHTML;
    part.setAttribute("aria-busy", "true");
    note.textContent = "Loading\u2026";
    try {
      const response = await fetch(link.href);
      // The service escapes all text in it, and the page's policy runs nothing inline.
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const made = page.querySelector(`[data-part=${part.dataset.part}]`);
      if (!response.ok || !made) throw new Error(response.statusText);
      const focused = part.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      part.replaceWith(made);
      if (focused) made.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
      return made.querySelector("a[data-load]");
    } catch {
      note.innerHTML = text;
      part.removeAttribute("aria-busy");
      return null;
    }
  }
  (async () => {
    for (const link of [...document.querySelectorAll("a[data-load]")]) {
      // A part that takes longer than the service works at once goes on from where it was.
      for (let next = link, tries = 0; next && tries < 20; tries++) next = await load(next);
    }
  })();
  // A conversation that works on a question
  const talk = document.querySelector("[data-follow]");
  if (talk) {
    const states = new EventSource(talk.dataset.follow);
    states.addEventListener("state", (event) => {
      const state = JSON.parse(event.data);
      const opened = [...talk.querySelectorAll("details")].map((each) => each.open);
      // The service escapes all text in it, and the page's policy runs nothing inline.
      talk.innerHTML = state.html;
      // Questions come at the end, so what a reader has unfolded stays in its place.
      talk.querySelectorAll("details").forEach((each, index) => { each.open ||= opened[index] || false; });
      if (state.done) states.close();
    });
    // The service ends a stream after a while, or when it stops; a reload follows it again.
    states.addEventListener("error", () => states.close());
  }
  // Ctrl+Enter sends what is written
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("form.ask textarea")) {
      event.target.form.querySelector("button").click();
    }
  });
  if (!box) return;

  // Colours in the box: the same text behind a transparent one
  const mirror = document.createElement("div");
  mirror.className = "mirror";
  mirror.setAttribute("aria-hidden", "true");
  box.before(mirror);
  box.classList.add("mirrored");
  const PART = /("(?:[^"\\]|\\.)*"?)|(\/(?:[^/\\\s]|\\.)+\/)|\b(AND|OR|NOT)\b|(-?[A-Za-z]+:)/g;
  const span = (text, kind) => {
    const part = document.createElement(kind ? "span" : "i");
    if (kind) part.className = kind;
    part.textContent = text;
    return part;
  };
  function paint() {
    const text = box.value, parts = [];
    let end = 0;
    for (const found of text.matchAll(PART)) {
      const field = found[4];
      if (field && !FIELDS.has(field.replace(/^-|:$/g, "").toLowerCase())) continue;
      parts.push(span(text.slice(end, found.index), ""));
      const kind = found[1] ? "sl-s" : found[2] ? "sl-n" : "sl-k";
      parts.push(span(found[0], kind));
      end = found.index + found[0].length;
    }
    parts.push(span(text.slice(end), ""));
    mirror.replaceChildren(...parts);
    mirror.scrollLeft = box.scrollLeft;
  }
  box.addEventListener("scroll", () => { mirror.scrollLeft = box.scrollLeft; });

  // Suggestions: a list of options below the box
  const list = document.createElement("ul");
  list.id = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  form.append(list);
  const attributes = {role: "combobox", "aria-autocomplete": "list", "aria-controls": list.id, "aria-expanded": "false"};
  for (const [name, value] of Object.entries(attributes)) box.setAttribute(name, value);
  let chosen = -1, asked = 0;
  function close() {
    list.hidden = true;
    chosen = -1;
    box.setAttribute("aria-expanded", "false");
    box.removeAttribute("aria-activedescendant");
  }
  function choose(number) {
    const options = [...list.children];
    chosen = (number + options.length) % options.length;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === chosen)));
    box.setAttribute("aria-activedescendant", options[chosen].id);
    options[chosen].scrollIntoView({block: "nearest"});
  }
  function take(option) {
    const after = box.value.slice(box.selectionStart);
    box.value = option.dataset.text + after;
    box.setSelectionRange(option.dataset.text.length, option.dataset.text.length);
    paint();
    close();
    suggest();
  }
  // Until the answer for a longer text arrives, only what continues it may be taken: taking replaces the text
  function removeOutdated() {
    const text = box.value.slice(0, box.selectionStart).toLowerCase(), active = list.children[chosen];
    for (const option of [...list.children]) {
      if (!option.dataset.text.toLowerCase().startsWith(text)) option.remove();
    }
    if (!list.children.length) return close();
    chosen = [...list.children].indexOf(active);
    if (chosen < 0) box.removeAttribute("aria-activedescendant");
  }
  async function suggest() {
    const mine = ++asked;
    const text = box.value.slice(0, box.selectionStart);
    let answer = [];
    try {
      const response = await fetch(`${form.dataset.suggestions}?q=${encodeURIComponent(text)}`);
      if (response.ok) answer = await response.json();
    } catch { /* the box works without */ }
    if (mine !== asked || document.activeElement !== box) return;
    if (!answer.length) return close();
    // An answer may arrive after a reader has chosen from the one before
    const active = list.children[chosen];
    const choice = active ? answer.findIndex((each) => each.text === active.dataset.text) : -1;
    list.replaceChildren(...answer.map((each, index) => {
      const option = document.createElement("li");
      option.id = `suggestion-${index}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.dataset.text = each.text;
      option.append(span(each.label, "label"), span(each.meaning, "meaning"));
      option.addEventListener("mousedown", (event) => { event.preventDefault(); take(option); });
      return option;
    }));
    list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    if (choice >= 0) return choose(choice);
    chosen = -1;
    box.removeAttribute("aria-activedescendant");
  }

  // Live results
  let source = null, timer = 0;
  function address(path) {
    const parameters = new URLSearchParams(new FormData(form));
    if (!parameters.get("patternType")) parameters.delete("patternType");
    return `${path}?${parameters}`;
  }
  function live() {
    if (source) source.close();
    source = null;
    if (!results || !box.value.trim()) return;
    const query = box.value;
    source = new EventSource(address(form.dataset.live));
    results.setAttribute("aria-busy", "true");
    const mine = source;
    source.addEventListener("state", (event) => {
      if (mine !== source) return;
      const state = JSON.parse(event.data);
      // The service escapes all text of repositories in it, and the page's policy runs nothing inline.
      results.innerHTML = state.html;
      if (!state.done) return;
      mine.close();
      results.removeAttribute("aria-busy");
      document.title = `${query} \u00b7 search \u00b7 sourcelight`;
      const wait = document.getElementById("wait");
      if (wait) wait.remove();
    });
    // Without this, a browser would make the search again and again.
    source.addEventListener("error", () => { mine.close(); results.removeAttribute("aria-busy"); });
  }
  box.addEventListener("input", () => {
    paint();
    removeOutdated();
    suggest();
    clearTimeout(timer);
    if (results) {
      timer = setTimeout(() => {
        history.replaceState(null, "", address(form.action));
        // What a page says of a query holds for another one no more.
        document.querySelector(".tools")?.remove();
        live();
      }, 350);
    }
  });
  box.addEventListener("blur", close);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (list.hidden) box.blur();
      close();
    } else if (!list.hidden && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      choose(event.key === "ArrowDown" ? chosen + 1 : chosen < 0 ? -1 : chosen - 1);
    } else if (!list.hidden && chosen >= 0 && (event.key === "Enter" || event.key === "Tab")) {
      event.preventDefault();
      take(list.children[chosen]);
    }
  });

  // Keys: / to the box, j and k through results, c copies the result as Python
  document.addEventListener("keydown", (event) => {
    const inText = event.target.closest("input, textarea, select");
    if (inText || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "j" || event.key === "k") {
      const links = [...document.querySelectorAll(".result h2 a:not(.repo)")];
      const at = links.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1);
      const link = links[Math.max(0, Math.min(links.length - 1, at))];
      if (link) link.focus();
    } else if (event.key === "c") {
      const button = document.activeElement.closest(".result")?.querySelector("button[data-copy]");
      if (!button) return;
      button.closest("details").open = true;
      copy(button);
    }
  });
  paint();
  if (results && results.dataset.done === "0") live();
})();
