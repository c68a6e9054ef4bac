"use strict";
// Loads shards. They are scripts beside the page, because browsers fetch no files of a disk.
lineage.shards = (() => {
  // Of the data of datasets, which is nearly all, the shards that were used last stay in memory.
  const MOST_DATA = 60;

  let about = null;
  const known = new Map(); // promises of contents by file
  const waiting = new Map(); // what takes the content of a file that is being loaded
  const numbers = new Map(); // of datasets, by id

  /** `described`: the part `shards` of the page's data. */
  function start(described) {
    about = described;
  }

  const fileOf = (folder, kind, number) => `${folder}/${kind}-${number}.js`;

  /** Take the content of a shard: this is what shards call. */
  function receive(folder, kind, number, content) {
    waiting.get(fileOf(folder, kind, number))?.(content);
  }

  function request(file) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const end = (finish, result) => {
        waiting.delete(file);
        script.remove();
        finish(result);
      };
      const fail = () => waiting.has(file) && end(reject, new Error(`${file} could not be loaded`));
      waiting.set(file, (content) => end(resolve, content));
      script.addEventListener("error", fail);
      // A file that is cut or has other content ran without handing anything over.
      script.addEventListener("load", fail);
      script.src = file;
      document.head.append(script);
    });
  }

  function forget() {
    const data = [...known.keys()].filter((file) => file.startsWith(`${about.folder}/data-`));
    for (const file of data.slice(0, Math.max(0, data.length - MOST_DATA))) known.delete(file);
  }

  /** Return the content of a shard. Raises an error with the name of its file. */
  function load(kind, number) {
    const file = fileOf(about.folder, kind, number);
    const found = known.get(file) ?? request(file);
    known.delete(file);
    known.set(file, found);
    forget();
    return found.catch((error) => {
      known.delete(file);
      throw error;
    });
  }

  /** Return rows of a list that is cut into shards, by their numbers. */
  async function pick(kind, numbers) {
    const size = about.rows[kind];
    const shardOf = (number) => Math.floor(number / size);
    const wanted = [...new Set(numbers.map(shardOf))];
    const contents = await Promise.all(wanted.map((shard) => load(kind, shard)));
    const found = new Map(wanted.map((shard, at) => [shard, contents[at]]));
    return numbers.map((number) => found.get(shardOf(number))[number % size]);
  }

  const slice = (kind, first, count) => pick(kind, Array.from({ length: count }, (_, at) => first + at));

  // The last one that starts at the number or before.
  function shardOf(number) {
    let [low, high] = [0, about.starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (about.starts[middle] <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Return the data of these datasets: [{first, content}]. */
  function data(numbers) {
    const wanted = [...new Set(numbers.map(shardOf))];
    return Promise.all(wanted.map(async (shard) => ({ first: about.starts[shard], content: await load("data", shard) })));
  }

  /** Return the row of a dataset in the page's data. */
  async function dataset(number) {
    const [{ first, content }] = await data([number]);
    const found = content.datasets[number - first];
    numbers.set(found.id, number);
    return found;
  }

  /** Load what the lineage of a dataset begins with; what fails is reported when it is needed. */
  function expect(number) {
    dataset(number).catch(() => {});
    pick("walk", [number]).catch(() => {});
  }

  // CRC-32 as of zlib.
  function checksum(text) {
    let sum = -1;
    for (const byte of new TextEncoder().encode(text)) {
      sum ^= byte;
      for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
    }
    return (sum ^ -1) >>> 0;
  }

  /** Return the number of a dataset; null: the page has none of this id. */
  async function numberOf(id) {
    if (numbers.has(id)) return numbers.get(id);
    const sum = checksum(id);
    const rows = await load("id", sum % about.ids);
    for (const [other, number] of rows) if (other === sum && (await dataset(number)).id === id) return number;
    return null;
  }

  return { start, receive, load, pick, slice, data, dataset, expect, numberOf };
})();
