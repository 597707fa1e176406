import { isCode } from '../../../core/crm/error-code.ts';
import { isPlainName } from '../../../core/suggestion.ts';

/** What of an answer may be kept: nothing that could be a value of a record, a token or a link. */

const WAITS_AND_LIMITS = /^(retry-after|accept-ranges|ratelimit|ratelimit-.*|x-rate-?limit-.*)$/;
const PLAIN_VALUE = /^[\w ,;="-]{1,60}$/;
const CODE_KEYS = ['code', 'error', 'errorCode', 'error_code', 'type', 'name'];

export function harmlessHeaders(headers: Headers): { headers: Record<string, string>; headerNames: string[] } {
  const all = [...headers].filter(([name]) => /^[a-z-]{1,60}$/.test(name));
  const kept = all.filter(([name, value]) => WAITS_AND_LIMITS.test(name) && (PLAIN_VALUE.test(value) || isDate(value)));
  const challenge = challengeOf(headers.get('www-authenticate') ?? '');
  return {
    headerNames: all.map(([name]) => name),
    headers: { ...Object.fromEntries(kept), ...(challenge && { 'www-authenticate': challenge }) },
  };
}

const isDate = (value: string) => /^[A-Z][a-z]{2}, [\w: ]{1,40}$/.test(value);

/** The scheme of a challenge, with its error and the scope that it names (RFC 6750). */
function challengeOf(value: string): string {
  const scheme = /^[a-z]{1,20}(?= |$)/i.exec(value)?.[0] ?? '';
  const words = ['error', 'scope'].flatMap((name) => {
    const word = new RegExp(`\\b${name}="([a-z:._ -]{1,80})"`, 'i').exec(value)?.[1];
    return word === undefined ? [] : [`${name}="${word}"`];
  });
  return [scheme, ...words].filter(Boolean).join(' ');
}

/** The machine code of an error body: one plain word, at its top or one level below. */
export function codeIn(body: unknown): string | null {
  const found = valuesIn(body, 2).find(
    ({ key, value }) => CODE_KEYS.includes(key) && typeof value === 'string' && isCode(value),
  );
  return typeof found?.value === 'string' ? found.value : null;
}

interface Place {
  key: string;
  /** The way to it, of names that may be shown: `data.id`. */
  path: string;
  value: unknown;
}

const MOST_PLACES = 500;

/** The values of an answer and where they stand, the nearest to its top first. */
export function valuesIn(body: unknown, depth = 3): Place[] {
  const found: Place[] = [{ key: '', path: 'the answer itself', value: body }];
  let level = found;
  for (let down = 0; down < depth; down += 1) {
    level = level.flatMap(({ path, value, key }) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
      const prefix = key === '' && path === 'the answer itself' ? '' : `${path}.`;
      const inner = Object.entries(value).slice(0, MOST_PLACES);
      return inner.map(([name, held]) => ({
        key: name,
        path: `${prefix}${isPlainName(name) ? name : '…'}`,
        value: held,
      }));
    });
    found.push(...level);
    if (found.length > MOST_PLACES) break;
  }
  return found.slice(0, MOST_PLACES);
}
