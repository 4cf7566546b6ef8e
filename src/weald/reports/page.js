"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Sections become tabs (pattern of the ARIA practices: arrows move, Home and End jump).
  const sections = all("[data-tab]");
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Parts of the report");
  const tabs = sections.map((section) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.id = `tab-${section.id}`;
    tab.textContent = section.dataset.tab;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", section.id);
    section.setAttribute("role", "tabpanel");
    section.setAttribute("aria-labelledby", tab.id);
    section.tabIndex = 0;
    list.append(tab);
    return tab;
  });
  const show = (chosen, focus) => {
    sections.forEach((section, i) => {
      section.hidden = i !== chosen;
      tabs[i].setAttribute("aria-selected", String(i === chosen));
      tabs[i].tabIndex = i === chosen ? 0 : -1;
    });
    if (focus) tabs[chosen].focus();
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => {
      show(i, false);
      // Pages within a notebook have no address of their own.
      if (location.protocol !== "about:") history.replaceState(null, "", `#${sections[i].id}`);
    });
    tab.addEventListener("keydown", (event) => {
      const n = tabs.length;
      const to = { ArrowRight: (i + 1) % n, ArrowLeft: (i + n - 1) % n, Home: 0, End: n - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(to, true);
    });
  });
  sections[0].before(list);
  const wanted = () => Math.max(0, sections.findIndex((section) => `#${section.id}` === location.hash));
  show(wanted(), false);
  addEventListener("hashchange", () => show(wanted(), false));

  // One of several panels, chosen from a list.
  all("[data-chooses]").forEach((select) => {
    const name = select.dataset.chooses;
    const panels = all(`[data-choice="${name}"]`);
    const says = all(`[data-says="${name}"]`)[0];
    const choose = (index, aloud) => {
      select.value = String(index);
      panels.forEach((panel, i) => { panel.hidden = i !== index; });
      if (aloud) says.textContent = `${select.options[index].text} is shown`;
    };
    select.addEventListener("change", () => choose(Number(select.value), true));
    all(`[data-step][data-of="${name}"]`).forEach((button) => {
      button.addEventListener("click", () => {
        choose((Number(select.value) + Number(button.dataset.step) + panels.length) % panels.length, true);
      });
    });
    choose(0, false);
  });

  // Trees are opened and closed as a whole.
  all("[data-open]").forEach((button) => {
    button.addEventListener("click", () => {
      const open = button.dataset.open === "true";
      all("details", button.closest("[data-tree]")).forEach((one) => { one.open = open; });
    });
  });

  document.documentElement.classList.add("scripted");
})();
