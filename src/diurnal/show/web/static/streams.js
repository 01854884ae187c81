// The list of streams, kept up: new streams, new reports, and streams that were stopped.
import { again } from "./again.js";
import { by } from "./making.js";

const EVERY = 20000;

const told = (entry) => [entry.querySelector("h3").textContent, entry.querySelector('[data-fact="last report"]').textContent];

// What has become of a stream since the list was written, in words; empty if nothing has.
function news(entry) {
  const before = by("streams").querySelector(`li[data-stream="${CSS.escape(entry.dataset.stream)}"]`), [title, last] = told(entry);
  if (!before) return `A new stream: ${title}.`;
  return told(before)[1] === last ? "" : `${title}: a new report of ${last}.`;
}

async function look() {
  if (document.hidden) return;
  const [written] = await again("#streams"), shown = by("streams");
  if (!written || written.innerHTML === shown.innerHTML) return;
  const words = [...written.querySelectorAll("li[data-stream]")].map(news).filter(Boolean);
  // Whoever is on a link stays on it.
  const at = shown.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  shown.replaceWith(written);
  if (at !== null) written.querySelector(`a[href="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
  if (words.length) by("news").textContent = words.join(" ");
}

setInterval(look, EVERY);
document.addEventListener("visibilitychange", look);
