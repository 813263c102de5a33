"use strict";
// Tells what a reader of a framed report cannot see; test_report_page.py makes the frames.
const faults = [];

function inside(inner, outer) {
  return inner.left >= outer.left - 1 && inner.right <= outer.right + 1 &&
    inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1;
}

function apart(a, b) {
  return a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
}

function examine(name, page) {
  const tell = (fault) => faults.push(`${name}: ${fault}`);
  const root = page.documentElement;
  if (root.scrollWidth > root.clientWidth) { tell(`scrolls to ${root.scrollWidth} pixels`); }
  const figures = [...page.querySelectorAll("svg")].filter((one) => one.getClientRects().length);
  if (figures.length < page.querySelectorAll("main section:has(svg)").length) { tell("lacks a figure"); }
  for (const figure of figures) {
    const outer = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
    if (texts.length < 2) { tell("a figure without text"); }
    texts.forEach(([text, box], place) => {
      if (!inside(box, outer)) { tell(`${text} is outside of its figure`); }
      for (const [other, its] of texts.slice(place + 1)) {
        if (!apart(box, its)) { tell(`${text} overlaps ${other}`); }
      }
    });
  }
  const light = (color) => Math.max(...color.match(/\d+/g).slice(0, 3)) > 127;
  const look = page.defaultView.getComputedStyle(page.body);
  const isDark = name.endsWith("dark");
  if (light(look.backgroundColor) === isDark || light(look.color) !== isDark) { tell("another scheme"); }
}

window.addEventListener("load", () => {
  for (const frame of document.querySelectorAll("iframe")) { examine(frame.name, frame.contentDocument); }
  document.body.dataset.faults = JSON.stringify(faults);
});
