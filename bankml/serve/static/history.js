{
  const K = 8, TYPING = 60, REST = 1000, SOON = 150, LATEST = 1000, PROOF = "bankml-proof";
  const cards = new Map();  // id → the card of an exchange that is shown
  let flight = null, typed = null, shown = { query: null, version: "" }, soon = SOON, given = null;

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
    const found = location.hash.match(/^#history=([\w-]+)$/);
    if (!found) return;
    given = found[1];
    window.history.replaceState(null, "", "#history");
  }

  /**
   * What the link was exchanged for beside the cookie, which goes to every port of this host; this stays with this one.
   * Any page can link to /ui#history=x: what the address gives takes the place of what is stored once it has opened.
   */
  async function proof() {
    take();
    if (given) {
      const tried = given, answer = await fetch("/history/status", { headers: { "X-Bankml-Proof": tried }, cache: "no-store", signal: AbortSignal.timeout(30000) });
      if (answer.ok) localStorage.setItem(PROOF, tried);
      if (given === tried && (answer.ok || [401, 403].includes(answer.status))) given = null;
    }
    return given ?? localStorage.getItem(PROOF) ?? "";
  }

  /** The answer to a POST; throws an Error with the server's sentence. */
  async function post(path, body, signal) {
    const answer = await ask(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json", "X-Bankml-Proof": await proof() }, patience: 30000, signal });
    const text = await answer.text();
    if (answer.ok) return text;
    const refusal = new Error(`the server answered ${answer.status}`);
    try { refusal.message = JSON.parse(text).error; } catch { /* a proxy's page */ }
    refusal.told = true;
    throw refusal;
  }

  function lost(error) {
    show("history", "lost", error.told ? "refused" : "no answer", error.told ? visible(error.message) : UNREACHABLE);
  }

  function bar(cosine) {
    const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg"), rect = document.createElementNS(space, "rect");
    for (const [name, value] of [["viewBox", "0 0 100 6"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) svg.setAttribute(name, value);
    for (const [name, value] of [["width", 100 * Math.min(1, Math.max(0, cosine))], ["height", 6]]) rect.setAttribute(name, value);
    svg.append(rect);
    return svg;
  }

  function ranks(hit) {
    const number = make("span", { class: "number" }, `#${hit.id}`);
    if (hit.words_rank === null && hit.meaning_rank === null) return [number];
    const rank = (name, value) => make("span", {}, `${name} ${value ?? "–"}`);
    const cosine = hit.cosine === null ? null : make("span", { class: "cosine" }, bar(hit.cosine), `cosine ${hit.cosine.toFixed(3)}`);
    return [cosine, rank("words", hit.words_rank), cosine && rank("meaning", hit.meaning_rank), number].filter(Boolean);
  }

  function card(hit) {
    const head = make("button", { type: "button", class: "head", dir: "auto", "aria-expanded": "false" }, ...marked(hit.user || "(nothing was asked)", hit.user_marks));
    const said = make("p", { class: "said", dir: "auto" }, ...marked(hit.assistant, hit.assistant_marks));
    const all = make("div", { id: `all-${hit.id}`, hidden: true });
    const rank = make("p", { class: "ranks" });
    head.setAttribute("aria-controls", all.id);
    head.addEventListener("click", () => toggle(made));
    const made = { id: hit.id, text: JSON.stringify([hit.user, hit.assistant]), user: hit.user, head, said, all, rank, item: make("li", { class: "card hit" }, make("h2", {}, head), said, all, rank) };
    return made;
  }

  /** All of an exchange in place of its excerpts, or those again. */
  async function toggle(card) {
    const open = card.head.getAttribute("aria-expanded") !== "true";
    if (open && !card.all.childElementCount) {
      try {
        const whole = JSON.parse(await post("/history/exchange", { id: card.id, query: shown.query }));
        const part = (kind, text, marks) => make("p", { class: `whole ${kind}`, dir: "auto", tabindex: "0" }, ...marked(text, marks));
        card.all.replaceChildren(part("answered", whole.assistant, whole.assistant_marks));
        if (whole.user !== card.user) card.all.prepend(part("asked", whole.user, whole.user_marks));
        if (whole.cut) card.all.append(make("p", { class: "soft" }, "The rest is too long for a page; it is in the file."));
      } catch (error) {
        return lost(error);
      }
    }
    card.head.setAttribute("aria-expanded", open);
    card.all.hidden = !open;
    card.said.hidden = open;
  }

  function showFound(query, found) {
    if (query !== shown.query) cards.clear();
    shown = { query, version: found.version };
    const focused = document.activeElement;
    const items = found.results.map((hit) => {
      if (cards.get(hit.id)?.text !== JSON.stringify([hit.user, hit.assistant])) cards.set(hit.id, card(hit));
      cards.get(hit.id).rank.replaceChildren(...ranks(hit));
      return cards.get(hit.id).item;
    });
    $("hits").replaceChildren(...items);
    if (focused.isConnected) focused.focus({ preventScroll: true });
    say("history-title", visible(found.file));
    say("history-status", visible(found.status));
    $("hits-none").hidden = items.length > 0;
    say("hits-none", query.trim() ? `Nothing found for “${visible(query)}”.` : "There is no exchange in this history yet.");
  }

  /** Asks for what stands in the field; an answer that another question has overtaken is not even waited for. */
  async function search() {
    flight?.abort();
    const mine = flight = new AbortController(), query = $("query").value;
    try {
      const found = JSON.parse(await post("/history/search", { query, k: K, shown: shown.version }, mine.signal));
      if (mine !== flight) return REST;
      if (found.results) showFound(query, found);
      show("history", "live", "live");
      soon = found.pending ? Math.min(1.6 * soon, LATEST) : SOON;
      return soon === SOON ? REST : soon;
    } catch (error) {
      if (mine === flight) lost(error);
      return REST;
    }
  }

  function changed() {
    clearTimeout(typed);
    soon = SOON;
    typed = setTimeout(work.start, TYPING);
  }

  function move(step) {
    const stops = [$("query"), ...$("hits").querySelectorAll(".head")];
    const at = stops.indexOf(document.activeElement);
    if (at < 0) return false;
    stops[Math.min(stops.length - 1, Math.max(0, at + step))].focus();
    return true;
  }

  function clear() {
    $("query").value = "";
    $("query").focus();
    changed();
    return true;
  }

  function find() {
    $("query").focus();
    $("query").select();
    return true;
  }

  function first() {
    const head = $("hits").querySelector(".head");
    head?.focus();
    head?.click();
    return head !== null;
  }

  /** Whether a key was one of this tab's. */
  function pressed(event) {
    const typing = event.target === $("query"), command = event.ctrlKey || event.metaKey;
    if (command) return event.key.toLowerCase() === "k" && find();
    switch (event.key) {
      case "/": return !typing && find();
      case "Escape": return clear();
      case "ArrowDown": return move(1);
      case "ArrowUp": return move(-1);
      case "Enter": return typing && first();
      default: return false;
    }
  }

  document.addEventListener("keydown", (event) => {
    if (current !== "history" || event.isComposing || event.altKey || $("key").open) return;
    if (pressed(event)) event.preventDefault();
  });
  $("query").addEventListener("input", (event) => { if (!event.isComposing) changed(); });
  $("query").addEventListener("compositionend", changed);
  take();
  const work = repeated(search);
  tabs.history = {
    start() {
      work.start();
      if (!$("tab-history").contains(document.activeElement) && !$("key").open) $("query").focus({ preventScroll: true });
    },
    stop() { clearTimeout(typed); work.stop(); flight?.abort(); flight = null; },
  };
}
