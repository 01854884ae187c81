"use strict";
// The charts of the page and what works them. Values come as the text that was released, so that the file that is
// downloaded holds exactly that; numbers are made of them for drawing only.
const diurnal = (() => {
  const by = (id) => document.getElementById(id);
  const part = (id) => (by(id) ? JSON.parse(by(id).textContent) : null);
  const data = part("data"), more = part("more"), series = data.series;
  const STEP = 60 * series.minutes, DAY = drawing.DAY;
  const { says, moment, colour, axis, timeAxis, valueAxis, fromZero, padded, hidden, line, banded, chart, build } = drawing;

  // Rows: a moment on the wall clock for each, and an empty one where steps are left out, so that lines break there.
  const wall = (step) => series.anchor + step * STEP;
  const rows = { steps: [], times: [], places: [] };
  series.runs.forEach(([first, last], run) => {
    for (let step = first; step <= last; step++) {
      rows.places.push(rows.steps.length);
      rows.steps.push(step);
      rows.times.push(wall(step));
    }
    if (run + 1 < series.runs.length) { rows.places.push(-1); rows.times.push(wall(last + 1)); }
  });
  const ends = [rows.times[0], rows.times[rows.times.length - 1] + STEP];
  const texts = (place) => series.values[place].split(" ");
  const numbers = (place) => texts(place).map(Number);
  const std = (place) => series.std[series.groups[place]].map(Number);

  function columns(place) {
    const values = numbers(place), noise = std(place);
    const truth = more && more.overlay ? more.overlay.values[place].split(" ").map((v) => (v === "-" ? null : Number(v))) : null;
    const at = (make) => rows.places.map((row) => (row < 0 ? null : make(row)));
    const reach = (row) => 2 * noise[rows.steps[row] % series.slots];
    return [
      rows.times, at((row) => values[row] - reach(row)), at((row) => values[row] + reach(row)), at((row) => values[row]),
      ...(truth ? [at((row) => truth[row])] : []),
    ];
  }

  function means(place) {
    const values = numbers(place), sums = new Map();
    rows.steps.forEach((step, row) => {
      const cycle = Math.floor(step / series.slots), sum = sums.get(cycle) || [0, 0];
      sums.set(cycle, [sum[0] + values[row], sum[1] + 1]);
    });
    const whole = [...sums].filter(([, [, count]]) => count === series.slots);
    const noise = series.mean_std[series.groups[place]];
    const mean = whole.map(([, [sum]]) => sum / series.slots), reach = noise == null ? 0 : 2 * noise;
    const times = whole.map(([cycle]) => wall((cycle + 0.5) * series.slots));
    return [times, mean.map((m) => m - reach), mean.map((m) => m + reach), mean];
  }

  // The released series, and the overview that shows where it is.
  let main = null, overview = null, said = 0, place = 0;
  const zoom = zoomable({ box: by("series"), plot: () => main.plot, ends: () => ends, least: 4 * STEP, moved });
  const state = zoom.state;

  function moved() {
    framed();
    clearTimeout(said);
    said = setTimeout(announce, 150);
  }

  function framed() {
    if (!overview || !overview.plot || !overview.plot.scales.x || overview.plot.scales.x.min == null) return;
    const u = overview.plot, left = u.valToPos(state.from, "x"), right = u.valToPos(state.to, "x");
    u.setSelect({ left, width: Math.max(right - left, 2), top: 0, height: u.over.clientHeight }, false);
  }

  function announce() {
    const values = main.plot.data[3].filter((v, i) => v != null && rows.times[i] >= state.from && rows.times[i] <= state.to);
    const name = series.names.length > 1 ? `${series.names[place]}: ` : "";
    if (!values.length) { by("shown").textContent = `${name}${name ? "nothing" : "Nothing"} was reported in this range.`; return; }
    const sum = values.reduce((a, b) => a + b, 0);
    const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
    by("shown").textContent = `${name}${values.length.toLocaleString("en")} reports from ${moment(Math.max(state.from, ends[0]))} to ` +
      `${moment(Math.min(state.to, ends[1]))}: lowest ${says(low)}, mean ${says(sum / values.length)}, highest ${says(high)} ${series.unit}.`;
  }

  function read(u) {
    const i = u.cursor.idx;
    if (i == null || u.data[3][i] == null) { by("readout").textContent = ""; return; }
    const truth = u.data[4] && u.data[4][i] != null ? `, true value ${says(u.data[4][i])}` : "";
    by("readout").textContent = `${moment(u.data[0][i])}: ${says(u.data[3][i])} ${series.unit}, ` +
      `two standard deviations of the noise: ${says(u.data[1][i])} to ${says(u.data[2][i])}${truth}`;
  }

  function drawSeries() {
    const truth = more && more.overlay, { scales, cursor, hooks } = zoom.options();
    return [{
      scales, cursor, bands: banded(),
      axes: [timeAxis(), valueAxis({ label: series.unit })],
      series: [{}, hidden, hidden, line(), ...(truth ? [line({ stroke: colour("mark"), width: 1.4, dash: [6, 4] })] : [])],
      hooks: { ...hooks, setCursor: [read] },
    }, columns(place)];
  }

  function drawOverview() {
    const found = means(place);
    return [{
      scales: { x: { time: true, range: ends }, y: { range: padded } },
      axes: [timeAxis(), valueAxis({ space: 18 })],
      series: [{}, hidden, hidden, line({ width: 1.4, points: { show: found[0].length < 40, size: 4 } })],
      bands: banded(),
      cursor: { x: false, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => zoom.whole() } },
      hooks: {
        ready: [framed], setSize: [framed],
        setSelect: [(u) => {
          if (u.select.width < 3) { framed(); return; }
          zoom.show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        }],
      },
    }, found];
  }

  function choose(chosen) {
    place = chosen;
    const { from, to } = state;
    main.plot.setData(columns(place), false);
    zoom.show(from, to);
    if (overview) build(overview);
    if (profile) build(profile);
    announce();
  }

  function start() {
    if (!series.values.length) return;
    [state.from, state.to] = [Math.max(ends[0], ends[1] - 7 * DAY), ends[1]];
    main = chart(by("series"), drawSeries);
    if (means(0)[0].length > 1) overview = chart(by("overview"), drawOverview); else by("overview-box").remove();
    zoom.work();
    if (by("choose")) by("choose").addEventListener("change", (event) => choose(Number(event.target.value)));
    framed();
    announce();
  }

  // The noisy profile, where it is public.
  const clock = (slot) => {
    const words = moment(wall(slot)), time = words.slice(-5);
    if (series.slots * STEP <= DAY) return time;
    return series.slots * STEP === 7 * DAY ? `${words.slice(0, 3)} ${time}` : `day ${1 + Math.floor((slot * STEP) / DAY)} ${time}`;
  };

  function drawProfile() {
    const group = series.groups[place] || 0, values = data.profile[group], noise = series.std[group].map(Number);
    const slots = values.map((_, slot) => slot), hours = Math.max(1, Math.round((series.slots * STEP) / 3600 / 8)) * 3600;
    return [{
      scales: { x: { time: false, range: [0, Math.max(series.slots - 1, 1)] }, y: { range: fromZero } },
      axes: [
        axis({ space: 60, incrs: [1, hours / STEP, (2 * hours) / STEP].filter((v) => Number.isInteger(v)), values: (u, splits) => splits.map((v) => (Number.isInteger(v) ? clock(v) : "")) }),
        valueAxis({ label: series.unit }),
      ],
      series: [{}, hidden, hidden, line({ width: 2 })],
      bands: banded(),
      cursor: { y: false, drag: { x: false, y: false } },
      hooks: { setCursor: [(u) => {
        const i = u.cursor.idx;
        by("profile-readout").textContent = i == null ? "" : `${clock(i)}: ${says(values[i])} ${series.unit}, noise ± ${says(2 * noise[i])}`;
      }] },
    }, [slots, values.map((v, i) => v - 2 * noise[i]), values.map((v, i) => v + 2 * noise[i]), values]];
  }

  // The rows as a file, word for word as they were released.
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

  function csv() {
    const lines = [series.columns.join(",")], values = series.values.map((_, place) => texts(place));
    const names = series.names.map(quoted), unit = quoted(series.unit);
    let next = 0, offset = "";
    rows.steps.forEach((step, row) => {
      if (next < series.offsets.length && series.offsets[next][0] === row) offset = series.offsets[next++][1];
      const time = new Date(1000 * wall(step)).toISOString().slice(0, 19) + offset;
      names.forEach((name, place) => {
        const cells = { step, time, group: name, value: values[place][row], unit, std: series.std[series.groups[place]][step % series.slots], plan: series.plan };
        for (const more in series.more) cells[more] = quoted(String(series.more[more][place][row]));
        lines.push(series.columns.map((column) => cells[column]).join(","));
      });
    });
    return `${lines.join("\r\n")}\r\n`;
  }

  function download() {
    const link = document.createElement("a"), address = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.href = address;
    link.download = `reports-${series.plan.slice(0, 12)}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    by("downloaded").textContent = `${(rows.steps.length * series.names.length).toLocaleString("en")} rows were written.`;
  }

  start();
  const profile = data.profile ? chart(by("profile"), drawProfile) : null;
  by("download").addEventListener("click", download);
  drawing.onRecolour(framed);
  if (more && more.check) {
    const { heat } = more.check;
    const cells = new Int8Array(Uint8Array.from(atob(heat.cells), (letter) => letter.charCodeAt(0)).buffer);
    checked({ ...more.check, heat: { ...heat, cells } });
  }
  return { state };
})();
