/** Saves tables and pictures as files. */

function save(name: string, type: string, text: string): void {
  const link = document.createElement('a'), address = URL.createObjectURL(new Blob([text], { type }));
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A cell that a spreadsheet would take for a formula gets an apostrophe: names come from programs. */
function cell(value: string | number): string {
  if (typeof value === 'number') return Number.isNaN(value) ? '' : String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function saveCsv(name: string, head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  save(`${name}.csv`, 'text/csv', `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`);
}

const UNFIT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g; // characters that XML cannot hold

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(UNFIT, '\ufffd');

/** `text` is already escaped. */
function element(name: string, attributes: Readonly<Record<string, string | number>>, text = ''): string {
  const pairs = Object.entries(attributes).map(([key, value]) =>
      ` ${key}="${escaped(typeof value === 'number' ? value.toFixed(2) : value)}"`);
  return `<${name}${pairs.join('')}>${text}</${name}>`;
}

/** A picture of rectangles, lines and texts. */
export class SvgWriter {
  private readonly parts: string[] = [];
  private readonly width: number;
  private readonly height: number;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.box(0, 0, width, height, '#fff'); // texts are black, whatever the background
  }

  box(x: number, y: number, width: number, height: number, fill: string, title = ''): void {
    this.parts.push(element('rect', { x, y, width, height, fill }, title && element('title', {}, escaped(title))));
  }

  text(x: number, y: number, text: string, fill = '#000'): void {
    this.parts.push(element('text', { x, y, fill, 'font-size': 12, 'font-family': 'sans-serif' }, escaped(text)));
  }

  /** A box of a colour, and its meaning. */
  key(x: number, y: number, color: string, text: string): void {
    this.box(x, y - 10, 10, 10, color);
    this.text(x + 16, y, text);
  }

  line(points: readonly (readonly [number, number])[], stroke: string): void {
    const places = points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(' ');
    this.parts.push(element('polyline', { points: places, fill: 'none', stroke }));
  }

  save(name: string): void {
    const { width, height } = this, viewBox = `0 0 ${width} ${height}`;
    const svg = element('svg', { xmlns: 'http://www.w3.org/2000/svg', viewBox, width, height }, this.parts.join(''));
    save(`${name}.svg`, 'image/svg+xml', svg);
  }
}
