// Holds an answer against the OpenAPI document: its status must be documented for its route, its body must be of the
// schema, and an error's code must be one that the document says the route answers with.
import assert from 'node:assert/strict';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { ERRORS, type ErrorCode } from '../../src/model/error.ts';
import type { OpenapiDocument } from '../../src/api/openapi/document.ts';
import type { ApiApp } from '../../src/api/route-config.ts';
import type { Answer } from './harness.ts';

type Response = { headers?: object; content?: Record<string, { schema: object; examples?: Record<string, object> }> };
type Operation = { responses: Record<string, Response | { $ref: string }> };

const DOCUMENT = 'openapi.json';
const REQUEST_ID = /^req_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

export interface Contract {
  check(method: string, url: string, answer: Answer): void;
}

export function createContract(app: ApiApp): Contract {
  const document = app.openapi();
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, DOCUMENT);
  const validators = new Map<string, ValidateFunction>();

  const validatorFor = (pointer: string): ValidateFunction => {
    const validate = validators.get(pointer) ?? ajv.compile({ $ref: `${DOCUMENT}#${pointer}` });
    validators.set(pointer, validate);
    return validate;
  };

  return {
    check(method, url, answer) {
      const place = `${method} ${url} → ${answer.status} ${answer.text.slice(0, 500)}`;
      assert.match(answer.headers['x-request-id'] ?? '', REQUEST_ID, place);
      if (answer.status >= 400 && method !== 'HEAD') checkError(answer, place);
      const path = Object.keys(document.paths).find((template) => matches(template, url));
      if (path === undefined || document.paths[path]![method.toLowerCase()] === undefined) return;
      const { pointer, response } = documented(document, path, method.toLowerCase(), answer.status, place);
      checkHeaders(response, answer, place);
      const [mediaType] = Object.keys(response.content ?? {});
      if (mediaType === undefined) return assert.equal(answer.text, '', place);
      if (mediaType !== 'application/json') return;
      assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8', place);
      const validate = validatorFor(`${pointer}/content/${escapeStep(mediaType)}/schema`);
      assert.ok(validate(answer.json), `${place}: ${ajv.errorsText(validate.errors)}`);
      if (answer.status < 400) return;
      const { code } = answer.json.error as { code: string };
      assert.ok(response.content![mediaType]!.examples?.[code], `${place}: this code is not documented`);
    },
  };
}

/** What the document says of an answer, and where. */
function documented(document: OpenapiDocument, path: string, method: string, status: number, place: string) {
  const { responses } = document.paths[path]![method] as Operation;
  const response = responses[status];
  assert.ok(response !== undefined, `${place}: this status is not documented`);
  if (!('$ref' in response)) {
    const steps = ['paths', path, method, 'responses', String(status)];
    return { pointer: steps.map((step) => `/${escapeStep(step)}`).join(''), response };
  }
  const pointer = response.$ref.slice(1);
  const shared = document.components.responses as Record<string, Response>;
  return { pointer, response: shared[pointer.split('/').at(-1)!]! };
}

/** Every header that is documented is there; those that mean something are there only where they are documented. */
function checkHeaders(response: Response, { headers }: Answer, place: string): void {
  const names = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  for (const name of names) assert.ok(headers[name] !== undefined, `${place}: it lacks the header ${name}`);
  for (const name of ['location', 'idempotent-replayed', 'retry-after', 'www-authenticate', 'allow']) {
    if (headers[name] !== undefined) assert.ok(names.includes(name), `${place}: its header ${name} is not documented`);
  }
}

function checkError({ status, headers, json }: Answer, place: string): void {
  const { error } = json as { error: { code: ErrorCode; message: string; request_id: string } };
  assert.equal(error?.request_id, headers['x-request-id'], place);
  assert.equal(ERRORS[error.code]?.status, status, place);
  assert.ok(error.message.length > 0 && !/FST_|\bSQL|Error:|node:/.test(error.message), place);
  if (status === 401) assert.equal(headers['www-authenticate'], 'Bearer', place);
  if (status === 405) assert.ok(headers.allow, place);
  if (status === 503 || error.code === 'rotation_in_progress')
    assert.match(headers['retry-after'] ?? '', /^\d+$/, place);
}

function matches(template: string, url: string): boolean {
  const [path] = url.split('?');
  return new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]*')}$`).test(path!);
}

/** A part of a JSON pointer in a URI fragment. */
function escapeStep(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}
