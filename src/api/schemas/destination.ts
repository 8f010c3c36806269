import { Type } from './type.ts';
import type { Static } from 'typebox';
import { SECRET_BYTES_MAX, SECRET_BYTES_MIN } from '../input/signing-secret.ts';
import {
  DESTINATION_STATUSES,
  HEADERS_MAX,
  MAX_IN_FLIGHT_DEFAULT,
  METADATA_BYTES_MAX,
  NAME_LENGTH_MAX,
  PAUSED_REASONS,
  SIGNATURE_STYLES,
  URL_LENGTH_MAX,
} from '../../model/destination.ts';
import { DELAYS_MAX, DELAY_SECONDS_MAX } from '../../model/retry-policy.ts';
import {
  ANY_TEXT,
  anyObject,
  closed,
  FUTURE_TIME,
  id,
  named,
  nullable,
  omissible,
  oneOf,
  pageOf,
  shownAs,
  time,
} from './fields.ts';

export const name = Type.String({
  maxLength: NAME_LENGTH_MAX,
  pattern: ANY_TEXT.pattern,
  examples: ['Orders of ACME'],
});

const seconds = (maximum: number) => Type.Number({ minimum: 1, maximum });

const bounds = {
  timeout_seconds: Type.Optional(seconds(60)),
  jitter: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
};
const scheduleSeconds = Type.Array(Type.Integer({ minimum: 1, maximum: DELAY_SECONDS_MAX }), {
  maxItems: DELAYS_MAX,
  description: 'The delays between attempts; `[]`: one attempt only.',
  examples: [[5, 300, 1800]],
});
const formula = {
  max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: DELAYS_MAX + 1 })),
  initial_seconds: Type.Optional(seconds(DELAY_SECONDS_MAX)),
  factor: Type.Optional(Type.Number({ minimum: 1, maximum: 10 })),
  max_seconds: Type.Optional(seconds(DELAY_SECONDS_MAX)),
};

/** That its two forms are not mixed is checked by hand, with a message that a union would not give. */
const retryPolicy = named(
  'RetryPolicy',
  shownAs(closed({ schedule_seconds: Type.Optional(scheduleSeconds), ...formula, ...bounds }), {
    description:
      'Either a list of delays or a formula for them. Absent or null: 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, ' +
      '24 h. Each delay is lengthened by up to `jitter` (0.2). An attempt has `timeout_seconds` (15).',
    oneOf: [
      named('RetrySchedule', closed({ schedule_seconds: scheduleSeconds, ...bounds })),
      named(
        'RetryFormula',
        closed(
          { ...formula, ...bounds },
          {
            description:
              'The delays `min(initial_seconds × factor^n, max_seconds)` for `max_attempts` attempts (10, 5, 3 and ' +
              '86,400 where only some of them are given); without any of the four: the default schedule.',
          },
        ),
      ),
    ],
  }),
);

const maxInFlight = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  description: `Requests to this destination at one time. Default ${MAX_IN_FLIGHT_DEFAULT}.`,
});
const ratePerSecond = Type.Number({
  minimum: 0.1,
  maximum: 10_000,
  description: 'Attempts a second on average; null: no limit.',
});
const headers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: HEADERS_MAX,
  additionalProperties: { type: 'string' },
  description: 'Headers that every request to the destination carries. Reads show their names, with `***` as values.',
  examples: [{ 'x-tenant': 'acme' }],
});
const signatureStyle = named(
  'SignatureStyle',
  oneOf(SIGNATURE_STYLES, {
    description:
      '`standard` (the default): the headers of Standard Webhooks. `svix`: beside them `svix-id`, `svix-timestamp` ' +
      'and `svix-signature` with the same values, for receivers that verify with a library of Svix.',
  }),
);
const metadata = anyObject({
  description: `Anything worth keeping with the destination; at most ${METADATA_BYTES_MAX} bytes as minified JSON.`,
  examples: [{ team: 'billing' }],
});
const urlText = Type.String({
  description: `An https URL with a public host (test mode: http too), of at most ${URL_LENGTH_MAX} characters.`,
  examples: ['https://example.com/webhooks'],
});
const url = shownAs(urlText, { ...urlText, format: 'uri', maxLength: URL_LENGTH_MAX });
export const destinationStatus = named('DestinationStatus', oneOf(DESTINATION_STATUSES));

const SECRET_EXAMPLE = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw8M1Zu3M1f0I=';

const options = {
  name: omissible(name),
  retry_policy: omissible(retryPolicy),
  max_in_flight: omissible(maxInFlight),
  rate_per_second: omissible(ratePerSecond),
  headers: omissible(headers),
  signature_style: omissible(signatureStyle),
  metadata: omissible(metadata),
};

const secretText = Type.String({
  description:
    `A key that the receiver has already: \`whsec_\` and base64 of ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes. ` +
    'Absent: a new one is made.',
  examples: [SECRET_EXAMPLE],
});
/** Its form is checked by hand: the message of a pattern that does not match would repeat the secret. */
const broughtSecret = shownAs(secretText, { ...secretText, pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$' });

export const destinationInput = named(
  'DestinationInput',
  closed({ url, ...options, signing_secret: omissible(broughtSecret) }),
);
export type DestinationInput = Static<typeof destinationInput>;

export const destinationPatch = named(
  'DestinationPatch',
  closed({ url: Type.Optional(url), status: Type.Optional(destinationStatus), ...options }),
);
export type DestinationPatch = Static<typeof destinationPatch>;

export const pausedReason = named('PausedReason', oneOf(PAUSED_REASONS));

const destinationMembers = {
  id: id('dst'),
  url,
  name: nullable(Type.String()),
  status: destinationStatus,
  paused_reason: nullable(pausedReason),
  retry_policy: nullable(retryPolicy),
  max_in_flight: maxInFlight,
  rate_per_second: nullable(ratePerSecond),
  headers,
  signature_style: signatureStyle,
  metadata,
  created_at: time('When it was registered.'),
  updated_at: time('When it was last changed, by a request or by an automatic pause.'),
};

const signingSecret = Type.String({
  description: '`whsec_` and the key in base64 (Standard Webhooks). Shown this once.',
  examples: [SECRET_EXAMPLE],
});

export const destination = named('Destination', closed(destinationMembers));
export const createdDestination = named(
  'CreatedDestination',
  closed({ ...destinationMembers, signing_secret: signingSecret }),
);
export const destinationPage = pageOf(destination);

export const OVERLAP_SECONDS_DEFAULT = 86_400;

export const rotationInput = named(
  'RotationInput',
  closed({
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 604_800,
        default: OVERLAP_SECONDS_DEFAULT,
        description: 'How long the previous key goes on signing beside the new one.',
      }),
    ),
    signing_secret: omissible(broughtSecret),
  }),
);

export const rotatedSigningKey = named(
  'RotatedSigningKey',
  closed({
    id: id('sgk'),
    signing_secret: signingSecret,
    created_at: time('When it was made.'),
    previous_expires_at: time('Until when the previous key signs too.', FUTURE_TIME),
  }),
);
const signingKey = named(
  'SigningKey',
  closed({
    id: id('sgk'),
    created_at: time('When it was made.'),
    expires_at: nullable(time('Until when it signs; null: it is the newest.', FUTURE_TIME)),
  }),
);
export const signingKeyPage = pageOf(signingKey);
