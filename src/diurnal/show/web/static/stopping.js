// What cannot be taken back: stopping a stream, and closing what is open. What it does is shown before its name is typed.
import { post } from "./api.js";
import { clock, count, make } from "./making.js";

const places = new Map();

// A form that says what would happen, asks for the stream's name, and then does it.
function form(stream, after, { verb, title, about, label, button: words, told }) {
  const name = stream.plan.slice(0, 8), id = `${verb}-${name}`, address = `/v1/custodian/streams/${stream.plan}/${verb}`;
  const typed = make("input", { id, autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const button = make("button", { type: "submit", disabled: "" }, words);
  const refused = make("p", { class: "warning", role: "alert", hidden: "" });
  const would = make("p", { class: "would", role: "status" });
  const whole = make("form", { autocomplete: "off", novalidate: "" },
    make("p", {}, about), would, make("label", { for: id }, label, make("strong", { class: "mono" }, name)), typed, button, refused);
  const shown = make("details", { class: verb === "stop" ? "stopping" : "stopping closing" }, make("summary", {}, title), whole);
  const failed = (error) => { refused.textContent = error.words; refused.hidden = false; };
  shown.addEventListener("toggle", async () => {
    if (!shown.open) return;
    refused.hidden = true;
    await post(address, { dry_run: true }).then((found) => { would.textContent = told(found); }).catch(failed);
  });
  typed.addEventListener("input", () => { button.disabled = typed.value.trim() !== name; });
  whole.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    try {
      await post(address, { confirm: typed.value.trim() });
      typed.value = "";
      shown.open = false;
      await after();
    } catch (error) {
      failed(error);
      button.disabled = false;
    }
  });
  return shown;
}

const STOP = {
  verb: "stop",
  title: "Stop this stream",
  about: "It cannot be started again, and what it has spent stays spent. A successor can begin where it ends.",
  label: "To stop it, type ",
  button: "Stop it permanently",
  told: (found) => `It would report nothing from ${clock(found.time)} on (step ${found.end}).`,
};

const CLOSE = {
  verb: "close",
  title: "Close open steps",
  about: "Days that have ended are reported before their deadline, with the readings that have arrived. Later readings for them are not taken.",
  label: "To close it, type ",
  button: "Close it now",
  told: (found) => `${count(found.steps, "step")} before ${clock(found.time)} would be closed.`,
};

// Kept by stream: what somebody is typing outlives a refresh.
function kept(stream, after, what) {
  const key = `${what.verb} ${stream.plan}`;
  if (!places.has(key)) places.set(key, form(stream, after, what));
  return places.get(key);
}

export const stopping = (stream, after) => kept(stream, after, STOP);
export const closing = (stream, after) => kept(stream, after, CLOSE);
