/** Finds the data in the page and unpacks them: base64, then gzip by the browser itself. */

const PIECE = 1 << 20; // characters that are decoded at a time; a multiple of 4

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

/** How many runs the file holds. */
export function runsInPage(): number {
  return blocks().filter((block) => block.dataset.section === 'head').length;
}

/** Bytes of the data, as they are in the file. */
export function bytesInPage(): number {
  return blocks().reduce((sum, block) => sum + (block.textContent ?? '').length, 0);
}

/** Null: the file does not hold this section. Its characters stay, so that a page that the browser saves is whole. */
export async function unpack(run: number, section: string): Promise<ArrayBuffer | null> {
  const block = blocks().find((each) => each.dataset.run === String(run) && each.dataset.section === section);
  if (!block) return null;
  const packed = bytesOf((block.textContent ?? '').trim());
  return new Response(packed.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}
