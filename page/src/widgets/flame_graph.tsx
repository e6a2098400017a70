/** Boxes of a flame graph on a canvas. A click or Enter enlarges a box; Escape goes back. A box that stands for several
 * frames of a runtime first shows these, and is enlarged the next time; minus folds them again. Arrows move through the
 * boxes. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { css, differenceColor, isLight, kindColors, rgbOf, type Rgb } from '../colors';
import { nameText, shareText, valueText } from '../format';
import { coveredBy, type Box, type Unit } from '../model';
import { Canvas, textColor } from './canvas';
import { SvgWriter } from './download';
import { Legend, Scale } from './legend';

export interface BoxDifference {
  /** Fraction of the larger value, from -1 to 1. */
  part: number;
  /** Letter of the run that is compared with A. */
  other: string;
  text: string;
}

export interface FlameGraphProps {
  name: string;
  label: string;
  boxes: readonly Box[];
  unit: Unit;
  total: number;
  search: string;
  /** Colours then show how the runs differ. */
  difference?: ((box: Box) => BoxDifference) | undefined;
  /** For callers: the function is at the bottom. */
  isUpsideDown?: boolean;
  onChoose: (box: Box) => void;
  onUnfold: (box: Box) => void;
  /** Returns the first frame of the chain of the box. */
  onFold: (box: Box) => number;
  /** The box that fills the width; null: the whole graph is shown. */
  enlarged: Box | null;
  onEnlarge: (box: Box | null) => void;
}

const ROW = 20;
const MOST_ROWS = 200;
const LEAST = 0.0005; // of the width: half a point of 1,000

/** Approximate width of a letter. */
const LETTER = 6.2;

function colorOf(box: Box, props: FlameGraphProps): string {
  if (props.difference) return css(differenceColor(props.difference(box).part));
  const [r, g, b] = rgbOf(kindColors[box.kind] ?? kindColors.user!);
  // Neighbours differ slightly in lightness, which follows from the name.
  const shade = 0.82 + 0.18 * ([...box.name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 97, 7) / 96);
  return css([Math.round(r * shade), Math.round(g * shade), Math.round(b * shade)]);
}

/** Black or white; `color`: "#rrggbb", or in the form of css(). */
function lettersOn(color: string): string {
  const rgb = color.startsWith('#') ? rgbOf(color) : color.match(/\d+/g)!.map(Number) as unknown as Rgb;
  return isLight(rgb) ? '#000' : '#fff';
}

