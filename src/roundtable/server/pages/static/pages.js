// Functions of every page: local times, copying, Ctrl+Enter, and a list that updates itself. Pages work without them.

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

const elapsed = (seconds) => (seconds < 60 ? `${seconds} s` : seconds < 3600
  ? `${Math.floor(seconds / 60)} min ${seconds % 60} s` : `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`);

/** Show times in the reader's own time zone, and how long something has been running. */
export const localize = (root = document) => {
  for (const element of root.querySelectorAll("time[datetime]")) {
    element.title = element.title || element.textContent;
    element.textContent = TIME.format(new Date(element.dateTime));
  }
  for (const element of root.querySelectorAll("[data-since]")) {
    element.textContent = `begun ${elapsed(Math.max(0, Math.floor((Date.now() - Date.parse(element.dataset.since)) / 1000)))} ago`;
  }
  for (const element of root.querySelectorAll("[data-copy][hidden]")) element.hidden = !navigator.clipboard;
};

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(new URL(button.dataset.copy, location.href).href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copying is not allowed";
  }
  setTimeout(() => { button.textContent = words; }, 2000);
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && "submits" in event.target.dataset) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
  if (event.key === "Escape") {
    const menu = event.target.closest?.("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
});

// Only one menu is open at a time.
document.addEventListener("toggle", (event) => {
  if (!event.target.matches?.("details.menu[open]")) return;
  for (const other of document.querySelectorAll("details.menu[open]")) if (other !== event.target) other.open = false;
}, true);

const renewList = async () => {
  const list = document.querySelector("[data-refresh]");
  if (!list || document.hidden || list.contains(document.activeElement)) return;
  const response = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!response.ok || response.redirected) return;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").querySelector("[data-refresh]");
  if (!fresh) return;
  localize(fresh);
  if (fresh.innerHTML !== list.innerHTML) list.replaceWith(fresh);
};

localize();
const list = document.querySelector("[data-refresh]");
// If the server cannot be reached now, the next update tries again.
if (list) setInterval(() => renewList().catch(() => undefined), 1000 * Number(list.dataset.refresh));
setInterval(() => {
  const open = document.querySelectorAll("[data-since]");
  if (open.length) localize(document.getElementById("head") ?? document);
}, 1000);
