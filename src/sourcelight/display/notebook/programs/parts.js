// Parts of every widget's program. Texts are set as text, never as HTML.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name === "style") made.style.cssText = value; // allowed where a policy forbids style attributes
    else made.setAttribute(name, value);
  }
  made.append(...children); // strings become text
  return made;
}

// JupyterLab takes single keys for itself unless the element with the focus says that it has its own.
function own(made) {
  made.setAttribute("data-lm-suppress-shortcuts", "true");
  return made;
}

// The kernel answers: the page of plain HTML below, which is for exports, is not needed.
function live(el) {
  for (let parent = el.parentElement; parent; parent = parent.parentElement) {
    const page = parent.querySelector(".sl-static");
    if (page) {
      page.hidden = true;
      parent.classList.add("sl-live");
      return;
    }
  }
}
