"use strict";
// A range of time that is moved and zoomed by buttons, keys, dragging and a finger. Whoever draws it says where the
// ends are, and is told when it has moved.
const zoomable = ({ box, plot, ends, least, moved }) => {
  const DAY = drawing.DAY;
  const state = { from: 0, to: 0 };
  const buttons = (name) => [...document.querySelectorAll(`[data-${name}]`)];

  function show(from, to) {
    const [first, last] = ends(), width = Math.min(Math.max(to - from, least), last - first);
    const start = Math.min(Math.max(from, first), last - width);
    plot().setScale("x", { min: start, max: start + width });
  }

  const whole = () => show(...ends());

  function scaled(u) {
    const { min, max } = u.scales.x;
    if (min == null) return;
    [state.from, state.to] = [min, max];
    const width = max - min, all = ends()[1] - ends()[0];
    for (const button of buttons("range")) {
      const days = Number(button.dataset.range);
      const pressed = days ? Math.abs(width - days * DAY) < least / 4 && width < all : width >= all - 1;
      button.setAttribute("aria-pressed", String(pressed));
    }
    moved();
  }

  function move(how) {
    const { from, to } = state, width = to - from, middle = (from + to) / 2, [first, last] = ends();
    const moves = {
      earlier: () => show(from - width / 2, to - width / 2), later: () => show(from + width / 2, to + width / 2),
      in: () => show(middle - width / 4, middle + width / 4), out: () => show(middle - width, middle + width),
      first: () => show(first, first + width), last: () => show(last - width, last), reset: whole,
    };
    moves[how]();
  }

  const KEYS = { ArrowLeft: "earlier", ArrowRight: "later", "+": "in", "=": "in", "-": "out", Home: "first", End: "last", 0: "reset", Escape: "reset" };

  function swipe() {
    let start = null;
    box.addEventListener("pointerdown", (event) => { if (event.pointerType === "touch") start = { x: event.clientX, ...state }; });
    box.addEventListener("pointermove", (event) => {
      if (!start || event.pointerType !== "touch") return;
      const shift = ((start.x - event.clientX) / box.clientWidth) * (start.to - start.from);
      show(start.from + shift, start.to + shift);
    });
    for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => { start = null; });
  }

  // The last days, counted from where the view ends.
  const days = (count) => (count ? show(state.to - count * DAY, state.to) : whole());

  function work(choose = days) {
    for (const button of buttons("range")) button.addEventListener("click", () => choose(Number(button.dataset.range)));
    for (const button of buttons("move")) button.addEventListener("click", () => move(button.dataset.move));
    box.addEventListener("keydown", (event) => {
      if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      move(KEYS[event.key]);
    });
    swipe();
  }

  // What uPlot is told of it.
  const options = () => ({
    scales: { x: { time: true, auto: false, min: state.from, max: state.to }, y: { range: drawing.fromZero } },
    cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false, setScale: true }, bind: { dblclick: () => () => whole() } },
    hooks: { setScale: [(u, key) => { if (key === "x") scaled(u); }] },
  });

  return { state, show, whole, move, days, work, options };
};
