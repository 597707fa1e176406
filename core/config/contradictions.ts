import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod/mini';
import { isAllowedHost } from '../../transfer/source/guard.ts';
import { exceptedIn } from '../columns/left-out.ts';
import { folded, meansOrContains } from '../folded.ts';
import { ENTITIES, type Entity } from './entities.ts';
import {
  type EntityPlan,
  LARGEST_DEADLINE_IN_WAITS,
  LEAST_CREATE_PAUSE_SECONDS,
  type Polling,
} from './entity-settings.ts';
import { dependsOnDate } from './relative-date.ts';
import { requestKeys } from './request-keys.ts';
import type { Settings } from './settings.ts';

/** The settings of a deployment, with all entities filled. */
type Filled = Omit<Settings, 'entities'> & { entities: Record<Entity, EntityPlan> };

/** Settings that contradict each other: one row for each rule, with the setting that the message names. */

/** A rule about values: the path of the setting, and the message if the settings break the rule. */
type Row<T> = [at: string, breaks: (settings: T) => boolean, says: string | ((settings: T) => string)];

type Problem = Pick<z.core.$ZodIssueBase, 'path' | 'message'>;

export function contradictions(settings: Filled): Problem[] {
  const { local, polling, crm } = settings;
  return [
    ...broken(DEPLOYMENT, settings, []),
    ...broken(POLLING, { local, ...polling }, ['polling']),
    ...readersWithoutTable(settings),
    ...ENTITIES.flatMap((entity) => {
      const own = settings.entities[entity];
      const place = ['entities', entity];
      const taken = [...Object.keys(requestKeys), crm.operatorField, crm.emailField];
      const twice = Object.keys(own.extra).filter((key) => taken.includes(key));
      return [
        // A mistake in the polling of the deployment is reported once, with that setting.
        ...(isDeepStrictEqual(own.polling, polling)
          ? []
          : broken(POLLING, { local, ...own.polling }, [...place, 'polling'])),
        ...twice.map((key) => ({ path: [...place, 'extra', key], message: 'must be its own setting, not in `extra`' })),
        ...broken(ENTITY, own, place),
        ...wrongNames(own, place),
      ];
    }),
  ];
}

function broken<T>(rows: readonly Row<T>[], settings: T, place: readonly string[]): Problem[] {
  return rows.flatMap(([at, breaks, says]) => {
    if (!breaks(settings)) return [];
    return [{ path: [...place, ...at.split('.')], message: typeof says === 'string' ? says : says(settings) }];
  });
}

const HTTPS = 'must start with https: (http is for local deployments)';
const isHttp = (local: boolean, address: string) => !local && URL.parse(address)?.protocol === 'http:';
const TAKEN = ['columns', 'sorts', 'filters'];
const ONE_NAME = 'is the name of another field of the request';

const DEPLOYMENT: Row<Filled>[] = [
  ['crm.baseUrl', ({ local, crm }) => isHttp(local, crm.baseUrl), HTTPS],
  ['crm.authUrl', ({ local, crm }) => isHttp(local, crm.authUrl), HTTPS],
  ['crm.operatorField', ({ crm }) => TAKEN.includes(crm.operatorField), ONE_NAME],
  ['crm.emailField', ({ crm }) => [...TAKEN, crm.operatorField].includes(crm.emailField), ONE_NAME],
  [
    'crm.fileHosts',
    ({ local, crm }) => !local && crm.fileHosts.length === 0,
    'must name the hosts that files come from, such as ["files.example.com"]: the host of baseUrl is not a full name',
  ],
  [
    'crm.privateHosts',
    ({ local, network, crm: { privateHosts = [] } }) => privateHosts.length > 0 && !network && !local,
    'needs `network`: only functions in your subnets can reach a private address',
  ],
  [
    'crm.privateHosts',
    (settings) => uncalledHosts(settings).length > 0,
    (settings) =>
      `names ${uncalledHosts(settings).join(', ')}, which is neither a host of the CRM nor one of \`crm.fileHosts\``,
  ],
];

