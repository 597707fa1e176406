import * as z from 'zod';
import { isSchedule } from '../schedule/schedule-expression.ts';
import { configuredColumns } from './configured-columns.ts';
import { crmSchema, fieldNameContradictions } from './crm-settings.ts';
import { driftSettingsSchema } from './drift-settings.ts';
import { ENTITIES, entitySchema } from './entities.ts';
import { entityPlan, PLAN_DEFAULTS } from './entity-plan.ts';
import { exceptedIn, exceptedOf } from './excepted-columns.ts';
import { fileContradictions, fileHostsOf, filesSchema, opaqueContradictions, opaqueSchema } from './file-settings.ts';
import { guardsSchema } from './guard-settings.ts';
import { localTime, nightlySchema, timeZone } from './nightly-settings.ts';
import { misplacedDates } from './relative-date.ts';
import { refuse, requestKeys } from './request-keys.ts';
import { UPDATE_SCOPE } from './scopes.ts';
import { tableContradictions, tableMemorySchema, tableSettingsSchema } from './table-settings.ts';

/**
 * The configuration of a deployment, `config/NAME.json`. It is checked at synth, and goes with its defaults into the bundle
 * of every function as `deployment.json`: a function's environment is limited to 4 KB.
 *
 * Functions import types from here and no values, for all of zod is large.
 */

/** 500 waits of the largest length fill the longest deadline: the proof in `test/lib/history-budget.test.ts` needs it. */
export const LARGEST_DEADLINE_IN_WAITS = 500;

/** A CRM that restarts at night is back after so long. Less is for local deployments. */
const LEAST_CREATE_PAUSE_SECONDS = 300;

const polling = {
  firstWaitSeconds: z.int().min(1).max(3600).describe('First wait between two status checks.'),
  largestWaitSeconds: z
    .int()
    .min(1)
    .max(3600)
    .describe('Each wait is half as long again as the one before, up to this.'),
  deadlineSeconds: z
    .int()
    .min(5)
    .max(86_400)
    .describe('A run gives up this long after its start. At most 500 times the largest wait.'),
  createAgainSeconds: z
    .int()
    .min(1)
    .max(3600)
    .describe(
      'A request for an export that may have worked is sent a second time after the largest wait, and not before this. Below 300 only where `local` is true. A run with less time before its deadline sends none.',
    ),
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
  columns: z._default(configuredColumns, PLAN_DEFAULTS.columns),
  sorts: z.optional(requestKeys.sorts),
  filters: z.optional(requestKeys.filters),
  filtersOperator: z.optional(requestKeys.filtersOperator),
  sendEmail: z.optional(requestKeys.sendEmail),
  extra: z
    .record(z.string(), z.unknown())
    .check(refuse(misplacedDates))
    .default(PLAN_DEFAULTS.extra)
    .describe('Further keys of the request body, sent as they are.'),
  enabled: z
    .boolean()
    .default(PLAN_DEFAULTS.enabled)
    .describe('Whether the nightly rule is on. Runs by hand always work.'),
  schedule: z
    .string()
    .refine(isSchedule, { error: 'must be an EventBridge expression in UTC: cron(30 1 * * ? *), rate(1 hour)' })
    .optional()
    .describe('EventBridge expression that replaces the start from `nightly`: `cron(…)` in UTC, or `rate(…)`.'),
  at: localTime,
  polling: z
    .strictObject(polling)
    .partial()
    .optional()
    .describe('Replaces single values of `polling` for this entity.'),
  freshnessHours: freshnessHours.optional().describe('Replaces `alarms.freshnessHours` for this entity.'),
  guards: guardsSchema.prefault({}),
  drift: driftSettingsSchema.prefault({}),
  opaque: opaqueSchema,
  tables: tableSettingsSchema.optional(),
});

const updatesSchema = z.strictObject({
  concurrency: z.int().min(1).max(40).default(8).describe('Chunks of one batch that are applied at the same time.'),
  maxRate: z
    .number()
    .min(0.1)
    .max(1000)
    .default(20)
    .describe(
      'Changes per second that one batch may send. An input may request fewer. Two batches at once send twice as many.',
    ),
  retentionDays: z
    .int()
    .min(4)
    .max(3650)
    .default(30)
    .describe(
      'Days that batches and their results are kept. At least 4: a batch may take two and a half, and S3 counts from midnight.',
    ),
  allowNull: z
    .boolean()
    .default(false)
    .describe(
      'Whether an update may send `null` to empty a field. The interface document does not mention `null`. When false, files with `null` are refused.',
    ),
});

