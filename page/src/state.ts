/** What the user has chosen, as signals, and what follows from it. Views read the signals and call the functions below;
 * views do not know each other. */
import { batch, computed, signal } from '@preact/signals';
import {
  Trees, keyOfNode, metricOf, openAtFirst, pathOfNode, rangeIn, treeNames, type CallForm, type Coupled, type Finding,
  type Item, type Loop, type MapSetting, type Mode, type Model, type OpenChains, type Range, type Row, type Run,
  type Setting, type TreeName,
} from './model';

export type ViewName = 'overview' | 'trees' | 'iterations' | 'flame' | 'file';
export const sorts = ['tree', 'value', 'name'] as const;
export type Sort = typeof sorts[number];

export const model = signal<Model | null>(null);
/** Incremented when values by place have been unpacked. */
export const cellsRead = signal(0);
export const view = signal<ViewName>('overview');
export const order = signal<readonly TreeName[]>(treeNames);
export const selected = signal<Readonly<Record<TreeName, readonly string[]>>>({ metric: ['m0'], call: [], system: [] });
export const expanded = signal<Readonly<Record<TreeName, ReadonlySet<string>>>>({ metric: new Set(), call: new Set(),
    system: new Set() });
export const parts = signal<readonly number[]>([0]);
export const form = signal<CallForm>('tree');
export const byClass = signal(false);
export const modeOf = signal<Readonly<Record<TreeName, Mode>>>({ metric: 'absolute', call: 'absolute',
    system: 'absolute' });
export const sort = signal<Sort>('tree');
/** The loop shown in the view of iterations. */
export const loopName = signal('');
/** Begin and end, which is excluded, of the iterations shown there; null: all. */
export const iterations = signal<Range | null>(null);
/** Row of the loop's values shown in the graph. */
export const seriesRow = signal(0);
/** The run that the graph compares with the first one of the loop; null: it shows the values of all runs. */
export const graphRun = signal<number | null>(null);
const wholeMap: MapSetting = { metric: 0, run: null, rows: null };
/** How the loop's map is shown. */
export const map = signal(wholeMap);
/** The function whose callers and callees the flame graph shows. */
export const sandwich = signal<{ readonly name: string; readonly kind: number } | null>(null);
/** The call path whose box fills the flame graph; 0: none. */
export const enlarged = signal(0);
/** First frames of chains of runtimes that the flame graph shows frame by frame; 0 stands for all of them. */
export const openChains = signal<OpenChains>(new Set());
/** The run whose values are the widths of the flame graph. */
export const flameRun = signal(0);
/** Whether the trees are side by side. */
export const isWide = signal(true);
/** Whether the flame graph covers only the ranks selected in the system tree. */
export const flameOfSelected = signal(false);

const trees = computed(() => model.value && new Trees(model.value));

const setting = computed<Setting>(() => ({
  order: order.value, selected: selected.value, expanded: expanded.value, parts: parts.value, form: form.value,
  byClass: byClass.value,
}));

export const coupled = computed<Coupled | null>(() => {
  cellsRead.value; // values by place are available from then on
  return trees.value?.couple(setting.value) ?? null;
});

/** The selected metric, or the first of several. */
export const metric = computed(() => {
  const item = coupled.value?.metric.selected[0]?.item;
  return item ? metricOf(item) : 0;
});

/** The loop shown in the view of iterations, in the first run that has it; null: there is none. */
export const shownLoop = computed<{ run: Run; loop: Loop } | null>(() => {
  const loops = model.value?.runs.flatMap((run) => run.head.loops.map((loop) => ({ run, loop }))) ?? [];
  return loops.find(({ loop }) => loop.name === loopName.value) ?? loops[0] ?? null;
});

