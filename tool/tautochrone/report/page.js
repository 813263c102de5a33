"use strict";
const root = document.documentElement;

// Every failure is said on the page, so that a half-drawn report is never taken for a whole one.
window.addEventListener("error", (event) => {
  const place = document.getElementById("failure");
  place.hidden = false;
  place.textContent = "This report could not be drawn completely: " + event.message;
});

function whenClicked(selector, act) {
  for (const one of document.querySelectorAll(selector)) {
    one.addEventListener("click", () => act(one));
  }
}

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

whenClicked("#theme", () => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = (root.dataset.theme || (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
});
whenClicked("button[data-csv]", (button) => {
  const text = document.getElementById("csv-" + button.dataset.csv).textContent;
  save(button.dataset.csv + ".csv", "text/csv", text);
});
// The figure next to the button, with its style: it is a file of its own.
whenClicked("button[data-svg]", (button) => {
  const drawn = button.closest("figure, section").querySelector("svg").cloneNode(true);
  const style = document.createElementNS(drawn.namespaceURI, "style");
  const rules = [...document.styleSheets[0].cssRules].map((rule) => rule.cssText);
  style.textContent = rules.filter((text) => text.startsWith(".figure ")).join("\n");
  drawn.prepend(style);
  save(button.dataset.svg + ".svg", "image/svg+xml", new XMLSerializer().serializeToString(drawn));
});
// A series of the legend hides and shows.
whenClicked(".key", (key) => {
  const same = `[data-series="${key.dataset.series}"]`;
  for (const one of key.closest("svg").querySelectorAll(same)) { one.classList.toggle("off"); }
});
document.body.dataset.drawn = String(
  [...document.querySelectorAll("main section")].filter((one) => one.querySelector("svg")).length);
