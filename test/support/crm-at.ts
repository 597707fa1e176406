import { createCrmClient } from '../../core/crm/crm-client.ts';
import { CANARY } from './builders.ts';
import { at, recordingLog } from './deps.ts';

type Options = Parameters<typeof createCrmClient>[0];

/** The real client of a CRM at an address, with a token that never changes and a stopped clock. */
export function crmAt(baseUrl: string, options: Partial<Options> = {}) {
  const getAccessToken = async () => ({ accessToken: CANARY, scope: 'openid profile' });
  const now = at('2026-11-20T01:00:00Z');
  return createCrmClient({ baseUrl, getAccessToken, log: recordingLog(), now, ...options });
}
