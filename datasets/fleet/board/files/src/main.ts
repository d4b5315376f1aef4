%%if mount-all
import { fetchStations } from './api';
%%end
import { mountTile } from './mount';

const root = document.querySelector<HTMLElement>('#board');

async function start(): Promise<void> {
  if (!root) {
    throw new Error('no #board on this page');
  }
  const hub = root.dataset.hub ?? '';
%%if mount-all
  for (const station of await fetchStations(hub)) {
    mountTile(root, hub, station.Code);
  }
%%else
  // TODO: ask the hub which stations there are
  for (const station of ['AR01', 'BR01', 'DU01']) {
    mountTile(root, hub, station);
  }
%%end
}

start().catch((error) => console.error('board:', error));
