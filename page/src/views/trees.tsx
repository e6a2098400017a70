/** Three coupled trees: metrics, call paths, system. */
import { useMemo } from 'preact/hooks';
import { errorText, nameText, pathText, shareText, valueText } from '../format';
import {
  areCompared, difference, letterOf, modesOf, rowsOf, scalesOf, shownOf, spansOf, titleOf, type CoupledTree, type Item,
  type Mode, type Model, type Row, type Run, type TreeName, type Unit,
} from '../model';
import * as state from '../state';
import { Choice } from '../widgets/choice';
import { saveCsv } from '../widgets/download';
import { HeatStrip } from '../widgets/heat_strip';
import { Scale } from '../widgets/legend';
import { Search } from '../widgets/search';
import { TreeGrid, type GridCell, type GridRow } from '../widgets/treegrid';

const titles: Readonly<Record<TreeName, string>> = { metric: 'Metrics', call: 'Call paths', system: 'System' };

/** The unit of a row: in the tree of metrics each row has its own. */
function unitOf(name: TreeName, item: Item): Unit {
  const metrics = state.model.value!.metrics;
  return name === 'metric' ? metrics[Number(item.key.slice(1))]!.unit : metrics[state.metric.value]!.unit;
}

function sorted(tree: CoupledTree): readonly Row[] {
  const order = state.sort.value, values = tree.values[0]!;
  if (order === 'tree' || tree.name === 'metric') return tree.rows;
  const by = (items: readonly Item[]): readonly Item[] => {
    if (order === 'name') return [...items].sort((a, b) => a.name.localeCompare(b.name));
    const worth = new Map(items.map((item) => [item, values.of(item.whole)]));
    return [...items].sort((a, b) => (worth.get(b) || 0) - (worth.get(a) || 0));
  };
  return rowsOf(tree.roots, (key) => state.expanded.value[tree.name].has(key), by);
}

/** What counts as 100 % for colours: in the system tree the largest value of the level, else the tree's root. */
function fullColor(tree: CoupledTree): (row: Row) => number {
  const values = tree.values[0]!, known = new Map<string, number>();
  const reference = (row: Row, root: Item): number => {
    if (tree.name === 'metric') return values.of(root.whole);
    if (tree.name === 'call') return tree.roots.reduce((sum, item) => sum + values.of(item.whole), 0);
    const peers = tree.rows.filter((peer) => peer.item.level === row.item.level);
    return Math.max(...peers.map((peer) => values.of(spansOf(peer.item, peer.isExpanded))));
  };
  return (row) => {
    let root = row.item;
    while (root.parent) root = root.parent;
    const key = { metric: root.key, call: '', system: String(row.item.level) }[tree.name];
    if (!known.has(key)) known.set(key, reference(row, root));
    return known.get(key)!;
  };
}

/** The other runs beside the first one: value and difference. */
function othersOf(name: TreeName, row: Row, unit: Unit, base: { value: number; error: number }): GridCell[] {
  const model = state.model.value!, { runs } = model, coupled = state.coupled.value!;
  const nodes = name === 'call' ? spansOf(row.item, row.isExpanded) : coupled[name].nodes;
  return runs.slice(1).flatMap((run, i) => {
    const now = shownOf(coupled, name, 'absolute', row, i + 1),
        of = difference(base, now, scalesOf(model, runs[0]!, run, nodes));
    const sign = of.value > 0 ? '+' : '', error = errorText(of.error, unit, false);
    return [{ text: valueText(now.value, unit) }, {
      text: Number.isNaN(of.value) ? 'not known' : `${sign}${valueText(of.value, unit)} ${error}`,
      className: of.isCertain ? of.value > 0 ? 'more' : 'less' : 'unsure',
    }];
  });
}

