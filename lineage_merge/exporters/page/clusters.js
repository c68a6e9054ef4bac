"use strict";
// Grouping of datasets by folder or schema, or by DAG, so that thousands fit on the page.
lineage.clusters = (() => {
  // Maximum number of members that an opened group shows.
  const WIDEST = 40;

  function parts(model, dataset, grouping) {
    const separator = dataset.path.includes("/") ? "/" : ".";
    const folders = dataset.path
      .split(separator)
      .filter((part) => part)
      .slice(0, -1);
    const isSemantic = lineage.places.isDeclared(dataset.kind) && dataset.kind !== "exposure";
    const place = [dataset.namespace, ...(isSemantic ? [dataset.place.name] : folders)];
    if (grouping !== "dag") return { place, separator };
    const dags = dataset.dags.map((index) => model.dags[index]).join(", ");
    return { place: [dags || "no DAG", ...place], separator };
  }

  // `name` is the full name, `short` the caption of the box.
  const group = (key, name, short) => ({ key, name, short, members: [], inside: new Map(), leaves: [] });

  function tree(model, members, grouping) {
    const root = group("", "", "");
    for (const index of members) {
      const { place, separator } = parts(model, model.datasets[index], grouping);
      let at = root;
      at.members.push(index);
      for (const part of place) {
        if (!at.inside.has(part)) {
          // Folders of a file are joined to a path, database and schema to a dotted name.
          const joint = at.key.split("\n").length === (grouping === "dag" ? 2 : 1) ? "/" : separator;
          const name = at.name ? `${at.name}${joint}${part}` : part;
          at.inside.set(part, group(at.key ? `${at.key}\n${part}` : part, name, part));
        }
        at = at.inside.get(part);
        at.members.push(index);
      }
      at.leaves.push(index);
    }
    return root;
  }

  // The members of an opened group: groups, and datasets by index.
  function contents(model, opened) {
    let found = opened;
    while (!found.leaves.length && found.inside.size === 1) found = [...found.inside.values()][0];
    const all = [...found.inside.values(), ...found.leaves].map((each) =>
      typeof each === "object" && each.members.length === 1 ? each.members[0] : each,
    );
    return all.length > WIDEST ? (words(model, found, all) ?? chunks(model, found, all)) : all;
  }

  function put(into, each) {
    if (typeof each === "object") {
      into.inside.set(each.key, each);
      into.members.push(...each.members);
    } else {
      into.leaves.push(each);
      into.members.push(each);
    }
  }

  // Too many members: group by the first word of their names, as in stg_orders, stg_items.
  function words(model, parent, all) {
    const found = new Map();
    for (const each of all) {
      const called = typeof each === "object" ? each.short : model.datasets[each].name;
      const word = called.match(/^[^\d_.\-\s]+/u)?.[0] ?? "";
      if (!found.has(word)) {
        const short = word ? `${word}…` : "other";
        found.set(
          word,
          group(`${parent.key}\n\t~${word}`, [parent.name, short].filter((part) => part).join(" "), short),
        );
      }
      put(found.get(word), each);
    }
    if (found.size < 2 || found.size > WIDEST) return null;
    return [...found.values()].flatMap((each) => (each.members.length === 1 ? each.members : [each]));
  }

  // Or by ranges of the alphabet.
  function chunks(model, parent, all) {
    const called = (each) => (typeof each === "object" ? each.short : model.datasets[each].name);
    const sorted = all.toSorted((a, b) => (called(a) < called(b) ? -1 : called(a) > called(b) ? 1 : 0));
    const size = Math.max(
      Math.ceil(sorted.length / WIDEST),
      Math.min(WIDEST, Math.ceil(Math.sqrt(sorted.length))),
    );
    const found = [];
    for (let start = 0; start < sorted.length; start += size) {
      const within = sorted.slice(start, start + size);
      const first = called(within[0]);
      const last = called(within[within.length - 1]);
      const short = `${first} … ${last}`;
      const chunk = group(
        `${parent.key}\n\t${start}`,
        [parent.name, short].filter((part) => part).join(" "),
        short,
      );
      for (const each of within) put(chunk, each);
      found.push(chunk);
    }
    return found;
  }

  // Return groups and datasets that represent `members`: about `enough`, or as `opened` requires, at most `most`.
  function cut(model, members, { grouping, opened, enough, most }) {
    if (!members.length) return { shown: [], opened: [] };
    let shown = contents(model, tree(model, members, grouping));
    for (let opens = true; opens;) {
      opens = false;
      const groups = shown.filter((each) => typeof each === "object");
      groups.sort((a, b) => b.members.length - a.members.length);
      for (const each of groups) {
        const inside = contents(model, each);
        if (shown.length - 1 + inside.length <= enough) {
          shown = shown.flatMap((other) => (other === each ? inside : [other]));
          opens = true;
          break;
        }
      }
    }
    const remaining = [];
    for (const key of opened) {
      const found = shown.find((each) => typeof each === "object" && each.key === key);
      if (!found) continue;
      const inside = contents(model, found);
      if (shown.length - 1 + inside.length > most) continue;
      shown = shown.flatMap((other) => (other === found ? inside : [other]));
      remaining.push({ key, name: found.name });
    }
    return { shown, opened: remaining };
  }

  return { cut };
})();
