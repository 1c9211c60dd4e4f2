const UNREACHABLE = "cannot reach the server; trying again";
const tabs = {};  // name → { start, stop }, of what works while somebody sees the tab
let current = null;
const say = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };

/** The tab that does `work` again and again; `work` gives the milliseconds until the next time. */
function repeated(work) {
  let timer = null, turn = 0;
  async function loop(mine) {
    const rest = await work();
    if (mine === turn) timer = setTimeout(loop, rest, mine);
  }
  function stop() {
    turn += 1;
    clearTimeout(timer);
  }
  return { stop, start() { stop(); loop(turn); } };
}

/** What a tab tells of the server: its state in the header, and what is wrong in a sentence. */
function show(tab, state, words, sentence = "") {
  if (tab !== current || document.hidden) return;
  $("state").dataset.state = state;
  say("state", words);
  say("lost", sentence);
  $("lost").hidden = sentence === "";
  $("main").classList.toggle("stale", state === "lost");
}

/** The tab that the address names, else the one that is shown, else the first. */
function choose() {
  const named = location.hash.slice(1).split("=")[0];
  const next = Object.hasOwn(tabs, named) ? named : current ?? Object.keys(tabs)[0];
  for (const [name, tab] of Object.entries(tabs)) {
    tab.stop();
    $(`tab-${name}`).hidden = name !== next;
    $(`link-${name}`).ariaCurrent = name === next ? "page" : null;
  }
  current = next;
  if (!document.hidden) tabs[current].start();
}

addEventListener("hashchange", choose);
addEventListener("DOMContentLoaded", choose);
document.addEventListener("visibilitychange", choose);
