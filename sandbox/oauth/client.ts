import type { Settings } from '../world/settings.ts';

type Way = Settings['clientAuthentication'][number];

function formDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The ways in which an `Authorization: Basic` header is right: encoded first (RFC 6749, 2.3.1), not encoded, or both. */
function waysOfBasic(authorization: string, { clientId, clientSecret }: Settings): Way[] {
  if (!/^basic /i.test(authorization)) return [];
  const decoded = Buffer.from(authorization.slice('Basic '.length), 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  const id = decoded.slice(0, colon);
  const secret = decoded.slice(colon + 1);
  const ways: Way[] = [];
  if (id === clientId && secret === clientSecret) ways.push('basic_raw');
  if (formDecode(id) === clientId && formDecode(secret) === clientSecret) ways.push('basic');
  return ways;
}

/** Whether the client of a token request (`form`: its body) authenticates in a way that the settings accept. */
export function clientIsAuthentic(
  settings: Settings,
  authorization: string | undefined,
  form: Record<string, string>,
): boolean {
  const accepted = settings.clientAuthentication;
  if (authorization !== undefined) return waysOfBasic(authorization, settings).some((way) => accepted.includes(way));
  if (form.client_id !== settings.clientId) return false;
  if (form.client_secret === undefined) return accepted.includes('none');
  return accepted.includes('post') && form.client_secret === settings.clientSecret;
}
