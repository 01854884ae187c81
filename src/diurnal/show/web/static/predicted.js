// Predicted errors as bars on a log scale, with nothing at all beside them, and as a table.
import { make } from "./making.js";
import { boxed } from "./table.js";

const least = (row, value) => `${row.bias === null ? "at least " : ""}${says(value)}`;
const says = (value) => (Number.isFinite(value) ? drawing.says(value) : "unbounded");

function scale(values) {
  const logs = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log10);
  // Not so close to the least that its bar would be none.
  const low = Math.floor(Math.min(...logs) - 0.3), high = Math.max(low + 1, Math.ceil(Math.max(...logs)));
  const place = (value) => (value > 0 ? 100 * Math.max(0, Math.min(1, ((Number.isFinite(value) ? Math.log10(value) : high) - low) / (high - low))) : 0);
  return { low, high, place };
}

function power(exponent) {
  if (exponent < 0 || exponent >= 12) return `${Number(`1e${exponent}`)} `;
  return `${10 ** (exponent % 3)} ${["", "k", "M", "G"][Math.floor(exponent / 3)]}`;
}

function ticks({ low, high, place }, unit) {
  const every = Math.ceil((high - low) / 6), marks = [];
  for (let exponent = high; exponent > low; exponent -= every) {
    const mark = make("b", { class: exponent === high ? "last" : null }, power(exponent) + (exponent === high ? unit : ""));
    mark.style.left = `${place(10 ** exponent)}%`;
    marks.push(mark);
  }
  return make("li", { class: "scale", "aria-hidden": "true" }, make("span", { class: "ticks" }, marks));
}

const TAGS = { own: "this plan", beside: "for comparison", split: "for comparison" };

function bar(row, { place }, nothing, unit) {
  const length = make("i"), track = make("span", { class: "track", "aria-hidden": "true" }, length);
  length.style.width = `${place(row.error)}%`;
  track.style.setProperty("--at", `${place(nothing)}%`);
  const worse = row.kind !== "beside" && row.error > nothing;
  return make("li", { class: [row.kind, worse ? "worse" : ""].join(" ").trim() },
    make("span", { class: "name" }, row.name, TAGS[row.kind] ? [" ", make("span", { class: "tag" }, TAGS[row.kind])] : null, worse ? [" ", make("span", { class: "tag bad" }, "worse than nothing")] : null),
    make("span", { class: "value" }, `${least(row, row.error)} ${unit}`), track,
    row.kind === "other" ? null : make("span", { class: "what" }, [row.kind === "beside" ? "" : row.promise, row.note].filter(Boolean).join("; ")));
}

// All ways to report, each with what it is here, in the order of the table.
const rows = ({ mechanisms, without_data, unspent, split, table }) =>
  [...mechanisms, without_data, ...(unspent ? [unspent] : []), ...split].map((row, place) => ({ ...row, kind: table.kinds[place] }));

export function bars(found, unit) {
  const all = rows(found), nothing = found.without_data.error, drawn = scale(all.map((row) => row.error)), brief = unit.length <= 4 ? unit : "";
  const list = make("ul", { class: "bars", "aria-label": "Predicted error of a report, by mechanism" },
    ticks(drawn, brief), all.map((row) => bar(row, drawn, nothing, brief)));
  list.style.setProperty("--decade", `${100 / (drawn.high - drawn.low)}%`);
  return list;
}

export function numbers({ table: { names, lines, numbers } }) {
  return make("details", {}, make("summary", {}, "All predicted numbers, as a table"),
    boxed(names, lines, { caption: "Predicted errors of a report and of totals", numbers, unbroken: [0] }));
}

export { says };