export function FlameGraph(props: FlameGraphProps) {
  const { boxes, unit, total, search, isUpsideDown } = props;
  const [at, setAt] = useState(0), [width, setWidth] = useState(1), setZoom = props.onEnlarge;
  const base = props.enlarged && boxes.includes(props.enlarged) ? props.enlarged : null,
      left = base?.x ?? 0, part = base?.width ?? 1;
  const depths = useMemo(() => boxes.reduce((most, box) => Math.max(most, box.depth + 1), 1), [boxes]),
      height = Math.min(depths, MOST_ROWS) * ROW;
  // In very deep graphs an enlarged box is at the top, so that all levels can be reached.
  const top = depths > MOST_ROWS ? base?.depth ?? 0 : 0;
  const seen = boxes.filter((box) => box.x < left + part - 1e-12 && box.x + box.width > left + 1e-12
      && box.width >= LEAST * part && box.depth >= top && box.depth < top + MOST_ROWS);
  const rect = (box: Box): { x: number; y: number; w: number } => {
    const x = Math.max(0, (box.x - left) / part), end = Math.min(1, (box.x + box.width - left) / part);
    const row = box.depth - top;
    return { x: x * width, w: (end - x) * width, y: isUpsideDown ? height - (row + 1) * ROW : row * ROW };
  };
  const wanted = search.toLowerCase(), isFound = (box: Box): boolean => wanted !== ''
      && [box.name, ...box.hidden].some((name) => name.toLowerCase().includes(wanted));
  const found = boxes.filter(isFound);
  const active = seen[Math.min(at, seen.length - 1)], ofActive = active && props.difference?.(active);
  const foldedText = ({ hidden, runtime }: Box): string => hidden.length > 0
      ? `; with ${hidden.length} more of ${runtime}: ${hidden.slice(0, 3).map(nameText).join(', ')}${
        hidden.length > 3 ? ', \u2026' : ''}` : '';
  const textOf = (box: Box): string =>
      `${nameText(box.name)}: ${valueText(box.value, unit)}, ${shareText(box.value / total)}${foldedText(box)}`;
  const labelOf = (box: Box): string => `${box.hidden.length > 0 ? '+ ' : ''}${nameText(box.name)}`;
  const act = (box: Box, zoom: Box | null): void => {
    if (box.hidden.length > 0) {
      follow.current = box.nodes[0]!;
      return props.onUnfold(box);
    }
    setZoom(zoom);
    setAt(0);
    props.onChoose(box);
  };
  /** The call path whose box stays active when boxes fold or unfold. */
  const follow = useRef(0);
  useEffect(() => {
    if (follow.current) next((box) => box.nodes.includes(follow.current));
    follow.current = 0;
  }, [boxes]);
  const boxAt = (x: number, y: number): Box | undefined => seen.find((box) => {
    const r = rect(box);
    return r.x <= x && x < r.x + r.w && r.y <= y && y < r.y + ROW;
  });
  const next = (test: (box: Box) => boolean): void => {
    const i = seen.findIndex(test);
    if (i >= 0) setAt(i);
  };
  return <figure>
    <Canvas height={height} label={props.label} onWidth={setWidth} draw={({ context }) => {
      context.font = '12px sans-serif';
      context.textBaseline = 'middle';
      for (const box of seen) {
        const { x, y, w } = rect(box);
        const color = isFound(box) ? '#f0e442' : colorOf(box, props);
        context.globalAlpha = wanted && !isFound(box) ? 0.45 : 1;
        context.fillStyle = color;
        context.fillRect(x, y, Math.max(w - 0.5, 0.5), ROW - 1);
        if (w > 5 * LETTER) {
          const letters = Math.floor((w - 6) / LETTER), name = labelOf(box);
          context.fillStyle = lettersOn(color);
          context.fillText(name.length > letters ? `${name.slice(0, letters - 1)}\u2026` : name, x + 3, y + ROW / 2);
        }
      }
      context.globalAlpha = 1;
      if (active) {
        const { x, y, w } = rect(active);
        context.strokeStyle = textColor(context);
        context.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1.5, 1), ROW - 2);
      }
    }}
      onPointer={(kind, x, y) => {
        const box = boxAt(x, y);
        if (!box) return;
        if (kind === 'move') setAt(seen.indexOf(box));
        else if (kind === 'up') act(box, box === base ? null : box);
      }}
      onKey={(event) => {
        const up = isUpsideDown ? 1 : -1, steps: Record<string, number> = { ArrowUp: up, ArrowDown: -up },
            step = steps[event.key];
        if (!active) return;
        if (step) next((box) => box.depth === active.depth + step && box.x < active.x + active.width && box.x
            + box.width > active.x);
        else if (event.key === 'ArrowRight') next((box) => box.depth === active.depth && box.x >= active.x
            + active.width - 1e-12);
        else if (event.key === 'ArrowLeft') {
          const before = seen.filter((box) => box.depth === active.depth && box.x < active.x).sort((a, b) =>
              b.x - a.x)[0];
          if (before) setAt(seen.indexOf(before));
        } else if (event.key === 'Enter' || event.key === ' ') act(active, active);
        else if (event.key === '-') follow.current = props.onFold(active);
        else if (event.key === 'Escape') setZoom(null);
        else return;
        event.preventDefault();
      }} />
    <p aria-live="polite">{active ? textOf(active) : 'Nothing.'}{ofActive && `; ${ofActive.text}`}{wanted
      && ` Found: ${found.length} boxes, ${shareText(coveredBy(found))}.`}</p>
    {depths > top + MOST_ROWS && <p class="hint">{(depths - top - MOST_ROWS).toLocaleString('en-US')} further levels:
      enlarge a box to see them.</p>}
    <div class="tools">
      {base && <button type="button" onClick={() => setZoom(null)}>Whole graph</button>}
      {ofActive ? <Scale from={`less in ${ofActive.other}`}
          to={`more in ${ofActive.other}`} isDifference /> : <Legend keys={[
        { color: kindColors.user!, text: 'user code' }, { color: kindColors.mpi!, text: 'MPI' },
        { color: kindColors.other!, text: 'other' }]} />}
      <button type="button" class="quiet" onClick={() => {
        const svg = new SvgWriter(width, height);
        for (const box of seen) {
          const { x, y, w } = rect(box);
          const color = colorOf(box, props), letters = labelOf(box).slice(0, Math.floor((w - 6) / LETTER));
          svg.box(x, y, Math.max(w - 0.5, 0.5), ROW - 1, color, textOf(box));
          if (w > 5 * LETTER) svg.text(x + 3, y + 14, letters, lettersOn(color));
        }
        svg.save(props.name);
      }}>Save as SVG</button>
    </div>
  </figure>;
}
