// What is spent of both budgets, and the ledger.
import { get } from "./api.js";
import { by, fill, make } from "./making.js";
import { boxed } from "./table.js";

const NAMES = { pattern: "Shift of the usual cycle", strong: "Any one reported cycle" };

function meter(name, { spent, allowed, remaining }, without, delta) {
  const said = without ? [make("p", {}, `${without[0].toUpperCase()}${without.slice(1)}.`)] : [];
  // A figure of 0 would look like a loss of 0.
  if (without && Number(spent) === 0) return make("div", { class: "budget" }, make("h3", {}, NAMES[name]), ...said);
  const filled = make("i"), share = Math.min(100, (100 * Number(spent)) / Number(allowed));
  filled.style.width = `${share}%`;
  return make("div", { class: "budget" }, make("h3", {}, NAMES[name]),
    make("p", {}, make("b", {}, spent), ` of ${allowed} spent, ${remaining} left${delta ? ` (at delta ${delta})` : ""}`),
    make("span", { class: "meter", "aria-hidden": "true" }, filled), ...said);
}

export async function show() {
  try {
    const [{ head, uncounted, delta, ...budgets }, { lines }] = await Promise.all([get("/v1/custodian/budget"), get("/v1/custodian/told")]);
    fill(by("budgets"), Object.entries(budgets).map(([name, each]) => meter(name, each, uncounted[name], delta)));
    by("ledger-head").textContent = head;
    fill(by("ledger"), boxed(["no.", "time", "what", "spent (ε)"], [...lines].reverse(),
      { caption: "The ledger, newest first", unbroken: [0, 1] }));
    by("budget-said").textContent = "";
  } catch (error) { by("budget-said").textContent = error.words; }
}
