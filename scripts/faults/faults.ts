/** What can go wrong with one call, in the order of docs/design/faults.md. */
export const FAULTS = {
  refused: 'Answered with the refusal that a missing right gets: 403, `AccessDenied`, `invalid_client`.',
  throttled: 'Answered with "too many": 429 with `Retry-After`, `ThrottlingException`, `SlowDown`.',
  'lost before': 'Nothing is done, and nothing is ever answered: the time limit of the client ends it.',
  'lost after': 'It is done, and nothing is ever answered.',
  cut: 'It is done, and the connection breaks in the middle of the answer.',
  garbage: 'It is done, and answered with 200 and a web page.',
  slow: 'It is done two seconds late.',
  'died before': 'The process of the function ends; the call is not done.',
  'died after': 'The process of the function ends; the call is done.',
} as const;
export type Fault = keyof typeof FAULTS;

/** How long it lasts: one call of the step, or each one until the execution has ended. */
export const SPANS = ['once', 'always'] as const;
export type Span = (typeof SPANS)[number];
