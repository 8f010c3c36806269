// New deliveries of old events: for a destination that was added later, or lost what it had.
import { answerOf, api } from '../api/client.ts';
import { BulkOperationButton } from './bulk-operation.tsx';
import { DestinationPicker } from './destination-picker.tsx';
import { useMode } from './environment.ts';
import { Field } from './field.tsx';
import { lastHours, SpanFields, type SpanChoice } from './span-fields.tsx';

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
      <DestinationPicker
        label="To"
        any="All that match"
        value={draft.destinationId}
        onChange={(destinationId) => change({ ...draft, destinationId })}
      />
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
