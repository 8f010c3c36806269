// The body of every error response.
import { Type } from './type.ts';
import { ERRORS, type ErrorCode } from '../../model/error.ts';
import { closed, id, named, oneOf } from './fields.ts';

export const errorMembers = {
  code: named('ErrorCode', oneOf(Object.keys(ERRORS) as ErrorCode[])),
  message: Type.String({ description: 'What to do, for people. Do not match on it.' }),
  request_id: id('req'),
  param: Type.Optional(
    Type.String({
      description: 'The one field to blame: a JSON pointer into the body, or the name of a query parameter.',
    }),
  ),
};

const operationId = {
  ...id('op'),
  description: 'With `operation_in_progress`: the operation that was asked for before.',
};
const errorDetails = named('ErrorDetails', closed({ ...errorMembers, operation_id: Type.Optional(operationId) }));
export const errorBody = named('Error', closed({ error: errorDetails }));
