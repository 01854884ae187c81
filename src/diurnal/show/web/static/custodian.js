// The custodian's room: the door, and who is told when it is open.
import { token } from "./api.js";
import * as budget from "./budget.js";
import * as explorer from "./explorer.js";
import * as health from "./health.js";
import { by } from "./making.js";
import * as starting from "./starting.js";
import * as verdict from "./verdict.js";

const KIND = {
  401: "This token is not known here. Check that all of it was copied.",
  403: "This token has another role. The role custodian is needed here.",
  429: "Too many wrong tokens. Wait a minute, then enter the right one.",
};

function refused(error) {
  // Of a token that was right once the service says when it ended.
  by("refused").textContent = (error.code !== "ended" && KIND[error.status]) || error.words;
  by("refused").hidden = false;
  token.forget();
  by("token").value = "";
  by("token").focus();
}

async function enter() {
  await health.show();
  by("login").hidden = true;
  by("room").hidden = false;
  budget.show();
  explorer.show();
}

function leave() {
  token.forget();
  // Nothing private stays on the page, nor in what the browser would show on the way back.
  location.replace("/custodian");
}

verdict.work();
explorer.work(starting.offer);
starting.work({ digest: verdict.digest, after: () => { health.refresh(); budget.show(); } });
by("leave").addEventListener("click", leave);
by("come").addEventListener("submit", async (event) => {
  event.preventDefault();
  by("refused").hidden = true;
  token.keep(by("token").value.trim());
  by("token").value = "";
  try {
    await enter();
    by("health-title").focus();
  } catch (error) { refused(error); }
});
addEventListener("pageshow", (event) => { if (event.persisted && !token.get()) location.reload(); });
if (token.get()) enter().catch(refused);
