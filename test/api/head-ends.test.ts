// However a connection's bytes are cut into packets: no piece completes two heads, and nothing is lost or moved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { HeadEnds } from '../../src/api/http/turns.ts';

/** The pieces that the packets are cut into. */
function cut(packets: readonly Buffer[]): Buffer[] {
  const ends = new HeadEnds();
  const pieces: Buffer[] = [];
  for (const packet of packets) {
    for (let from = 0; from < packet.length;) {
      const end = ends.next(packet, from);
      assert.ok(end > from && end <= packet.length);
      pieces.push(packet.subarray(from, end));
      from = end;
    }
  }
  return pieces;
}

test('a request alone is one piece, with its body', () => {
  const request = Buffer.from('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}');
  assert.deepEqual(cut([request]), [request]);
});

test('no piece completes two heads', () => {
  const HEAD = 'GET / HTTP/1.1\r\nhost: a';
  const request = fc.constantFrom(
    `${HEAD}\r\n\r\n`,
    `${HEAD}\r\n\r\nbody`,
    `\r\n${HEAD}\r\n\r\n\r\n\r\n\r`,
    'G\r\n\r\n',
  );
  const packetSizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 30 }), packetSizes, (requests, sizes) => {
      const bytes = Buffer.from(requests.join(''));
      const packets: Buffer[] = [];
      for (let from = 0, n = 0; from < bytes.length; from += sizes[n++ % sizes.length]!) {
        packets.push(bytes.subarray(from, from + sizes[n % sizes.length]!));
      }
      const pieces = cut(packets);
      assert.equal(Buffer.concat(pieces).toString(), requests.join(''));
      let end = 0;
      for (const { length } of pieces) {
        const [begin, text] = [end, bytes.toString('latin1')];
        end += length;
        // A head's end: an empty line behind a line that is not empty.
        const heads = [...text.matchAll(/[^\r\n]\r\n\r\n/g)].filter(
          ({ index }) => index + 5 > begin && index + 5 <= end,
        );
        assert.ok(heads.length <= 1, JSON.stringify(text.slice(begin, end)));
      }
    }),
  );
});
