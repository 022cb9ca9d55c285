// Suggests the rows whose names contain what is typed, in every text field that names an address to search.
// Without it such a field suggests the first rows and takes any name.
(() => {
    "use strict";
    const WAIT = 150;

    const attach = (field) => {
        const list = document.getElementById(field.getAttribute("list"));
        let timer = 0;
        let latest = 0;
        const search = async () => {
            const mine = ++latest;
            const address = `${field.dataset.search}?q=${encodeURIComponent(field.value)}`;
            const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
            if (answer === null || !answer.ok || mine !== latest) return;
            const { names, notes } = await answer.json();
            list.replaceChildren(...names.map((name) => new Option(notes[name] ?? "", name)));
        };
        field.addEventListener("input", () => {
            clearTimeout(timer);
            timer = setTimeout(search, WAIT);
        });
    };
    document.querySelectorAll("input[data-search]").forEach(attach);
})();
