import { Level } from './api';

export interface Point {
  x: number;
  y: number;
}

/** Scale levels to a box of the given size; the newest is at the right. */
export function curve(levels: Level[], width: number, height: number): Point[] {
%%if chart-empty
  if (levels.length === 0) {
    return [];
  }
%%end
  const minutes = levels.map((level) => level.minute);
  const heights = levels.map((level) => level.sea_level_mm);
%%if chart-spread
  const first = minutes.reduce((a, b) => Math.min(a, b));
  const span = minutes.reduce((a, b) => Math.max(a, b)) - first || 1;
  const low = heights.reduce((a, b) => Math.min(a, b));
  const range = heights.reduce((a, b) => Math.max(a, b)) - low || 1;
%%else
  // FIXME: spreading 100 000 levels overflows the stack
  const first = Math.min(...minutes);
  const span = Math.max(...minutes) - first || 1;
  const low = Math.min(...heights);
  const range = Math.max(...heights) - low || 1;
%%end
  return levels.map((level) => ({
    x: ((level.minute - first) / span) * width,
    y: height - ((level.sea_level_mm - low) / range) * height,
  }));
}

export function svgPath(points: Point[]): string {
  return points.map((point, index) => `${index ? 'L' : 'M'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join('');
}