function describer(tree: CoupledTree, mode: Mode): (row: Row) => GridRow {
  const coupled = state.coupled.value!, keys = new Set(state.selected.value[tree.name]), full = fullColor(tree),
      { runs } = state.model.value!;
  const isReading = state.cellsRead.value === 0;
  return (row) => {
    const absolute = shownOf(coupled, tree.name, 'absolute', row), unit = unitOf(tree.name, row.item);
    const shown = mode === 'absolute' ? absolute : shownOf(coupled, tree.name, mode, row);
    const text = Number.isNaN(shown.value) && isReading ? '\u2026' : shown.isShare ? shareText(shown.value)
        : valueText(shown.value, unit);
    const isEstimate = Number.isNaN(shown.error) && !Number.isNaN(shown.value);
    return {
      row, isSelected: keys.has(row.item.key), value: absolute.value, error: absolute.error,
      part: absolute.value / full(row),
      cells: [{ text, className: row.item.kind === 'part' ? 'part' : '' },
        isEstimate ? { text: 'est.', label: 'estimated, the error is not known' }
            : { text: errorText(shown.error, unit, shown.isShare) },
        ...(runs.length > 1 ? othersOf(tree.name, row, unit, absolute) : [])],
    };
  };
}

function csvOf(tree: CoupledTree, rows: readonly Row[]): void {
  const { runs } = state.model.value!, coupled = state.coupled.value!;
  saveCsv(titles[tree.name].toLowerCase().replace(' ', '_'),
      ['path', 'shows', ...runs.flatMap((_, i) => [`value_${letterOf(i)}`, `error_${letterOf(i)}`])],
    rows.map((row) => [pathText(row.item.path), row.isExpanded ? 'exclusive' : 'inclusive', ...runs.flatMap((_, i) => {
      const { value, error } = shownOf(coupled, tree.name, 'absolute', row, i);
      return [value, error];
    })]));
}

function CallTools() {
  return <>
    <Choice label="Form" value={state.form.value} onChoose={(value) => { state.form.value = value; }}
      options={[{ value: 'tree', text: 'call tree' }, { value: 'flat', text: 'by function' },
          { value: 'callers', text: 'callers' }]} />
    <label class="choice"><input type="checkbox" checked={state.byClass.value}
      onChange={(event) => { state.byClass.value = event.currentTarget.checked; }} />
      loops by class of iterations</label>
    <button type="button" onClick={state.openHottestPath}>Open the hottest path</button>
  </>;
}

/** Rows that can be found: those of the whole tree, open or not. */
function* allItems(roots: readonly Item[]): Generator<Item> {
  const stack = [...roots].reverse();
  for (let count = 0; stack.length > 0 && count < 200_000; count++) {
    const item = stack.pop()!;
    yield item;
    stack.push(...[...item.children()].reverse());
  }
}

/** Selects the first row whose name contains the text, or the next one after the selection. */
function find(tree: CoupledTree, text: string, isNext: boolean): void {
  if (text === '') return;
  const wanted = text.toLowerCase(), now = state.selected.value[tree.name][0];
  let first: Item | null = null, isBehind = !isNext || now === undefined, found: Item | null = null;
  for (const item of allItems(tree.roots)) {
    if (item.name.toLowerCase().includes(wanted)) {
      first ??= item;
      if (isBehind) {
        found = item;
        break;
      }
    }
    if (item.key === now) isBehind = true;
  }
  found ??= first;
  if (!found) return;
  const above: string[] = [];
  for (let at = found.parent; at; at = at.parent) above.push(at.key);
  state.expand(tree.name, above, true);
  state.selected.value = { ...state.selected.value, [tree.name]: [found.key] };
}

const MOST_NAMES = 3;

/** The selection in a tree, in words; an open row stands for itself alone. */
function selectionText(name: TreeName): string {
  const { selected } = state.coupled.value![name];
  const names = selected.slice(0, MOST_NAMES).map(({ item, isExpanded }) =>
      (name === 'call' ? pathText(item.path.slice(-2)) : nameText(item.name)) + (isExpanded ? ' itself' : ''));
  const more = selected.length - names.length;
  return names.join(' + ') + (more > 0 ? ` and ${more} more` : '');
}

