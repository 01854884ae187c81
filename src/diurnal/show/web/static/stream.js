// A stream's page: its chart, and reports as they come.
import { again } from "./again.js";
import { get } from "./api.js";
import { listen } from "./live.js";
import { by, clock } from "./making.js";
import { series } from "./series.js";

const WORDS = {
  live: "live: new reports appear automatically", waiting: "disconnected: reconnecting",
  ending: "stopped: steps that were still open may be reported later", stopped: "stopped: there will be no more reports",
};

function said(state) {
  by("live").dataset.state = state === "ending" ? "stopped" : state;
  by("live").querySelector("span").textContent = WORDS[state];
}

function reached(rows) {
  const place = document.querySelector('[data-fact="last report"]'), newest = rows.map(({ time }) => time).sort().pop();
  if (newest) place.textContent = clock(newest);
}

// What is in the head, and what is there instead of a chart, by the service's own words.
async function facts() {
  const parts = [".head .facts", "#none"], written = await again(...parts);
  written.forEach((each, i) => { if (each) document.querySelector(parts[i]).replaceWith(each); });
}

async function start() {
  const info = await get(`/v1/streams/${by("stream").dataset.stream}`);
  const shown = series(info);
  let end = info.end, leave = () => {};
  const over = () => end !== null && (shown.last() ?? info.first_step - 1) >= end - 1;

  // A stream that was stopped is not live: what was open may still come, and after that nothing.
  function connected(state) {
    said(over() ? "stopped" : end !== null && state === "live" ? "ending" : state);
    if (over()) leave();
  }

  async function reports(rows) {
    const first = shown.last() == null;
    await shown.arrived(rows);
    if (first) await facts();
    reached(rows);
    if (end !== null) connected("live");
  }

  async function caughtUp() {
    const before = shown.last();
    await shown.catchUp();
    if (shown.last() !== before) await facts();
  }

  function stopped(content) {
    // The service tells it to everybody who comes, also where the page has said it already.
    if (end === null) facts();
    end = content.end;
    connected("live");
  }

  await shown.begin();
  window.diurnal = shown;
  if (over()) said("stopped");
  else leave = listen(info.stream, { reports, stopped, state: (state) => { connected(state); if (state === "live") caughtUp(); } });
}

start().catch((error) => {
  for (const place of [by("shown"), by("live").querySelector("span")]) place.textContent = error.words || "The reports cannot be shown.";
});
