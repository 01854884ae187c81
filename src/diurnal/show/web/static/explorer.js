// The plan explorer: what is asked for goes to the service, which predicts by the code of `diurnal plan`.
import { get, post } from "./api.js";
import { beside, follow, slid, text, unread, whole } from "./fields.js";
import { by, count, fill, make } from "./making.js";
import { bars, numbers, says } from "./predicted.js";

const PATIENCE = 250;
const ELSEWHERE = "This prediction is for another number of households. Leave n empty to start a plan on the panel.";
let offer = null, waiting = 0, asking = null, unit = "", homes = null;

// The level that is asked for, as an option that says what it does. Counts have levels of their own.
function levelled() {
  const counts = "counting" in by("query").selectedOptions[0].dataset, all = [...by("level").options].filter((each) => "counts" in each.dataset === counts);
  return all.find((each) => each.selected) ?? all[0];
}

// Everything that is typed or chosen in what is shown, by the names of the fields of a request.
function question() {
  const asked = { level: levelled().value }, low = whole("low") ?? 0, high = whole("high");
  for (const { dataset: { field } } of by("ask").querySelectorAll("[data-field]:not([hidden])")) {
    const value = by(field).dataset.kind === "whole" ? whole(field) : text(field);
    if (value !== null) asked[field] = value;
  }
  return high === null ? asked : { ...asked, domain: [low, high] };
}

// Minutes of the period that is asked for.
const minutes = () => 1440 * Number.parseInt(by("period").value, 10);

// What is beside the history when the panel has less of it; empty where it has enough.
function tooLong() {
  if (!homes || !("learns" in levelled().dataset)) return "";
  const cycles = Math.floor((homes.cycles * homes.slots * homes.minutes) / minutes());
  return whole("history") > cycles ? `The panel has ${count(cycles, "cycle")} of this length: a plan that learns from more cannot be started on it.` : "";
}

// A profile’s radius is at most as long as a vector over the slots can be in this domain.
function scaled() {
  const range = by("ask").querySelector("[data-of=body_radius]"), width = whole("high") - (whole("low") ?? 0);
  range.disabled = !(width > 0);
  if (range.disabled || !homes) return;
  range.dataset.low = Math.max(1, Math.round(width / 1000));
  range.dataset.high = Math.max(2, Math.ceil(width * Math.sqrt(minutes() / homes.minutes)));
}

// What a number is for depends on the level: it is never called by another’s name.
function named(level) {
  const learns = "learns" in level.dataset;
  for (const label of by("ask").querySelectorAll("label[data-usual]")) {
    label.textContent = learns ? label.dataset.usual : label.dataset.cycle;
    const range = by("ask").querySelector(`[data-of="${label.htmlFor}"]`);
    if (range) range.setAttribute("aria-label", `Slide ${label.textContent}`);
  }
  const basis = [...by("mechanism").options].find((each) => each.value === "basis");
  basis.hidden = basis.disabled = !learns;
  if (basis.disabled && basis.selected) by("mechanism").value = "auto";
}

// What does not belong to a query or a level is not asked for.
function fit() {
  const level = levelled();
  named(level);
  scaled();
  for (const part of by("ask").querySelectorAll("[data-when]")) part.hidden = !(part.dataset.when in level.dataset);
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
  fill(by("warnings"), found.warnings.map((said) => make("p", { class: "warning" }, `Warning: ${said}.`)));
  fill(by("bars"), bars(found, unit));
  const open = by("numbers").querySelector("details[open]");
  fill(by("numbers"), numbers(found));
  if (open) by("numbers").querySelector("details").open = true;
  fill(by("plan-sentences"), found.sentences.map((said) => make("li", {}, said)));
  by("limits").hidden = by("plan-said").hidden = false;
  for (const part of by("limits").querySelectorAll("[data-limits]")) part.hidden = part.dataset.limits !== found.document.level;
  radius(found.document);
  offer(found, "households" in asked ? ELSEWHERE : tooLong());
}

// The radius that was chosen is in its field’s place, where none is typed.
function radius({ body }) {
  if (text("body_radius") !== null) return;
  by("body_radius").placeholder = body && body.radius ? `${body.radius.toLocaleString("en")} (chosen)` : "chosen for you";
  follow(by("ask").querySelector("[data-of=body_radius]"));
}

