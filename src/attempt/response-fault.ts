// Why a response was cut while undici was reading it.

/** `body_limit` is no fault of the receiver: the rest of the body is of no interest. */
export type FaultEnd = 'headers_too_long' | 'malformed' | 'padded' | 'body_limit' | 'tls_failed';

export class ResponseFault extends Error {
  readonly end: FaultEnd;
  readonly code: string | undefined;
  constructor(end: FaultEnd, code?: string) {
    super(end);
    this.end = end;
    this.code = code;
  }
}
