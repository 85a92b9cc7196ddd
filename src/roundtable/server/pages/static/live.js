// Follows a session while it runs. Texts of agents are shown here only as text nodes; the server renders the rest.

import { localize } from "./pages.js";

const table = document.getElementById("live");
const news = document.getElementById("news");
const FINAL_EVENTS = new Set(["debate_complete", "conversation_complete", "error"]);
const RELOAD_EVENTS = new Set([
  ...FINAL_EVENTS, "agent_complete", "agent_error", "initiator_complete", "round_start", "consensus", "round_complete",
  "context_requested", "exit", "control", "synthesis_complete", "approval_requested", "approval_decided",
]);
const KEPT_CHARS = "\n\t\u200c\u200d";
let source = null;
let last = table.dataset.after;
let reloadTimer = 0;
let failures = 0;
let lastLoad = Promise.resolve();

/** Remove characters that hide or reorder the text around them, like the server. */
const plain = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (char) => (KEPT_CHARS.includes(char) ? char : ""));

/** Return the readable text of an incomplete answer, since models write answers as JSON. */
const readableText = (text) => {
  if (!/^\s*(```|\{)/.test(text)) return text;
  const matches = [...text.matchAll(/"(?:position|reasoning|goal|strategy|text|choice)"\s*:\s*"((?:[^"\\]|\\.)*)/g)];
  return matches.map((match) => match[1].replace(/\\n/g, "\n").replace(/\\(.)/g, "$1")).join("\n\n");
};

const showNews = (text) => { news.textContent = plain(text); };

const seat = (id) => [...table.querySelectorAll("[data-agent]")].find((element) => element.dataset.agent === id);

/** Show the state of an agent's turn; `words` null clears its text. */
const show = (id, state, { words = undefined, tool = undefined, busy = false } = {}) => {
  const element = seat(id);
  if (!element) return;
  element.classList.toggle("busy", busy);
  element.querySelector("[data-state]").textContent = state;
  for (const [name, text] of [["words", words], ["tool", tool]]) {
    if (text === undefined) continue;
    const line = element.querySelector(`[data-${name}]`);
    line.textContent = text === null ? "" : plain(text);
    line.hidden = !line.textContent;
  }
};

const textByAgent = new Map();

const write = (id, chunk) => {
  textByAgent.set(id, (textByAgent.get(id) ?? "") + chunk);
  show(id, "is writing", { words: readableText(textByAgent.get(id)), busy: true });
};

const begin = (id) => {
  textByAgent.delete(id);
  show(id, "is thinking", { words: null, tool: null, busy: true });
};

const end = (id, state) => {
  textByAgent.delete(id);
  show(id, state, { words: null, tool: null });
};

const describeCall = (call) => {
  const args = JSON.stringify(call.args ?? call.input ?? {});
  return `uses ${call.name}(${args.length > 160 ? `${args.slice(0, 160)}…` : args})`;
};

const HANDLERS = {
  agent_start: (data) => begin(data.agent),
  initiator_start: (data) => begin(data.agent),
  summarizer_start: () => begin("summarizer"),
  agent_response_chunk: (data) => write(data.agent, data.chunk),
  summarizer_chunk: (data) => write("summarizer", data.chunk),
  agent_tool_call: (data) => show(data.agent, "is working", { tool: describeCall(data.toolCall), busy: true }),
  initiator_tool_call: (data) => show("initiator", "is working", { tool: describeCall(data.toolCall), busy: true }),
  agent_tool_result: (data) => show(data.agent, "is thinking", { busy: true }),
  approval_requested: (data) => show(data.agent, "waits for approval", { busy: true }),
  approval_decided: (data) => show(data.agent, data.allowed ? "is working" : "is thinking", { busy: true }),
  retry: (data) => show(data.agent, "is retrying", { words: null, busy: true }),
  waiting: (data) => show(data.agent, "is waiting", { busy: true }),
  agent_complete: (data) => end(data.agent, "has answered"),
  initiator_complete: () => end("initiator", "has answered"),
  conversation_complete: () => end("summarizer", "has answered"),
  agent_error: (data) => end(data.agent, "failed"),
  round_start: (data) => data.agents.forEach((id) => end(id, "has not answered yet")),
};

// Which rounds and reasons the reader has opened or closed, by position on the page; kept when the page is reloaded.
const folds = new Map();
const KEPT = `roundtable:${location.pathname}`;

const foldKey = (details) => {
  if (details.id) return details.id;
  const place = details.closest("[id]");
  return place ? `${place.id}/${[...place.querySelectorAll("details")].indexOf(details)}` : "";
};

const applyFolds = (root) => {
  for (const details of root.querySelectorAll("details:not(.menu)")) {
    const open = folds.get(foldKey(details));
    if (open !== undefined) details.open = open;
  }
};

document.addEventListener("click", (event) => {
  const details = event.target.closest?.("summary")?.parentElement;
  if (details && !details.matches(".menu")) folds.set(foldKey(details), !details.open);
});

/** Keep what a reloaded page would not know: folds, and the words of incomplete answers. */
addEventListener("pagehide", () => {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify({ folds: [...folds], words: [...textByAgent], last }));
  } catch {
    // Without session storage, a reloaded page starts without them.
  }
});

const restore = () => {
  let kept = null;
  try {
    kept = JSON.parse(sessionStorage.getItem(KEPT));
  } catch {
    return;
  }
  for (const [key, open] of kept?.folds ?? []) folds.set(key, open);
  applyFolds(document);
  // If there are later events, the answers are complete and the page shows them, so the kept words are out of date.
  if (!table.dataset.running || kept?.last !== last) return;
  for (const [id, text] of kept.words ?? []) write(id, text);
};

/** Replace a part of this page by its new rendering if they differ. */
const replacePart = (old, fresh) => {
  if (old.innerHTML === fresh.innerHTML && old.className === fresh.className) return;
  const parts = [...fresh.children];
  const olds = [...old.children];
  const isExtended = parts.length >= olds.length && olds.every((part, index) => part.id === parts[index].id);
  if (isExtended && (old.id === "report" || old.id === "rounds")) {
    parts.forEach((part, index) => (olds[index] ? replacePart(olds[index], part) : old.append(part)));
    return;
  }
  const hadFocus = old.contains(document.activeElement);
  old.replaceWith(fresh);
  if (hadFocus) (fresh.querySelector("button, a[href], summary") ?? document.getElementById("main")).focus();
};

const openApprovals = document.getElementById("approvals");
const APPROVALS_MS = 2000;
const undecidedCalls = new Set();

const announceApprovals = (items) => {
  if (items.length) showNews(items.map((item) => item.dataset.news).join(" "));
};

/** Show the tool calls that wait for approval; a reason that the reader has begun to write is kept. */
const replaceApprovals = (fresh) => {
  let hadFocus = false;
  const freshItems = new Map([...fresh.children].map((item) => [item.id, item]));
  for (const item of [...openApprovals.children]) {
    const same = freshItems.get(item.id);
    freshItems.delete(item.id);
    if (same) {
      item.elements.csrf.value = same.elements.csrf.value;
      continue;
    }
    hadFocus ||= item.contains(document.activeElement);
    item.remove();
  }
  openApprovals.append(...freshItems.values());
  if (hadFocus) (openApprovals.querySelector("input:not([type=hidden])") ?? document.getElementById("main")).focus();
  announceApprovals([...freshItems.values()]);
};

/** Ask the server which calls wait for approval: the question is stored after its event, and other people decide. */
const checkApprovals = async () => {
  if (!table.dataset.approvals || !source || document.hidden) return;
  if (!(undecidedCalls.size || openApprovals.children.length)) return;
  const response = await fetch(table.dataset.approvals, { headers: { accept: "application/json" } });
  if (!response.ok) return;
  const { approvals } = await response.json();
  const waiting = approvals.map((entry) => `approval-${entry.approvalId}`).sort().join(" ");
  const shown = [...openApprovals.children].map((item) => item.id).sort().join(" ");
  if (waiting !== shown) reloadSoon();
};

/** Keep a new link, which the server shows only once, until its links are revoked or expire. */
const keepNewLink = (fresh) => {
  const line = document.getElementById("new-link-line");
  if (line && !fresh.getElementById("new-link-line")) fresh.getElementById("links")?.prepend(fresh.importNode(line, true));
};

const applyPage = (text) => {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const live = fresh.getElementById("live");
  if (!live) return false;
  applyFolds(fresh);
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    const same = fresh.getElementById(menu.id);
    if (same) same.open = true;
  }
  localize(fresh);
  keepNewLink(fresh);
  const part = (id) => replacePart(document.getElementById(id), fresh.getElementById(id));
  document.title = fresh.title;
  part("head");
  part("actions");
  part("report");
  replaceApprovals(fresh.getElementById("approvals"));
  table.hidden = live.hidden;
  if (live.dataset.running) follow();
  return true;
};

const load = async () => {
  const response = await fetch(location.pathname, { headers: { accept: "text/html" } });
  const root = document.body.dataset.root;
  const here = encodeURIComponent(location.pathname.slice(root.length));
  if (response.redirected) location.assign(`${root}/login?next=${here}`);
  else if (response.ok) applyPage(await response.text());
};

/** Load the page again, at most a few times a second and never twice at once. */
const reloadSoon = (after_ms = 250) => {
  if (reloadTimer) return;
  reloadTimer = setTimeout(() => {
    lastLoad = lastLoad.then(() => { reloadTimer = 0; return load(); }).catch(() => {
      showNews("The server cannot be reached.");
      retryLater();
    });
  }, after_ms);
};

/** Load the page again after a delay that doubles each time. */
const retryLater = () => reloadSoon(Math.min(1000 * 2 ** failures++, 30000));

const closeStream = () => {
  source?.close();
  source = null;
};

const onMessage = (message) => {
  const { type, data } = JSON.parse(message.data);
  failures = 0;
  if (message.lastEventId) last = message.lastEventId.split(":").pop();
  HANDLERS[type]?.(data);
  if (type === "round_start") undecidedCalls.clear();
  if (type === "approval_requested") undecidedCalls.add(`${data.agent} ${data.toolCallId}`);
  if (type === "approval_decided") undecidedCalls.delete(`${data.agent} ${data.toolCallId}`);
  if (data.news) showNews(data.agent && type !== "error" ? `${seat(data.agent)?.querySelector("strong").textContent ?? data.agent} ${data.news}` : data.news);
  if (data.code === "SERVER_SHUTDOWN") return;
  if (RELOAD_EVENTS.has(type)) reloadSoon();
  if (FINAL_EVENTS.has(type)) closeStream();
};

function follow() {
  if (source) return;
  source = new EventSource(`${table.dataset.events}?after=${encodeURIComponent(last)}`);
  source.onmessage = onMessage;
  // The browser reconnects a broken stream by itself, but not a refused one.
  source.onerror = () => {
    if (source?.readyState !== EventSource.CLOSED) return;
    closeStream();
    retryLater();
  };
}

const copyLink = async () => {
  const field = document.querySelector("[data-copied]");
  if (!field) return;
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    showNews("The link is copied.");
  } catch {
    showNews("The link is ready to be copied.");
  }
};

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.action) return;
  event.preventDefault();
  try {
    const response = await fetch(form.action, {
      method: "POST", body: new URLSearchParams(new FormData(form, event.submitter)), headers: { accept: "text/html" },
    });
    const text = await response.text();
    for (const menu of document.querySelectorAll("details.menu[open]")) menu.open = false;
    if (!applyPage(text)) showNews(new DOMParser().parseFromString(text, "text/html").querySelector("main p")?.textContent ?? "");
    else if (form.dataset.action === "share") await copyLink();
  } catch {
    showNews("The server cannot be reached.");
  }
});

// Browsers open only six connections to one server, so hidden pages release theirs.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) closeStream();
  else if (!source) reloadSoon();
});

setInterval(() => {
  checkApprovals().catch(() => { /* The next check may succeed. */ });
}, APPROVALS_MS);

addEventListener("load", () => announceApprovals([...openApprovals.children]));

restore();
if (table.dataset.running) follow();
