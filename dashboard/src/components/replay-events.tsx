// New deliveries of old events: for a destination that was added later, or lost what it had.
import { useQuery } from '@tanstack/react-query';
import { answerOf, api } from '../api/client.ts';
import { choicesQuery } from '../api/queries.ts';
import { BulkOperationButton } from './bulk-operation.tsx';
import { useMode } from './environment.ts';
import { Field, SelectField } from './field.tsx';
import { nameOf } from './show.tsx';
import { lastHours, SpanFields } from './span-fields.tsx';
import type { SpanChoice } from './span-fields.tsx';

type Draft = { span: SpanChoice; type: string; destinationId: string; isMissingOnly: boolean };

export function ReplayEventsButton({ type }: { type: string }) {
  const mode = useMode();
  return (
    <BulkOperationButton
      label="Replay many"
      title="Replay events"
      verb="Replay them"
      initial={(): Draft => ({ span: lastHours(24), type, destinationId: '', isMissingOnly: true })}
      fields={(draft, change) => <Fields draft={draft} change={change} />}
      start={({ span: { since, until }, type: pattern, destinationId, isMissingOnly }, pace) =>
        answerOf(
          api(mode).POST('/v1/events/replay', {
            body: {
              since,
              until: until ?? null,
              event_type: pattern.trim() || null,
              ...(destinationId !== '' && { destination_ids: [destinationId] }),
              missing_only: isMissingOnly,
              ...pace,
            },
          }),
        )
      }
    />
  );
}

function Fields({ draft, change }: { draft: Draft; change: (draft: Draft) => void }) {
  const { data } = useQuery(choicesQuery(useMode()));
  const isOther = draft.destinationId !== '' && !data?.data.some(({ id }) => id === draft.destinationId);
  return (
    <>
      <p>New deliveries are made, by the subscriptions as they are now. Receivers see the same webhook-id again.</p>
      <Field
        label="Type or pattern"
        placeholder="every type"
        value={draft.type}
        onChange={({ target }) => change({ ...draft, type: target.value })}
      />
      <SpanFields label="Accepted" span={draft.span} onChange={(span) => change({ ...draft, span })} />
      <SelectField
        label="To"
        value={draft.destinationId}
        onChange={({ target }) => change({ ...draft, destinationId: target.value })}
      >
        <option value="">All that match</option>
        {data?.data.map((destination) => (
          <option key={destination.id} value={destination.id}>
            {nameOf(destination)}
          </option>
        ))}
        {isOther && <option value={draft.destinationId}>{draft.destinationId}</option>}
      </SelectField>
      {data?.has_more && (
        <Field
          label="Or by its id"
          placeholder="dst_…"
          value={draft.destinationId}
          onChange={({ target }) => change({ ...draft, destinationId: target.value.trim() })}
        />
      )}
      <label className="choice">
        <input
          type="checkbox"
          checked={draft.isMissingOnly}
          onChange={({ target }) => change({ ...draft, isMissingOnly: target.checked })}
        />
        Only where the destination never answered the event with 2xx
      </label>
    </>
  );
}
