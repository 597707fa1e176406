import * as z from 'zod';
import { HOST_PATTERN } from '../../transfer/source/guard.ts';
import { fileHostsSchema } from './file-settings.ts';
import { EXPORT_SCOPE } from './scopes.ts';

/** The part of a deployment's configuration that is about the CRM: its addresses, how it is spoken to, and from which network. */

const webAddress = z
  .url({ protocol: /^https?$/, abort: true })
  .refine((url) => !/[?#@]/.test(url), { error: 'must have no query, no fragment and no user name', abort: true });

/** The interface document says how the base address ends, and adds `/authorize` to the other one itself. */
const baseUrl = webAddress.regex(/\/api\/v1\/*$/, {
  error: 'must end in /api/v1: write the address from which all paths start, such as "https://crm.example.com/api/v1"',
});
const authUrl = webAddress.regex(/^(?!.*\/authorize\/*$)/, {
  error: 'must not end in /authorize: write the address before it, such as "https://auth.example.com"',
});

/** Exact names: who lists every name below one cannot say what is in the network. */
const privateHost = z
  .string()
  .max(253)
  .refine((host) => HOST_PATTERN.test(host) && !host.startsWith('.'), {
    error: 'must be a whole host name in lower case, such as "crm.example.internal"; no leading dot, no IP address',
    abort: true,
  });

const privateHostsSchema = z
  .array(privateHost)
  .max(50)
  .optional()
  .describe(
    'Whole names of file hosts that may resolve to private addresses, for a host in your own network. All other private addresses are refused. Needs `network`.',
  );

export const crmSchema = z.strictObject({
  baseUrl: baseUrl.meta({
    description: 'Address that all paths of the interface start from. Ends in `/api/v1`. https.',
    format: 'uri',
  }),
  authUrl: authUrl.meta({ description: 'Address before `/authorize` and `/oauth/token`. https.', format: 'uri' }),
  scopes: z
    .array(z.string().regex(/^\S+$/))
    .min(1)
    .default(['openid', 'profile', EXPORT_SCOPE])
    .describe('Scopes that `authorize` requests.'),
  clientAuthentication: z
    .enum(['basic', 'basic_raw', 'post', 'none'])
    .default('basic')
    .describe(
      'How the client proves its identity at the token endpoint: HTTP Basic (`basic`: form-encoded first, `basic_raw`: not encoded), `post` (in the form), `none`.',
    ),
  createTimeoutSeconds: z
    .int()
    .min(5)
    .max(600)
    .default(60)
    .describe(
      'Longest wait for the answer to an export request. Raise it for a CRM that makes the export before it answers.',
    ),
  operatorField: z
    .string()
    .min(1)
    .default('filtersOperator')
    .describe('Name of the request field for the operator that combines filters.'),
  emailField: z.string().min(1).default('sendEmail').describe('Name of the request field for the e-mail flag.'),
  fileHosts: fileHostsSchema,
  privateHosts: privateHostsSchema,
});

const idOf = (kind: string, what: string) =>
  z.string().regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), {
    error: `must be the id of ${what}, such as "${kind}-0123456789abcdef0"`,
  });

/** As many as Lambda takes (https://docs.aws.amazon.com/lambda/latest/api/API_VpcConfig.html). */
const idsOf = (kind: string, what: string, most: number) =>
  z
    .array(idOf(kind, what))
    .min(1)
    .max(most)
    .refine((ids) => new Set(ids).size === ids.length, { error: 'names an id twice' });

export const networkSchema = z
  .strictObject({
    vpcId: idOf('vpc', 'a VPC').describe(
      'VPC in the account and region of the deployment, for the functions that call the CRM or the file host.',
    ),
    subnetIds: idsOf('subnet', 'a subnet', 16).describe('Subnets of this VPC, each with a way to the CRM and to AWS.'),
    securityGroupIds: idsOf('sg', 'a security group', 5).describe('Security groups of this VPC that let https out.'),
  })
  .optional();
