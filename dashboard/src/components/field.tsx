import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import { sentence } from '../words/sentence.ts';

type Common = { label: string; hint?: ReactNode; fault?: string | null };

export function Field({ label, hint, fault, ...input }: Common & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className="input"
        spellCheck={false}
        autoComplete="off"
        aria-invalid={fault != null}
        aria-describedby={`${id}-hint`}
        {...input}
      />
      <Hint id={`${id}-hint`} hint={hint} fault={fault} />
    </div>
  );
}

export function TextField({ label, hint, fault, ...input }: Common & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="input"
        spellCheck={false}
        aria-invalid={fault != null}
        aria-describedby={`${id}-hint`}
        {...input}
      />
      <Hint id={`${id}-hint`} hint={hint} fault={fault} />
    </div>
  );
}

export function SelectField({ label, hint, fault, ...input }: Common & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} className="input" aria-describedby={`${id}-hint`} {...input} />
      <Hint id={`${id}-hint`} hint={hint} fault={fault} />
    </div>
  );
}

function Hint({ id, hint, fault }: { id: string; hint?: ReactNode; fault?: string | null }) {
  return (
    <div id={id} className={`small ${fault == null ? 'muted' : 'tone-bad'}`}>
      {fault == null ? hint : sentence(fault)}
    </div>
  );
}
