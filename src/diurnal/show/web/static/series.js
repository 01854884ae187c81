// The released series of a stream: loaded as far as somebody looks, drawn with its noise, and longer with every report.
import { get } from "./api.js";
import { dates } from "./dates.js";
import { by, clock, count, fill } from "./making.js";
import { table } from "./table.js";

const { DAY, says } = drawing;
const PAGE = 50000, LISTED = 480, POINTS = 100, WEEK = 7 * DAY;

export function series(info) {
  const STEP = 60 * info.minutes, start = Date.parse(`${info.anchor.slice(0, 16)}Z`) / 1000;
  const wall = (step) => start + step * STEP;
  const kept = new Map();
  let name = info.groups[0], last = info.last_step, main = null, said = 0, queue = Promise.resolve(), news = [];
  const ends = () => [wall(info.first_step), wall((last ?? info.first_step) + 1)];
  const zoom = zoomable({ box: by("series"), plot: () => main.plot, ends, least: 4 * STEP, moved });
  const view = zoom.state, follow = dates({ ends, view, show: zoom.show });
  const address = (query) => `/v1/streams/${info.stream}/reports?${new URLSearchParams(query)}`;
  const known = () => kept.get(name) || { from: Infinity, rows: [] };
  const inView = () => known().rows.filter(({ step }) => wall(step) >= view.from && wall(step) < view.to);
  // The steps of the view, from one up to, not including, another.
  const steps = () => [view.from, view.to].map((seconds) => Math.ceil((seconds - start) / STEP - 1e-6));

  async function between(first, stop, which) {
    let rows = [], cursor = null;
    do {
      const page = await get(address({ start: first, stop, ...which, limit: PAGE, format: "json", ...(cursor ? { cursor } : {}) }));
      [rows, cursor] = [rows.concat(page.rows), page.next];
    } while (cursor);
    return rows;
  }

  // One after the other, so that what is there has no holes.
  function inTurn(work) {
    queue = queue.then(work).catch((error) => { by("shown").textContent = error.words || "The reports cannot be shown."; });
    return queue;
  }

  const load = (group, step) => inTurn(async () => {
    const found = kept.get(group) || { from: last + 1, rows: [] }, first = Math.max(info.first_step, step);
    if (first >= found.from) return;
    const rows = await between(first, found.from, { group });
    kept.set(group, { from: first, rows: [...rows, ...found.rows] });
    if (group === name) redraw();
  });

  // A moment without a value where steps are left out, so that lines break there.
  function columns() {
    const found = [[], [], [], []];
    let before = null;
    for (const { step, value, std } of known().rows) {
      if (before !== null && step > before + 1) [wall(before + 1), null, null, null].forEach((each, i) => found[i].push(each));
      const middle = Number(value), reach = 2 * Number(std);
      [wall(step), middle - reach, middle + reach, middle].forEach((each, i) => found[i].push(each));
      before = step;
    }
    return found;
  }

  function draw() {
    const { scales, cursor, hooks } = zoom.options(), few = () => (view.to - view.from) / STEP <= POINTS;
    return [{
      scales, cursor, bands: drawing.banded(),
      axes: [drawing.timeAxis(), drawing.valueAxis({ label: info.unit })],
      series: [{}, drawing.hidden, drawing.hidden, drawing.line({ points: { show: few, size: 5, fill: drawing.colour("line") } })],
      hooks: { ...hooks, setCursor: [read] },
    }, columns()];
  }

  function redraw() {
    if (!main) return;
    main.plot.setData(columns(), false);
    zoom.show(view.from, view.to);
    told();
  }

  function moved() {
    follow();
    clearTimeout(said);
    said = setTimeout(() => { told(); load(name, steps()[0] - info.slots); }, 150);
  }

  function read(u) {
    const i = u.cursor.idx;
    if (i == null || u.data[3][i] == null) { by("readout").textContent = ""; return; }
    const row = known().rows.find(({ step }) => wall(step) === u.data[0][i]);
    by("readout").textContent = `${clock(row.time)}: ${says(u.data[3][i])} ${info.unit}, two standard deviations of the noise: ${says(u.data[1][i])} to ${says(u.data[2][i])}`;
  }

  function told() {
    const rows = inView(), values = rows.map(({ value }) => Number(value));
    const which = info.groups.length > 1 ? `${name}: ` : "";
    if (!rows.length) {
      by("shown").textContent = last == null ? "" : `${which}${steps()[0] < known().from ? "loading…" : "nothing was reported in this range."}`;
    } else {
      const sum = values.reduce((a, b) => a + b, 0);
      const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
      by("shown").textContent = `${which}${count(rows.length, "report")} from ${clock(rows[0].time)} to ${clock(rows[rows.length - 1].time)}: ` +
        `lowest ${says(low)}, mean ${says(sum / values.length)}, highest ${says(high)} ${info.unit}.`;
    }
    linked(rows.length);
    listed(rows);
  }

  function linked(rows) {
    const every = by("every").checked, [first, stop] = steps();
    const number = rows * (every ? info.groups.length : 1);
    for (const link of document.querySelectorAll("#downloads [data-format]")) {
      const form = link.dataset.format;
      link.href = address({ start: Math.max(first, 0), stop: Math.max(stop, 0), ...(every ? {} : { group: name }), limit: PAGE, format: form });
      link.download = `reports-${info.stream.slice(0, 12)}-${first}-${stop}.${form}`;
    }
    by("file").textContent = number > PAGE
      ? `A file has at most ${PAGE.toLocaleString("en")} rows: the first of ${number.toLocaleString("en")}. Show a shorter range, or use a program to read the rest.`
      : `Download ${count(number, "row")}: the reports shown, exactly as they were released.`;
  }

  function listed(rows) {
    if (!by("rows").open) return;
    const shown = rows.slice(-LISTED), left = rows.length - shown.length;
    const caption = left ? `The last ${LISTED} of ${count(rows.length, "report")}; a download has them all` : `All ${count(rows.length, "report")} shown`;
    const { names, columns, ...kinds } = JSON.parse(by("rows").dataset.table);
    fill(by("rows").querySelector(".scroll"), table(names, shown.map((row) => columns.map((name) => row[name])), { caption, ...kinds, seen: true }));
  }

  // New rows, of whichever series. Who looks at the end goes along with it; who looks at all of more than a week still does.
  const arrived = (rows) => inTurn(() => take(rows));

  // What was released while nobody listened.
  const catchUp = () => inTurn(async () => {
    const now = (await get(`/v1/streams/${info.stream}`)).last_step ?? -1;
    if (now > (last ?? -1)) take(await between((last ?? info.first_step - 1) + 1, now + 1, {}));
  });

  function take(rows) {
    const [first, end] = ends(), width = view.to - view.from, whole = width >= end - first - 1, atEnd = view.to >= end - STEP;
    last = Math.max(last ?? -1, ...rows.map(({ step }) => step));
    for (const [group, found] of kept) add(found, rows.filter((row) => row.group === group));
    spoken(rows);
    if (!main) { begin(); return; }
    main.plot.setData(columns(), false);
    if (whole) zoom.show(width > WEEK ? first : ends()[1] - WEEK, ends()[1]);
    else if (atEnd) zoom.show(ends()[1] - width, ends()[1]);
    else told();
  }

  function add(found, rows) {
    const have = new Set(found.rows.slice(-5000).map(({ step }) => step));
    const fresh = rows.filter(({ step }) => !have.has(step) && step >= found.from);
    if (fresh.length) found.rows = [...found.rows, ...fresh].sort((a, b) => a.step - b.step);
  }

  function spoken(rows) {
    if (!news.length) {
      setTimeout(() => {
        const own = news.filter((row) => row.group === name), row = own[own.length - 1];
        if (row) by("arrived").textContent = `${count(own.length, "new report")}, the last of ${clock(row.time)}: ${says(Number(row.value))} ${info.unit}.`;
        news = [];
      }, 1000);
    }
    news = news.concat(rows);
  }

  async function choose(group) {
    name = group;
    redraw();
    await load(group, steps()[0] - info.slots);
  }

  async function begin() {
    by("stream").toggleAttribute("data-waiting", last == null);
    if (last == null) return;
    const [first, end] = ends();
    [view.from, view.to] = [Math.max(first, end - WEEK), end];
    main = drawing.chart(by("series"), draw);
    zoom.work();
    by("choose").addEventListener("change", (event) => choose(event.target.value));
    by("every").addEventListener("change", told);
    by("every").closest("label").hidden = info.groups.length === 1;
    by("rows").addEventListener("toggle", told);
    await load(name, steps()[0] - info.slots);
    told();
  }

  return { begin, arrived, catchUp, view, range: () => view.to - view.from, last: () => last };
}
