// The explorer's page. Rows stay in Python: this asks for what it shows, and sets everything as text.

const ROW = 26; // px, as in explorer.css
const TALLEST = 8_000_000; // px that every browser can lay out; longer lists scroll in proportion
const PAGE = 60;
const POLL_MS = 400;
const BUSY_MS = 2500;
const STEP = 20;
const WORDS = { running: "Searching…", complete: "Complete", limited: "Limited", interrupted: "Stopped", failed: "Failed" };
const COLUMNS = [
  ["repository", "Repository"],
  ["path", "Path"],
  ["language", "Language"],
  ["text", "Text"],
];

function marked(pieces) {
  return pieces.map(([text, hit]) => (hit ? element("mark", {}, text) : document.createTextNode(text)));
}

function webAddress(text) {
  try {
    const url = new URL(text);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : "";
  } catch {
    return "";
  }
}

function labAddress(path) {
  let base = "/";
  try {
    base = JSON.parse(document.getElementById("jupyter-config-data").textContent).baseUrl || "/";
  } catch {}
  return `${base}lab/tree/${path.split("/").map(encodeURIComponent).join("/")}`;
}

function number(value) {
  return value.toLocaleString("en");
}

class Page {
  constructor(model, root) {
    this.model = model;
    this.name = Math.random().toString(36).slice(2);
    this.asked = { repository: "", language: "", path: "", text: "", sort: "", descending: false };
    this.sent = 0; // number of the newest view asked for
    this.waiting = null; // what was asked for and has not come: [number, since]
    this.dirty = false;
    this.rows = new Map();
    this.wanted = new Set();
    this.shown = 0;
    this.all = 0;
    this.phase = "running";
    this.at = -1; // the selected row
    this.open = null; // the row in the preview, with lines above and below
    this.timers = new Set();
    this.build(root);
    this.hear = (message) => message && message.from === this.name && this.heard(message);
    model.on("msg:custom", this.hear);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.grid);
    this.look();
  }

  close() {
    this.model.off("msg:custom", this.hear);
    this.resized.disconnect();
    for (const timer of this.timers) clearTimeout(timer);
    this.gone = true;
  }

  later(act, ms) {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      if (!this.gone) act();
    }, ms);
    this.timers.add(timer);
  }

  // ---- what is there ----

  build(root) {
    const id = (part) => `sl-${this.name}-${part}`;
    this.id = id;
    this.head = element("strong", { class: "sl-x-head" });
    this.query = element("code", { class: "sl-x-query" });
    this.notes = element("ul", { class: "sl-x-notes", "aria-label": "Skipped work and alerts", hidden: "" });
    this.stop = own(element("button", { type: "button", class: "sl-x-button", title: "Stop and keep what arrived" }, "Stop"));
    this.stop.addEventListener("click", () => {
      this.stop.disabled = true;
      this.say({ kind: "stop" });
    });
    const choice = (name, words) => {
      const made = own(element("select", { id: id(name) }));
      made.addEventListener("change", () => {
        const picked = made.selectedOptions[0];
        this.ask({ [name]: picked.dataset.none ? null : picked.value });
      });
      return [element("label", { for: id(name) }, words, made), made];
    };
    const field = (name, words, hint) => {
      const made = element("input", { type: "search", id: id(name), placeholder: hint, spellcheck: "false", autocomplete: "off" });
      made.addEventListener("input", () => this.ask({ [name]: made.value }));
      return [element("label", { for: id(name) }, words, made), made];
    };
    const [repositories, repository] = choice("repository", "Repository");
    const [languages, language] = choice("language", "Language");
    const [paths, path] = field("path", "Path", "src *.py -test");
    const [texts, text] = field("text", "Text", "in matched lines");
    Object.assign(this, { repository, language, path, text });
    this.clear = own(element("button", { type: "button", class: "sl-x-button" }, "Clear"));
    this.clear.addEventListener("click", () => {
      path.value = text.value = "";
      this.ask({ repository: "", language: "", path: "", text: "" });
      path.focus();
    });
    const filters = element("div", { class: "sl-x-filters", role: "search", "aria-label": "Filter the rows" });
    filters.append(repositories, languages, paths, texts, this.clear);
    this.count = element("div", { class: "sl-x-count", role: "status", "aria-live": "polite" });
    this.heads = COLUMNS.map(([name, words]) => {
      const button = own(element("button", { type: "button", class: "sl-x-sort" }, words));
      const cell = element("div", { role: "columnheader", class: `sl-x-${name}`, "aria-sort": "none" }, button);
      button.addEventListener("click", () => this.sort(name));
      return [name, cell];
    });
    const header = element("div", { role: "row", class: "sl-x-row sl-x-header", "aria-rowindex": "1" });
    header.append(...this.heads.map(([, cell]) => cell));
    this.spacer = element("div", { role: "rowgroup", class: "sl-x-spacer" });
    this.grid = own(
      element("div", { role: "grid", class: "sl-x-grid", tabindex: "0", "aria-label": "Rows", "aria-colcount": "4", "aria-describedby": id("keys") }),
    );
    this.grid.append(element("div", { role: "rowgroup", class: "sl-x-headgroup" }, header), this.spacer);
    this.grid.addEventListener("scroll", () => requestAnimationFrame(() => this.draw()));
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.spacer.addEventListener("click", (event) => {
      const row = event.target.closest("[data-at]");
      if (row) this.choose(Number(row.dataset.at), true);
    });
    const keys = element("div", { class: "sl-x-keys", id: id("keys") }, "Arrow keys move, Enter shows the lines around a row, Escape closes them.");
    this.preview = element("section", { class: "sl-x-preview", "aria-label": "Lines around the selected row", hidden: "" });
    this.preview.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.shut();
    });
    const top = element("div", { class: "sl-x-top" }, element("div", { class: "sl-x-words" }, this.head, this.query), this.stop);
    this.box = element("section", { class: "sl-x", "aria-label": "Explorer of matches", hidden: "" });
    this.box.append(top, this.notes, filters, this.count, this.grid, keys, this.preview);
    root.append(this.box);
  }

  // ---- asking ----

  say(message) {
    this.model.send({ ...message, from: this.name });
  }

  ask(change) {
    Object.assign(this.asked, change);
    this.model.set("filters", { ...this.asked });
    this.model.save_changes();
    this.at = -1;
    this.fresh = true;
    this.look();
  }

  sort(name) {
    const again = this.asked.sort === name;
    if (again && this.asked.descending) this.ask({ sort: "", descending: false });
    else this.ask({ sort: name, descending: again });
  }

  // One view is asked for at a time; what changes meanwhile is asked for when it has come.
  look() {
    if (this.waiting) {
      this.dirty = true;
      return;
    }
    this.dirty = false;
    this.sent += 1;
    const mine = this.sent;
    this.waiting = mine;
    const start = this.fresh ? 0 : this.window()[0];
    this.say({ kind: "view", id: mine, asked: this.asked, start, count: PAGE });
    this.later(() => {
      if (this.waiting === mine) this.count.textContent = "The kernel is busy; rows arrive when it is free";
    }, BUSY_MS);
  }

  need(start) {
    const page = Math.floor(start / PAGE) * PAGE;
    for (const each of [page, page + PAGE]) {
      if (each < this.shown && !this.wanted.has(each)) {
        this.wanted.add(each);
        this.say({ kind: "rows", id: this.sent, start: each, count: PAGE });
      }
    }
  }

  heard(message) {
    if (this.box.hidden) live(this.box);
    this.box.hidden = false;
    if (message.kind === "view") this.viewed(message);
    else if (message.kind === "rows" && message.id === this.sent) this.took(message);
    else if (message.kind === "lines") this.lined(message);
  }

  viewed(message) {
    if (message.id !== this.sent) return;
    this.waiting = null;
    this.rows.clear();
    this.wanted.clear();
    Object.assign(this, { shown: message.shown, all: message.all, phase: message.phase });
    if (this.fresh) this.grid.scrollTop = 0;
    this.fresh = false;
    this.head.textContent = message.headline;
    this.head.dataset.phase = message.phase;
    this.head.title = WORDS[message.phase] || "";
    this.query.textContent = message.query;
    this.noted(message);
    this.stop.hidden = message.phase !== "running";
    this.choices(this.repository, message.repositories, this.asked.repository, "All repositories");
    this.choices(this.language, message.languages, this.asked.language, "All languages");
    this.clear.disabled = !(this.asked.repository || this.asked.language !== "" || this.asked.path || this.asked.text);
    const told = `${number(message.shown)} of ${number(message.all)} rows`;
    if (this.count.textContent !== told) this.count.textContent = told;
    this.grid.setAttribute("aria-rowcount", String(message.shown + 1));
    for (const [name, cell] of this.heads) {
      const way = name !== this.asked.sort ? "none" : this.asked.descending ? "descending" : "ascending";
      cell.setAttribute("aria-sort", way);
    }
    this.spacer.style.height = `${Math.min(Math.max(message.shown, 1) * ROW, TALLEST)}px`;
    this.took(message);
    this.grid.dataset.view = JSON.stringify(this.asked); // for tests: what the rows on show were asked by
    if (this.dirty) this.look();
    else if (message.phase === "running") this.later(() => this.look(), POLL_MS);
  }

  noted(message) {
    const items = message.notes.map(([kind, text]) => element("li", { "data-kind": kind }, element("b", {}, kind), ` ${text}`));
    if (message.more_notes) items.push(element("li", {}, `and ${message.more_notes} more`));
    this.notes.replaceChildren(...items);
    this.notes.hidden = !items.length;
  }

  choices(select, found, chosen, all) {
    if (document.activeElement === select && select.options.length && this.phase === "running") return;
    const options = [element("option", { value: "" }, all)];
    const values = found.values.slice();
    if (chosen !== "" && !values.some(([value]) => value === chosen)) values.push([chosen, chosen === null ? "(none)" : chosen, 0]);
    for (const [value, words, count] of values) {
      const option = element("option", { value: value === null ? "\u0000" : value }, `${words} (${number(count)})`);
      if (value === null) option.dataset.none = "true";
      option.selected = value === chosen;
      options.push(option);
    }
    if (found.more) options.push(element("option", { disabled: "", value: "\u0001" }, `${number(found.more)} more: use Path`));
    select.replaceChildren(...options);
  }

  took(message) {
    message.rows.forEach((row, k) => this.rows.set(message.start + k, row));
    this.draw();
    this.peer();
  }

  // ---- drawing ----

  window() {
    const tall = this.grid.clientHeight - ROW;
    const real = this.shown * ROW;
    const laid = Math.min(real, TALLEST);
    const ratio = laid > tall ? (real - tall) / (laid - tall) : 1;
    const top = Math.max(0, Math.min(this.grid.scrollTop * ratio, real - tall));
    return [Math.max(0, Math.floor(top / ROW) - 3), Math.ceil(tall / ROW) + 6, top, this.grid.scrollTop - top];
  }

  draw() {
    const [first, many, , shift] = this.window();
    const last = Math.min(first + many, this.shown);
    const made = [];
    for (let at = first; at < last; at += 1) {
      const row = this.rows.get(at);
      if (!row) this.need(at);
      made.push(this.line(at, row, at * ROW + shift));
    }
    if (!this.shown) made.push(element("div", { role: "row", class: "sl-x-row sl-x-none" }, element("div", { role: "gridcell" }, this.phase === "running" ? "nothing yet" : "no rows")));
    this.spacer.replaceChildren(...made);
    if (this.at >= first && this.at < last) this.grid.setAttribute("aria-activedescendant", this.id(`row-${this.at}`));
    else this.grid.removeAttribute("aria-activedescendant");
  }

  line(at, row, top) {
    const made = element("div", {
      role: "row",
      class: "sl-x-row",
      id: this.id(`row-${at}`),
      "aria-rowindex": String(at + 2),
      "aria-selected": String(at === this.at),
      "data-at": String(at),
    });
    made.style.top = `${top}px`;
    if (!row) {
      made.append(element("div", { role: "gridcell", class: "sl-x-text" }, "…"));
      return made;
    }
    const cell = element("div", { role: "gridcell", class: "sl-x-path", title: row.title });
    cell.append(
      element("span", { class: "sl-x-folder" }, row.folder),
      element("span", { class: "sl-x-name" }, row.name),
      element("span", { class: "sl-x-line" }, row.line === null ? "" : `:${row.line}`),
    );
    const text = element("div", { role: "gridcell", class: "sl-x-text" });
    text.append(element("code", {}, ...marked(row.text)));
    const slash = row.repository.lastIndexOf("/") + 1;
    const repository = element("div", { role: "gridcell", class: "sl-x-repository", title: row.repository });
    repository.append(
      element("span", { class: "sl-x-folder" }, row.repository.slice(0, slash)),
      element("span", { class: "sl-x-name" }, row.repository.slice(slash)),
    );
    made.append(
      repository,
      cell,
      element("div", { role: "gridcell", class: "sl-x-language" }, row.language),
      text,
    );
    return made;
  }

  // ---- choosing ----

  key(event) {
    if (event.target !== this.grid) return;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / ROW) - 2);
    const to = {
      ArrowDown: this.at + 1, ArrowUp: Math.max(this.at, 1) - 1, PageDown: this.at + page, PageUp: this.at - page,
      Home: 0, End: this.shown - 1,
    }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (to !== undefined && this.shown) this.choose(Math.max(0, Math.min(to, this.shown - 1)), this.open !== null);
    else if (event.key === "Enter" && this.at >= 0) this.choose(this.at, true);
    else if (event.key === "Escape" && this.open) this.shut();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  choose(at, look) {
    this.at = at;
    const [, , top] = this.window();
    const tall = this.grid.clientHeight - ROW;
    const wanted = at * ROW < top ? at * ROW : (at + 1) * ROW > top + tall ? (at + 1) * ROW - tall : top;
    if (wanted !== top) {
      const real = this.shown * ROW;
      const laid = Math.min(real, TALLEST);
      this.grid.scrollTop = laid > tall && real > tall ? wanted * ((laid - tall) / (real - tall)) : wanted;
    }
    this.draw();
    this.curious = look; // the row may still be on its way
    this.peer();
  }

  peer() {
    const row = this.rows.get(this.at);
    if (!this.curious || !row) return;
    this.curious = false;
    this.peek({ row: row.row, above: 4, below: 6 });
  }

  peek(open) {
    this.open = open;
    this.say({ kind: "lines", id: `${open.row}:${open.above}:${open.below}`, ...open });
  }

  shut() {
    this.open = null;
    this.preview.hidden = true;
    this.grid.focus();
  }

  lined(message) {
    const open = this.open;
    if (!open || message.id !== `${open.row}:${open.above}:${open.below}`) return;
    if (message.pending) this.later(() => this.open === open && this.peek(open), 120);
    const more = (words, change, there) => {
      const made = own(element("button", { type: "button", class: "sl-x-button" }, words));
      made.disabled = !there;
      made.addEventListener("click", () => {
        this.refocus = words;
        this.peek({ ...this.open, ...change });
      });
      return made;
    };
    const close = own(element("button", { type: "button", class: "sl-x-button" }, "Close"));
    close.addEventListener("click", () => this.shut());
    const links = (message.links || []).map((link) => this.link(link)).filter(Boolean);
    const head = element("div", { class: "sl-x-previewhead" });
    head.append(element("strong", { class: "sl-x-title" }, message.title || ""), ...links);
    if (message.about) head.append(element("span", { class: "sl-x-about" }, message.about));
    const bar = element("div", { class: "sl-x-bar" });
    if (message.top !== undefined) {
      bar.append(more("More above", { above: open.above + STEP }, !message.top), more("More below", { below: open.below + STEP }, !message.bottom));
    }
    bar.append(close);
    head.append(bar);
    const shown = [head];
    if (message.error) shown.push(element("p", { class: "sl-x-fault", role: "alert" }, message.error));
    if (message.pending) shown.push(element("p", { class: "sl-x-about" }, "reading…"));
    if (message.lines) shown.push(this.code(message.lines));
    if (message.pending && !this.preview.hidden && this.preview.dataset.row === String(open.row)) return; // keep the old lines
    this.preview.replaceChildren(...shown);
    this.preview.dataset.row = String(open.row);
    this.preview.hidden = false;
    if (this.refocus) [...bar.children].find((each) => each.textContent === this.refocus && !each.disabled)?.focus();
    this.refocus = "";
  }

  code(lines) {
    const made = own(element("pre", { class: "sl-x-code", tabindex: "0", "aria-label": "Lines of the file" }));
    const wide = String(lines.length ? lines[lines.length - 1][0] || "" : "").length;
    for (const [at, pieces, hit] of lines) {
      const line = element("span", { class: hit ? "sl-x-codeline sl-x-hit" : "sl-x-codeline" });
      if (at !== null) line.append(element("span", { class: "sl-x-number" }, String(at).padStart(wide)));
      line.append(...marked(pieces), "\n");
      made.append(line);
    }
    return made;
  }

  link({ kind, words, href, path, line }) {
    const address = kind === "lab" ? labAddress(path) : webAddress(href);
    if (!address) return null;
    const made = element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, `Open in ${words}`);
    if (kind === "service") made.textContent = "Open at the service";
    const handler = this.model.widget_manager?.rendermime?.linkHandler;
    if (kind === "lab" && handler) {
      made.removeAttribute("target");
      handler.handleLink(made, path, line ? `#line=${line - 1}` : "");
    }
    return made;
  }
}

function render({ model, el }) {
  const page = new Page(model, el);
  return () => page.close();
}

export default { render };
