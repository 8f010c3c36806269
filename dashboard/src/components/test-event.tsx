// One signed request now, and what came back.
import { useState } from 'react';
import { answerOf, api, type Schemas } from '../api/client.ts';
import { explain, OUTCOME_WORD } from '../words/outcomes.ts';
import { span } from '../words/time.ts';
import { HeaderList, ResponseBody } from './attempts.tsx';
import { Dialog } from './dialog.tsx';
import { useMode } from './environment.ts';
import { JsonView } from './json-view.tsx';
import { useOnce } from './once.ts';
import { Badge, Fault } from './show.tsx';

export function TestButton({ id }: { id: string }) {
  const mode = useMode();
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<Schemas['TestAttempt'] | null>(null);
  const { run, isBusy, error } = useOnce(async () => {
    setOpen(true);
    setResult(null);
    const request = api(mode).POST('/v1/destinations/{id}/test', { params: { path: { id } }, body: {} });
    setResult(await answerOf(request));
  });
  return (
    <>
      <button type="button" className="button" onClick={isBusy ? () => setOpen(true) : run}>
        Send a test
      </button>
      <Dialog title="Test request" open={isOpen} onClose={() => setOpen(false)} wide>
        <Fault error={error} />
        {result === null && error === null && <p role="status">Sending…</p>}
        {result !== null && <Result attempt={result} />}
        <div className="actions">
          <button type="button" className="button quiet" aria-disabled={isBusy} onClick={run}>
            Send another
          </button>
          <button type="button" className="button primary" onClick={() => setOpen(false)}>
            Done
          </button>
        </div>
      </Dialog>
    </>
  );
}

function Result({ attempt }: { attempt: Schemas['TestAttempt'] }) {
  const { what, cause, action } = explain(attempt);
  const isGood = attempt.outcome === 'succeeded';
  return (
    <div className="stack" role="status">
      <div className={`callout ${isGood ? 'good' : 'bad'}`}>
        <Badge tone={isGood ? 'good' : 'bad'}>
          {OUTCOME_WORD[attempt.outcome]} in {span(attempt.duration_ms)}
        </Badge>
        <p>{what}</p>
        {cause !== '' && <p>{cause}</p>}
        {action !== '' && <p className="strong">{action}</p>}
      </div>
      <h3>Request</h3>
      <HeaderList headers={attempt.request.headers} />
      <JsonView text={attempt.request.body} label="Body of the request" />
      {attempt.response_headers !== null && (
        <>
          <h3>Response</h3>
          <HeaderList headers={attempt.response_headers} />
        </>
      )}
      <ResponseBody attempt={attempt} label="Body of the response" />
    </div>
  );
}
