"use strict";
// Counts the times on the page, and takes the parts that have changed from a
// fresh copy of it: the server alone knows how a state is shown.
(() => {
  const every = 2000;
  let skew = 0, tag = "", answered = Date.now();

  const now = () => Date.now() - skew;
  const learn = (main) => { skew = Date.now() - Date.parse(main.dataset.now); };

  // As the server writes it: a countdown rounds up.
  const minutes = (ms, up) => {
    const s = Math.max(0, up ? Math.ceil(ms / 1000) : Math.floor(ms / 1000));
    const two = (n) => String(n).padStart(2, "0");
    const m = Math.floor(s / 60);
    return s < 3600 ? m + ":" + two(s % 60) : Math.floor(m / 60) + ":" + two(m % 60) + ":" + two(s % 60);
  };

  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };

  const count = () => {
    for (const e of document.querySelectorAll("[data-until]")) {
      const left = Date.parse(e.dataset.until) - now();
      put(e, left > 0 ? minutes(left, true) : e.dataset.over);
    }
    for (const e of document.querySelectorAll("[data-since]")) put(e, minutes(now() - Date.parse(e.dataset.since), false));
    const first = document.querySelector(".left [data-until]");
    const headline = document.getElementById("headline").textContent;
    document.title = (first ? first.textContent + " " : "") + headline + " – " + document.querySelector("h1").textContent;
    const silent = Date.now() - answered;
    const lost = silent > 3 * every;
    document.body.classList.toggle("lost", lost);
    put(document.getElementById("fresh"), lost
      ? "no answer for " + minutes(silent, false) + "; trying again"
      : "as of " + new Date(now()).toISOString().slice(11, 19) + " UTC");
  };

  // What is being read or copied is left alone.
  const selected = () => !document.getSelection().isCollapsed;

  const parts = (main) => [...main.querySelectorAll("[data-part]")];

  const show = (fresh) => {
    const main = document.querySelector("main"), next = fresh.querySelector("main");
    learn(next);
    const headline = fresh.getElementById("headline");
    put(document.getElementById("headline"), headline.textContent);
    document.getElementById("headline").className = headline.className;
    const old = parts(main), changed = parts(next);
    if (old.length !== changed.length || old.some((e, i) => e.id !== changed[i].id)) {
      main.replaceChildren(...next.childNodes);
    } else {
      old.forEach((e, i) => { if (e.outerHTML !== changed[i].outerHTML) e.replaceWith(changed[i]); });
    }
  };

  const refresh = async () => {
    if (document.hidden) { answered = Date.now(); return; }
    try {
      const reply = await fetch(location.href, {
        headers: { "Accept": "text/html", "If-None-Match": tag }, cache: "no-store",
        redirect: "error", signal: AbortSignal.timeout(2 * every),
      });
      if (reply.status === 200 && !selected()) {
        show(new DOMParser().parseFromString(await reply.text(), "text/html"));
        tag = reply.headers.get("ETag") || "";
      } else if (reply.status !== 200 && reply.status !== 304) {
        return;
      }
      answered = Date.now();
    } catch { /* the page says how long there was no answer */ }
  };

  const loop = async () => { await refresh(); count(); setTimeout(loop, every); };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh().then(count); });
  learn(document.querySelector("main"));
  setInterval(count, 250);
  count();
  setTimeout(loop, every);
})();
