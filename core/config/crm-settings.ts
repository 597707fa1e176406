import * as z from 'zod';
import { fileHostsSchema } from './file-settings.ts';
import { privateHostsSchema } from './network-settings.ts';
import { EXPORT_SCOPE } from './scopes.ts';

/** The part of a deployment's configuration that is about the CRM: its addresses, and how it is spoken to. */

const webAddress = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !/[?#@]/.test(url), { error: 'must have no query, no fragment and no user name' });

export const crmSchema = z.strictObject({
  baseUrl: webAddress.describe('Address that all paths of the interface start from. Ends in `/api/v1`. https.'),
  authUrl: webAddress.describe('Address before `/authorize` and `/oauth/token`. https.'),
  scopes: z
    .array(z.string().regex(/^\S+$/))
    .min(1)
    .default(['openid', 'profile', EXPORT_SCOPE])
    .describe('Scopes that `authorize` requests.'),
  clientAuthentication: z
    .enum(['basic', 'basic_raw', 'post', 'none'])
    .default('basic')
    .describe(
      'How the client proves its identity at the token endpoint: `basic` (HTTP Basic, form-encoded first), `basic_raw` (HTTP Basic, not encoded), `post` (in the form), `none`.',
    ),
  createTimeoutSeconds: z
    .int()
    .min(5)
    .max(600)
    .default(60)
    .describe(
      'Longest wait for the answer to the request for an export. Raise it for a CRM that makes the export before it answers.',
    ),
  operatorField: z
    .string()
    .min(1)
    .default('filtersOperator')
    .describe('Name of the field for the combining operator in the request.'),
  emailField: z.string().min(1).default('sendEmail').describe('Name of the field for the e-mail flag in the request.'),
  fileHosts: fileHostsSchema,
  privateHosts: privateHostsSchema,
});

/** Two settings with one name in the request would overwrite each other. */
export function fieldNameContradictions({ operatorField, emailField }: z.infer<typeof crmSchema>) {
  const taken = ['columns', 'sorts', 'filters'];
  const message = 'is the name of another field of the request';
  return [
    ...(taken.includes(operatorField) ? [{ path: ['crm', 'operatorField'], message }] : []),
    ...([...taken, operatorField].includes(emailField) ? [{ path: ['crm', 'emailField'], message }] : []),
  ];
}
