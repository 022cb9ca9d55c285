// Keeps the progress of an open transfer page current. Without it the page says how far the transfer is
// when it is loaded. When the transfer stops moving, the page is loaded once more for what can be done then.
(() => {
    "use strict";
    const SECONDS = 2;
    const panel = document.getElementById("progress");
    const part = (role) => panel.querySelector(`[data-role="${role}"]`);
    const isTyping = () => [...document.querySelectorAll(".dn-act textarea, .dn-act input[type=text]")].some((field) => field.value);

    const look = async () => {
        let state;
        try {
            const answer = await fetch(panel.dataset.url, { headers: { Accept: "application/json" } });
            if (!answer.ok) throw new Error(String(answer.status));
            state = await answer.json();
        } catch {
            part("summary").textContent = "Cannot reach dnsadmin; trying again.";
            setTimeout(look, SECONDS * 5000);
            return;
        }
        part("bar").value = state.percent;
        part("summary").textContent = state.summary;
        part("badge").firstElementChild.textContent = state.label;
        if (state.is_moving) {
            setTimeout(look, SECONDS * 1000);
        } else if (isTyping()) {
            part("summary").textContent = `${state.summary} Reload the page for what can be done now.`;
        } else {
            location.reload();
        }
    };
    setTimeout(look, SECONDS * 1000);
})();
