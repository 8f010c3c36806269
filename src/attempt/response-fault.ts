// Why a response was cut on its way to undici's parser.

/** `body_limit` is no fault of the receiver: the rest of the body is of no interest. */
export type FaultEnd = 'headers_too_long' | 'malformed' | 'padded' | 'body_limit';

export class ResponseFault extends Error {
  readonly end: FaultEnd;
  constructor(end: FaultEnd) {
    super(end);
    this.end = end;
  }
}
