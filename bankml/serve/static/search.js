const TYPING = 60, REST = 1000, SOON = 150, LATEST = 1000, PROOF = "bankml-proof";
let given = null;

/** Every character seen and none obeyed: controls by their pictures, what turns or hides its neighbours as U+FFFD. */
function visible(text) {
  return text.replace(/\r\n/g, "\n")
    .replace(/[\x00-\x08\x0b-\x1f]/g, (control) => String.fromCharCode(0x2400 + control.charCodeAt()))
    .replace(/\x7f/g, "\u2421")
    .replace(/[\x80-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu, "\ufffd");
}

/** The text as nodes, with what lies between each two offsets marked. */
function marked(text, marks) {
  let at = 0;
  const nodes = marks.flatMap(([start, end]) => {
    const before = visible(text.slice(at, start));
    at = end;
    return [before, make("mark", {}, visible(text.slice(start, end)))];
  });
  return [...nodes, visible(text.slice(at))];
}

/** Takes a proof out of the address, where it would stay. */
function take() {
  const found = location.hash.match(/^#(history|knowledge)=([\w-]+)$/);
  if (!found) return;
  given = found[2];
  window.history.replaceState(null, "", `#${found[1]}`);
}

/**
 * What the link was exchanged for beside the cookie, which goes to every port of this host; this stays with this one.
 * Any page can link to /ui#history=x: what the address gives takes the place of what is stored once it has opened.
 */
async function proof() {
  take();
  if (given) {
    const path = Object.hasOwn(tabs, "history") ? "/history/status" : "/kb/status";
    const tried = given, answer = await fetch(path, { headers: { "X-Bankml-Proof": tried }, cache: "no-store", signal: AbortSignal.timeout(30000) });
    if (answer.ok) localStorage.setItem(PROOF, tried);
    if (given === tried && (answer.ok || [401, 403].includes(answer.status))) given = null;
  }
  return given ?? localStorage.getItem(PROOF) ?? "";
}

/** The answer to a POST; throws an Error with the server's sentence. */
async function post(path, body, signal) {
  const answer = await ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", "X-Bankml-Proof": await proof() }, patience: 30000, signal });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  const refusal = new Error(`the server answered ${answer.status}`);
  try { refusal.message = JSON.parse(text).error; } catch { /* a proxy's page */ }
  refusal.told = true;
  throw refusal;
}

function lost(tab, error) {
  show(tab, "lost", error.told ? "refused" : "no answer", error.told ? visible(error.message) : UNREACHABLE);
}

function bar(cosine) {
  const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), rect = document.createElementNS(space, "rect");
  for (const [name, value] of [["viewBox", "0 0 100 6"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
  for (const [name, value] of [["width", 100 * Math.min(1, Math.max(0, cosine))], ["height", 6]]) rect.setAttribute(name, value);
  svg.append(rect);
  return svg;
}

/** How near a hit is, and its place in each arm. */
function ranks(hit) {
  const number = make("span", { class: "number" }, `#${hit.id}`);
  if (hit.words_rank === null && hit.meaning_rank === null) return [number];
  const rank = (name, value) => make("span", {}, `${name} ${value ?? "–"}`);
  const cosine = hit.cosine === null ? null : make("span", { class: "cosine" }, bar(hit.cosine), `cosine ${hit.cosine.toFixed(3)}`);
  return [cosine, rank("words", hit.words_rank), cosine && rank("meaning", hit.meaning_rank), number].filter(Boolean);
}

/** Puts items in place of what a list holds; what had the focus keeps it if it is still there. */
function replace(list, items) {
  const focused = document.activeElement;
  list.replaceChildren(...items);
  if (focused.isConnected) focused.focus({ preventScroll: true });
}

/**
 * The tab `name`, which asks `path` for what stands in `field` as somebody types, and is worked by the keyboard.
 * `body` gives what is asked, `found` shows the answer to it; `rest`: milliseconds until it is asked again by itself.
 */
function searching(name, { path, field, hits, body, found, rest = REST }) {
  let flight = null, typed = null, soon = SOON;

  /** An answer that another question has overtaken is not even waited for. */
  async function search() {
    flight?.abort();
    const mine = flight = new AbortController(), asked = body();
    try {
      const answer = await post(path, asked, mine.signal);
      if (mine !== flight) return rest;
      if (answer.results) found(asked, answer);
      show(name, "live", "live");
      soon = answer.pending ? Math.min(1.6 * soon, LATEST) : SOON;
      return soon === SOON ? rest : soon;
    } catch (error) {
      if (mine === flight) lost(name, error);
      return rest;
    }
  }

  const work = repeated(search);

  function changed() {
    clearTimeout(typed);
    soon = SOON;
    typed = setTimeout(work.start, TYPING);
  }

  function move(step) {
    const stops = [field, ...hits.querySelectorAll(".head")];
    const at = stops.indexOf(document.activeElement);
    if (at < 0) return false;
    stops[Math.min(stops.length - 1, Math.max(0, at + step))].focus();
    return true;
  }

  function clear() {
    field.value = "";
    field.focus();
    changed();
    return true;
  }

  function find() {
    field.focus();
    field.select();
    return true;
  }

  function first() {
    const head = hits.querySelector(".head");
    head?.focus();
    head?.click();
    return head !== null;
  }

  /** Whether a key was one of this tab's. */
  function pressed(event) {
    const typing = event.target.matches("input"), command = event.ctrlKey || event.metaKey;
    if (command) return event.key.toLowerCase() === "k" && find();
    switch (event.key) {
      case "/": return !typing && find();
      case "Escape": return clear();
      case "ArrowDown": return move(1);
      case "ArrowUp": return move(-1);
      case "Enter": return event.target === field && first();
      default: return false;
    }
  }

  document.addEventListener("keydown", (event) => {
    if (current !== name || event.isComposing || event.altKey || document.querySelector("dialog[open]")) return;
    if (pressed(event)) event.preventDefault();
  });
  field.addEventListener("input", (event) => { if (!event.isComposing) changed(); });
  field.addEventListener("compositionend", changed);
  tabs[name] = {
    start() {
      work.start();
      if (!$(`tab-${name}`).contains(document.activeElement) && !document.querySelector("dialog[open]")) field.focus({ preventScroll: true });
    },
    stop() { clearTimeout(typed); work.stop(); flight?.abort(); flight = null; },
  };
  return changed;
}

take();
