// Light or dark: as the system says, or the button; printed light.

const find = (id) => document.getElementById(id);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";

function startTheme(redraw) {
  const button = find("theme");
  function set(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    redraw();
  }
  let before;
  window.addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.querySelectorAll("details").forEach((d) => { d.open = true; });
    set("light");
  });
  window.addEventListener("afterprint", () => set(before));
  button.addEventListener("click", () => set(isDark() ? "light" : "dark"));
  dark.addEventListener("change", () => set(document.documentElement.dataset.theme));
  button.hidden = false;
  set(document.documentElement.dataset.theme);
}
