/** The first view: what stands out, where the time is, what was run. */
import { useMemo } from 'preact/hooks';
import { classColors, kindColors } from '../colors';
import { errorText, nameText, pathText, shareText, valueText } from '../format';
import { span, type Finding, type Model } from '../model';
import * as state from '../state';
import { Canvas } from '../widgets/canvas';
import { SvgWriter } from '../widgets/download';
import { Legend, type Key } from '../widgets/legend';
import { Table } from '../widgets/table';

function FindingLine({ finding }: { finding: Finding }) {
  const { share, error, text, part_of: whole } = finding;
  return <li>
    <button type="button" class="link" onClick={() => state.follow(finding)}>
      {share > 0 && <strong>{shareText(share)} {error > 0 && errorText(error, '1', true)} </strong>}{nameText(text)}
      {whole !== undefined && `; part of ${whole + 1}`}
    </button>
  </li>;
}

function Findings({ model }: { model: Model }) {
  return <section aria-labelledby="findings">
    <h2 id="findings">What stands out</h2>
    {model.runs.map((run) => <div key={run.index}>
      {model.runs.length > 1 && <h3>{nameText(run.head.name)}</h3>}
      {run.head.findings.length === 0 ? <p>Nothing.</p> : <ol
          class="findings">{run.head.findings.map((finding, i) => <FindingLine finding={finding} key={i} />)}</ol>}
    </div>)}
  </section>;
}

function Properties({ model }: { model: Model }) {
  const { properties } = model.first.head;
  if (properties.length === 0) return null;
  return <section aria-label="Performance properties">
    <Table name="properties" caption="Performance properties, the most severe first"
      head={['property', 'context', 'severity', 'confidence']} numbers={[false, false, true, true]}
      rows={properties.map((of) => [
        { value: of.name },
        { value: of.context, shown: of.node >= 0 ? <button type="button" class="link" onClick={() => {
          state.selectNode(model.first.numbering.nodes[of.node] ?? 0);
          state.view.value = 'trees';
        }}>{nameText(of.context)}</button> : nameText(of.context) },
        { value: of.severity, shown: shareText(of.severity) },
        { value: of.confidence, shown: of.confidence.toFixed(2) },
      ])} />
  </section>;
}

/** Factors as rows, the run and its loops as columns. */
function Efficiencies({ model }: { model: Model }) {
  const trees = model.first.head.efficiencies ?? [];
  if (trees.length === 0) return null;
  return <section aria-label="Efficiencies">
    <Table name="efficiencies" caption="Efficiencies (POP): a factor is the product of those below it"
      head={['factor', ...trees.map((tree) => tree.loop === '' ? 'the run' : nameText(tree.loop))]}
      numbers={[false, ...trees.map(() => true)]}
      rows={trees[0]!.factors.map((factor, i) => [
        { value: factor.title, shown: `${'\u00a0\u00a0'.repeat(factor.depth)}${factor.title}` },
        ...trees.map((tree) => {
          const { value, error } = tree.factors[i]!;
          return { value: value ?? '', shown: value === null ? 'n/a' : `${shareText(value)} ${errorText(error, '1',
              true)}` };
        }),
      ])} />
    {trees.some((tree) => tree.why !== '') && <p>n/a: {trees.find((tree) => tree.why !== '')!.why}.</p>}
  </section>;
}

interface Band {
  name: string;
  color: string;
  byPlace: Float64Array;
}

