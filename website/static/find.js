// Shows above the results of the search which public names and which sections of pages a query means.
// A name is found by itself, its end or its beginning, also as JAX or another library writes it, and an
// error by its message. Sections are ranked by their words (`rankSections`). `window.names` has rows of
// paths, page, first line and messages; `absent` JAX's names that are not here, and why; `sections` rows
// of address, title, heading, weight and words (website/finding.py).

const STOP = new Set(("a an and are as at be by can do does for from get has have how i in inside into is it its my " +
  "not of on one or so that the there this to under use used using what when which why with without you your jax tinyjax").split(" "));

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
  const typed = plain(query), aliases = globalThis.window?.aliases ?? {};
  const wanted = aliases[typed] ?? typed;
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

const words = (text) => [...new Set(text.toLowerCase().match(/\w+/g) ?? [])];

function quoted(query, names) {
  const asked = words(query).filter((word) => !STOP.has(word));
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

const stem = (word) => (word.includes(".") || word.length < 5 ? word : word.replace(/(ies|ing|ed|es|s|e|y)$/, ""));

// The words of a query: names in code, such as jnp.where, and their last parts; the others by their stems.
function terms(query, synonyms) {
  const found = new Map();
  const add = (word, weight) => {
    const last = stem(word);
    if (!STOP.has(word)) found.set(last, Math.max(found.get(last) ?? 0, weight));
  };
  for (const word of query.toLowerCase().match(/[a-z_][\w]*(?:\.[a-z_]\w*)*|\d+/g) ?? []) {
    const others = (Object.hasOwn(synonyms, word) ? synonyms[word] : "").split(" ").filter(Boolean);
    add(word, others.length ? 0.5 : 1);
    if (word.includes(".")) add(word.split(".").pop(), 0.7);
    for (const other of others) add(other, 1);
  }
  return found;
}

const prepared = new WeakMap();

function prepare(sections) {
  if (!prepared.has(sections)) {
    const stems = (text) => new Set((text.toLowerCase().match(/[a-z_][\w]*(?:\.[a-z_]\w*)*|\d+/g) ?? []).map(stem));
    const rows = sections.map(([address, title, heading, weight, words]) =>
      ({ address, title, heading, weight, inTitle: stems(title), inHeading: stems(heading), inText: stems(words) }));
    const counts = new Map();
    for (const { inText, inHeading } of rows) for (const word of new Set([...inText, ...inHeading])) counts.set(word, (counts.get(word) ?? 0) + 1);
    prepared.set(sections, { rows, counts });
  }
  return prepared.get(sections);
}

// Ranks sections: rare words count more, words of headings and titles more than those of the text, and
// sections that have all words of the query most.
function rankSections(query, sections, synonyms) {
  const asked = terms(query, synonyms), { rows, counts } = prepare(sections);
  const whole = [...asked.values()].reduce((a, b) => a + b, 0);
  if (!whole) return [];
  const scored = rows.map((row) => {
    let score = 0, covered = 0;
    for (const [word, weight] of asked) {
      const where = row.inHeading.has(word) ? 5 : row.inTitle.has(word) ? 3 : row.inText.has(word) ? 1 : 0;
      if (where) covered += weight;
      score += weight * where * Math.log(1 + rows.length / (1 + (counts.get(word) ?? 0)));
    }
    return { ...row, score: score * row.weight * (0.3 + covered / whole) / (1 + row.inHeading.size / 12) };
  });
  const best = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
  const pages = new Set();
  return best.filter(({ address }) => {
    const page = address.replace(/#.*/, "");
    return !pages.has(page) && pages.add(page);
  }).slice(0, 6);
}

// The answers to a query in their order: a name that is meant comes before pages, others after them.
function answers(query, { names, sections, synonyms, aliases }) {
  const found = find(query, names), typed = plain(query);
  const meant = found.filter(({ best }) => best < 2 || Object.hasOwn(aliases, typed)).slice(0, 1);
  const page = (row) => ({ text: row.heading === row.title ? row.title : `${row.title}: ${row.heading}`, link: row.address, about: "", kind: "page" });
  const name = ({ path, page: at, about }) => ({ text: path, link: `reference/${at}.html`, about, kind: "name" });
  const first = /^[\w.()]+$/.test(query.trim().replace(/^from .* import /, "")) ? meant : [];
  const errors = quoted(query, names), joined = query.trim().replace(/\s+/g, "_");
  if (joined !== query.trim()) first.push(...find(joined, names).filter(({ best }) => best < 2).slice(0, 1)); // fixed point
  const others = found.filter((row) => !first.includes(row));
  const whole = errors.filter(({ share }) => share === 1); // the query is from the message
  const partly = errors.filter(({ share }) => share < 1);
  const shown = [...whole, ...first, ...rankSections(query, sections, synonyms), ...others, ...partly];
  const rows = shown.map((row) => (row.address === undefined ? name(row) : page(row)));
  return rows.filter(({ link }, i) => rows.findIndex((row) => row.link === link) === i);
}

// Of the theme's results one for each page, and none that stands above.
function once(results, shown) {
  const seen = new Set(shown), kept = [];
  for (const result of [...results].reverse()) { // the best is the last
    if (!seen.has(result[0])) kept.push(result);
    seen.add(result[0]);
  }
  return kept.reverse();
}

function show(list, query) {
  for (const { text, link, about, kind } of answers(query, window)) {
    const item = document.createElement("li"), anchor = document.createElement("a");
    item.className = `found-${kind}`;
    anchor.href = link;
    anchor.textContent = text;
    item.append(anchor, ` ${about}`);
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

if (typeof document !== "undefined") {
  if (typeof Search !== "undefined" && Search._performSearch) {
    const perform = Search._performSearch;
    Search._performSearch = (...args) => {
      const query = new URLSearchParams(location.search).get("q") ?? "";
      const shown = answers(query, window).map(({ link }) => link.replace(/\.html.*/, ""));
      return once(perform.apply(Search, args), shown);
    };
  }
  document.addEventListener("DOMContentLoaded", () => {
    const query = new URLSearchParams(location.search).get("q") ?? "";
    show(document.getElementById("names"), query);
  });
}
