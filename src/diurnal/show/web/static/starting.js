// Starting a plan: what it would mean, what it spends typed by hand, and its first reports as they come.
import { post } from "./api.js";
import { listen } from "./live.js";
import { by, fill, make } from "./making.js";
import { table } from "./table.js";

const SHOWN = 24, WORDS = { live: "live", waiting: "cut off: trying again" };
let plan = null, digest = null, after = null;

const question = (more) => ({ plan, acknowledge: digest() || "untested", ...more });

// A plan that the explorer has found. One for other homes than the panel's cannot be started.
export function offer(found, elsewhere) {
  plan = found && !elsewhere ? found.document : null;
  by("confirming").hidden = true;
  by("explain").disabled = !plan;
  by("explain-said").textContent = !found ? "Find a plan first." : elsewhere
    ? "This prediction is for another number of households. Leave n empty to start a plan on the panel."
    : "";
}

async function explain() {
  by("explain-said").textContent = "Asking…";
  try {
    const { sentences, confirm } = await post("/v1/custodian/explain", question());
    fill(by("meaning"), sentences.map((said) => make("li", {}, said)));
    by("phrase").textContent = confirm;
    by("digest").textContent = digest()
      ? `The verdict that you have read goes with it: ${digest()}.`
      : "You have not looked at the panel: the plan would be started untested, and the ledger would say so.";
    by("typed").value = "";
    by("start").disabled = true;
    by("start-refused").hidden = true;
    by("confirming").hidden = false;
    by("explain-said").textContent = "Read what it would mean, then type what it spends.";
    by("typed").focus();
  } catch (error) { by("explain-said").textContent = error.words; }
}

async function start(event) {
  event.preventDefault();
  if (by("start").disabled) return;
  by("start").disabled = true;
  try {
    const { stream } = await post("/v1/custodian/start", question({ confirm: by("typed").value }));
    by("confirming").hidden = true;
    by("explain-said").textContent = "";
    watch(stream);
    after();
  } catch (error) {
    by("start-refused").textContent = error.words;
    by("start-refused").hidden = false;
    by("start").disabled = false;
  }
}

function watch(stream) {
  let rows = [];
  by("started").hidden = false;
  fill(by("first-reports"), make("p", {}, make("a", { href: `/streams/${stream}` }, "The stream’s public page")));
  by("started-said").textContent = "The plan is started. Its first reports appear here once readings come in.";
  listen(stream, {
    reports: (fresh) => {
      rows = rows.concat(fresh).slice(-SHOWN);
      const last = rows[rows.length - 1];
      by("started-said").textContent = `Reports are coming in: the last is ${last.value} ${last.unit} for ${last.group}.`;
      fill(by("first-reports"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first reports" },
        table(["time", "series", `value (${last.unit})`, "std"], [...rows].reverse().map((row) => [row.time, row.group, row.value, row.std]), { caption: "The newest reports, newest first", numbers: [2, 3], unbroken: [0] })),
      make("p", {}, make("a", { href: `/streams/${stream}` }, "The stream’s public page")));
    },
    stopped: () => { by("started-said").textContent = "The stream has been stopped."; },
    state: (state) => { by("started-live").dataset.state = state; by("started-live").querySelector("span").textContent = WORDS[state]; },
  });
}

export function work(given) {
  ({ digest, after } = given);
  by("explain").addEventListener("click", explain);
  by("typed").addEventListener("input", () => { by("start").disabled = by("typed").value.trim() !== by("phrase").textContent; });
  by("confirming").addEventListener("submit", start);
}
