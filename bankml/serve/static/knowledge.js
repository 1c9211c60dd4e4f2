{
  const N = 20, EVERY_SECONDS = 3000, WAIT = 0.02;
  const cards = new Map();  // id → the card of a passage that is shown
  let shown = { query: null, version: "" };

  const asked = () => ({ query: $("kb-query").value, mode: $("kb-mode").value, path: $("kb-path").value.trim() ? [$("kb-path").value.trim()] : [], type: $("kb-type").value || null });

  /** `guide.md:12`, with the folder apart. */
  function place(hit) {
    const at = hit.path.lastIndexOf("/") + 1;
    const where = hit.line ? `:${hit.line}` : hit.page ? `, page ${hit.page}` : "";
    return { folder: visible(hit.path.slice(0, at)), name: visible(hit.path.slice(at)), where };
  }

  const crumbs = (heading) => visible(heading).replaceAll(" > ", " › ");

  /** The text from a little before its best place, so that the lines that are shown hold it. */
  function near({ text, marks, best }) {
    const space = text.indexOf(" ", best - 60);
    if (best <= 120 || space < 0 || space >= best) return marked(text, marks);
    const rest = marks.filter(([start]) => start >= space).map(([start, end]) => [start - space, end - space]);
    return ["…", ...marked(text.slice(space), rest)];
  }

  function card(hit) {
    const { folder, name, where } = place(hit);
    const head = make("button", { type: "button", class: "head", dir: "auto" }, name, make("span", { class: "place" }, where));
    const rank = make("p", { class: "ranks" });
    head.addEventListener("click", () => open(hit.id, head));
    const item = make("li", { class: "card hit" }, make("h2", {}, head),
      folder && make("p", { class: "folder", dir: "auto" }, folder),
      hit.heading && make("p", { class: "crumbs", dir: "auto" }, crumbs(hit.heading)),
      make("p", { class: "said", dir: "auto" }, ...near(hit)), rank);
    return { text: JSON.stringify([hit.path, hit.heading, hit.line, hit.text]), rank, item };
  }

  function showFound({ query }, found) {
    if (query !== shown.query) cards.clear();
    shown = { query, version: found.version };
    const items = found.results.map((hit) => {
      if (cards.get(hit.id)?.text !== JSON.stringify([hit.path, hit.heading, hit.line, hit.text])) cards.set(hit.id, card(hit));
      cards.get(hit.id).rank.replaceChildren(...ranks(hit));
      return cards.get(hit.id).item;
    });
    replace($("kb-hits"), items);
    say("kb-status", visible(found.status));
    offer(found.types);
    $("kb-none").hidden = items.length > 0 || !query.trim();
    say("kb-none", `Nothing found for “${visible(query)}”.`);
  }

  /** The types that there are, to choose from. */
  function offer(types) {
    const select = $("kb-type"), chosen = select.value;
    if ([...select.options].slice(1).map((option) => option.value).join() === types.join()) return;
    select.replaceChildren(select.options[0], ...types.map((type) => make("option", { value: type }, visible(type))));
    select.value = types.includes(chosen) ? chosen : "";
  }

  /** The source of a passage, at the passage. */
  async function open(id) {
    try {
      showSource(await post("/kb/source", { id, query: shown.query }));
    } catch (error) {
      lost("knowledge", error);
    }
  }

  function showSource(found) {
    const { folder, name, where } = place(found);
    say("source-title", name + where);
    say("source-crumbs", crumbs(found.heading));
    $("source-crumbs").hidden = !found.heading;
    say("source-note", [folder, visible(found.note)].filter(Boolean).join(" · "));
    const list = $("source-lines");
    list.classList.toggle("unnumbered", found.first_line === null);
    list.start = found.first_line ?? 1;
    list.replaceChildren(...lines(found));
    $("source").showModal();
    list.focus({ preventScroll: true });
    list.querySelector(".here")?.scrollIntoView({ block: "center" });
  }

  /** Each line of the text; the passage is `here`, and what matches is marked. */
  function lines({ text, passage: [from, to], marks }) {
    let at = 0, next = 0;
    const piece = (start, end) => {
      while (next < marks.length && marks[next][1] <= start) next += 1;
      const inside = [];
      for (let each = next; each < marks.length && marks[each][0] < end; each += 1) inside.push([Math.max(marks[each][0], start) - start, Math.min(marks[each][1], end) - start]);
      return marked(text.slice(start, end), inside);
    };
    return text.split("\n").map((line) => {
      const start = at, end = start + line.length - line.endsWith("\r"), first = Math.min(Math.max(from, start), end), last = Math.max(Math.min(to, end), first);
      at = start + line.length + 1;
      return make("li", { dir: "auto" }, ...piece(start, first), last > first ? make("span", { class: "here" }, ...piece(first, last)) : null, ...piece(last, end));
    });
  }

  const changed = searching("knowledge", {
    path: "/kb/search",
    field: $("kb-query"),
    hits: $("kb-hits"),
    body: () => ({ ...asked(), n: N, wait: WAIT, shown: shown.version }),
    found: showFound,
    rest: EVERY_SECONDS,
  });
  for (const id of ["kb-mode", "kb-path", "kb-type"]) $(id).addEventListener("input", changed);
}
