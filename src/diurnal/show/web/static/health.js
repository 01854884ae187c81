// How readings come in: what each stream has reported, holds and has set aside, and whether its pattern has moved.
import { get } from "./api.js";
import { by, clock, count, facts, fill, make } from "./making.js";
import { closing, stopping } from "./stopping.js";
import { boxed } from "./table.js";

const EVERY = 20000, drifts = new Map();

const link = (stream) => make("a", { href: `/streams/${stream.plan}` }, `Plan ${stream.plan.slice(0, 12)}`);

function aside(stream) {
  const lines = Object.entries(stream.counts).sort().map(([what, number]) => [what.replaceAll("_", " "), number.toLocaleString("en")]);
  if (!lines.length) return make("p", {}, "Nothing has been late or set aside.");
  return boxed(["set aside", "count"], lines, { caption: `Set aside by plan ${stream.plan.slice(0, 12)}`, numbers: [1] });
}

// What an operator should look at before anything is lost: wrong clocks, and days that do not close.
function warnings(stream) {
  const DAY = 86400000, ahead = stream.counts.ahead_of_clock ?? 0, found = [];
  if (stream.overdue) found.push(`${count(stream.overdue, "cycle")} past the deadline and still open.`);
  else if (stream.held_since && Date.now() - Date.parse(stream.held_since) > DAY) found.push("Readings have been held open for more than a day: some homes, or some half hours, are missing.");
  if (stream.stray_steps) found.push(`${count(stream.stray_steps, "step")} held ahead of what all other homes have sent: the clock of a meter may be wrong.`);
  if (ahead) found.push(`${count(ahead, "reading")} set aside because they are ahead of the clock of this service.`);
  return found;
}

// Judged since the service began, against the plan's public reference.
function units(stream) {
  if (!stream.units.length) return null;
  const refused = stream.refused ? ` ${count(stream.refused, "batch", "batches")} refused.` : "";
  return make("p", { class: "warning", role: "alert" }, `Readings look a thousand times ${stream.units.join(" and ")}: they may be in another unit.${refused}`);
}

function card(stream, lately, ends) {
  const told = {
    state: stream.end === null ? "running" : `stopped at ${clock(ends[stream.plan])}`,
    level: stream.level,
    households: stream.households.toLocaleString("en"),
    "last report": clock(stream.last_time),
    "last batch that released": clock(lately[stream.plan]),
    "steps held open": stream.open_steps.toLocaleString("en"),
  };
  if (stream.held_since) told["open since"] = `${clock(stream.held_since)}; closed at the latest ${clock(stream.closes)}`;
  if (!drifts.has(stream.plan)) drifts.set(stream.plan, drift(stream));
  const place = drifts.get(stream.plan);
  const alarms = warnings(stream).map((words) => make("p", { class: "warning", role: "alert" }, words));
  return make("article", { class: "card" }, make("h3", {}, link(stream)), ...alarms, units(stream), facts(told),
    make("div", { class: "halves" }, make("div", {}, make("h4", {}, "Late and set aside"), aside(stream)), make("div", {}, make("h4", {}, "Drift"), place)),
    stream.held_since ? closing(stream, show) : null, stream.end === null ? stopping(stream, show) : null);
}

// How far it has moved, in the unit, and as a share of the level where noise lets that be known.
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });
const far = (each, value) => `${rough.format(value)} ${each.unit}${each.level ? ` (${rough.format((100 * value) / each.level)} %)` : ""}`;

function moved(each) {
  const at = each.moves.length - 1, alarm = each.alarm ? "ALARM" : "none";
  if (at < 0) return [each.group, "too little yet", "", "not known yet"];
  return [each.group, far(each, each.moves[at]), far(each, each.chance[at]), each.since ? `${alarm} since ${each.since.slice(0, 10)}` : alarm];
}

// Looked for once, when the room is entered: it reads every released row.
function drift(stream) {
  const place = make("div", { class: "drift" }, make("p", { class: "note" }, "Looking for drift…"));
  get(`/v1/custodian/streams/${stream.plan}/drift`)
    .then(({ groups }) => fill(place, drifted(Object.values(groups))))
    .catch((error) => fill(place, make("p", { class: "note" }, error.words)));
  return place;
}

function drifted(groups) {
  const alarms = groups.filter((each) => each.alarm), { window: cycles, threshold } = groups[0];
  const young = groups.filter((each) => !each.moves.length).length;
  const words = alarms.length
    ? `The pattern has moved in ${count(alarms.length, "group")}: it is time for a successor.`
    : young === groups.length
      ? "It is not known yet whether the pattern has moved: too little has been reported."
      : `No alarm: as far as released reports show, the pattern has not moved.${young ? ` Nothing is known yet about ${count(young, "group")}.` : ""}`;
  return [
    make("p", { class: alarms.length ? "warning" : null, role: alarms.length ? "alert" : null }, words),
    boxed(["group", "has moved by", "by chance", "alarm"], groups.map(moved), { caption: `Drift over ${cycles} cycles; alarm at ${100 * threshold} % or more`, numbers: [1, 2], unbroken: [3] }),
  ];
}

function told(status, lately, ends) {
  const running = status.streams.filter((each) => each.end === null).length;
  by("health-said").textContent = `${count(running, "stream")} running, ${status.streams.length - running} stopped.`;
  const none = make("p", { class: "empty" }, "No plan has been started yet, so no readings are accepted. Find a plan below.");
  fill(by("health"), status.streams.length ? [...status.streams].reverse().map((each) => card(each, lately, ends)) : none);
}

export async function show() {
  const [status, { streams, ends }] = await Promise.all([get("/v1/custodian/status"), get("/v1/custodian/lately")]);
  told(status, streams, ends);
}

export async function refresh() {
  if (document.hidden || by("room").hidden || by("health").contains(document.activeElement)) return;
  await show().catch((error) => { by("health-said").textContent = error.words; });
}

setInterval(refresh, EVERY);
