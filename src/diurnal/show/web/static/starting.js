// Starting a plan: what it would mean, what it spends typed by hand, and its first reports as they come.
import { post } from "./api.js";
import { listen } from "./live.js";
import { by, fill, make } from "./making.js";
import { table } from "./table.js";

const SHOWN = 24, WORDS = { live: "live", waiting: "disconnected: reconnecting", stopped: "stopped" };
let plan = null, digest = null, after = null;

// What is worse than nothing is accepted with a tick, and only where there is something to accept.
const accepted = () => !by("worse").hidden && by("accept-worse").checked;
const question = (more) => ({ plan: plan.document, acknowledge: digest() || "untested", ...more });
const ready = () => by("typed").value.trim() === by("phrase").textContent && (by("worse").hidden || accepted());
const listed = (sentences) => sentences.map((said) => make("li", {}, said));

function say(words, { refused = false } = {}) {
  by("explain-said").textContent = words;
  by("explain-said").classList.toggle("warning", refused);
}

// A plan that the explorer has found, or why there is none that could be started.
export function offer(found, why = "") {
  plan = found && !why ? found : null;
  by("confirming").hidden = true;
  by("explain").disabled = !plan;
  say(why);
}

async function explain() {
  const mine = plan;
  say("Asking…");
  try {
    const { sentences, confirm, stream, worse } = await post("/v1/custodian/explain", question());
    if (mine !== plan) return;
    fill(by("promised"), listed(plan.sentences));
    fill(by("meaning"), listed(sentences));
    by("named").hidden = !stream;
    by("named").querySelector("span").textContent = stream || "";
    by("phrase").textContent = confirm;
    by("digest").textContent = digest()
      ? `The verdict that you have read is acknowledged with it: ${digest()}.`
      : "You have not checked the panel: the plan would be started untested, and the ledger would record that.";
    by("worse").hidden = !worse;
    by("worse-said").textContent = worse || "";
    by("accept-worse").checked = false;
    by("typed").value = "";
    by("start").disabled = true;
    by("start-refused").hidden = true;
    by("confirming").hidden = false;
    say("Read what it would mean, then type what it spends.");
    // Where reading begins: what must be typed comes after all that is to be read.
    by("confirm-title").focus();
  } catch (error) { if (mine === plan) say(error.words || "The service gave no answer.", { refused: true }); }
}

async function start(event) {
  event.preventDefault();
  if (by("start").disabled) return;
  by("start").disabled = true;
  try {
    const { stream } = await post("/v1/custodian/start", question({ confirm: by("typed").value, ...(accepted() ? { accept_worse: true } : {}) }));
    by("confirming").hidden = true;
    say("");
    watch(stream);
    by("started").focus();
    after();
  } catch (error) {
    by("start-refused").textContent = error.words;
    by("start-refused").hidden = false;
    by("start").disabled = false;
  }
}

function shown(state) {
  by("started-live").dataset.state = state;
  by("started-live").querySelector("span").textContent = WORDS[state];
}

function watch(stream) {
  let rows = [], over = false;
  by("started").hidden = false;
  fill(by("first-reports"), make("p", {}, make("a", { href: `/streams/${stream}` }, "The stream’s public page")));
  by("started-said").textContent = "The plan is started. Its first reports appear here once readings arrive.";
  listen(stream, {
    reports: (fresh) => {
      rows = rows.concat(fresh).slice(-SHOWN);
      const last = rows[rows.length - 1];
      by("started-said").textContent = `Reports are arriving: the last is ${last.value} ${last.unit} for ${last.group}.`;
      fill(by("first-reports"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The first reports" },
        table(["time", "series", `value (${last.unit})`, "std"], [...rows].reverse().map((row) => [row.time, row.group, row.value, row.std]), { caption: "The newest reports, newest first", numbers: [2, 3], unbroken: [0] })),
      make("p", {}, make("a", { href: `/streams/${stream}` }, "The stream’s public page")));
    },
    stopped: () => { over = true; by("started-said").textContent = "The stream has been stopped."; shown("stopped"); },
    state: (state) => shown(over ? "stopped" : state),
  });
}

export function work(given) {
  ({ digest, after } = given);
  by("explain").addEventListener("click", explain);
  for (const [name, happens] of [["typed", "input"], ["accept-worse", "change"]]) by(name).addEventListener(happens, () => { by("start").disabled = !ready(); });
  by("confirming").addEventListener("submit", start);
}
