/** Flame graph of the selected metric, and the sandwich of one function: its callers above, what it calls below. */
import { useMemo, useState } from 'preact/hooks';
import { errorText, nameText, shareText, valueText } from '../format';
import {
  callersOf, difference, flameOf, outermost, scalesOf, span, USER, valuesOfNodes, type Box, type Model, type Values,
} from '../model';
import * as state from '../state';
import { Choice } from '../widgets/choice';
import { FlameGraph, type BoxDifference } from '../widgets/flame_graph';
import { Search } from '../widgets/search';
import { Table } from '../widgets/table';

const LEAST = 0.0005; // of the width: half a point of 1,000
const MOST_FUNCTIONS = 40;

interface FunctionRow {
  name: string;
  kind: number;
  own: number;
  whole: number;
}

/** By function: its own time, and that with all it calls. */
function functionsOf(model: Model, values: Values, units: readonly number[]): FunctionRow[] {
  const { tree } = model, rows = new Map<string, FunctionRow>();
  for (let node = 1; node < tree.size; node++) {
    const key = `${tree.kinds[node]} ${tree.names[node]}`;
    let row = rows.get(key);
    if (!row) rows.set(key, row = { name: tree.names[node]!, kind: tree.kinds[node]!, own: 0, whole: 0 });
    row.own += values.of(units.map((unit) => span(node, node + 1, unit)));
  }
  for (const row of rows.values())
    for (const node of outermost(model, row.name, row.kind)) row.whole += values.of(units.map((unit) =>
        span(node, tree.ends[node]!, unit)));
  return [...rows.values()].sort((a, b) => b.own - a.own);
}

export function FlameView() {
  const model = state.model.value!, coupled = state.coupled.value!, parts = state.parts.value;
  const [search, setSearch] = useState(''), [shown, setShown] = useState('0');
  const isOfAll = !state.flameOfSelected.value, chosen = state.sandwich.value;
  const setChosen = (of: { name: string; kind: number }): void => { state.sandwich.value = of; };
  const setOfAll = (isAll: boolean): void => { state.flameOfSelected.value = !isAll; };
  const metric = model.metrics[state.metric.value]!, places = isOfAll ? null : coupled.system.spans;
  const valuesBy = useMemo(() => model.runs.map((run) => valuesOfNodes(model, {
    run, metrics: coupled.metric.spans ?? model.metricSpans(0), nodes: [], places: run === model.first ? places : null,
  })), [model, coupled.metric.spans, places]);
  const run = Math.min(Number(shown), model.runs.length - 1), values = valuesBy[run]!;
  const boxes = useMemo(() => flameOf(model, values, parts, [0], LEAST), [model, values, parts]);
  const functions = useMemo(() => functionsOf(model, values, parts), [model, values, parts]);
  const total = values.of(model.everything(parts));
  const callees = useMemo(() => chosen ? flameOf(model, values, parts, outermost(model, chosen.name, chosen.kind),
      LEAST) : [], [chosen, values, parts]);
  const callers = useMemo(() => chosen ? callersOf(model, values, parts, outermost(model, chosen.name, chosen.kind),
      LEAST) : [], [chosen, values, parts]);

  /** What the second run takes more in a box, with its error; only of several runs. */
  const compare = model.runs.length < 2 ? undefined : (box: Box): BoxDifference => {
    const spans = box.nodes.flatMap((node) => parts.map((unit) => span(node, model.tree.ends[node]!, unit)));
    const [before, now] = valuesBy.slice(0, 2).map((of) => ({ value: of.of(spans), error: of.errorOf(spans) }));
    const scales = scalesOf(model.runs[0]!, model.runs[1]!), of = difference(before!, now!, scales);
    const largest = Math.max(before!.value * scales[0], now!.value * scales[1]);
    return {
      part: largest > 0 ? of.value / largest : 0,
      text: `B \u2212 A: ${valueText(of.value, metric.unit)} ${errorText(of.error, metric.unit, false)}`,
    };
  };
  const choose = (box: Box): void => setChosen({ name: box.name, kind: kindOf(model, box) });
  const graph = { unit: metric.unit, total, search, onChoose: choose };
  if (Number.isNaN(total)) return <p class="message">By call path this is not known here. <button type="button"
      onClick={() => setOfAll(true)}>All ranks</button></p>;
  return <div class="flame">
    <div class="tools">
      <strong>{metric.title}</strong>
      <Choice label="Ranks" value={isOfAll ? 'all' : 'some'} onChoose={(value) => setOfAll(value === 'all')}
        options={[{ value: 'all', text: 'all' }, { value: 'some', text: 'those selected in the system tree' }]} />
      {model.runs.length > 1 && <Choice label="Widths" value={shown} onChoose={setShown}
        options={model.runs.map((each, i) =>
            ({ value: String(i), text: `${String.fromCharCode(65 + i)}: ${nameText(each.head.name)}` }))} />}
      <Search label="Find functions" onText={setSearch} />
    </div>
    <h2>Flame graph</h2>
    <FlameGraph {...graph} difference={compare} name="flame_graph"
      label={`Flame graph of ${metric.title}; the table below lists functions`}
      boxes={boxes} />
    {chosen && <>
      <h2>Sandwich of {nameText(chosen.name)} <button type="button" onClick={() => {
        state.selectNode(outermost(model, chosen.name, chosen.kind)[0] ?? 0);
        state.view.value = 'trees';
      }}>Show in the trees</button></h2>
      <h3>Called by</h3>
      <FlameGraph {...graph} name="callers" label={`Callers of ${nameText(chosen.name)}`}
        boxes={callers} isUpsideDown />
      <h3>Calls</h3>
      <FlameGraph {...graph} difference={compare} name="callees" label={`What ${nameText(chosen.name)} calls`}
        boxes={callees} />
    </>}
    <Table name="functions" caption="Functions" head={['function', 'own', 'share', 'with what it calls', 'share']}
      numbers={[false, true, true, true, true]}
      rows={functions.slice(0, MOST_FUNCTIONS).map((of) => [
        { value: of.name, shown: <button type="button" class="link"
            onClick={() => setChosen({ name: of.name, kind: of.kind })}>{nameText(of.name)}</button> },
        { value: of.own, shown: valueText(of.own, metric.unit) },
        { value: of.own / total, shown: shareText(of.own / total) },
        { value: of.whole, shown: valueText(of.whole, metric.unit) },
        { value: of.whole / total, shown: shareText(of.whole / total) },
      ])} />
  </div>;
}

function kindOf(model: Model, box: Box): number {
  return model.tree.kinds[box.nodes[0] ?? 0] ?? USER;
}
