/** Boxes of flame graphs: a callee is above its caller (below on the screen), as wide as its part of the value. */
import type { Model } from './model';
import { chainBelow, entryOf, runtimeName } from './runtimes';
import { span, type Span } from './span';
import type { Values } from './values';

export interface Box {
  name: string;
  kind: string;
  depth: number;
  /** Fractions of the width. */
  x: number;
  width: number;
  value: number;
  nodes: readonly number[];
  /** For the first frame of a runtime's chain: names of the other functions that the box stands for. */
  hidden: readonly string[];
  /** The runtime of the hidden functions, for example "the OpenMP runtime". */
  runtime: string;
}

/** First frames of chains of runtimes that are shown frame by frame; if 0 is among them, all are. */
export type OpenChains = ReadonlySet<number>;

interface Group {
  name: string;
  kind: number;
  value: number;
  nodes: number[];
}

const KINDS = ['user', 'mpi', 'other'];

/** Nodes grouped by name, the largest group first. */
function groupsOf(model: Model, nodes: readonly number[], valueOf: (node: number) => number): Group[] {
  const groups = new Map<string, Group>(), { tree } = model;
  for (const node of nodes) {
    const value = valueOf(node), key = `${tree.kinds[node]} ${tree.names[node]}`, group = groups.get(key);
    if (!(value > 0)) continue;
    if (group) {
      group.value += value;
      group.nodes.push(node);
    } else groups.set(key, { name: tree.names[node]!, kind: tree.kinds[node]!, value, nodes: [node] });
  }
  return [...groups.values()].sort((a, b) => b.value - a.value || a.name.localeCompare(b.name));
}

/** The names of hidden frames, and of their runtime. */
function hiddenOf({ tree }: Model, nodes: readonly number[]): Pick<Box, 'hidden' | 'runtime'> {
  return { hidden: [...new Set(nodes.map((node) => tree.names[node]!))],
    runtime: nodes.length > 0 ? runtimeName(tree.runtimes[nodes[0]!]!) : '' };
}

/** Boxes below these nodes; those narrower than `least` of the width are left out. */
export function flameOf(model: Model, values: Values, units: readonly number[], roots: readonly number[],
    least: number, open: OpenChains = new Set()): Box[] {
  const spansOf = (node: number): Span[] => units.map((unit) => span(node, model.tree.ends[node]!, unit));
  const valueOf = (node: number): number => values.of(spansOf(node));
  const total = roots.reduce((sum, node) => sum + valueOf(node), 0), boxes: Box[] = [];
  if (!(total > 0)) return boxes;
  const { tree } = model, childrenOf = (nodes: readonly number[]): number[] =>
      nodes.flatMap((node) => tree.children[node]!);
  const isFolded = (node: number): boolean => !open.has(0) && !open.has(node) && tree.runtimes[node]! > 0
      && entryOf(tree, node) === node;
  const stack: { nodes: readonly number[]; x: number; depth: number }[] = [{ nodes: childrenOf(roots), x: 0,
      depth: 0 }];
  while (stack.length > 0) {
    const { nodes, x, depth } = stack.pop()!;
    let at = x;
    for (const group of groupsOf(model, nodes, valueOf)) {
      const width = group.value / total;
      if (width < least) continue;
      const { hidden, called } = chainBelow(tree, group.nodes.filter(isFolded), (node) => valueOf(node) > 0);
      boxes.push({ name: group.name, kind: KINDS[group.kind] ?? 'user', depth, x: at, width, value: group.value,
          nodes: group.nodes, ...hiddenOf(model, hidden) });
      stack.push({ nodes: [...called, ...childrenOf(group.nodes.filter((node) => !isFolded(node)))], x: at,
          depth: depth + 1 });
      at += width;
    }
  }
  return boxes;
}

/** The inverse: the callers of a function, each with the part of the function's inclusive time that is spent when
 * called from there. */
export function callersOf(model: Model, values: Values, units: readonly number[], nodes: readonly number[],
    least: number, open: OpenChains = new Set()): Box[] {
  const { tree } = model, boxes: Box[] = [];
  const valueOf = (node: number): number => values.of(units.map((unit) => span(node, tree.ends[node]!, unit)));
  /** The caller of a node; if it is in a folded chain, the chain's first frame, which stands for the others. */
  const above = (node: number, value: number): { value: number; at: number; hidden: number[] } => {
    const caller = tree.parents[node]!, entry = caller > 0 ? entryOf(tree, caller) : caller, hidden: number[] = [];
    if (open.has(0) || open.has(entry)) return { value, at: caller, hidden };
    for (let frame = caller; frame !== entry; frame = tree.parents[frame]!) hidden.push(frame);
    return { value, at: entry, hidden };
  };
  const pairs = nodes.map((node) => above(node, valueOf(node))).filter((pair) => pair.value > 0);
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
          nodes: group.map((pair) => pair.at), ...hiddenOf(model, group.flatMap((pair) => pair.hidden)) });
      stack.push({ pairs: group.map((pair) => above(pair.at, pair.value)), x: at, depth: depth + 1 });
      at += width;
    }
  }
  return boxes;
}

/** Nodes of a function that are not below another node of it: recursion counts once. */
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

/** Fraction of the width that these boxes cover: a box within another one adds nothing. */
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
