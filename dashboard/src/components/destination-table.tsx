// Destinations as a table. Rows in view show how they are doing.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState, type RefObject } from 'react';
import type { ListedDestination } from '../api/destination-steps.ts';
import { healthQuery } from '../api/queries.ts';
import { count } from '../words/numbers.ts';
import { sentence } from '../words/sentence.ts';
import { useMode } from './environment.ts';
import { HealthStrip } from './health-strip.tsx';
import { DestinationBadge, hostOf, nameOf } from './show.tsx';

const SELDOM = { refetchInterval: 30_000, staleTime: 30_000 };

type Props = { destinations: readonly ListedDestination[]; isBusy?: boolean };

export function DestinationTable({ destinations, isBusy = false }: Props) {
  return (
    <div className="table-wrap">
      <table className="cards" aria-label="Destinations">
        <thead>
          <tr>
            <th>Destination</th>
            <th>State</th>
            <th>Last 60 minutes</th>
            <th className="number">Unfinished</th>
            <th className="number">In flight</th>
          </tr>
        </thead>
        <tbody aria-busy={isBusy}>
          {destinations.map((destination) => (
            <Row key={destination.id} destination={destination} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ destination }: { destination: ListedDestination }) {
  const mode = useMode();
  const [isSeen, row] = useSeen();
  const { data: health } = useQuery({ ...healthQuery(mode, destination.id), ...SELDOM, enabled: isSeen });
  return (
    <tr ref={row}>
      <td className="lead">
        <Link
          className="cut strong"
          to="/$mode/destinations/$id"
          params={{ mode, id: destination.id }}
          title={`${nameOf(destination)}\n${destination.url}`}
        >
          {nameOf(destination)}
        </Link>
        <span className="cut muted small">{destination.name?.trim() ? hostOf(destination.url) : destination.url}</span>
        {health?.state === 'failing' && <div className="tone-bad small">{sentence(health.summary)}</div>}
      </td>
      <td className="end">
        <DestinationBadge destination={destination} state={health?.state} />
      </td>
      <td className="whole">
        <HealthStrip id={destination.id} isSeen={isSeen} />
      </td>
      <td className="number wide-only">
        {health === undefined ? <span className="muted">–</span> : count(health.unfinished)}
      </td>
      <td className="number wide-only">
        {health === undefined ? 'limit ' : `${health.in_flight} of `}
        {destination.max_in_flight}
      </td>
    </tr>
  );
}

/** Whether it is in view: of fifty rows, those that nobody looks at ask for nothing. */
function useSeen(): [boolean, RefObject<HTMLTableRowElement | null>] {
  const row = useRef<HTMLTableRowElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(([entry]) => setSeen(entry?.isIntersecting ?? false));
    watch.observe(row.current!);
    return () => watch.disconnect();
  }, []);
  return [isSeen, row];
}
