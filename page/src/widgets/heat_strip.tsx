/** One coloured field per value; if there are more values than points, a field shows the greatest of those that share
 * it. */
import { useState } from 'preact/hooks';
import { css, valueColor } from '../colors';
import { Canvas, textColor } from './canvas';
import { SvgWriter } from './download';

export interface HeatStripProps {
  values: readonly number[];
  nameOf: (index: number) => string;
  textOf: (value: number) => string;
  isSelected: (index: number) => boolean;
  /** `add`: adds to the selection. */
  onChoose: (index: number, add: boolean) => void;
}

const HEIGHT = 28;
const BAR = 22;

export function HeatStrip({ values, nameOf, textOf, isSelected, onChoose }: HeatStripProps) {
  const [at, setAt] = useState(0), [width, setWidth] = useState(1);
  const known = values.filter((value) => !Number.isNaN(value)), least = Math.min(...known),
      greatest = Math.max(...known);
  if (known.length === 0) return <p>By rank: not known.</p>;
  const indexAt = (x: number): number => Math.min(values.length - 1,
      Math.max(0, Math.floor(x / width * values.length)));
  const where = values.indexOf(greatest), text = `${nameOf(at)}: ${textOf(values[at] ?? NaN)}`;
  return <div class="strip">
    <Canvas height={HEIGHT} label={`Values by rank, from ${textOf(least)} to ${textOf(greatest)}`} onWidth={setWidth}
      draw={({ context, width: points }) => {
        const fields = Math.min(values.length, Math.floor(points));
        for (let field = 0; field < fields; field++) {
          const begin = Math.floor(field * values.length / fields),
              end = Math.max(begin + 1, Math.floor((field + 1) * values.length / fields));
          const value = Math.max(...values.slice(begin, end)), x = field * points / fields;
          context.fillStyle = css(valueColor(greatest > 0 ? value / greatest : 0));
          context.fillRect(x, 0, points / fields + 0.5, BAR);
          if (values.slice(begin, end).some((_, i) => isSelected(begin + i))) {
            context.fillStyle = textColor(context);
            context.fillRect(x, BAR + 2, points / fields + 0.5, 4);
          }
        }
        context.strokeStyle = textColor(context);
        context.strokeRect((at + 0.5) / values.length * points - 1.5, 0.5, 3, BAR - 1);
      }}
      onPointer={(kind, x, _, event) => {
        if (kind === 'move') setAt(indexAt(x));
        else if (kind === 'down') onChoose(indexAt(x), event.ctrlKey || event.metaKey || event.shiftKey);
      }}
      onKey={(event) => {
        const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 }, step = steps[event.key];
        if (step) setAt(Math.min(values.length - 1, Math.max(0, at + step)));
        else if (event.key === ' ' || event.key === 'Enter') onChoose(at, event.ctrlKey || event.shiftKey);
        else return;
        event.preventDefault();
      }} />
    <button type="button" class="quiet" onClick={() => {
      const svg = new SvgWriter(900, 60), wide = 900 / values.length;
      values.forEach((value, i) => svg.box(i * wide, 0, wide, 40, css(valueColor(greatest > 0 ? value / greatest : 0)),
          `${nameOf(i)}: ${textOf(value)}`));
      svg.text(0, 56, `${nameOf(0)} to ${nameOf(values.length - 1)}, from 0 to ${textOf(greatest)}`);
      svg.save('by_rank');
    }}>Save as SVG</button>
    <p aria-live="polite">{text}. Greatest: {nameOf(where)}, {textOf(greatest)}; least: {textOf(least)}.</p>
  </div>;
}