/** What the values of a tree cover: the selection in the trees to its left, and everything in those to its right. */
function whatIsShown(name: TreeName, mode: Mode): string {
  const { metrics } = state.model.value!, order = state.order.value;
  const drives = (other: TreeName): boolean => order.indexOf(other) < order.indexOf(name);
  const chosen = (other: TreeName): string => other !== name && drives(other) ? selectionText(other) : '';
  const root = metrics[state.model.value!.rootOfMetric(state.metric.value)]!.title;
  const metric = name === 'metric' ? 'each metric' : chosen('metric') || nameText(root);
  const where = name === 'call' ? '' : ` in ${chosen('call') || 'all call paths'}`,
      ranks = name === 'system' ? '' : ` on ${chosen('system') || 'all ranks'}`;
  const title = mode === 'absolute' ? '' : `; ${titleOf(mode)[0]!.toLowerCase()}${titleOf(mode).slice(1)}`;
  return `Shows ${metric}${where}${ranks}${title}.`;
}

function Panel({ name }: { name: TreeName }) {
  const coupled = state.coupled.value!, tree = coupled[name], { runs } = state.model.value!;
  const offered = modesOf(name, state.order.value, runs.length),
      mode = offered.find((row) => row.mode === state.modeOf.value[name])?.mode ?? 'absolute';
  const rows = sorted(tree), describe = useMemo(() => describer(tree, mode),
      [coupled, tree, mode, state.selected.value]);
  const place = state.order.value.indexOf(name);
  const move = (by: number): void => {
    const order = [...state.order.value], other = order[place + by];
    if (!other) return;
    [order[place], order[place + by]] = [other, name];
    state.order.value = order;
  };
  return <section class="panel" aria-label={titles[name]}>
    <h2>{titles[name]}
      <button type="button" class="quiet" disabled={place === 0} onClick={() => move(-1)}
        aria-label={`Move ${titles[name]} to the left`}>{'\u2190'}</button>
      <button type="button" class="quiet" disabled={place === 2} onClick={() => move(1)}
        aria-label={`Move ${titles[name]} to the right`}>{'\u2192'}</button>
    </h2>
    <div class="tools">
      <Choice label="Values" value={mode} onChoose={(value) => { state.modeOf.value = { ...state.modeOf.value,
        [name]: value }; }}
        options={offered.map((row) => ({ value: row.mode, text: row.title }))} />
      {name === 'call' && <CallTools />}
      <Search label={`Find in ${titles[name].toLowerCase()}`} onText={(text) => find(tree, text, false)}
        onFind={(text) => find(tree, text, true)} />
      <button type="button" class="quiet" onClick={() => csvOf(tree, rows)}>Save as CSV</button>
    </div>
    <p class="hint">{whatIsShown(name, mode)}</p>
    <TreeGrid name={name} label={titles[name]} rows={rows} describe={describe}
      selected={tree.selected[0]?.item.key ?? ''}
      head={[titles[name], 'value', '\u00b1',
          ...runs.slice(1).flatMap((_, i) => [letterOf(i + 1), `${letterOf(i + 1)} \u2212 A`])]}
      onExpand={(row, open) => open ? state.expand(name, [row.item.key], true) : state.collapse(name, row)}
      onExpandAll={(all) => state.expand(name, all.map((row) => row.item.key), true)}
          onSelect={(row, add) => state.select(name, row.item.key, add)} />
    {name === 'metric' && <AboutMetric />}
    {name === 'call' && <ExtremesOfPath />}
    {name === 'system' && <Strip />}
    <Scale from="0" to={name === 'system' ? 'largest of its level' : 'root'} />
  </section>;
}

/** Extremes over threads of the selected row, if it stands for one call path of the whole run: exact, even where
 * threads share a place in the file. */
function ExtremesOfPath() {
  const model = state.model.value!, { metric, call } = state.coupled.value!, [row, ...others] = call.selected;
  const [only, ...more] = row && others.length === 0 ? spansOf(row.item, row.isExpanded) : [];
  if (!only || more.length > 0 || only.unit !== 0 || only.end - only.begin !== 1) return null;
  const spans = metric.spans ?? model.metricSpans(0), of = model.extremes(model.first, spans, only.begin);
  if (!of) return null;
  const { unit } = model.metrics[state.metric.value]!;
  const least = of.leastRank < 0 ? 'some have nothing' : `least ${valueText(of.least, unit)} on rank ${of.leastRank}`;
  return <p class="hint">{nameText(row!.item.name)}, thread by thread: greatest {valueText(of.greatest, unit)} on
    rank {of.greatestRank}, {least}.</p>;
}

