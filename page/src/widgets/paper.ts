/** Printing of the page. Browsers print the document as it is when the listeners of "beforeprint" have returned;
 * Firefox does not wait for work that they deferred. */
import { options } from 'preact';

/** Calls `begin` before the page is printed, and applies its changes to the document immediately. Calls `end` when the
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
