/** CUBE's value modes: how the rows of a tree show their values. The reference value lies in a tree to the left, or in
 * the tree itself. */
import { letterOf } from './compare';
import { type Coupled, type TreeName } from './coupling';
import { spansOf, type Item, type Row } from './items';

export type Mode = 'absolute' | 'own_root' | 'metric_root' | 'metric_selection' | 'call_root' | 'call_selection' |
  'system_root' | 'system_selection' | 'peer' | 'peer_distribution' | `run_${number}`;

export interface ModeRow {
  mode: Mode;
  title: string;
  /** The tree that contains the reference. */
  of: TreeName | null;
  only: TreeName | null;
}

const modes: readonly ModeRow[] = [
  { mode: 'absolute', title: 'Absolute', of: null, only: null },
  { mode: 'own_root', title: 'Own root percent', of: null, only: null },
  { mode: 'metric_root', title: 'Metric root percent', of: 'metric', only: null },
  { mode: 'metric_selection', title: 'Metric selection percent', of: 'metric', only: null },
  { mode: 'call_root', title: 'Call root percent', of: 'call', only: null },
  { mode: 'call_selection', title: 'Call selection percent', of: 'call', only: null },
  { mode: 'system_root', title: 'System root percent', of: 'system', only: null },
  { mode: 'system_selection', title: 'System selection percent', of: 'system', only: null },
  { mode: 'peer', title: 'Peer percent', of: null, only: 'system' },
  { mode: 'peer_distribution', title: 'Peer distribution', of: null, only: 'system' },
];

/** The run after the first one that counts as 100 %; null: the mode compares with no run. */
function otherRunOf(mode: Mode): number | null {
  return mode.startsWith('run_') ? Number(mode.slice(4)) : null;
}

/** Null: no mode has this name. */
export function modeNamed(name: string): Mode | null {
  return /^run_[1-9]\d*$/.test(name) ? name as Mode : modes.find((row) => row.mode === name)?.mode ?? null;
}

export function titleOf(mode: Mode): string {
  const run = otherRunOf(mode);
  return run === null ? modes.find((row) => row.mode === mode)!.title : `Percent of run ${letterOf(run)}`;
}

/** Modes that a tree offers: the reference is to its left, and the metrics are to the left of both. Each further run is
 * a mode, too. */
export function modesOf(name: TreeName, order: readonly TreeName[], runs: number): ModeRow[] {
  const place = order.indexOf(name), metrics = order.indexOf('metric');
  const ofRuns = Array.from({ length: runs - 1 }, (_, i): ModeRow => {
    const mode: Mode = `run_${i + 1}`;
    return { mode, title: titleOf(mode), of: null, only: null };
  });
  return [...modes.filter((row) => {
    if (row.only && row.only !== name) return false;
    return row.of === null || (row.of !== name && order.indexOf(row.of) < place
        && (row.of === 'metric' || metrics < order.indexOf(row.of)));
  }), ...ofRuns];
}

function rootOf(item: Item): Item {
  let root = item;
  while (root.parent) root = root.parent;
  return root;
}

function sumOfItems(coupled: Coupled, name: TreeName, run: number, items: Iterable<Item>): number {
  const values = coupled[name].values[run];
  let sum = 0;
  for (const item of items) sum += values ? values.of(item.whole) : NaN;
  return sum;
}

/** The value that counts as 100 %; null: the mode shows values as they are, or compares with peers. */
function referenceOf(coupled: Coupled, name: TreeName, mode: Mode, row: Row, run: number): number | null {
  const tree = mode.startsWith('metric') ? 'metric' : mode.startsWith('call') ? 'call' : 'system';
  const { selected, roots, values, spans } = coupled[tree];
  switch (mode) {
    case 'own_root':
      // Metrics of one tree have one unit; those of another tree have another.
      return sumOfItems(coupled, name, run, name === 'metric' ? [rootOf(row.item)] : coupled[name].roots);
    case 'metric_root': case 'call_root': case 'system_root':
      return sumOfItems(coupled, tree, run, selected.length > 0 ? new Set(selected.map((each) => rootOf(each.item)))
          : tree === 'metric' ? roots.slice(0, 1) : roots);
    case 'metric_selection': case 'call_selection': case 'system_selection':
      if (!spans) return sumOfItems(coupled, tree, run, tree === 'metric' ? roots.slice(0, 1) : roots);
      return values[run]?.of(spans) ?? NaN;
    default: {
      const other = otherRunOf(mode);
      return other === null ? null : coupled[name].values[other]?.of(spansOf(row.item, row.isExpanded)) ?? NaN;
    }
  }
}

export interface Shown {
  /** In the unit of the metric, or a fraction of 1. */
  value: number;
  error: number;
  isShare: boolean;
}

/** Values of all rows on the same level of the tree. */
function peersOf(coupled: Coupled, name: TreeName, row: Row, run: number): number[] {
  const values = coupled[name].values[run];
  return coupled[name].rows.filter((peer) => peer.item.level === row.item.level).map((peer) => values
      ? values.of(spansOf(peer.item, peer.isExpanded)) : NaN);
}

/** `errors`: whether errors are wanted; they cost more than values. */
export function shownOf(coupled: Coupled, name: TreeName, mode: Mode, row: Row, run = 0, errors = true): Shown {
  const spans = spansOf(row.item, row.isExpanded), values = coupled[name].values[run];
  const value = values ? values.of(spans) : NaN, error = values && errors ? values.errorOf(spans) : NaN;
  if (mode === 'peer' || mode === 'peer_distribution') {
    const peers = peersOf(coupled, name, row, run), most = Math.max(...peers), least = Math.min(...peers);
    const [part, of] = mode === 'peer' ? [value, most] : [value - least, most - least];
    return { value: of === 0 ? 0 : part / of, error: of === 0 ? 0 : error / of, isShare: true };
  }
  const reference = referenceOf(coupled, name, mode, row, run);
  if (reference === null) return { value, error, isShare: false };
  return { value: reference === 0 ? NaN : value / reference, error: reference === 0 ? NaN : error / Math.abs(reference),
      isShare: true };
}
