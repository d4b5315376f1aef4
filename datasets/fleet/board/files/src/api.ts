/** Ask the hub. */

export interface Level {
  minute: number;
  sea_level_mm: number;
%%if suspect
  suspect?: boolean;
%%end
}

export class HubError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

%%if retry
import { withRetry } from './retry';

%%end
%%if v2
export async function fetchLevels(hub: string, station: string, since = 0): Promise<Level[]> {
  const url = `${hub}/v2/levels?station=${encodeURIComponent(station)}&since=${since}`;
%%if retry
  const answer = await withRetry(() => fetch(url));
%%else
  const answer = await fetch(url);
%%end
  if (!answer.ok) {
    throw new HubError(answer.status, await answer.text());
  }
  return answer.json();
}
%%else
export async function readLevels(hub: string, station: number): Promise<Level[]> {
  const answer = await fetch(`${hub}/v1/read?station=${station}`);
  const text = await answer.text();
  return text.trim().split('\n').map((line) => {
    const [minute, level] = line.split(' ').map(Number);
    return { minute, sea_level_mm: level };
  });
}
%%end
%%if stations

export interface Station {
  Code: string;
  Name: string;
  DatumMM: number;
}

export async function fetchStations(hub: string): Promise<Station[]> {
  const answer = await fetch(`${hub}/v2/stations`);
  if (!answer.ok) {
    throw new HubError(answer.status, 'no stations');
  }
  return answer.json();
}
%%end
