import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilersFactory } from '../../src/api/server.ts';
import { startApi } from './harness.ts';

test('every schema of every route compiles, though only when a request needs it', async (t) => {
  const { buildValidator, buildSerializer } = compilersFactory;
  const uses: (() => unknown)[] = [];
  t.mock.method(compilersFactory, 'buildValidator', (...given: Parameters<typeof buildValidator>) => {
    const compile = buildValidator(...given);
    return (...route: Parameters<typeof compile>) => {
      const validate = compile(...route);
      uses.push(() => validate({}));
      return validate;
    };
  });
  t.mock.method(compilersFactory, 'buildSerializer', (...given: Parameters<typeof buildSerializer>) => {
    const compile = buildSerializer(...given);
    return (...route: Parameters<typeof compile>) => {
      const serialize = compile(...route);
      uses.push(() => serialize({}));
      return serialize;
    };
  });
  const api = await startApi();
  t.after(() => api.close());
  assert.ok(uses.length > 100, `${uses.length} schemas`);
  // What is compiled checks or writes an empty object; most answers must have members.
  for (const use of uses) {
    try {
      use();
    } catch (error) {
      assert.match((error as Error).message, /^"\w+" is required!$/);
    }
  }
});
