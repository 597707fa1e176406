import * as z from 'zod';
import { HOST_PATTERN } from '../../transfer/source/guard.ts';
import { listOf, once, whole } from './common-settings.ts';
import { ENTITIES } from './entities.ts';
import { entitySchema } from './entity-schema.ts';
import { entitySettingsSchema, freshnessHours, nightlySchema, pollingSchema, timeZone } from './entity-settings.ts';
import { fileHostsSchema, filesSchema } from './file-settings.ts';
import { EXPORT_SCOPE } from './scopes.ts';
import { tableMemorySchema } from './table-settings.ts';

/** The settings for the CRM: its addresses, how to call it, and from which network. */

const WHOLE = 'must be a whole address that begins with https://';
const webAddress = z
  .url({ protocol: /^https?$/, abort: true, error: ({ code }) => (code === 'invalid_format' ? WHOLE : undefined) })
  .refine((url) => !/[?#@]/.test(url), { error: 'must have no query, no fragment and no user name', abort: true });

/** The interface document defines the end of the base address, and appends `/authorize` to `authUrl`. */
const baseUrl = webAddress.regex(/\/api\/v1\/*$/, {
  error: 'must end in /api/v1: write the address from which all paths start, such as "https://crm.example.com/api/v1"',
});
const authUrl = webAddress.regex(/^(?!.*\/(?:authorize|oauth\/token)\/*$)/, {
  error: 'must not end in /authorize or /oauth/token: write the address before it, such as "https://auth.example.com"',
});

/** Only exact host names: a pattern such as `.example.com` would not show which hosts are in the network. */
const privateHost = z
  .string()
  .max(253)
  .refine((host) => HOST_PATTERN.test(host) && !host.startsWith('.'), {
    error: 'must be a whole host name in lower case, such as "crm.example.internal"; no leading dot, no IP address',
    abort: true,
  });

const crmSchema = z.strictObject({
  baseUrl: baseUrl.meta({
    description: 'Address that all paths of the interface start from. Ends in `/api/v1`. https.',
    format: 'uri',
  }),
  authUrl: authUrl.meta({ description: 'Base address of `/authorize` and `/oauth/token`. https.', format: 'uri' }),
  scopes: z
    .array(z.string().regex(/^\S+$/, 'must be one scope without spaces: list each scope separately'))
    .min(1)
    .default(['openid', 'profile', EXPORT_SCOPE])
    .describe('Scopes that `authorize` requests.'),
  clientAuthentication: z
    .enum(['basic', 'basic_raw', 'post', 'none'])
    .default('basic')
    .describe(
      'How the client authenticates at the token endpoint: HTTP Basic (`basic`: form-encoded first, `basic_raw`: not encoded), in the form (`post`), or `none`.',
    ),
  createTimeoutSeconds: whole(5, 600)
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
  privateHosts: z
    .array(privateHost)
    .max(50)
    .optional()
    .describe(
      'Whole names of hosts of the CRM or of `crm.fileHosts` that may resolve to private addresses. Needs `network`.',
    ),
});

const idOf = (kind: string, what: string) =>
  z.string().regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), {
    error: `must be the id of ${what}, such as "${kind}-0123456789abcdef0"`,
  });

const networkSchema = z
  .strictObject({
    vpcId: idOf('vpc', 'a VPC').describe(
      'VPC in the account and region of the deployment, for the functions that call the CRM or the file host.',
    ),
    // At most as many as Lambda allows (https://docs.aws.amazon.com/lambda/latest/api/API_VpcConfig.html).
    subnetIds: listOf(idOf('subnet', 'a subnet'), 16, 'an id').describe(
      'Subnets of this VPC, each with a route to the CRM and to AWS.',
    ),
    securityGroupIds: listOf(idOf('sg', 'a security group'), 5, 'an id').describe(
      'Security groups of this VPC that allow outbound https.',
    ),
  })
  .optional();

/** The settings for readers in other accounts. */

// The pattern excludes wildcards and policy variables, so that an entry names exactly one role.
const ROLE = /^arn:aws(-cn|-us-gov)?:iam::\d{12}:role\/([\w+=,.@-]{1,64}\/){0,8}[\w+=,.@-]{1,64}$/;

const principal = z.union(
  [
    z.string().regex(/^\d{12}$/),
    z.string().regex(ROLE),
    z.strictObject({
      organization: z
        .string()
        .regex(/^o-[a-z0-9]{10,32}$/, 'must be the id of an organization, such as "o-a1b2c3d4e5"'),
    }),
  ],
  {
    error:
      'must be an account ("444455556666"), the ARN of a role ("arn:aws:iam::444455556666:role/NAME", no user, session or wildcard) or {"organization": "o-…"}',
  },
);

const entities = z.union([z.literal('all'), z.array(entitySchema).min(1, 'names no entity')], {
  error: `must be "all" or a list of ${ENTITIES.join(', ')}`,
});

const readerSchema = z.strictObject({
  principal,
  entities,
  of: z.array(z.enum(['tables', 'files'])).min(1, 'names neither "tables" nor "files"'),
});
export type Reader = z.infer<typeof readerSchema>;

const updatesSchema = z.strictObject({
  concurrency: whole(1, 40)
    .default(8)
    .describe(
      'Chunks of one batch that are applied at the same time. In a new account, which runs 10 functions at once, set at most 3.',
    ),
  maxRate: z.number().min(0.1).max(1000).default(20).describe('Changes per second that one batch may send.'),
  retentionDays: whole(4, 3650).default(30).describe('Days that batches and their results are kept.'),
  allowNull: z
    .boolean()
    .default(false)
    .describe('Whether an update may send `null` to empty a field. If false, files with `null` are refused.'),
  confirmation: z
    .enum(['answer', 'status'])
    .default('answer')
    .describe(
      'What confirms an update. `status`, for a CRM that returns the old record: a 200 with a JSON object without an error. `answer`: the same, and neither another id nor another value of a sent field.',
    ),
});

const alarmsSchema = z.strictObject({
  email: z
    .array(z.email())
    .refine(...once('an address'))
    .default([])
    .describe('Addresses that get a mail for every alarm and failed run. Each must confirm a first mail from AWS.'),
  freshnessHours: freshnessHours
    .optional()
    .describe(
      'Hours without a published export after which an entity with `rate(…)` or several starts a day raises its own alarm. Default: 26, or its deadline in hours plus 25 if that is more; an hour more with local time.',
    ),
  runbookUrl: z
    .string()
    .regex(/^[^\s#]+$/, 'must be an address or a path without spaces and without #')
    .default('docs/runbook.md')
    .describe('The https address of the runbook in your repository or wiki, to which every alarm links.'),
});

export const settingsSchema = z.strictObject({
  $schema: z.string().optional(),
  local: z
    .boolean()
    .default(false)
    .describe('Allows http and loopback addresses. Such a configuration deploys to a loopback address only.'),
  crm: crmSchema,
  network: networkSchema,
  customerUpdates: z
    .boolean()
    .default(false)
    .describe(
      'Adds the state machine CustomerUpdates, and the scope `customers:update` to those that `authorize` requests.',
    ),
  updates: updatesSchema.prefault({}),
  timeZone,
  nightly: nightlySchema,
  polling: pollingSchema.prefault({}),
  files: filesSchema.prefault({}),
  retentionDays: whole(1, 3650).default(90).describe('Days that files, tables, feeds and pointers are kept.'),
  tableMemoryMB: tableMemorySchema,
  readers: z
    .array(readerSchema)
    .default([])
    .describe('Who may read from other accounts (docs/configuration.md, "Readers in other accounts").'),
  logRetentionDays: z
    .literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827])
    .default(365)
    .describe('Days that log lines, and the access logs of the bucket, are kept.'),
  alarms: alarmsSchema.prefault({}),
  dashboard: z
    .boolean()
    .default(false)
    .describe('Adds a CloudWatch dashboard and the metrics that only it reads: $3.44 a month.'),
  entities: z.record(entitySchema, entitySettingsSchema.prefault({})).prefault({}),
});

export type Settings = z.infer<typeof settingsSchema>;
