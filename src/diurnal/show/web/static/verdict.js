// What the check found, as words, charts and tables.
import { get } from "./api.js";
import { by, fill, make } from "./making.js";
import { boxed } from "./table.js";

let acknowledged = null;

// The digest of the verdict that was read: starting a plan wants it.
export const digest = () => acknowledged;

const canvas = (id, kind, label) => make("div", { id, class: kind, role: "img", "aria-label": label });
const figure = (title, drawn, note, ...more) => make("figure", { class: "plot" }, make("h3", {}, title), drawn, ...more, make("figcaption", { class: "note" }, note));
const folded = (summary, inside) => make("details", {}, make("summary", {}, summary), inside);

// Cells as shares of the largest; the diagonal and cycles that do not count are blank.
function heat({ cycles, rows }, largest) {
  const each = cycles.length > 1 ? Math.max(1, Math.min(...cycles.slice(1).map((cycle, i) => cycle - cycles[i]))) : 1;
  const size = Math.floor(cycles[cycles.length - 1] / each) + 1, reach = Math.ceil(10 * largest) / 10 || 0.1;
  const cells = new Int8Array(size * size).fill(-128), place = cycles.map((cycle) => Math.floor(cycle / each));
  rows.forEach((row, i) => row.forEach((value, j) => {
    if (i !== j) cells[place[i] * size + place[j]] = Math.round((127 * Math.max(-1, Math.min(1, value / reach))));
  }));
  return { size, each, reach, cells, scale: by("check").dataset.scale.split(" ") };
}

function draw(found) {
  const largest = found.max_abs_correlation, median = found.median_abs_correlation, { lag, mean } = found.lags;
  const far = Math.max(10, Math.floor(0.9 * lag[lag.length - 1])), shown = lag.filter((each) => each <= far).length;
  const limit = found.thresholds.largest;
  fill(by("check"),
    make("p", { class: "lede" }, `What cycles have in common is ${found.verdict}.`),
    make("div", { class: "two" },
      figure("Correlation of every two cycles", canvas("heat", "square", `Correlation of every two cycles, largest ${largest.toFixed(3)} in size. Arrow keys read it cell by cell.`),
        "Dark blue is negative, grey is zero, pale yellow is positive; the diagonal and cycles that do not count are blank.",
        make("p", { id: "heat-readout", class: "readout", role: "status" })),
      make("div", {},
        figure("Size of correlations", canvas("sizes", "canvas", `Histogram of the size of correlations: median ${median.toFixed(3)}, largest ${largest.toFixed(3)}`),
          `Solid: the median, ${median.toFixed(3)}. Dashed: correlations below ${limit} count as small.`),
        figure("Mean correlation by distance", canvas("lags", "canvas", `Mean correlation by distance in cycles: ${mean[0].toFixed(2)} for the nearest`),
          `Distance in cycles.${found.rhythm ? ` Dots mark every ${found.rhythm} cycles, where a longer rhythm shows.` : ""}`))),
    make("ol", { class: "prose" }, found.sentences.map((said) => make("li", {}, said))),
    folded("Correlation by distance, as a table", boxed(["cycles apart", "mean correlation"], lag.map((each, i) => [each, mean[i].toFixed(4)]), { caption: "Mean correlation by distance", numbers: [0, 1] })),
    folded("Sizes, as a table", boxed(["from", "to", "pairs (%)"], found.histogram.percent.map((each, i) => [found.histogram.edges[i], found.histogram.edges[i + 1], each]), { caption: "Sizes of correlations", numbers: [0, 1, 2] })));
  checked({
    heat: heat(found.heatmap, largest), histogram: found.histogram, largest, median, limit,
    lags: lag.slice(0, shown), means: mean.slice(0, shown), rhythm: found.rhythm,
  });
}

export function work() {
  by("check-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const period = by("check-period").value, button = event.target.querySelector("button");
    button.disabled = true;
    by("check-said").textContent = "Checking…";
    try {
      const found = await get(`/v1/custodian/check${period ? `?period=${period}` : ""}`);
      acknowledged = found.digest;
      draw(found);
      by("check-said").textContent = `Checked ${found.n_households.toLocaleString("en")} households over ${found.n_cycles.toLocaleString("en")} cycles.`;
    } catch (error) { by("check-said").textContent = error.words; }
    button.disabled = false;
  });
}
