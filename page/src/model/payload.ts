/** Finds the data in the page and unpacks it: base64, then gzip by the browser itself. */

const PIECE = 1 << 20; // characters decoded at a time; a multiple of 4

function bytesOf(base64: string): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < base64.length; at += PIECE) {
    const text = atob(base64.slice(at, at + PIECE));
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    parts.push(bytes);
  }
  return new Blob(parts);
}

function blocks(): HTMLScriptElement[] {
  return [...document.querySelectorAll<HTMLScriptElement>('script[type="application/octet-stream"]')];
}

/** Number of runs in the file. */
export function runsInPage(): number {
  return blocks().filter((block) => block.dataset.section === 'head').length;
}

/** Size of the data in the file, in bytes. */
export function bytesInPage(): number {
  return blocks().reduce((sum, block) => sum + (block.textContent ?? '').length, 0);
}

/** Null: the file does not have this section. Its text stays in the page, so that a page saved by the browser is
 * complete. */
export async function unpack(run: number, section: string): Promise<ArrayBuffer | null> {
  const block = blocks().find((each) => each.dataset.run === String(run) && each.dataset.section === section);
  if (!block) return null;
  const packed = bytesOf((block.textContent ?? '').trim());
  return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}
