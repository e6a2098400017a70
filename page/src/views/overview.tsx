/** The first view: what stands out, where the time is, what was run. */
import { useMemo, useRef, useState } from 'preact/hooks';
import { classColors, kindColors } from '../colors';
import { errorText, nameText, pathText, shareText, valueText } from '../format';
import {
  areCompared, columnsOf, difference, letterOf, rankName, scalesOf, span, valuesOfMetrics, type Finding, type Model,
  type Run,
} from '../model';
import * as state from '../state';
import { Canvas, textColor } from '../widgets/canvas';
import { SvgWriter } from '../widgets/download';
import { Legend, type Key } from '../widgets/legend';
import { Table, TableOfPicture, type Cell } from '../widgets/table';

function FindingLine({ run, finding }: { run: Run; finding: Finding }) {
  const { share, error, text, part_of: whole } = finding;
  const shown = <>
    {share > 0 && <strong>{shareText(share)} {error > 0 && errorText(error, '1', true)} </strong>}{nameText(text)}
    {whole !== undefined && `; part of ${whole + 1}`}
  </>;
  return <li>{state.canFollow(finding)
      ? <button type="button" class="link" onClick={() => state.follow(run, finding)}>{shown}</button> : shown}</li>;
}

function Findings({ model }: { model: Model }) {
  return <section aria-labelledby="findings">
    <h2 id="findings">What stands out</h2>
    {model.runs.map((run) => <div key={run.index}>
      {model.runs.length > 1 && <h3>{letterOf(run.index)}: {nameText(run.head.name)}</h3>}
      {run.head.findings.length === 0 ? <p>Nothing.</p> : <ol
          class="findings">{run.head.findings.map((finding, i) => <FindingLine run={run}
          finding={finding} key={i} />)}</ol>}
    </div>)}
  </section>;
}

/** The run that a table or picture belongs to, if there are several. */
function ofRun(model: Model, run: Run): string {
  return model.runs.length > 1 ? ` of ${letterOf(run.index)} (${nameText(run.head.name)})` : '';
}

/** Properties of each run that has any. */
function Properties({ model }: { model: Model }) {
  return <>{model.runs.filter((run) => run.head.properties.length > 0).map((run) => <section key={run.index}
      aria-label={`Performance properties${ofRun(model, run)}`}>
    <Table name="properties" caption={`Performance properties${ofRun(model, run)}, the most severe first`}
      head={['property', 'context', 'severity', 'confidence']} numbers={[false, false, true, true]}
      rows={run.head.properties.map((each) => [
        { value: each.name },
        { value: each.context, shown: each.node >= 0 ? <button type="button" class="link" onClick={() => {
          state.selectNode(run.numbering.nodes[each.node] ?? 0);
          state.view.value = 'trees';
        }}>{nameText(each.context)}</button> : nameText(each.context) },
        { value: each.severity, shown: shareText(each.severity) },
        { value: each.confidence, shown: each.confidence.toFixed(2) },
      ])} />
  </section>)}</>;
}

/** Factors as rows, the runs and their loops as columns. */
function Efficiencies({ model }: { model: Model }) {
  const columns = model.runs.flatMap((run) => (run.head.efficiencies ?? []).map((tree) => ({
    tree, head: (model.runs.length > 1 ? `${letterOf(run.index)}: ` : '')
        + (tree.loop === '' ? 'the run' : nameText(tree.loop)),
  })));
  if (columns.length === 0) return null;
  const why = columns.find(({ tree }) => tree.why !== '')?.tree.why;
  return <section aria-label="Efficiencies">
    <Table name="efficiencies" caption="Efficiencies (POP): a factor is the product of those below it"
      head={['factor', ...columns.map(({ head }) => head)]} numbers={[false, ...columns.map(() => true)]}
      rows={columns[0]!.tree.factors.map((factor) => [
        { value: factor.title, shown: `${'\u00a0\u00a0'.repeat(factor.depth)}${factor.title}` },
        ...columns.map(({ tree }) => {
          const { value, error } = tree.factors.find((each) => each.name === factor.name) ?? { value: null, error: 0 };
          return { value: value ?? '', shown: value === null ? 'n/a' : `${shareText(value)} ${errorText(error, '1',
              true)}` };
        }),
      ])} />
    {why !== undefined && <p>n/a: {why}.</p>}
  </section>;
}

interface Band {
  name: string;
  color: string;
  byPlace: Float64Array;
}