/** Call once, when the data has been loaded. */
export function begin(of: Model): void {
  const tops = of.tree.children[0]!, first = of.first;
  // The largest node at the top is open, so that the second level is visible.
  const sumBelow = (node: number): number => {
    let sum = 0;
    for (const each of of.metricSpans(0)) {
      for (let metric = each.begin; metric < each.end; metric++) {
        const values = first.sums(0, metric);
        if (values) for (let at = node; at < of.tree.ends[node]!; at++) sum += values[at]!;
      }
    }
    return sum;
  };
  const largest = tops.reduce((best, node) => best < 0 || sumBelow(node) > sumBelow(best) ? node : best, -1);
  batch(() => {
    expanded.value = { metric: new Set(), call: new Set(largest < 0 ? [] : [keyOfNode([0], largest)]),
        system: new Set(openAtFirst(first)) };
    loopName.value = first.head.loops[0]?.name ?? '';
    model.value = of;
  });
}

export function expand(tree: TreeName, keys: Iterable<string>, open: boolean): void {
  const now = new Set(expanded.value[tree]);
  for (const key of keys) {
    if (open) now.add(key);
    else now.delete(key);
  }
  expanded.value = { ...expanded.value, [tree]: now };
}

function isBelow(item: Item, above: Item): boolean {
  for (let at = item.parent; at; at = at.parent) if (at.key === above.key) return true;
  return false;
}

/** A selection below a closing item becomes the item itself. */
export function collapse(tree: TreeName, row: Row): void {
  batch(() => {
    const rows = coupled.value?.[tree].selected ?? [],
        hidden = rows.filter((each) => isBelow(each.item, row.item)).map((each) => each.item.key);
    if (hidden.length > 0) {
      const rest = selected.value[tree].filter((key) => !hidden.includes(key) && key !== row.item.key);
      selected.value = { ...selected.value, [tree]: [...rest, row.item.key] };
    }
    expand(tree, [row.item.key], false);
  });
}

function unitOfMetric(key: string): string | undefined {
  return model.value?.metrics[Number(key.slice(1))]?.unit;
}

/** `add`: adds the key to the selection, or removes it. Otherwise selects it alone; selecting it again selects nothing,
 * except in the tree of metrics. Metrics of different units have no sum: such a metric replaces the selected ones. */
export function select(tree: TreeName, key: string, add: boolean): void {
  const all = selected.value[tree], has = all.includes(key);
  const now = tree === 'metric' ? all.filter((each) => unitOfMetric(each) === unitOfMetric(key)) : all;
  let next: readonly string[];
  if (add) next = has ? now.filter((each) => each !== key) : [...now, key];
  else next = has && now.length === 1 && tree !== 'metric' ? [] : [key];
  if (tree === 'metric' && next.length === 0) return;
  selected.value = { ...selected.value, [tree]: next };
}

/** Opens everything above a node. */
function openTo(of: Model, node: number): void {
  const keys: string[] = [];
  for (let at = of.tree.parents[node]!; at > 0; at = of.tree.parents[at]!) keys.push(keyOfNode(parts.value, at));
  expand('call', keys, true);
}

/** Opens everything above a metric. */
function openMetric(of: Model, number: number): void {
  const keys: string[] = [];
  for (let at = of.metrics[number]!.parent; at >= 0; at = of.metrics[at]!.parent) keys.push(`m${at}`);
  expand('metric', keys, true);
}

export function selectMetric(name: string): void {
  const of = model.value, number = of?.metrics.findIndex((each) => each.name === name) ?? -1;
  if (!of || number < 0) return;
  openMetric(of, number);
  selected.value = { ...selected.value, metric: [`m${number}`] };
}

/** Selects a call path, collapsed, so that it includes all that it calls. */
export function selectNode(node: number): void {
  const of = model.value;
  if (!of || node <= 0) return;
  batch(() => {
    form.value = 'tree';
    openTo(of, node);
    const key = keyOfNode(parts.value, node);
    expand('call', [key], false);
    selected.value = { ...selected.value, call: [key] };
  });
}

