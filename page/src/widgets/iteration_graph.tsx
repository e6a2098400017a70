/** Least, median, greatest and peak over the iterations, or how they differ between runs, and which class iterations
 * belong to. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { classColors } from '../colors';
import { valueText } from '../format';
import type { Curves, Unit } from '../model';
import { Canvas } from './canvas';
import { isCommand } from './keys';
import { onPaper } from './paper';

export interface Line {
  /** Empty: there is only one run. */
  name: string;
  /** Iterations per point. */
  width: number;
  /** Without a peak: a difference of runs. */
  curves: Omit<Curves, 'peak'> & Partial<Curves>;
}

export interface IterationGraphProps {
  lines: readonly Line[];
  unit: Unit;
  iterations: number;
  range: readonly [number, number] | null;
  onRange: (range: readonly [number, number] | null) => void;
  /** Number of a class for every `classWidth` iterations, 0: none. */
  classes: Float32Array;
  classWidth: number;
}

const HEIGHT = 280;
const SIDE = 80; // room for numbers on the left
const END = 20; // room for half of the last number on the right
const lineColors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];

/** Points of all lines on the axis of the first one. */
function dataOf(lines: readonly Line[]): uPlot.AlignedData {
  const first = lines[0]!, points = first.curves.median.length;
  const axis = Float64Array.from({ length: points }, (_, i) => (i + 0.5) * first.width - 0.5);
  const on = (line: Line, values: Float32Array): (number | null)[] => Array.from(axis, (at) => {
    const value = values[Math.floor((at + 0.5) / line.width)];
    return value === undefined || Number.isNaN(value) ? null : value;
  });
  return [axis, ...lines.flatMap((line, i) => i === 0
      ? [line.curves.least, line.curves.greatest, ...line.curves.peak ? [line.curves.peak] : [],
      line.curves.median].map((values) => on(line, values)) :
    [on(line, line.curves.median)])] as unknown as uPlot.AlignedData;
}

function optionsOf(lines: readonly Line[], unit: Unit, width: number, color: string,
    onRange: IterationGraphProps['onRange']): uPlot.Options {
  const value = (_: uPlot, v: number | null): string => v === null ? '' : valueText(v, unit),
      named = (text: string, line: Line): string => line.name ? `${text} of ${line.name}` : text;
  const axis = { stroke: color, grid: { stroke: 'rgba(128, 128, 128, 0.25)' },
      ticks: { stroke: 'rgba(128, 128, 128, 0.5)' } };
  return {
    width, height: HEIGHT, padding: [8, END, 0, 0],
    scales: { x: { time: false }, y: { range: (_, least, most) =>
      [Math.min(0, 1.05 * least), most > 0 ? 1.05 * most : least < 0 ? 0 : 1] } },
    axes: [{ ...axis, label: 'iteration' },
        { ...axis, size: SIDE, values: (_, splits) => splits.map((split) => valueText(split, unit)) }],
    series: [{ label: 'iteration', value: (_, v) => v === null ? '' : String(Math.floor(v + 0.5)) },
        ...lines.flatMap((line, i) => i === 0 ? [
      { label: named('least', line), stroke: 'transparent', value },
      { label: named('greatest', line), stroke: 'transparent', value },
      ...line.curves.peak ? [{ label: named('peak', line), stroke: 'rgba(128, 128, 128, 0.6)', width: 0.5, value }] : [],
      { label: named('median', line), stroke: lineColors[0], width: 1.5, value },
    ] : [{ label: named('median', line), stroke: lineColors[i % lineColors.length], width: 1.5, value }])],
    bands: [{ series: [2, 1], fill: 'rgba(0, 114, 178, 0.25)' }],
    // A double click shows all, as Escape does.
    cursor: { drag: { x: true, y: false, setScale: false }, bind: { dblclick: () => () => {
      onRange(null);
      return null;
    } } },
    hooks: {
      setSelect: [(plot) => {
        if (plot.select.width < 4) return;
        const at = (x: number): number => Math.max(0, Math.round(plot.posToVal(x, 'x')));
        onRange([at(plot.select.left), Math.max(at(plot.select.left) + 1, at(plot.select.left + plot.select.width))]);
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
    },
  };
}

export function IterationGraph(props: IterationGraphProps) {
  const { lines, unit, iterations, range, classes, classWidth } = props, place = useRef<HTMLDivElement>(null),
      plot = useRef<uPlot | null>(null);
  const [from, to] = range ?? [0, iterations], shown = useRef({ min: from, max: to });
  shown.current = { min: from, max: to };
  useEffect(() => {
    const box = place.current!;
    const make = (color: string): void => {
      plot.current?.destroy();
      const made = plot.current = new uPlot(optionsOf(lines, unit, box.clientWidth, color, (next) =>
          props.onRange(next)), dataOf(lines), box);
      made.batch(() => made.setScale('x', shown.current)); // drawn at once
    };
    const makeForScreen = (): void => make(getComputedStyle(box).color);
    makeForScreen();
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: box.clientWidth, height: HEIGHT }));
    observer.observe(box);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', makeForScreen);
    const stop = onPaper(() => make('#000'), makeForScreen);
    return () => {
      observer.disconnect();
      dark.removeEventListener('change', makeForScreen);
      stop();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [lines, unit]);
  useEffect(() => { plot.current?.setScale('x', shown.current); }, [from, to]);

  const move = (by: number, zoom: number): void => {
    const middle = (from + to) / 2 + by * (to - from), half = Math.max(1, (to - from) * zoom / 2);
    const begin = Math.max(0, Math.round(middle - half)), end = Math.min(iterations, Math.round(middle + half));
    props.onRange(begin === 0 && end === iterations ? null : [begin, Math.max(begin + 1, end)]);
  };
  return <figure tabIndex={0} role="group"
      aria-label="Graph over the iterations: arrows move, plus and minus zoom, Escape shows all"
      onKeyDown={(event) => {
    const keys: Record<string, () => void> = { ArrowLeft: () => move(-0.25, 1), ArrowRight: () => move(0.25, 1),
        '+': () => move(0, 0.5), '-': () => move(0, 2), Escape: () => props.onRange(null) };
    const act = isCommand(event) ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }}>
    <div ref={place} class="graph" />
    <Canvas height={14} label="Classes of iterations along the axis; the table below lists them"
      draw={({ context, width }) => {
      const room = width - SIDE - END;
      for (let x = 0; x < room; x++) {
        const of = classes[Math.floor((from + (x + 0.5) / room * (to - from)) / classWidth)];
        if (!of) continue;
        context.fillStyle = classColors[(of - 1) % classColors.length]!;
        context.fillRect(SIDE + x, 0, 1, 14);
      }
    }} />
  </figure>;
}
