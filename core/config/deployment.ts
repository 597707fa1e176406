import * as z from 'zod';
import { ENTITIES, entitySchema } from './entities.ts';
import { entityPlan, PLAN_DEFAULTS } from './entity-plan.ts';
import { fileContradictions, fileHostsOf, fileHostsSchema, filesSchema } from './file-settings.ts';
import { requestKeys } from './request-keys.ts';
import { isSchedule } from './schedule-expression.ts';

/**
 * The configuration of a deployment, `config/NAME.json`. It is checked at synth (`core/config/configuration.ts`), and what the check
 * returns travels with the code of every function as `deployment.json`: a function's environment is limited to 4 KB in
 * total. `config/schema.json`, for editors, is generated from here (`npm run generate`).
 *
 * Functions take types from here and no values: all of zod is several times the size of what they need of it.
 */

/** 500 waits of the largest length fill the longest deadline: the proof in `test/lib/history-budget.test.ts` needs it. */
export const LARGEST_DEADLINE_IN_WAITS = 500;

/** A service that is started anew at night is back after so long. Less is for local deployments. */
const LEAST_CREATE_PAUSE_SECONDS = 300;

const UPDATE_SCOPE = 'customers:update';

const polling = {
  firstWaitSeconds: z.int().min(1).max(3600).describe('The first wait between two looks at the status.'),
  largestWaitSeconds: z.int().min(1).max(3600).describe('Waits grow by half each time, up to this.'),
  deadlineSeconds: z.int().min(5).max(86_400).describe('A run gives up this long after its start.'),
  createAgainSeconds: z
    .int()
    .min(1)
    .max(3600)
    .describe('A create that may have worked is sent a second time after the largest wait, and not before this.'),
};
const pollingSchema = z.strictObject({
  firstWaitSeconds: polling.firstWaitSeconds.default(15),
  largestWaitSeconds: polling.largestWaitSeconds.default(300),
  deadlineSeconds: polling.deadlineSeconds.default(21_600),
  createAgainSeconds: polling.createAgainSeconds.default(LEAST_CREATE_PAUSE_SECONDS),
});

// CloudWatch looks back seven days at most.
const freshnessHours = z.int().min(1).max(168);

const entityPlanSchema = z.strictObject({
  columns: z._default(requestKeys.columns, PLAN_DEFAULTS.columns),
  sorts: z.optional(requestKeys.sorts),
  filters: z.optional(requestKeys.filters),
  filtersOperator: z.optional(requestKeys.filtersOperator),
  sendEmail: z.optional(requestKeys.sendEmail),
  extra: z
    .record(z.string(), z.unknown())
    .default(PLAN_DEFAULTS.extra)
    .describe('Further keys of the request body, sent as they are.'),
  enabled: z.boolean().default(PLAN_DEFAULTS.enabled).describe('Whether the nightly rule is switched on.'),
  schedule: z
    .string()
    .refine(isSchedule, { error: 'must be an EventBridge expression in UTC: cron(30 1 * * ? *), rate(1 hour)' })
    .optional()
    .describe('Replaces the start that "nightly" gives this entity.'),
  polling: z.strictObject(polling).partial().optional().describe('Replaces values of the deployment for this entity.'),
  freshnessHours: freshnessHours.optional().describe('Replaces "alarms.freshnessHours" for this entity.'),
});

