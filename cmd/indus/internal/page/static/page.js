// Keeps the page live: after an event, the parts with data-live are fetched again and replaced. Without this script, the
// page works by links and forms.
"use strict";

const regions = () => [...document.querySelectorAll("[data-live][id]")];
const topicsOf = (region) => region.dataset.live.split(" ");

// isEdited reports whether the visitor types, selects or confirms something in a region. Such a region waits.
function isEdited(region) {
  const active = document.activeElement;
  const picked = document.getSelection();
  return region.contains(active) && active.matches("input, select, textarea") ||
    region.querySelector("[data-asked]") ||
    picked && !picked.isCollapsed && region.contains(picked.anchorNode);
}

// finder returns a function that finds an element again after its region was replaced: by the nearest id, and by its
// number there.
function finder(element) {
  const [near, tag] = [element.closest("[id]"), element.tagName];
  const index = [...near.querySelectorAll(tag)].indexOf(element);
  return () => {
    const other = document.getElementById(near.id);
    return index < 0 ? other : other?.querySelectorAll(tag)[index];
  };
}

// typedIn returns the fields of a region that a visitor has filled.
const typedIn = (region) => [...region.querySelectorAll("input[id], textarea[id]")].filter((e) => e.value !== e.defaultValue);

// replace puts the new content into a region. The focus, typed text, open details and the scrolling of tables stay.
function replace(region, fresh) {
  if (!fresh.dataset.live) delete region.dataset.live; // such as a form that has just come
  if (region.innerHTML === fresh.innerHTML) return;
  const focused = region.contains(document.activeElement) ? finder(document.activeElement) : null;
  const open = [...region.querySelectorAll("details[open][id]")].map((d) => d.id);
  const scrolled = [...region.querySelectorAll(".wide, pre")].filter((e) => e.scrollLeft || e.scrollTop)
    .map((e) => [finder(e), { left: e.scrollLeft, top: e.scrollTop }]);
  const typed = typedIn(region);
  region.replaceChildren(...fresh.childNodes);
  for (const field of typed) {
    const other = document.getElementById(field.id);
    if (other) other.value = field.value;
  }
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [find, place] of scrolled) find()?.scrollTo(place);
  focused?.()?.focus({ preventScroll: true });
  if (focused && document.activeElement === document.body) document.getElementById("main").focus({ preventScroll: true });
}

// A caller could time its requests so that another button comes under the pointer of a person who is about to press
// one. For a moment after a button has come or moved, a pointer thus presses it only where it was before.
const settling = 700; // milliseconds
const moved = new Map(); // the ids of these buttons, with the place before and the time of the last move

// places returns where each button is.
const places = () => new Map([...document.querySelectorAll("button[id]")].map((b) => [b.id, b.getBoundingClientRect()]));

const isSettled = (move, time) => time - move.time > settling;

// noteMoves compares the places of the buttons with those before a change.
function noteMoves(before) {
  const time = performance.now();
  for (const [id, move] of moved) if (isSettled(move, time)) moved.delete(id);
  for (const [id, now] of places()) {
    const place = before.get(id);
    if (place && ["left", "top", "width", "height"].every((side) => place[side] === now[side])) continue;
    moved.set(id, { place: moved.has(id) ? moved.get(id).place : place, time });
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[id]"), move = moved.get(button?.id);
  if (!move || event.detail === 0 || isSettled(move, event.timeStamp)) return; // 0: by the keyboard
  const { left, right, top, bottom } = move.place ?? {};
  const [x, y] = [event.clientX, event.clientY];
  if (x >= left && x <= right && y >= top && y <= bottom) return;
  event.preventDefault();
  event.stopPropagation();
  document.getElementById("connection").textContent = "The page has just changed: look again, and press again";
}, true);

const stale = new Set(); // the ids of regions that have changed
let fetching = false;

function markStale(isChanged) {
  for (const region of regions()) if (isChanged(region)) stale.add(region.id);
}

