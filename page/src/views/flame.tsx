/** Flame graph of the selected metric, and the sandwich of one function: its callers above, what it calls below. */
import { useMemo, useState } from 'preact/hooks';
import { errorText, nameText, shareText, valueText } from '../format';
import {
  callersOf, difference, entryOf, flameOf, letterOf, notKnown, noteOf, outermost, placesOf, scalesOf, span, USER,
  valuesOfNodes, type Box, type Difference, type Model, type Span, type Values,
} from '../model';
import * as state from '../state';
import { Choice } from '../widgets/choice';
import { FlameGraph, type BoxDifference } from '../widgets/flame_graph';
import { Search } from '../widgets/search';
import { Table, type Cell } from '../widgets/table';

const LEAST = 1e-5; // of the width; narrower boxes stay invisible even when enlarged
const MOST_FUNCTIONS = 40;

interface FunctionRow {
  name: string;
  kind: number;
  /** Its call paths, and its call paths with all that they call; each once. */
  own: Span[];
  whole: Span[];
}

/** By function, the one with most own time in any run first. */
function functionsOf(model: Model, valuesBy: readonly Values[], units: readonly number[]): FunctionRow[] {
  const { tree } = model, rows = new Map<string, FunctionRow>();
  for (let node = 1; node < tree.size; node++) {
    const key = `${tree.kinds[node]} ${tree.names[node]}`;
    let row = rows.get(key);
    if (!row) rows.set(key, row = { name: tree.names[node]!, kind: tree.kinds[node]!, own: [], whole: [] });
    row.own.push(...units.map((unit) => span(node, node + 1, unit)));
  }
  for (const row of rows.values()) {
    row.whole = outermost(model, row.name, row.kind).flatMap((node) =>
        units.map((unit) => span(node, tree.ends[node]!, unit)));
  }
  const most = new Map([...rows.values()].map((row) =>
      [row, Math.max(...valuesBy.map((values) => values.of(row.own) || 0))]));
  return [...rows.values()].filter((row) => valuesBy.some((values) => (values.of(row.whole) || 0) !== 0))
      .sort((a, b) => most.get(b)! - most.get(a)!);
}

/** `before` and `now`: values of two runs. */
function differenceOf(model: Model, spans: readonly Span[], before: Values, now: Values, run: number): Difference {
  const [a, b] = [before, now].map((of) => ({ value: of.of(spans), error: of.errorOf(spans) }));
  return difference(a!, b!, scalesOf(model, model.runs[0]!, model.runs[run]!, spans));
}

