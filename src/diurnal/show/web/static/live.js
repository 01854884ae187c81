// Reports as they come: server-sent events, read by `fetch`, which can show a token where `EventSource` cannot. Who is
// cut off comes back by itself and goes on where it was.
import { answer } from "./api.js";

const LEAST = 1000, MOST = 30000;

export function listen(stream, { reports, stopped, state }) {
  const ending = new AbortController();
  let seen = null, wait = LEAST;

  function take(block) {
    const told = { event: "message", data: "" };
    for (const line of block.split("\n")) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) || [];
      if (name === "data") told.data += value;
      else if (name) told[name] = value;
    }
    if (told.id) seen = told.id;
    if (!told.data) return;
    wait = LEAST;
    const content = JSON.parse(told.data);
    if (told.event === "reports") reports(content.rows);
    if (told.event === "stopped") stopped(content);
  }

  async function once() {
    const headers = { Accept: "text/event-stream", ...(seen ? { "Last-Event-ID": seen } : {}) };
    const found = await answer(`/v1/streams/${encodeURIComponent(stream)}/events`, { headers, signal: ending.signal });
    state("live");
    const reader = found.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      blocks.forEach(take);
    }
  }

  async function always() {
    while (!ending.signal.aborted) {
      try { await once(); } catch (error) { if (error.name === "AbortError") return; }
      if (ending.signal.aborted) return;
      state("waiting");
      await new Promise((resolve) => { setTimeout(resolve, wait * (0.5 + Math.random())); });
      wait = Math.min(2 * wait, MOST);
    }
  }

  always();
  addEventListener("pagehide", () => ending.abort());
  return () => ending.abort();
}
