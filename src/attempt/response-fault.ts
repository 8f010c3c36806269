// Why a response is not read to its end.

/** `body_limit` is no fault of the receiver: the rest of the body is of no interest. */
export type FaultEnd = 'headers_too_long' | 'malformed' | 'padded' | 'interim_unwanted' | 'body_limit' | 'tls_failed';

/** `detail`: of what is malformed, in words for people; of TLS, the code. */
export class ResponseFault extends Error {
  readonly end: FaultEnd;
  readonly detail: string | null;
  constructor(end: FaultEnd, detail: string | null = null) {
    super(end);
    this.end = end;
    this.detail = detail;
  }
}

export function malformed(detail: string): ResponseFault {
  return new ResponseFault('malformed', detail);
}