export function FlameView() {
  const model = state.model.value!, coupled = state.coupled.value!, parts = state.parts.value;
  const [search, setSearch] = useState('');
  const [caller, setCaller] = useState<Box | null>(null), [callee, setCallee] = useState<Box | null>(null);
  const open = state.openChains.value;
  const isOfAll = !state.flameOfSelected.value, chosen = state.sandwich.value;
  const setChosen = (of: { name: string; kind: number }): void => { state.sandwich.value = of; };
  const setOfAll = (isAll: boolean): void => { state.flameOfSelected.value = !isAll; };
  const metric = model.metrics[state.metric.value]!, places = isOfAll ? null : coupled.system.spans;
  const valuesBy = useMemo(() => model.runs.map((run) => {
    const there = placesOf(run, model.first, places);
    return there === undefined ? notKnown : valuesOfNodes(model, {
      run, metrics: coupled.metric.spans ?? model.metricSpans(0), nodes: [], places: there,
    });
  }), [model, coupled.metric.spans, places]);
  const run = Math.min(state.flameRun.value, model.runs.length - 1), values = valuesBy[run]!;
  const boxes = useMemo(() => flameOf(model, values, parts, [0], LEAST, open), [model, values, parts, open]);
  const functions = useMemo(() => functionsOf(model, valuesBy, parts), [model, valuesBy, parts]);
  const total = values.of(model.everything(parts));
  const callees = useMemo(() => chosen ? flameOf(model, values, parts, outermost(model, chosen.name, chosen.kind),
      LEAST, open) : [], [chosen, values, parts, open]);
  const callers = useMemo(() => chosen ? callersOf(model, values, parts, outermost(model, chosen.name, chosen.kind),
      LEAST, open) : [], [chosen, values, parts, open]);

  /** The run that is compared with the first one: the one shown, or the second one. */
  const other = Math.max(run, 1), otherName = letterOf(other);
  /** How much more the other run takes in a box, with its error; only if there are several runs. */
  const compare = model.runs.length < 2 ? undefined : (box: Box): BoxDifference => {
    const spans = box.nodes.flatMap((node) => parts.map((unit) => span(node, model.tree.ends[node]!, unit)));
    const scales = scalesOf(model, model.runs[0]!, model.runs[other]!, spans);
    const largest = Math.max(valuesBy[0]!.of(spans) * scales[0], valuesBy[other]!.of(spans) * scales[1]);
    const of = differenceOf(model, spans, valuesBy[0]!, valuesBy[other]!, other);
    return {
      part: largest > 0 ? of.value / largest : 0, other: otherName,
      text: `${otherName} \u2212 A: ${valueText(of.value, metric.unit)} ${errorText(of.error, metric.unit, false)}`,
    };
  };
  const shareOf = (value: number): Cell => ({ value: value / total, shown: shareText(value / total) });
  const valueOf = (value: number): Cell => ({ value, shown: valueText(value, metric.unit) });
  const differenceCell = (spans: readonly Span[], i: number): Cell => {
    const of = differenceOf(model, spans, valuesBy[0]!, valuesBy[i]!, i);
    if (Number.isNaN(of.value)) return { value: NaN, shown: 'not known' };
    const text = `${of.value > 0 ? '+' : ''}${valueText(of.value, metric.unit)}`;
    return { value: of.value, shown: `${text} ${errorText(of.error, metric.unit, false)}` };
  };
  const cellsOf = ({ own, whole }: FunctionRow): Cell[] => model.runs.length < 2
      ? [valueOf(values.of(own)), shareOf(values.of(own)), valueOf(values.of(whole)), shareOf(values.of(whole))]
      : model.runs.flatMap((_, i) => [valueOf(valuesBy[i]!.of(own)), valueOf(valuesBy[i]!.of(whole)),
          ...(i > 0 ? [differenceCell(own, i)] : [])]);
  const heads = model.runs.length < 2 ? ['own', 'share', 'with what it calls', 'share'] : model.runs.flatMap((_, i) =>
      [`own in ${letterOf(i)}`, `with what it calls in ${letterOf(i)}`,
      ...(i > 0 ? [`own, ${letterOf(i)} \u2212 A`] : [])]);
  const nodesOf = (spans: readonly Span[]): number[] => spans.map((each) => each.begin);
  const choose = (box: Box): void => setChosen({ name: box.name, kind: kindOf(model, box) });
  /** Shows the frames of a folded chain; fold() folds the chain that a box is in. */
  const unfold = (box: Box): void => { state.openChains.value = new Set([...open, ...box.nodes]); };
  const fold = (box: Box): number => {
    const entries = new Set(box.nodes.map((node) => entryOf(model.tree, node)));
    state.openChains.value = new Set([...open].filter((node) => !entries.has(node)));
    return entryOf(model.tree, box.nodes[0]!);
  };
  const graph = { unit: metric.unit, total, search, onChoose: choose, onUnfold: unfold, onFold: fold };
  const tools = <div class="tools">
    <strong>{metric.title}</strong>
    <Choice label="Ranks" value={isOfAll ? 'all' : 'some'} onChoose={(value) => setOfAll(value === 'all')}
      options={[{ value: 'all', text: 'all' }, { value: 'some', text: 'those selected in the system tree' }]} />
    {model.runs.length > 1 && <Choice label="Widths" value={String(run)}
      onChoose={(value) => { state.flameRun.value = Number(value); }}
      options={model.runs.map((each, i) =>
          ({ value: String(i), text: `${letterOf(i)}: ${nameText(each.head.name)}` }))} />}
    {model.tree.runtimes.some((runtime) => runtime > 0) && <label class="choice"><input type="checkbox"
      checked={open.has(0)} onChange={(event) => {
        state.openChains.value = new Set(event.currentTarget.checked ? [0] : []);
      }} />all frames of runtimes</label>}
    {open.size > 0 && !open.has(0) && <button type="button"
      onClick={() => { state.openChains.value = new Set(); }}>Fold runtimes</button>}
    <Search label="Find functions" onText={setSearch} />
  </div>;
  if (Number.isNaN(total)) return <div class="flame">
    {tools}
    <p class="message">By call path this is not known here.</p>
  </div>;
  return <div class="flame">
    {tools}
    <h2>Flame graph</h2>
    <FlameGraph {...graph} difference={compare} name="flame_graph"
      label={`Flame graph of ${metric.title}; the table below lists functions`}
      boxes={boxes} enlarged={boxes.find((box) => box.nodes[0] === state.enlarged.value) ?? null}
      onEnlarge={(box) => { state.enlarged.value = box?.nodes[0] ?? 0; }} />
    {chosen && <>
      <h2>Sandwich of {nameText(chosen.name)} <button type="button" onClick={() => {
        state.selectNode(outermost(model, chosen.name, chosen.kind)[0] ?? 0);
        state.view.value = 'trees';
      }}>Show in the trees</button></h2>
      <h3>Called by</h3>
      <FlameGraph {...graph} name="callers" label={`Callers of ${nameText(chosen.name)}`}
        boxes={callers} isUpsideDown enlarged={caller} onEnlarge={setCaller} />
      <h3>Calls</h3>
      <FlameGraph {...graph} difference={compare} name="callees" label={`What ${nameText(chosen.name)} calls`}
        boxes={callees} enlarged={callee} onEnlarge={setCallee} />
    </>}
    <Table name="functions" caption="Functions" head={['function', ...heads]}
      numbers={[false, ...heads.map(() => true)]}
      rows={functions.slice(0, MOST_FUNCTIONS).map((of) => [
        { value: of.name, shown: <><button type="button" class="link"
            onClick={() => setChosen({ name: of.name, kind: of.kind })}>{nameText(of.name)}</button>{' '}
          <small>{noteOf(model, nodesOf(of.own))}</small></> },
        ...cellsOf(of),
      ])} />
  </div>;
}

function kindOf(model: Model, box: Box): number {
  return model.tree.kinds[box.nodes[0] ?? 0] ?? USER;
}
