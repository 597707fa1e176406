import type { WholeAnswer } from '../http/whole-answer.ts';
import { jsonOrUndefined } from '../json.ts';
import type { AccessToken } from '../oauth/access-token.ts';
import type { CrmCall } from './call.ts';

/** An answer and, where it is a refusal, the code of its error. */
export type CrmAnswer = WholeAnswer & { code?: string | undefined };

interface Sent {
  call: Pick<CrmCall, 'json' | 'path'>;
  token: Pick<AccessToken, 'accessToken'>;
}

/** Where services put the code of an error. */
const PLACES = [['error', 'code'], ['code'], ['errorCode'], ['error'], ['errors', '0', 'code'], ['errors', '0']];

const LONGEST_CODE = 48;
/** A word in one case, or with a capital: the letters of a token change their case within. Four digits are no number of a person. */
const WORD = /^(?:[a-z]{1,16}|[A-Z]{1,16}|[A-Z][a-z]{1,15})?\d{0,4}$/;
const ERROR_WORDS = new Set(
  (
    'aborted access allowed already archived auth authenticated authentication authorization authorized bad blocked busy cancelled ' +
    'cannot closed column columns conflict deleted denied deprecated disabled does duplicate empty entity err error exceeded exhausted ' +
    'exist exists expired export exports failed failure fault fields filter filters forbidden found gone illegal incompatible insufficient ' +
    'internal invalid large limit limited locked lost maintenance malformed many mismatch missing must no not operation out over overloaded ' +
    'parameter parameters pending permission permissions permitted progress quota range rate record refused rejected request required ' +
    'resource revoked running scope scopes server service suspended syntax throttled timeout too unacceptable unauthorized unavailable ' +
    'unexpected unknown unprocessable unsupported violation wrong'
  ).split(' '),
);

/**
 * The code of an error for programs, such as `unknown_field`, in the body of a refusal; `undefined` where there is none that is
 * surely one. The body is of others, and may hold values of records where a code is looked for. Repeated is only what people
 * and places are not called and tokens do not look like: a few words, one of them a word of errors (`dana_cohen`, `Tel-Aviv` and
 * `Cohen` have none). Never repeated is what was sent: a part of the token, any text of the request, and the parts of its path.
 */
export async function errorCode(answer: Pick<WholeAnswer, 'text'>, sent: Sent): Promise<string | undefined> {
  const body = jsonOrUndefined(await answer.text().catch(() => undefined));
  const found = PLACES.map((path) => path.reduce(within, body)).filter((value) => typeof value === 'string');
  return found.find((text) => isCode(text) && !wasSent(text, sent));
}

function within(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** Whether a text is surely a code, and no value of a record. */
function isCode(text: string): boolean {
  if (text.length > LONGEST_CODE || (text.match(/\d/g) ?? []).length > 4) return false;
  const words = text.split(/[_.-]/.test(text) ? /[_.-]/ : /(?<=[a-z])(?=[A-Z])/);
  if (!words.every((word) => word !== '' && WORD.test(word)) || !/^[a-z]/i.test(text)) return false;
  return words.some((word) => ERROR_WORDS.has(word.replace(/\d+$/, '').toLowerCase()));
}

function wasSent(text: string, { call, token }: Sent): boolean {
  const request = JSON.stringify([call.json, ...call.path.split('/')]).toLowerCase();
  return token.accessToken.includes(text) || request.includes(JSON.stringify(text).toLowerCase());
}
