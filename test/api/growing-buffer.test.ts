// The memory of a body that comes in pieces.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingBuffer } from '../../src/api/http/bodies.ts';

test('one piece is kept as it came', () => {
  const piece = Buffer.from('{"type":"a.b","body":{}}');
  const buffer = new GrowingBuffer(1_000_000);
  buffer.append(piece);
  assert.equal(buffer.take().buffer, piece.buffer);
  assert.equal(buffer.capacity, piece.length);
});

test('many small pieces take little more than their bytes', () => {
  const buffer = new GrowingBuffer(1_000_000);
  for (let n = 0; n < 100_000; n++) {
    buffer.append(Buffer.from([n % 251]));
    assert.ok(buffer.capacity <= Math.max(4_096, 2 * buffer.length), `${buffer.capacity} for ${buffer.length}`);
  }
  assert.deepEqual(buffer.take(), Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251)));
});

test('no more memory is taken than may be filled', () => {
  const buffer = new GrowingBuffer(150_000);
  for (let n = 0; n < 3; n++) buffer.append(Buffer.alloc(50_000));
  assert.equal(buffer.capacity, 150_000);
});

test('what is handed on does not keep room for more', () => {
  const buffer = new GrowingBuffer(1_000_000);
  buffer.append(Buffer.from('a'));
  buffer.append(Buffer.from('b'));
  const bytes = buffer.take();
  assert.equal(bytes.toString(), 'ab');
  assert.ok(buffer.capacity > 4_000);
  assert.ok(bytes.buffer.byteLength < 100_000);
});
