%%born chart-test
%%if vitest
import { expect, test } from 'vitest';

%%end
import { curve, svgPath } from './chart';

test('the newest level is at the right edge', () => {
  const points = curve([{ minute: 0, sea_level_mm: 0 }, { minute: 10, sea_level_mm: 100 }], 200, 100);
  expect(points[1]).toEqual({ x: 200, y: 0 });
  expect(svgPath(points)).toBe('M0.0 100.0L200.0 0.0');
});
%%if chart-empty

test('a silent gauge has no curve', () => {
  expect(curve([], 200, 100)).toEqual([]);
});
%%end