async function refresh() {
  const due = regions().filter((r) => stale.has(r.id) && !isEdited(r));
  if (fetching || document.hidden && !notifies() || due.length === 0) return;
  fetching = true;
  for (const region of due) stale.delete(region.id);
  try {
    const answer = await fetch(document.body.dataset.address ?? location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
    if (answer.status === 403) return location.reload();
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.title = fresh.title;
    const before = places();
    for (const region of due) {
      const other = fresh.getElementById(region.id);
      if (isEdited(region)) stale.add(region.id);
      else if (other) replace(region, document.adoptNode(other));
    }
    noteMoves(before);
  } catch {
    for (const region of due) stale.add(region.id);
    return; // the next event tries again
  } finally {
    fetching = false;
  }
  notify();
  refresh(); // what has changed meanwhile
}

// Notifications: a visitor who has asked for them in this browser gets one when another call or tool waits while the page
// is in the background. Only one tab of the browser watches then, and all remember together what was shown.
let watches = false;
const canNotify = "Notification" in window && "locks" in navigator;
const notifies = () => canNotify && Notification.permission === "granted" && localStorage.getItem("indus-notify") === "yes";

function notify() {
  if (!notifies()) return;
  const split = (text) => (text ?? "").split(" ").filter((id) => id !== "");
  const waiting = split(document.querySelector("#sections [data-waits]")?.dataset.waits);
  const seen = split(localStorage.getItem("indus-seen")), fresh = waiting.filter((id) => !seen.includes(id));
  localStorage.setItem("indus-seen", [...seen, ...fresh].slice(-2000).join(" "));
  if (document.hidden && fresh.length > 0) {
    const text = `${waiting.length} ${waiting.length === 1 ? "waits" : "wait"} for you`;
    try {
      const shown = new Notification("indus: " + text, { tag: "indus" });
      shown.onclick = () => { window.focus(); location.assign("/"); };
    } catch { // some phones let only an installed page notify
      localStorage.removeItem("indus-notify");
    }
  }
}

function offerNotifications(follow) {
  const button = document.getElementById("notify");
  if (!button || !canNotify || Notification.permission === "denied") return;
  const show = () => { button.textContent = notifies() ? "Stop notifications" : "Notify me when something waits"; };
  button.hidden = false;
  button.addEventListener("click", async () => {
    const on = !notifies() && await Notification.requestPermission() === "granted";
    localStorage.setItem("indus-notify", on ? "yes" : "no");
    notify();
    show();
    keepWatch();
  });
  const keepWatch = () => {
    if (!notifies() || watches) return;
    navigator.locks.request("indus-notify", () => { // held until the tab closes, or the visitor stops notifications
      watches = true;
      follow();
      return new Promise((end) => button.addEventListener("click", () => { watches = notifies(); if (!watches) end(); }));
    });
  };
  show();
  keepWatch();
}

// connect reads events while the page is visible: all tabs together have only six connections to a host.
function connect() {
  const line = document.getElementById("connection");
  if (!line || regions().length === 0) return;
  let source = null;
  const follow = () => {
    if (!document.hidden) notify();
    if (document.hidden && !watches) {
      source?.close();
      source = null;
    } else if (!source) {
      source = new EventSource("/events");
      source.onopen = () => {
        line.textContent = "Live";
        markStale(() => true); // nothing is known about the time before
        refresh();
      };
      source.onerror = () => {
        line.textContent = "Not connected: this page shows the state of " + new Date().toLocaleTimeString();
      };
      source.onmessage = (event) => {
        const topics = event.data.split(" ");
        line.textContent = "Live";
        markStale((region) => topicsOf(region).some((topic) => topics.includes(topic)));
        refresh();
      };
    }
  };
  follow();
  offerNotifications(follow);
  document.addEventListener("visibilitychange", follow);
  document.addEventListener("focusout", () => setTimeout(refresh));
}

// Elements with data-until show the time that is left until then. The last minute is marked.
setInterval(() => {
  for (const part of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.round((Date.parse(part.dataset.until) - Date.now()) / 1000));
    const [hours, minutes] = [Math.floor(left / 3600), Math.floor(left / 60) % 60];
    part.textContent = (hours ? hours + "h" : "") + (left >= 60 ? minutes + "m" : "") + left % 60 + "s";
    part.classList.toggle("soon", left < 60 && part.closest(".urgent") !== null);
  }
}, 1000);

// Fields with data-submit send their form when they change, such as the choice of a view. By the keyboard each arrow
// changes them: the button after them sends them then.
let byKeyboard = false;
document.addEventListener("keydown", () => { byKeyboard = true; });
document.addEventListener("pointerdown", () => { byKeyboard = false; });
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]") && !byKeyboard) event.target.form.requestSubmit();
});

// After a form was sent, the focus is at its result, so that a keyboard goes on from there.
document.addEventListener("submit", () => sessionStorage.setItem("indus-sent", byKeyboard ? "keyboard" : "pointer"));
const sent = sessionStorage.getItem("indus-sent");
sessionStorage.removeItem("indus-sent");
if (sent) {
  const find = (selector) => document.querySelector(selector);
  const result = find("#problem:not(:empty)") ?? find("#result") ?? find("#notice:not(:empty)");
  if (result) result.focus();
  else if (sent === "keyboard") (find("main .wide") ?? find("main")).focus({ preventScroll: true });
}

// Buttons with data-copy copy the text of the element with that id. Without TLS, browsers of other machines do not let a
// page copy: then the text is selected.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent);
    button.textContent = "Copied";
  } catch {
    document.getSelection().selectAllChildren(source);
    button.textContent = "Selected: copy it";
  }
});

// Buttons with data-ask need a second click within 10 seconds.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-ask]");
  if (!button || button.dataset.asked) return;
  event.preventDefault();
  const [text, label] = [button.textContent, button.getAttribute("aria-label")];
  button.dataset.asked = "yes";
  button.textContent = button.dataset.ask;
  button.removeAttribute("aria-label");
  setTimeout(() => {
    delete button.dataset.asked;
    button.textContent = text;
    if (label) button.setAttribute("aria-label", label);
    refresh();
  }, 10_000);
});

connect();
