// The list of streams: when each was last heard of, kept up.
import { get } from "./api.js";
import { by, clock } from "./making.js";

const EVERY = 15000;

async function look() {
  if (document.hidden) return;
  const { streams } = await get("/v1/streams").catch(() => ({ streams: [] }));
  for (const { stream, last_time: last } of streams) {
    const entry = document.querySelector(`li[data-stream="${CSS.escape(stream)}"]`);
    const place = entry && entry.querySelector('[data-fact="last report"]');
    if (!place || place.textContent === clock(last)) continue;
    place.textContent = clock(last);
    by("news").textContent = `${entry.querySelector("h3").textContent}: a new report of ${clock(last)}.`;
  }
}

setInterval(look, EVERY);
