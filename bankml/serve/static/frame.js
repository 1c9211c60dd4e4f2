"use strict";
const $ = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text, never markup. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const KEY = "bankml-key";
const storedKey = () => sessionStorage.getItem(KEY);
let asking = null;

/** Asks the person for the server's key, once for all requests that wait for it. */
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = $("key");
    $("key-wrong").hidden = !storedKey();
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEY, $("key-input").value);
      $("key-input").value = "";
      asking = null;
      resolve();
    }, { once: true });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
  });
  return asking;
}

/** fetch with the key; a 401 asks for one and tries again. */
async function ask(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers };
    if (storedKey()) headers.Authorization = `Bearer ${storedKey()}`;
    const signal = AbortSignal.any([AbortSignal.timeout(options.patience ?? 600000), options.signal].filter(Boolean));
    const answer = await fetch(path, { ...options, headers, signal, cache: "no-store" });
    if (answer.status !== 401) return answer;
    await askForKey();
  }
}

async function askJson(path) {
  const answer = await ask(path, { patience: 10000 });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
