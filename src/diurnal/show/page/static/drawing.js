"use strict";
// What charts have in common, on the page and in the service: numbers, moments, colours, axes, and how they follow
// their box and the colours.
const drawing = (() => {
  const DAY = 86400, font = "12px system-ui, sans-serif";
  const charts = [], painters = [];

  // Words and colours.
  const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
  const says = (value) => (value == null ? "none" : number.format(value));
  const moments = new Intl.DateTimeFormat("en-GB", {
    timeZone: "UTC", weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit",
  });
  // Moments are on the wall clock of the meters, as if that were UTC.
  const moment = (seconds) => moments.format(new Date(1000 * seconds));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // Axes and lines.
  const axis = (options) => ({
    stroke: colour("soft"), font, labelFont: font, labelSize: 18,
    grid: { stroke: colour("grid"), width: 1 }, ticks: { stroke: colour("grid"), width: 1, size: 5 }, ...options,
  });
  const none = [null, null, null, null, null, null, 1];
  const timeAxis = () => axis({
    space: 70,
    values: [
      [365 * DAY, "{YYYY}", ...none], [28 * DAY, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
      [DAY, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
      [60, "{HH}:{mm}", "\n{D} {MMM} {YYYY}", null, "\n{D} {MMM}", null, null, null, 1],
    ],
  });
  const valueAxis = (options) => axis({
    size: (u, values) => (values ? 14 + 7 * Math.max(...values.map((v) => v.length), 3) : 40),
    values: (u, splits) => splits.map((v) => (v == null ? "" : number.format(v))), ...options,
  });
  // From zero where nothing is below it: lengths are then as large as what they stand for.
  const fromZero = (u, low, high) => {
    if (low == null) return [0, 1];
    const pad = 0.06 * (high - Math.min(low, 0) || 1);
    return [low < 0 ? low - pad : 0, high + pad];
  };
  const padded = (u, low, high) => {
    if (low == null) return [0, 1];
    const pad = 0.12 * (high - low || Math.abs(high) || 1);
    return [low - pad, high + pad];
  };
  const hidden = { stroke: "transparent", width: 0, points: { show: false } };
  const line = (options) => ({ stroke: colour("line"), width: 1.6, points: { show: false }, ...options });
  const banded = () => [{ series: [2, 1], fill: colour("band") }];

  // Charts: made anew when the colours change, resized with their boxes.
  function chart(box, make) {
    if (!box) return null;
    const one = { box, make, plot: null };
    charts.push(one);
    build(one);
    new ResizeObserver(() => {
      const width = box.clientWidth, height = box.clientHeight;
      if (one.plot && width && (one.plot.width !== width || one.plot.height !== height)) one.plot.setSize({ width, height });
    }).observe(box);
    return one;
  }

  function build(one) {
    const [options, columns] = one.make(one.plot);
    const whole = {
      width: one.box.clientWidth || 600, height: one.box.clientHeight || 240, legend: { show: false },
      tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "Etc/UTC"), ...options,
    };
    if (one.plot) one.plot.destroy();
    one.plot = new uPlot(whole, columns, one.box);
  }

  const recolour = () => { charts.forEach(build); painters.forEach((paint) => paint()); };
  const onRecolour = (paint) => painters.push(paint);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
  return { DAY, number, says, moment, colour, font, axis, timeAxis, valueAxis, fromZero, padded, hidden, line, banded, chart, build, recolour, onRecolour };
})();
