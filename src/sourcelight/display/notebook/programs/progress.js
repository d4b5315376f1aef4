// The bar of long work. Python draws: this sets its elements, and changes only those that differ.

const TAGS = new Set(["div", "span", "b", "br", "code", "ul", "li"]);
const ATTRIBUTES = /^(class|style|role|aria-[a-z]+)$/;

function drawn(node) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, children] = node;
  const allowed = Object.entries(attributes).filter(([name]) => ATTRIBUTES.test(name));
  return element(TAGS.has(tag) ? tag : "span", Object.fromEntries(allowed), ...children.map(drawn));
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

// What stays is left alone, so that a sliding bar is not restarted and a screen reader hears what is new.
function change(made, before, now) {
  if (same(before, now)) return;
  if (typeof before === "string" || typeof now === "string" || !same(before.slice(0, 2), now.slice(0, 2)) || before[2].length !== now[2].length) {
    made.replaceWith(drawn(now));
    return;
  }
  const children = [...made.childNodes];
  now[2].forEach((child, k) => change(children[k], before[2][k], child));
}

function render({ model, el }) {
  let shown = ["div", {}, []];
  const parts = element("div");
  const stop = own(element("button", { type: "button", class: "sl-stop", title: "Stop and keep what arrived" }, "Stop"));
  const box = element("div", { class: "sl-p" }, parts, stop);
  const draw = () => {
    const now = ["div", {}, model.get("drawing")];
    if (shown[2].length === now[2].length) change(parts, shown, now);
    else parts.replaceChildren(...now[2].map(drawn));
    shown = now;
  };
  const end = () => {
    stop.hidden = !model.get("stoppable");
  };
  stop.addEventListener("click", () => {
    stop.disabled = true;
    model.send({ kind: "stop" });
  });
  model.on("change:drawing", draw);
  model.on("change:stoppable", end);
  draw();
  end();
  el.append(box);
  // The page of plain HTML is for front ends that don't draw this.
  const page = model.get("page");
  const hide = element("style", {}, /^[0-9a-f]+$/.test(page) ? `.sl-page-${page} { display: none; }` : "");
  document.head.append(hide);
  model.send({ kind: "drawn" });
  return () => {
    hide.remove();
    model.off("change:drawing", draw);
    model.off("change:stoppable", end);
  };
}

export default { render };
