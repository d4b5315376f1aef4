%%moved components src/Gauge.tsx
%%if hooks
import { useLevels } from './useLevels';
%%else
import { Component } from 'react';
%%if v2
import { fetchLevels, Level } from './api';
%%else
import { Level, readLevels } from './api';
%%end
%%end
import { curve, svgPath } from './chart';

export interface TileProps {
  hub: string;
  station: string;
%%if alarm
  alarmMm?: number;
%%end
}

%%if hooks
/** One gauge: its code, its newest level and the curve of its tide. */
export function Tile(props: TileProps) {
  const levels = useLevels(props.hub, props.station);
  const newest = levels[levels.length - 1];
%%if alarm
  const isHigh = newest !== undefined && newest.sea_level_mm > (props.alarmMm ?? «alarm_mm»);
%%end
  return (
%%if alarm
    <figure className={isHigh ? 'tile high' : 'tile'}>
%%else
    <figure className="tile">
%%end
      <figcaption>{props.station}</figcaption>
%%if units
      <b>{newest ? `${(newest.sea_level_mm / 1000).toFixed(2)} m` : '–'}</b>
%%else
      <b>{newest?.sea_level_mm} mm</b>
%%end
      <svg viewBox="0 0 200 100">
        <path d={svgPath(curve(levels, 200, 100))} />
      </svg>
    </figure>
  );
}
%%else
export class Tile extends Component<TileProps, { levels: Level[] }> {
  state = { levels: [] as Level[] };
  timer = 0;

  componentDidMount() {
    this.timer = window.setInterval(() => this.reload(), «poll»);
  }

  componentWillUnmount() {
    window.clearInterval(this.timer);
  }

  async reload() {
%%if v2
    this.setState({ levels: await fetchLevels(this.props.hub, this.props.station) });
%%else
    this.setState({ levels: await readLevels(this.props.hub, Number(this.props.station)) });
%%end
  }

  render() {
    return (
      <svg viewBox="0 0 200 100">
        <path d={svgPath(curve(this.state.levels, 200, 100))} />
      </svg>
    );
  }
}
%%end
