/** Ranks x iterations as colours, of one run or of the difference of two. The wheel, or plus and minus, zoom; dragging,
 * or the arrows, move; Escape shows all. */
import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { css, differenceColor, stepOf, valueColor, type Rgb } from '../colors';
import { valueText } from '../format';
import {
  areRowsAlike, blocksOf, differenceOfMaps, letterOf, levelFor, locationsOfRow, pyramidOf, rangeIn, rowName,
  type Iterations, type Loop, type MapSetting, type Run,
} from '../model';
import { Canvas, type Surface } from './canvas';
import { Choice } from './choice';
import { SvgWriter } from './download';
import { Scale } from './legend';
import { TableOfPicture } from './table';

interface LoopOfRun {
  run: Run;
  loop: Loop;
  data: Iterations;
}

export interface IterationMapProps extends LoopOfRun {
  /** The same loop in other runs. */
  others: readonly LoopOfRun[];
  range: readonly [number, number] | null;
  onRange: (range: readonly [number, number] | null) => void;
  onRanks: (ranks: number[]) => void;
  setting: MapSetting;
  onSetting: (setting: MapSetting) => void;
}

const HEIGHT = 320;
const LEAST = 4; // iterations, or ranks, that stay visible

/** Colours of 256 steps, as pixels. */
function pixelsOf(color: (part: number) => Rgb): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, i) => {
    const [r, g, b] = color(i / 255);
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  });
}
const colorOf = (part: number, isDifference: boolean): Rgb => isDifference ? differenceColor(2 * part - 1)
    : valueColor(part);
const pixels = pixelsOf((part) => colorOf(part, false)), differencePixels = pixelsOf((part) => colorOf(part, true));
const TRANSPARENT = 0; // not known

