// A table that scrolls in its own box where it is too wide.
import { make } from "./making.js";

export function table(names, lines, { caption, numbers = [], unbroken = [], seen = false }) {
  const kind = (place) => (numbers.includes(place) ? "number" : unbroken.includes(place) ? "unbroken" : null);
  return make("table", {},
    make("caption", { class: seen ? null : "unseen" }, caption),
    make("thead", {}, make("tr", {}, names.map((name, place) => make("th", { scope: "col", class: kind(place) }, name)))),
    make("tbody", {}, lines.map((line) => make("tr", {}, line.map((cell, place) => make("td", { class: kind(place) }, String(cell)))))));
}

export const boxed = (names, lines, about) =>
  make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": about.caption }, table(names, lines, about));