/** `ranges`: first and last ranks. `add`: keeps the ranks selected before. */
export function selectRanks(ranges: readonly Range[], add = false): void {
  const of = model.value;
  if (!of) return;
  const places = of.first.ranks.filter((rank) =>
      ranges.some(([first, last]) => rank.first <= last && first <= rank.last));
  const hosts = [...new Set(of.first.ranks.map((rank) => rank.host))];
  batch(() => {
    expand('system', ['s', ...places.map((rank) => `h${hosts.indexOf(rank.host)}`)], true);
    const before = add ? selected.value.system : [];
    selected.value = { ...selected.value,
        system: [...new Set([...before, ...places.map((rank) => `s${rank.span.begin}`)])] };
  });
}

/** Chooses what the trees, the flame graph and the sandwich show: the whole run, or parts of a loop. */
export function showParts(units: readonly number[]): void {
  const of = model.value;
  if (!of) return;
  batch(() => {
    const open = [...expanded.value.call], before = parts.value;
    parts.value = units.length > 0 ? units : [0];
    // What was open and selected stays so, in the new units.
    const moved = (key: string): string => key.replace(`c${before.join('+')}:`, `c${parts.value.join('+')}:`);
    expanded.value = { ...expanded.value, call: new Set(open.map(moved)) };
    selected.value = { ...selected.value, call: selected.value.call.map(moved) };
  });
}

/** Shows all iterations of a loop. */
export function showLoop(name: string): void {
  batch(() => {
    if (name !== loopName.value) {
      seriesRow.value = 0;
      map.value = wholeMap;
    }
    loopName.value = name;
    iterations.value = null;
  });
}

/** The iterations of a finding with as many on either side, so that what sets them apart is visible. */
function rangeAround([first, last]: Range): Range | null {
  const end = last + 1, around = Math.max(10, end - first);
  return rangeIn([first - around, end + around], shownLoop.value?.loop.iterations ?? 0);
}

/** Whether a finding refers to anything in the file. */
export function canFollow({ select: what }: Finding): boolean {
  return what.metric !== undefined || what.node !== undefined || what.loop !== undefined
      || (what.ranks?.length ?? 0) > 0;
}

/** Shows what a finding of a run refers to in the other views. */
export function follow(run: Run, finding: Finding): void {
  const of = model.value, { select: what } = finding;
  if (!of) return;
  batch(() => {
    parts.value = [0];
    selected.value = { metric: ['m0'], call: [], system: [] };
    if (what.metric) selectMetric(what.metric);
    if (what.node !== undefined) selectNode(run.numbering.nodes[what.node] ?? 0);
    if (what.ranks && what.ranks.length > 0) selectRanks(what.ranks);
    showLoop(what.loop ?? loopName.value);
    if (what.loop !== undefined && what.iterations) iterations.value = rangeAround(what.iterations);
    view.value = what.loop !== undefined && what.node === undefined ? 'iterations' : 'trees';
  });
}

/** Opens the path from the selected call path down to the largest child, as long as that has at least half of the
 * value. */
export function openHottestPath(): void {
  const of = model.value, now = coupled.value;
  if (!of || !now) return;
  const values = now.call.values[0]!, valueOf = (item: Item): number => values.of(item.whole);
  const largest = (items: readonly Item[]): Item | undefined =>
      items.reduce<Item | undefined>((best, item) => !best || valueOf(item) > valueOf(best) ? item : best, undefined);
  const keys: string[] = [];
  let item = now.call.selected[0]?.item ?? largest(now.call.roots);
  while (item) {
    const next = largest(item.children());
    if (!next || valueOf(next) < 0.5 * valueOf(item)) break;
    keys.push(item.key);
    item = next;
  }
  const found = item;
  if (!found) return;
  batch(() => {
    expand('call', keys, true);
    selected.value = { ...selected.value, call: [found.key] };
  });
}

/** Names from the root to a node of the model. */
export function pathOf(node: number): string[] {
  const of = model.value;
  return of ? pathOfNode(of, node) : [];
}
