const EVERY = 1000, SAMPLES = 120, FOREVER = 50 * 365 * 86400;
const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const figures = { tokens: [], requests: [], memory: [] };
let last = null;

function size(bytes) {
  for (const [unit, one] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) {
    if (bytes >= one) return `${(bytes / one).toFixed(bytes / one < 10 ? 2 : bytes / one < 100 ? 1 : 0)}\u00a0${unit}`;
  }
  return `${bytes} B`;
}

function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const [d, h, m, s] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  if (d) return `${d} d ${h} h`;
  if (h) return `${h} h ${m} min`;
  if (m) return s ? `${m} min ${s} s` : `${m} min`;
  return `${s} s`;
}

function rate(value) {
  if (value === null) return "–";
  return value > 0 && value < 10 ? value.toFixed(1) : number.format(value);
}

function milliseconds(value) {
  if (value === null) return "–";
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)}\u00a0ms` : `${(value / 1000).toFixed(value < 10000 ? 2 : 1)}\u00a0s`;
}

function draw(id, values, least = 0) {
  const top = Math.max(least, ...values) || 1, step = 100 / (SAMPLES - 1), start = 100 - (values.length - 1) * step;
  const points = values.map((value, index) => `${(start + index * step).toFixed(2)} ${(29 - 28 * value / top).toFixed(2)}`);
  const line = `M${points.join("L")}`;
  const svg = $(id), space = "http://www.w3.org/2000/svg";
  const paths = [["area", `${line}V30H${start.toFixed(2)}Z`], ["line", line]].map(([name, d]) => {
    const path = document.createElementNS(space, "path");
    path.setAttribute("class", name);
    path.setAttribute("d", d);
    return path;
  });
  svg.replaceChildren(...(values.length > 1 ? paths : []));
}

function keep(list, value) {
  list.push(value);
  if (list.length > SAMPLES) list.shift();
}

/** What happened since the last answer, per second; null at first and after the server was started anew. */
function rates(stats, now) {
  const before = last;
  last = { stats, now };
  if (!before || stats.started_at !== before.stats.started_at) return { tokens: null, requests: null };
  const seconds = Math.max(stats.uptime_seconds - before.stats.uptime_seconds, 0.001);
  return { tokens: (stats.tokens - before.stats.tokens) / seconds, requests: (stats.embeddings - before.stats.embeddings) / seconds };
}

function showStats(stats) {
  const { tokens, requests } = rates(stats, performance.now());
  keep(figures.tokens, tokens ?? 0);
  keep(figures.requests, requests ?? 0);
  keep(figures.memory, stats.resident_bytes);
  say("facts", `serves ${stats.model} · version ${stats.version} · kernels ${stats.backend || "not known"} · up ${duration(stats.uptime_seconds)}`);
  say("tokens", rate(tokens));
  say("tokens-all", `${number.format(stats.tokens)} in ${number.format(stats.passes)} passes`);
  say("requests", rate(requests));
  say("requests-all", `${number.format(stats.embeddings)} with ${number.format(stats.texts)} texts`);
  say("memory", size(stats.resident_bytes));
  say("p50", milliseconds(stats.latency.p50_ms));
  say("p95", stats.latency.p50_ms === null ? "no request" : `half are faster; p95 ${milliseconds(stats.latency.p95_ms)}`);
  say("queue", number.format(stats.queue_requests));
  say("queue-under", stats.queue_tokens ? `requests, ${number.format(stats.queue_tokens)} tokens` : `requests, of ${number.format(stats.limits.max_queue_requests ?? 0)} at most`);
  say("truncated", number.format(stats.truncated));
  say("truncated-under", stats.texts ? `${(100 * stats.truncated / stats.texts).toFixed(stats.truncated ? 2 : 0)} % of all` : "none yet");
  draw("tokens-line", figures.tokens);
  draw("requests-line", figures.requests);
  draw("memory-line", figures.memory, 1.05 * Math.max(...figures.memory));
  showPairs("failures", Object.entries(stats.failures).map(([kind, count]) => [kind.replaceAll("_", " "), number.format(count)]));
  $("failures-none").hidden = Object.keys(stats.failures).length > 0;
  say("failures-none", "none since the start");
  showPairs("limits", Object.entries(stats.limits).map(([name, value]) => limit(name, value)));
}

const LIMITS = {
  max_queue_requests: "requests in flight", max_queue_tokens: "their tokens", max_body_bytes: "body of a request", max_bodies_bytes: "all bodies in flight",
  max_texts: "texts in a request", max_silence_seconds: "silence within a body", max_body_seconds: "time for a body",
  max_head_bytes: "head of a request", max_head_seconds: "time for a head", max_connections: "connections",
};

function limit(name, value) {
  const words = LIMITS[name] ?? name.replace(/_(bytes|seconds)$/, "").replaceAll("_", " ");
  if (name.endsWith("_bytes")) return [words, value && value % 2 ** 20 === 0 ? `${value / 2 ** 20} MiB` : size(value)];
  return [words, name.endsWith("_seconds") ? `${value} s` : typeof value === "number" ? number.format(value) : String(value)];
}

function showPairs(id, pairs) {
  const text = JSON.stringify(pairs);
  if ($(id).dataset.shown === text) return;
  $(id).dataset.shown = text;
  $(id).replaceChildren(...pairs.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

function expiry(model) {
  const seconds = (new Date(model.expires_at) - Date.now()) / 1000;
  if (Number.isNaN(seconds)) return "–";
  return seconds > FOREVER ? "never" : seconds > 0 ? `in ${duration(seconds)}` : "after its last request";
}

function showModels(models) {
  const cell = (name, text) => make("td", { "data-name": name }, text);
  $("models-rows").replaceChildren(...models.map((model) => make("tr", {},
    make("th", { scope: "row" }, model.name),
    cell("Weights", [model.details?.parameter_size, model.details?.quantization_level].filter(Boolean).join(" ")),
    cell("Size", size(model.size)),
    cell("Resident", Number.isFinite(model.resident) ? size(model.resident) : "–"),
    cell("Longest text", `${number.format(model.context_length)} tokens`),
    cell("Leaves memory", expiry(model)))));
  $("models").hidden = models.length === 0;
  $("models-none").hidden = models.length > 0;
  say("models-none", "none; the next request loads one");
}

tabs.server = repeated(async () => {
  try {
    const [stats, ps] = await Promise.all([askJson("/stats"), askJson("/api/ps")]);
    showStats(stats);
    showModels(ps.models);
    show("server", "live", "live");
  } catch (error) {
    show("server", "lost", "no answer", UNREACHABLE);
  }
  return EVERY;
});
