/** The page on paper. Browsers take what is in the document when the listeners of "beforeprint" have returned; Firefox
 * does not wait for what they have put off. */
import { options } from 'preact';

/** Calls `begin` before the page is printed, and has what it changes in the document at once. `end` is called when the
 * page is laid out for the screen again. */
export function onPaper(begin: () => void, end: () => void): () => void {
  const before = (): void => {
    const { debounceRendering } = options;
    options.debounceRendering = (render) => render();
    begin();
    if (debounceRendering) options.debounceRendering = debounceRendering;
    else delete options.debounceRendering;
  };
  const after = (): void => { requestAnimationFrame(end); };
  addEventListener('beforeprint', before);
  addEventListener('afterprint', after);
  return () => {
    removeEventListener('beforeprint', before);
    removeEventListener('afterprint', after);
  };
}
