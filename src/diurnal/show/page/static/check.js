"use strict";
// The custodian's charts of what the check found: heatmap, sizes and lags.
const checked = (found) => {
  const { chart, axis, valueAxis, line, colour } = drawing;
  const by = (id) => document.getElementById(id);
  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const scale = found.heat.scale.map(rgb);

  function shade(share) {
    const at = ((share + 1) / 2) * (scale.length - 1), low = Math.min(Math.floor(at), scale.length - 2);
    return scale[low].map((each, i) => Math.round(each + (scale[low + 1][i] - each) * (at - low)));
  }

  const { size, each, reach, cells } = found.heat;

  function painted() {
    const image = new ImageData(size, size);
    cells.forEach((cell, i) => { if (cell !== -128) image.data.set([...shade(cell / 127), 255], 4 * i); });
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [size, size];
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  const EDGE = { left: 44, bottom: 58, top: 6, right: 6 };
  const picture = painted(), canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  let side = 0;

  function ticks(space) {
    const wanted = Math.max(2, Math.floor(space / 70)), all = size * each;
    const step = [1, 2, 5, 7, 10, 14, 20, 28, 30, 50, 100, 200, 500, 1000].find((s) => all / s <= wanted) || all;
    return Array.from({ length: Math.floor((all - 1) / step) + 1 }, (_, i) => i * step);
  }

  function drawHeat() {
    const width = by("heat").clientWidth, ratio = devicePixelRatio || 1;
    side = width - EDGE.left - EDGE.right;
    const height = side + EDGE.top + EDGE.bottom, left = EDGE.left;
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(picture, left, EDGE.top, side, side);
    pen.fillStyle = colour("soft");
    pen.font = drawing.font;
    pen.textBaseline = "middle";
    for (const tick of ticks(side)) {
      const at = ((tick + 0.5) / (size * each)) * side;
      pen.textAlign = "right";
      pen.fillText(String(tick), left - 6, EDGE.top + at);
      pen.textAlign = "center";
      pen.fillText(String(tick), left + at, EDGE.top + side + 12);
    }
    bar(left, EDGE.top + side + 28);
  }

  function bar(left, top) {
    const ramp = pen.createLinearGradient(left, 0, left + side, 0);
    found.heat.scale.forEach((hex, i) => ramp.addColorStop(i / (scale.length - 1), hex));
    pen.fillStyle = ramp;
    pen.fillRect(left, top, side, 9);
    pen.fillStyle = colour("soft");
    for (const share of [-1, 0, 1]) {
      pen.textAlign = share < 0 ? "left" : share > 0 ? "right" : "center";
      pen.fillText((share * reach).toFixed(1), left + ((share + 1) / 2) * side, top + 20);
    }
  }

  by("heat").append(canvas);
  drawHeat();
  new ResizeObserver(drawHeat).observe(by("heat"));
  drawing.onRecolour(drawHeat);

  function read([column, row], blank) {
    const inside = [column, row].every((v) => v >= 0 && v < size), cell = inside ? cells[row * size + column] : -128;
    const value = cell === -128 ? blank : `correlation ${((cell / 127) * reach).toFixed(2)}`;
    by("heat-readout").textContent = inside && value ? `cycles ${row * each} and ${column * each}: ${value}` : "";
  }

  canvas.addEventListener("mousemove", (event) => {
    read([event.offsetX - EDGE.left, event.offsetY - EDGE.top].map((v) => Math.floor((v / side) * size)), "");
  });

  // The same by keys: arrows go from cell to cell, by ten with Shift held.
  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  let place = [Math.min(1, size - 1), 0];

  function mark() {
    const cell = side / size, edge = Math.max(cell, 8);
    pen.strokeStyle = colour("ink");
    pen.lineWidth = 2;
    pen.strokeRect(EDGE.left + (place[0] + 0.5) * cell - edge / 2, EDGE.top + (place[1] + 0.5) * cell - edge / 2, edge, edge);
  }

  by("heat").tabIndex = 0;
  by("heat").addEventListener("focus", () => { read(place, "none"); mark(); });
  by("heat").addEventListener("blur", drawHeat);
  by("heat").addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    place = place.map((v, i) => Math.max(0, Math.min(size - 1, v + move[i] * (event.shiftKey ? 10 : 1))));
    drawHeat();
    read(place, "none");
    mark();
  });

  function upright(u, at, dash, tone) {
    const x = u.valToPos(at, "x", true), { top, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.strokeStyle = tone;
    u.ctx.lineWidth = 1.5 * devicePixelRatio;
    u.ctx.setLineDash(dash.map((v) => v * devicePixelRatio));
    u.ctx.moveTo(x, top);
    u.ctx.lineTo(x, top + height);
    u.ctx.stroke();
    u.ctx.restore();
  }

  chart(by("sizes"), () => [{
    scales: { x: { time: false, range: [0, Math.min(1, 1.4 * Math.max(found.limit, found.largest))] }, y: { range: (u, low, high) => [0, 1.1 * high || 1] } },
    axes: [axis({ label: "size of the correlation |c|" }), valueAxis({ label: "pairs (%)" })],
    series: [{}, { fill: colour("bar"), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [1, 100], align: 1, gap: 1 }) }],
    cursor: { show: false },
    hooks: { draw: [(u) => { upright(u, found.median, [], colour("ink")); upright(u, found.limit, [5, 4], colour("mark")); }] },
  }, [found.histogram.edges.slice(0, -1), found.histogram.percent]]);

  const beat = (lag) => found.rhythm && lag % found.rhythm === 0 && lag <= 8 * found.rhythm;
  chart(by("lags"), () => [{
    scales: { x: { time: false, range: [0, found.lags[found.lags.length - 1] + 1] } },
    axes: [axis({ label: "cycles apart" }), valueAxis({ label: "mean c" })],
    series: [{}, line({ width: 1.4 }), { stroke: colour("mark"), width: 0, paths: () => null, points: { show: true, size: 7, fill: colour("mark") } }],
    cursor: { show: false },
  }, [found.lags, found.means, found.means.map((mean, i) => (beat(found.lags[i]) ? mean : null))]]);
};
