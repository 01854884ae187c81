// A stream's page: its chart, and reports as they come.
import { get } from "./api.js";
import { listen } from "./live.js";
import { by, clock } from "./making.js";
import { series } from "./series.js";

const WORDS = { live: "live: new reports appear by themselves", waiting: "cut off: trying again" };

function connected(state) {
  by("live").dataset.state = state;
  by("live").querySelector("span").textContent = WORDS[state];
}

function reached(rows) {
  const place = document.querySelector('[data-fact="last report"]'), newest = rows.map(({ time }) => time).sort().pop();
  if (newest) place.textContent = clock(newest);
}

async function start() {
  const info = await get(`/v1/streams/${by("stream").dataset.stream}`);
  const shown = series(info);
  listen(info.stream, {
    reports: (rows) => { shown.arrived(rows); reached(rows); },
    stopped: () => { document.querySelector('[data-fact="state"]').textContent = "stopped"; },
    state: (state) => { connected(state); if (state === "live") shown.catchUp(); },
  });
  await shown.begin();
  window.diurnal = shown;
}

start().catch((error) => { by("shown").textContent = error.words || "The reports cannot be shown."; });
