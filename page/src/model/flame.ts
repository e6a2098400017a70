/** Boxes of flame graphs: what is called is above (below on the screen) its caller, as wide as its part of the value.
 * */
import type { Model } from './model';
import { span, type Span } from './span';
import type { Values } from './values';

export interface Box {
  name: string;
  kind: string;
  depth: number;
  /** Parts of the width. */
  x: number;
  width: number;
  value: number;
  nodes: readonly number[];
}

interface Group {
  name: string;
  kind: number;
  value: number;
  nodes: number[];
}

const KINDS = ['user', 'mpi', 'other'];

/** Children of several nodes at once, by name, the largest first. */
function childrenOf(model: Model, nodes: readonly number[], valueOf: (node: number) => number): Group[] {
  const groups = new Map<string, Group>(), { tree } = model;
  for (const node of nodes) {
    for (const child of tree.children[node]!) {
      const value = valueOf(child), key = `${tree.kinds[child]} ${tree.names[child]}`, group = groups.get(key);
      if (!(value > 0)) continue;
      if (group) {
        group.value += value;
        group.nodes.push(child);
      } else groups.set(key, { name: tree.names[child]!, kind: tree.kinds[child]!, value, nodes: [child] });
    }
  }
  return [...groups.values()].sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));
}

/** Below these nodes; boxes narrower than `least` of the width are left out. */
export function flameOf(model: Model, values: Values, units: readonly number[], roots: readonly number[],
    least: number): Box[] {
  const spansOf = (node: number): Span[] => units.map((unit) => span(node, model.tree.ends[node]!, unit));
  const valueOf = (node: number): number => values.of(spansOf(node));
  const total = roots.reduce((sum, node) => sum + valueOf(node), 0), boxes: Box[] = [];
  if (!(total > 0)) return boxes;
  const stack: { nodes: readonly number[]; x: number; depth: number }[] = [{ nodes: roots, x: 0, depth: 0 }];
  while (stack.length > 0) {
    const { nodes, x, depth } = stack.pop()!;
    let at = x;
    for (const group of childrenOf(model, nodes, valueOf)) {
      const width = group.value / total;
      if (width < least) continue;
      boxes.push({ name: group.name, kind: KINDS[group.kind] ?? 'user', depth, x: at, width, value: group.value,
          nodes: group.nodes });
      stack.push({ nodes: group.nodes, x: at, depth: depth + 1 });
      at += width;
    }
  }
  return boxes;
}

/** The other way round: who calls the function, each with the part of its time, inclusive, that is spent when called
 * from there. */
export function callersOf(model: Model, values: Values, units: readonly number[], nodes: readonly number[],
    least: number): Box[] {
  const { tree } = model, boxes: Box[] = [];
  const valueOf = (node: number): number => values.of(units.map((unit) => span(node, tree.ends[node]!, unit)));
  const all = nodes.map((node) => ({ value: valueOf(node), at: tree.parents[node]! }));
  const pairs = all.filter((pair) => pair.value > 0);
  const total = pairs.reduce((sum, pair) => sum + pair.value, 0);
  const stack = [{ pairs, x: 0, depth: 0 }];
  while (stack.length > 0) {
    const { pairs: all, x, depth } = stack.pop()!, groups = new Map<string, typeof pairs>();
    for (const pair of all) {
      if (pair.at <= 0) continue;
      const key = `${tree.kinds[pair.at]} ${tree.names[pair.at]}`, group = groups.get(key);
      if (group) group.push(pair);
      else groups.set(key, [pair]);
    }
    let at = x;
    const sumOf = (group: typeof pairs): number => group.reduce((sum, pair) => sum + pair.value, 0);
    for (const group of [...groups.values()].sort((a, b) => sumOf(b) - sumOf(a))) {
      const value = sumOf(group), width = value / total, node = group[0]!.at;
      if (width < least) continue;
      boxes.push({ name: tree.names[node]!, kind: KINDS[tree.kinds[node]!] ?? 'user', depth, x: at, width, value,
          nodes: group.map((pair) => pair.at) });
      stack.push({ pairs: group.map((pair) => ({ value: pair.value, at: tree.parents[pair.at]! })), x: at, depth: depth
          + 1 });
      at += width;
    }
  }
  return boxes;
}

/** Nodes of a function that are not below another one of it: recursion counts once. */
export function outermost(model: Model, name: string, kind: number): number[] {
  const { tree } = model, found: number[] = [];
  for (let node = 1; node < tree.size;) {
    if (tree.names[node] === name && tree.kinds[node] === kind) {
      found.push(node);
      node = tree.ends[node]!;
    } else node++;
  }
  return found;
}

/** Part of the width that these boxes cover: a box within another one of them adds nothing. */
export function coveredBy(boxes: readonly Box[]): number {
  const sorted = [...boxes].sort((a, b) => a.x - b.x || b.width - a.width);
  let sum = 0, end = 0;
  for (const box of sorted) {
    if (box.x + box.width <= end + 1e-12) continue;
    sum += box.width;
    end = box.x + box.width;
  }
  return sum;
}
