// Reads request bodies: the same rules for every endpoint, before anything is parsed. What is too long is refused
// while it is being read, and all requests together may hold only so much memory.
import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { ApiError } from '../model/error.ts';

export type BodyResult = (error: ApiError | null, bytes: Buffer) => void;

export interface BodyReader {
  /** Calls back once: with the whole body (empty when there is none), or with why it was refused. */
  read(request: IncomingMessage, bytesMax: number, done: BodyResult): void;
}

const EMPTY = Buffer.alloc(0);

/** `bytesBudget`: how many bytes all requests being read may hold together. */
export function createBodyReader(options: { bytesBudget: number }): BodyReader {
  let held = 0;

  return {
    read(request, bytesMax, done) {
      const { 'content-length': declared, 'transfer-encoding': encoding } = request.headers;
      const length = encoding === undefined ? Number(declared ?? 0) : null;
      if (length === 0) return done(null, EMPTY);
      if (length !== null && length > bytesMax) return done(tooLarge(bytesMax), EMPTY);
      const mediaFault = length === null ? null : findMediaFault(request);
      if (mediaFault !== null) return done(mediaFault, EMPTY);

      const chunks: Buffer[] = [];
      let received = 0;
      const finish = (error: ApiError | null): void => {
        request.off('data', onData).off('end', onEnd).off('close', onClose);
        held -= received;
        done(error, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, received));
      };
      const onData = (chunk: Buffer): void => {
        // Only now is it certain that a request of unknown length has a body that must be of some type.
        const fault = received === 0 && length === null ? findMediaFault(request) : null;
        received += chunk.length;
        held += chunk.length;
        chunks.push(chunk);
        if (fault !== null) finish(fault);
        else if (received > bytesMax) finish(tooLarge(bytesMax));
        else if (held > options.bytesBudget) finish(overBudget());
      };
      const onEnd = (): void => finish(null);
      const onClose = (): void => finish(new ApiError('invalid_request', 'the request ended before its body did'));
      request.on('data', onData).once('end', onEnd).once('close', onClose).on('error', ignoreError);
    },
  };
}

/** A connection that breaks is seen by 'close'; without a listener for the error Node would not tell us more. */
function ignoreError(): void {}

function findMediaFault(request: IncomingMessage): ApiError | null {
  const { 'content-type': type, 'content-encoding': contentEncoding } = request.headers;
  if (contentEncoding !== undefined) {
    return unsupported('a Content-Encoding is not supported; send the body as it is');
  }
  if (type === undefined) return unsupported('the Content-Type header is missing; send application/json');
  return isJsonType(type) ? null : unsupported('the Content-Type must be application/json, in UTF-8');
}

function isJsonType(text: string): boolean {
  if (text === 'application/json') return true;
  const type = parseMediaType(text);
  if (type?.essence !== 'application/json') return false;
  const charset = type.params.get('charset')?.toLowerCase();
  return charset === undefined || charset === null || charset === 'utf-8' || charset === 'utf8';
}

function parseMediaType(text: string): MIMEType | null {
  try {
    return new MIMEType(text);
  } catch {
    return null;
  }
}

function unsupported(message: string): ApiError {
  return new ApiError('unsupported_media_type', message);
}

function tooLarge(bytesMax: number): ApiError {
  return new ApiError('body_too_large', `the request body is longer than the ${bytesMax} bytes that are possible here`);
}

function overBudget(): ApiError {
  return new ApiError('unavailable', 'too many requests are being received at once; try again', {
    retryAfterSeconds: 1,
  });
}
