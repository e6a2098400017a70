/** Tables and pictures as files. */

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

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');

/** A picture of rectangles and texts. */
export class SvgWriter {
  private readonly parts: string[] = [];
  private readonly width: number;
  private readonly height: number;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
  }

  box(x: number, y: number, width: number, height: number, color: string, title = ''): void {
    const at = [x, y, width, height].map((value) => value.toFixed(2));
    this.parts.push(`<rect x="${at[0]}" y="${at[1]}" width="${at[2]}" height="${at[3]}" fill="${escaped(color)}">${title ? `<title>${escaped(title)}</title>` : ''}</rect>`);
  }

  text(x: number, y: number, text: string, color = '#000'): void {
    this.parts.push(`<text x="${x.toFixed(2)}" y="${y.toFixed(2)}" font-size="12" font-family="sans-serif" fill="${escaped(color)}">${escaped(text)}</text>`);
  }

  line(points: readonly (readonly [number, number])[], color: string): void {
    this.parts.push(`<polyline points="${points.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(' ')}" fill="none" stroke="${escaped(color)}"/>`);
  }

  save(name: string): void {
    save(`${name}.svg`, 'image/svg+xml', `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" height="${this.height}">${this.parts.join('')}</svg>`);
  }
}
