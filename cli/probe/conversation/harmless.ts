import * as z from 'zod/mini';

import { isPlainName } from '../../../core/suggestion.ts';

/** What of an answer may be kept: nothing that could be a value of a record, a token or a link. */

const WAITS_AND_LIMITS =
  /^(retry-after|accept-ranges|(x-)?rate-?limit|(x-)?rate-?limit-(limit|remaining|reset|used|policy)(-[a-z]+)*)$/;
/** Numbers and times, and what the drafts of RateLimit put around them. */
const PLAIN_NUMBERS = /^(?:"[a-z]{1,12}" ?[;,] ?)?(?:[a-z]{1,2}=)?\d{1,13}(?:[ ,;]+(?:[a-z]{1,2}=)?\d{1,13})*$/i;
const PLAIN_TIME = /^(?:PT?)?(?:\d{1,6}(?:\.\d{1,3})?(?:ms|[dhms]))+$/i;
const BYTES_OR_NONE = /^(bytes|none)$/;

export function harmlessHeaders(headers: Headers): { headers: Record<string, string>; headerNames: string[] } {
  const all = [...headers].filter(([name]) => /^[a-z-]{1,60}$/.test(name));
  const kept = all.filter(([name, value]) => WAITS_AND_LIMITS.test(name) && isPlain(value));
  const challenge = challengeOf(headers.get('www-authenticate') ?? '');
  return {
    headerNames: all.map(([name]) => name),
    headers: { ...Object.fromEntries(kept), ...(challenge && { 'www-authenticate': challenge }) },
  };
}

const DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/;
const isPlain = (value: string) => [PLAIN_NUMBERS, PLAIN_TIME, BYTES_OR_NONE, DATE].some((kind) => kind.test(value));

/** The scheme of a challenge, with its error and the scope that it names (RFC 6750). */
function challengeOf(value: string): string {
  const scheme = /^[a-z]{1,20}(?= |$)/i.exec(value)?.[0] ?? '';
  const words = [/\berror="[a-z]+(?:_[a-z]+)+"/i, /\bscope="[a-z:._ -]{1,80}"/i];
  return [scheme, ...words.flatMap((word) => word.exec(value)?.[0] ?? [])].filter(Boolean).join(' ');
}

export const isUuid = (value: unknown) => z.guid().safeParse(value).success;

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
