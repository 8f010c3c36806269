// Everything of a destination that is dead or waits for a retry, sent again.
import { answerOf, api } from '../api/client.ts';
import { BulkOperationButton } from './bulk-operation.tsx';
import { useMode } from './environment.ts';
import { lastHours, SpanFields } from './span-fields.tsx';

export function RecoverButton({ id }: { id: string }) {
  const mode = useMode();
  return (
    <BulkOperationButton
      label="Recover"
      title="Send what failed again"
      verb="Send them"
      initial={() => lastHours(72)}
      fields={(span, change) => (
        <>
          <p>What is dead gets a fresh schedule; what waits for a retry goes out now.</p>
          <SpanFields label="Scheduled" span={span} onChange={change} />
        </>
      )}
      start={({ since, until }, pace) =>
        answerOf(
          api(mode).POST('/v1/destinations/{id}/recover', {
            params: { path: { id } },
            body: { since, until: until ?? null, ...pace },
          }),
        )
      }
    />
  );
}
