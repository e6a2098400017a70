/**
 * Three trees, each of which drives those to its right (CUBE's semantics): a tree shows values for what is selected in
 * the trees to its left, summed over everything in those to its right. A tree to the left of the metrics shows the root
 * of the selected metric, since without a metric there is no value.
 */
import { callTree, type CallForm } from './call_tree';
import { rowsOf, spansOf, type Item, type Row } from './items';
import { metricOf, metricTree } from './metric_tree';
import type { Model } from './model';
import type { RankPlace, Run } from './run';
import { span, union, type Span } from './span';
import { systemTree } from './system_tree';
import { notKnown, valuesOfMetrics, valuesOfNodes, valuesOfPlaces, type Context, type Values } from './values';

export type TreeName = 'metric' | 'call' | 'system';
export const treeNames: readonly TreeName[] = ['metric', 'call', 'system'];

export interface Setting {
  order: readonly TreeName[];
  selected: Readonly<Record<TreeName, readonly string[]>>;
  expanded: Readonly<Record<TreeName, ReadonlySet<string>>>;
  /** Units that are shown; 0 is the whole run. */
  parts: readonly number[];
  form: CallForm;
  byClass: boolean;
}

export interface CoupledTree {
  name: TreeName;
  roots: readonly Item[];
  /** Visible rows, in the order of the tree. */
  rows: readonly Row[];
  selected: readonly Row[];
  /** What the selection stands for; null: nothing is selected, which means everything. */
  spans: readonly Span[] | null;
  /** By run. */
  values: readonly Values[];
  /** Call paths that the values of the other axes belong to. */
  nodes: readonly Span[];
}

export type Coupled = Readonly<Record<TreeName, CoupledTree>>;

function selectionOf(rows: readonly Row[], keys: readonly string[]): Pick<CoupledTree, 'rows' | 'selected' | 'spans'> {
  const wanted = new Set(keys), selected = rows.filter((row) => wanted.has(row.item.key));
  return { rows, selected, spans: selected.length > 0
      ? union(selected.flatMap((row) => spansOf(row.item, row.isExpanded))) : null };
}

/** Equal for a rank of one run and one of another if both stand for the same threads, or each for all threads of the
 * same rank. */
function keyOfRank(run: Run, { first, last, isWhole, locations, span: { begin } }: RankPlace): string {
  return isWhole ? `${first}` : `${first} ${last} ${run.head.places.thread[begin]} ${locations}`;
}

/** The same ranks, or threads of ranks, in another run; undefined: it does not have all of them, or not separately. */
export function placesOf(run: Run, first: Run, places: readonly Span[] | null): readonly Span[] | null | undefined {
  if (run === first || !places) return places;
  const there = new Map(run.ranks.map((rank) => [keyOfRank(run, rank), rank])), found: Span[] = [];
  for (const rank of first.ranks) {
    const parts = places.flatMap(({ begin, end }) => [span(Math.max(begin, rank.span.begin),
        Math.min(end, rank.span.end))]).filter(({ begin, end }) => begin < end);
    if (parts.length === 0) continue;
    const other = there.get(keyOfRank(first, rank));
    if (!other) return undefined;
    if (parts.some(({ begin, end }) => begin === rank.span.begin && end === rank.span.end)) {
      found.push(other.span);
      continue;
    }
    for (const { begin, end } of parts)
      for (let place = begin; place < end; place++) {
        const at = run.head.places.thread.indexOf(first.head.places.thread[place]!, other.span.begin);
        if (at < 0 || at >= other.span.end) return undefined;
        found.push(span(at, at + 1));
      }
  }
  return union(found);
}

/** The trees of a model, which stay the same while selections change. */
export class Trees {
  private readonly model: Model;
  private readonly metrics: Item[];
  private readonly system: Item[];
  private call: { key: string; roots: Item[] } | null = null;

  constructor(model: Model) {
    this.model = model;
    this.metrics = metricTree(model);
    this.system = systemTree(model.first);
  }

  roots(name: TreeName, setting: Setting): readonly Item[] {
    if (name === 'metric') return this.metrics;
    if (name === 'system') return this.system;
    const key = JSON.stringify([setting.parts, setting.form, setting.byClass]);
    if (this.call?.key !== key) this.call = { key,
        roots: callTree(this.model, setting.parts, setting.form, setting.byClass) };
    return this.call.roots;
  }

  couple(setting: Setting): Coupled {
    const { model } = this;
    const chosen = Object.fromEntries(treeNames.map((name) => {
      const roots = this.roots(name, setting), rows = rowsOf(roots, (key) => setting.expanded[name].has(key));
      return [name, { name, roots, ...selectionOf(rows, setting.selected[name]) }];
    })) as Record<TreeName, Omit<CoupledTree, 'values' | 'nodes'>>;

    const ofMetric = chosen.metric.selected[0]?.item ?? chosen.metric.roots[0], metric = ofMetric ? metricOf(ofMetric)
        : 0;
    const selectedMetrics = chosen.metric.spans ?? model.metricSpans(metric);
    const rootMetrics = model.metricSpans(model.rootOfMetric(metric));
    const everything = model.everything(setting.parts);
    const place = (name: TreeName): number => setting.order.indexOf(name);

    const drives = (other: TreeName, name: TreeName): boolean => place(other) < place(name);
    const nodesOf = (name: TreeName): readonly Span[] =>
        drives('call', name) && chosen.call.spans ? chosen.call.spans : everything;
    const valuesOf = (name: TreeName, run: Run): Values => {
      const places = drives('system', name) ? placesOf(run, model.first, chosen.system.spans) : null;
      const nodes = name === 'call' ? everything : model.spansIn(run, nodesOf(name));
      return places === undefined || !nodes ? notKnown : makers[name](model, {
        run, metrics: drives('metric', name) ? selectedMetrics : rootMetrics, nodes, places,
      });
    };
    const makers = { metric: valuesOfMetrics, call: valuesOfNodes, system: (of: Model, context: Context) =>
        ofSameRanks(of, context) };
    return Object.fromEntries(treeNames.map((name) => [name, {
      ...chosen[name], values: model.runs.map((run) => valuesOf(name, run)), nodes: nodesOf(name),
    }])) as unknown as Coupled;
  }
}

/** By places of the first run. Runs with different numbers of ranks are not compared rank by rank: only the total is
 * known then. */
function ofSameRanks(model: Model, context: Context): Values {
  const values = valuesOfPlaces(model, context), { run } = context, { first } = model;
  if (run === first) return values;
  const isAll = (spans: readonly Span[]): boolean =>
      spans.reduce((sum, each) => sum + each.end - each.begin, 0) === first.places;
  const mine = (spans: readonly Span[]): readonly Span[] | null | undefined => isAll(spans) ? [span(0, run.places)] :
    run.ranks.length === first.ranks.length ? placesOf(run, first, spans) : undefined;
  const ask = (spans: readonly Span[], answer: (of: readonly Span[]) => number): number => {
    const of = mine(spans);
    return of ? answer(of) : NaN;
  };
  return { of: (spans) => ask(spans, values.of), errorOf: (spans) => ask(spans, values.errorOf) };
}