export function IterationMap(props: IterationMapProps) {
  const { run, loop, data, others, range, onRange, onRanks, setting, onSetting } = props;
  const [at, setAt] = useState({ row: 0, column: 0 });
  const chosen = Math.min(setting.metric, loop.maps.length - 1), map = loop.maps[chosen]!,
      drag = useRef<{ x: number; y: number } | null>(null),
      size = useRef(1);
  const alike = others.filter((each) => areRowsAlike(loop, each.loop)
      && each.loop.maps.some((other) => other.metric === map.metric));
  const now = alike.find((each) => each.run.index === setting.run), rows = rangeIn(setting.rows, map.rows);
  const setRows = (next: readonly [number, number] | null): void => onSetting({ ...setting, rows: next });
  const { levels, most } = useMemo(() => {
    const mean = data.map(map, false), other = now?.loop.maps.find((each) => each.metric === map.metric);
    const largest = (values: Float64Array): number => values.reduce((a, b) => Math.abs(b) > a ? Math.abs(b) : a, 0);
    if (!now || !other)
      return { levels: pyramidOf(map.rows, map.columns, mean, data.map(map, true)), most: largest(mean) };
    const difference = differenceOfMaps({ loop, map, values: mean },
        { loop: now.loop, map: other, values: now.data.map(other, false) });
    return { levels: pyramidOf(map.rows, map.columns, difference, difference), most: largest(difference) };
  }, [data, map, now]);
  const isDifference = now !== undefined, minus = now ? `${letterOf(now.run.index)} \u2212 ${letterOf(run.index)}` : '';
  /** Position of a value on the colour scale. */
  const partOf = (value: number): number => Number.isNaN(value) ? NaN : most === 0
      ? isDifference ? 0.5 : 0 : isDifference ? (value / most + 1) / 2 : value / most;
  const [from, to] = range ?? [0, loop.iterations], [top, bottom] = rows ?? [0, map.rows];
  const first = Math.floor(from / map.width), last = Math.min(map.columns, Math.ceil(to / map.width));
  const blocks = useMemo(() => blocksOf({ ...map, mean: levels[0]!.mean }, first, last, { rows: 32, columns: 8 }),
      [levels, first, last]);

  const draw = ({ context, width, height }: Surface): void => {
    const share = { rows: (bottom - top) / map.rows, columns: (to - from) / loop.iterations };
    const number = levelFor(levels, share, { rows: height, columns: width }), level = levels[number]!,
        scale = 2 ** number;
    const x0 = Math.floor(from / map.width / scale), x1 = Math.min(level.columns, Math.ceil(to / map.width / scale));
    const y0 = Math.floor(top / scale), y1 = Math.min(level.rows, Math.ceil(bottom / scale));
    if (x1 <= x0 || y1 <= y0) return;
    const picture = new ImageData(x1 - x0, y1 - y0), colors = new Uint32Array(picture.data.buffer);
    const table = isDifference ? differencePixels : pixels;
    for (let y = y0, to = 0; y < y1; y++)
      for (let x = x0; x < x1; x++) {
        const step = stepOf(partOf(level.mean[y * level.columns + x]!));
        colors[to++] = step === null ? TRANSPARENT : table[step]!;
      }
    const hidden = document.createElement('canvas');
    hidden.width = picture.width;
    hidden.height = picture.height;
    hidden.getContext('2d')!.putImageData(picture, 0, 0);
    context.imageSmoothingEnabled = false;
    const left = (x0 * scale * map.width - from) / (to - from) * width,
        over = (y0 * scale - top) / (bottom - top) * height;
    context.drawImage(hidden, left, over, picture.width * scale * map.width / (to - from) * width,
        picture.height * scale / (bottom - top) * height);
  };

  const zoom = (factor: number, x: number, y: number, both: boolean): void => {
    const limit = (begin: number, end: number, part: number, all: number): readonly [number, number] | null => {
      const length = Math.min(all, Math.max(LEAST, (end - begin) * factor)),
          first = Math.min(all - length, Math.max(0, begin + part * (end - begin - length)));
      return length >= all ? null : [Math.round(first), Math.round(first + length)];
    };
    onRange(limit(from, to, x, loop.iterations));
    if (both) setRows(limit(top, bottom, y, map.rows));
  };
  const move = (x: number, y: number): void => {
    const shift = (begin: number, end: number, by: number, all: number): readonly [number, number] => {
      const first = Math.round(Math.min(all - (end - begin), Math.max(0, begin + by)));
      return [first, first + end - begin];
    };
    if (range) onRange(shift(from, to, x * (to - from), loop.iterations));
    if (rows) setRows(shift(top, bottom, y * (bottom - top), map.rows));
  };

  const place = Math.min(at.row, map.rows - 1), column = Math.min(at.column, map.columns - 1),
      cell = place * map.columns + column;
  const ranksOf = (row: number): number[] => [...new Set(loop.ranks.slice(...locationsOfRow(loop, map, row)))];
  const iteration = column * map.width;
  const mean = levels[0]!.mean[cell] ?? NaN, peak = levels[0]!.greatest[cell] ?? NaN;
  const iterations = map.width > 1 ? `iterations from ${iteration}` : `iteration ${iteration}`;
  const single = map.peaks && !isDifference ? `, the greatest single one ${valueText(peak, map.unit)}` : '';
  const value = (isDifference && mean > 0 ? '+' : '') + valueText(mean, map.unit);
  const text = `${rowName(loop, map, place)}, ${iterations}: ${isDifference ? `${minus} ` : ''}${value}${single}`;
  const what = `${map.metric}${isDifference ? `, ${minus}` : ''}`;
  const label = `Map of ${what}: ${map.rows} rows of ranks, ${map.columns} columns of iterations`;
  const saveSvg = (): void => {
    const number = Math.ceil(Math.log2(Math.max(map.columns / 256, map.rows / 64)));
    const level = levels[Math.min(levels.length - 1, Math.max(0, number))]!;
    const [width, height] = [1024 / level.columns, 256 / level.rows], svg = new SvgWriter(1024, 256);
    level.mean.forEach((value, at) => {
      const x = at % level.columns, y = Math.floor(at / level.columns);
      if (!Number.isNaN(value))
        svg.box(x * width, y * height, width, height, css(colorOf(partOf(value), isDifference)));
    });
    svg.save('iterations_map');
  };
  /** The visible part of the map as a table of some rows and columns. */
  const table = (): ComponentChildren => {
    const { height, width, means } = blocks;
    const columns = means[0]?.map((_, i) => `iterations from ${(first + i * width) * map.width}`) ?? [];
    return <TableOfPicture name="map" caption={`${what}, by ranks and iterations, means`}
      head={['ranks', ...columns]} numbers={[false, ...columns.map(() => true)]}
      rows={means.map((row, i) => [{ value: rowName(loop, { ...map, places_in_row: height * map.places_in_row }, i) },
          ...row.map((mean) => ({ value: mean, shown: valueText(mean, map.unit) }))])} />;
  };
  return <figure>
    <figcaption>Ranks (down) x iterations (to the right)</figcaption>
    <div class="tools"><Choice label="Values" value={String(chosen)}
      onChoose={(value) => onSetting({ ...setting, metric: Number(value) })}
      options={loop.maps.map((each, i) => ({ value: String(i), text: each.metric }))} />
      {alike.length > 0 && <Choice label="Runs" value={now ? String(now.run.index) : ''}
        onChoose={(value) => onSetting({ ...setting, run: value === '' ? null : Number(value) })} options={[
        { value: '', text: letterOf(run.index) }, ...alike.map((each) => ({ value: String(each.run.index),
            text: `${letterOf(each.run.index)} \u2212 ${letterOf(run.index)}` }))]} />}
      <button type="button" class="quiet" onClick={saveSvg}>Save as SVG</button></div>
    <Canvas height={HEIGHT} label={label} draw={draw} onWidth={(width) => { size.current = width; }}
      onWheel={(x, y, event) => {
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8, x / size.current, y / HEIGHT, !event.shiftKey);
      }}
      onPointer={(kind, x, y, event) => {
        if (kind === 'down') drag.current = { x, y };
        else if (kind === 'move' && drag.current && event.buttons === 1) {
          move((drag.current.x - x) / size.current, (drag.current.y - y) / HEIGHT);
          drag.current = { x, y };
        } else if (kind === 'move') {
          setAt({ row: Math.max(0, Math.floor(top + y / HEIGHT * (bottom - top))),
              column: Math.max(0, Math.floor((from + x / size.current * (to - from)) / map.width)) });
        } else {
          const isClick = drag.current && Math.hypot(drag.current.x - x, drag.current.y - y) < 2;
          if (kind === 'up' && isClick) onRanks(ranksOf(place));
          drag.current = null;
        }
      }}
      onKey={(event) => {
        const keys: Record<string, () => void> = {
          ArrowLeft: () => event.shiftKey ? move(-0.25, 0) : setAt({ ...at, column: Math.max(0, column - 1) }),
          ArrowRight: () => event.shiftKey ? move(0.25, 0) : setAt({ ...at, column: column + 1 }),
          ArrowUp: () => event.shiftKey ? move(0, -0.25) : setAt({ ...at, row: Math.max(0, place - 1) }),
          ArrowDown: () => event.shiftKey ? move(0, 0.25) : setAt({ ...at, row: place + 1 }),
          '+': () => zoom(0.5, 0.5, 0.5, true), '-': () => zoom(2, 0.5, 0.5, true),
          Enter: () => onRanks(ranksOf(place)),
          Escape: () => {
            onRange(null);
            setRows(null);
          },
        };
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        act();
      }} />
    <p aria-live="polite">{text}</p>
    <Scale from={isDifference ? valueText(-most, map.unit) : '0'} to={valueText(most, map.unit)}
      isDifference={isDifference} />
    {table()}
  </figure>;
}
