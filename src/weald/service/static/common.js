// What both pages share: elements whose text is never markup, and requests with the token.
"use strict";

function byId(name) {
  return document.getElementById(name);
}

/** Make an element; `parts` are elements or text, which is never read as HTML. */
function element(name, attributes = {}, ...parts) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...parts.map((part) => (part instanceof Node ? part : String(part))));
  return made;
}

function showError(message) {
  const place = byId("error");
  place.textContent = message;
  place.hidden = !message;
}

const TOKEN = "weald-token";

/** Ask the service; throws an error with its message. */
async function ask(path, options = {}) {
  const headers = { ...options.headers };
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer.");
  }
  const found = await response.json();
  if (response.ok) return found;
  const failed = new Error(found.error || `error ${response.status}`);
  failed.status = response.status;
  throw failed;
}

/** Begin, and ask for the token if one is needed. */
async function begin(start) {
  const form = byId("sign-in");
  try {
    await start();
    form.hidden = true;
    byId("content").hidden = false;
    showError("");
  } catch (error) {
    if (error.status !== 401) {
      showError(error.message);
      return;
    }
    showError(sessionStorage.getItem(TOKEN) ? "That is not the token of this service." : "");
    form.hidden = false;
    form.onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, byId("token").value.trim());
      begin(start);
    };
    byId("token").focus();
  }
}