function uncalledHosts({ crm: { baseUrl, authUrl, fileHosts, privateHosts = [] } }: Filled): string[] {
  const called = [baseUrl, authUrl].map((address) => URL.parse(address)?.hostname);
  const isFileHost = (host: string) => isAllowedHost(host, { hosts: fileHosts, local: false });
  return privateHosts.filter((host) => !called.includes(host) && !isFileHost(host));
}

const POLLING: Row<Polling & { local: boolean }>[] = [
  [
    'firstWaitSeconds',
    ({ firstWaitSeconds, largestWaitSeconds }) => firstWaitSeconds > largestWaitSeconds,
    ({ largestWaitSeconds }) => `must not be above largestWaitSeconds (${largestWaitSeconds})`,
  ],
  [
    'deadlineSeconds',
    ({ deadlineSeconds, firstWaitSeconds }) => deadlineSeconds < firstWaitSeconds,
    ({ firstWaitSeconds }) => `must not be below firstWaitSeconds (${firstWaitSeconds})`,
  ],
  [
    'deadlineSeconds',
    ({ deadlineSeconds, largestWaitSeconds }) => deadlineSeconds > LARGEST_DEADLINE_IN_WAITS * largestWaitSeconds,
    ({ largestWaitSeconds }) =>
      `must be at most ${LARGEST_DEADLINE_IN_WAITS} times largestWaitSeconds, here ${LARGEST_DEADLINE_IN_WAITS * largestWaitSeconds}`,
  ],
  [
    'createAgainSeconds',
    ({ local, createAgainSeconds }) => !local && createAgainSeconds < LEAST_CREATE_PAUSE_SECONDS,
    `must be at least ${LEAST_CREATE_PAUSE_SECONDS} (less is for local deployments)`,
  ],
];

/** Readers of tables whose entity has no `tables` setting. */
function readersWithoutTable({ readers, entities }: Filled): Problem[] {
  const hasTable = (entity: Entity) => entities[entity].tables !== undefined;
  return readers.flatMap(({ entities: named, of }, index) => {
    if (!of.includes('tables')) return [];
    const path = ['readers', index, 'entities'];
    if (named === 'all') return ENTITIES.some(hasTable) ? [] : [{ path, message: 'names tables, which no entity has' }];
    const without = named.filter((entity) => !hasTable(entity));
    return without.map((entity) => ({ path, message: `names ${entity}, which has no \`tables\`` }));
  });
}

type EntityRow = Row<EntityPlan>;

const UNKNOWN_COLUMNS = 'the columns of such a file are unknown';

/** A setting that needs the content of a file, and so contradicts `opaque` kinds, whose content is not read. */
const opaque = (setting: string, isSet: (plan: EntityPlan) => boolean, why: string): EntityRow => [
  'opaque',
  (plan) => plan.opaque.length > 0 && isSet(plan),
  `must be empty with \`${setting}\`: ${why}`,
];

const ENTITY: EntityRow[] = [
  [
    'columns.labels',
    (plan) =>
      Object.entries(plan.columns.labels).some((texts) => texts.some((text) => text !== null && folded(text) === '')),
    'has a text without letters',
  ],
  [
    'columns.header',
    (plan) => plan.columns.header === 'none' && plan.columns.except.length > 0,
    'must not be "none" with `except`: a missing column would go unnoticed',
  ],
  [
    'columns.header',
    (plan) => plan.columns.header === 'none' && Object.keys(plan.columns.labels).length > 0,
    'must not be "none" with `labels`: without a header, there are no labels',
  ],
  [
    'at',
    ({ at, schedule }) => at !== undefined && schedule !== undefined,
    'cannot be combined with `schedule`: set one of them',
  ],
  opaque('columns.except', (plan) => plan.columns.except.length > 0, UNKNOWN_COLUMNS),
  opaque('columns.required', (plan) => plan.columns.required.length > 0, UNKNOWN_COLUMNS),
  opaque('drift: "stop"', ({ drift }) => Object.values(drift).includes('stop'), UNKNOWN_COLUMNS),
  opaque('guards.minRows', ({ guards }) => guards.minRows !== undefined, 'the rows of such a file are not counted'),
  opaque('tables', ({ tables }) => tables !== undefined, 'no table can be made of such a file'),
  [
    'changes',
    ({ changes, tables }) => changes !== undefined && tables === undefined,
    'needs `tables`: a feed compares two of them',
  ],
  [
    'changes',
    ({ changes, filters }) => changes !== undefined && dependsOnDate(filters),
    'must not be set with a "$date" in `filters`: on another day it selects other rows, and the feed would report the others as deleted',
  ],
];

