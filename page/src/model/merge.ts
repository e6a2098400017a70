/** Merges metrics and call trees of several runs: what has the same names on the way from the root is the same. */
import type { Head, Metric, UnitOfRun } from './head';

/** Maps the numbers of a run to those of the model. */
export interface Numbering {
  units: Uint32Array;
  metrics: Uint32Array;
  nodes: Uint32Array;
}

/** The merged call tree in preorder: a node with all below it is the range from its number to `ends`, exclusive. */
export interface CallTree {
  size: number;
  names: string[];
  kinds: Uint8Array;
  marked: Uint8Array;
  /** The runtime that the function belongs to (runtimes.ts), in the first run that has it. */
  runtimes: Uint8Array;
  parents: Int32Array;
  ends: Uint32Array;
  children: number[][];
  /** By node: which runs have it, one bit for each. */
  runs: Uint32Array;
}

/** A unit of the model; all but the whole run belong to one run. */
export interface ModelUnit extends UnitOfRun {
  run: number;
}

export interface Merged {
  metrics: Metric[];
  tree: CallTree;
  units: ModelUnit[];
  numberings: Numbering[];
}

interface Draft {
  name: string;
  kind: number;
  marked: boolean;
  runtime: number;
  parent: number;
  runs: number;
  children: Map<string, number>;
}

export const USER = 0;
export const MPI = 1;
export const OTHER = 2;

function draftTree(heads: readonly Head[]): { drafts: Draft[]; places: Uint32Array[] } {
  const drafts: Draft[] = [{ name: '', kind: USER, marked: false, runtime: 0, parent: -1, runs: 0,
      children: new Map() }];
  const places = heads.map((head, run) => {
    const { name, parent, kind, marked, runtime } = head.nodes, isMarked = new Set(marked);
    const of = new Uint32Array(name.length);
    drafts[0]!.runs |= 1 << run;
    for (let node = 1; node < name.length; node++) {
      const above = of[parent[node]!]!, text = head.strings[name[node]!] ?? '', flag = isMarked.has(node);
      const key = `${kind[node]}${flag ? 'm' : ''} ${text}`;
      let place = drafts[above]!.children.get(key);
      if (place === undefined) {
        place = drafts.length;
        drafts[above]!.children.set(key, place);
        drafts.push({ name: text, kind: kind[node] ?? USER, marked: flag, runtime: runtime?.[node] ?? 0, parent: above,
            runs: 0, children: new Map() });
      }
      drafts[place]!.runs |= 1 << run;
      of[node] = place;
    }
    return of;
  });
  return { drafts, places };
}

/** Numbers the drafts from the root down, children in order of arrival. No recursion: paths may be deep. */
function inPreorder(drafts: readonly Draft[]): { tree: CallTree; number: Uint32Array } {
  const size = drafts.length, number = new Uint32Array(size);
  const tree: CallTree = {
    size, names: new Array<string>(size), kinds: new Uint8Array(size), marked: new Uint8Array(size),
    runtimes: new Uint8Array(size),
    parents: new Int32Array(size).fill(-1),
    ends: new Uint32Array(size), children: Array.from({ length: size }, () => []), runs: new Uint32Array(size),
  };
  const stack = [0];
  for (let next = 0; stack.length > 0; next++) {
    const draft = stack.pop()!, of = drafts[draft]!;
    number[draft] = next;
    tree.names[next] = of.name;
    tree.kinds[next] = of.kind;
    tree.marked[next] = of.marked ? 1 : 0;
    tree.runtimes[next] = of.runtime;
    tree.runs[next] = of.runs;
    if (of.parent >= 0) {
      tree.parents[next] = number[of.parent]!;
      tree.children[number[of.parent]!]!.push(next);
    }
    stack.push(...[...of.children.values()].reverse());
  }
  for (let node = size - 1; node >= 0; node--) {
    const last = tree.children[node]!.at(-1);
    tree.ends[node] = last === undefined ? node + 1 : tree.ends[last]!;
  }
  return { tree, number };
}

function mergeMetrics(heads: readonly Head[]): { metrics: Metric[]; numbers: Uint32Array[] } {
  const metrics: Metric[] = [];
  const numbers = heads.map((head) => {
    const of = new Uint32Array(head.metrics.length);
    head.metrics.forEach((metric, i) => {
      const parent = metric.parent < 0 ? -1 : of[metric.parent]!;
      let at = metrics.findIndex((known) => known.name === metric.name && known.parent === parent);
      if (at < 0) at = metrics.push({ ...metric, parent }) - 1;
      of[i] = at;
    });
    return of;
  });
  return { metrics, numbers };
}

export function merge(heads: readonly Head[]): Merged {
  const { drafts, places } = draftTree(heads), { tree, number } = inPreorder(drafts),
      { metrics, numbers } = mergeMetrics(heads);
  const units: ModelUnit[] = [];
  const numberings = heads.map((head, run) => ({
    metrics: numbers[run]!,
    nodes: places[run]!.map((draft) => number[draft]!),
    units: Uint32Array.from(head.units, (unit, i) => {
      if (i === 0 && units.length > 0) return 0;
      return units.push({ ...unit, run }) - 1;
    }),
  }));
  return { metrics, tree, units, numberings };
}
