// A signing secret, the one time that it is shown, and how its owner checks requests with it.
import { useState } from 'react';
import { Field } from './field.tsx';
import { CopyButton } from './show.tsx';

const SNIPPETS: Record<string, string> = {
  'Node.js': `import { Webhook } from 'standardwebhooks';

// body: the request's bytes as they came, before anything parses them
const event = new Webhook(process.env.WEBHOOK_SECRET).verify(body, headers);`,
  Python: `from standardwebhooks import Webhook

# body: the request's bytes as they came, before anything parses them
event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(body, headers)`,
  Go: `import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

wh, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
// body: the request's bytes as they came, before anything parses them
err = wh.Verify(body, r.Header)`,
};

type BroughtProps = { value: string; onChange: (value: string) => void; fault?: string | null };

/** For a receiver that has a secret already: then none is made, and none shown. */
export function BroughtSecretField({ value, onChange, fault }: BroughtProps) {
  return (
    <Field
      label="Signing secret that the receiver has already"
      placeholder="whsec_…"
      hint="Empty: a new one is made. Otherwise whsec_ and base64 of 24 to 64 bytes."
      value={value}
      fault={fault ?? null}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

export function Secret({ secret, onDone }: { secret: string; onDone: () => void }) {
  const [language, setLanguage] = useState('Node.js');
  const snippet = SNIPPETS[language] ?? '';
  return (
    <div className="stack">
      <p>Give it to the receiver’s owner now: it is shown this once.</p>
      <code className="secret">{secret}</code>
      <div className="actions">
        <CopyButton text={secret} className="button" label="Copy the secret" />
      </div>
      <h3>Verify with it</h3>
      <div className="row">
        {Object.keys(SNIPPETS).map((name) => (
          <button
            key={name}
            type="button"
            className="button slim"
            aria-pressed={name === language}
            onClick={() => setLanguage(name)}
          >
            {name}
          </button>
        ))}
        <CopyButton text={snippet} of={`what verifies in ${language}`} />
      </div>
      <pre className="code" tabIndex={0} aria-label={`Verification in ${language}`}>
        {snippet}
      </pre>
      <div className="actions">
        <button type="button" className="button primary" onClick={onDone}>
          I have stored it
        </button>
      </div>
    </div>
  );
}