const webAddress = z
  .url({ protocol: /^https?$/ })
  .refine((url) => !/[?#@]/.test(url), { error: 'must have no query, no fragment and no user name' });

const crmSchema = z.strictObject({
  baseUrl: webAddress.describe('The address that all paths of the interface start from; ends in /api/v1.'),
  authUrl: webAddress.describe('The address before /authorize and /oauth/token.'),
  scopes: z.array(z.string().regex(/^\S+$/)).min(1).default(['openid', 'profile', 'global:export']),
  clientAuthentication: z
    .enum(['basic', 'basic_raw', 'post', 'none'])
    .default('basic')
    .describe('How the client proves itself at the token endpoint.'),
  createTimeoutSeconds: z
    .int()
    .min(5)
    .max(600)
    .default(60)
    .describe('The longest wait for the answer to a create: a service may make the export before it answers.'),
  operatorField: z
    .string()
    .min(1)
    .default('filtersOperator')
    .describe('Name of the combining operator in the request.'),
  emailField: z.string().min(1).default('sendEmail').describe('Name of the e-mail flag in the request.'),
  fileHosts: fileHostsSchema,
});

const updatesSchema = z.strictObject({
  concurrency: z.int().min(1).max(40).default(8).describe('Chunks of one batch that are applied at the same time.'),
  maxRate: z
    .number()
    .min(0.1)
    .max(1000)
    .default(20)
    .describe('Changes per second that one batch may send; an input may ask for fewer.'),
  retentionDays: z
    .int()
    // A batch may be under way for two and a half days, and the rules of a bucket count from midnight.
    .min(4)
    .max(3650)
    .default(30)
    .describe('Days that batches and their results are kept.'),
  allowNull: z
    .boolean()
    .default(false)
    .describe('Whether null is sent, to empty a field: the interface document does not mention it.'),
});

const alarmsSchema = z.strictObject({
  email: z
    .array(z.email())
    .refine((addresses) => new Set(addresses).size === addresses.length, { error: 'names an address twice' })
    .default([])
    .describe('Addresses that are told of every alarm; each has to confirm the mail that AWS sends it first.'),
  freshnessHours: freshnessHours
    .optional()
    .describe(
      'An entity without a published export for so many hours raises an alarm. By default its deadline counts.',
    ),
  runbookUrl: z
    .string()
    .regex(/^[^\s#]+$/, 'an address or a path without blanks and without #')
    .default('docs/runbook.md')
    .describe('Where the runbook is read; every alarm links its entry there.'),
});

const timeZone = z.string().refine(
  (zone) => {
    try {
      return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
    } catch {
      return false;
    }
  },
  { error: 'an IANA time zone such as "Asia/Jerusalem" or "UTC"' },
);

const shape = z.strictObject({
  $schema: z.string().optional(),
  local: z.boolean().default(false).describe('Allows http and loopback addresses; never deployed to an account.'),
  crm: crmSchema,
  customerUpdates: z
    .boolean()
    .default(false)
    .describe('Whether customers can be updated: the machine CustomerUpdates, and the scope for it.'),
  updates: updatesSchema.prefault({}),
  timeZone: timeZone.default('UTC').describe('The zone in which a run gets its date.'),
  nightly: z
    .strictObject({
      startUtc: z
        .string()
        .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time such as "01:30"')
        .default('01:00'),
      spreadMinutes: z.int().min(1).max(60).default(7).describe('Minutes between the starts of two entities.'),
    })
    .prefault({}),
  polling: pollingSchema.prefault({}),
  files: filesSchema.prefault({}),
  retentionDays: z.int().min(1).max(3650).default(90).describe('Days that runs, and the pointers to them, are kept.'),
  logRetentionDays: z
    .literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827])
    .default(365)
    .describe('Days that log lines, and the access logs of the bucket, are kept.'),
  alarms: alarmsSchema.prefault({}),
  entities: z.partialRecord(entitySchema, entityPlanSchema).default({}),
});

export type Deployment = z.infer<typeof shape>;
/** What OAuth needs to know. */
export type OAuthSettings = Pick<Deployment['crm'], 'authUrl' | 'scopes' | 'clientAuthentication'>;
export type EntityPlan = Omit<z.infer<typeof entityPlanSchema>, 'polling'> & { polling: Deployment['polling'] };

export const deploymentSchema = shape
  .superRefine((deployment, context) => {
    for (const { path, message } of contradictions(deployment)) context.addIssue({ code: 'custom', path, message });
  })
  .transform((deployment) => ({
    ...deployment,
    crm: { ...deployment.crm, scopes: withUpdateScope(deployment), fileHosts: fileHostsOf(deployment.crm) },
  }));

/** Updates need a scope of their own, which a person need not remember. */
function withUpdateScope({ crm: { scopes }, customerUpdates }: Deployment): string[] {
  return !customerUpdates || scopes.includes(UPDATE_SCOPE) ? scopes : [...scopes, UPDATE_SCOPE];
}

type Contradiction = { path: string[]; message: string };

/** What no single field can see: addresses against `local`, waits against each other, extra keys against our own. */
function contradictions(deployment: Deployment): Contradiction[] {
  const { local, crm } = deployment;
  const addresses = (['baseUrl', 'authUrl'] as const)
    .filter((field) => !local && !crm[field].startsWith('https:'))
    .map((field) => ({ path: ['crm', field], message: 'must start with https: (http is for local deployments)' }));
  const own = [...Object.keys(requestKeys), crm.operatorField, crm.emailField];
  const entities = ENTITIES.flatMap((entity) => {
    const { polling, extra } = entityPlan(deployment, entity);
    const place = ['entities', entity];
    const keys = Object.keys(extra).filter((key) => own.includes(key));
    const extras = keys.map((key) => ({
      path: [...place, 'extra', key],
      message: 'has a setting of its own: give it there',
    }));
    // What is the deployment's own mistake is told once, at its own place.
    const overrides = deployment.entities[entity]?.polling !== undefined;
    return [...(overrides ? pollingContradictions(polling, local, [...place, 'polling']) : []), ...extras];
  });
  const common = [...fileContradictions(deployment), ...pollingContradictions(deployment.polling, local, ['polling'])];
  return [...addresses, ...fieldNames(crm), ...common, ...entities];
}

/** Two settings with one name in the request would overwrite each other. */
function fieldNames({ operatorField, emailField }: Deployment['crm']): Contradiction[] {
  const taken = ['columns', 'sorts', 'filters'];
  const message = 'is the name of another field of the request';
  return [
    ...(taken.includes(operatorField) ? [{ path: ['crm', 'operatorField'], message }] : []),
    ...([...taken, operatorField].includes(emailField) ? [{ path: ['crm', 'emailField'], message }] : []),
  ];
}

function pollingContradictions(polling: Deployment['polling'], local: boolean, place: string[]): Contradiction[] {
  const { firstWaitSeconds: first, largestWaitSeconds: largest, deadlineSeconds: deadline } = polling;
  const most = LARGEST_DEADLINE_IN_WAITS * largest;
  const rules = [
    {
      holds: first <= largest,
      field: 'firstWaitSeconds',
      message: `must not be above largestWaitSeconds (${largest})`,
    },
    { holds: deadline >= first, field: 'deadlineSeconds', message: `must not be below firstWaitSeconds (${first})` },
    {
      holds: deadline <= most,
      field: 'deadlineSeconds',
      message: `must be at most ${LARGEST_DEADLINE_IN_WAITS} times largestWaitSeconds, here ${most}`,
    },
    {
      holds: local || polling.createAgainSeconds >= LEAST_CREATE_PAUSE_SECONDS,
      field: 'createAgainSeconds',
      message: `must be at least ${LEAST_CREATE_PAUSE_SECONDS} (less is for local deployments)`,
    },
  ];
  return rules.filter(({ holds }) => !holds).map(({ field, message }) => ({ path: [...place, field], message }));
}
