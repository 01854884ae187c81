// The shown range as two dates: its first and its last day, typed or picked. They follow the chart, and lead it.
import { by } from "./making.js";

const { DAY } = drawing;
const day = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);
const seconds = (input) => Date.parse(`${input.value}T00:00Z`) / 1000;

export function dates({ ends, view, show }) {
  const both = [by("from"), by("to")], [from, to] = both;

  function say(wrong, words = "") {
    for (const input of both) input.setAttribute("aria-invalid", String(wrong.includes(input)));
    by("dates-said").textContent = words;
    by("dates-said").hidden = !words;
  }

  // What somebody is typing is left alone.
  function follow() {
    const [first, end] = ends();
    for (const input of both) [input.min, input.max] = [day(first), day(end - 1)];
    if (both.includes(document.activeElement)) return;
    [from.value, to.value] = [day(view.from), day(view.to - 1)];
    say([]);
  }

  function lead({ target }) {
    const wrong = both.filter((input) => !input.value || !input.validity.valid);
    if (wrong.length) { say(wrong, `Reports are from ${from.min} to ${from.max}.`); return; }
    // The other one comes along rather than be in the way.
    if (from.value > to.value) (target === from ? to : from).value = target.value;
    say([]);
    const [first, end] = ends();
    show(Math.max(first, seconds(from)), Math.min(end, seconds(to) + DAY));
  }

  for (const input of both) {
    input.addEventListener("change", lead);
    input.addEventListener("blur", () => setTimeout(follow));
  }
  return follow;
}
