"use strict";
const root = document.documentElement;
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");

// Every failure is said on the page, so that a half-drawn report is never taken for a whole one.
window.addEventListener("error", (event) => {
  const place = document.getElementById("failure");
  place.hidden = false;
  place.textContent = "This report could not be drawn completely: " + event.message;
});

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
}

// Bokeh draws on canvas, where style sheets do not reach: give its models the page's ink.
function paint() {
  const ink = getComputedStyle(root).getPropertyValue("--ink").trim();
  const names = ["axis_label_text_color", "major_label_text_color", "axis_line_color",
    "major_tick_line_color", "label_text_color", "grid_line_color"];
  for (const drawn of Bokeh.documents) {
    for (const model of drawn._all_models.values()) {
      for (const name of names) {
        if (name in model.properties) { model[name] = ink; }
      }
      if (model.type === "Title" || model.type === "LabelSet") { model.text_color = ink; }
    }
  }
}

document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  paint();
});
prefersDark.addEventListener("change", paint);

for (const button of document.querySelectorAll("button[data-csv]")) {
  button.addEventListener("click", () => {
    const text = document.getElementById("csv-" + button.dataset.csv).textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
    link.download = button.dataset.csv + ".csv";
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

function whenDrawn() {
  const expected = document.querySelectorAll("main div[data-root-id]").length;
  const drawn = typeof Bokeh === "undefined" ? [] : Bokeh.documents;
  const done = drawn.length > 0 && drawn.every((one) => one.is_idle);
  if (expected > 0 && !done) {
    setTimeout(whenDrawn, 20);
    return;
  }
  if (drawn.length > 0) { paint(); }
  document.body.dataset.drawn = String(expected);
}
whenDrawn();
