/** Frames of runtimes (docs/explorer-format.md): successive frames of one runtime are a chain, which may be shown as
 * its first frame, the one that the program called. */
import type { CallTree } from './merge';

const names = ['', 'the interpreter', 'the OpenMP runtime', 'the MPI library', 'the C, C++ and Fortran libraries'];

/** For example "the OpenMP runtime"; empty: the program itself. */
export function runtimeName(runtime: number): string {
  return names[runtime] ?? 'a runtime';
}

/** Whether a node belongs to the chain of its caller. */
function isInside(tree: CallTree, node: number): boolean {
  const runtime = tree.runtimes[node]!;
  return runtime > 0 && tree.runtimes[tree.parents[node]!] === runtime;
}

/** First frame of the chain that a node is in; the node itself if it is in none. */
export function entryOf(tree: CallTree, node: number): number {
  let at = node;
  while (isInside(tree, at)) at = tree.parents[at]!;
  return at;
}

export interface Chain {
  /** Frames that the first ones stand for, without the first ones. */
  hidden: number[];
  /** What all these frames call outside of their runtime. */
  called: number[];
}

/** The chains behind these first frames; `isShown`: whether a frame counts. */
export function chainBelow(tree: CallTree, entries: readonly number[], isShown: (node: number) => boolean): Chain {
  const chain: Chain = { hidden: [], called: [] }, stack = [...entries].reverse();
  while (stack.length > 0) {
    for (const child of tree.children[stack.pop()!]!) {
      if (!isShown(child)) continue;
      if (!isInside(tree, child)) chain.called.push(child);
      else {
        chain.hidden.push(child);
        stack.push(child);
      }
    }
  }
  return chain;
}
