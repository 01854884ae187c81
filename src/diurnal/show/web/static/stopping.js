// Stopping a stream: what it would mean, and its name typed by hand.
import { post } from "./api.js";
import { make } from "./making.js";

const places = new Map();

function form(stream, after) {
  const name = stream.plan.slice(0, 8), id = `stop-${name}`;
  const typed = make("input", { id, autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const button = make("button", { type: "submit", disabled: "" }, "Stop it for ever");
  const refused = make("p", { class: "warning", role: "alert", hidden: "" });
  const whole = make("form", { autocomplete: "off", novalidate: "" },
    make("p", {}, "It reports nothing from the end of what is open on, and cannot be started again; what it has spent stays spent. A successor begins there."),
    make("label", { for: id }, "To stop it, type ", make("strong", { class: "mono" }, name)), typed, button, refused);
  typed.addEventListener("input", () => { button.disabled = typed.value.trim() !== name; });
  whole.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    try {
      await post(`/v1/custodian/streams/${stream.plan}/stop`, { confirm: typed.value.trim() });
      await after();
    } catch (error) {
      refused.textContent = error.words;
      refused.hidden = false;
      button.disabled = false;
    }
  });
  return make("details", { class: "stopping" }, make("summary", {}, "Stop this stream"), whole);
}

// Kept by stream: what somebody is typing outlives a refresh.
export function stopping(stream, after) {
  if (!places.has(stream.plan)) places.set(stream.plan, form(stream, after));
  return places.get(stream.plan);
}
