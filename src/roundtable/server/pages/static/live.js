// Follows a session while it runs. What agents wrote becomes text nodes here, and is rendered by the server alone.

const table = document.getElementById("live");
const news = document.getElementById("news");
const OVER = new Set(["debate_complete", "conversation_complete", "error"]);
const RENEWED = new Set([
  ...OVER, "agent_complete", "agent_error", "initiator_complete", "round_start", "consensus", "round_complete",
  "context_requested", "exit", "control", "synthesis_complete",
]);
const SPELT = "\n\t\u200c\u200d";
let source = null;
let last = table.dataset.after;
let waiting = 0;
let failures = 0;
let asked = Promise.resolve();

/** Drop what hides or turns the text beside it, as the server does. */
const plain = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (char) => (SPELT.includes(char) ? char : ""));

/** Give what an answer says so far; models write answers as JSON. */
const spoken = (text) => {
  if (!/^\s*(```|\{)/.test(text)) return text;
  const found = [...text.matchAll(/"(?:position|reasoning|goal|strategy|text|choice)"\s*:\s*"((?:[^"\\]|\\.)*)/g)];
  return found.map((part) => part[1].replace(/\\n/g, "\n").replace(/\\(.)/g, "$1")).join("\n\n");
};

const say = (text) => { news.textContent = plain(text); };

const seat = (id) => [...table.querySelectorAll("[data-agent]")].find((one) => one.dataset.agent === id);

/** Show how an agent's turn goes; `words` null clears what it said. */
const show = (id, state, { words = undefined, tool = undefined, busy = false } = {}) => {
  const one = seat(id);
  if (!one) return;
  one.classList.toggle("busy", busy);
  one.querySelector("[data-state]").textContent = state;
  for (const [name, text] of [["words", words], ["tool", tool]]) {
    if (text === undefined) continue;
    const place = one.querySelector(`[data-${name}]`);
    place.textContent = text === null ? "" : plain(text);
    place.hidden = !place.textContent;
  }
};

const heard = new Map();

const write = (id, chunk) => {
  heard.set(id, (heard.get(id) ?? "") + chunk);
  show(id, "is writing", { words: spoken(heard.get(id)), busy: true });
};

const begin = (id) => {
  heard.delete(id);
  show(id, "is thinking", { words: null, tool: null, busy: true });
};

const end = (id, state) => {
  heard.delete(id);
  show(id, state, { words: null, tool: null });
};

const called = (call) => {
  const given = JSON.stringify(call.args ?? call.input ?? {});
  return `uses ${call.name}(${given.length > 160 ? `${given.slice(0, 160)}…` : given})`;
};

const SHOWN = {
  agent_start: (data) => begin(data.agent),
  initiator_start: (data) => begin(data.agent),
  summarizer_start: () => begin("summarizer"),
  agent_response_chunk: (data) => write(data.agent, data.chunk),
  summarizer_chunk: (data) => write("summarizer", data.chunk),
  agent_tool_call: (data) => show(data.agent, "is working", { tool: called(data.toolCall), busy: true }),
  initiator_tool_call: (data) => show("initiator", "is working", { tool: called(data.toolCall), busy: true }),
  agent_tool_result: (data) => show(data.agent, "is thinking", { busy: true }),
  retry: (data) => show(data.agent, "is asked once more", { words: null, busy: true }),
  agent_complete: (data) => end(data.agent, "has answered"),
  initiator_complete: () => end("initiator", "has answered"),
  conversation_complete: () => end("summarizer", "has answered"),
  agent_error: (data) => end(data.agent, "failed"),
  round_start: (data) => data.agents.forEach((id) => end(id, "has not answered yet")),
};

/** Put another rendering of a part of this page in the place of one that differs. */
const renew = (old, fresh) => {
  if (old.innerHTML === fresh.innerHTML) return;
  const parts = [...fresh.children];
  const olds = [...old.children];
  const grew = parts.length >= olds.length && olds.every((part, place) => part.id === parts[place].id);
  if (grew && (old.id === "report" || old.id === "rounds")) {
    parts.forEach((part, place) => (olds[place] ? renew(olds[place], part) : old.append(part)));
    return;
  }
  const had = old.contains(document.activeElement);
  if (old.tagName === "DETAILS") fresh.open = old.open;
  old.replaceWith(fresh);
  if (had) (fresh.querySelector("button, a[href], summary") ?? document.getElementById("main")).focus();
};

const take = (text) => {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const live = fresh.getElementById("live");
  if (!live) return false;
  const part = (id) => renew(document.getElementById(id), fresh.getElementById(id));
  document.title = fresh.title;
  part("head");
  part("report");
  table.hidden = live.hidden;
  if (live.dataset.running) follow();
  return true;
};

const load = async () => {
  const answer = await fetch(location.pathname, { headers: { accept: "text/html" } });
  if (answer.redirected) location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
  else if (answer.ok) take(await answer.text());
};

/** Ask for the page again, not more than a few times a second and never twice at once. */
const soon = (after_ms = 250) => {
  if (waiting) return;
  waiting = setTimeout(() => {
    asked = asked.then(() => { waiting = 0; return load(); }).catch(() => {
      say("The server cannot be reached.");
      later();
    });
  }, after_ms);
};

/** Ask again after a while, longer each time. */
const later = () => soon(Math.min(1000 * 2 ** failures++, 30000));

const leave = () => {
  source?.close();
  source = null;
};

const hear = (message) => {
  const { type, data } = JSON.parse(message.data);
  failures = 0;
  if (message.lastEventId) last = message.lastEventId.split(":").pop();
  SHOWN[type]?.(data);
  if (data.news) say(data.agent && type !== "error" ? `${seat(data.agent)?.querySelector("strong").textContent ?? data.agent} ${data.news}` : data.news);
  if (data.code === "SERVER_SHUTDOWN") return;
  if (RENEWED.has(type)) soon();
  if (OVER.has(type)) leave();
};

function follow() {
  if (source) return;
  source = new EventSource(`${table.dataset.events}?after=${encodeURIComponent(last)}`);
  source.onmessage = hear;
  // A stream that broke off is asked for again by the browser itself; one that was refused is not.
  source.onerror = () => {
    if (source?.readyState !== EventSource.CLOSED) return;
    leave();
    later();
  };
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.action) return;
  event.preventDefault();
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form)), headers: { accept: "text/html" },
    });
    const text = await answer.text();
    if (!take(text)) say(new DOMParser().parseFromString(text, "text/html").querySelector("main p")?.textContent ?? "");
  } catch {
    say("The server cannot be reached.");
  }
});

// Browsers open six connections to one server: pages that nobody looks at leave theirs to the others.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) leave();
  else if (!source) soon();
});

if (table.dataset.running) follow();
