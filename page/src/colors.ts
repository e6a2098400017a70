/**
 * Colours. Values use viridis (Smith and van der Walt), whose lightness changes steadily and which is readable for the
 * colour-blind and in grey. Classes use the palette of Okabe and Ito. Differences go from blue through grey to orange.
 */

export type Rgb = readonly [number, number, number];

const viridis: readonly Rgb[] = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121],
  [110, 206, 88], [181, 222, 43], [253, 231, 37],
];
const diverging: readonly Rgb[] = [[33, 102, 172], [103, 169, 207], [190, 190, 190], [239, 138, 98], [178, 80, 24]];

export const classColors: readonly string[] = [
  '#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#7f7f7f', '#004c78', '#996900',
  '#006b4e', '#8a4f71', '#3a7a9c', '#8f3f00', '#a39a2d', '#4d4d4d',
];

/** The colours of time, by kind. */
export const kindColors: Readonly<Record<string,
    string>> = { user: '#e69f00', mpi: '#0072b2', other: '#7f7f7f', marked: '#009e73', class: '#cc79a7' };

function along(colors: readonly Rgb[], part: number): Rgb {
  const at = Math.min(Math.max(part, 0), 1) * (colors.length - 1), low = Math.min(Math.floor(at), colors.length - 2),
      rest = at - low;
  const [a, b] = [colors[low]!, colors[low + 1]!];
  return [0, 1, 2].map((i) => Math.round(a[i]! + rest * (b[i]! - a[i]!))) as unknown as Rgb;
}

/** The colour of a value from 0 to 1. */
export function valueColor(part: number): Rgb {
  return along(viridis, Number.isNaN(part) ? 0 : part);
}

/** The colour of a difference from -1 to 1. */
export function differenceColor(part: number): Rgb {
  return along(diverging, Number.isNaN(part) ? 0.5 : (part + 1) / 2);
}

/** The step, from 0 to 255, for a value from 0 to 1; null: not known. */
export function stepOf(part: number): number | null {
  return Number.isNaN(part) ? null : Math.min(255, Math.max(0, Math.floor(part * 255)));
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r}, ${g}, ${b})`;
}

/** Relative luminance (WCAG 2). */
export function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => part <= 10.31475 ? part / 255 / 12.92
      : ((part / 255 + 0.055) / 1.055) ** 2.4) as unknown as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Whether black text has more contrast on it than white text; the better one of both has at least 4.58 to 1. */
export function isLight(color: Rgb): boolean {
  return (luminance(color) + 0.05) ** 2 > 1.05 * 0.05;
}

export function rgbOf(hex: string): Rgb {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb;
}