/** Whether a list contains a name. The spelling does not matter, as in all settings for columns. */
const isIn = (names: readonly string[] = [], name: string) => names.map(folded).includes(folded(name));
const namelessOf = (plan: EntityPlan) =>
  Object.entries(plan.columns.labels).flatMap(([text, name]) => (name === null ? [text] : []));

/** The settings of an entity that name columns. */
const NAMED = {
  'columns.only': (plan) => plan.columns.only ?? [],
  'columns.required': ({ columns }) => columns.required,
  'columns.labels': namelessOf,
  filters: (plan) => exceptedIn(plan.filters, plan.columns.except),
  sorts: (plan) => exceptedIn(plan.sorts, plan.columns.except),
  'tables.columns': ({ tables }) => Object.keys(tables?.columns ?? {}),
  'tables.except': ({ tables }) => tables?.except ?? [],
  'tables.hash': ({ tables }) => tables?.hash ?? [],
  'changes.key': ({ changes }) => changes?.key ?? [],
  'changes.ignore': ({ changes }) => changes?.ignore ?? [],
} satisfies Record<string, (plan: EntityPlan) => readonly string[]>;
type Named = keyof typeof NAMED;
type NameRow = [at: Named[], refused: (name: string, plan: EntityPlan) => boolean, why: string];

const OF_TABLE: Named[] = ['tables.columns', 'tables.hash', 'changes.key', 'changes.ignore'];
const LEFT_OUT = 'which `columns.except` leaves out';

/** Settings that must not name a column, and why. */
const NAMES: NameRow[] = [
  [['columns.only', 'columns.required', ...OF_TABLE], (name, plan) => isIn(plan.columns.except, name), LEFT_OUT],
  [['columns.labels'], (text, plan) => plan.columns.except.some((entry) => meansOrContains(text, entry)), LEFT_OUT],
  [['filters', 'sorts'], () => true, LEFT_OUT],
  [
    ['columns.required', 'tables.except', ...OF_TABLE],
    (name, plan) => plan.columns.only?.includes(name) === false,
    'which `columns` does not request',
  ],
  [OF_TABLE, (name, { tables }) => isIn(tables?.except, name), 'which `tables.except` leaves out'],
  [
    ['tables.hash'],
    (name, { tables }) => Object.hasOwn(tables?.columns ?? {}, name),
    'which `tables.columns` gives a type: a hash is text',
  ],
  [
    ['tables.except', 'tables.hash'],
    (name, plan) => namelessOf(plan).some((text) => meansOrContains(text, name)),
    'which `columns.labels` maps to null',
  ],
  [
    ['tables.except', 'tables.hash'],
    (_, plan) => plan.columns.header === 'none',
    'which files without a header (`columns.header`) do not have',
  ],
  [['changes.ignore'], (name, { changes }) => isIn(changes?.key, name), 'which is a part of `changes.key`'],
];

function wrongNames(plan: EntityPlan, place: readonly string[]): Problem[] {
  return NAMES.flatMap(([settings, refused, why]) =>
    settings.flatMap((at) => {
      const names = NAMED[at](plan).filter((name) => refused(name, plan));
      return names.map((name) => ({ path: [...place, ...at.split('.')], message: `names "${name}", ${why}` }));
    }),
  );
}
