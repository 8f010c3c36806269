// What can be set of a destination, when it is made and later.
import { useEffect, useRef, useState, type RefObject } from 'react';
import { ApiError, type Destination, type Schemas } from '../api/client.ts';
import { headersOf } from '../words/headers.ts';
import { meaningOfNoDelays, policyWith, writtenDelaysOf } from '../words/retry-policy.ts';
import { Field, SelectField, TextField } from './field.tsx';
import { useOnce } from './once.ts';
import { BroughtSecretField } from './secret.tsx';
import { Fault } from './show.tsx';

type Plain = 'name' | 'max_in_flight' | 'rate_per_second' | 'signature_style';
export type DestinationValues = Pick<Schemas['DestinationPatch'], Plain> & {
  url: string;
  headers?: Record<string, string>;
  retry_policy?: Schemas['DestinationPatch']['retry_policy'];
};

type Props = {
  destination?: Destination;
  submit: string;
  /** `broughtSecret`: of a new one, instead of one that is made; null: none was given. */
  save: (values: DestinationValues, broughtSecret: string | null) => Promise<void>;
  onCancel: () => void;
};

export function DestinationForm({ destination, submit, save, onCancel }: Props) {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const { run, isBusy, error } = useOnce(() => save(valuesOf(draft), draft.secret.trim() || null));
  const form = useShownFault(error);
  const set = (change: Partial<Draft>): void => setDraft({ ...draft, ...change });
  const secretFault = error instanceof ApiError && error.param === '/signing_secret' ? error.message : null;
  const headersFault = isOfHeaders(error) ? error.message : null;
  const isUrlAtFault = error instanceof ApiError && (error.param === '/url' || error.code === 'url_not_reachable');
  return (
    <form
      ref={form}
      className="stack"
      onSubmit={run}
      onInvalidCapture={({ target }) => openSectionOf(target as HTMLElement)}
    >
      <Field
        label="URL"
        type="url"
        required
        placeholder="https://example.com/webhooks"
        value={draft.url}
        fault={isUrlAtFault ? error.message : null}
        onChange={({ target }) => set({ url: target.value })}
      />
      <Field label="Name" value={draft.name} onChange={({ target }) => set({ name: target.value })} />
      <details>
        <summary>Limits, headers, retries, signatures</summary>
        <div className="stack">
          <Options draft={draft} set={set} headersFault={headersFault} />
          {destination === undefined && (
            <BroughtSecretField value={draft.secret} fault={secretFault} onChange={(secret) => set({ secret })} />
          )}
        </div>
      </details>
      {!isUrlAtFault && secretFault === null && headersFault === null && <Fault error={error} />}
      <div className="actions">
        <button type="button" className="button quiet" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" className="button primary" aria-disabled={isBusy}>
          {submit}
        </button>
      </div>
    </form>
  );
}

function isOfHeaders(error: unknown): error is Error {
  return error instanceof SyntaxError || (error instanceof ApiError && error.param?.startsWith('/headers') === true);
}

/** The field that is at fault gets the focus, whether the browser refuses it, this form or the service. */
function useShownFault(error: unknown): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const field = form.current?.querySelector<HTMLElement>('[aria-invalid=true]');
    if (error === null || field == null) return;
    openSectionOf(field);
    field.focus();
  }, [error]);
  return form;
}

/** In a section that was closed again neither the field is seen nor what is wrong with it. */
function openSectionOf(field: HTMLElement): void {
  const section = field.closest('details');
  if (section !== null) section.open = true;
}

type OptionsProps = { draft: Draft; set: (change: Partial<Draft>) => void; headersFault: string | null };

function Options({ draft, set, headersFault }: OptionsProps) {
  return (
    <>
      <Field
        label="Requests at once"
        type="number"
        min={1}
        max={1000}
        placeholder="50"
        value={draft.maxInFlight}
        onChange={({ target }) => set({ maxInFlight: target.value })}
      />
      <Field
        label="Attempts a second"
        type="number"
        min={0.1}
        step="any"
        placeholder="no limit"
        value={draft.ratePerSecond}
        onChange={({ target }) => set({ ratePerSecond: target.value })}
      />
      <TextField
        label="Headers"
        rows={3}
        placeholder="x-tenant: acme"
        hint="One a line. *** keeps the value that is stored."
        value={draft.headers}
        fault={headersFault}
        onChange={({ target }) => set({ headers: target.value })}
      />
      <Field
        label="Delays between attempts, in seconds"
        placeholder="5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400"
        hint={meaningOfNoDelays(draft.policy)}
        value={draft.schedule}
        onChange={({ target }) => set({ schedule: target.value })}
      />
      <SelectField
        label="Signature headers"
        hint="Svix’s are for receivers that verify with Svix’s libraries."
        value={draft.signatureStyle}
        onChange={({ target }) => set({ signatureStyle: target.value as Draft['signatureStyle'] })}
      >
        {Object.entries(SIGNATURE_STYLES).map(([style, words]) => (
          <option key={style} value={style}>
            {words}
          </option>
        ))}
      </SelectField>
    </>
  );
}

export const SIGNATURE_STYLES: Record<Schemas['SignatureStyle'], string> = {
  standard: 'webhook-* (Standard Webhooks)',
  svix: 'webhook-* and svix-*',
};

type Draft = {
  url: string;
  name: string;
  maxInFlight: string;
  ratePerSecond: string;
  headers: string;
  schedule: string;
  signatureStyle: Schemas['SignatureStyle'];
  secret: string;
  /** The policy as it is, so that what this form does not show is not lost. */
  policy: Destination['retry_policy'];
};

function draftOf(destination: Destination | undefined): Draft {
  const policy = destination?.retry_policy ?? null;
  return {
    url: destination?.url ?? '',
    name: destination?.name ?? '',
    maxInFlight: destination === undefined ? '' : String(destination.max_in_flight ?? ''),
    ratePerSecond: String(destination?.rate_per_second ?? ''),
    headers: Object.entries(destination?.headers ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
    schedule: writtenDelaysOf(policy),
    signatureStyle: destination?.signature_style ?? 'standard',
    secret: '',
    policy,
  };
}

function valuesOf(draft: Draft): DestinationValues {
  return {
    url: draft.url.trim(),
    name: draft.name.trim() || null,
    max_in_flight: draft.maxInFlight === '' ? null : Number(draft.maxInFlight),
    rate_per_second: draft.ratePerSecond === '' ? null : Number(draft.ratePerSecond),
    headers: headersOf(draft.headers),
    retry_policy: policyWith(draft.schedule, draft.policy),
    signature_style: draft.signatureStyle,
  };
}
