{
  const K = 8;
  const cards = new Map();  // id → the card of an exchange that is shown
  let shown = { query: null, version: "" };

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
        const whole = await post("/history/exchange", { id: card.id, query: shown.query });
        const part = (kind, text, marks) => make("p", { class: `whole ${kind}`, dir: "auto", tabindex: "0" }, ...marked(text, marks));
        card.all.replaceChildren(part("answered", whole.assistant, whole.assistant_marks));
        if (whole.user !== card.user) card.all.prepend(part("asked", whole.user, whole.user_marks));
        if (whole.cut) card.all.append(make("p", { class: "soft" }, "The rest is too long for a page; it is in the file."));
      } catch (error) {
        return lost("history", error);
      }
    }
    card.head.setAttribute("aria-expanded", open);
    card.all.hidden = !open;
    card.said.hidden = open;
  }

  function showFound({ query }, found) {
    if (query !== shown.query) cards.clear();
    shown = { query, version: found.version };
    const items = found.results.map((hit) => {
      if (cards.get(hit.id)?.text !== JSON.stringify([hit.user, hit.assistant])) cards.set(hit.id, card(hit));
      cards.get(hit.id).rank.replaceChildren(...ranks(hit));
      return cards.get(hit.id).item;
    });
    replace($("hits"), items);
    say("history-title", visible(found.file));
    say("history-status", visible(found.status));
    $("hits-none").hidden = items.length > 0;
    say("hits-none", query.trim() ? `Nothing found for “${visible(query)}”.` : "There is no exchange in this history yet.");
  }

  searching("history", {
    path: "/history/search",
    field: $("query"),
    hits: $("hits"),
    body: () => ({ query: $("query").value, k: K, shown: shown.version }),
    found: showFound,
  });
}
