import { isIP } from 'node:net';
import { isLoopback } from '../../../core/config/configuration.ts';
import { exportIdIn, linkIn, recordIn, wordOf } from '../../../core/crm/exports.ts';
import { isPlainName } from '../../../core/suggestion.ts';
import { printableHost } from '../../../transfer/source/guard.ts';
import type { SeenExport, SeenLink, SeenStatus } from './exchange.ts';
import { isUuid, valuesIn } from './harmless.ts';

/** What answers around an export hold: found also where the product would not find it, so that the meeting can go on. */

const ID_KEYS = /^(id|uuid|.*(export|record|job|task|request).*)$/i;
const PLAIN_ID = /^[\w-]{1,64}$/;

/** @param location of the answer's header, which may end in the id */
export function lookForId(body: unknown, location: string): { id: string | null; seen: SeenExport['id'] } {
  const known = exportIdIn(body);
  const places = valuesIn(body);
  const uuid = places.find(({ value }) => (known === undefined ? isUuid(value) : value === known));
  if (uuid) return { id: String(uuid.value), seen: { at: uuid.path, read: known !== undefined, kind: 'UUID' } };
  const other = places.find(({ key, value }) => ID_KEYS.test(key) && isPlainId(value));
  if (other) {
    const kind = typeof other.value === 'number' ? 'number' : 'text';
    return { id: String(other.value), seen: { at: other.path, read: false, kind } };
  }
  const last = location.split(/[?#]/)[0]?.split('/').at(-1) ?? '';
  if (!isUuid(last)) return { id: null, seen: null };
  return { id: last, seen: { at: 'the header Location', read: false, kind: 'UUID' } };
}

function isPlainId(value: unknown): boolean {
  return (
    (typeof value === 'number' && Number.isSafeInteger(value)) || (typeof value === 'string' && PLAIN_ID.test(value))
  );
}

const STATUS_KEYS = /^(status|state|.*status)$/i;

export function lookForStatus(body: unknown, exportId: string): Omit<SeenStatus, 'seconds'> {
  const record = recordIn(body, exportId);
  const texts = valuesIn(body).filter(({ key, value }) => STATUS_KEYS.test(key) && typeof value === 'string');
  const place = record
    ? texts.find(({ key, value }) => key === 'status' && value === record.status)
    : (texts.find(({ value }) => wordOf(String(value))) ?? texts[0]);
  const word = String(record?.status ?? place?.value ?? '')
    .trim()
    .toUpperCase();
  const isOther =
    record !== undefined && isUuid(exportId) && record.ids.length > 0 && !record.ids.some(isSame(exportId));
  return {
    read: record !== undefined && !isOther,
    ofOther: isOther,
    at: place?.path ?? null,
    word: /^[A-Z][A-Z_ -]{0,23}$/.test(word) ? word : null,
    known: wordOf(word) !== undefined,
  };
}

const isSame = (one: string) => (other: string) => one.toLowerCase() === other.toLowerCase();

/** @param options.now of the server that answered */
export function lookForLink(
  body: unknown,
  { isListed, baseUrl, now }: { isListed: (host: string) => boolean; baseUrl: string; now: Date },
): { address: string | null; seen: SeenLink } {
  const known = linkIn(body);
  const places = valuesIn(body).filter(({ value }) => typeof value === 'string');
  const place = places.find(({ value }) => (known === undefined ? isAddress(value) : value === known));
  const nothing = { host: '', listed: false, refused: null, parameters: [], lifeSeconds: null };
  const url = place && URL.parse(String(place.value), baseUrl);
  if (!place || !url) return { address: null, seen: { read: false, at: null, ...nothing } };
  const parameters = [...new Set(url.searchParams.keys())].map((name) => (isPlainName(name) ? name : '…'));
  const isBare = isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0;
  const seen = {
    read: known !== undefined,
    at: place.path,
    host: isLoopback(url.origin) ? 'this machine' : isBare ? 'an IP address' : printableHost(url.hostname),
    listed: isListed(url.hostname),
    refused: null,
    parameters,
    lifeSeconds: lifeOf(url.searchParams, now),
  };
  return { address: url.href, seen };
}

const isAddress = (value: unknown) => typeof value === 'string' && /^(https?:\/\/|\/)\S+$/i.test(value);

const DATE = /^(\d{4})-?(\d\d)-?(\d\d)T(\d\d):?(\d\d):?(\d\d)Z$/;

/** The seconds that an address says it lives: as a number of seconds, or as its end. */
function lifeOf(parameters: URLSearchParams, now: Date): number | null {
  const of = (...names: string[]) => [...parameters].find(([name]) => names.includes(name.toLowerCase()))?.[1] ?? '';
  const seconds = of('x-amz-expires', 'x-goog-expires');
  if (/^\d{1,8}$/.test(seconds)) return Number(seconds);
  const end = of('expires', 'se', 'exp', 'expiry', 'expires_at');
  const ms = /^\d{9,11}$/.test(end)
    ? Number(end) * 1000
    : /^\d{12,14}$/.test(end)
      ? Number(end)
      : Date.parse(/^\d{1,8}$/.test(end) ? '' : end.replace(DATE, '$1-$2-$3T$4:$5:$6Z'));
  const life = Math.round((ms - now.getTime()) / 1000);
  // An end that is past is read wrongly, such as a number of seconds as a year.
  return life > 0 ? life : null;
}
