import { judgeBody } from '../crm/answer-contradictions.ts';
import { lettersOf, possibleCodes, RFC_6749_WORDS, saysBusy } from '../crm/error-code.ts';
import type { RunErrorName } from '../errors.ts';
import { ownValue } from '../json.ts';

/**
 * Decides what an answer of the token endpoint means for the refresh token or code that was presented. The table for
 * the other operations of the interface is in `core/crm/answers.ts`.
 */

interface Meaning {
  /** The error of a run that needs the token. */
  error: RunErrorName;
  /** The answer does not show whether an earlier request, whose answer was lost, has spent the token. */
  provesNothing?: boolean;
  /** Minutes of waiting before the token is presented again: after the first such answer, the second, and so on. */
  heldMinutes?: number[];
}

/**
 * If one token got two answers, the meaning that is listed first counts. Without `heldMinutes`, the token may be
 * presented again at once.
 */
const meanings = {
  /** The token is spent, and the answer contains its successor. */
  granted: { error: 'CrmUnavailable' },
  /** The token is not valid any more. */
  invalidGrant: { error: 'ReauthorizationRequired' },
  /** The token may be spent. After the first such answer, functions wait only until the claim ends. */
  lost: { error: 'CrmUnavailable', heldMinutes: [0, 30, 60, 120] },
  /** The token is not spent, but the same request would be refused again. */
  refused: { error: 'ConfigInvalid' },
  /** Another service answered, not the token endpoint. */
  elsewhere: { error: 'ConfigInvalid', provesNothing: true },
  /**
   * The token was refused with a code that is not in RFC 6749. After the third such answer, a person has to authorize
   * before the next night.
   */
  unclear: { error: 'CrmUnavailable', provesNothing: true, heldMinutes: [10, 10, 20 * 60] },
  /** The token is not spent. */
  busy: { error: 'RateLimited' },
  /** This request did not spend the token. An earlier request may have spent it. */
  locked: { error: 'CrmUnavailable', provesNothing: true },
  /** The request did not reach the token endpoint. */
  notSent: { error: 'CrmUnavailable' },
} satisfies Record<string, Meaning>;
export type TokenMeaning = keyof typeof meanings;
export const MEANINGS: Record<TokenMeaning, Meaning> = meanings;

/** Whether the meaning of one answer takes precedence over the meaning of another answer about the same token. */
export function outweighs(one: TokenMeaning, other: TokenMeaning): boolean {
  const order = Object.keys(MEANINGS);
  return order.indexOf(one) < order.indexOf(other);
}

interface Answer {
  status: number;
  /** The parsed JSON of the body; `undefined` if the body is not JSON. */
  body: unknown;
  isGood: boolean;
  /**
   * The token endpoint refused. It does so in JSON: 403, 404, 5xx and web pages come from a proxy or another service.
   */
  isRefusal: boolean;
  /** The token endpoint answered: its codes count. */
  isOwn: boolean;
  /** The texts that may be an error code, and among them the code that RFC 6749 lists. */
  codes: string[];
  code: string | undefined;
}

/** Error codes after which the same request would be refused again. */
const FINAL = ['invalid_client', 'unauthorized_client', 'invalid_scope', 'unsupported_grant_type'];

/** The first row that matches counts. By default the message ends with the error code, if there is one. */
type Row = [means: TokenMeaning, when: (answer: Answer) => boolean, says?: string];

