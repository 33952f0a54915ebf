// Fields: whatever was typed is kept by the name of its field until it is saved, also when another step is shown.

const typed = new Map();

// A field with its label, what it is for, and what is wrong with it.
function field(
  id,
  label,
  { value = "", note = null, wrong = null, options = null, input = null, lines = false, ...more } = {},
) {
  const now = typed.has(id) ? typed.get(id) : value;
  const about = [note ? `${id}-note` : null, wrong ? `${id}-wrong` : null].filter(Boolean).join(" ") || null;
  const properties = {
    id,
    "aria-describedby": about,
    "aria-invalid": wrong ? "true" : null,
    autocomplete: "off",
    spellcheck: "false",
    ...more,
    oninput: (event) => {
      typed.set(id, event.target.value);
      input?.(event.target.value);
    },
  };
  let control;
  if (options)
    control = el(
      "select",
      properties,
      options.map(([key, text]) => el("option", { value: key, selected: String(key) === String(now) }, text)),
    );
  else if (lines) {
    control = el("textarea", properties);
    control.value = now;
  } else {
    control = el("input", { type: "text", ...properties });
    control.value = now;
  }
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, label),
    control,
    note ? el("p", { class: "fine", id: `${id}-note` }, note) : null,
    wrong ? el("p", { class: "wrong", id: `${id}-wrong` }, wrong) : null,
  );
}

// Buttons below fields, on a line of their own.
const spaced = (...buttons) => el("div", { class: "tools span" }, ...buttons);

const typedIn = (id, otherwise = "") => (typed.has(id) ? typed.get(id) : (at(id)?.value ?? otherwise)).trim();
const saved = (...ids) => ids.forEach((id) => typed.delete(id));

function tickbox(id, label, checked, change, more = null) {
  return el(
    "label",
    { class: "tick", for: id },
    el("input", { type: "checkbox", id, checked, onchange: (event) => change(event.target.checked) }),
    el("span", {}, label, more ? el("small", {}, more) : null),
  );
}

// Something is drawn again: the focus, and where the caret was, stay with the field of the same name; what was opened
// stays open.
function redraw(place, ...children) {
  const focus = document.activeElement,
    id = place.contains(focus) ? focus.id : null;
  const caret =
    id && "selectionStart" in focus && typeof focus.selectionStart === "number"
      ? [focus.selectionStart, focus.selectionEnd]
      : null;
  const scrolled = window.scrollY,
    folded = new Map([...place.querySelectorAll("details")].map((each) => [each.firstElementChild.textContent, each.open]));
  place.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  for (const each of place.querySelectorAll("details"))
    each.open = folded.get(each.firstElementChild.textContent) ?? each.open;
  const again = id && at(id);
  if (!again) return;
  again.focus({ preventScroll: true });
  if (caret && again.setSelectionRange && again.type !== "range") again.setSelectionRange(...caret);
  window.scrollTo({ top: scrolled, behavior: "instant" });
}
