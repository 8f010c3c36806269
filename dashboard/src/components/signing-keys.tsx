// The keys that sign a destination's requests: two while a rotation overlaps, and how long that still lasts.
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, api } from '../api/client.ts';
import { signingKeysQuery } from '../api/queries.ts';
import { countdown } from '../words/time.ts';
import { ConfirmButton, Dialog } from './dialog.tsx';
import { useMay, useMode } from './environment.ts';
import { SelectField } from './field.tsx';
import { Card } from './page.tsx';
import { BroughtSecretField, Secret } from './secret.tsx';
import { Fault, Time, useTicking } from './show.tsx';

const OVERLAPS = [
  { seconds: 0, label: 'none: the old key ends at once' },
  { seconds: 3_600, label: '1 hour' },
  { seconds: 86_400, label: '1 day' },
  { seconds: 604_800, label: '7 days' },
];

export function SigningKeys({ destinationId: id }: { destinationId: string }) {
  const mode = useMode();
  const may = useMay();
  const client = useQueryClient();
  const { data, error, refetch } = useQuery(signingKeysQuery(mode, id));
  const [overlap, setOverlap] = useState(86_400);
  const [brought, setBrought] = useState('');
  const [secret, setSecret] = useState<string | null>(null);
  const refresh = (): Promise<void> => client.invalidateQueries({ queryKey: signingKeysQuery(mode, id).queryKey });
  const rotate = async (): Promise<void> => {
    const request = api(mode).POST('/v1/destinations/{id}/signing-keys/rotate', {
      params: { path: { id } },
      body: { overlap_seconds: overlap, signing_secret: brought.trim() || null },
    });
    const { signing_secret: made } = await answerOf(request);
    if (brought.trim() === '') setSecret(made);
    setBrought('');
    await refresh();
  };
  const end = async (keyId: string): Promise<void> => {
    const params = { path: { id, key_id: keyId } };
    await answerOf(api(mode).DELETE('/v1/destinations/{id}/signing-keys/{key_id}', { params }));
    await refresh();
  };
  const isOverlapping = data?.data.some(({ expires_at: at }) => at !== null) ?? false;
  return (
    <Card
      title="Signing secret"
      actions={
        may('manage') &&
        !isOverlapping && (
          <ConfirmButton label="Rotate" title="Rotate the signing secret" confirm="Rotate" act={rotate}>
            <div className="stack">
              <p>A new secret is made and shown once. Until the overlap ends, requests carry the signatures of both.</p>
              <SelectField label="Overlap" value={overlap} onChange={({ target }) => setOverlap(Number(target.value))}>
                {OVERLAPS.map(({ seconds, label }) => (
                  <option key={seconds} value={seconds}>
                    {label}
                  </option>
                ))}
              </SelectField>
              <BroughtSecretField value={brought} onChange={setBrought} />
            </div>
          </ConfirmButton>
        )
      }
    >
      <Fault error={error} retry={() => void refetch()} />
      <ul className="stack-small">
        {data?.data.map((key) => (
          <li key={key.id} className="row">
            <span>
              {key.expires_at === null ? 'In use since ' : 'Old key, made '}
              <Time at={key.created_at} />
            </span>
            {key.expires_at !== null && <Remaining until={key.expires_at} />}
            {key.expires_at !== null && may('manage') && (
              <ConfirmButton
                label="End now"
                title="End the old key"
                confirm="End it"
                danger
                className="button slim"
                act={() => end(key.id)}
              >
                <p>Receivers that still verify with the old secret refuse events from now on.</p>
              </ConfirmButton>
            )}
          </li>
        ))}
      </ul>
      <Dialog title="The new signing secret" open={secret !== null} onClose={null}>
        {secret !== null && <Secret secret={secret} onDone={() => setSecret(null)} />}
      </Dialog>
    </Card>
  );
}

function Remaining({ until }: { until: string }) {
  const text = useTicking((now) => countdown(Date.parse(until) - now));
  return <span className="tone-wait">signs for {text} more</span>;
}