/** Time by kind: the classes of MPI functions, user code, and the rest. */
function bandsOf(model: Model, run: Run): Band[] {
  const all = [span(0, model.tree.size)];
  if (!run.cells) return [];
  const times = model.metrics.flatMap((metric, i) => metric.unit === 's' && model.rootOfMetric(i) === 0
      && !metric.overlaps ? [i] : []);
  const bands = times.map((metric) => ({ metric,
      byPlace: run.cells!.byPlace([span(metric, metric + 1)],
      all) })).filter((band) => band.byPlace.some((value) => value > 0));
  const others = classColors.filter((color) => color !== kindColors.user);
  return bands.map(({ metric, byPlace }, i) => {
    const { name, title } = model.metrics[metric]!;
    return { name: title, color: name === 'user' ? kindColors.user! : others[i % others.length]!, byPlace };
  });
}

const STRIP = 160;

const TABLE_ROWS = 64;

/** Time by class over ranks: a column for each rank, as far as there are enough points. Enter, or a click, selects a
 * rank in the trees. */
function TimeStrip({ model, run }: { model: Model; run: Run }) {
  const bands = useMemo(() => bandsOf(model, run), [run, state.cellsRead.value]);
  const [at, setAt] = useState(0), size = useRef(1);
  const ofRank = useMemo(() => run.ranks.map((rank) =>
      bands.map((band) => band.byPlace.slice(rank.span.begin, rank.span.end).reduce((a, b) => a + b, 0))), [bands]);
  if (bands.length === 0) return <p>{state.cellsRead.value === 0 ? 'Reading\u2026' : 'By rank: not in this file.'}</p>;
  const user = bands.findIndex((band) => band.color === kindColors.user),
      most = Math.max(...ofRank.map((values) => values.reduce((a, b) => a + b, 0)));
  const boxes = (width: number): { x: number; y: number; w: number; h: number; band: number }[] =>
      columnsOf(ofRank, user, width).flatMap(({ values }, i, all) => {
    const w = width / all.length;
    let y = STRIP;
    return values.map((value, band) => {
      const h = value / most * STRIP;
      return { x: i * w, y: y -= h, w: w + (all.length > 64 ? 0.5 : -1), h, band };
    });
  });
  const keys: Key[] = bands.map((band) => ({ color: band.color, text: nameText(band.name) }));
  const nameOf = (rank: number): string => rankName(run.ranks[rank]!);
  const textOf = (rank: number): string => keys.map((key, band) => ({ key, value: ofRank[rank]![band]! }))
      .filter(({ value }) => value > 0).map(({ key, value }) => `${key.text} ${valueText(value, 's')}`).join(', ');
  const choose = (rank: number): void => {
    const { first, last } = run.ranks[rank]!;
    state.selectRanks([[first, last]]);
    state.view.value = 'trees';
  };
  const rankAt = (x: number): number => {
    const columns = columnsOf(ofRank, user, size.current);
    return columns[Math.min(columns.length - 1, Math.max(0, Math.floor(x / size.current * columns.length)))]!.rank;
  };
  return <figure>
    <figcaption>Time by class over ranks{ofRun(model, run)}, up to {valueText(most, 's')}</figcaption>
    <Canvas height={STRIP}
      label={`Time by class over ${ofRank.length} ranks${ofRun(model, run)}; the table below has the values`}
      onWidth={(width) => { size.current = Math.max(1, width); }}
      onPointer={(kind, x) => {
        if (kind === 'move') setAt(rankAt(x));
        else if (kind === 'up') choose(rankAt(x));
      }}
      onKey={(event) => {
        const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }, step = steps[event.key];
        if (step) setAt(Math.min(ofRank.length - 1, Math.max(0, at + step)));
        else if (event.key === ' ' || event.key === 'Enter') choose(at);
        else return;
        event.preventDefault();
      }}
      draw={({ context, width }) => {
      for (const box of boxes(width)) {
        context.fillStyle = bands[box.band]!.color;
        context.fillRect(box.x, box.y, box.w, box.h);
      }
      context.strokeStyle = textColor(context);
      context.strokeRect(at / ofRank.length * width + 0.5, 0.5, Math.max(2, width / ofRank.length - 2), STRIP - 1);
    }} />
    <Legend keys={keys} />
    <p aria-live="polite">{nameOf(at)}: {textOf(at)}.</p>
    <button type="button" class="quiet" onClick={() => {
      const svg = new SvgWriter(900, STRIP + 20 + 16 * bands.length);
      for (const box of boxes(900)) svg.box(box.x, box.y, box.w, box.h, bands[box.band]!.color);
      keys.forEach((key, i) => svg.key(0, STRIP + 20 + 16 * i, key.color, key.text));
      svg.save('time_by_rank');
    }}>Save as SVG</button>
    <TableOfPicture name="time_by_rank" caption={`Time by class over ranks${ofRun(model, run)}`}
      head={['ranks', ...keys.map((key) => key.text)]} numbers={[false, ...keys.map(() => true)]}
      rows={columnsOf(ofRank, user, TABLE_ROWS).map(({ begin, end, rank, values, extreme }) => [
        { value: nameOf(rank)
            + (extreme ? `, ${extreme} user code of ${nameOf(begin)} to ${nameOf(end - 1)}` : '') },
        ...values.map((value) => ({ value, shown: valueText(value, 's') })),
      ])} />
  </figure>;
}

