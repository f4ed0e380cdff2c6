// Shows above the results of the search which public names a query means: a name, its end or its
// beginning, also as JAX writes it; then the errors whose messages it quotes. `window.names` has rows
// of paths, page, first line and messages; `absent` has JAX's names that are not here, and why.

const plain = (query) => query.trim().toLowerCase().replace(/\(.*$/, "").replace(/^from | import /g, ".")
  .replace(/\s+/g, ".").replace(/^\.+/, "").replace(/\.\.+/g, ".")
  .replace(/^(jax|tinyjax|tj)\./, "").replace(/^(jnp|np)\./, "numpy.").replace(/^jsp\./, "scipy.");

function rank(path, query) {
  const name = path.toLowerCase(), last = name.split(".").pop();
  if (name === query) return 0;
  if (last === query) return 1 + name.split(".").length / 10;
  if (name.endsWith(`.${query}`)) return 2;
  if (last.startsWith(query)) return 3;
  if (query.length > 2 && name.includes(query)) return 4;
  return Infinity;
}

const numpys = ({ path }) => path.startsWith("numpy.");

function find(query, names) {
  const wanted = plain(query);
  if (!wanted) return [];
  return names
    .map(([paths, page, about]) => {
      const ranks = paths.map((path) => rank(path, wanted));
      const best = Math.min(...ranks);
      return { path: paths[ranks.indexOf(best)], page, about, best };
    })
    .filter(({ best }) => best < Infinity)
    .sort((a, b) => a.best - b.best || numpys(b) - numpys(a) || a.path.length - b.path.length)
    .slice(0, 12);
}

const words = (text) => [...new Set(text.toLowerCase().match(/\w+/g))];

function quoted(query, names) {
  const asked = words(query);
  if (asked.length < 3) return [];
  return names
    .map(([[path], page, about, messages]) => {
      const said = words(messages);
      return { path, page, about, share: asked.filter((word) => said.includes(word)).length / asked.length };
    })
    .filter(({ share }) => share > 0.6)
    .sort((a, b) => b.share - a.share)
    .slice(0, 4);
}

function show(list, query) {
  for (const { path, page, about } of [...find(query, window.names), ...quoted(query, window.names)]) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `reference/${page}.html`;
    link.textContent = path;
    item.append(link, ` ${about}`);
    list.append(item);
  }
  const why = window.absent[plain(query)];
  if (why !== undefined) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = "docs/jax_api.html";
    link.textContent = `jax.${plain(query)}`;
    item.append(link, ` is JAX's, and not here: ${why}`);
    list.append(item);
  }
  list.hidden = !list.children.length;
}

document.addEventListener("DOMContentLoaded", () => {
  const query = new URLSearchParams(location.search).get("q") ?? "";
  show(document.getElementById("names"), query);
});
