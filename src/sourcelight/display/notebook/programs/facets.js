// The facet panel's page: asks Python for the facets, says which are selected, sets everything as text.

function group({ title, facets, first, more }, change, open) {
  const most = Math.max(1, ...facets.map(({ count }) => count));
  const box = element("fieldset", { class: "sl-f-group" }, element("legend", {}, title));
  facets.forEach((facet, k) => {
    const tick = own(element("input", { type: "checkbox" }));
    tick.checked = facet.selected;
    tick.dataset.at = facet.at;
    tick.addEventListener("change", change);
    const bar = element("span", { class: "sl-f-bar", "aria-hidden": "true" }, element("span", {}));
    bar.firstChild.style.width = `${(100 * facet.count) / most}%`;
    const count = `${facet.count.toLocaleString("en")}${facet.limited ? "+" : ""}`;
    const line = element("label", { class: "sl-f-facet", title: facet.value });
    const slash = facet.label.lastIndexOf("/") + 1; // of a long name the end tells more
    const label = element("span", { class: "sl-f-label" }, element("span", {}, facet.label.slice(0, slash)), element("b", {}, facet.label.slice(slash)));
    line.append(tick, label, bar, element("span", { class: "sl-f-count" }, count));
    line.hidden = k >= first && !open.has(title) && !facet.selected;
    box.append(line);
  });
  const hidden = facets.length - first;
  if (hidden > 0 && !open.has(title)) {
    const all = own(element("button", { type: "button", class: "sl-f-button" }, `Show ${hidden.toLocaleString("en")} more`));
    all.addEventListener("click", () => {
      open.add(title);
      for (const line of box.querySelectorAll("label")) line.hidden = false;
      box.querySelectorAll("input")[first]?.focus();
      all.remove();
    });
    box.append(all);
  }
  if (more) box.append(element("div", { class: "sl-f-count" }, `${more.toLocaleString("en")} more in .filters`));
  return box;
}

function render({ model, el }) {
  const open = new Set();
  const groups = element("div", { class: "sl-f-groups" });
  const query = own(element("input", { class: "sl-f-query", readonly: "", type: "text" }));
  const line = element("label", { class: "sl-f-line" }, "Query with the selected filters (.query, .search())", query);
  const box = element("section", { class: "sl-f", "aria-label": "Suggested filters", hidden: "" }, groups, line);
  const change = () => {
    const at = [...groups.querySelectorAll("input:checked")].map((tick) => Number(tick.dataset.at));
    model.set("selected", at);
    model.save_changes();
  };
  const hear = (message) => {
    if (!message || message.kind !== "facets") return;
    if (box.hidden) live(el);
    box.hidden = false;
    const focused = groups.contains(document.activeElement) ? document.activeElement.dataset.at : undefined;
    groups.replaceChildren(...message.groups.map((item) => group(item, change, open)));
    if (!message.groups.length) groups.replaceChildren(element("p", {}, "No filters suggested"));
    query.value = message.query;
    if (focused !== undefined) groups.querySelector(`input[data-at="${Number(focused)}"]`)?.focus();
  };
  model.on("msg:custom", hear);
  el.append(box);
  model.send({ kind: "facets" });
  return () => model.off("msg:custom", hear);
}

export default { render };
