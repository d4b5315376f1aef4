import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
%%if components
import { Tile } from './Tile';
%%else
import { Tile } from './Gauge';
%%end

export function mountTile(root: HTMLElement, hub: string, station: string): void {
  const place = root.appendChild(document.createElement('div'));
  createRoot(place).render(createElement(Tile, { hub, station }));
}
