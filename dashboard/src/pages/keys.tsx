import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { answerOf, api, type ApiKey, type Mode, type Scope } from '../api/client.ts';
import { keysQuery } from '../api/queries.ts';
import { useSessions } from '../api/session.ts';
import { ConfirmButton, Dialog } from '../components/dialog.tsx';
import { useMode } from '../components/environment.ts';
import { Field } from '../components/field.tsx';
import { pick } from '../components/filters.tsx';
import { useOnce } from '../components/once.ts';
import { Page } from '../components/page.tsx';
import { ListFault, Pager } from '../components/pager.tsx';
import { CopyButton, Fault, Time } from '../components/show.tsx';
import type { Search } from '../router.tsx';
import { visible } from '../words/visible.ts';

const SCOPES: Record<Scope, string> = {
  publish: 'send events',
  read: 'see everything but keys',
  manage: 'change destinations and subscriptions',
  operate: 'retry and replay',
  admin: 'manage keys, see the cluster',
};

export function Keys() {
  const mode = useMode();
  const search: Search = useSearch({ strict: false });
  const query = pick(search, ['cursor']);
  const { data, error, refetch } = useQuery(keysQuery(mode, query));
  return (
    <Page title="API keys" actions={<CreateKey />}>
      <ListFault error={error} retry={() => void refetch()} />
      {data !== undefined && (
        <section className="card">
          <div className="table-wrap">
            <table className="cards" aria-label="API keys">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Key</th>
                  <th>Environment</th>
                  <th>May</th>
                  <th>Last used</th>
                  <th>Ends</th>
                  <th className="fit">
                    <span className="unseen">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.data.map((key) => (
                  <KeyRow key={key.id} apiKey={key} />
                ))}
              </tbody>
            </table>
          </div>
          <Pager page={data} query={query} />
        </section>
      )}
    </Page>
  );
}

function KeyRow({ apiKey }: { apiKey: ApiKey }) {
  const mode = useMode();
  const client = useQueryClient();
  const isOwn = useSessions().some((session) => session.key.id === apiKey.id);
  const revoke = async (): Promise<void> => {
    await answerOf(api(mode).DELETE('/v1/api-keys/{id}', { params: { path: { id: apiKey.id } } }));
    await client.invalidateQueries({ queryKey: [mode, '/v1/api-keys'] });
  };
  const name = visible(apiKey.name ?? 'unnamed');
  return (
    <tr>
      <td className="lead">
        <span className="strong">{name}</span>
        {isOwn && <span className="muted small"> you are signed in with it</span>}
      </td>
      <td className="mono nowrap whole">
        {apiKey.prefix}…{apiKey.last4}
      </td>
      <td>{apiKey.mode}</td>
      <td className="muted">{apiKey.scopes.join(', ')}</td>
      <td className="end">
        {apiKey.last_used_at !== null && <span className="narrow-only muted">used </span>}
        <Time at={apiKey.last_used_at} none="never used" />
      </td>
      <td className={apiKey.expires_at === null ? 'wide-only' : undefined}>
        <span className="narrow-only muted">ends </span>
        <Time at={apiKey.expires_at} none="never" />
      </td>
      <td className="fit whole last">
        <ConfirmButton
          label="Revoke"
          of={`${name}, ${apiKey.prefix}…${apiKey.last4}`}
          title={`Revoke ${name}`}
          confirm="Revoke"
          danger
          className="button slim"
          act={revoke}
        >
          <p>Whoever uses it is refused at once. It cannot be undone.</p>
          {isOwn && <p className="strong">You are signed in with this key: you will be signed out.</p>}
        </ConfirmButton>
      </td>
    </tr>
  );
}

function CreateKey() {
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const close = (): void => {
    setOpen(false);
    setSecret(null);
  };
  return (
    <>
      <button type="button" className="button primary" onClick={() => setOpen(true)}>
        Create a key
      </button>
      <Dialog title="Create an API key" open={isOpen || secret !== null} onClose={secret === null ? close : null}>
        {secret === null ? (
          <CreateForm onMade={setSecret} onClose={close} />
        ) : (
          <NewKey secret={secret} onClose={close} />
        )}
      </Dialog>
    </>
  );
}

function CreateForm({ onMade, onClose }: { onMade: (secret: string) => void; onClose: () => void }) {
  const mode = useMode();
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [keyMode, setKeyMode] = useState<Mode>(mode);
  const [scopes, setScopes] = useState<readonly Scope[]>(['publish', 'read', 'manage', 'operate']);
  const { run, isBusy, error } = useOnce(async () => {
    const body = { name: name.trim() || null, mode: keyMode, scopes: [...scopes] };
    onMade((await answerOf(api(mode).POST('/v1/api-keys', { body }))).secret);
    await client.invalidateQueries({ queryKey: [mode, '/v1/api-keys'] });
  });
  const toggle = (scope: Scope): void =>
    setScopes(scopes.includes(scope) ? scopes.filter((other) => other !== scope) : [...scopes, scope]);
  return (
    <form className="stack" onSubmit={run}>
      <Field label="Name" value={name} onChange={({ target }) => setName(target.value)} />
      {mode === 'live' && (
        <fieldset className="field">
          <legend>Environment</legend>
          {(['live', 'test'] as const).map((choice) => (
            <label key={choice} className="choice">
              <input type="radio" name="mode" checked={keyMode === choice} onChange={() => setKeyMode(choice)} />
              {choice}
            </label>
          ))}
        </fieldset>
      )}
      <fieldset className="field">
        <legend>It may</legend>
        {(Object.keys(SCOPES) as Scope[]).map((scope) => (
          <label key={scope} className="choice">
            <input type="checkbox" checked={scopes.includes(scope)} onChange={() => toggle(scope)} />
            <span>
              {scope} <span className="muted">{SCOPES[scope]}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Fault error={error} />
      <div className="actions">
        <button type="button" className="button quiet" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={scopes.length === 0} aria-disabled={isBusy}>
          Create
        </button>
      </div>
    </form>
  );
}

function NewKey({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <div className="stack">
      <p>Copy it now: it is shown this once and stored only as a hash.</p>
      <code className="secret">{secret}</code>
      <div className="actions">
        <CopyButton text={secret} className="button" />
        <button type="button" className="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </div>
  );
}
