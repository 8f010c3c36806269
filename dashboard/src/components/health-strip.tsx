// The last 60 minutes of a destination, a bar a minute: red is the share of attempts that failed.
import { useQuery } from '@tanstack/react-query';
import { statsQuery } from '../api/queries.ts';
import type { StatsPoint } from '../api/client.ts';
import { count } from '../words/numbers.ts';
import { useMode } from './environment.ts';

const MINUTES = 60;
const HEIGHT = 20;
const EVERY_MINUTE = { refetchInterval: 60_000, staleTime: 60_000 };

export function HealthStrip({ id, isSeen }: { id: string; isSeen: boolean }) {
  const mode = useMode();
  const { data } = useQuery({ ...statsQuery(mode, '1h', id), ...EVERY_MINUTE, enabled: isSeen });
  if (data === undefined) return <span className="muted">–</span>;
  const points = data.data.slice(-MINUTES).map(attemptsOf);
  const good = points.reduce((sum, point) => sum + point.good, 0);
  const bad = points.reduce((sum, point) => sum + point.bad, 0);
  const said = good + bad === 0 ? 'No attempts in the last hour' : `${count(good)} succeeded, ${count(bad)} failed`;
  return (
    <svg className="strip" role="img" aria-label={said} viewBox={`0 0 ${MINUTES * 2.5} ${HEIGHT}`}>
      <title>{said}</title>
      {points.map((point, index) => (
        <Minute key={index} index={index} {...point} />
      ))}
    </svg>
  );
}

function Minute({ index, good, bad }: { index: number; good: number; bad: number }) {
  const x = index * 2.5;
  if (good + bad === 0) return <rect className="none" x={x} y={HEIGHT - 2} width="1.5" height="2" />;
  // A single failure among thousands is seen all the same.
  const failed = bad === 0 ? 0 : Math.max(3, (HEIGHT * bad) / (good + bad));
  return (
    <>
      <rect className="good" x={x} y="0" width="1.5" height={HEIGHT - failed} />
      <rect className="bad" x={x} y={HEIGHT - failed} width="1.5" height={failed} />
    </>
  );
}

function attemptsOf({ attempts }: StatsPoint): { good: number; bad: number } {
  const good = attempts.succeeded ?? 0;
  const all = Object.values(attempts).reduce((sum, value) => sum + value, 0);
  return { good, bad: all - good };
}
