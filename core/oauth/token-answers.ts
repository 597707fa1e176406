import { codesIn, ownValue, RFC_6749_WORDS } from '../crm/error-code.ts';

/**
 * Decides what an answer of the token endpoint means for the refresh token or code that was presented: the first
 * matching row counts. The tables for the operations of the interface are in `core/crm/answers.ts`.
 */

interface Answer {
  status: number;
  /** The value of the JSON in its body; `undefined` if the body holds none. */
  body: unknown;
}

/**
 * `granted`: spent, the answer has its successor. `invalidGrant`: worthless. `refused`: not spent, but would be
 * refused again. `unclear`: refused with a code that is not in RFC 6749. `busy`: not spent. `lost`: perhaps spent.
 */
export type TokenMeaning = 'granted' | 'invalidGrant' | 'refused' | 'unclear' | 'busy' | 'lost';

interface Row {
  when: (answer: Answer) => boolean;
  means: TokenMeaning;
  /** The end of the message "The token endpoint answered 400…". */
  says: (answer: Answer) => string;
}

/** Error codes after which a repeated request would be refused too. */
const FINAL = ['invalid_client', 'unauthorized_client', 'invalid_scope', 'unsupported_grant_type'];
/** Words in the error code for a worthless refresh token, such as `refresh_token_not_found` or `BadRefreshToken`. */
const WORTHLESS = /invalid|bad|expired|revoked|used|reuse|notfound|unknown/;

const isGood = ({ status }: Answer) => status >= 200 && status < 300;
const isBusy = ({ status }: Answer) => status === 429 || status === 503;
const hasToken = ({ body }: Answer) => isText(ownValue(body, 'access_token'));
const errorOf = ({ body }: Answer) => ownValue(body, 'error');
/** 403, 404, 5xx and web pages come from a proxy or another service, not from the token endpoint. */
const isItsWord = ({ status, body }: Answer) => body !== undefined && status !== 403 && status !== 404 && status < 500;
const hasError = ({ body }: Answer) => [ownValue(body, 'error'), ownValue(body, 'errors')].some(isSomething);
const isRefusal = (answer: Answer) => (isGood(answer) ? hasError(answer) : [400, 401].includes(answer.status));

/** An error code of RFC 6749, in any key that may hold a code. */
const rfcWordOf = (answer: Answer) => wordsOf(answer).find((word) => RFC_6749_WORDS.includes(word));
const said = (answer: Answer) => {
  const word = rfcWordOf(answer) ?? (isText(errorOf(answer)) ? errorWord(errorOf(answer)) : undefined);
  return word === undefined ? '.' : `: ${word}.`;
};

const GRANTED: Row = { when: (answer) => isGood(answer) && hasToken(answer), means: 'granted', says: said };
const INVALID_GRANT: Row = {
  when: (answer) => isItsWord(answer) && isFailure(answer) && rfcWordOf(answer) === 'invalid_grant',
  means: 'invalidGrant',
  says: said,
};
const WORTHLESS_TOKEN: Row = {
  when: (answer) => isItsWord(answer) && isFailure(answer) && wordsOf(answer).some(callsTokenWorthless),
  means: 'invalidGrant',
  says: () => ': a code that calls the refresh token invalid, expired, revoked, used or not found.',
};
const BUSY: Row = { when: isBusy, means: 'busy', says: said };
const LOST: Row = { when: ({ status }) => status >= 500 || status === 408, means: 'lost', says: said };
const FINAL_WORD: Row = {
  when: (answer) => isItsWord(answer) && isFailure(answer) && FINAL.includes(rfcWordOf(answer) ?? ''),
  means: 'refused',
  says: said,
};
const UNCLEAR: Row = { when: (answer) => isItsWord(answer) && isRefusal(answer), means: 'unclear', says: said };
const WITHOUT_TOKEN: Row = {
  when: isGood,
  means: 'lost',
  says: ({ body }) =>
    ` without a token${body === undefined ? ', in a body that is not JSON: if that is not the token endpoint, check crm.authUrl' : ''}.`,
};
const ELSEWHERE: Row = {
  when: () => true,
  means: 'refused',
  says: () =>
    ', which is no answer of a token endpoint: check crm.authUrl. The address that was called is its /oauth/token.',
};

const ANSWERS = {
  refresh_token: [GRANTED, INVALID_GRANT, WORTHLESS_TOKEN, BUSY, LOST, FINAL_WORD, UNCLEAR, WITHOUT_TOKEN, ELSEWHERE],
  // A code is presented only once, so an unrecognised error code counts as a refusal.
  authorization_code: [
    GRANTED,
    INVALID_GRANT,
    BUSY,
    LOST,
    FINAL_WORD,
    { ...UNCLEAR, means: 'refused' },
    WITHOUT_TOKEN,
    ELSEWHERE,
  ],
} satisfies Record<string, readonly Row[]>;

/** @param grantType type of the grant that was presented */
export function meaningOfToken(
  grantType: keyof typeof ANSWERS,
  answer: Answer,
): { means: TokenMeaning; message: string } {
  const rows: readonly Row[] = ANSWERS[grantType];
  const { means, says } = rows.find(({ when }) => when(answer)) ?? ELSEWHERE;
  return { means, message: `The token endpoint answered ${answer.status}${says(answer)}` };
}

/** The `error` of an answer, for messages. Unlisted codes are hidden: they may repeat a code or a token. */
export function errorWord(error: unknown): string {
  return typeof error === 'string' && RFC_6749_WORDS.includes(error) ? error : 'another word than those of RFC 6749';
}

/** Includes good answers: the row for good answers with a token comes first. */
function isFailure(answer: Answer): boolean {
  return answer.status >= 400 || isGood(answer);
}

function wordsOf(answer: Answer): string[] {
  const { body } = answer;
  const errors = ownValue(body, 'errors');
  const words = [errorOf(answer), Array.isArray(errors) ? errors[0] : undefined].filter(isText);
  return [...words, ...codesIn(body)];
}

/** Matches `refresh_token_not_found`, `RefreshTokenExpired`, `invalid refresh token`. */
function callsTokenWorthless(code: string): boolean {
  const letters = code.toLowerCase().replace(/[^a-z]/g, '');
  return code.length <= 100 && letters.includes('refreshtoken') && WORTHLESS.test(letters.replace('refreshtoken', ' '));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isSomething(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}
