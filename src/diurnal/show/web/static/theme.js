"use strict";
// Light or dark: as the system says, unless somebody has chosen. Runs before anything is shown.
(() => {
  const root = document.documentElement, NAME = "diurnal-colours";
  const kept = () => { try { return localStorage.getItem(NAME) || ""; } catch { return ""; } };
  const keep = (value) => { try { localStorage.setItem(NAME, value); } catch { /* Then it holds for this page. */ } };

  function dress(value) {
    if (value) root.dataset.theme = value; else delete root.dataset.theme;
  }

  dress(kept());
  addEventListener("DOMContentLoaded", () => {
    const choice = document.getElementById("theme");
    choice.value = kept();
    choice.addEventListener("change", () => {
      keep(choice.value);
      dress(choice.value);
      if (typeof drawing !== "undefined") drawing.recolour();
    });
  });
})();