const alarmsSchema = z.strictObject({
  email: z
    .array(z.email())
    .refine((addresses) => new Set(addresses).size === addresses.length, { error: 'names an address twice' })
    .default([])
    .describe('Addresses that get a mail for every alarm. AWS first sends each a mail that must be confirmed.'),
  freshnessHours: freshnessHours
    .optional()
    .describe(
      'An entity without a published export for this many hours raises an alarm. Default for each entity: 26, or its deadline in hours plus 25 if that is more; an hour more where it starts by local time in another zone than UTC. A smaller value counts too, with a warning at synthesis.',
    ),
  runbookUrl: z
    .string()
    .regex(/^[^\s#]+$/, 'an address or a path without blanks and without #')
    .default('docs/runbook.md')
    .describe(
      'Where the runbook can be read: every alarm links to its entry there. Give the https address of the file in your repository or wiki, because the default is not a link in a mail.',
    ),
});

const shape = z.strictObject({
  $schema: z.string().optional(),
  local: z
    .boolean()
    .default(false)
    .describe('Allows http and loopback addresses. Such a configuration deploys to a loopback address only.'),
  crm: crmSchema,
  customerUpdates: z
    .boolean()
    .default(false)
    .describe(
      'Whether customers can be updated: adds the state machine CustomerUpdates, and the scope `customers:update` to those that `authorize` requests.',
    ),
  updates: updatesSchema.prefault({}),
  timeZone,
  nightly: nightlySchema,
  polling: pollingSchema.prefault({}),
  files: filesSchema.prefault({}),
  retentionDays: z.int().min(1).max(3650).default(90).describe('Days that runs and pointers are kept.'),
  tableMemoryMB: tableMemorySchema,
  logRetentionDays: z
    .literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827])
    .default(365)
    .describe('Days that log lines, and the access logs of the bucket, are kept.'),
  alarms: alarmsSchema.prefault({}),
  dashboard: z
    .boolean()
    .default(true)
    .describe(
      'Whether the deployment has a CloudWatch dashboard, the dearest part of one that stands still. Alarms, metrics and `report` do without.',
    ),
  entities: z.partialRecord(entitySchema, entityPlanSchema).default({}),
});

/** What a configuration says, with all defaults. */
export type Settings = z.infer<typeof shape>;
/** In the bundle of a function with the offsets of the time zone, in minutes, as they were when the rules were made. */
export type Deployment = Settings & { zoneOffsets?: number[] };
/** What OAuth needs to know. */
export type OAuthSettings = Pick<Deployment['crm'], 'authUrl' | 'scopes' | 'clientAuthentication'>;
export type EntityPlan = Omit<z.infer<typeof entityPlanSchema>, 'polling'> & { polling: Deployment['polling'] };

export const deploymentSchema = shape
  .superRefine((deployment, context) => {
    for (const { path, message } of contradictions(deployment)) context.addIssue({ code: 'custom', path, message });
  })
  .transform((settings) => ({
    ...settings,
    crm: { ...settings.crm, scopes: withUpdateScope(settings), fileHosts: fileHostsOf(settings.crm) },
  }));

function withUpdateScope({ crm: { scopes }, customerUpdates }: Settings): string[] {
  return !customerUpdates || scopes.includes(UPDATE_SCOPE) ? scopes : [...scopes, UPDATE_SCOPE];
}

type Contradiction = { path: string[]; message: string };

/** Between fields: addresses and `local`, waits, extra keys and our own. */
function contradictions(deployment: Settings): Contradiction[] {
  const { local, crm } = deployment;
  const addresses = (['baseUrl', 'authUrl'] as const)
    .filter((field) => !local && !crm[field].startsWith('https:'))
    .map((field) => ({ path: ['crm', field], message: 'must start with https: (http is for local deployments)' }));
  const own = [...Object.keys(requestKeys), crm.operatorField, crm.emailField];
  const entities = ENTITIES.flatMap((entity) => {
    const plan = entityPlan(deployment, entity);
    const { polling, extra, at, schedule } = plan;
    const place = ['entities', entity];
    const named = (['filters', 'sorts'] as const).flatMap((key) =>
      exceptedIn(plan[key], exceptedOf(plan)).map((name) => ({
        path: [...place, key],
        message: `names "${name}", which \`columns.except\` leaves out`,
      })),
    );
    const message = 'excludes `schedule`: give one of them';
    const starts = at !== undefined && schedule !== undefined ? [{ path: [...place, 'at'], message }] : [];
    const keys = Object.keys(extra).filter((key) => own.includes(key));
    const extras = keys.map((key) => ({
      path: [...place, 'extra', key],
      message: 'has a setting of its own: give it there',
    }));
    // A mistake of the deployment's own polling is reported once, at its own place.
    const overrides = deployment.entities[entity]?.polling !== undefined;
    return [
      ...(overrides ? pollingContradictions(polling, local, [...place, 'polling']) : []),
      ...extras,
      ...starts,
      ...named,
      ...opaqueContradictions(plan, place),
      ...tableContradictions(plan, place),
    ];
  });
  const common = [...fileContradictions(deployment), ...pollingContradictions(deployment.polling, local, ['polling'])];
  return [...addresses, ...fieldNameContradictions(crm), ...common, ...entities];
}

function pollingContradictions(polling: Deployment['polling'], local: boolean, place: string[]): Contradiction[] {
  const { firstWaitSeconds: first, largestWaitSeconds: largest, deadlineSeconds: deadline } = polling;
  const most = LARGEST_DEADLINE_IN_WAITS * largest;
  const longEnough = local || polling.createAgainSeconds >= LEAST_CREATE_PAUSE_SECONDS;
  const atMost = `must be at most ${LARGEST_DEADLINE_IN_WAITS} times largestWaitSeconds, here ${most}`;
  const atLeast = `must be at least ${LEAST_CREATE_PAUSE_SECONDS} (less is for local deployments)`;
  const rules: [holds: boolean, field: string, message: string][] = [
    [first <= largest, 'firstWaitSeconds', `must not be above largestWaitSeconds (${largest})`],
    [deadline >= first, 'deadlineSeconds', `must not be below firstWaitSeconds (${first})`],
    [deadline <= most, 'deadlineSeconds', atMost],
    [longEnough, 'createAgainSeconds', atLeast],
  ];
  return rules.flatMap(([holds, field, message]) => (holds ? [] : [{ path: [...place, field], message }]));
}