/** Where the time of the whole run is, and how other runs differ from the first one. */
function TimeTable({ model }: { model: Model }) {
  const { runs } = model, numbers = model.metrics.map((_, number) => number).filter((number) =>
      model.metrics[number]!.unit === 's' && model.rootOfMetric(number) === 0);
  const byRun = useMemo(() => runs.map((run) => {
    const values = valuesOfMetrics(model, { run, metrics: [], nodes: model.everything([0]), places: null });
    return new Map(numbers.map((number) => {
      const spans = model.metricSpans(number);
      return [number, { value: values.of(spans), error: values.errorOf(spans) }];
    }));
  }), [model]);
  const value = (run: number, number: number): number => byRun[run]!.get(number)!.value;
  const cellsOf = (run: number, number: number): Cell[] => {
    const share = value(run, number) / value(run, 0);
    const cells: Cell[] = [{ value: value(run, number), shown: valueText(value(run, number), 's') },
      { value: share, shown: shareText(share) }];
    if (run === 0) return cells;
    const of = difference(byRun[0]!.get(number)!, byRun[run]!.get(number)!, scalesOf(model, runs[0]!, runs[run]!));
    const text = `${of.value > 0 ? '+' : ''}${valueText(of.value, 's')} ${errorText(of.error, 's', false)}`;
    return [...cells, { value: of.value, shown: text }];
  };
  const isOfMeans = runs.length > 1 && areCompared(runs) === 'means';
  return <>
    <Table name="time" caption="Time" head={['time in', ...runs.flatMap((run, i) => [
        (runs.length > 1 ? `${letterOf(i)}: ` : '') + nameText(run.head.name), 'share',
        ...(i > 0 ? [`${letterOf(i)} \u2212 A`] : [])])]}
      numbers={[false, ...runs.flatMap((_, i) => i > 0 ? [true, true, true] : [true, true])]}
      rows={numbers.filter((number) => runs.some((_, run) => value(run, number) > 0)).map((number) => {
        const metric = model.metrics[number]!;
        return [{ value: metric.title, shown: <button type="button" class="link" onClick={() => {
          state.selectMetric(metric.name);
          state.view.value = 'trees';
        }}>{metric.overlaps ? `of it: ${metric.title}` : metric.title}</button> },
        ...runs.flatMap((_, run) => cellsOf(run, number))];
      })} />
    {isOfMeans && <p>The runs have different numbers of ranks: differences are of means over ranks.</p>}
  </>;
}

function Facts({ model }: { model: Model }) {
  return <section aria-labelledby="facts">
    <h2 id="facts">The run</h2>
    {model.runs.map((run) => <div key={run.index}>
      {model.runs.length > 1 && <h3>{letterOf(run.index)}: {nameText(run.head.name)}</h3>}
      <dl class="facts">
        {run.head.facts.map(([label, text], i) => <div key={i}><dt>{label}</dt><dd>{nameText(text)}</dd></div>)}
      </dl>
    </div>)}
  </section>;
}

/** The largest call paths of user code and MPI, by their own time. */
function Largest({ model }: { model: Model }) {
  const run = model.first, values = model.byNode({ run, metrics: model.metricSpans(0), nodes: [], places: null }, 0);
  if (!values) return null;
  const all = values[values.length - 1]!;
  const nodes = Array.from({ length: model.tree.size - 1 }, (_, i) => i + 1).map((node) =>
      ({ node, value: values[node + 1]! - values[node]! }))
    .sort((a, b) => b.value - a.value).slice(0, 10).filter(({ value }) => value > 0.005 * all);
  return <Table name="largest" caption={`Call paths with the largest time of their own${ofRun(model, run)}`}
      head={['call path', 'time', 'share']} numbers={[false, true, true]} rows={nodes.map(({ node, value }) => [
    { value: pathText(state.pathOf(node)), shown: <button type="button" class="link" onClick={() => {
      state.selectNode(node);
      state.view.value = 'trees';
    }}>{pathText(state.pathOf(node).slice(-3))}</button> },
    { value, shown: valueText(value, 's') }, { value: value / all, shown: shareText(value / all) },
  ])} />;
}

export function Overview() {
  const model = state.model.value!;
  return <div class="overview">
    <Findings model={model} />
    <section aria-label="Where the time is">
      <h2>Where the time is</h2>
      {model.runs.map((run) => <TimeStrip model={model} run={run} key={run.index} />)}
      <TimeTable model={model} />
      <Largest model={model} />
    </section>
    <Efficiencies model={model} />
    <Properties model={model} />
    <Facts model={model} />
  </div>;
}
