/** What colours mean. */
import { css, differenceColor, valueColor } from '../colors';

export interface Key {
  color: string;
  text: string;
}

export function Legend({ keys }: { keys: readonly Key[] }) {
  return <ul class="legend">{keys.map((key) => <li key={key.text}><i class="box" style={{ background: key.color }}
      aria-hidden="true" />{key.text}</li>)}</ul>;
}

const STEPS = 11;

/** The scale of values, or of differences. */
export function Scale({ from, to, isDifference = false }: { from: string; to: string; isDifference?: boolean }) {
  const color = (step: number): string => css(isDifference ? differenceColor(2 * step / (STEPS - 1) - 1)
      : valueColor(step / (STEPS - 1)));
  return <div class="scale">{from}<span aria-hidden="true">{Array.from({ length: STEPS }, (_, step) => <i
      style={{ background: color(step) }} key={step} />)}</span>{to}</div>;
}
