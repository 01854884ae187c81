// Elements, made of names and plain text. Whatever comes from elsewhere goes into them as text, never as markup.

export const by = (id) => document.getElementById(id);

export function make(name, about = {}, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(about)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on") for (const [event, act] of Object.entries(value)) made.addEventListener(event, act);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...inside.flat().filter((each) => each !== null && each !== undefined));
  return made;
}

export const fill = (box, ...inside) => box.replaceChildren(...inside.flat());

export const facts = (told) => make("dl", { class: "facts" },
  Object.entries(told).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value)))));

// A moment with its offset, as a person reads it.
export const clock = (time) => (time ? `${time.slice(0, 10)} ${time.slice(11, 16)} ${time.slice(19).replace("Z", "UTC")}`.trim() : "none yet");

export const count = (value, one, many = `${one}s`) => `${value.toLocaleString("en")} ${value === 1 ? one : many}`;
