// The plan explorer: what is asked for goes to the service, which predicts by the code of `diurnal plan`.
import { get, post } from "./api.js";
import { by, fill, make } from "./making.js";
import { bars, numbers, says } from "./predicted.js";

const PATIENCE = 250;
let offer = null, waiting = 0, asking = null, unit = "";

// Sliders are logarithmic, from 0 to 300.
function slid(range) {
  const { low, high, whole } = range.dataset;
  const value = low * (high / low) ** (range.value / 300);
  return whole === undefined ? String(Number(value.toPrecision(2))) : String(Math.round(Number(value.toPrecision(value < 100 ? 2 : 3))));
}

function follow(range) {
  const { low, high, of } = range.dataset, value = Number(by(of).value);
  if (value > 0) range.value = (300 * Math.log(value / low)) / Math.log(high / low);
  range.setAttribute("aria-valuetext", by(of).value || by(of).placeholder);
}

const text = (id) => by(id).value.trim() || null;
const whole = (id) => (text(id) === null ? null : Number(text(id)));

function question() {
  const query = by("query").value, level = query === "share" ? "cycle" : by("level").value, high = whole("high");
  const own = level === "cycle" ? { query, level, above: whole("above") } : {
    query, level, history: whole("history"), mean_reading: text("mean_reading"), body_radius: whole("body_radius"), mechanism: by("mechanism").value,
    ...(level === "strong" ? { cycle_epsilon: text("cycle_epsilon"), cycle_mechanism: by("cycle_mechanism").value, variation_bound: whole("bound") } : {}),
  };
  return {
    ...own, epsilon: text("epsilon"), period: by("period").value, groups: by("groups").value || null, households: whole("households"),
    domain: high === null ? null : [whole("low") ?? 0, high], delta: text("delta"), minimum_group: whole("minimum_group"), grace: whole("grace") ?? 0,
  };
}

// What does not belong to a query or a level is not asked for.
function fit() {
  const query = by("query").value, level = query === "share" ? "cycle" : by("level").value;
  for (const part of by("ask").querySelectorAll("[data-for], [data-level]")) {
    const { for: queries, level: only } = part.dataset;
    part.hidden = (queries !== undefined && !queries.split(" ").includes(query)) || (only !== undefined && only !== level);
  }
  for (const range of by("ask").querySelectorAll("[data-of]")) follow(range);
}

function say(found) {
  const own = found.mechanisms.find((row) => row.name === found.chosen), nothing = found.without_data.error;
  const worse = own.error > nothing ? " That is WORSE than nothing at all." : "";
  by("found-said").textContent = `${found.chosen}: a report’s predicted error is ${says(own.error)} ${unit}; nothing at all has ${says(nothing)} ${unit}.${worse}`;
  by("found").classList.toggle("worse", Boolean(worse));
}

function showFound(found, asked) {
  unit = found.unit;
  for (const place of document.querySelectorAll("[data-unit]")) place.textContent = `(${found.document.grid.unit})`;
  say(found);
  fill(by("warnings"), found.warnings.map((said) => make("p", { class: "warning" }, `Mind: ${said}.`)));
  fill(by("bars"), bars(found, unit));
  const open = by("numbers").querySelector("details[open]");
  fill(by("numbers"), numbers(found, unit));
  if (open) by("numbers").querySelector("details").open = true;
  fill(by("plan-sentences"), found.sentences.map((said) => make("li", {}, said)));
  offer(found, asked.households !== null);
}

async function ask() {
  if (asking) asking.abort();
  const mine = asking = new AbortController(), asked = question();
  by("found").setAttribute("aria-busy", "true");
  try {
    const found = await post("/v1/custodian/plan", asked, { signal: mine.signal });
    if (mine === asking) showFound(found, asked);
  } catch (error) {
    if (error.name === "AbortError" || mine !== asking) return;
    by("found-said").textContent = error.words || "This cannot be predicted.";
    fill(by("warnings"));
    fill(by("bars"));
    fill(by("numbers"));
    offer(null, false);
  }
  if (mine === asking) by("found").removeAttribute("aria-busy");
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PATIENCE);
}

// What the panel is, and what a store that has a stream is settled on: other plans on it must agree.
async function know() {
  const panel = await get("/v1/custodian/panel"), names = Object.keys(panel.partitions);
  fill(by("groups"), make("option", { value: "" }, "the whole roster"), names.map((name) => make("option", { value: name }, name)));
  by("groups-place").hidden = !names.length;
  by("households").placeholder = `${panel.households.toLocaleString("en")} (panel)`;
  by("history").value = String(Math.max(1, Math.min(91, Math.floor(panel.cycles / 2))));
  [by("low").value, by("high").value] = panel.domain || ["0", ""];
  const { streams } = await get("/v1/streams");
  if (!streams.length) return;
  const { plan } = await get(`/v1/streams/${streams[0].stream}`), days = (plan.grid.slots * plan.grid.minutes) / 1440;
  [by("low").value, by("high").value] = plan.domain;
  if (plan.history) by("history").value = String(plan.history);
  if (by("period").querySelector(`[value="${days}d"]`)) by("period").value = `${days}d`;
}

export function work(told) {
  offer = told;
  by("ask").addEventListener("submit", (event) => event.preventDefault());
  for (const range of by("ask").querySelectorAll("[data-of]")) {
    range.addEventListener("input", () => { by(range.dataset.of).value = slid(range); });
  }
  by("ask").addEventListener("input", () => { fit(); soon(); });
}

export async function show() {
  await know().catch((error) => { by("found-said").textContent = error.words; });
  for (const part of by("ask").querySelectorAll("fieldset")) part.disabled = false;
  fit();
  await ask();
}
