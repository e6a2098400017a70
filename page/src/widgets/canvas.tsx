/** A canvas as wide as its container, sharp on every screen, and redrawn when its size or contents change. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { isCommand } from './keys';

export interface Surface {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

export interface CanvasProps {
  height: number;
  /** What screen readers say; the page must have the same as text or as a table, too. */
  label: string;
  draw: (surface: Surface) => void;
  onPointer?: (kind: 'move' | 'down' | 'up' | 'leave', x: number, y: number, event: PointerEvent) => void;
  onWheel?: (x: number, y: number, event: WheelEvent) => void;
  /** Not called for commands. */
  onKey?: (event: KeyboardEvent) => void;
  onWidth?: (width: number) => void;
}

export function Canvas(props: CanvasProps) {
  const place = useRef<HTMLCanvasElement>(null), [width, setWidth] = useState(0);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    const canvas = place.current!;
    const observer = new ResizeObserver(() => {
      setWidth(canvas.clientWidth);
      latest.current.onWidth?.(canvas.clientWidth);
    });
    observer.observe(canvas);
    // Not passive, so that the page does not scroll meanwhile.
    const wheel = (event: WheelEvent): void => latest.current.onWheel?.(event.offsetX, event.offsetY, event);
    canvas.addEventListener('wheel', wheel, { passive: false });
    return () => {
      observer.disconnect();
      canvas.removeEventListener('wheel', wheel);
    };
  }, []);

  useEffect(() => {
    const canvas = place.current!, scale = devicePixelRatio || 1, context = canvas.getContext('2d');
    if (!context || width === 0) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(props.height * scale);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, props.height);
    props.draw({ context, width, height: props.height });
  });

  const pointer = (kind: 'move' | 'down' | 'up' | 'leave') => (event: PointerEvent): void =>
      props.onPointer?.(kind, event.offsetX, event.offsetY, event);
  return <canvas ref={place} class="canvas" style={{ height: `${props.height}px` }} role="img" aria-label={props.label}
      tabIndex={props.onKey ? 0 : -1}
    onPointerMove={pointer('move')} onPointerDown={pointer('down')} onPointerUp={pointer('up')}
        onPointerLeave={pointer('leave')}
    onKeyDown={(event) => { if (!isCommand(event)) props.onKey?.(event); }} />;
}

/** The colour of text in the style sheet, for light or dark. */
export function textColor(canvas: CanvasRenderingContext2D): string {
  return getComputedStyle(canvas.canvas).color;
}
