/** What the rows of a tree stand for. */
import type { Span } from './span';

/**
 * An item of a tree. When collapsed it stands for `whole`, when expanded for `own`: what none of the rows below it
 * shows (CUBE's semantics). Keys are short and stay the same for one file; they are part of the address.
 */
export interface Item {
  key: string;
  name: string;
  /** Names from the root. */
  path: string[];
  level: number;
  parent: Item | null;
  own: readonly Span[];
  whole: readonly Span[];
  kind: string;
  /** Text behind the name in the row. */
  note: string;
  children: () => readonly Item[];
}

export interface Draft {
  key: string;
  name: string;
  own: readonly Span[];
  whole: readonly Span[];
  kind?: string;
  note?: string;
  /** The name in the path, if it differs. */
  word?: string;
  below?: (item: Item) => readonly Item[];
}

/** Children are made when they are first asked for. */
export function itemOf(parent: Item | null, draft: Draft): Item {
  let below: readonly Item[] | null = null;
  const item: Item = {
    key: draft.key, name: draft.name, path: [...(parent?.path ?? []), draft.word ?? draft.name],
    level: (parent?.level ?? 0) + 1, parent,
    own: draft.own, whole: draft.whole, kind: draft.kind ?? '', note: draft.note ?? '',
    children: () => below ??= draft.below ? draft.below(item) : [],
  };
  return item;
}

/** What the item stands for. */
export function spansOf(item: Item, isExpanded: boolean): readonly Span[] {
  return isExpanded ? item.own : item.whole;
}

/** A visible row. */
export interface Row {
  item: Item;
  isExpanded: boolean;
  hasChildren: boolean;
  /** Position among its siblings, from 1 on, and their number. */
  position: number;
  siblings: number;
}

/** Rows from top to bottom. `order` may sort siblings. */
export function rowsOf(roots: readonly Item[], isExpanded: (key: string) => boolean,
  order: (siblings: readonly Item[]) => readonly Item[] = (siblings) => siblings): Row[] {
  const rows: Row[] = [];
  const stack: { siblings: readonly Item[]; next: number }[] = [{ siblings: order(roots), next: 0 }];
  while (stack.length > 0) {
    const top = stack.at(-1)!, item = top.siblings[top.next++];
    if (!item) {
      stack.pop();
      continue;
    }
    const children = item.children(), open = children.length > 0 && isExpanded(item.key);
    rows.push({ item, isExpanded: open, hasChildren: children.length > 0, position: top.next,
        siblings: top.siblings.length });
    if (open) stack.push({ siblings: order(children), next: 0 });
  }
  return rows;
}