const ROWS: Row[] = [
  ['granted', ({ isGood, body }) => isGood && isFilledText(ownValue(body, 'access_token'))],
  ['invalidGrant', ({ isOwn, code }) => isOwn && code === 'invalid_grant'],
  [
    'invalidGrant',
    ({ isOwn, codes }) => isOwn && codes.some(callsTokenWorthless),
    ', with a code that says that the refresh token is invalid, expired, revoked, used or not found.',
  ],
  ['busy', ({ status }) => status === 429 || status === 503],
  ['lost', ({ status }) => status >= 500 || status === 408 || status === 425],
  ['refused', ({ isOwn, code = '' }) => isOwn && FINAL.includes(code)],
  ['unclear', ({ isGood, body }) => isGood && judgeBody(body).contradiction !== undefined],
  // With 400 or 401, the code does not show whether the refusal is temporary, so the number of repetitions is limited.
  ['unclear', ({ isRefusal, status }) => isRefusal && [400, 401].includes(status)],
  ['locked', ({ isRefusal, body }) => isRefusal && saysBusy(body), ': its body says that the CRM is busy.'],
  ['unclear', ({ isRefusal, status }) => isRefusal && [409, 422, 423].includes(status)],
  ['lost', ({ isGood }) => isGood, ' without a token: check that crm.authUrl is the authorization server of the CRM.'],
  [
    'elsewhere',
    ({ code }) => code === 'invalid_grant',
    ', not as a token endpoint would, but with invalid_grant: check crm.authUrl. If it is correct, authorize again.',
  ],
];
const ELSEWHERE: Row = [
  'elsewhere',
  () => true,
  ', not as a token endpoint would: check crm.authUrl. The request went to /oauth/token below it.',
];

/** @returns `code`: the error code of a refusal, if RFC 6749 lists it */
export function meaningOfToken(
  status: number,
  body: unknown,
): { means: TokenMeaning; message: string; code: string | undefined } {
  const isGood = status >= 200 && status < 300;
  const isRefusal = body !== undefined && status >= 400 && status < 500 && status !== 403 && status !== 404;
  const codes = possibleCodes(body);
  const code = codes.map((each) => RFC_6749_WORDS.find((word) => lettersOf(word) === lettersOf(each))).find(Boolean);
  const isOwn = isGood || isRefusal;
  const answer = { status, body, isGood, isRefusal, isOwn, codes, code };
  const [means, , says] = ROWS.find(([, when]) => when(answer)) ?? ELSEWHERE;
  const word = code ?? (isFilledText(ownValue(body, 'error')) ? errorWord(ownValue(body, 'error')) : undefined);
  const end = says ?? `${isGood ? ' with an error' : ''}${word === undefined ? '' : `: ${word}`}.`;
  return { means, message: `The token endpoint answered ${status}${end}`, code: isOwn ? code : undefined };
}

/**
 * The `error` of an answer, for messages. Codes that RFC 6749 does not list may contain a token, so they are hidden.
 */
export function errorWord(error: unknown): string {
  return typeof error === 'string' && RFC_6749_WORDS.includes(error)
    ? error
    : 'an error code that RFC 6749 does not list';
}

const WORTHLESS = [
  '(?:invalid|bad)(?!(?:client|gateway|request)$)|(?:not|nolonger)valid(?!at)',
  '(?<!status)unknown(?!error$)|nosuch|notexist|(?:can|could)?not(?:be)?found',
  '(?:expired|revoked)(?:client)?|(?<!un)used(?!too)|(?:(?:can|may|must)notbe)?reuse',
].join('|');
const BETWEEN = '(?:is|was|has|been|already|previously|does|oauth|provided|given)*';
const NAME = 'refreshtoken(?:id|hash|value|status|family|session)?';
/**
 * Matches the name of the refresh token with a word of `WORTHLESS` directly before or after it. Elsewhere in a text,
 * such a word may be about the request or the service.
 */
const WORTHLESS_TOKEN = new RegExp(
  `(?:${WORTHLESS})${BETWEEN}refreshtoken(?!re(?:quest|sponse))|${NAME}${BETWEEN}(?:${WORTHLESS})`,
);

/** Matches `refresh_token_not_found`, `RefreshTokenExpired`, `invalid or expired refresh token`. */
function callsTokenWorthless(code: string): boolean {
  return code.length <= 100 && WORTHLESS_TOKEN.test(lettersOf(code));
}

function isFilledText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
