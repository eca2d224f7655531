// Looks at a page in the browser as a person does: flaws of the layout that need no picture, and a page that shows the same
// texts in each run.

// flaws returns the flaws of the layout that a person sees at once. It runs in the page.
export function flaws() {
  const found = [], screen = document.documentElement.clientWidth;
  const isShown = (e) => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
  const named = (e) => {
    const words = e.textContent.trim().replace(/\s+/g, " ").slice(0, 40);
    return `<${e.tagName.toLowerCase()}${e.className && e.className.replace ? ` class="${e.className}"` : ""}> "${words}"`;
  };
  const inside = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getBoundingClientRect();
  };
  for (const e of document.body.querySelectorAll("*")) {
    if (!isShown(e) || e.closest("svg")?.contains(e.parentNode) || e.parentNode.closest("pre, select")) continue;
    const { overflowX, clip, position } = getComputedStyle(e), past = Math.round(e.getBoundingClientRect().right - screen);
    if (past > 1) found.push(`${named(e)} is ${past} pixels beyond the right edge`);
    if (position === "absolute" && clip !== "auto" || e.clientWidth <= 1) continue; // for screen readers only
    const hidden = e.scrollWidth - e.clientWidth;
    if (hidden > 1 && overflowX !== "visible" && !e.matches("pre, select, textarea, input, svg")) {
      found.push(`${named(e)} hides ${hidden} pixels of its content`);
    }
  }
  for (const row of document.querySelectorAll("thead tr")) {
    const heads = [...row.cells].filter((e) => isShown(e) && e.textContent.trim());
    for (const [i, head] of heads.entries()) {
      const [text, next] = [inside(head), heads[i + 1] && inside(heads[i + 1])];
      if (next && next.left - text.right < 6) found.push(`the head ${named(head)} runs into ${named(heads[i + 1])}`);
      const cell = row.closest("table").tBodies[0]?.rows[0]?.cells[head.cellIndex];
      const side = (e) => getComputedStyle(e).textAlign.replace("start", "left").replace("end", "right");
      if (cell && isShown(cell) && side(cell) !== side(head)) found.push(`${named(head)} is not aligned with its column`);
    }
  }
  return found.slice(0, 8);
}

// steady replaces what differs between two runs: times, durations, and the texts in known. It runs in the page.
export function steady(known) {
  const texts = [
    ...Object.entries(known), [/\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?/g, "2026-01-02 15:04:05"], [/\b\d\d:\d\d:\d\d\b/g, "15:04:05"],
    [/\b\d\d:\d\d(?!:)\b/g, "15:04"], [/\b(\d+(\.\d+)?)( ?)(h|m|s|ms|µs)(\d+(m|s|ms))*(?![\w])/g, "5$3ms"],
    [/\b01[0-9A-Z]{24}\b/g, "01M8K1HBBX4YHNZVK20H6FKGAT"],
  ];
  const same = (text) => texts.reduce((all, [from, to]) => all.replaceAll(from, to), text);
  for (const e of document.querySelectorAll("[data-until]")) e.textContent = "9m30s";
  for (const e of document.querySelectorAll("input, textarea")) e.value = same(e.value);
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (all.nextNode()) all.currentNode.data = same(all.currentNode.data);
}
