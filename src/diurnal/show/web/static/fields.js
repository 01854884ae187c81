// What is typed into the explorer. What cannot be read is marked and said beside its field: it is never left out in
// silence, since then another plan would be predicted than the one that was asked for.
import { by, make } from "./making.js";

const KINDS = {
  whole: { form: /^-?\d{1,9}$/, words: "Type a whole number, in digits only" },
  decimal: { form: /^(?=.*[1-9])\d{1,12}(\.\d{1,12})?$/, words: "Type a number above 0, such as 0.5" },
  chance: { form: /^(0\.\d{1,20}|1e-\d{1,2})$/, words: "Type a small number, such as 0.000001 or 1e-6" },
};

export const text = (id) => by(id).value.trim() || null;
export const whole = (id) => (text(id) === null ? null : Number(text(id)));

function wrong({ id, dataset: { kind, least, most, needed } }) {
  const { form, words } = KINDS[kind], typed = text(id);
  if (typed === null) return needed === undefined ? "" : `${words}.`;
  if (!form.test(typed)) return `${words}${needed === undefined ? ", or nothing" : ""}.`;
  if (least !== undefined && Number(typed) < Number(least)) return `It must be at least ${Number(least).toLocaleString("en")}.`;
  if (most !== undefined && Number(typed) > Number(most)) return `It must be at most ${Number(most).toLocaleString("en")}.`;
  return "";
}

// Words beside a field; it is marked unless they are but to be minded.
export function beside(field, words, { bad = true } = {}) {
  const id = `${field.id}-said`;
  if (!by(id)) {
    field.parentElement.append(make("p", { id, class: "wrong", hidden: true }));
    field.setAttribute("aria-describedby", id);
  }
  by(id).textContent = words;
  by(id).hidden = !words;
  field.setAttribute("aria-invalid", String(Boolean(words) && bad));
}

const name = (field) => document.querySelector(`label[for="${field.id}"]`).textContent.trim();

// The names of the fields that cannot be read. Those that are not asked for do not matter.
export function unread() {
  const asked = [...by("ask").querySelectorAll("[data-kind]")].filter((field) => !field.closest("[hidden]"));
  const said = new Map(asked.map((field) => [field, wrong(field)]));
  const low = by("low"), high = by("high");
  if (!said.get(low) && !said.get(high)) {
    if (text("low") !== null && text("high") === null) said.set(high, "Give the largest reading too, or neither.");
    else if (text("high") !== null && whole("high") <= (whole("low") ?? 0)) said.set(high, "It must be above the smallest reading.");
  }
  for (const [field, words] of said) {
    beside(field, words);
    const folded = field.closest("details");
    if (words && folded) folded.open = true;
  }
  return asked.filter((field) => said.get(field)).map(name);
}

// Sliders are logarithmic, from 0 to 300; where a field may be empty, 0 empties it.
export function slid(range) {
  const { low, high, whole: digits, empty } = range.dataset;
  if (empty !== undefined && range.value === "0") return "";
  const value = low * (high / low) ** (range.value / 300);
  return digits === undefined ? String(Number(value.toPrecision(2))) : String(Math.round(Number(value.toPrecision(value < 100 ? 2 : 3))));
}

export function follow(range) {
  const { low, high, of, empty } = range.dataset, value = Number(by(of).value);
  if (value > 0) range.value = Math.max(empty === undefined ? 0 : 1, (300 * Math.log(value / low)) / Math.log(high / low));
  else if (empty !== undefined) range.value = 0;
  range.setAttribute("aria-valuetext", by(of).value || by(of).placeholder);
}
