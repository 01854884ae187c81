// What is asked of the service. A token is kept for this tab alone and goes along as a header of our own requests: no
// other site can make a browser send it, as it could a cookie, and no script but ours runs here to take it.

const NAME = "diurnal-token";

export class Refused extends Error {
  constructor(status, { code = "unreachable", message, hint = "" }) {
    super(message);
    [this.status, this.code, this.hint] = [status, code, hint];
  }

  get words() { return [this.message, this.hint].filter(Boolean).join(" "); }
}

export const token = {
  get: () => sessionStorage.getItem(NAME),
  keep: (value) => sessionStorage.setItem(NAME, value),
  forget: () => sessionStorage.removeItem(NAME),
};

const headers = () => (token.get() ? { Authorization: `Bearer ${token.get()}` } : {});

export async function answer(path, options = {}) {
  let found;
  try {
    found = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { message: "The service cannot be reached.", hint: "Check that it is running, and try again in a moment." });
  }
  if (found.ok) return found;
  const said = await found.json().catch(() => ({}));
  throw new Refused(found.status, said.detail ? { ...said, message: said.detail, hint: said.remedy } : { message: `The service answered ${found.status}.` });
}

export const get = async (path, options) => (await answer(path, options)).json();

export const post = async (path, content, options) => (await answer(path, {
  ...options, method: "POST", body: JSON.stringify(content), headers: { "Content-Type": "application/json" },
})).json();
