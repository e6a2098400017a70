/** The call tree in its three forms: as it is, by function, and from functions to their callers. */
import { letterOf } from './compare';
import { itemOf, type Item } from './items';
import { MPI, OTHER } from './merge';
import type { Model } from './model';
import { span, union, without, type Span } from './span';

export type CallForm = 'tree' | 'flat' | 'callers';

const kinds: Record<number, string> = { [MPI]: 'mpi', [OTHER]: 'other' };

function kindOf(model: Model, node: number): string {
  return model.tree.marked[node] ? 'marked' : kinds[model.tree.kinds[node]!] ?? 'user';
}

/** Which runs have one of these call paths; empty: all runs. */
export function noteOf(model: Model, nodes: readonly number[]): string {
  const having = model.runs.map((_, run) => run).filter((run) => nodes.some((node) =>
      model.tree.runs[node]! >> run & 1));
  return having.length === model.runs.length ? '' : `only in ${having.map(letterOf).join(', ')}`;
}

function spansIn(units: readonly number[], begin: number, end: number): Span[] {
  return units.map((unit) => span(begin, end, unit));
}

/** Classes of the loop that a node marks, or its single iterations, in the first run only: other runs have their
 * own. */
function unitsOfLoop(model: Model, node: number, kind: 'class' | 'iteration'): number[] {
  const { first } = model;
  const isOfLoop = (loop: number): boolean => {
    const of = first.head.loops[loop];
    return of !== undefined && first.numbering.nodes[of.node] === node;
  };
  return model.units.flatMap((unit, number) =>
      unit.kind === kind && unit.has_values && unit.run === first.index && isOfLoop(unit.loop) ? [number] : []);
}

/** `byClass`: below a loop are its classes of iterations instead of its call paths. Together they make up the whole
 * loop, so an open loop has nothing of its own. Single iterations follow, which show a part of a class again. */
function callPaths(model: Model, parts: readonly number[], byClass: boolean): Item[] {
  const { tree } = model, isWhole = byClass && parts.length === 1 && parts[0] === 0;
  const unitsBelow = (node: number, kind: 'class' | 'iteration'): number[] =>
      isWhole ? unitsOfLoop(model, node, kind) : [];
  const unitItem = (parent: Item | null, node: number, unit: number, isPart: boolean): Item => {
    const whole = [span(node, tree.ends[node]!, unit)];
    return itemOf(parent, {
      key: `c${unit}:${node}:class`, name: model.units[unit]!.name, kind: isPart ? 'part' : 'class',
      note: isPart ? 'part of a class' : `${model.units[unit]!.count} iterations`,
      own: [span(node, node + 1, unit)], whole, below: (item) => itemsBelow(item, node, [unit]),
    });
  };
  const itemsBelow = (parent: Item | null, node: number, units: readonly number[]): Item[] => {
    const isOfRun = units[0] === 0, classes = isOfRun ? unitsBelow(node, 'class') : [];
    if (classes.length > 0) {
      return [...classes.map((unit) => unitItem(parent, node, unit, false)),
        ...unitsBelow(node, 'iteration').map((unit) => unitItem(parent, node, unit, true))];
    }
    return tree.children[node]!.map((child) => itemOf(parent, {
      key: `c${units.join('+')}:${child}`, name: tree.names[child]!, kind: kindOf(model, child),
      note: noteOf(model, [child]),
      own: isOfRun && unitsBelow(child, 'class').length > 0 ? [] : spansIn(units, child, child + 1),
      whole: spansIn(units, child, tree.ends[child]!),
      below: (item) => itemsBelow(item, child, units),
    }));
  };
  return itemsBelow(null, 0, parts);
}

/** Nodes by name and kind of their function. */
function nodesByFunction(model: Model): Map<string, number[]> {
  const functions = new Map<string, number[]>();
  for (let node = 1; node < model.tree.size; node++) {
    const key = `${kindOf(model, node)} ${model.tree.names[node]}`, nodes = functions.get(key);
    if (nodes) nodes.push(node);
    else functions.set(key, [node]);
  }
  return functions;
}

/** A function that calls itself counts once. */
function functions(model: Model, parts: readonly number[]): Item[] {
  const { tree } = model;
  return [...nodesByFunction(model).values()].map((nodes) => {
    const first = nodes[0]!, key = `f${parts.join('+')}:${first}`;
    const own = union(nodes.flatMap((node) => spansIn(parts, node, node + 1)));
    const whole = union(nodes.flatMap((node) => spansIn(parts, node, tree.ends[node]!)));
    const rest = without(whole, own);
    return itemOf(null, {
      key, name: tree.names[first]!, kind: kindOf(model, first), note: noteOf(model, nodes), own, whole,
      below: (item) => rest.length === 0 ? []
          : [itemOf(item, { key: `${key}:calls`, name: 'what it calls', kind: 'calls', own: rest, whole: rest })],
    });
  });
}

/** From each function up: below it are its callers, each with the part of the function's own time that is spent when
 * called from there. */
function callers(model: Model, parts: readonly number[]): Item[] {
  const { tree } = model;
  /** `pairs`: a node of the function, and the caller reached on the way up from it. */
  const below = (parent: Item, key: string, pairs: readonly (readonly [number, number])[]): Item[] => {
    const groups = new Map<string, [number, number][]>();
    for (const [node, at] of pairs) {
      const caller = tree.parents[at]!;
      if (caller <= 0) continue;
      const name = `${kindOf(model, caller)} ${tree.names[caller]}`, group = groups.get(name);
      if (group) group.push([node, caller]);
      else groups.set(name, [[node, caller]]);
    }
    return [...groups.values()].map((group) => {
      const caller = group[0]![1], whole = union(group.flatMap(([node]) => spansIn(parts, node, node + 1)));
      const ends = group.filter(([, at]) => tree.parents[at]! <= 0).flatMap(([node]) => spansIn(parts, node, node + 1));
      const own = `${key}<${caller}`;
      return itemOf(parent, {
        key: own, name: tree.names[caller]!, kind: kindOf(model, caller), own: union(ends), whole,
        below: (item) => below(item, own, group),
      });
    });
  };
  return [...nodesByFunction(model).values()].map((nodes) => {
    const first = nodes[0]!, key = `r${parts.join('+')}:${first}`;
    const spans = (of: readonly number[]): Span[] => union(of.flatMap((node) => spansIn(parts, node, node + 1)));
    return itemOf(null, {
      key, name: tree.names[first]!, kind: kindOf(model, first), note: noteOf(model, nodes), whole: spans(nodes),
      own: spans(nodes.filter((node) => tree.parents[node]! <= 0)),
      below: (item) => below(item, key, nodes.map((node) => [node, node] as const)),
    });
  });
}

/** `parts`: the units that are shown; 0 alone is the whole run. */
export function callTree(model: Model, parts: readonly number[], form: CallForm, byClass: boolean): Item[] {
  if (form === 'flat') return functions(model, parts);
  return form === 'callers' ? callers(model, parts) : callPaths(model, parts, byClass);
}

/** Key of a node in the form `tree`. */
export function keyOfNode(parts: readonly number[], node: number): string {
  return `c${parts.join('+')}:${node}`;
}

/** Names from the root to a node. */
export function pathOfNode(model: Model, node: number): string[] {
  const names: string[] = [];
  for (let at = node; at > 0; at = model.tree.parents[at]!) names.unshift(model.tree.names[at]!);
  return names;
}
