// Deliveries as a table: on their own page, of an event, of a destination. Rows may be selected to send them again.
import { Link } from '@tanstack/react-router';
import type { Delivery } from '../api/client.ts';
import { DEAD_REASON } from '../words/outcomes.ts';
import { shortId } from '../words/ids.ts';
import { AttemptMarks } from './attempt-marks.tsx';
import { useMode } from './environment.ts';
import { DestinationLink, DueTime, StatusBadge, Time } from './show.tsx';

type Selection = { chosen: ReadonlySet<string>; choose: (ids: readonly string[], isChosen: boolean) => void };

type Props = {
  deliveries: readonly Delivery[];
  label: string;
  isBusy?: boolean;
  selection?: Selection | undefined;
  /** Of one destination, its name in every row says nothing ... */
  hideDestination?: boolean;
  /** ... nor, of one event, the time at which all of them were made. */
  hideScheduled?: boolean;
};

export function DeliveryTable({ deliveries, label, isBusy = false, selection, ...hidden }: Props) {
  const { hideDestination = false, hideScheduled = false } = hidden;
  const ids = deliveries.map(({ id }) => id);
  const isAll = ids.length > 0 && ids.every((id) => selection?.chosen.has(id));
  return (
    <div className="table-wrap">
      <table className="cards" aria-label={label}>
        <thead>
          <tr>
            {selection !== undefined && (
              <th className="fit">
                <label className="choice">
                  <input
                    type="checkbox"
                    aria-label="Select all on this page"
                    checked={isAll}
                    onChange={() => selection.choose(ids, !isAll)}
                  />
                  <span className="narrow-only" aria-hidden>
                    Select all on this page
                  </span>
                </label>
              </th>
            )}
            <th>Event</th>
            {!hideDestination && <th>Destination</th>}
            <th>Status</th>
            <th>Attempts</th>
            <th>Next attempt</th>
            {!hideScheduled && <th className="number">Scheduled</th>}
          </tr>
        </thead>
        <tbody aria-busy={isBusy}>
          {deliveries.map((delivery) => (
            <Row key={delivery.id} delivery={delivery} selection={selection} {...{ hideDestination, hideScheduled }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

type RowProps = {
  delivery: Delivery;
  selection: Selection | undefined;
  hideDestination: boolean;
  hideScheduled: boolean;
};

function Row({ delivery, selection, hideDestination, hideScheduled }: RowProps) {
  const mode = useMode();
  const { id, event_type: type, dead_reason: reason } = delivery;
  const isChosen = selection?.chosen.has(id) ?? false;
  return (
    <tr data-selected={isChosen || undefined} className={selection === undefined ? undefined : 'selectable'}>
      {selection !== undefined && (
        <td className="fit pick">
          <input
            type="checkbox"
            aria-label={`Select ${id}`}
            checked={isChosen}
            onChange={() => selection.choose([id], !isChosen)}
          />
        </td>
      )}
      <td className="lead">
        <Link className="cut strong" to="/$mode/deliveries/$id" params={{ mode, id }} title={`${type}\n${id}`}>
          {type}
        </Link>
        <span className="muted small mono nowrap in-table">{shortId(id)}</span>
      </td>
      {!hideDestination && (
        <td className="whole">
          <DestinationLink id={delivery.destination_id} />
        </td>
      )}
      <td className="nowrap">
        <StatusBadge status={delivery.status} />
        {reason !== null && <div className="muted small in-table">{DEAD_REASON[reason].word}</div>}
      </td>
      <td>
        <AttemptMarks delivery={delivery} />
      </td>
      <td className="wide-only">
        {delivery.completed_at === null ? <DueTime at={delivery.next_attempt_at} /> : <Nothing />}
      </td>
      {!hideScheduled && (
        <td className="number end">
          <Time at={delivery.created_at} />
        </td>
      )}
    </tr>
  );
}

/** Where an event has more of them than the table has room for. */
export function AllOfEvent({ id }: { id: string }) {
  const mode = useMode();
  return (
    <p className="pager">
      <Link to="/$mode/deliveries" params={{ mode }} search={{ event_id: id }}>
        All deliveries of this event
      </Link>
    </p>
  );
}

function Nothing() {
  return <span className="muted">–</span>;
}
