// The script inside every flame graph that wick writes as SVG: click zooms, / or ctrl-F searches, Escape resets.
"use strict";
(() => {
  const svg = document.documentElement, width = +svg.dataset.width, letter = 7.1;
  const label = id => document.getElementById(id);
  const frames = [...svg.querySelectorAll("#frames > g")].map(g => {
    const [title, rect, text] = g.children;
    return { g, rect, text, name: title.textContent.split("\n")[0], x: +rect.getAttribute("x"), y: +rect.getAttribute("y"),
             width: +rect.getAttribute("width"), fill: rect.getAttribute("fill") };
  });
  const whole = frames[0];

  function place(frame, x, w) {
    const fits = Math.floor((w - 5) / letter), name = frame.name;
    frame.rect.setAttribute("x", x);
    frame.rect.setAttribute("width", w);
    frame.text.setAttribute("x", x + 3);
    frame.text.textContent = fits < 3 ? "" : name.length <= fits ? name : name.slice(0, fits - 1) + "…";
  }

  // What is below the chosen frame fills the picture; what called it is as wide as the picture, and faded.
  function zoom(chosen) {
    const scale = width / chosen.width, end = chosen.x + chosen.width, near = 1e-3;
    for (const frame of frames) {
      const calls = frame.y > chosen.y && frame.x <= chosen.x + near && frame.x + frame.width >= end - near;
      const inside = frame.y <= chosen.y && frame.x >= chosen.x - near && frame.x + frame.width <= end + near;
      frame.g.style.display = calls || inside ? "" : "none";
      frame.g.style.opacity = calls ? 0.5 : 1;
      if (calls)
        place(frame, 0, width);
      else if (inside)
        place(frame, (frame.x - chosen.x) * scale, frame.width * scale);
    }
    label("reset").style.display = chosen === whole ? "none" : "";
  }

  // The share that matches have together: what is below a match is not counted again.
  function search(term) {
    let test = null, sum = 0, covered = -1;
    try {
      test = term ? new RegExp(term, "i") : null;
    } catch {
      test = { test: name => name.toLowerCase().includes(term.toLowerCase()) };
    }
    const matched = frames.filter(frame => frame !== whole && test?.test(frame.name));
    for (const frame of frames)
      frame.rect.setAttribute("fill", frame.fill);
    matched.sort((a, b) => a.x - b.x || b.width - a.width);
    for (const frame of matched) {
      frame.rect.setAttribute("fill", "#d63ee8");
      if (frame.x >= covered - 1e-3) {
        sum += frame.width;
        covered = frame.x + frame.width;
      }
    }
    label("matched").textContent = term ? `matched ${(100 * sum / whole.width).toFixed(2)}%` : "";
    label("search").textContent = term ? "clear search" : "search";
  }

  function ask() {
    const term = label("search").textContent === "search" ? prompt("Names to look for (a regular expression):") : "";
    if (term !== null)
      search(term);
  }

  svg.addEventListener("click", event => {
    const g = event.target.closest?.("#frames > g");
    if (g)
      zoom(frames.find(frame => frame.g === g));
    else if (event.target.id === "search")
      ask();
    else if (event.target.id === "reset")
      zoom(whole);
  });
  addEventListener("keydown", event => {
    if (event.key === "Escape") {
      zoom(whole);
      search("");
    } else if (event.key === "/" || (event.ctrlKey && event.key === "f")) {
      event.preventDefault();
      search("");
      ask();
    }
  });
  label("search").style.display = "";
  zoom(whole);
})();
