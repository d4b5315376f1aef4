%%born hooks
import { useEffect, useState } from 'react';
import { fetchLevels, Level } from './api';

const POLL_MS = «poll»;

/** Levels of a station, asked for again and again while the tile is shown. */
export function useLevels(hub: string, station: string): Level[] {
  const [levels, setLevels] = useState<Level[]>([]);
  useEffect(() => {
    let shown = true;
    const reload = async () => {
%%if incremental
      const since = levels.length ? levels[levels.length - 1].minute + 1 : 0;
      const more = await fetchLevels(hub, station, since);
      if (shown) {
        setLevels((before) => [...before, ...more]);
      }
%%else
      const rows = await fetchLevels(hub, station);
      if (shown) {
        setLevels(rows);
      }
%%end
    };
    const timer = window.setInterval(reload, POLL_MS);
    return () => {
      shown = false;
      window.clearInterval(timer);
    };
  }, [hub, station]);
  return levels;
}