/** Time by what it is: the classes of MPI functions, user code, and the rest. */
function bandsOf(model: Model): Band[] {
  const run = model.first, all = [span(0, model.tree.size)];
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

/** The ranks that share a column of the picture: first, behind the last. */
function columnsOf(ranks: number, width: number): [number, number][] {
  const columns = Math.max(1, Math.min(ranks, Math.floor(width)));
  return Array.from({ length: columns }, (_, i) =>
      [Math.floor(i * ranks / columns), Math.max(Math.floor(i * ranks / columns) + 1,
      Math.floor((i + 1) * ranks / columns))]);
}

/** Time by class over ranks. Of ranks that share a column the one with most time in user code is shown, so that
 * extremes stay. */
function TimeStrip({ model }: { model: Model }) {
  const run = model.first, bands = useMemo(() => bandsOf(model), [state.cellsRead.value]);
  const ofRank = useMemo(() => run.ranks.map((rank) =>
      bands.map((band) => band.byPlace.slice(rank.span.begin, rank.span.end).reduce((a, b) => a + b, 0))), [bands]);
  if (bands.length === 0) return <p>{state.cellsRead.value === 0 ? 'Reading\u2026' : 'By rank: not in this file.'}</p>;
  const user = bands.findIndex((band) => band.color === kindColors.user),
      most = Math.max(...ofRank.map((values) => values.reduce((a, b) => a + b, 0)));
  const boxes = (width: number): { x: number; y: number; w: number; h: number; band: number }[] =>
      columnsOf(ofRank.length, width).flatMap(([begin, end], i, all) => {
    const values = ofRank.slice(begin, end).reduce((best, each) => user >= 0 && each[user]! > best[user]! ? each
        : best), w = width / all.length;
    let y = STRIP;
    return values.map((value, band) => {
      const h = value / most * STRIP;
      return { x: i * w, y: y -= h, w: w + (all.length > 64 ? 0.5 : -1), h, band };
    });
  });
  const keys: Key[] = bands.map((band) => ({ color: band.color, text: nameText(band.name) }));
  return <figure>
    <figcaption>Time by class over ranks, up to {valueText(most, 's')}</figcaption>
    <Canvas height={STRIP} label={`Time by class over ${ofRank.length} ranks; the table below has the sums`}
      draw={({ context, width }) => {
      for (const box of boxes(width)) {
        context.fillStyle = bands[box.band]!.color;
        context.fillRect(box.x, box.y, box.w, box.h);
      }
    }} />
    <Legend keys={keys} />
    <button type="button" class="quiet" onClick={() => {
      const svg = new SvgWriter(900, STRIP + 20 + 16 * bands.length);
      for (const box of boxes(900)) svg.box(box.x, box.y, box.w, box.h, bands[box.band]!.color);
      keys.forEach((key, i) => svg.text(0, STRIP + 20 + 16 * i, key.text, key.color));
      svg.save('time_by_rank');
    }}>Save as SVG</button>
  </figure>;
}

/** Where the time of the whole run is. */
function TimeTable({ model }: { model: Model }) {
  const rows = model.metrics.flatMap((metric, number) => metric.unit === 's' && model.rootOfMetric(number) === 0
      ? [{ metric, number }] : []);
  const ofRun = model.runs.map((run) => {
    const values = model.byMetric({ run, metrics: [], nodes: model.everything([0]), places: null });
    return (number: number): number => model.metricSpans(number).reduce((sum, each) => {
      for (let metric = each.begin; metric < each.end; metric++) sum += values[metric] || 0;
      return sum;
    }, 0);
  });
  return <Table name="time" caption="Time"
      head={['time in', ...model.runs.flatMap((run) => [nameText(run.head.name), 'share'])]}
      numbers={[false, ...model.runs.flatMap(() => [true, true])]}
    rows={rows.filter(({ number }) => ofRun.some((of) => of(number) > 0)).map(({ metric, number }) => [
      { value: metric.title, shown: <button type="button" class="link" onClick={() => {
        state.selectMetric(metric.name);
        state.view.value = 'trees';
      }}>{metric.overlaps ? `of it: ${metric.title}` : metric.title}</button> },
      ...ofRun.flatMap((of) => [{ value: of(number), shown: valueText(of(number), 's') },
          { value: of(number) / of(0), shown: shareText(of(number) / of(0)) }]),
    ])} />;
}

function Facts({ model }: { model: Model }) {
  return <section aria-labelledby="facts">
    <h2 id="facts">The run</h2>
    {model.runs.map((run) => <dl class="facts" key={run.index}>
      {run.head.facts.map(([label, text], i) => <div key={i}><dt>{label}</dt><dd>{nameText(text)}</dd></div>)}
    </dl>)}
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
  return <Table name="largest" caption="Call paths with the largest time of their own"
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
      <TimeStrip model={model} />
      <TimeTable model={model} />
      <Largest model={model} />
    </section>
    <Efficiencies model={model} />
    <Properties model={model} />
    <Facts model={model} />
  </div>;
}