/** Description, formula, unit and advice of the selected metric. */
function AboutMetric() {
  const { metrics } = state.model.value!, number = state.metric.value, metric = metrics[number]!;
  const below = metrics.filter((other) => other.parent === number && !other.overlaps),
      overlapping = metrics.filter((other) => other.parent === number && other.overlaps);
  return <div class="about">
    <h3>{metric.title}</h3>
    <p>{metric.help || 'No description.'}</p>
    {below.length > 0 && <p>Formula: {below.map((other) => other.title).join(' + ')}, and what is none of these.</p>}
    {overlapping.length > 0 && <p>Part of it,
        beside the others: {overlapping.map((other) => other.title).join(', ')}.</p>}
    <p>Unit: {metric.unit === 's' ? 'seconds' : metric.unit === 'B' ? 'bytes' : 'a count'}; {
      metric.error === 'exact' ? 'exact.' : metric.error === 'samples' ? 'divided among call paths by samples.'
          : 'an estimate.'}</p>
    {metric.advice && <p>{metric.advice}</p>}
  </div>;
}

/** Every rank as a field, however many there are. */
function Strip() {
  const { first, metrics } = state.model.value!, coupled = state.coupled.value!, values = coupled.system.values[0]!,
      unit = metrics[state.metric.value]!.unit;
  const byRank = useMemo(() => first.ranks.map((rank) => values.of([rank.span])), [values]);
  if (first.ranks.length < 2) return null;
  return <HeatStrip values={byRank} nameOf={(i) => `rank ${first.ranks[i]!.first}`}
      textOf={(value) => valueText(value, unit)}
    isSelected={(i) => state.selected.value.system.includes(`s${first.ranks[i]!.span.begin}`)}
        onChoose={(i, add) => state.selectRanks([[first.ranks[i]!.first, first.ranks[i]!.last]], add)} />;
}

/** "B: class 2, 80 iterations.": the units of a run that correspond to the shown ones. */
function sameText(model: Model, run: Run, shown: readonly number[]): string {
  const names = shown.map((unit) => {
    const of = model.units[model.unitIn(run, unit) ?? -1];
    return !of ? `nothing that is ${nameText(model.units[unit]!.name)}` : of.kind === 'class'
        ? `${nameText(of.name)}, ${of.count.toLocaleString('en-US')} iterations` : nameText(of.name);
  });
  return `${letterOf(run.index)}: ${[...new Set(names)].join('; ')}.`;
}

/** Which parts and runs the trees show. */
function About() {
  const model = state.model.value!, { runs, units } = model, shown = state.parts.value.filter((unit) => unit > 0);
  const names = shown.map((unit) => nameText(units[unit]!.name)).join(', ');
  const isEstimate = shown.some((unit) => units[unit]!.reconstructed), are = runs.length > 1 ? areCompared(runs)
      : 'sums';
  const letters = runs.map((run, i) => `${letterOf(i)} = ${nameText(run.head.name)}`).join(', ');
  return <div class="notes">
    {shown.length > 0 && <p>Shown: {names}{isEstimate && ' (reconstructed from clusters of iterations)'}{' '}
      <button type="button" onClick={() => state.showParts([0])}>Show the whole run</button></p>}
    {shown.length > 0 && runs.length > 1 && <p>{runs.map((run) => sameText(model, run, shown)).join(' ')} Where the
      numbers of iterations differ, differences are of means over iterations.</p>}
    {runs.length > 1 && <p>Runs: {letters}.
      {are === 'means' && ' They have different numbers of ranks: differences are of means over ranks.'}</p>}
  </div>;
}

export function TreesView() {
  const wide = state.isWide.value;
  return <div class="trees">
    <About />
    <div class="tools">
      <Choice label="Sort" value={state.sort.value} onChoose={(value) => { state.sort.value = value; }}
        options={[{ value: 'tree', text: 'as in the program' }, { value: 'value', text: 'by value' },
            { value: 'name', text: 'by name' }]} />
      <label class="choice"><input type="checkbox" checked={wide}
        onChange={(event) => { state.isWide.value = event.currentTarget.checked; }} />side by side</label>
    </div>
    <div class={wide ? 'panels wide' : 'panels'}>{state.order.value.map((name) => <Panel name={name}
      key={name} />)}</div>
  </div>;
}