function nothing(words) {
  by("found-said").textContent = words;
  by("found").classList.add("worse");
  by("limits").hidden = by("plan-said").hidden = true;
  for (const part of ["warnings", "bars", "numbers", "plan-sentences"]) fill(by(part));
  offer(null, "Find a plan first.");
}

async function ask() {
  if (asking) asking.abort();
  const marked = unread();
  if (marked.length) {
    asking = null;
    by("found").removeAttribute("aria-busy");
    nothing(`Correct the marked fields to see a prediction: ${marked.join("; ")}.`);
    return;
  }
  beside(by("history"), tooLong(), { bad: false });
  const mine = asking = new AbortController(), asked = question();
  by("found").setAttribute("aria-busy", "true");
  try {
    const found = await post("/v1/custodian/plan", asked, { signal: mine.signal });
    if (mine === asking) showFound(found, asked);
  } catch (error) {
    if (error.name === "AbortError" || mine !== asking) return;
    nothing(error.words || "This cannot be predicted.");
  }
  if (mine === asking) by("found").removeAttribute("aria-busy");
}

function soon() {
  clearTimeout(waiting);
  // What was found is no longer what is asked for.
  offer(null, "Predicting…");
  waiting = setTimeout(ask, PATIENCE);
}

// What the panel is, and what a store that has a stream is settled on: other plans on it must agree.
async function know() {
  const panel = homes = await get("/v1/custodian/panel"), names = Object.keys(panel.partitions);
  fill(by("groups"), make("option", { value: "" }, "the whole roster"), names.map((name) => make("option", { value: name }, name)));
  by("groups").closest("[data-field]").hidden = !names.length;
  by("households").placeholder = `${panel.households.toLocaleString("en")} (panel)`;
  by("history").value = String(Math.max(1, Math.min(91, Math.floor(panel.cycles / 2))));
  [by("low").value, by("high").value] = panel.domain || ["", ""];
  const { streams } = await get("/v1/streams");
  if (!streams.length) return;
  const last = streams.filter((each) => each.running).at(-1) ?? streams.at(-1);
  const { plan } = await get(`/v1/streams/${last.stream}`), days = (plan.grid.slots * plan.grid.minutes) / 1440;
  [by("low").value, by("high").value] = plan.domain;
  if (plan.history) by("history").value = String(plan.history);
  if (by("period").querySelector(`[value="${days}d"]`)) by("period").value = `${days}d`;
  if (["mean", "sum"].includes(plan.query.kind)) asRunning(plan, names);
}

// The first thing that is predicted is what runs, and not what nobody would start: as its plan has it.
function asRunning(plan, names) {
  const { reference, body, variation_bound: bound } = plan, level = reference && reference.profile.reduce((sum, each) => sum + each, 0) / reference.profile.length;
  [by("query").value, by("level").value] = [plan.query.kind, plan.level];
  for (const [name, value] of Object.entries({ epsilon: plan.epsilon, cycle_epsilon: plan.cycle_epsilon ?? plan.epsilon })) {
    if (/^[0-9.]+$/.test(value)) by(name).value = value;
  }
  [by("minimum_group").value, by("grace").value] = [plan.minimum_group, plan.grace];
  if (plan.groups && names.includes(plan.groups)) by("groups").value = plan.groups;
  if (level > 0) by("mean_reading").value = String(Math.round(level));
  else {
    if (body && body.radius) by("body_radius").value = String(body.radius);
    if (Number.isInteger(bound)) by("variation_bound").value = String(bound);
  }
}

export function work(told) {
  offer = told;
  by("ask").addEventListener("submit", (event) => event.preventDefault());
  for (const range of by("ask").querySelectorAll("[data-of]")) {
    range.addEventListener("input", () => { by(range.dataset.of).value = slid(range); });
  }
  by("ask").addEventListener("input", () => { fit(); soon(); });
  by("to-sentences").addEventListener("click", () => { by("plan-said").open = true; by("plan-said").querySelector("summary").focus(); });
}

export async function show() {
  await know().catch((error) => { by("found-said").textContent = error.words; });
  for (const part of by("ask").querySelectorAll("fieldset")) part.disabled = false;
  fit();
  await ask();
}
